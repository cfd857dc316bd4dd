"""Errors of operations, and the lines that submitted them: see _runtime/errors.pxd."""

import sys

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from dflow._base.allocator cimport memory_free, memory_zeros
from dflow._base.atomics cimport add_int, cas_ptr, DFLOW_DEBUG, load_ptr, swap_ptr
from dflow._base.thread_state cimport must_hold_none
from dflow._base.threads cimport this_thread_raised

cdef extern from "stdio.h" nogil:
    int fflush(void*)

cdef extern from "unistd.h" nogil:
    void _exit(int)

cdef extern from "Python.h" nogil:
    int Py_AtExit(void (*func)() noexcept)
    int Py_AddPendingCall(int (*func)(void*) noexcept, void* arg)
    void PyErr_Fetch(PyObject**, PyObject**, PyObject**)
    void PyErr_NormalizeException(PyObject**, PyObject**, PyObject**)
    int PyException_SetTraceback(PyObject*, PyObject*)

cdef extern from "_runtime/site.h":
    void site_set_package(object directory)
    Site* site_here()
    int site_set_stacks(int on)
    bint site_in_try()
    bint site_in_record()
    Py_ssize_t site_count()
    Site* site_at(Py_ssize_t)

# ---- sites -----------------------------------------------------------------------------------------------------------

cdef Site* here() noexcept:
    """Where the user's program is now. Needs the GIL."""
    return site_here()

cdef str describe(Site* site):
    cell = cell_of(<object>site.file)
    if cell is None:
        return f"{<object>site.file}:{site.line} in {<object>site.name}"
    where = f"{cell}, line {site.line}"
    return where if <object>site.name == "<module>" else f"{where} in {<object>site.name}"

def cell_of(file):
    """What a notebook, or IPython, calls the code that it keeps under this name: "Cell In[4]"; None: no cell."""
    shell = sys.modules.get("IPython.core.getipython")
    try:
        shell = None if shell is None else shell.get_ipython()
        return None if shell is None else " ".join(shell.compile.format_code_name(file))
    except Exception:               # None: it is not from there
        return None

cdef list stack_of(Site* site):
    """A line as describe() has it for each caller, from the innermost on."""
    lines = []
    while site.caller != NULL:
        site = site.caller
        lines.append(describe(site))
    return lines

def stacks(on=None):
    """Whether a site has its callers, too; `on`: from now on. What it was."""
    was = site_set_stacks(0)
    site_set_stacks(was if on is None else bool(on))
    return bool(was)

cpdef bint in_try() noexcept:
    """Whether the user's program is where it would catch an error: an operation that may fail is waited for there."""
    return site_in_try()

cpdef bint in_record() noexcept:
    """Whether the user's program is where it looks at the warnings given: an operation that may warn is waited for."""
    return site_in_record()

def waits_by_site():
    """Where threads have blocked, and how often."""
    cdef Site* site
    cdef Py_ssize_t i
    blocked = {}
    for i in range(site_count()):
        site = site_at(i)
        if site != NULL and site.waits:
            blocked[describe(site)] = blocked.get(describe(site), 0) + site.waits
    return blocked

cdef str own = ""                   # where dflow's own code lies

def configure(str package):
    """Code from files under this directory is dflow's own: sites lie outside."""
    global own
    own = package
    site_set_package(package)

# ---- poison ----------------------------------------------------------------------------------------------------------

cdef Poison* poisons = NULL         # GIL
cdef Poison* dead = NULL            # atomic stack: poisons without references

cdef Poison no_memory               # when not even a poison can be allocated; never ends, and is in no list
_no_memory_error = MemoryError("out of memory")
no_memory.error = <PyObject*>_no_memory_error
no_memory.refs = 1 << 30
no_memory.seen = 1

cdef void poison_unref(Poison* p) noexcept nogil:
    if DFLOW_DEBUG:
        must_hold_none(b"nothing ends under a spin lock")
    if add_int(&p.refs, -1):
        return
    while True:                         # a stack of their own: bury() needs memory
        p.grave = <Poison*>load_ptr(&dead)
        if cas_ptr(&dead, p.grave, p):
            break
    Py_AddPendingCall(end_later, NULL)

cdef Poison* poison_new(object error, Site* site, const char* name) noexcept:
    """A poison with one reference. Needs the GIL. The error gets a note that names the submitting line."""
    global poisons
    cdef Poison* p = <Poison*>memory_zeros(sizeof(Poison))
    if p == NULL:
        no_memory.seen = 0
        return &no_memory
    if site != NULL:
        try:
            error.add_note("\n    called at ".join(
                [f"submitted at {describe(site)}: {name.decode()}", *stack_of(site)]))
            lines = users_frames(error.__traceback__)
            if lines:
                error.add_note("in the task:\n" + "".join(lines).rstrip())
        except Exception:           # an error class of the user's that refuses notes
            pass
    strip_frames(error)
    Py_INCREF(error)
    p.error = <PyObject*>error
    p.refs = 1
    p.next = poisons
    if poisons != NULL:
        poisons.prev = p
    poisons = p
    return p

cdef list users_frames(object traceback):
    """The frames of what a task called, as text, from the user's first on."""
    if traceback is None:
        return []
    import traceback as tracebacks      # imported late: it is slow to load
    frames = tracebacks.extract_tb(traceback)
    while frames and frames[0].filename.startswith(own):
        del frames[0]
    return frames.format()

cdef Poison* poison_raised(Site* site, const char* name) noexcept with gil:
    if not this_thread_raised():
        return NULL
    error = take_raised()
    error.__traceback__ = None
    return poison_new(error, site, name)

cdef object take_raised():
    """The error that is set, and no longer. Not by an except clause: Cython's needs memory for a traceback."""
    cdef PyObject* kind = NULL
    cdef PyObject* error = NULL
    cdef PyObject* traceback = NULL
    PyErr_Fetch(&kind, &error, &traceback)
    PyErr_NormalizeException(&kind, &error, &traceback)
    if traceback != NULL:
        PyException_SetTraceback(error, traceback)
    taken = <object>error
    Py_XDECREF(kind)
    Py_XDECREF(error)
    Py_XDECREF(traceback)
    return taken

cpdef void strip_frames(object error) noexcept:
    """Its traceback refers to frames, these to arrays that will carry the error: a cycle that is never collected."""
    cdef int most = 1000            # of a chain that may be a cycle
    while error is not None and most:
        most -= 1
        error.__traceback__ = None
        error = error.__cause__ if error.__cause__ is not None else error.__context__

cdef bint dead_poisons() noexcept nogil:
    return load_ptr(&dead) != NULL

cdef int end_later(void* arg) noexcept with gil:
    end_poisons()
    return 0

cdef void end_poisons() noexcept:
    cdef Poison* p = <Poison*>swap_ptr(&dead, NULL)
    cdef Poison* following
    while p != NULL:
        following = p.grave
        end_poison(p)
        p = following

cdef void end_poison(Poison* p) noexcept:
    global poisons
    if p.next != NULL:
        p.next.prev = p.prev
    if p.prev != NULL:
        p.prev.next = p.next
    else:
        poisons = p.next
    if not p.seen:                  # this and the next run Python code, where others may go through the list
        report_unseen(<object>p.error)
    Py_DECREF(<object>p.error)
    memory_free(p)

cdef int raise_poison(Poison* p) except -1:
    """Raise a copy: a raised exception refers to the frames it passed, and these to arrays that carry the poison."""
    p.seen = 1
    raise duplicate(<object>p.error)

cpdef object duplicate(object error):
    """A copy that shares nothing: runs Python code, where a signal's handler may raise."""
    try:
        import copy                         # slow to load
        twin = copy.copy(error)
    except Exception:
        twin = None
    if type(twin) is not type(error):       # a constructor of the user's own that does not take error.args
        twin = type(error).__new__(type(error), *error.args)
        twin.__dict__.update(error.__dict__)
    if twin.__dict__ is error.__dict__:     # tblib, which Dask loads, has copies share it
        twin.__dict__ = dict(error.__dict__)
    if "__notes__" in error.__dict__:
        twin.__notes__ = list(error.__notes__)
    twin.__cause__ = error.__cause__
    twin.__suppress_context__ = error.__suppress_context__
    return twin

# ---- what nobody saw -------------------------------------------------------------------------------------------------

cdef list unseen_errors():
    """The errors not seen yet, oldest first; they are seen now."""
    cdef Poison* p = poisons
    errors = []
    while p != NULL:                # without running any Python code, in which others could end a poison
        if not p.seen:
            p.seen = 1
            errors.append(<object>p.error)
        p = p.next
    errors.reverse()
    if not no_memory.seen:
        no_memory.seen = 1
        errors.append(<object>no_memory.error)
    return [duplicate(error) for error in errors]

cdef long reported = 0              # GIL: how many

def fail_at_exit():
    """If there were errors that nobody has read, the process ends with code 1 when Python has done all else."""
    if reported and Py_AtExit(end_badly):
        end_badly()                 # no room: now

cdef void end_badly() noexcept nogil:
    fflush(NULL)
    _exit(1)

cpdef void report_unseen(object error) noexcept:
    """Through sys.unraisablehook, as Python reports what cannot be caught; its default does not print notes."""
    global reported
    text = "dflow: an operation failed and nobody read its result (DFLOW_ENGINE=naive raises it at its call)"
    reported += 1
    try:
        if sys.unraisablehook is not sys.__unraisablehook__:
            from types import SimpleNamespace
            sys.unraisablehook(SimpleNamespace(exc_type=type(error), exc_value=error, err_msg=text, object=None,
                                               exc_traceback=error.__traceback__))
        elif sys.stderr is not None:
            import traceback
            print(text + ":", "".join(traceback.format_exception(error)), sep="\n", end="", file=sys.stderr)
    except Exception:
        pass                        # nothing is left to tell it to
