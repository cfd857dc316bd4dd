"""ndarray: a view of a storage."""

from libc.stdint cimport uint8_t
from cpython.complex cimport PyComplex_FromDoubles
from cpython.buffer cimport Py_buffer
from cpython.object cimport PyObject, PyTypeObject, Py_TYPE
from cpython.ref cimport Py_XDECREF
from dflow._kernels.dtypes cimport NCODES, read_numpy_scalar
from dflow._kernels.kernel cimport intp, Kernel
from dflow._base.atomics cimport invariant, load_ptr
from dflow._array.array_type cimport element_types
from dflow._array.dispatch cimport Operand
from dflow._base.thread_state cimport captures, direct, near, recorders, recording, set_recording
from dflow._runtime.graph cimport readable, Storage, storage_resume, writable

cdef enum Flag:
    C_CONTIGUOUS = 1
    F_CONTIGUOUS = 2
    READONLY = 4
    SCALAR = 8              # an element: NumPy would give a scalar, a value, which in-place operators do not change
    ALIAS = 16              # it has the storage of another array, which is not its base

cdef enum:
    INLINE_DIMS = 3         # views of up to so many dimensions need no memory of their own

cdef class ndarray:
    cdef Storage* st        # owned reference
    cdef intp offset        # bytes
    cdef intp size          # elements
    cdef intp* shape        # ndim lengths, then ndim strides in bytes
    cdef intp inline_dims[6]
    cdef uint8_t code       # dtype: see _kernels/dtypes.pxd
    cdef uint8_t itemsize
    cdef uint8_t ndim
    cdef uint8_t flags
    cdef PyObject* base     # owned: the ndarray that made the storage which this views, NULL for that one itself, or
                            # who has the memory of a storage that none made: see viewed()
    cdef PyObject* node     # owned: where its value stands in the record of gradients (_tracing/tape.pyx), or NULL
    cdef object __weakref__

cdef extern from *:
    """
    #define base_of(type) ((type)->tp_base)
    static inline PyObject *reused(PyObject *x) { _Py_NewReference(x); return x; }      /* as CPython's own spares */
    """
    ndarray reused(PyObject*)
    void Py_SET_TYPE(ndarray, PyTypeObject*) noexcept
    PyTypeObject* base_of(PyTypeObject*) noexcept

# ---- arrays and elements: SCALAR in the flags, and the type. Who sets one sets both.
cdef inline bint is_ours(object x) noexcept:
    return Py_TYPE(x) == <PyTypeObject*>ndarray or base_of(Py_TYPE(x)) == <PyTypeObject*>ndarray
cdef inline void be_element(ndarray a) noexcept:              # once its dtype is set
    a.flags |= SCALAR
    Py_SET_TYPE(a, element_types[a.code])
cdef inline void be_array(ndarray a) noexcept:
    a.flags &= ~SCALAR
    Py_SET_TYPE(a, <PyTypeObject*>ndarray)
cdef inline void be_like(ndarray a, ndarray b) noexcept:      # an element, if b is
    if b.flags & SCALAR:
        be_element(a)

cdef PyObject* truths[2]            # False and True, as comparisons of elements give them: see _functions/elements.pyx
cdef PyTypeObject* map_type         # of arrays over files, and their views: see _functions/mapped.pyx

cdef inline PyObject* viewed(ndarray a) noexcept:            # the ndarray that it is a view of, or NULL
    return a.base if a.base != NULL and is_ours(<object>a.base) else NULL

cdef enum Op:               # of the hooks for operators; comparisons from LESS on as Python numbers them
    ADD, SUBTRACT, MULTIPLY, TRUE_DIVIDE, FLOOR_DIVIDE, REMAINDER, POWER, LSHIFT, RSHIFT, AND, OR, XOR
    LESS, LESS_EQUAL, EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL
    DIVMOD, MATMUL
    NEGATIVE, POSITIVE, ABSOLUTE, INVERT

cdef inline intp* strides_of(ndarray a) noexcept:
    return a.shape + a.ndim

# ---- May a fast path run, which goes past launch()? All need the GIL. `reach`: `direct`, or `near` for a path that
# puts its result where all of its operands are (_base/thread_state.pxd).
cdef inline bint has_values(Storage* s, int reach) noexcept:  # to be read at once: there, no error, no pending write
    return s.device <= reach and readable(s) and s.poison == NULL and load_ptr(&s.data) != NULL
cdef inline bint is_free(Storage* s, int reach) noexcept:     # to be written to at once: no error, no pending task
    return s.device <= reach and writable(s) and s.poison == NULL
cdef inline bint is_idle(Storage* s, int reach) noexcept:     # both
    return has_values(s, reach) and load_ptr(&s.reads) == NULL
cdef inline bint is_here(ndarray a) noexcept:
    return has_values(a.st, direct)
cdef inline bint is_near(ndarray a) noexcept:
    return has_values(a.st, near)
cdef inline bint in_order_here(ndarray a) noexcept:           # and in C order
    return a.flags & C_CONTIGUOUS and is_here(a)
cdef inline bint in_order_near(ndarray a) noexcept:
    return a.flags & C_CONTIGUOUS and is_near(a)
cdef inline bint together(ndarray a, ndarray b) noexcept:     # on one device, as launch() would have it
    return a.st.device == b.st.device or (a.st.device | b.st.device) <= direct

# ---- recording, for gradients
cdef inline bint tracked(object x) noexcept:
    return is_ours(x) and (<ndarray>x).node != NULL
cdef inline bint records(object a, object b) noexcept:                  # whether a function of these is to be recorded
    return recorders != 0 and (tracked(a) or tracked(b)) and recording()
ctypedef int (*copy_hook)(ndarray a, ndarray made) except -1
cdef struct RecordHooks:                                                # filled by _tracing/tape.pyx
    copy_hook record_view                                               # a new view of a tracked array
    copy_hook record_copy                                               # a copy, or a cast
cdef RecordHooks record_hooks

# ---- making arrays
cdef ndarray new_array(int code, int ndim, intp* shape, bint pending=*) # C order, no values yet; pending: nor memory
cdef ndarray new_like(list arrays, int code, int ndim, intp* shape, bint pending=*, bint copies=*)  # in their order
cdef ndarray make_scalar(int code)                                      # new_scalar() where none is spare
# Scalars come and go at each step of a loop over elements. Some that ended are kept whole, with their storages: objects
# without references, in lists by type, linked through `base`. All need the GIL.
cdef struct Spares:
    PyObject* first
    int n
cdef Spares spares[NCODES]
cdef inline ndarray pop_spare(Spares* s):
    cdef ndarray a = reused(s.first)        # its type is static: it holds no reference to it
    s.first = a.base
    s.n -= 1
    a.base = NULL
    storage_resume(a.st)
    return a
cdef inline ndarray new_scalar(int code):                               # allocated, an element
    return make_scalar(code) if spares[code].first == NULL else pop_spare(&spares[code])
cdef ndarray bare_view(Storage* s, int ndim)                            # takes over a reference; all else to be filled
cdef ndarray new_view(ndarray a, int ndim)                              # same storage; shape and strides to be filled
cdef ndarray close_view(ndarray v)                                      # computes size and flags
cdef ndarray as_array(object x)                                         # an ndarray as it is; else a copy of NumPy's
cdef ndarray from_numpy(object source, int code)                        # a copy of a NumPy array
cdef bint contains_arrays(object x, int depth=*)                        # whether a list, or one in it, holds arrays
cdef ndarray as_array_code(object x, int code)                          # and of this type: cast if need be
cdef ndarray cast(ndarray a, int code)                                  # itself, when of that type
cdef ndarray copy_of(ndarray a)                                         # C order
cdef ndarray contiguous(ndarray a)                                      # itself, when it is
cdef inline ndarray variable(ndarray a):    # itself, or a copy of a scalar, which is a value: nobody may see it change
    return copy_of(a) if a.flags & SCALAR else a
cdef int assign(ndarray target, ndarray source) except -1               # with broadcasting and cast
cdef tuple shape_tuple(ndarray a)

cdef ndarray transposed(ndarray a, int* order)
cdef inline ndarray owned(ndarray v):       # a view of all of a new array, in place of that
    Py_XDECREF(v.base)
    v.base = NULL
    return v
cdef int copy_elements(ndarray target, ndarray source, Kernel* k=*) except -1   # the source broadcasts
cdef object numpy_window(ndarray a, bint write=*, object base=*)         # a NumPy array over the memory of a
cdef inline object numpys(ndarray a):                                   # the same; without axes a scalar of NumPy's
    return read_numpy_scalar(a.code, data_of(a)) if a.ndim == 0 else numpy_window(a)
cdef ndarray part(ndarray a, int which)                                 # real (0) or imaginary part, as a view
cdef int become(ndarray self, ndarray other) except -1                  # in place; may wait for a host task
cdef inline int check_array(ndarray a, str name) except -1:             # before an attribute is set: no element's is
    if a.flags & SCALAR:
        raise AttributeError(f"attribute '{name}' of 'numpy.generic' objects is not writable")
    return 0
# a Python function on a worker, which looks at its arrays when it runs, may have it
cdef bint host_task_may_have(ndarray a) noexcept
cdef ndarray broadcast_same(ndarray a)                                  # a fresh view of all of a

# ---- operands of kernels, waiting
cdef inline bint covers_storage(ndarray a) noexcept:  # a sees every byte of it: as many as there are, and none twice
    cdef int i
    if <size_t>(a.size * a.itemsize) != a.st.nbytes:
        return False
    if not a.flags & (C_CONTIGUOUS | F_CONTIGUOUS):
        for i in range(a.ndim):
            if strides_of(a)[i] == 0 and a.shape[i] > 1:
                return False
    return True
cdef int fill_operand(Operand* o, ndarray a, int ndim, intp* shape, bint write) noexcept
cdef int not_full(Operand* o, ndarray a) noexcept                       # the operand leaves some of a as it is
cdef bint same_elements(ndarray a, ndarray b) noexcept
cdef bint may_overlap(ndarray a, ndarray b) noexcept
cdef ndarray wait_read(ndarray a, bint there=*)                         # where to read its elements
cdef object first_element(ndarray a)
cdef inline object complex_of(object number):                           # Python's, of one of its numbers or NumPy's
    if type(number) is float or type(number) is int:
        return PyComplex_FromDoubles(<double>number, 0)
    return number if type(number) is complex else complex(number)
cdef int wait_write(ndarray a) except -1
cdef bint ready(ndarray a) noexcept                                     # whether nobody writes its elements
cdef inline char* data_of(ndarray a) noexcept:                          # of what wait_read gave
    invariant(a.st.data != NULL or a.st.nbytes == 0, b"who looks at memory knows that it is there")
    return a.st.data + a.offset
cdef inline str shape_text(ndarray a):                                  # as NumPy writes shapes in its errors: (2,3)
    return str(shape_tuple(a)).replace(" ", "")
cdef inline int check_writable(ndarray a) except -1:                     # before each write by a program
    if a.flags & READONLY:
        raise ValueError("assignment destination is read-only")
    a.st.version += 1
    return 0

# ---- what the floors above give this one
ctypedef object (*binary_hook)(int op, object a, object b)
ctypedef object (*unary_hook)(int op, object a)
ctypedef object (*index_hook)(ndarray a, object key)
ctypedef object (*item_hook)(ndarray a, intp i)
ctypedef int (*store_hook)(ndarray a, object key, object value) except -1
ctypedef int (*buffer_hook)(ndarray a, Py_buffer* view, int flags) except -1
ctypedef void (*buffer_end_hook)(Py_buffer* view) noexcept
ctypedef object (*wrap_hook)(object window)
cdef struct ArrayHooks:     # filled by _functions/wiring.pyx
    index_hook index_get            # a[key]
    item_hook index_item            # a[i], within the length
    store_hook index_set            # a[key] = value
    binary_hook operator_binary     # a op b, which one is an Op
    binary_hook operator_inplace    # a op= b
    unary_hook operator_unary       # op a
    buffer_hook buffer_fill         # a's memory, for who asks by the buffer protocol
    buffer_end_hook buffer_end
    wrap_hook memory_borrow         # an array over the memory of NumPy's, to be read at once; else NumPy's itself
cdef ArrayHooks array_hooks

cdef class Hooks:           # Python callables
    # filled by _functions/wiring.pyx
    cdef public object adopt            # (window): an array over the memory of NumPy's, or None
    cdef public object brought          # (a): a copy on cpu(0) of what is on a GPU
    cdef public object copy_order       # (a, order): a copy that lies in that order
    cdef public object host             # (payload, reads, writes, ...): a Python function as a task
    cdef public object iterator         # (a): a.flat
    cdef public object places           # (a, key): where in a the elements of a[key] are
    cdef public object reshape          # (a, shape)
    cdef public object set_part         # (a, which, value): of a.real (0) or a.imag (1)
    cdef public object in_file          # (a, nbytes): whether a new array has got memory of a file's, beside maps
    cdef public object stack            # (x): of nested lists of arrays, an array
    cdef public object strided          # (a, shape, strides, beyond): any view of its memory
    cdef public object view             # (a, dtype): its bytes as another type
    cdef public object where            # (condition, x, y)
    cdef public object wait_for_seconds # (a, timeout): until its elements are there, or TimeoutError
    # filled by ops/__init__.py
    cdef public object call_numpys      # (function, args, keywords): NumPy's on copies; what it wrote comes back
    cdef public object descending       # (function, a, axis, kind, order, stable): a sort from the largest on
    cdef public object expand_dims      # (a, axis)
    cdef public object moveaxis         # (a, source, destination)
    cdef public object repr             # (array): its text; waits
    cdef public object round            # (a, decimals)
    cdef public object same_value       # (a, cast): ValueError where the cast changes a value
    cdef public object to_device        # (a, number): on another device
    cdef public object unwrap           # (x): our arrays in it as NumPy's; waits
    cdef public object wait_async       # (a): a coroutine that ends when a is ready
    cdef public object wrap             # (x): NumPy's arrays in it as ours
cdef Hooks hooks

cdef bint mxnet_rules       # set by npx.set_np(): lists are axes, an array of one element is a number, and more
