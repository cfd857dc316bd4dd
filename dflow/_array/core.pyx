# cython: c_api_binop_methods=True
"""ndarray: a view of a storage. Making, viewing, copying, converting, waiting; and what it is to launch(): operands."""

import numpy as np
from numpy.exceptions import ComplexWarning
from dflow._kernels.dtypes import NotHeld
cimport cython
cimport numpy as cnp
from cpython.buffer cimport Py_buffer
from cpython.object cimport PyObject, PyTypeObject, Py_TYPE, destructor, newfunc
from cpython.ref cimport Py_INCREF, Py_XDECREF, Py_XINCREF
from libc.stdint cimport uint8_t
from libc.stdlib cimport labs
from libc.string cimport memcpy
from dflow._runtime.waiting cimport make_room, memory_budget, nudge, region_ready, wait_storage
from dflow._kernels.kernel cimport MAXDIMS, MAY_RAISE
from dflow._base.atomics cimport add_int, invariant, load_i64
from dflow._gpu.mirror cimport HOST_STALE, bring_here, done_there, wait_there
from dflow._runtime.fp_errors cimport warn_user, warnings_wait
from dflow._runtime.queues cimport shared
from dflow._runtime.disk cimport disk_error, note_filling
from dflow._runtime.graph cimport (
    abroad, bytes_live, FULL, readable, storage_allocate, storage_new, storage_rest, storage_unref, WRITE)
from dflow._runtime.region cimport fill_region, Region, regions_overlap
from dflow._array.array_type cimport element_types, elements_are_arrays, make_types
from dflow._array.dispatch cimport Operand, launch, copy_out
from dflow._array.in_caller cimport joins, run_unary
from dflow._base.allocator cimport memory_free, memory_hooks, MemoryHooks, memory_new
from dflow._base.hooks cimport check_callables, check_hooks
from dflow._array.shape cimport parse_shape, check_dimensions
from dflow._kernels.dtypes cimport (
    BOOL, DOUBLE, NCODES, DTYPES, itemsizes, code_of, code_of_num, is_complex, is_integer, is_true, numpy_array,
    read_complex, read_scalar, real_code)
from dflow._kernels.casts cimport cast_kernel, move_kernel

cnp.import_array()

cdef extern from "Python.h":
    PyObject** PyObject_GET_WEAKREFS_LISTPTR(object)
    void PyType_Modified(type)
    ctypedef struct Slots "PyTypeObject":
        const char* tp_name
        PyObject* tp_dict
        newfunc tp_new
        void* tp_vectorcall

cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyArray_Descr:
        pass
    object PyArray_NewFromDescr(PyTypeObject*, PyArray_Descr*, int, intp*, intp*, void*, int, PyObject*)

cdef class Hooks:
    """What floors above have, for this one: see _array/core.pxd."""
hooks = Hooks()

# ---- making arrays and views -----------------------------------------------------------------------------------

cdef inline int make_dims(ndarray a, int ndim) except -1:
    a.ndim = <uint8_t>ndim
    if ndim <= INLINE_DIMS:
        a.shape = a.inline_dims
    else:
        a.shape = <intp*>memory_new(2 * ndim * sizeof(intp))
        if a.shape == NULL:
            raise MemoryError("no memory for an array's shape")
    return 0

cdef ndarray new_array(int code, int ndim, intp* shape, bint pending=False):
    cdef ndarray a = ndarray.__new__(ndarray)
    cdef intp size = 1, stride = itemsizes[code]
    cdef intp* strides
    cdef int i
    make_dims(a, ndim)
    strides = a.shape + ndim
    a.code = <uint8_t>code
    a.itemsize = <uint8_t>stride
    for i in range(ndim - 1, -1, -1):
        a.shape[i] = shape[i]
        strides[i] = stride
        if shape[i] > 0:
            stride *= shape[i]
        # smaller factors have no larger product
        if (size | shape[i]) >> 28 and <double>size * shape[i] > <intp>1 << 56:
            too_big(code, ndim, shape)
        size *= shape[i]
    a.size = size
    a.flags = C_CONTIGUOUS | F_CONTIGUOUS
    if ndim > 1:
        set_contiguity(a)
    size *= a.itemsize
    if size > MIN_ROOM and bytes_live() + size > memory_budget and not make_room(size, False):
        if not hooks.in_file(a, size):
            too_big(code, ndim, shape)
        return a
    a.st = storage_new(size, pending)
    if a.st == NULL:
        too_big(code, ndim, shape)
    return a

cdef enum:
    MOST_SPARES = 64            # of a type

cdef bint keep_spares = True
cdef destructor cython_dealloc = (<PyTypeObject*>ndarray).tp_dealloc

cdef void release_spares() noexcept:
    global keep_spares
    cdef int code
    keep_spares = False
    for code in range(NCODES):
        while spares[code].first != NULL:
            pop_spare(&spares[code])
    keep_spares = True

cdef void end_array(ndarray a) noexcept:
    """tp_dealloc of ndarray, with no reference left to a. Nothing here can raise: unlike in a __dealloc__ of Cython's
    the exception that is set need not be put aside."""
    invariant(Py_TYPE(a) == (element_types[a.code] if a.flags & SCALAR else <PyTypeObject*>ndarray)
              or Py_TYPE(a) == map_type, b"the type of an array says whether it is an element")
    if (a.flags == C_CONTIGUOUS | F_CONTIGUOUS | SCALAR and a.ndim == 0 and a.base == NULL and a.offset == 0
            and a.st != NULL and a.st.nbytes == a.itemsize
            and PyObject_GET_WEAKREFS_LISTPTR(a)[0] == NULL
            and a.node == NULL and spares[a.code].n < MOST_SPARES and keep_spares and storage_rest(a.st)):
        a.base = spares[a.code].first
        spares[a.code].first = <PyObject*>a
        spares[a.code].n += 1
        return
    if a.st != NULL:
        storage_unref(a.st)
    if a.shape != a.inline_dims:
        memory_free(a.shape)
    Py_XDECREF(a.base)
    Py_XDECREF(a.node)
    cython_dealloc(<PyObject*>a)

(<PyTypeObject*>ndarray).tp_dealloc = <destructor>end_array
memory_hooks.before_trimming = release_spares

cdef ndarray make_scalar(int code):
    cdef ndarray a = ndarray.__new__(ndarray)
    a.shape = a.inline_dims
    a.code = <uint8_t>code
    a.itemsize = <uint8_t>itemsizes[code]
    a.size = 1
    a.flags = C_CONTIGUOUS | F_CONTIGUOUS
    be_element(a)
    a.st = storage_new(a.itemsize, False)
    if a.st == NULL:
        raise MemoryError("no memory for an array")
    return a

cdef enum:
    MIN_ROOM = 4096             # bytes up to which an array need not ask for room

cdef int too_big(int code, int ndim, intp* shape) except -1:
    """As NumPy says it; also when the bytes overflow, or would, were there elements."""
    sizes = tuple([shape[i] for i in range(ndim)])
    nbytes = itemsizes[code]
    for n in sizes:
        nbytes *= n
    if nbytes >= 1 << 63 or nbytes == 0:
        raise ValueError("array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.")
    text = f"Unable to allocate {nbytes} bytes for an array with shape {sizes} and data type {DTYPES[code]}"
    if bytes_live() + nbytes > memory_budget:
        text += f": {bytes_live()} bytes are in use, of a budget of {memory_budget} (dflow.engine.set_memory_budget)"
        if disk_error():
            text += f"; {disk_error()}"
    raise MemoryError(text)

cdef ndarray new_like(list arrays, int code, int ndim, intp* shape, bint pending=False, bint copies=False):
    """A new array in NumPy's order "K": as the axes of the arrays lie; where they disagree, as in C.
    copies: 0 is a stride, too."""
    cdef ndarray out = new_array(code, ndim, shape, pending)
    cdef intp* t = strides_of(out)
    cdef int i, j, axis
    cdef int order[MAXDIMS]
    cdef intp stride = out.itemsize
    if ndim < 2:
        return out
    for i in range(ndim):                   # insertion sort, innermost axis first, as NumPy's iterator does it
        axis = ndim - 1 - i
        j = insertion_point(arrays, ndim, axis, order, i, copies)
        move_up(order, j, i)
        order[j] = axis
    for i in range(ndim):
        t[order[i]] = stride
        if shape[order[i]] > 0:
            stride *= shape[order[i]]
    set_contiguity(out)
    return out

cdef inline void move_up(int* order, int start, int end) noexcept:
    cdef int i
    for i in range(end, start, -1):
        order[i] = order[i - 1]

cdef int insertion_point(list arrays, int ndim, int axis, int* order, int i, bint copies):
    """How far inside `axis` belongs among the i axes in order."""
    cdef int j, want, position = i
    for j in range(i - 1, -1, -1):
        want = wants_inside(arrays, ndim, axis, order[j], copies)
        if want > 0:
            position = j
        elif want < 0:
            break
    return position

cdef int wants_inside(list arrays, int ndim, int axis, int other, bint copies):
    """1 when `axis` has the shorter strides and belongs inside `other`, -1 when not, 0 when no array tells."""
    cdef int want = 0
    cdef ndarray a
    cdef intp s, t
    for a in arrays:
        s = stride_along(a, axis - ndim)
        t = stride_along(a, other - ndim)
        if s > 0 and t > 0 or copies and (s >= 0 and t >= 0 or len(arrays) == 1):
            if max(t, 0) <= max(s, 0):
                return -1                   # one that wants C order decides
            want = 1
    return want

cdef inline intp stride_along(ndarray a, int axis) noexcept:
    """Of an axis counted from the end, in absolute value; -1 where a broadcasts."""
    axis += a.ndim
    return labs(strides_of(a)[axis]) if axis >= 0 and a.shape[axis] != 1 else -1

cdef inline void set_contiguity(ndarray a) noexcept:
    """C and F flags, as NumPy: axes of length 1 do not count, empty arrays are both."""
    cdef intp* strides = strides_of(a)
    cdef intp expected = a.itemsize
    cdef int flags = C_CONTIGUOUS | F_CONTIGUOUS
    cdef int i
    for i in range(a.ndim - 1, -1, -1):
        if a.shape[i] != 1:
            if strides[i] != expected:
                flags &= ~C_CONTIGUOUS
                break
            expected *= a.shape[i]
    expected = a.itemsize
    for i in range(a.ndim):
        if a.shape[i] != 1:
            if strides[i] != expected:
                flags &= ~F_CONTIGUOUS
                break
            expected *= a.shape[i]
    if a.size == 0:
        flags = C_CONTIGUOUS | F_CONTIGUOUS
    a.flags = <uint8_t>((a.flags & READONLY) | flags)

cdef inline ndarray bare_view(Storage* s, int ndim):
    cdef ndarray v = ndarray.__new__(ndarray)
    v.st = s
    make_dims(v, ndim)
    return v

cdef inline ndarray new_view(ndarray a, int ndim):
    add_int(&a.st.refs, 1)
    cdef ndarray v = bare_view(a.st, ndim)
    v.offset = a.offset
    v.code = a.code
    v.itemsize = a.itemsize
    v.flags = a.flags & READONLY
    if a.st.foreign and Py_TYPE(a) == map_type:
        Py_SET_TYPE(v, map_type)
    v.base = viewed(a)
    if v.base == NULL:
        v.base = <PyObject*>a
    Py_INCREF(<object>v.base)
    if records(a, None):
        record_hooks.record_view(a, v)
    return v

cdef inline ndarray close_view(ndarray v):
    cdef int i
    v.size = 1
    for i in range(v.ndim):
        v.size *= v.shape[i]
    set_contiguity(v)
    return v

cdef ndarray from_numpy(object source, int code):
    """A copy of a NumPy array, in order "K": its axes lie in memory as those of the array do."""
    cdef int i, ndim = cnp.PyArray_NDIM(source)
    cdef intp shape[MAXDIMS]
    cdef bint in_c = ndim < 2 or cnp.PyArray_IS_C_CONTIGUOUS(source), fortran = not in_c and (
        cnp.PyArray_IS_F_CONTIGUOUS(source))
    strides = None if in_c or fortran else np.empty_like(source, subok=False).strides
    for i in range(ndim):
        shape[i] = cnp.PyArray_DIMS(source)[i]
    cdef ndarray out = new_array(code, ndim, shape)     # after that Python code, in which others find what is idle
    cdef intp stride = out.itemsize
    if not in_c:
        for i in range(ndim):
            strides_of(out)[i] = stride if fortran else strides[i] // cnp.PyArray_ITEMSIZE(source) * out.itemsize
            stride *= shape[i]
        set_contiguity(out)
    if out.size == 0:
        return out
    if not storage_allocate(out.st):
        too_big(code, ndim, shape)
    if code_of_num(cnp.PyArray_TYPE(source)) == code and cnp.PyArray_ISNOTSWAPPED(source) and (
            cnp.PyArray_IS_C_CONTIGUOUS(source) or cnp.PyArray_IS_F_CONTIGUOUS(source)):
        memcpy(out.st.data, cnp.PyArray_DATA(source), out.st.nbytes)
    else:
        note_filling(out.st, 1)         # NumPy gives the GIL away, and writes on
        try:
            cnp.PyArray_CopyInto(numpy_window(out), source)
        finally:
            note_filling(out.st, -1)
    return out

cdef object numpy_window(ndarray a, bint write=True, object base=None):
    """A NumPy array over the memory of a, which must be allocated; it keeps a, or base, alive.
    For code that knows when it may look."""
    cdef object dtype = DTYPES[a.code]
    cdef bint usual = (a.ndim == 0 or a.ndim == 1 and a.shape[1] == a.itemsize) and not <size_t>data_of(a) % a.itemsize
    cdef int flags = cnp.NPY_ARRAY_ALIGNED | (cnp.NPY_ARRAY_WRITEABLE if write else 0)
    Py_INCREF(dtype)            # Without strides, NumPy need not look at them.
    window = PyArray_NewFromDescr(<PyTypeObject*>cnp.ndarray, <PyArray_Descr*>dtype, a.ndim, a.shape,
                                  NULL if usual else strides_of(a), data_of(a), flags, NULL)
    cnp.set_array_base(window, a if base is None else base)
    return window

cdef ndarray as_array(object x):
    cdef int code
    cdef ndarray scalar
    if isinstance(x, ndarray):
        return x
    if isinstance(x, (list, tuple)) and contains_arrays(x):
        return hooks.stack(x)
    if isinstance(x, cnp.generic):
        code = code_of_num(cnp.PyArray_DescrFromScalar(x).type_num)
        if code >= 0:
            scalar = new_array(code, 0, NULL)
            cnp.PyArray_ScalarAsCtype(x, scalar.st.data)
            return scalar
    source = x if isinstance(x, cnp.ndarray) else numpy_array(x, None)
    if isinstance(source, ndarray):
        return source
    if type(source) is not cnp.ndarray and np.any(getattr(source, "mask", False)):
        raise NotHeld("dflow arrays hold numbers: masked arrays are not supported, but by the functions of numpy.ma")
    code = code_of_num(cnp.PyArray_TYPE(source))
    if code < 0:
        raise NotHeld(f"dflow arrays hold numbers: dtype {source.dtype} is not supported")
    return from_numpy(source, code)

cdef bint contains_arrays(object x, int depth=0):
    for item in x:
        if type(item) is float or type(item) is int:
            continue
        if (isinstance(item, ndarray)
                or (depth < MAXDIMS and isinstance(item, (list, tuple)) and contains_arrays(item, depth + 1))):
            return True
    return False

cdef ndarray as_array_code(object x, int code):
    if not isinstance(x, ndarray) and not (isinstance(x, (list, tuple)) and contains_arrays(x)):
        return from_numpy(numpy_array(x, DTYPES[code]), code)
    return cast(as_array(x), code)

cdef tuple shape_tuple(ndarray a):
    return tuple_of(a.shape, a.ndim)

cdef inline tuple tuple_of(intp* numbers, int n):
    if n == 1:
        return (numbers[0],)
    if n == 2:
        return (numbers[0], numbers[1])
    return tuple([numbers[i] for i in range(n)])

# ---- regions and overlap ---------------------------------------------------------------------------------------

cdef inline void region_of_view(ndarray a, Region* r) noexcept:
    fill_region(r, a.offset, a.itemsize, a.size, a.ndim, a.shape, strides_of(a))

cdef bint same_elements(ndarray a, ndarray b) noexcept:
    """Whether two views of one shape see each element at the same place."""
    cdef int i
    if a.st != b.st or a.offset != b.offset or a.ndim != b.ndim or a.itemsize != b.itemsize:
        return False
    for i in range(a.ndim):
        if a.shape[i] != b.shape[i] or (a.shape[i] > 1 and strides_of(a)[i] != strides_of(b)[i]):
            return False
    return True

cdef bint may_overlap(ndarray a, ndarray b) noexcept:
    cdef Region r, q
    if a.st != b.st:
        return False
    region_of_view(a, &r)
    region_of_view(b, &q)
    return regions_overlap(&r, &q)

# ---- operands ------------------------------------------------------------------------------------------------

cdef int fill_operand(Operand* o, ndarray a, int ndim, intp* shape, bint write) noexcept:
    """The view a, broadcast to a shape that it fits."""
    cdef intp* strides = strides_of(a)
    cdef int i, skip = ndim - a.ndim
    o.s = a.st
    o.offset = a.offset
    o.itemsize = a.itemsize
    o.flags = WRITE if write else 0
    if covers_storage(a):
        o.flags |= FULL
    else:
        region_of_view(a, &o.region)
    for i in range(skip):
        o.strides[i] = 0
    for i in range(a.ndim):
        o.strides[skip + i] = 0 if a.shape[i] == 1 and shape[skip + i] != 1 else strides[i]
    return 0

cdef int not_full(Operand* o, ndarray a) noexcept:
    o.flags &= ~FULL
    region_of_view(a, &o.region)
    return 0

cdef bint ready(ndarray a) noexcept:
    cdef Region r
    if readable(a.st):
        return True
    nudge()
    if covers_storage(a):
        return readable(a.st)
    region_of_view(a, &r)
    return region_ready(a.st, &r, False)

cdef ndarray wait_read(ndarray a, bint there=False):
    """a, once its elements are in memory (there: a GPU's will do), or a copy, if others write to a meanwhile.
    Raises their error."""
    cdef Region r
    cdef bint whole = covers_storage(a)
    if not whole:
        region_of_view(a, &r)
    if not wait_storage(a.st, NULL if whole else &r, False, True):
        a = copy_of(a)
        wait_storage(a.st, NULL, False, False)
    if a.st.stale & HOST_STALE and not there:
        return wait_read(hooks.brought(a))
    wait_there(a.st) if there else bring_here(a.st, True, False)
    return a

cdef object first_element(ndarray a):
    """As a Python scalar. Waits."""
    if not is_near(a) or warnings_wait():
        a = wait_read(a)
    return read_scalar(a.code, data_of(a))

cdef int wait_write(ndarray a) except -1:       # until nobody reads or writes its elements
    cdef Region r
    region_of_view(a, &r)
    wait_storage(a.st, NULL if covers_storage(a) else &r, True, False)
    bring_here(a.st, True, True)
    while abroad(a.st) and not writable(a.st):      # others may have submitted something meanwhile
        wait_storage(a.st, NULL, True, False)
        bring_here(a.st, True, True)

# ---- copies ----------------------------------------------------------------------------------------------------

cdef int copy_elements(ndarray target, ndarray source, Kernel* k=NULL) except -1:
    """Shapes agree, or source broadcasts; memory does not overlap, unless k, which copies, takes that."""
    cdef Operand ops[2]
    cdef intp shape[MAXDIMS]
    cdef int ndim = target.ndim
    memcpy(shape, target.shape, ndim * sizeof(intp))
    fill_operand(&ops[0], source, ndim, shape, False)
    fill_operand(&ops[1], target, ndim, shape, True)
    return launch(cast_kernel(source.code, target.code) if k == NULL else k, ops, 2, ndim, shape, NULL)

cdef int copy_into(ndarray out, ndarray a) except -1:
    """copy_elements() to a new array of the same shape; in C order, if a is."""
    cdef Kernel* k = cast_kernel(a.code, out.code)
    if (not a.flags & C_CONTIGUOUS or k.flags & MAY_RAISE or joins(a.size, k, True) or out.st.data == NULL
            or not is_here(a)):
        return copy_elements(out, a)
    return run_unary(k, data_of(a), a.itemsize, out.st.data, out.itemsize, a.size)

cdef ndarray cast(ndarray a, int code):
    cdef ndarray out
    if a.code == code:
        return a
    out = new_array(code, a.ndim, a.shape) if a.flags & C_CONTIGUOUS else new_like([a], code, a.ndim, a.shape)
    copy_into(out, a)
    if records(a, None):
        record_hooks.record_copy(a, out)
    return out

cdef ndarray copy_of(ndarray a):
    cdef ndarray out = new_array(a.code, a.ndim, a.shape)
    copy_into(out, a)
    if records(a, None):
        record_hooks.record_copy(a, out)
    return out

cdef ndarray contiguous(ndarray a):
    return a if a.flags & C_CONTIGUOUS else copy_of(a)

cdef int assign(ndarray target, ndarray source) except -1:
    """target[...] = source."""
    cdef int i, skip
    check_writable(target)
    while source.ndim > target.ndim and source.shape[0] == 1:       # NumPy drops leading axes of length 1
        source = without_first(source)
    skip = target.ndim - source.ndim
    for i in range(source.ndim):
        if skip < 0 or (source.shape[i] != 1 and source.shape[i] != target.shape[skip + i]):
            raise ValueError(f"could not broadcast input array from shape {shape_text(source)} into shape "
                             f"{shape_text(target)}")
    if is_complex(source.code) and not is_complex(target.code) and target.code != BOOL:
        warn_user("Casting complex values to real discards the imaginary part", ComplexWarning)
    if source.st == target.st and may_overlap(source, target):
        if source.code == target.code and same_elements(source, target):
            return 0
        if source.code == target.code and source.flags & target.flags & C_CONTIGUOUS and source.size == target.size:
            return copy_elements(target, source, move_kernel(source.code))
        source = copy_of(source)
    return copy_elements(target, source)

cdef ndarray without_first(ndarray a):
    """The view of a without its first axis, of length 1."""
    cdef ndarray v = new_view(a, a.ndim - 1)
    memcpy(v.shape, a.shape + 1, v.ndim * sizeof(intp))
    memcpy(v.shape + v.ndim, strides_of(a) + 1, v.ndim * sizeof(intp))
    return close_view(v)

cdef ndarray transposed(ndarray a, int* order):
    cdef ndarray v = new_view(a, a.ndim)
    cdef int i
    for i in range(a.ndim):
        v.shape[i] = a.shape[order[i]]
        v.shape[a.ndim + i] = strides_of(a)[order[i]]
    return close_view(v)

# ---- the class -------------------------------------------------------------------------------------------------

@cython.freelist(256)
cdef class ndarray:
    """ndarray(shape, dtype=float): an array whose elements may still be pending. Most arrays come from functions.

    A view of a storage: any slice, transpose or reshape shares its memory, as in NumPy. Operations return at once;
    reading a value (print, item, float, bool, tolist, asnumpy) waits for it, and raises the error of whatever failed
    on the way to it.
    """

    # ---- what it is

    @property
    def shape(self):
        """The lengths of the axes. Assignment reshapes in place; AttributeError where that would take a copy."""
        return shape_tuple(self)

    @shape.setter
    def shape(self, value):
        view = hooks.reshape(self, value)
        if (<ndarray>view).st != self.st:
            raise AttributeError("Incompatible shape for in-place modification. Use `.reshape()` to make a copy with "
                                 "the desired shape.")
        become(self, <ndarray>view)

    @shape.deleter
    def shape(self):
        raise AttributeError("Cannot delete array shape")

    @property
    def strides(self):
        """Bytes from one element to the next along each axis.
        Assignment, deprecated as in NumPy, stays in the memory."""
        return tuple_of(strides_of(self), self.ndim)

    @strides.setter
    def strides(self, value):
        check_array(self, "strides")
        like = np.empty((0,) * self.ndim, DTYPES[self.code])
        like.strides = value                # NumPy's warning, and its errors
        view = hooks.strided(self, shape_tuple(self), like.strides, "strides is not compatible with available memory")
        become(self, <ndarray>view)

    @strides.deleter
    def strides(self):
        raise AttributeError("Cannot delete array strides")

    @property
    def dtype(self):
        """NumPy's dtype of the elements. Assignment takes the same bytes as another one, in place: see view()."""
        return DTYPES[self.code]

    @dtype.setter
    def dtype(self, value):
        check_array(self, "dtype")
        become(self, <ndarray?>hooks.view(self, DTYPES[code_of(value)]))    # else it might be NumPy's

    @dtype.deleter
    def dtype(self):
        raise AttributeError("Cannot delete array dtype")

    @property
    def ndim(self):
        """The number of axes."""
        return self.ndim

    @property
    def size(self):
        """The number of elements."""
        return self.size

    @property
    def itemsize(self):
        """Bytes of an element."""
        return self.itemsize

    @property
    def nbytes(self):
        """Bytes of all elements."""
        return self.size * self.itemsize

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    # ---- views
    @property
    def base(self):
        """The array whose memory this one views, None for that one itself."""
        return None if self.base == NULL else <object>self.base

    @property
    def T(self):
        """The view with the axes reversed."""
        cdef int order[MAXDIMS]
        cdef int i
        for i in range(self.ndim):
            order[i] = self.ndim - 1 - i
        return self if self.flags & SCALAR else transposed(self, order)

    @property
    def mT(self):
        """The view with the last two axes swapped; ValueError for fewer."""
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return self.swapaxes(-1, -2)

    @property
    def real(self):
        """The real part, as a view; the array itself for real types."""
        return part(self, 0) if is_complex(self.code) else self

    @real.setter
    def real(self, value):
        hooks.set_part(self, 0, value)

    @real.deleter
    def real(self):
        raise AttributeError("Cannot delete array real part")

    @property
    def imag(self):
        """The imaginary part, as a view; read-only zeros for real types."""
        if is_complex(self.code):
            return part(self, 1)
        zeros = new_array(self.code, self.ndim, self.shape)
        array_hooks.index_set(zeros, Ellipsis, 0)
        (<ndarray>zeros).st.device = self.st.device
        if self.flags & SCALAR:
            be_element(<ndarray>zeros)
        else:
            (<ndarray>zeros).flags |= READONLY
        return zeros

    @imag.setter
    def imag(self, value):
        hooks.set_part(self, 1, value)

    @imag.deleter
    def imag(self):
        raise AttributeError("Cannot delete array imaginary part")

    def __getitem__(self, key):
        return array_hooks.index_get(self, key)

    def __setitem__(self, key, value):
        array_hooks.index_set(self, key, value)

    def __delitem__(self, key):
        raise ValueError("cannot delete array elements")

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return hooks.iterator(self)

    # ---- reading: all of this waits

    def wait_to_read(self, timeout=None):
        """Wait until the elements are computed. Raises the error of whatever failed on the way to them.

        timeout: seconds; None: as long as it takes. TimeoutError says what is still pending, which goes on.
        """
        if timeout is not None:
            hooks.wait_for_seconds(self, timeout)
        wait_read(self, True)

    def is_ready(self):
        """Whether reading would not wait."""
        return ready(self) and done_there(self.st)

    def asnumpy(self):
        """A NumPy array: a copy, in Fortran order if the array is. Waits."""
        cdef Operand source
        if self.flags & F_CONTIGUOUS and not self.flags & C_CONTIGUOUS:
            return self.T.asnumpy().T
        cdef ndarray a = wait_read(self)
        out = np.empty(shape_tuple(self), DTYPES[self.code])    # numpy's copy() would let other threads submit writes
        fill_operand(&source, a, a.ndim, a.shape, False)
        copy_out(cast_kernel(self.code, self.code), &source, self.ndim, self.shape, <char*>cnp.PyArray_DATA(out))
        return out

    def __getbuffer__(self, Py_buffer* view, int flags):
        array_hooks.buffer_fill(self, view, flags)

    def __releasebuffer__(self, Py_buffer* view):       # as there is one, NumPy's frombuffer() keeps the view, too
        array_hooks.buffer_end(view)

    def __bool__(self):
        if self.size == 1:
            return (is_true(self.code, data_of(self)) if is_near(self) and not warnings_wait() else
                    bool(first_element(self)))
        return not (self.size == 0 and mxnet_rules) and bool(np.empty(shape_tuple(self), np.bool))     # NumPy's error

    def __int__(self):
        return int(scalar(self))

    def __float__(self):
        if self.ndim == 0 and self.code == DOUBLE and is_near(self) and not warnings_wait():
            return (<double*>data_of(self))[0]
        return float(scalar(self))

    def __complex__(self, /):
        return (read_complex(self.code, data_of(self)) if self.ndim == 0 and is_near(self) and not warnings_wait() else
                complex_of(scalar(self) if self.ndim else first_element(self)))

    def __index__(self):
        if self.ndim or not is_integer(self.code) or self.code == BOOL:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return first_element(self)

    def __round__(self, ndigits=None):
        if self.ndim == 0:
            return round(self.item(), ndigits) if ndigits is not None else round(self.item())
        return hooks.round(self, ndigits or 0)

    def __hash__(self):
        if self.ndim:
            raise TypeError("unhashable type: 'ndarray'")
        return hash(first_element(self))

    def __contains__(self, value):
        return bool((self == value).any())

    def __repr__(self):
        return hooks.repr(self)

    def __str__(self):
        return str(first_element(self) if self.ndim == 0 and is_integer(self.code) else numpys(wait_read(self)))

    def __format__(self, /, spec):
        return format(numpys(wait_read(self)) if self.ndim else first_element(self), spec)

    def __await__(self):
        return hooks.wait_async(self).__await__()

    # ---- operators

    def __add__(a, b):
        return array_hooks.operator_binary(ADD, a, b)

    def __sub__(a, b):
        return array_hooks.operator_binary(SUBTRACT, a, b)

    def __mul__(a, b):
        return array_hooks.operator_binary(MULTIPLY, a, b)

    def __truediv__(a, b):
        return array_hooks.operator_binary(TRUE_DIVIDE, a, b)

    def __floordiv__(a, b):
        return array_hooks.operator_binary(FLOOR_DIVIDE, a, b)

    def __mod__(a, b):
        return array_hooks.operator_binary(REMAINDER, a, b)

    def __divmod__(a, b):
        return array_hooks.operator_binary(DIVMOD, a, b)

    def __pow__(a, b, modulo):
        if modulo is not None:
            return NotImplemented
        return array_hooks.operator_binary(POWER, a, b)

    def __lshift__(a, b):
        return array_hooks.operator_binary(LSHIFT, a, b)

    def __rshift__(a, b):
        return array_hooks.operator_binary(RSHIFT, a, b)

    def __and__(a, b):
        return array_hooks.operator_binary(AND, a, b)

    def __or__(a, b):
        return array_hooks.operator_binary(OR, a, b)

    def __xor__(a, b):
        return array_hooks.operator_binary(XOR, a, b)

    def __matmul__(a, b):
        return array_hooks.operator_binary(MATMUL, a, b)

    def __richcmp__(a, b, int op):
        return array_hooks.operator_binary(LESS + op, a, b)

    def __neg__(self):
        return array_hooks.operator_unary(NEGATIVE, self)

    def __pos__(self):
        return array_hooks.operator_unary(POSITIVE, self)

    def __abs__(self):
        return array_hooks.operator_unary(ABSOLUTE, self)

    def __invert__(self):
        return array_hooks.operator_unary(INVERT, self)

    def __iadd__(self, b):
        return array_hooks.operator_inplace(ADD, self, b)

    def __isub__(self, b):
        return array_hooks.operator_inplace(SUBTRACT, self, b)

    def __imul__(self, b):
        return array_hooks.operator_inplace(MULTIPLY, self, b)

    def __itruediv__(self, b):
        return array_hooks.operator_inplace(TRUE_DIVIDE, self, b)

    def __ifloordiv__(self, b):
        return array_hooks.operator_inplace(FLOOR_DIVIDE, self, b)

    def __imod__(self, b):
        return array_hooks.operator_inplace(REMAINDER, self, b)

    def __ipow__(self, b, modulo):
        return array_hooks.operator_inplace(POWER, self, b)

    def __ilshift__(self, b):
        return array_hooks.operator_inplace(LSHIFT, self, b)

    def __irshift__(self, b):
        return array_hooks.operator_inplace(RSHIFT, self, b)

    def __iand__(self, b):
        return array_hooks.operator_inplace(AND, self, b)

    def __ior__(self, b):
        return array_hooks.operator_inplace(OR, self, b)

    def __ixor__(self, b):
        return array_hooks.operator_inplace(XOR, self, b)

    def __imatmul__(self, b):
        return array_hooks.operator_inplace(MATMUL, self, b)

def _made(*given, **named):
    """ndarray(shape, dtype=float, buffer=None, offset=0, strides=None, order=None); errors are NumPy's."""
    try:
        if named or not 0 < len(given) < 3:
            made = np.ndarray(*given, **named)
            return as_array(made) if made.base is None else hooks.adopt(made)
        return empty(given[0], float if len(given) == 1 or given[1] is None else given[1])
    except NotHeld:
        return np.ndarray(*given, **named)

# ---- parts of the class ----------------------------------------------------------------------------------------

cdef bint host_task_may_have(ndarray a) noexcept:
    return a.st != NULL and load_i64(&shared.host_tasks) != 0 and not writable(a.st)

cdef int become(ndarray self, ndarray other) except -1:
    """Make self what other is, in place."""
    cdef Storage* before = self.st
    if host_task_may_have(self):
        wait_storage(self.st, NULL, True, False)        # all of it: what has no elements has a shape to look at
    if self.shape != self.inline_dims:
        memory_free(self.shape)
    self.shape = NULL
    make_dims(self, other.ndim)
    memcpy(self.shape, other.shape, 2 * other.ndim * sizeof(intp))
    add_int(&other.st.refs, 1)
    self.st, self.offset, self.size = other.st, other.offset, other.size
    self.code, self.itemsize, self.flags = other.code, other.itemsize, other.flags
    Py_SET_TYPE(self, Py_TYPE(other))
    if before != NULL:
        storage_unref(before)           # last: what ends with it may run Python
    return 0

cdef ndarray broadcast_same(ndarray a):
    """A fresh view of all of a."""
    cdef ndarray v = new_view(a, a.ndim)
    memcpy(v.shape, a.shape, 2 * a.ndim * sizeof(intp))
    v.size = a.size
    v.flags = a.flags & ~SCALAR
    return v

cdef ndarray part(ndarray a, int which):
    """Real (0) or imaginary (1) part of a complex array, as a view."""
    cdef ndarray v = broadcast_same(a)
    v.code = <uint8_t>real_code(a.code)
    v.itemsize = a.itemsize // 2
    v.offset += which * v.itemsize
    be_like(close_view(v), a)
    return v

cdef object scalar(ndarray a):
    """For float(), int(), complex(): a number; NumPy's where it has words for it: complex scalars, arrays with axes."""
    cdef bint one = a.ndim == 0 and not (a.flags & SCALAR and is_complex(a.code)) or a.size == 1 and mxnet_rules
    return first_element(a) if one else numpy_window(wait_read(a), False)[() if a.flags & SCALAR else ...]

# ---- for the layers above --------------------------------------------------------------------------------------

def attach(str name, value):
    """Give ndarray a method or attribute. The table of operations does, so that an operation has one home."""
    (<dict><object>(<Slots*>ndarray).tp_dict)[name] = value
    PyType_Modified(ndarray)

cdef newfunc cython_new = (<Slots*>ndarray).tp_new

cdef object new_by_class(type cls, PyObject* args, PyObject* keywords):
    """tp_new of ndarray: no array without a storage gets into a program."""
    a = cython_new(cls, <PyObject*>(), NULL)
    made = _made(*<tuple>args) if keywords == NULL else _made(*<tuple>args, **<dict>keywords)
    if not isinstance(made, ndarray):
        return made
    become(a, made)
    (<ndarray>a).base = (<ndarray>made).base        # with a buffer
    Py_XINCREF((<ndarray>a).base)
    return a

make_types(ndarray)
(<Slots*>ndarray).tp_name = b"dflow.ndarray"     # as programs import it
(<Slots*>ndarray).tp_new = <newfunc>new_by_class
(<Slots*>ndarray).tp_vectorcall = NULL           # Cython's knows nothing of that

def is_array(x):
    """Whether x is an array of ours, or of a subclass."""
    return isinstance(x, ndarray)

def window(ndarray a, write=False):
    """A NumPy array over the memory of a, without waiting: for code that runs where a is ready."""
    bring_here(a.st, True, write)
    return numpy_window(a, write)

def empty(shape, dtype=float):
    cdef intp dims[MAXDIMS]
    cdef int ndim = parse_shape(shape, dims)
    check_dimensions(ndim, dims)
    return new_array(code_of(dtype), ndim, dims)

def array(x):
    """An ndarray as it is; a copy of anything else that NumPy can make an array of."""
    return as_array(x)

def element(x):
    """What array() makes of something without axes, as an element."""
    cdef ndarray a = as_array(np.asarray(x))
    be_element(a)
    return a

array.__module__ = element.__module__ = "dflow._array"      # in pickles: see there

def set_mxnet_rules(bint on):
    """Some of MXNet's ways, or NumPy's: see npx.set_np(). Returns what it was before."""
    global mxnet_rules
    before, mxnet_rules = mxnet_rules, on
    elements_are_arrays(on)
    return before

def table():
    """The hooks that are Python callables, to be set."""
    return hooks

def check_table():
    check_callables("_array.core", hooks)

def check():
    check_hooks("_base.allocator", &memory_hooks, sizeof(MemoryHooks), "before_trimming")

check()
