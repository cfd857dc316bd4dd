"""The core dimensions of generalized ufuncs. `u` is NumPy's ufunc, `core` its parsed signature."""

from dflow._kernels.kernel cimport intp, Kernel
from dflow._array.core cimport ndarray, Operand
from dflow._functions.fastpath cimport Plan

cdef list core_names(object core, int i, ndarray a, set missing)
cdef dict core_sizes(object u, list operands, list groups)
cdef list core_results(object u, object core, Plan* p, list arrays, tuple out, object casting, int ndim, intp* outer,
                       dict sizes, list groups)
cdef int outer_axes(object u, list arrays, list operands, list groups, intp* shape) except -1
cdef int launch_core(object core, Kernel* k, list inputs, list results, list groups, dict sizes, set missing,
                     intp* shape, int ndim) except -1
cdef int access_whole(Operand* o, ndarray a) except -1
cdef ndarray product(Plan* p, ndarray x, ndarray y)
cdef ndarray product_into(Plan* p, ndarray x, ndarray y, ndarray out)
cdef object small_product(Plan* p, object u, tuple inputs)
# a kernel whose core is one axis of a, all of b (1-d, or None) and the same axis of out
cdef int along_axis(Kernel* kernel, ndarray a, ndarray b, ndarray out, int axis) except -1
