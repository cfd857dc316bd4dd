"""Views: ndarray's methods that look at the same memory in another way, or copy it."""

import operator

import numpy as np
cimport numpy as cnp
from cpython.ref cimport Py_CLEAR
from cpython.type cimport PyType_Check
from libc.stdint cimport uint8_t
from libc.stdlib cimport labs
from libc.string cimport memcpy
from dflow._kernels.kernel cimport MAXDIMS
from dflow._runtime.disk cimport spilling
from dflow._runtime.fp_errors cimport warn_user
from dflow._runtime.graph cimport is_large
from dflow._gpu.mirror cimport gpus
from dflow._array.dispatch cimport Core, merge_axes
from dflow._kernels.dtypes import NotHeld
from dflow._kernels.dtypes cimport BOOL, DTYPES, FLOAT, HALF, itemsizes, code_of, is_complex, is_integer, twin_of
from dflow._array.core cimport *, is_ours, be_like
from dflow._array.shape cimport parse_shape, check_dimensions, normalize_axis, sees_twice
from dflow._array.core import attach
from dflow._functions.buffers import Pin, share, writable_memory
from numpy.exceptions import ComplexWarning

cdef extern from "Python.h":
    bytes PyBytes_FromStringAndSize(char*, Py_ssize_t)

# ---- views -----------------------------------------------------------------------------------------------------

cdef ndarray broadcast_view(ndarray a, int ndim, intp* shape):
    cdef int i, skip = ndim - a.ndim
    cdef double elements = 1
    cdef ndarray v
    if skip < 0:
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    v = new_view(a, ndim)
    for i in range(ndim):
        v.shape[i] = shape[i]
        v.shape[ndim + i] = 0
        if i >= skip:
            if a.shape[i - skip] == shape[i]:
                v.shape[ndim + i] = strides_of(a)[i - skip]
            elif a.shape[i - skip] != 1:
                target = tuple([shape[j] for j in range(ndim)])
                raise ValueError("operands could not be broadcast together with remapped shapes [original->remapped]: "
                                 f"{shape_text(a)}  and requested shape {str(target).replace(' ', '')}")
        elements *= shape[i]
    if elements > LARGE:
        raise ValueError("iterator is too large")
    v.flags |= READONLY
    return close_view(v)

cdef ndarray reshape_view(ndarray a, int ndim, intp* shape, char order):
    """A view of a with another shape of the same size, or None where only a copy will do. order: b'C' or b'F'."""
    cdef ndarray v = new_view(variable(a), ndim)
    cdef intp stride = a.itemsize
    cdef int i, k
    cdef bint fortran = order == c"F"
    memcpy(v.shape, shape, ndim * sizeof(intp))
    if a.flags & (F_CONTIGUOUS if fortran else C_CONTIGUOUS) or a.size == 0:
        for i in range(ndim):
            k = i if fortran else ndim - 1 - i
            v.shape[ndim + k] = stride
            if shape[k] > 0:
                stride *= shape[k]
    elif not split_strides(a, v, fortran):
        return None
    return close_view(v)

cdef bint split_strides(ndarray a, ndarray v, bint fortran) noexcept:
    """Strides for v's shape, of the size of a's, over the same elements; False where there are none.

    1. Axes start .. i of the old shape are taken together with axes first .. j of the new one that have the same size.
    2. The old ones must follow each other in memory.
    3. The new ones follow each other, from where the innermost of the old ones is.
    """
    cdef intp lengths[MAXDIMS]
    cdef intp strides[MAXDIMS]
    cdef intp* out = strides_of(v)
    cdef int i = 0, j = 0, k, n = long_axes(a, lengths, strides), start, first
    while i < n and j < v.ndim:
        start = i
        first = j
        same_size(lengths, &i, v.shape, &j)
        if not follow_each_other(lengths + start, strides + start, i - start, fortran):
            return False
        if fortran:
            out[first] = strides[start]
            for k in range(first + 1, j):
                out[k] = out[k - 1] * v.shape[k - 1]
        else:
            out[j - 1] = strides[i - 1]
            for k in range(j - 1, first, -1):
                out[k - 1] = out[k] * v.shape[k]
    for k in range(j, v.ndim):              # trailing axes of length 1
        out[k] = a.itemsize if j == 0 else out[j - 1] * v.shape[j - 1] if fortran else out[j - 1]
    return True

cdef int long_axes(ndarray a, intp* lengths, intp* strides) noexcept:
    """The axes that are not of length 1; their number."""
    cdef int i, n = 0
    for i in range(a.ndim):
        if a.shape[i] != 1:
            lengths[n] = a.shape[i]
            strides[n] = strides_of(a)[i]
            n += 1
    return n

cdef void same_size(intp* old, int* i, intp* new, int* j) noexcept:
    """Go on to behind the next axes of both shapes, as few as have the same size."""
    cdef intp have = old[i[0]], want = new[j[0]]
    i[0] += 1
    j[0] += 1
    while have != want:
        if have < want:
            have *= old[i[0]]
            i[0] += 1
        else:
            want *= new[j[0]]
            j[0] += 1

cdef bint follow_each_other(intp* lengths, intp* strides, int n, bint fortran) noexcept:
    cdef int k
    for k in range(n - 1):
        if strides[k + 1] != lengths[k] * strides[k] if fortran else strides[k] != lengths[k + 1] * strides[k + 1]:
            return False
    return True

cdef ndarray reshaped(ndarray a, int ndim, intp* shape):
    cdef ndarray v = reshape_view(a, ndim, shape, c"C")
    return v if v is not None else reshape_view(copy_of(a), ndim, shape, c"C")

cdef intp LARGE = <intp>1 << 62      # elements: no array has so many

cdef ndarray reshape_to(ndarray a, object shape, object order="C", object copy=None):
    cdef intp dims[MAXDIMS]
    cdef int ndim = parse_shape(shape, dims)
    cdef int i, unknown = -1
    cdef intp known = 1
    cdef ndarray v
    cdef bint fortran = order == "F" or (order == "A" and a.flags & F_CONTIGUOUS and not a.flags & C_CONTIGUOUS)
    for i in range(ndim):
        if dims[i] < 0:
            if unknown >= 0:
                raise ValueError("can only specify one unknown dimension")
            unknown = i
        elif known > LARGE // max(dims[i], 1):
            known = LARGE                   # and not the product, which could be a small number again
        else:
            known *= dims[i]
    if unknown >= 0 and known > 0 and a.size % known == 0:
        dims[unknown] = a.size // known
        known = a.size
    elif unknown >= 0:
        known = -1
    if known != a.size:
        if unknown >= 0:
            dims[unknown] = -1
        raise ValueError(f"cannot reshape array of size {a.size} into shape {wanted_text(ndim, dims)}")
    v = None if copy is True else reshape_view(a, ndim, dims, c"F" if fortran else c"C")
    if v is not None:
        return v
    if copy is False:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    if fortran:
        return (reshape_view(copy_of(a.T), ndim, dims, c"C") if ndim == 1
                else reshape_view(fortran_copy(a), ndim, dims, c"F"))
    return reshape_view(copy_of(a), ndim, dims, c"C")

cdef str wanted_text(int ndim, intp* dims):
    """A shape with an unknown axis as NumPy writes it: left out in front, else "newaxis"."""
    cdef int first = 0
    while first < ndim and dims[first] < 0:
        first += 1
    text = ",".join([str(dims[i]) if dims[i] >= 0 else "newaxis" for i in range(first, ndim)])
    return f"({text},)" if ndim == 1 and first == 0 else f"({text})"

cdef ndarray fortran_copy(ndarray a):
    """A copy whose first axis is the fastest."""
    return owned(copy_of(a.T).T)

def spread(ndarray a, tuple shape):
    """broadcast_to(), but read-only only where an element has several places."""
    cdef ndarray v = broadcast_to(a, shape)
    if not a.flags & READONLY and not sees_twice(v.ndim, v.shape, strides_of(v), v.itemsize):
        v.flags &= ~READONLY
    return v

def broadcast_to(a, shape):
    """A read-only view of a in a shape that it broadcasts to; ValueError when it does not."""
    cdef intp dims[MAXDIMS]
    cdef int ndim = parse_shape(shape, dims)
    check_dimensions(ndim, dims)
    return broadcast_view(as_array(a), ndim, dims)

cdef int c_axis(object axis, int ndim, str text="an integer is required for the axis") except -1:
    """normalize_axis() where NumPy's C code does it, which takes no booleans: TypeError(text)."""
    if type(axis) is not int and isinstance(axis, (bool, np.bool)):
        raise TypeError(text)
    return normalize_axis(axis, ndim)

# ---- methods ---------------------------------------------------------------------------------------------------------

cdef object axis_set(object axis, int ndim):
    """Sorted axes, or an error as NumPy's."""
    if axis is None:
        return list(range(ndim))
    if type(axis) is list and mxnet_rules:
        axis = tuple(axis)
    axes = [c_axis(i, ndim, "an integer is required") for i in (axis if isinstance(axis, tuple) else (axis,))
            if ndim or isinstance(axis, tuple) or i not in (0, -1)]     # NumPy takes these two for a 0-d array as well
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return sorted(axes)

cdef int one_axis(ndarray a, object axis, str how) except -1:
    """The axis along which a method of ufuncs works that takes one only."""
    if axis is None and a.ndim > 1:
        raise ValueError(f"{how} does not allow multiple axes")
    axis = 0 if axis is None else axis
    if a.ndim == 0 and axis in (0, -1):
        raise TypeError(f"cannot {how} on a scalar")
    return c_axis(axis, a.ndim, "an integer is required")

cdef ndarray still_scalar(ndarray self, ndarray result):
    """What a method gives: without axes, a value if that was one whose method it is."""
    if result.ndim == 0:
        be_like(result, self)
    return result

def reshape(ndarray self, /, *shape, order="C", copy=None):
    """The same elements in another shape: a view where NumPy gives one, else a copy."""
    if order != "C":
        order = known_order(order)
        if order == "K":
            raise ValueError("order 'K' is not permitted for reshaping")
    if len(shape) == 1:
        shape = shape_tuple(self) if shape[0] is None else shape[0]
    return still_scalar(self, reshape_to(self, shape, order, copy))

def transpose(ndarray self, /, *axes):
    """A view with the axes in another order: reversed, or as given (a sequence, or one argument each)."""
    cdef int order[MAXDIMS]
    cdef int i, k
    if not axes and self.ndim or len(axes) == 1 and axes[0] is None:
        return self.T
    if len(axes) == 1 and (
            type(axes[0]) is tuple or hasattr(axes[0], "__len__") and getattr(axes[0], "ndim", 1)):
        axes = tuple(axes[0])
    if len(axes) != self.ndim:
        raise ValueError("axes don't match array")
    for i in range(self.ndim):
        order[i] = c_axis(axes[i], self.ndim, "an integer is required")
        for k in range(i):
            if order[k] == order[i]:
                raise ValueError("repeated axis in transpose")
    return still_scalar(self, transposed(self, order))

def swapaxes(ndarray self, axis1, axis2, /):
    """A view with two axes exchanged."""
    cdef int order[MAXDIMS]
    cdef int i = normalize_axis(axis1, self.ndim, "axis1"), j = normalize_axis(axis2, self.ndim, "axis2"), k
    for k in range(self.ndim):
        order[k] = k
    order[i] = j
    order[j] = i
    return transposed(self, order)

def diagonal(a, offset=0, axis1=0, axis2=1):
    """A diagonal of two axes, as the last axis: a read-only view."""
    return read_only_diagonal(a, offset, axis1, axis2)

def diagonal_method(self, /, offset=0, axis1=0, axis2=1):
    """A diagonal of two axes, as the last axis: a read-only view."""
    return read_only_diagonal(self, offset, axis1, axis2)

cdef ndarray read_only_diagonal(a, offset, axis1, axis2):
    cdef ndarray x = as_array(a), v
    if x.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    cdef int i = normalize_axis(axis1, x.ndim, "axis1"), j = normalize_axis(axis2, x.ndim, "axis2")
    if i == j:
        raise ValueError("axis1 and axis2 cannot be the same")
    v = diagonal_view(x, operator.index(offset), i, j)
    v.flags |= READONLY
    return v

cdef ndarray diagonal_view(ndarray a, intp offset, int axis1, int axis2):
    cdef ndarray v = new_view(a, a.ndim - 1)
    cdef intp* strides = strides_of(a)
    cdef intp row = -offset if offset < 0 else 0, column = offset if offset > 0 else 0
    cdef int i, k = 0
    for i in range(a.ndim):
        if i != axis1 and i != axis2:
            v.shape[k] = a.shape[i]
            v.shape[v.ndim + k] = strides[i]
            k += 1
    v.shape[k] = max(min(a.shape[axis1] - row, a.shape[axis2] - column), 0)
    v.shape[v.ndim + k] = strides[axis1] + strides[axis2]
    if v.shape[k]:
        v.offset += row * strides[axis1] + column * strides[axis2]
    return close_view(v)

def diagonal_of(ndarray a, intp offset=0, int axis1=0, int axis2=1):
    """diagonal() of two axes of a, to be written to."""
    return diagonal_view(a, offset, axis1, axis2)

def squeeze(ndarray self, /, axis=None):
    """Without axes of length 1: all of them, or those named."""
    cdef ndarray v
    cdef int i, k = 0, ndim = self.ndim
    cdef bint drop[MAXDIMS]
    for i in range(self.ndim):
        drop[i] = axis is None and self.shape[i] == 1
    if axis is not None:
        several = isinstance(axis, tuple)
        text = "integers are required for the axis tuple elements" if several else "an integer is required for the axis"
        for one in (axis if several else (axis,)):
            if self.ndim == 0 and not several and one in (0, -1):
                continue                    # as NumPy has it
            i = c_axis(one, self.ndim, text)
            if drop[i]:
                raise ValueError("duplicate value in 'axis'")
            drop[i] = True
    for i in range(self.ndim):
        if drop[i] and self.shape[i] != 1:
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
        ndim -= drop[i]
    if ndim == self.ndim:
        return self
    v = new_view(self, ndim)
    for i in range(self.ndim):
        if not drop[i]:
            v.shape[k] = self.shape[i]
            v.shape[ndim + k] = strides_of(self)[i]
            k += 1
    return close_view(v)

cdef ndarray without_axis(ndarray a, int axis):
    """The view of a at index 0 of an axis, whatever its length."""
    cdef ndarray v = new_view(a, a.ndim - 1)
    cdef int i, k = 0
    for i in range(a.ndim):
        if i != axis:
            v.shape[k] = a.shape[i]
            v.shape[a.ndim - 1 + k] = strides_of(a)[i]
            k += 1
    return close_view(v)

cdef ndarray split_core(ndarray a, list axes, Core* core):
    """The view of a without these axes, which become the core dimensions."""
    cdef ndarray kept = new_view(a, a.ndim - <int>len(axes))
    cdef int i, n = 0, m = 0
    for i in range(a.ndim):
        if i in axes:
            core.dims[m] = a.shape[i]
            core.steps[m] = strides_of(a)[i]
            m += 1
        else:
            kept.shape[n] = a.shape[i]
            kept.shape[kept.ndim + n] = strides_of(a)[i]
            n += 1
    if m == 0:
        core.dims[0] = 1
        core.steps[0] = a.itemsize
        m = 1
    core.ndim = core.nsteps = merge_axes(core, m)
    return close_view(kept)

cdef enum:
    FEW_CAST = 1 << 15      # elements of which no other thread need take a part,
    FEW_ROWS = 16           # or it takes rows

cdef bint lie_across(ndarray a) noexcept:
    """Whether rows lie closer to each other than their elements do: then no group casts for a reduction along them, and
    what was cast is added in another order."""
    cdef int i
    for i in range(a.ndim - 1):
        if 0 < labs(strides_of(a)[i]) < labs(strides_of(a)[a.ndim - 1]):
            return True
    return False

cdef bint casts_itself(ndarray a, int code, list axes):
    """Whether the reduction casts what it reads, block by block: where no group of a cast and itself would do so, or
    that takes longer."""
    cdef intp total = 1
    if a.code == code or not axes or gpus:
        return False
    for i in axes:
        total *= a.shape[i]
    if axes[0] == a.ndim - len(axes) and (len(axes) > 1 or not lie_across(a) and (
            not is_near(a) or a.size > FEW_CAST and total > a.size // FEW_ROWS)):
        return False
    return total > 1 and (is_integer(a.code) or code == BOOL or a.code == HALF and code == FLOAT)

cdef ndarray own(ndarray v):
    """The view of a result that nobody else holds, as an array of its own: with no base, as NumPy's results are."""
    Py_CLEAR(v.base)
    return v

cdef ndarray with_ones(ndarray a, list axes, int ndim):
    """The view of a with axes of length 1 put in at these places."""
    cdef ndarray v = new_view(a, ndim)
    cdef int i, k = 0
    for i in range(ndim):
        if i in axes:
            v.shape[i] = 1
            v.shape[ndim + i] = a.itemsize
        else:
            v.shape[i] = a.shape[k]
            v.shape[ndim + i] = strides_of(a)[k]
            k += 1
    return close_view(v)

cpdef str known_order(object order):
    """C, F, A or K; ValueError for anything else."""
    if order is None or order is "C":
        return "C"
    if not isinstance(order, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    if order not in ("C", "F", "A", "K", "c", "f", "a", "k"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return order.upper()

cdef ndarray by_strides(ndarray a):
    """The view of a with its axes as they lie in memory, the longest strides first."""
    cdef int order[MAXDIMS]
    axes = sorted(range(a.ndim), key=[-abs(strides_of(a)[i]) for i in range(a.ndim)].__getitem__)
    for i in range(a.ndim):
        order[i] = axes[i]
    return transposed(a, order)

def ravel(ndarray self, /, order="C"):
    """One axis: a view when the memory is in order, else a copy."""
    cdef ndarray ordered, copy
    if order is "C" and self.ndim == 1 and self.flags & C_CONTIGUOUS:
        return broadcast_same(self)
    if order is "C" and self.size and self.flags & C_CONTIGUOUS:
        return reshape_view(self, 1, &self.size, c"C")
    order = known_order(order)
    if order == "K" and not self.flags & (C_CONTIGUOUS | F_CONTIGUOUS):
        ordered = by_strides(self)
        if not ordered.flags & C_CONTIGUOUS:
            copy = new_like([self], self.code, self.ndim, self.shape)       # as an operation's result, unlike copy("K")
            copy_elements(copy, self)
            if records(self, None):
                record_hooks.record_copy(self, copy)
            return owned(reshape_to(by_strides(copy), -1))
        return reshape_to(ordered, -1)
    if order == "C" or order == "A" and not self.flags & F_CONTIGUOUS or self.flags & C_CONTIGUOUS and order != "F":
        return reshape_to(self, -1) if self.flags & C_CONTIGUOUS else owned(reshape_to(copy_of(self), -1))
    return reshape_to(self, -1, "F") if self.flags & F_CONTIGUOUS else owned(reshape_to(copy_of(self.T), -1))

def flatten(ndarray self, /, order="C"):
    """One axis: always a copy."""
    cdef ndarray view = ravel(self, order)
    return copy_of(view) if view.st == self.st else owned(view)

def view(ndarray self, /, dtype=None, type=None):
    """The same bytes, as another type; of the same size, unless the last axis is contiguous.

    Of a type that arrays of ours do not hold ("V16", ">f8", "S8", records, what is not aligned), or of a subclass of
    numpy.ndarray, it is a view of numpy.asarray(x).
    """
    cdef ndarray v
    cdef int code, last
    if PyType_Check(dtype) and issubclass(dtype, ndarray):
        type, dtype = dtype, None
    if type is not None and type is not ndarray:
        return share(self).view(type=type) if dtype is None else share(self).view(dtype, type)
    if dtype is None:
        v = broadcast_same(self)
        if type is ndarray and not self.flags & SCALAR:
            be_array(v)                     # of an array over a file
        return still_scalar(self, v)
    try:
        code = code_of(dtype)
    except TypeError:
        return numpys_view(self, dtype)
    v = broadcast_same(self)
    last = self.ndim - 1
    if itemsizes[code] != self.itemsize:
        if self.ndim == 0 or (strides_of(self)[last] != self.itemsize and self.shape[last] != 1 and self.size):
            raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
        if (self.shape[last] * self.itemsize) % itemsizes[code]:
            raise ValueError("When changing to a larger dtype, its size must be a divisor of the total size in bytes "
                             "of the last axis of the array.")
        v.shape[last] = self.shape[last] * self.itemsize // itemsizes[code]
        strides_of(v)[last] = itemsizes[code]
    v.code = <uint8_t>code
    v.itemsize = <uint8_t>itemsizes[code]
    return still_scalar(self, close_view(v)) if fits(v) else numpys_view(self, dtype)

cdef object numpys_view(ndarray a, object dtype):
    """NumPy's view of the memory of a; of a scalar, a scalar."""
    seen = share(a).view(dtype)
    return seen[()] if a.flags & SCALAR else seen

def new(cls, *args, **keywords):
    """ndarray.__new__(cls, shape, ...), which a subclass calls: NumPy's."""
    return (np.ndarray.__new__ if issubclass(cls, cnp.ndarray) else own_new)(cls, *args, **keywords)

cdef bint fits(ndarray v) except -1:
    """Whether each element of a view lies where its type may: kernels rely on that."""
    cdef intp places = v.offset
    cdef int i
    for i in range(v.ndim):
        if v.shape[i] > 1:
            places |= strides_of(v)[i]
    return places & (DTYPES[v.code].alignment - 1) == 0 or v.size == 0

cdef ndarray aligned(ndarray v):
    """A view as another type. ValueError unless its elements lie where they may."""
    if not fits(v):
        raise ValueError(f"dflow arrays are aligned: these bytes cannot be seen as {DTYPES[v.code]}")
    return close_view(v)

def getfield(ndarray self, /, dtype, offset=0):
    """The view of a part of each element as another type, from that byte on.

    Of a type that arrays of ours do not hold, or not there, it is NumPy's view. ValueError where it does not lie within
    the element.
    """
    cdef ndarray v = broadcast_same(self)
    cdef int code
    cdef intp start = operator.index(offset)
    try:
        code = code_of(dtype)
    except TypeError:
        return share(self).getfield(dtype, start)
    if start < 0:
        raise ValueError("offset is negative")
    if itemsizes[code] > self.itemsize:
        raise ValueError("new type is larger than original type")
    if start + itemsizes[code] > self.itemsize:
        raise ValueError("new type plus offset is larger than original type")
    v.offset += start
    v.code = <uint8_t>code
    v.itemsize = <uint8_t>itemsizes[code]
    return still_scalar(self, close_view(v)) if fits(v) else share(self).getfield(dtype, start)

def setfield(ndarray self, /, val, dtype, offset=0):
    """Store into a part of each element, as another type: see getfield()."""
    if self.flags & SCALAR:
        raise TypeError("Can't set fields in a non-void array scalar.")
    check_writable(self)
    field = getfield(self, dtype, offset)
    if is_ours(field):
        array_hooks.index_set(field, Ellipsis, val)
    else:
        field[...] = hooks.unwrap(val)

def copy(ndarray self, /, order="C"):
    """A copy; order "K": in the memory order of the array."""
    if order != "C" and order != "K":
        order = known_order(order)
    if order == "C" or (order != "F" and self.flags & C_CONTIGUOUS):
        return still_scalar(self, copy_of(self))
    return hooks.copy_order(self, order)

cdef str AS_IT_LIES = "K", ANY_CAST = "unsafe"

def astype(ndarray self, /, dtype, order="K", casting="unsafe", subok=True, copy=True):
    """The elements as another type: a copy, unless copy is False and the type is the same already, or equal.

    NumPy's array of a type that is no number. TypeError for a cast that the rule `casting` forbids; by "same_value",
    ValueError where a value would be another one, on reading where it is not there yet.
    """
    cdef int code
    cdef ndarray out
    try:
        code = self.code if dtype is DTYPES[self.code] else code_of(dtype)
    except NotHeld:
        return hooks.unwrap(self).astype(dtype, order, casting)
    if copy is not True and copy is not False and isinstance(copy, np._CopyMode):
        raise ValueError("_CopyMode enum is not allowed for astype function. Use true/false instead.")
    if order is not AS_IT_LIES and order != AS_IT_LIES:
        order = known_order(order)
    if casting is not ANY_CAST and casting != ANY_CAST:
        np.zeros((1,) * self.ndim, DTYPES[self.code]).astype(DTYPES[code], casting=casting)     # its errors
        if casting == "same_value":
            out = astype(self, dtype, order, "unsafe", subok, copy)
            return hooks.same_value(self, out) if code != self.code else out
    if is_complex(self.code) and not is_complex(code) and code != BOOL:
        warn_user("Casting complex values to real discards the imaginary part", ComplexWarning)
    if order == "A":
        order = "F" if self.flags & F_CONTIGUOUS and not self.flags & C_CONTIGUOUS else "C"
    if ((code == self.code or code == twin_of[self.code]) and not copy
            and (order == "K" or self.flags & (C_CONTIGUOUS if order == "C" else F_CONTIGUOUS))):
        return self
    if order == "F":
        return owned(astype(self.T, dtype, "C").T)
    if order == "K" and self.flags & C_CONTIGUOUS:
        return still_scalar(self, copy_of(self) if code == self.code else cast(self, code))
    out = (new_like([self], code, self.ndim, self.shape, False, True) if order == "K"
           else new_array(code, self.ndim, self.shape))
    copy_elements(out, self)
    if records(self, None):
        record_hooks.record_copy(self, out)
    return still_scalar(self, out)

def resize(ndarray self, /, *new_shape, refcheck=True):
    """Another shape and size in place: the elements as they lie in memory, then zeros. Views keep what they see.

    Waits where a Python function on a worker may have the array.
    """
    cdef intp dims[MAXDIMS]
    cdef int ndim
    cdef intp n
    cdef ndarray flat, made
    operator.index(refcheck)                # TypeError for what is no truth value
    if not new_shape or new_shape[0] is None and len(new_shape) == 1:
        return
    ndim = parse_shape(new_shape[0] if len(new_shape) == 1 else new_shape, dims)
    if self.flags & SCALAR:
        return                              # NumPy's resize an array that is made of them
    if not self.flags & (C_CONTIGUOUS | F_CONTIGUOUS):
        raise ValueError("resize only works on single-segment arrays")
    for n in dims[:ndim]:
        if n < 0:
            raise ValueError("negative dimensions not allowed")
    order = "C" if self.flags & C_CONTIGUOUS else "F"
    flat = ravel(self, order)
    made = reshape_to(new_array(self.code, ndim, dims), -1)
    if made.size == self.size:
        made = flat
    elif self.base != NULL:
        raise ValueError("cannot resize this array: it does not own its data")
    else:
        n = min(self.size, made.size)
        made[n:] = 0
        made[:n] = flat[:n]
    become(self, reshape_view(made, ndim, dims, c"C" if order == "C" else c"F"))

def setflags(ndarray self, /, write=None, align=None, uic=None):
    """Make the array read-only, or writeable where what it is a view of is. The other flags never change."""
    if align is not None and not align or uic:
        raise ValueError("cannot change the flags ALIGNED and WRITEBACKIFCOPY of a dflow array")
    if write is None or self.flags & SCALAR:
        return
    if not write:
        self.flags |= READONLY
    elif self.base != NULL and not (writable_memory(<object>self.base) if viewed(self) == NULL
                                    else not (<ndarray>viewed(self)).flags & (READONLY | SCALAR)):
        raise ValueError("cannot set WRITEABLE flag to True of this array")
    else:
        self.flags &= ~READONLY

def flag_bits(ndarray a):
    """1: C order, 2: Fortran order, 4: read-only."""
    return a.flags & (C_CONTIGUOUS | F_CONTIGUOUS | READONLY)

def is_scalar(ndarray a):
    """Whether NumPy would have a scalar here."""
    return a.flags & SCALAR != 0

def __copy__(ndarray self, /):
    return still_scalar(self, hooks.copy_order(self, "K"))

def __deepcopy__(ndarray self, memo, /):
    return still_scalar(self, hooks.copy_order(self, "K"))

def __reduce__(ndarray self, /):
    """For pickles: they name dflow.ndarray alone, and have the elements as an array of NumPy's, so by protocol 5 out of
    band. Waits. What is read from one has memory of its own, to write to, whatever its buffers were."""
    if self.flags & SCALAR:
        return operator.getitem, (copy_of(self), ())
    return ndarray, ((0,) * self.ndim, DTYPES[self.code]), self.asnumpy()

def __setstate__(ndarray self, /, *state):
    """Become a copy of an array of NumPy's, or of one whose state in a pickle this is."""
    if self.flags & SCALAR:
        return                              # nor do NumPy's change
    if len(state) == 1 and isinstance(state[0], cnp.ndarray):
        made = state[0]
    else:
        made = np.empty(0)
        made.__setstate__(*state)
    become(self, as_array(made))

def tobytes(ndarray self, /, order="C"):
    """The bytes of the elements in C order, or "F". Waits."""
    cdef ndarray a = wait_read(self)
    if a.flags & C_CONTIGUOUS and known_order(order) != "F":
        return PyBytes_FromStringAndSize(data_of(a), a.size * a.itemsize)
    return a.asnumpy().tobytes(order)           # see asnumpy

def open_window(ndarray a):
    """A NumPy array over the memory of a, to read and write, when nobody else does."""
    pin = Pin(a) if spilling and is_large(a.st) else None       # it is not to leave memory while NumPy writes to it
    wait_read(a)
    wait_write(a)
    return numpy_window(a, not a.flags & (READONLY | SCALAR), pin)

def seen_by(x):
    """The array of ours that a NumPy array over the memory of one shows, or the view of it; None for any other."""
    cdef ndarray a, v
    cdef int i
    base = x
    while isinstance(base, cnp.ndarray):
        base = base.base
    if not is_ours(base):
        return None
    if x.base is base:
        return base
    a = <ndarray>base
    v = new_view(a, cnp.PyArray_NDIM(x))
    for i in range(v.ndim):
        v.shape[i] = cnp.PyArray_DIMS(x)[i]
        v.shape[v.ndim + i] = cnp.PyArray_STRIDES(x)[i]
    v.code = <uint8_t>code_of(x.dtype)
    v.itemsize = <uint8_t>itemsizes[v.code]
    v.offset += <char*>cnp.PyArray_DATA(x) - data_of(a)
    return aligned(v)

def sliding_windows(ndarray a, tuple shape, tuple axes):
    """The read-only view of a with new axes at its end, along windows of that shape over the axes."""
    cdef int i, ndim = a.ndim + <int>len(axes)
    cdef ndarray v = new_view(a, ndim)
    memcpy(v.shape, a.shape, a.ndim * sizeof(intp))
    memcpy(v.shape + ndim, strides_of(a), a.ndim * sizeof(intp))
    for i in range(len(axes)):
        v.shape[a.ndim + i] = shape[i]
        v.shape[ndim + a.ndim + i] = strides_of(a)[<int>axes[i]]
        v.shape[<int>axes[i]] -= <intp>shape[i] - 1
    v.flags |= READONLY
    return close_view(v)

def strided(ndarray a, tuple shape, tuple strides,
            str beyond="a view of bytes {} to {} would leave the memory of the array, of {} bytes"):
    """The view of a's memory, from its first element on, of that shape and strides; read-only if bytes may repeat.

    ValueError, with the text `beyond`, where it would leave the memory.
    """
    cdef int i, ndim = <int>len(shape)
    cdef ndarray v = new_view(a, ndim)
    for i in range(ndim):
        v.shape[i] = shape[i]
        v.shape[ndim + i] = strides[i]
    aligned(close_view(v))
    if v.size == 0:
        return v
    steps = [(n - 1) * step for n, step in zip(shape, strides)]         # of Python: they do not overflow
    low = a.offset + sum([step for step in steps if step < 0])
    high = a.offset + a.itemsize + sum([step for step in steps if step > 0])
    if low < 0 or high > v.st.nbytes:
        raise ValueError(beyond.format(low, high, v.st.nbytes))
    if sees_twice(v.ndim, v.shape, strides_of(v), v.itemsize):
        v.flags |= READONLY
    return v

for _method in (reshape, transpose, swapaxes, squeeze, ravel, flatten, view, copy, astype, resize, setflags, __copy__,
                __deepcopy__, __reduce__, __setstate__, tobytes, getfield, setfield):
    attach(_method.__name__, _method)

own_new = ndarray.__new__
attach("__new__", staticmethod(new))
