"""Matrix products in tiles, through SciPy's BLAS, on dflow's own workers."""

from dflow._graph cimport Kernel, intp, loop_t

cdef struct Product:            # the data of a product's kernel
    loop_t loop                 # NumPy's, for what BLAS does not take, and for small products
    void* data
    int code                    # 0..3: float, double, and both complex; see _blas.pyx
    int itemsize

cdef bint worth_blas(intp m, intp n, intp p) noexcept nogil                 # of (m, n) @ (n, p)
cdef bint blas_loaded() noexcept
cdef int load_blas() except -1                                              # GIL; before the first product worth it runs
cdef intp product_pieces(intp* dims) noexcept nogil
cdef void product_piece(char** args, intp* dims, intp* steps, void* data, intp start, intp stop) noexcept nogil
cdef void product_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil
cdef int guard_blas(Kernel* k, object ufunc) except -1                       # of NumPy's linear algebra: one thread each
cdef int find_numpy_blas() except -1                                       # GIL; for a kernel that will enter it
cdef void try_blas() noexcept nogil                                         # from here on this thread does not wait to enter
cdef bint blas_refused() noexcept nogil                                     # whether it was refused since; it waits again
cdef bint enter_numpy_blas(bint alone) noexcept nogil                       # False: refused
cdef void leave_numpy_blas(bint alone) noexcept nogil
cdef void blas_before_fork() noexcept                                       # waits; then nobody is in there alone,
cdef void blas_after_fork_in_parent() noexcept                              # until here
cdef void blas_after_fork() noexcept                                        # in the child
