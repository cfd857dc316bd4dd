"""Sorting, and the places of extremes."""

import numpy as np
from libc.string cimport memchr
from dflow._kernels.kernel cimport intp, Kernel, MAXDIMS
from dflow._engine cimport settings
from dflow._runtime.graph cimport storage_allocate
from dflow._kernels.dtypes cimport BOOL, INTP, code_of
from dflow._kernels.sorting cimport argextreme_kernel, long_sort_kernels, sort_kernel
from dflow._array.core cimport *, be_element
from dflow._tracing.tape cimport record
from dflow._array.shape cimport normalize_axis
from dflow._functions.views cimport c_axis, own
from dflow._functions.out import give
from dflow._functions.gufunc cimport along_axis
from dflow._functions.sequences cimport to_read

cdef int code_of_index = code_of(INTP)
cdef object LAST = -1               # the axis, when it is not given

KINDS = {"q": 0, "h": 1, "m": 2, "s": 2}
cdef Kernel* sorts[2][3][18]        # by: for the indices; kind; type code
cdef Kernel* extremes[2][18]        # by: the largest; type code

cdef int kind_of_sort(object kind, object stable) except -1:
    """0: quick, 1: heap, 2: stable. NumPy reads the first letter."""
    cdef int k
    if kind is not None and not isinstance(kind, str):
        raise TypeError(f"sort kind must be str, not {type(kind).__name__}")
    k = 2 if stable else 0 if kind is None else KINDS.get(kind[:1].lower(), 3)
    if k == 3:
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")
    return k

cdef Kernel* sorter(int code, object kind, object stable, object order, bint indices) except NULL:
    """The kernel for sort's options, or their errors."""
    cdef int k = kind_of_sort(kind, stable)         # its error comes first
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if stable is not None and kind is not None:
        raise ValueError("`kind` and keyword parameters can't be provided at the same time. Use only one of them.")
    if sorts[indices][k][code] == NULL:
        sorts[indices][k][code] = sort_kernel(code, k, indices)
    return sorts[indices][k][code]

cdef bint quick_rows(Kernel* k, ndarray a, ndarray out) noexcept:
    """Run a kernel over the last axis of a, for an element or a row of out each; whether it was done."""
    cdef char* args[2]
    cdef intp dims[2]
    cdef intp steps[4]
    cdef intp n = a.shape[a.ndim - 1]
    if (a.size == 0 or a.size * k.cost > settings.inline_cost or not in_order_here(a) or not out.flags & C_CONTIGUOUS
            or not is_free(out.st, near) or not storage_allocate(out.st)):
        return False
    args[0] = data_of(a)
    args[1] = data_of(out)
    dims[0] = a.size // n
    dims[1] = n
    steps[0] = n * a.itemsize
    steps[1] = out.size // dims[0] * out.itemsize
    steps[2] = a.itemsize
    steps[3] = out.itemsize
    k.loop(args, dims, steps, k.data)
    settings.inlined += 1
    return True

cdef int sort_rows(Kernel* k, ndarray a, ndarray out, int axis) except -1:
    if axis == a.ndim - 1 and quick_rows(k, a, out):
        return 0
    return along_axis(k, a, None, out, axis)

cdef int sort_into(Kernel* k, int kind, ndarray a, ndarray out, int axis) except -1:
    """Sort a into out, which may be a itself: a long row in runs, merged through another buffer, by all workers."""
    cdef ndarray source = a, target, other
    cdef list kernels = None
    cdef intp n = a.shape[axis]
    if a.size == n and out.flags & C_CONTIGUOUS:
        kernels = long_sort_kernels(a.code, kind, n)
    if kernels is None:
        return sort_rows(k, a, out, axis)
    other = new_array(a.code, a.ndim, a.shape)
    target = out if len(kernels) & 1 else other
    for address in kernels:
        along_axis(<Kernel*><size_t>address, source, None, target, axis)
        source, target = target, other if target is out else out
    return 0

def sort(a, axis=-1, kind=None, order=None, *, stable=None, descending=None):
    """A sorted copy along an axis; flattened when it is None. NaN comes last."""
    cdef ndarray source = as_array(a), out
    cdef int k
    if records(source, None):
        return record("sort", (source, axis, kind, order, stable, descending), sort, (source, axis, kind, order),
                      {"stable": stable, "descending": descending})
    if descending:
        return hooks.descending(np.sort, source, axis, kind, order, stable)
    if axis is None:
        source = source.ravel()
        axis = 0
    kernel = sorter(source.code, kind, stable, order, False)
    k = normalize_axis(axis, source.ndim)
    out = new_like([source], source.code, source.ndim, source.shape, False, True)
    sort_into(kernel, kind_of_sort(kind, stable), source, out, k)
    return out

def sort_in_place(ndarray self, /, axis=-1, kind=None, order=None, *, stable=None, descending=None):
    """Sort along an axis, in place."""
    cdef int k
    cdef Kernel* usual = sorts[False][0][self.code]
    if kind is not None:
        kind_of_sort(kind, stable)          # its error comes first
    k = self.ndim - 1 if axis is LAST and self.ndim else normalize_axis(axis, self.ndim)
    check_writable(self)
    if kind is None and stable is None and order is None and k == self.ndim - 1 and not descending and (
            self.size < 2 or usual != NULL and quick_rows(usual, self, self)):
        return
    if descending:
        assign(self, hooks.descending(np.sort, self, axis, kind, order, stable))
        return
    sort_into(sorter(self.code, kind, stable, order, False), kind_of_sort(kind, stable), self, self, k)

def argsort(a, axis=-1, kind=None, order=None, *, stable=None, descending=None):
    """The indices that would sort along an axis; of the flattened array when it is None."""
    return order_of(a, axis, kind, order, stable, descending)

def argsort_method(self, /, axis=-1, kind=None, order=None, *, stable=None, descending=None):
    """The indices that would sort along an axis; of the flattened array when it is None."""
    return order_of(self, axis, kind, order, stable, descending)

cdef ndarray order_of(a, axis, kind, order, stable, descending):
    cdef ndarray source = as_array(a), out
    cdef int k
    if descending:
        return hooks.descending(np.argsort, source, axis, kind, order, stable)
    if axis is None:
        source = source.ravel()
        axis = 0
    if source.ndim == 0:
        c_axis(axis, 1)
        source = source.reshape(1)
    k = c_axis(axis, source.ndim)
    out = new_array(code_of_index, source.ndim, source.shape)
    sort_rows(sorter(source.code, kind, stable, order, True), source, out, k)
    return out

def argmax(a, axis=None, out=None, *, keepdims=False):
    """The index of the largest element along an axis, the first if there are more; of the flattened array without."""
    return argextreme(a, axis, True, keepdims, out)

def argmin(a, axis=None, out=None, *, keepdims=False):
    """The index of the smallest element along an axis, the first if there are more; of the flattened array without."""
    return argextreme(a, axis, False, keepdims, out)

def argmax_method(self, /, axis=None, out=None, *, keepdims=False):
    """The index of the largest element along an axis, the first if there are more; of the flattened array without."""
    return argextreme(self, axis, True, keepdims, out)

def argmin_method(self, /, axis=None, out=None, *, keepdims=False):
    """The index of the smallest element along an axis, the first if there are more; of the flattened array without."""
    return argextreme(self, axis, False, keepdims, out)

cdef enum:
    FIRST = 4096                # bools of a row among which the extreme may be found at once,
    FEW_ROWS = 16               # and how many rows at most

cdef bint found_at_once(ndarray source, bint largest, ndarray result) noexcept:
    """Of bools: whether one of the first in each row is the extreme, or all are."""
    cdef intp n = source.shape[source.ndim - 1], i
    cdef char* row
    cdef char* first
    if source.code != BOOL or result.size > FEW_ROWS or not in_order_here(source):
        return False
    row = data_of(source)               # not before: what was pending may have no memory
    for i in range(result.size):
        first = <char*>memchr(row, largest, min(n, <intp>FIRST))
        if first == NULL and n > FIRST:
            return False
        (<intp*>result.st.data)[i] = 0 if first == NULL else first - row
        row += n
    settings.inlined += 1
    return True

cdef object argextreme(object a, object axis, bint largest, bint keepdims, object out):
    cdef ndarray source = to_read(a), result
    cdef intp shape[MAXDIMS]
    cdef int i, k = 0, n = 0, ndim = source.ndim
    cdef Kernel* kernel = extremes[largest][source.code]
    if kernel == NULL:
        kernel = extremes[largest][source.code] = argextreme_kernel(source.code, largest)
    if axis is not None:
        k = c_axis(axis, max(ndim, 1))
    if ndim == 0 or axis is None and ndim > 1:
        source = source.reshape(-1)
    if source.shape[k] == 0:
        raise ValueError(f"attempt to get {'argmax' if largest else 'argmin'} of an empty sequence")
    for i in range(source.ndim):
        if i != k:
            shape[n] = source.shape[i]
            n += 1
    result = new_array(code_of_index, n, shape)
    if n == 0:
        be_element(result)
    if k != source.ndim - 1 or not (found_at_once(source, largest, result) or quick_rows(kernel, source, result)):
        along_axis(kernel, source, None, result, k)
    if keepdims and ndim:
        result = own(result.reshape((1,) * ndim if axis is None else shape_tuple(source)[:k] + (1,)
                                    + shape_tuple(source)[k + 1:]))
    return result if out is None else give(
        result, out, f"output array does not match result of np.{'argmax' if largest else 'argmin'}.", exchange=True)
