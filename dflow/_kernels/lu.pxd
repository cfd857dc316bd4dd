"""Linear systems with many right-hand sides, and inverses, of middling size: their columns in parts.

The factors are made by one thread; then each part of the columns is solved for by a call of its own, which any runner
may make. The parts are chosen by the sizes alone, so the last bits do not depend on who runs them.
"""

from dflow._kernels.kernel cimport intp

cdef struct ColumnPlan:         # one matrix (n, n), and k columns
    intp n, k
    int parts
    int doubles                 # in an element
    bint singular               # then the result is nan
    char* factors               # column after column; owned, as are
    long long* pivots           # which the library may write as 4 bytes each, or 8
    char* b                     # NULL: the identity
    intp b_row, b_column
    char* out
    intp out_row, out_column

cdef bint may_cut_columns() except -1                               # GIL. Whether NumPy's LAPACK shows what it takes
cdef bint cuts_columns(intp n, intp k) noexcept nogil               # whether these are worth it
cdef int column_parts(intp k) noexcept nogil
# Of a loop of (n,n)->(n,n) or (n,n),(n,k)->(n,k): makes the factors. False, and a MemoryError: there is no memory.
cdef bint plan_columns(char** args, intp* dims, intp* steps, bint inverse, int doubles, ColumnPlan* p) noexcept nogil
cdef void run_columns(ColumnPlan* p, intp start, intp stop) noexcept nogil     # some of the parts; it may raise, too
cdef void end_columns(ColumnPlan* p) noexcept nogil
cdef void columns_loop(char** args, intp* dims, intp* steps, bint inverse, int doubles) noexcept nogil  # all matrices

cdef void copy_matrix(char* to, intp to_row, intp to_column, char* source, intp row_step, intp column_step,
                      intp rows, intp columns, int doubles) noexcept nogil
