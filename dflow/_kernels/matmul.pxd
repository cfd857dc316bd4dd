"""Matrix products in tiles, through SciPy's BLAS, on dflow's own workers."""

from dflow._kernels.kernel cimport intp, Kernel, loop_t


cdef struct Product:            # the data of a product's kernel
    loop_t loop                 # NumPy's, for what BLAS does not take, and for small products
    void* data
    int code                    # 0..3: float, double, and both complex; see _kernels/matmul.pyx
    int itemsize

cdef bint worth_blas(intp m, intp n, intp p) noexcept nogil                 # of (m, n) @ (n, p)
cdef bint blas_loaded() noexcept
cdef int load_blas() except -1                                          # GIL; before the first product worth it runs
cdef intp product_pieces(intp* dims) noexcept nogil
cdef void product_piece(char** args, intp* dims, intp* steps, void* data, intp start, intp stop) noexcept nogil
cdef void product_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil
cdef int guard_blas(Kernel* k, object ufunc, int itemsize) except -1    # if it is of NumPy's linear algebra
cdef int find_numpy_blas() except -1                                       # GIL; for a kernel with BLAS

cdef enum BlasUse:              # how a loop uses NumPy's BLAS: see _runtime/gate.pxd
    UNUSED
    SHARED                      # with one thread, beside others
    ALONE                       # with all threads

cdef int blas_use(Kernel* k, intp* dims, intp* steps) noexcept nogil    # of a call of a kernel with BLAS
cdef void one_thread_each() noexcept nogil                                  # NumPy's BLAS, from here on,
cdef void threads_again() noexcept nogil                                    # until as many calls of this
cdef void blas_after_fork() noexcept                                        # in the child
cdef void blas_after_fork_in_parent() noexcept                          # GIL; its threads are to start again
