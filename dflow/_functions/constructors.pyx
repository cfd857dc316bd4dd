"""Making arrays, from what there is and filled. Sources are copied, but for buffers: see _functions/buffers.pyx."""

import operator

import numpy as np
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset
from dflow._kernels.kernel cimport ELEMENTWISE, intp, Kernel, MAXDIMS
from dflow._runtime.graph cimport is_large, Large, storage_allocate
from dflow._array.dispatch cimport Operand, fill_constant, fill_index, launch
from dflow._kernels.dtypes import NotHeld
from dflow._kernels.dtypes cimport BOOL, LONG, DOUBLE, DTYPES, code_of, is_integer, native, numpy_array, twin_of
from dflow._kernels.registry cimport kernel_new, sleep_kernel
from dflow._array.core cimport *, is_ours
from dflow._functions.fastpath cimport allocated
from dflow._functions.interop cimport elsewhere, foreign, foreign_like
from dflow._functions.numbers cimport cast_into, numbers_for
from dflow._array.shape cimport parse_shape, check_dimensions
from dflow._functions.placement cimport device_number, put, put_new
from dflow._functions.sequences cimport from_sequence, is_sequence
from dflow._functions.buffers import adopt, placed
from dflow._functions.views import known_order
from dflow._functions.basic_indexing cimport fill_with, stored

cdef extern from "Python.h":
    ctypedef struct PyMethodDef:
        const char* ml_name
        void* ml_meth
        int ml_flags
        const char* ml_doc
    ctypedef struct PyCFunctionObject:
        PyMethodDef* m_ml
    enum:
        METH_FASTCALL
        METH_KEYWORDS
    object PyCFunction_NewEx(PyMethodDef*, PyObject*, object)
    PyObject* PyObject_Vectorcall(PyObject*, PyObject**, size_t, PyObject*) except NULL
    bint PyList_CheckExact(object)
    bint PyObject_CheckBuffer(object)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1

NO_COPY = (
    "Unable to avoid copy while creating an array as requested.\n"
    "If using `np.array(obj, copy=False)` replace it with `np.asarray(obj)` to allow a copy when needed "
    "(no behavior change in NumPy 1.x).\nFor more details, see https://numpy.org/devdocs/numpy_2_0_migration_guide.html"
    "#adapting-to-changes-in-the-copy-keyword.")

# ---- from what there is ----------------------------------------------------------------------------------------

cdef ndarray made(object x):
    """x itself, if it is an array of ours, else a copy."""
    cdef ndarray out
    if is_ours(x):
        return <ndarray>x
    if is_sequence(x):
        out = from_sequence(x)
        if out is not None:
            return out
    return as_array(np.asarray(x) if isinstance(x, np.ndarray) else x)      # as which a masked array is its numbers

# types often met
cdef frozenset PLAIN = frozenset((list, tuple, range, bool, int, float, complex, np.ndarray))

cdef inline object asked(object x):
    """What the __array__ of an object gives, an array of ours or of NumPy's; anything else as it is."""
    if is_ours(x) or PyList_CheckExact(x) or type(x) in PLAIN or isinstance(x, (np.ndarray, np.generic)):
        return x
    return numpy_array(x, None) if hasattr(type(x), "__array__") else x

def holds_arrays(x):
    """Whether a list or tuple, or a list in it, holds our arrays: those are stacked without waiting for them."""
    return isinstance(x, (list, tuple)) and contains_arrays(x)

cdef ndarray of_numbers(object x, object dtype):
    """A list or tuple of Python's numbers as a type of ours; None where it is something else."""
    try:
        return from_sequence(x, code_of(dtype))
    except TypeError:           # no type of ours
        return None

cdef object cast_within(object x, int code):
    """Lists with their arrays as that type, each by itself: what holds them all might hold less, as a double integers.
    Numbers may not fit where their arrays would be cast: they stay."""
    if is_sequence(x):
        return [cast_within(item, code) for item in x]
    if not (is_ours(x) or type(x) is np.ndarray) or x.ndim == 0:
        return x
    return as_array(x).astype(DTYPES[code], copy=False)

cpdef ndarray converted(object x, object dtype=None):
    """An ndarray: x itself if it is one of that type, a view of x if of one that equals it, else a copy."""
    cdef int code
    if dtype is None:
        return made(x)
    if isinstance(x, ndarray):
        code = code_of(dtype)                   # an error, of which astype() makes NumPy's array
        return x.view(dtype) if code != (<ndarray>x).code == twin_of[code] else x.astype(dtype, copy=False)
    if is_sequence(x):
        found = of_numbers(x, dtype)
        if found is not None:
            return found
    if holds_arrays(x):
        code = code_of(dtype)
        return stored(cast_within(x, code), code)
    descr = native(dtype)
    array = numpy_array(x, descr)
    try:
        return as_array(array)
    except NotHeld as error:
        if descr.subdtype is None:              # else it would be given its axes once more
            error.of, error.made = x, array
        raise

cpdef ndarray in_order(ndarray x, object order):
    """x itself if its memory is in the order, else a copy that is."""
    if order == "C":
        return x if x.flags & C_CONTIGUOUS else copy_of(x)
    if order == "F":
        return x if x.flags & F_CONTIGUOUS else copy_order(x, "F")
    if order is not None:
        known_order(order)
    return x

def copy_order(ndarray x, order):
    """A copy in memory order F, A (F if x is), or K (as x)."""
    if order == "K":
        if x.flags & C_CONTIGUOUS:
            return copy_of(x)
        out = new_like([x], x.code, x.ndim, x.shape, False, True)
        copy_elements(out, x)
        if records(x, None):
            record_hooks.record_copy(x, out)
        return out
    if order == "F" or (order == "A" and x.flags & F_CONTIGUOUS and not x.flags & C_CONTIGUOUS):
        return owned(x.T.copy().T)
    if order not in ("C", "A"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return copy_of(x)


cdef object copy_mode(object copy):
    """True, False, or None: only where one is needed. Of what is true or false, or a _CopyMode of NumPy's."""
    if isinstance(copy, str):
        raise ValueError("strings are not allowed for 'copy' keyword. Use True/False/None instead.")
    return None if copy is None or copy is np._CopyMode.IF_NEEDED else bool(copy)

cdef object uncopied(object x, object copy):
    """An array over the memory of x, which is none of ours: of a buffer, which NumPy does not copy either, or where
    copy is False; ValueError where that cannot be. Anything else as it is."""
    found = x
    if isinstance(x, np.ndarray):
        found = adopt(x) if copy is False else x
    elif type(x) not in PLAIN and PyObject_CheckBuffer(x) and not isinstance(x, (bytes, np.generic)):
        found = adopt(np.asarray(x))
    if copy is False and not is_ours(found):
        raise ValueError(NO_COPY)
    return found

cdef inline bint sees(ndarray result, object given):
    """Whether the result is the array given, or a view of it."""
    return is_ours(given) and result.st == (<ndarray>given).st

cdef ndarray without_copy(ndarray result, object given, object copy):
    """What was made of `given`; ValueError where there should have been no copy."""
    if copy is False and not sees(result, given):
        raise ValueError(NO_COPY)
    return result

def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, ndmax=None, like=None):
    """A new array with the numbers of anything array-like. Of anything else, as texts, dates, objects, NumPy's array.

    ValueError for sequences nested deeper than ndmax. Axes of length 1 come first, up to ndmin of them all.
    """
    cdef ndarray result
    if subok and foreign(object) and isinstance(object, np.ndarray):
        return np.array(object, dtype, copy=copy, order=order, subok=True, ndmin=ndmin)
    object = asked(object)              # an array of ours is copied, too
    if copy is True and order is "K" and ndmin == 0 and ndmax is None:
        result = None
        if dtype is None:
            result = made(object)
        elif is_sequence(object):
            result = of_numbers(object, dtype)
        if result is not None:
            return copy_order(result, "K") if result is object else put_new(result, -1)
    copy = copy_mode(copy)
    if not copy and not is_ours(object):
        object = uncopied(object, copy)
    if ndmin > 1 or ndmax is not None:
        np.array(0, ndmin=ndmin, **({} if ndmax is None else {"ndmax": ndmax}))        # its errors
    if to_be_objects(object, dtype) or ndmax is not None and dtype is not None and np.dtype(dtype) == np.object_:
        return np.array(as_objects(object), dtype, copy=copy, order=order, subok=subok, ndmin=ndmin,
                        **({} if ndmax is None else {"ndmax": ndmax}))
    result = converted(object, dtype)
    if ndmax is not None and result.ndim > ndmax and isinstance(object, (list, tuple)):
        raise ValueError("setting an array element with a sequence. The requested array would exceed the maximum "
                         f"number of dimension of {ndmax}.")
    if result is not object and not isinstance(object, ndarray):
        put_new(result, -1)
    if copy and sees(result, object):
        result = copy_order(result, order)
    result = without_copy(in_order(variable(result), order), object, copy)
    if ndmin > result.ndim:
        return result.reshape((1,) * (ndmin - result.ndim) + shape_tuple(result))
    return result

@cython.binding(False)                  # a builtin, to which the interpreter has a shorter way
@cython.embedsignature(True)
@cython.embedsignature.format("clinic")
def asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    """An array of anything array-like: `a` itself if it already is one of that type and order, else a copy."""
    return made_or_like(array_of, np.asarray, like, a, dtype, order, device, copy)

@cython.binding(False)
@cython.embedsignature(True)
@cython.embedsignature.format("clinic")
def asanyarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    """As asarray, but subclasses of NumPy's array, as masked ones, stay what they are; only a memmap is numbers."""
    if foreign_like(like) or not is_ours(a) and isinstance(a, np.ndarray) and foreign(a):
        return made_like(np.asanyarray, like, a, dtype, order, device, copy)
    return made_or_like(array_of, np.asanyarray, None, a, dtype, order, device, copy)

# asarray() and asanyarray(), but an array alone is given back before the other arguments, which take longer, are looked
# at.
cdef object whole_asarray = asarray, whole_asanyarray = asanyarray

cdef PyObject* of_one(object whole, PyObject** args, Py_ssize_t nargs, PyObject* names) except NULL:
    if nargs == 1 and names == NULL and is_ours(<object>args[0]) and not (<ndarray>args[0]).flags & SCALAR:
        Py_INCREF(<object>args[0])
        return args[0]
    return PyObject_Vectorcall(<PyObject*>whole, args, nargs, names)

cdef PyObject* asarray_of_one(PyObject* module, PyObject** args, Py_ssize_t nargs, PyObject* names) except NULL:
    return of_one(whole_asarray, args, nargs, names)

cdef PyObject* asanyarray_of_one(PyObject* module, PyObject** args, Py_ssize_t nargs, PyObject* names) except NULL:
    return of_one(whole_asanyarray, args, nargs, names)

cdef PyMethodDef asarray_method, asanyarray_method

cdef object quick(PyMethodDef* method, void* function, object whole):
    cdef PyMethodDef* given = (<PyCFunctionObject*><PyObject*>whole).m_ml
    method.ml_name, method.ml_doc = given.ml_name, given.ml_doc
    method.ml_meth = function
    method.ml_flags = METH_FASTCALL | METH_KEYWORDS
    return PyCFunction_NewEx(method, <PyObject*>NULL, "dflow.numpy")

asarray = quick(&asarray_method, <void*>asarray_of_one, asarray)
asanyarray = quick(&asanyarray_method, <void*>asanyarray_of_one, asanyarray)

cdef dict texts = {}                    # of functions in C, which point to them

def give_text(function, str text):
    """Give a function in C its docstring, below its signature."""
    cdef bytes full = f"{function.__name__}{function.__text_signature__}\n--\n\n{text}".encode()
    (<PyCFunctionObject*><PyObject*>function).m_ml.ml_doc = full
    texts[function] = full

cdef object array_of(a, dtype, order, device, copy):
    if dtype is None and order is None and copy is None and device is None:
        if is_ours(a):
            return variable(<ndarray>a)
        if type(a) in PLAIN:
            return put_new(made(a), -1)
    elif dtype is not None and order is None and copy is None and device is None and is_sequence(a):
        found = of_numbers(a, dtype)
        if found is not None:
            return put_new(found, -1)
    cdef int number = device_number(device)
    a = asked(a)
    copy = copy_mode(copy)
    if not copy and not is_ours(a):
        a = uncopied(a, copy)
    result = (array(a, dtype, order=order or "K") if copy
              else without_copy(in_order(variable(converted(a, dtype)), order), a, copy))
    if number < 0 and not is_ours(a):
        return put_new(result, -1)
    return result if number < 0 else put(result, number) if result is not a else hooks.to_device(result, number)

ctypedef object (*maker)(object a, object dtype, object order, object device, object copy)

cdef object made_or_like(maker ours, function, like, a, dtype, order, device, copy):
    """What our function makes; NumPy's of what is no numbers, or the library of `like`."""
    if foreign_like(like):
        return made_like(function, like, a, dtype, order, device, copy)
    if elsewhere(device):
        given = {"dtype": dtype, "order": order, "copy": copy}
        return device.__array_function__(function, (type(device),), (a,), given)
    try:
        return ours(a, dtype, order, device, copy)
    except NotHeld as error:
        given = as_objects(a) if to_be_objects(a, dtype) else hooks.unwrap(error.made if a is error.of else a)
        return made_like(function, None, given, dtype, order, device, copy)

cdef bint to_be_objects(a, dtype):
    return dtype is not None and holds_arrays(a) and np.dtype(dtype) == np.object_

cdef object as_objects(x, frozenset within=frozenset()):
    """What NumPy is to make objects of: our arrays in lists are objects themselves, elements are its numbers.

    Lists without these stay what they are, and one within itself, or deeper than arrays have axes.
    """
    if type(x) in (list, tuple):
        if id(x) in within or len(within) >= MAXDIMS:
            return x
        within |= {id(x)}
        items = [as_objects(item, within) for item in x]
        return x if all([a is b for a, b in zip(items, x)]) else type(x)(items)
    return hooks.unwrap(x) if is_ours(x) and (<ndarray>x).flags & SCALAR else x

cdef object made_like(function, like, a, dtype, order, device, copy):
    """What NumPy's function makes, or the library of `like`."""
    if function is np.ascontiguousarray or function is np.asfortranarray:
        order = None
    given = {name: x for name, x in zip(("dtype", "order", "device", "copy", "like"),
                                        (dtype, order, device, copy, like)) if x is not None}
    return hooks.wrap(function(a, **given))

@cython.binding(False)
@cython.embedsignature(True)
@cython.embedsignature.format("clinic")
def ascontiguousarray(a, dtype=None, *, like=None):
    """In C order, of at least one axis."""
    return made_or_like(with_axis, np.ascontiguousarray, like, a, dtype, "C", None, None)

@cython.binding(False)
@cython.embedsignature(True)
@cython.embedsignature.format("clinic")
def asfortranarray(a, dtype=None, *, like=None):
    """In Fortran order, of at least one axis."""
    return made_or_like(with_axis, np.asfortranarray, like, a, dtype, "F", None, None)

cdef object with_axis(a, dtype, order, device, copy):
    cdef ndarray result = in_order(variable(converted(a if is_ours(a) else uncopied(a, None), dtype)), order)
    return result if result.ndim else result.reshape(1)

def frombuffer(buffer, dtype=float, count=-1, offset=0, *, like=None):
    """The numbers in a buffer, in its memory: who writes to one, writes to the other. Those in another byte order are
    converted, and what is not aligned is NumPy's array."""
    if is_ours(buffer) and np.dtype(dtype).isnative:
        like = np.frombuffer(placed(buffer, buffer)[0], dtype, count, offset)
        flat, start = variable(buffer).reshape(-1), operator.index(offset)
        if like.dtype.num == flat.dtype.num and start % like.itemsize == 0:     # which has a gradient
            return flat[start // like.itemsize:][:like.size]
        return flat.view(np.uint8)[start:start + like.nbytes].view(dtype)
    return adopt(np.frombuffer(buffer, dtype, count, offset))

def fromiter(iter, dtype, count=-1, *, like=None):
    """The numbers that an iterable gives."""
    return as_array(np.fromiter(iter, DTYPES[DOUBLE if dtype is None else code_of(dtype)], count))

# ---- for dflow.engine -------------------------------------------------------------------------------------------

def sleep(ndarray a, double seconds):
    """See dflow.engine.sleep: bytes are moved, whatever the type."""
    cdef Operand ops[3]
    cdef intp length[1]
    cdef ndarray source = contiguous(a), out = new_array(a.code, a.ndim, a.shape)
    length[0] = source.size * source.itemsize
    fill_operand(&ops[0], source, source.ndim, source.shape, False)
    fill_constant(&ops[1], <char*>&seconds, sizeof(double))
    fill_operand(&ops[2], out, out.ndim, out.shape, True)
    ops[0].strides[0] = ops[2].strides[0] = 1
    launch(sleep_kernel, ops, 3, 1, length, NULL)
    return out

# ---- filled ----------------------------------------------------------------------------------------------------

cdef ndarray uninitialized(object shape, object dtype, object order, object device=None):
    """A new array; ValueError for a negative dimension, TypeError for a type that is no number."""
    cdef intp dims[MAXDIMS]
    cdef int ndim, code = DOUBLE, number = -1 if device is None else device_number(device)
    ndim = parse_shape(shape, dims)
    check_dimensions(ndim, dims)
    if dtype is not None and dtype is not float:
        code = code_of(dtype)
    if order != "C":                # nearly always it is
        order = known_order(order)
    if order == "C":
        return put_new(new_array(code, ndim, dims), number)
    if order != "F":
        raise ValueError("only 'C' or 'F' order is permitted")
    return put_new(in_fortran_order(code, ndim, dims), number)

cdef ndarray in_fortran_order(int code, int ndim, intp* shape):
    cdef ndarray a = new_array(code, ndim, shape)
    cdef intp* strides = strides_of(a)
    cdef intp stride = a.itemsize
    cdef int i
    for i in range(ndim):
        strides[i] = stride
        if shape[i] > 0:
            stride *= shape[i]
    return close_view(a)

def empty(shape, dtype=None, order="C", *, device=None, like=None):
    """An array with no particular values. The shape is a length or a tuple of them; order: "C" or "F"."""
    return unused(uninitialized(shape, dtype, order, device))

cdef ndarray unused(ndarray a):
    """a, which is the program's from here on: until it is used, it need not have room."""
    if is_large(a.st):
        (<Large*>a.st).unused = 1
    return a

cdef enum:
    FEW_BYTES = 1 << 17     # that are sooner set to zero than asked for as zeros

def zeros(shape, dtype=None, order="C", *, device=None, like=None):
    """Zeros, of a shape and type; see empty(). Waits for a shape that is an array."""
    cdef ndarray result = uninitialized(shape, dtype, order, device)
    if result.st.nbytes <= FEW_BYTES and not captures and storage_allocate(result.st):
        memset(result.st.data, 0, result.st.nbytes)
    else:
        fill_with(result, 0)
    return result

def ones(shape, dtype=None, order="C", *, device=None, like=None):
    """Ones, of a shape and type; see empty()."""
    cdef ndarray result = uninitialized(shape, dtype, order, device)
    fill_with(result, 1)
    return result

def full(shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    """fill_value everywhere, or, if it is an array, broadcast to the shape; its type, unless given."""
    if dtype is None:
        dtype = type_of(fill_value)
    return filled(uninitialized(shape, dtype, order, device), fill_value)

cdef object type_of(object x):
    """The type that x has as an array."""
    if isinstance(x, ndarray):
        return DTYPES[(<ndarray>x).code]
    return type(x) if type(x) in (float, bool, complex) else np.asarray(x).dtype.newbyteorder("=")

cdef ndarray filled(ndarray a, object value):
    """a, full of a value that is cast: only a Python integer must fit."""
    if type(value) is int and (a.code != BOOL or value == 0 or value == 1) or type(value) is bool or (
            type(value) is float and not is_integer(a.code)):
        fill_with(a, value)
    else:
        cast_into(a, numbers_for(value, DTYPES[a.code]))
    return a

cdef ndarray like(object a, object dtype, object order, object shape, object device):
    """An array of the same shape, type, memory order and device, but for what is given."""
    cdef intp dims[MAXDIMS]
    if not isinstance(a, ndarray):
        a = np.empty_like(a, order="K")
        native(a.dtype if dtype is None else None)      # an error, by which NumPy's function makes its array
    cdef ndarray x = as_array(a), out
    cdef int code = x.code if dtype is None else code_of(dtype), ndim = x.ndim, number = device_number(device)
    if shape is None:
        memcpy(dims, x.shape, ndim * sizeof(intp))
    else:
        ndim = parse_shape(shape, dims)
        check_dimensions(ndim, dims)
    order = known_order(order)
    if order == "K" and ndim == x.ndim and not x.flags & C_CONTIGUOUS:
        out = new_like([x], code, ndim, dims, False, True)
    elif order == "F" or (order == "A" and x.flags & F_CONTIGUOUS and not x.flags & C_CONTIGUOUS):
        out = in_fortran_order(code, ndim, dims)
    else:
        out = new_array(code, ndim, dims)
    out.st.device = x.st.device
    return put(out, number) if number >= 0 else out

def empty_like(prototype, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """An array of the same shape and type, with no particular values."""
    return unused(like(prototype, dtype, order, shape, device))

def zeros_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """Zeros of the same shape and type."""
    return filled(like(a, dtype, order, shape, device), 0)

def ones_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """Ones of the same shape and type."""
    return filled(like(a, dtype, order, shape, device), 1)

def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """One value everywhere, in the same shape and type."""
    return filled(like(a, dtype, order, shape, device), fill_value)

# ---- ranges ----------------------------------------------------------------------------------------------------

cdef enum:
    SMALL = 4096                # up to so many elements a range is made at once

cdef struct Ramp:               # first + i * by, but `second` for 1: NumPy's, whose `by` is the difference of the two
    double first, second, by

cdef struct IntegerRamp:
    int64_t first, by

cdef void ramp_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """Index, a Ramp, out (double)."""
    cdef Ramp r = (<Ramp*>args[1])[0]
    cdef double* x = <double*>args[2]
    cdef intp index = <intp>args[0], n = dims[0], done = 0
    cdef double base
    cdef int i, m
    while done < n:             # in parts whose numbers fit an int: those become doubles by vectors
        base = index + done
        m = <int>min(n - done, SMALL)
        for i in range(m):
            x[done + i] = r.first + (base + i) * r.by
        done += m
    if index == 0:
        x[0] = r.first          # it may be -0.0
    if index <= 1 < index + n:
        x[1 - index] = r.second

cdef void integer_ramp_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """Index, an IntegerRamp, out (int64)."""
    cdef IntegerRamp r = (<IntegerRamp*>args[1])[0]
    cdef int64_t* x = <int64_t*>args[2]
    cdef int64_t at = r.first + <intp>args[0] * r.by
    cdef intp i
    for i in range(dims[0]):
        x[i] = at
        at += r.by

cdef Kernel* RAMP = kernel_new(b"arange", 2, 3, ramp_loop, NULL, ELEMENTWISE, 0.3)
cdef Kernel* INTEGER_RAMP = kernel_new(b"arange", 2, 3, integer_ramp_loop, NULL, ELEMENTWISE, 0.3)

cdef ndarray ramp(Kernel* k, int code, intp n, char* constant, int size):
    cdef ndarray out = new_array(code, 1, &n, True)
    cdef Operand ops[3]
    fill_index(&ops[0], 1, &n)
    fill_constant(&ops[1], constant, size)
    fill_operand(&ops[2], out, 1, &n, True)
    launch(k, ops, 3, 1, &n, NULL)
    return out

def number_range(start, stop, step):
    """arange of Python numbers, as NumPy computes it; None where they are not all int or float, or too large."""
    cdef double first, last, by
    if stop is None:
        start, stop = 0, start
    if step is None:
        step = 1
    if type(start) is int and type(stop) is int and type(step) is int:
        return put_new(integer_range(start, stop, step), -1)
    if (type(start) is not float and type(start) is not int or type(stop) is not float and type(stop) is not int
            or type(step) is not float and type(step) is not int):
        return None
    try:
        first, last, by = start, stop, step
    except OverflowError:
        return None
    return put_new(float_range(first, last, by), -1)

cdef inline bint far_in(int64_t i) noexcept:
    """Whether sums of a few such numbers do not overflow."""
    return -(<int64_t>1 << 60) < i < <int64_t>1 << 60

cdef ndarray integer_range(object start, object stop, object step):
    cdef int64_t first, last, by, i
    cdef int64_t* x
    cdef int overflow[3]
    cdef intp n
    cdef ndarray out
    cdef IntegerRamp r
    first = PyLong_AsLongLongAndOverflow(start, &overflow[0])
    last = PyLong_AsLongLongAndOverflow(stop, &overflow[1])
    by = PyLong_AsLongLongAndOverflow(step, &overflow[2])
    if overflow[0] or overflow[1] or overflow[2] or by == 0 or not (far_in(first) and far_in(last) and far_in(by)):
        return None
    n = max((last - first + by - (1 if by > 0 else -1)) // by, 0)
    if sizeof(long) != 8 or n >= <intp>1 << 53:
        return None
    if n > SMALL:
        r.first = first
        r.by = by
        return ramp(INTEGER_RAMP, LONG, n, <char*>&r, sizeof(r))
    out = allocated(LONG, 1, &n)
    x = <int64_t*>data_of(out)
    for i in range(n):
        x[i] = first
        first += by
    return out

cdef ndarray float_range(double first, double last, double by):
    cdef double length = (last - first) / by if by else 0, delta
    cdef double* x
    cdef intp i, n
    cdef ndarray out
    cdef Ramp r
    if not 0 < length < <double>(<intp>1 << 53):
        return None
    n = <intp>length
    if n < length:
        n += 1
    if n > SMALL:
        r.first = first
        r.second = first + by
        r.by = r.second - first
        return ramp(RAMP, DOUBLE, n, <char*>&r, sizeof(r))
    out = allocated(DOUBLE, 1, &n)
    x = <double*>data_of(out)
    x[0] = first
    if n > 1:
        x[1] = first + by
        delta = x[1] - first
        for i in range(2, n):
            x[i] = first + i * delta
    return out
