"""Reductions of one output element at a time, in blocks of a fixed size.

The elements that make up one output are taken in memory order and cut into blocks of FOLD_BYTES; each block is reduced
by the ufunc's own loop, then the results of the blocks in the same way. So the order of a floating-point sum depends on
the array alone: not on the number of runners that share the work, nor on whether the elements come from memory or from
a group's register.

Where the outputs lie beside each other and the elements of one lie far apart, rows of elements are added to rows of
outputs, as NumPy does; many of them in bands of a fixed number of rows, and then the bands' results.
"""

from dflow._base.atomics cimport invariant
from dflow._kernels.kernel cimport DATA_FOLD, intp, Kernel, loop_t


cdef enum:
    FOLD_BYTES = 4096

ctypedef void (*total_t)(void* out, const void* p, intp n, int fresh, int near) noexcept nogil
ctypedef void (*totals_t)(char* out, intp out_step, const char* p, intp step, intp rows, intp n,
                          int fresh) noexcept nogil
ctypedef int (*extreme_t)(void* out, const void* p, intp n, int fresh) noexcept nogil

ctypedef void (*down_t)(void* out, const char* p, intp step, intp rows, intp n) noexcept nogil

cdef struct Fold:           # the data of a reduction's kernel
    loop_t loop             # of the binary ufunc
    void* data
    total_t total           # of n elements in a row, with the bits of the loop; NULL: it has no faster way
    totals_t totals         # of several such; NULL: as well
    down_t down             # n results at a time, of `rows` rows: each row is added to them; NULL: as well
    extreme_t extreme       # the same, where no order of the elements changes the result; False: it does
    int itemsize
    int naxes               # reduced
    bint initial            # the operand before the output is a value to start from
    bint blocked            # the order may be changed; else it is NumPy's, element after element
    bint idempotent         # an element may count twice
    bint exact              # no order changes the result: integers, bools
    loop_t cast             # of what is read, of another type, a block at a time; NULL: it is of the same
    void* cast_data

cdef inline Fold* fold_of(Kernel* k) noexcept nogil:        # that REDUCES
    invariant(k.tag == DATA_FOLD, b"the data of a kernel is a Fold")
    return <Fold*>k.data

cdef inline intp fold_block(Fold* w) noexcept nogil:        # elements
    return FOLD_BYTES // w.itemsize

# Elements that a group's blocks hold at least: its registers may have larger ones.
cdef inline intp group_block(Fold* w) noexcept nogil:
    return min(fold_block(w), <intp>512) if w.exact else fold_block(w)

# out = out op p[0] op .. op p[n - 1]; `fresh`: out holds no value yet; `near`: p is likely to be in a cache. n > 0.
cdef void fold_one(Fold* w, char* out, char* p, intp n, intp step, bint fresh, bint near) noexcept nogil # as one block
cdef void fold(Fold* w, char* out, char* p, intp n, intp step, bint fresh, bint near) noexcept nogil
# The same of each of `rows`, of n elements each.
cdef void fold_rows(Fold* w, char* out, intp out_step, char* p, intp row_step, intp rows, intp n, intp step,
                    bint fresh) noexcept nogil

cdef struct BandPlan:         # a reduction in bands of rows
    Fold* w
    char* p
    char* out
    char* initial           # NULL: none
    intp n                  # outputs
    intp rows, band, bands
    intp row_step, step, out_step, initial_step
    char* partial           # results of the bands; owned
    int flags               # floating point flags; atomic

# False: the reduction is none in bands, or there is no memory.
cdef bint plan_bands(Fold* w, char** args, intp* dims, intp* steps, BandPlan* a) noexcept nogil
cdef void run_bands(void* plan, intp start, intp stop) noexcept nogil         # some of the bands
cdef void end_bands(BandPlan* a) noexcept nogil

# kernels: in (r1, .., rm) [, initial ()], out ()
cdef void reduce_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil
cdef void reduce_initial_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil
# The same of what is cast, for results that no group of a cast and a reduction makes block by block.
cdef void reduce_cast_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil
cdef void reduce_cast_initial_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil
