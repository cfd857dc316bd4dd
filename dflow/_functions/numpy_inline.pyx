"""Small work by NumPy's own functions, at once: where all that a call needs is there, a task would cost more."""

from functools import WRAPPER_ASSIGNMENTS
from types import BuiltinFunctionType, FunctionType, MethodType

import numpy as np
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_DECREF
from cpython.tuple cimport PyTuple_GET_SIZE
from dflow._kernels.kernel cimport intp
from dflow._runtime.disk cimport note_filling
from dflow._runtime.graph cimport is_large
from dflow._array.core cimport (
    ndarray, READONLY, SCALAR, as_array, from_numpy, is_free, is_near, numpy_window, records, is_ours, be_element)
from dflow._functions.by_vector cimport (
    PyObject_Vectorcall, PySequence_Fast_ITEMS, PyVectorcall_NARGS, called_by_vector, vectorcallfunc)
from dflow._functions.interop cimport any_foreign, any_like, ask_by_vector
from dflow._functions.numbers cimport numpys_answer
from dflow._kernels.dtypes cimport code_of_num, native
from dflow._base.thread_state cimport many_devices, near, recorders
from dflow._tracing.tape cimport any_records, record_row
from dflow._runtime.fp_errors cimport finite_checked
from dflow._functions.placement import follow
from dflow._kernels.dtypes import NotHeld

cdef extern from "Python.h":
    object PyVectorcall_Call(object, tuple, dict)
    object PyMethod_New(object, object)

SMALL = 4096                    # elements of an array, where little is known of what they take
cdef enum:
    FEW = 64                    # items of a list, or arguments

def few(double ns):
    """Elements, each of so many nanoseconds in NumPy's function, that are better done here and now: a Python function
    on a worker takes some 50 us more, which is then half of it all at most."""
    return <intp>(100000 / ns)

LATER = object()                # in place of what is not there, or not small
cdef tuple PLAIN = (int, float, complex, bool, str, slice, type(None), np.generic, np.dtype, type, type(np._NoValue))


cpdef ndarray as_scalar(ndarray a):
    """A fresh array, as a value from now on if it has no axes: for what is a scalar in NumPy."""
    if a.ndim == 0:
        be_element(a)
    return a

cdef object seen(object x, intp small, int depth=0):
    """x as NumPy is to see it, arrays as windows; LATER if it cannot be given at once."""
    cdef list items
    if is_ours(x):
        if (<ndarray>x).size > small or not is_near(<ndarray>x) or records(x, None):
            return LATER
        # Writeable, though nobody writes: some functions copy what they could not write to.
        return numpy_window(<ndarray>x)[()] if (<ndarray>x).flags & SCALAR else numpy_window(<ndarray>x)
    if type(x) is int or type(x) is float or type(x) is str or x is None:
        return x
    if (type(x) is list or type(x) is tuple) and depth < 2 and len(x) <= FEW:
        items = [seen(item, small, depth + 1) for item in x]
        for item in items:
            if item is LATER:
                return LATER
        return items if type(x) is list else tuple(items)
    if type(x) is cnp.ndarray:
        return x if cnp.PyArray_SIZE(x) <= small else LATER
    return x if isinstance(x, PLAIN) else LATER

cdef object ours(object x):
    """What NumPy returned, as arrays of ours; TypeError for an array of something else than numbers."""
    cdef int code
    if type(x) is cnp.ndarray:
        code = code_of_num(cnp.PyArray_TYPE(x))
        if not cnp.PyArray_ISNOTSWAPPED(x):
            native(x.dtype)
        return from_numpy(x, code) if code >= 0 else as_array(x)
    if x is None or type(x) is int or type(x) is float:
        return x
    if isinstance(x, cnp.generic):
        return as_scalar(as_array(x))
    if isinstance(x, cnp.ndarray):
        raise TypeError("a matrix is to stay one")
    if type(x) is tuple:
        return tuple([ours(item) for item in <tuple>x])
    if type(x) is list:
        return [ours(item) for item in <list>x]
    return type(x)(*map(ours, x)) if isinstance(x, tuple) and hasattr(x, "_fields") else x

cdef object attempt(object theirs, PyObject** args, Py_ssize_t nargs, PyObject* names, intp small, bint final,
                    bint any_of_ours=False):
    """What NumPy's function returns, if all arguments are there and small, one an array; else, or failing, LATER.

    As in a vectorcall, arguments by name come last; `names` is a tuple, or NULL. final: a failure is not tried again,
    as the function may have written, or nothing else is there to try; the error is NumPy's. any_of_ours: what returns
    is.
    """
    cdef PyObject* values[FEW]
    cdef Py_ssize_t i, n = 0, count = nargs if names == NULL else nargs + PyTuple_GET_SIZE(<object>names)
    if count > FEW or finite_checked:           # whose rules NumPy does not know
        return LATER
    try:
        for i in range(count):
            x = <object>args[i]
            value = seen(x, small)
            if value is LATER or i >= nargs and x is not None and (<tuple><object>names)[i - nargs] == "out":
                return LATER
            any_of_ours |= value is not x or type(x) is cnp.ndarray
            Py_INCREF(value)
            values[n] = <PyObject*>value
            n += 1
        if not any_of_ours:
            return LATER
        if not many_devices:
            return ours(PyObject_Vectorcall(theirs, values, nargs, names))
        given = [<object>args[i] for i in range(count)]
        follow(given, None, theirs)             # before anything is written
        return follow(given, ours(PyObject_Vectorcall(theirs, values, nargs, names)), theirs)
    except (FloatingPointError, Warning):       # np.errstate's, and the filters', wish
        raise
    except Exception:
        if final and n == count:
            raise
        return LATER
    finally:
        for i in range(n):
            Py_DECREF(<object>values[i])

def at_once(theirs, tuple args, dict keywords=None, intp small=SMALL, bint writes=False, bint final=False,
            bint draws=False):
    """What NumPy's function makes of arrays that are there and small, as arrays of ours; else, or if it fails, LATER.

    writes: into its first argument. draws: numbers, which are ours whatever its arguments are. With these, or final: if
    it fails, its error.
    """
    cdef tuple values = args, names
    cdef PyObject* given = NULL
    if keywords:
        names = tuple(keywords)
        given = <PyObject*>names
        values = args + tuple(keywords.values())
    if writes and not may_write(args[0]):
        return LATER
    if writes and many_devices:
        follow(args, args[0], theirs)           # what is written to goes along
    if writes:
        return write_at_once(theirs, PySequence_Fast_ITEMS(values), len(args), given, small)
    return attempt(theirs, PySequence_Fast_ITEMS(values), len(args), given, small, final or draws, draws)

cdef bint may_write(object x) noexcept:
    """Whether the caller may write to x at once, an array."""
    return (is_ours(x) and not (<ndarray>x).flags & (READONLY | SCALAR) and is_free((<ndarray>x).st, near)
            and not (<ndarray>x).st.spilled)

cdef object write_at_once(object theirs, PyObject** args, Py_ssize_t nargs, PyObject* names, intp small):
    """attempt(), of a function that writes to its first argument: NumPy may give the GIL away meanwhile."""
    cdef ndarray a = <ndarray>args[0]
    if not is_large(a.st):
        return attempt(theirs, args, nargs, names, small, True)
    note_filling(a.st, 1)
    try:
        return attempt(theirs, args, nargs, names, small, True)
    finally:
        note_filling(a.st, -1)

cdef int before_out(object function):
    """How many arguments may be given by place before one is `out`."""
    code = getattr(function, "__code__", None)
    names = code.co_varnames[:code.co_argcount] if code is not None else ()
    return names.index("out") if "out" in names else FEW

cdef dict face_of(function):
    """What functools.update_wrapper() gives to what wraps a function, without its Python: an import has 500 of them."""
    cdef dict face = {}
    for name in WRAPPER_ASSIGNMENTS:
        value = getattr(function, name, LATER)
        if value is not LATER:
            face[name] = value
    face.update(getattr(function, "__dict__", ()))
    face["__wrapped__"] = function
    return face

cdef object innermost(function):
    """What wrappers wrap."""
    inner = function
    while inner is not None:
        function, inner = inner, getattr(inner, "__wrapped__", None)
    return function

def bare(function):
    """A function of NumPy's without its look for other libraries' arrays."""
    return getattr(function, "_implementation", function)

cdef object text_of(function):
    """The docstring of one of these: a text, or what makes it when somebody asks (see _base/documents.py)."""
    cdef dict face = function.__dict__
    text = face.get("__doc__")
    if text is not None and type(text) is not str:
        text = face["__doc__"] = text()
    return text

cdef class builtin:
    """A function like `function`, but NumPy's `theirs`, at once, on arrays that are there, of up to `small` elements.

    Where NumPy's fails, `function` is called, and raises. writes: into its first argument; then NumPy's error is
    raised. In a class it is no method: so are those of NumPy's that are written in C.
    """
    cdef vectorcallfunc vectorcall
    cdef object function, theirs, numpys
    cdef object instead         # what is called in its place, or None: see divert()
    cdef object answer          # what is called where it fails, or None: see otherwise()
    cdef intp small
    cdef int most               # arguments by place
    cdef bint writes, dispatches, creates
    cdef dict __dict__
    cdef object __weakref__

    def __init__(self, function, theirs, intp small=SMALL, bint writes=False):
        self.vectorcall = <vectorcallfunc>call_small
        self.function = function
        self.theirs = bare(theirs)
        self.small = small
        self.most = min(before_out(function), before_out(self.theirs)) if small else 0
        self.writes = writes
        (<object>self).__dict__.update(face_of(function))

    def __call__(self, *args, **keywords):
        return (self.function if self.instead is None else self.instead)(*args, **keywords)

    def __get__(self, instance, owner):         # so `inspect` knows it for a routine
        return self

    @property
    def __text_signature__(self):               # as of those in C
        return str(signature_of(self.function))

    @property
    def __doc__(self):
        return text_of(self)

    @__doc__.setter
    def __doc__(self, text):
        (<object>self).__dict__["__doc__"] = text

    def __reduce__(self):
        return self.__qualname__

    def __eq__(self, other):                    # a table by functions has NumPy's, or ours: see __array_function__
        return True if self is other else self.numpys is other if self.numpys is not None else NotImplemented

    def __hash__(self):
        return hash(self.numpys) if self.numpys is not None else object.__hash__(self)

    def __repr__(self):
        return f"<function {self.__qualname__}>"

def signature_of(function):
    from inspect import signature       # slow to load
    return signature(function)

cdef class small_first(builtin):
    """The same, and a method in a class."""

    @property
    def __doc__(self):                          # its type has a docstring of its own
        return text_of(self)

    @__doc__.setter
    def __doc__(self, text):
        (<object>self).__dict__["__doc__"] = text

    @property
    def __signature__(self):                    # as of NumPy's that ask other libraries
        return signature_of(self.function)

    def __get__(self, instance, owner):
        return self if instance is None else PyMethod_New(self, instance)

cdef object call_small(builtin self, PyObject** args, size_t flags, PyObject* names):
    cdef Py_ssize_t i, nargs = PyVectorcall_NARGS(flags)
    if self.instead is not None:
        return PyObject_Vectorcall(self.instead, args, nargs, names)
    if recorders and any_records(args, nargs + (0 if names == NULL else PyTuple_GET_SIZE(<object>names))):
        return record_row(self.function, args, nargs, names)
    if self.small and nargs <= self.most and (not self.writes or nargs and may_write(<object>args[0])):
        result = (write_at_once(self.theirs, args, nargs, names, self.small) if self.writes
                  else attempt(self.theirs, args, nargs, names, self.small, False))
        if result is not LATER:
            return result
    if (self.dispatches and any_foreign(args, nargs + (0 if names == NULL else PyTuple_GET_SIZE(<object>names)))
            or self.creates and names != NULL and any_like(args + nargs, names)):
        return ask_by_vector(self.numpys, args, nargs, names)
    try:
        return PyObject_Vectorcall(self.function, args, nargs, names)
    except NotHeld as error:
        theirs = self.theirs if self.numpys is None else self.numpys
        given = [<object>args[i] for i in range(nargs if names == NULL else nargs + PyTuple_GET_SIZE(<object>names))]
        if theirs is None:
            raise
        keywords = {} if names == NULL else dict(zip(<tuple><object>names, given[nargs:]))
        return numpys_answer(theirs, tuple(given[:nargs]), keywords, error)

cdef object call_or_answer(builtin self, PyObject** args, size_t flags, PyObject* names):
    cdef Py_ssize_t i, nargs = PyVectorcall_NARGS(flags)
    try:
        return call_small(self, args, flags, names)
    except Exception as error:
        given = [<object>args[i] for i in range(nargs)]
        keywords = {} if names == NULL else {key: <object>args[nargs + i] for i, key in enumerate(<tuple><object>names)}
        return self.answer(error, given, keywords)

cdef class or_else:
    """The method `name` of `kind`, like `function`. What fails with one of `errors` is other(error, self, args,
    keywords)'s affair."""
    cdef vectorcallfunc vectorcall
    cdef object kind
    cdef str name
    cdef object function, other, instead
    cdef tuple errors
    cdef dict __dict__
    cdef object __weakref__

    def __init__(self, kind, str name, function, other, tuple errors):
        self.vectorcall = <vectorcallfunc>call_or_else
        self.kind = kind
        self.name = name
        self.function = function
        self.other = other
        self.errors = errors
        (<object>self).__dict__.update(face_of(function))
        self.__name__ = name

    def __call__(self, *args, **keywords):
        return PyVectorcall_Call(self, args, keywords)

    def __get__(self, instance, owner):
        return self if instance is None else PyMethod_New(self, instance)

    def __reduce__(self):                       # for who pickles a method's function, as cloudpickle does
        return getattr, (self.kind, self.name)

cdef object call_or_else(or_else self, PyObject** args, size_t flags, PyObject* names):
    cdef Py_ssize_t i, nargs = PyVectorcall_NARGS(flags)
    if self.instead is not None:
        return PyObject_Vectorcall(self.instead, args, nargs, names)
    try:
        return PyObject_Vectorcall(self.function, args, nargs, names)
    except self.errors as error:
        if nargs == 0:
            raise
        given = [<object>args[i] for i in range(1, nargs)]
        keywords = {} if names == NULL else {key: <object>args[nargs + i] for i, key in enumerate(<tuple><object>names)}
        return self.other(error, <object>args[0], given, keywords)

def divert(function, instead):
    """Let another function be called in place of one of these, wherever it has been imported to; None: itself again.

    A bound method stands for the method of all objects. Returns whether it is one of these.
    """
    function = getattr(function, "__func__", function)
    if isinstance(function, builtin):
        (<builtin>function).instead = instead
    elif isinstance(function, or_else):
        (<or_else>function).instead = instead
    else:
        return False
    return True

def otherwise(function, answer):
    """Let answer(error, args, keywords) be called where one of these fails; None: the error is raised again."""
    if not isinstance(function, builtin):
        return False
    (<builtin>function).answer = answer
    (<builtin>function).vectorcall = <vectorcallfunc>(call_small if answer is None else call_or_answer)
    return True

def own_way(function):
    """What does the same as one of these, wherever that is diverted to; any other function as it is."""
    cdef or_else method
    function = getattr(function, "__func__", function)
    if isinstance(function, or_else):
        method = <or_else>function
        return or_else(method.kind, method.name, method.function, method.other, method.errors)
    return copied(<builtin>function) if isinstance(function, builtin) else function

cdef builtin copied(builtin function, kind=None):
    """Another one of the same, maybe of the other type."""
    cdef bint binds = isinstance(function, small_first) if kind is None else kind is small_first
    cdef builtin new = small_first.__new__(small_first) if binds else builtin.__new__(builtin)
    new.vectorcall = <vectorcallfunc>call_small
    new.function, new.theirs, new.numpys = function.function, function.theirs, function.numpys
    new.small, new.most, new.writes = function.small, function.most, function.writes
    new.dispatches, new.creates = function.dispatches, function.creates
    (<object>new).__dict__.update((<object>function).__dict__)
    return new

def as_method(function):
    """The same as a method has it: with a first parameter `self`, given by place. What is in C stays as it is."""
    cdef builtin method
    if isinstance(function, builtin):
        method = copied(<builtin>function)
        method.function = method.__wrapped__ = as_method(method.function)
        return method
    if not isinstance(function, FunctionType) or function.__code__.co_argcount == 0:
        return function
    code = function.__code__
    first, *others = code.co_varnames
    code = code.replace(co_varnames=("self", *others), co_posonlyargcount=max(code.co_posonlyargcount, 1),
                        co_cellvars=tuple(["self" if name == first else name for name in code.co_cellvars]))
    new = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    new.__kwdefaults__ = function.__kwdefaults__
    new.__dict__.update(function.__dict__)
    return new

cdef void set_up() noexcept:
    cdef builtin first = builtin.__new__(builtin)
    cdef or_else second = or_else.__new__(or_else)
    cdef Py_ssize_t offset = <char*>&first.vectorcall - <char*><PyObject*>first
    called_by_vector(builtin, offset, False)
    called_by_vector(small_first, offset, True)
    called_by_vector(or_else, <char*>&second.vectorcall - <char*><PyObject*>second, True)

set_up()

def public(function, numpys, str module):
    """A function as our module has it: what binds, and what hands over to other libraries' arrays, is as in NumPy's.

    These may be among the arguments of functions that NumPy dispatches; those that make arrays have an argument `like`.
    """
    cdef builtin new
    cdef bint small = isinstance(function, builtin)
    if isinstance(numpys, np.ufunc) or not small and (
            isinstance(function, MethodType) or not hasattr(function, "__code__")):
        return function
    code = getattr(innermost(function), "__code__", None)
    creates = code is not None and "like" in code.co_varnames
    dispatches = bare(numpys) is not numpys
    in_c = isinstance(numpys, BuiltinFunctionType)
    if not (small or creates or dispatches or in_c):
        return function
    kind = builtin if in_c else small_first
    new = copied(<builtin>function, kind) if small else kind(function, numpys, 0)
    new.numpys = numpys
    new.dispatches = dispatches
    new.creates = creates
    new.__module__ = module
    new.__name__ = new.__qualname__ = numpys.__name__
    return new
