"""Columns in parts: see _kernels/lu.pxd. NumPy's copy of LAPACK, so the bits are those of its solve()."""

import sys

from libc.math cimport NAN
from libc.string cimport memset
from dflow._base.allocator cimport memory_free, memory_new
from dflow._base.fpflags cimport FP_INVALID, fp_clear, fp_flags, fp_raise
from dflow._base.thread_state cimport loop_raised
from dflow._base.threads cimport out_of_memory
from dflow._kernels.blas_library cimport begin_call, end_call, find_numpy_blas, numpy_blas, numpy_lapack, tiles_wanted

cdef enum:
    LEAST_COLUMNS = 24          # of a part
    LEAST_ORDER = 72            # of a matrix of which the columns are cut, and the most: then all threads make the
    MOST_ORDER = 256            # factors, too; but
    MOST_ORDER_OF_FEW = 512     # on few cores that gains less
    FEW_CORES = 4

cdef void copy_matrix(char* to, intp to_row, intp to_column, char* source, intp row_step, intp column_step,
                      intp rows, intp columns, int doubles) noexcept nogil:
    """In squares, whose lines stay in the first cache both ways."""
    cdef intp top, left, row, column
    cdef double* x
    cdef double* y
    for left in range(0, columns, 16):
        for top in range(0, rows, 16):
            for column in range(left, min(left + 16, columns)):
                for row in range(top, min(top + 16, rows)):
                    x = <double*>(to + row * to_row + column * to_column)
                    y = <double*>(source + row * row_step + column * column_step)
                    x[0] = y[0]
                    if doubles == 2:
                        x[1] = y[1]

cdef bint may_cut_columns() except -1:
    find_numpy_blas()
    return sys.byteorder == "little" and numpy_lapack.getrf[0] != NULL and numpy_lapack.getrs[0] != NULL and (
        numpy_lapack.getrf[1] != NULL and numpy_lapack.getrs[1] != NULL)

cdef bint cuts_columns(intp n, intp k) noexcept nogil:
    return LEAST_ORDER <= n < (MOST_ORDER_OF_FEW if tiles_wanted <= FEW_CORES else MOST_ORDER) and (
        k >= max(n // 2, 2 * LEAST_COLUMNS))

cdef int column_parts(intp k) noexcept nogil:
    return <int>max(min(tiles_wanted, k // LEAST_COLUMNS), 1)

cdef bint plan_columns(char** args, intp* dims, intp* steps, bint inverse, int doubles, ColumnPlan* p) noexcept nogil:
    cdef intp n = dims[1], size = 8 * doubles
    cdef intp* of_a = steps + (2 if inverse else 3)
    cdef intp* of_b = of_a + 2
    cdef long long order = n, failed = 0
    p.n, p.k, p.doubles = n, n if inverse else dims[2], doubles
    p.parts = column_parts(p.k)
    p.singular = False
    p.b = NULL
    if not inverse:
        p.b, p.b_row, p.b_column = args[1], of_b[0], of_b[1]
        of_b += 2
    p.out, p.out_row, p.out_column = args[1 if inverse else 2], of_b[0], of_b[1]
    p.factors = <char*>memory_new(size * n * n)
    p.pivots = <long long*>memory_new(sizeof(long long) * n)
    if p.factors == NULL or p.pivots == NULL:
        out_of_memory()
        end_columns(p)
        return False
    copy_matrix(p.factors, size, size * n, args[0], of_a[0], of_a[1], n, n, doubles)
    if not begin_call(&numpy_blas, 0):
        end_columns(p)
        return False
    numpy_lapack.getrf[doubles - 1](&order, &order, p.factors, &order, p.pivots, &failed)
    end_call(&numpy_blas)
    p.singular = failed != 0
    return True

cdef void run_columns(ColumnPlan* p, intp start, intp stop) noexcept nogil:
    cdef intp size = 8 * p.doubles, first = p.k * start // p.parts, column, row
    cdef intp columns = p.k * (stop if p.singular else start + 1) // p.parts - first
    cdef long long order = p.n, many, failed = 0
    cdef char no = c"N"
    cdef char* x
    cdef double* out
    if p.singular:
        for row in range(p.n):
            for column in range(first, first + columns):
                out = <double*>(p.out + row * p.out_row + column * p.out_column)
                out[0] = out[p.doubles - 1] = NAN
        return
    x = <char*>memory_new(size * p.n * (p.k // p.parts + 1))
    if x == NULL:
        out_of_memory()
        return
    while start < stop:
        first = p.k * start // p.parts
        start += 1
        many = columns = p.k * start // p.parts - first
        if p.b != NULL:
            copy_matrix(x, size, size * p.n, p.b + first * p.b_column, p.b_row, p.b_column, p.n, columns, p.doubles)
        else:
            memset(x, 0, size * p.n * columns)
            for column in range(columns):
                (<double*>(x + size * (column * p.n + first + column)))[0] = 1
        if not begin_call(&numpy_blas, 0):
            break
        numpy_lapack.getrs[p.doubles - 1](&no, &order, &many, p.factors, &order, p.pivots, x, &order, &failed, 1)
        end_call(&numpy_blas)
        copy_matrix(p.out + first * p.out_column, p.out_row, p.out_column, x, size, size * p.n, p.n, columns,
                    p.doubles)
    memory_free(x)

cdef void end_columns(ColumnPlan* p) noexcept nogil:
    memory_free(p.factors)
    memory_free(p.pivots)

cdef void columns_loop(char** args, intp* dims, intp* steps, bint inverse, int doubles) noexcept nogil:
    """As NumPy's loop: the invalid flag means that one of the matrices is singular, of those of the calls before, too,
    and others mean nothing."""
    cdef ColumnPlan p
    cdef char* at[3]
    cdef intp i
    cdef int k, nops = 2 if inverse else 3
    cdef bint singular = (fp_flags() & FP_INVALID) != 0
    for i in range(dims[0]):
        for k in range(nops):
            at[k] = args[k] + i * steps[k]
        if not plan_columns(at, dims, steps, inverse, doubles, &p):
            break
        run_columns(&p, 0, p.parts)
        end_columns(&p)
        singular = singular or p.singular
        if loop_raised():
            break
    fp_clear()
    if singular:
        fp_raise(FP_INVALID)
