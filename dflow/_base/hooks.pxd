"""Hooks: functions of a floor above that one below calls.

A table is a struct of function pointers, or a class whose attributes are Python callables, beside what reads it. One
module fills all of it, once, as it is loaded: _functions/wiring.pyx and ops/__init__.py for what every program uses,
else the module that has the functions. It then asks here whether anything is missing: nothing that reads a hook does.
"""

cdef inline int check_hooks(str table, void* hooks, size_t size, str fields) except -1:
    """ImportError, which names it, where a field of a struct of pointers is not set."""
    cdef list names = fields.split()
    cdef size_t i
    if len(names) * sizeof(void*) != size:
        raise ImportError(f"{table}: {size // sizeof(void*)} hooks, and the names of {len(names)}")
    for i in range(len(names)):
        if (<void**>hooks)[i] == NULL:
            raise ImportError(f"{table}: the hook {names[i]} is missing")
    return 0

cdef inline int check_callables(str table, object hooks) except -1:
    """The same of an object whose public attributes are hooks."""
    for name in sorted(vars(type(hooks))):
        if name[0] != "_" and getattr(hooks, name) is None:
            raise ImportError(f"{table}: the hook {name} is missing")
    return 0
