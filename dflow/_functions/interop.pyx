"""Other libraries' arrays: where one is among the arguments, NumPy's function is called, which hands over to it.

NumPy asks the arrays in its own order, ours among them, which decline where another library's is
(dflow/ops/methods.py).
"""

import numpy as np
cimport numpy as cnp
from cpython.tuple cimport PyTuple_GET_SIZE
from dflow._array.core cimport ndarray, hooks, SCALAR, is_ours
from dflow._kernels.dtypes cimport with_numpy_arrays

cdef extern from "Python.h":
    PyObject* _PyType_Lookup(type, object)
    PyObject** PySequence_Fast_ITEMS(object)

cdef enum:
    FEW = 64                    # items of a list that may hold numbers and arrays
    DEEP = 8                    # lists in lists

cdef tuple PROTOCOLS = ("__array_function__", "__array_ufunc__", "__array_wrap__", "__array_priority__")
cdef object memmap = np.memmap
LIKE, DEVICE = "like", "device"

cpdef bint foreign(object x):
    """Whether x is of a type that takes part in NumPy's protocols, but neither ours nor NumPy's; a subclass is foreign.

    So is a masked array, but not a memmap, which holds plain numbers.
    """
    if (is_ours(x) or type(x) is cnp.ndarray or type(x) is int or type(x) is float or type(x) is str
            or type(x) is bool or x is None or isinstance(x, (ndarray, cnp.generic))):
        return False
    if isinstance(x, cnp.ndarray):
        return not isinstance(x, memmap)
    for name in PROTOCOLS:
        if _PyType_Lookup(type(x), name) != NULL:
            return True
    return False

cdef bint overridden(tuple inputs, object out, object where):
    """Whether another library's array is among the arguments: NumPy's ufunc knows what to do."""
    for x in inputs:
        if not is_ours(x) and foreign(x):
            return True
    if where is not True and foreign(where):
        return True
    return out is not None and (any([foreign(x) for x in out]) if type(out) is tuple else foreign(out))

cdef bint among(object x, int depth=0):
    """Whether x is foreign, or something in it. A long list that begins with a number holds nothing else."""
    if type(x) is not list and type(x) is not tuple:
        return foreign(x)
    if depth == DEEP or len(x) > FEW and (type(x[0]) is float or type(x[0]) is int):
        return False
    for item in x:
        if not is_ours(item) and type(item) is not float and type(item) is not int and among(item, depth + 1):
            return True
    return False

cdef bint any_foreign(PyObject** args, Py_ssize_t n):
    cdef Py_ssize_t i
    for i in range(n):
        if not is_ours(<object>args[i]) and among(<object>args[i]):
            return True
    return False

cdef bint foreign_like(object like):
    return like is not None and not is_ours(like) and type(like) is not cnp.ndarray

cdef bint elsewhere(object device):
    """Whether a device is in another process, and makes arrays itself: one of dflow.cluster()."""
    return device is not None and type(device) is not str and (
        _PyType_Lookup(type(device), "__array_function__") != NULL)

cdef bint any_like(PyObject** args, PyObject* names):
    cdef Py_ssize_t i
    for i in range(PyTuple_GET_SIZE(<object>names)):
        name = (<tuple><object>names)[i]
        if name == LIKE and foreign_like(<object>args[i]) or name == DEVICE and elsewhere(<object>args[i]):
            return True
    return False

cdef object ask(function, tuple args, dict keywords):
    """function(*args, **keywords), NumPy's arrays in the result as ours. Where nobody takes ours, they are NumPy's."""
    for x in args:
        if hasattr(type(x), "__pandas_priority__"):         # others' arrays are lists to it, whose rows are elements
            return wrapped_result(function(*shared(args), **shared(keywords)))
    try:
        return wrapped_result(function(*args, **keywords))
    except ValueError as error:
        if "__array__ method not producing an array" not in str(error):
            raise
        args = tuple(with_numpy_arrays(args))               # it gives one of ours
    except TypeError as error:
        if "all returned NotImplemented" not in str(error) and "no implementation found for" not in str(error):
            raise
        args, keywords = shared(args), shared(keywords)
    return wrapped_result(function(*args, **keywords))

cdef object wrapped_result(object result):
    """A number stays one, for the library whose object was given."""
    return result if isinstance(result, cnp.generic) else hooks.wrap(result)

cdef object shared(object x):
    """Arrays of ours, also in lists and the like, as NumPy's over the same memory."""
    if is_ours(x):
        return np.asarray(x)[()] if (<ndarray>x).flags & SCALAR else np.asarray(x)
    if type(x) is dict:
        return {name: shared(item) for name, item in x.items()}
    return type(x)([shared(item) for item in x]) if type(x) is list or type(x) is tuple else x

cdef object ask_by_vector(function, PyObject** args, Py_ssize_t nargs, PyObject* names):
    """The same of what a vectorcall was given."""
    cdef Py_ssize_t i
    keywords = {} if names == NULL else {name: <object>args[nargs + i] for i, name in enumerate(<tuple><object>names)}
    given = tuple([<object>args[i] for i in range(nargs)])
    if elsewhere(keywords.get(DEVICE)):
        device = keywords.pop(DEVICE)
        return device.__array_function__(function, (type(device),), given, keywords)
    return ask(function, given, keywords)

cdef object override(function, tuple inputs, dict usual, list values):
    """A method of NumPy's ufunc; `values` by the names in `usual`, without what is as usual."""
    return ask(function, inputs, {name: x for (name, default), x in zip(usual.items(), values) if x is not default})
