"""Elements as numbers: for code that is to see NumPy's."""

cimport numpy as cnp
from cpython.object cimport PyObject
from dflow._array.core cimport READONLY, SCALAR, is_ours, ndarray, new_scalar, truths
from dflow._engine cimport settings
from dflow._kernels.dtypes cimport BOOL
from dflow._tracing.tape cimport gradients_kept

cdef extern from "Python.h":
    bint PyFloat_Check(object)
    bint PyLong_Check(object)

cdef ndarray a_bool(bint value, int flags):
    cdef ndarray out = new_scalar(BOOL)
    out.st.data[0] = value
    out.flags |= flags
    return out

cdef tuple two_truths = (a_bool(False, READONLY), a_bool(True, READONLY))
truths[0], truths[1] = <PyObject*>two_truths[0], <PyObject*>two_truths[1]

cdef ndarray new_bool(bint value):
    settings.inlined += 1
    return a_bool(value, 0) if gradients_kept() else <ndarray>truths[value]

cpdef bint is_number(object x):
    """Whether x is a float or an int: of Python, or NumPy's float64. No element of ours, whose value may be pending."""
    return PyFloat_Check(x) or PyLong_Check(x)

cpdef object as_number(object x):
    """An element as NumPy's number, which waits; anything else as it is."""
    return x.asnumpy()[()] if is_ours(x) and (<ndarray>x).flags & SCALAR else x

def with_numbers(objects):
    """An array of objects, with NumPy's numbers for the elements of ours in it: itself, if there are none. Waits."""
    cdef object flat = objects.reshape(-1)
    cdef char* items = <char*>cnp.PyArray_DATA(flat)
    cdef Py_ssize_t i, step = flat.strides[0]
    cdef PyObject* item
    for i in range(cnp.PyArray_SIZE(flat)):
        item = (<PyObject**>(items + i * step))[0]
        if item != NULL and is_ours(<object>item):
            break
    else:
        return objects
    flat = flat.copy()
    for i in range(i, len(flat)):
        flat[i] = as_number(flat[i])
    return flat.reshape(objects.shape)
