"""Matrix products in tiles, through SciPy's BLAS, on dflow's own workers; NumPy's linear algebra, guarded.

OpenBLAS would use threads of its own beside the workers, and lets one threaded product run at a time. So a large
product is cut into tiles, by its shape alone, and each tile is a call that is told to use one thread.
"""

import re

from libc.limits cimport INT_MAX
from libc.math cimport sqrt
from libc.string cimport memcpy, memset
from dflow._kernels.kernel cimport (
    BLAS, CUBIC, DATA_GUARDED, DATA_PRODUCT, intp, Kernel, loop_t, MAY_RAISE, PRODUCT)
from dflow._kernels.blas_library cimport (
    MATRICES, begin_call, end_call, find_numpy_blas, numpy_blas, restore_threads, scipy_blas, scipy_routines,
    tiles_wanted, use_one_thread)
from dflow._kernels.dtypes cimport CDOUBLE, CFLOAT, DOUBLE, FLOAT, itemsizes
from dflow._kernels.lu cimport (
    column_parts, ColumnPlan, columns_loop, cuts_columns, may_cut_columns, plan_columns)
from dflow._base.atomics cimport invariant
from dflow._base.allocator cimport memory_zeros
from dflow._base.fpflags cimport fp_clear, fp_collect

import numpy as np
from dflow._kernels.qr import qr

cdef enum:
    LEAST = 1 << 18             # multiplications from which tiles pay; OpenBLAS uses one thread below
    LEAST_VECTOR = 1 << 15      # the same for a matrix and a vector,
    LEAST_BAND_AREA = 1 << 17   # which is cut into bands of at least so many,
    LEAST_BAND = 64             # and so many rows, or columns,
    BAND = 2048                 # but no more than about so many: where lines are cut, short pieces cost twice the time
    NARROW = 16                 # rows, columns, or elements of these: of fewer each tile is NumPy's OpenBLAS's, if it
                                # has that: it is newer than SciPy's, and there up to twice as fast
    WIDE = 128                  # columns or rows that such a product has at least where tiles pay
    FLAT = 900_000              # the same for vectors of less than 16, where it is writing that takes the time
    TILE = 1024                 # rows and columns of a tile, at most about so many,
    LEAST_TILE = 48             # and at least so many
    ONE_THREAD = 8192           # elements up to which OpenBLAS never uses several
    ALL_THREADS = 900           # rows of a matrix from which LAPACK gains by all threads: fewer are faster with one
    ALL_PRODUCTS = 256          # the same where most of the work is products: an inverse, many right-hand sides
    LONG_DOT = 10_000           # elements up to which OpenBLAS has one thread for the product of two vectors:
    DOT_STEP = 64               # longer ones are multiplied in blocks, of a multiple of so many

cdef struct Product:            # the data of a product's kernel
    loop_t loop                 # NumPy's, for what BLAS does not take, and for small products
    void* data
    int code                    # 0..3: float, double, and both complex
    int itemsize

cdef bint worth_blas(intp m, intp n, intp p) noexcept nogil:
    if m == 1 or p == 1:
        return n >= 16 and m * n * p > LEAST_VECTOR and m != p
    return (n >= 16 or m * n * p >= FLAT) and (min(m, p) >= NARROW or max(m, p) >= WIDE) and m * n * p > LEAST

# ---- tiles -----------------------------------------------------------------------------------------------------------

cdef inline intp parts(intp n, intp size) noexcept nogil:
    return (n + size // 2) // size if n > size else 1

cdef inline intp bands(intp m, intp n) noexcept nogil:
    """Of a matrix of shape (m, n), or (n, m), beside a vector of n elements."""
    return max(min(max(tiles_wanted, m // BAND), m // LEAST_BAND, m * n // LEAST_BAND_AREA), 1)

cdef void cut(intp* dims, intp* rows, intp* columns) noexcept nogil:
    """Into how many rows and columns of tiles a product is cut; dims: loop, m, n, p.

    No tile is too large, and each core of the machine has one. A cut across rows costs OpenBLAS 2 % of its speed, one
    across columns 4. The number of workers does not count: the last bits must not depend on it.
    """
    cdef intp m = dims[1], n = dims[2], p = dims[3], r = 1, c = 1
    cdef bint by_rows = True, by_columns = True
    if scipy_routines.gemm[0] == NULL or scipy_blas.set_threads == NULL or not worth_blas(m, n, p):
        pass
    elif p == 1:
        r = bands(m, n)
    elif m == 1:
        c = bands(p, n)
    else:
        while (by_rows or by_columns) and (r * c < tiles_wanted or m > TILE * r or p > TILE * c) and (
                m * n * p >= 2 * LEAST * r * c):
            by_rows = m >= 2 * LEAST_TILE * r
            by_columns = p >= 2 * LEAST_TILE * c
            if by_rows and (m * c >= p * r or not by_columns):
                r *= 2
            elif by_columns:
                c *= 2
    rows[0] = r
    columns[0] = c

cdef intp product_pieces(intp* dims) noexcept nogil:
    cdef intp rows, columns
    cut(dims, &rows, &columns)
    return dims[0] * rows * columns

cdef inline bint leads(intp step, intp n, int itemsize) noexcept nogil:
    """Whether BLAS takes the step between lines of n contiguous elements."""
    return step % itemsize == 0 and step >= n * itemsize and step // itemsize < INT_MAX

cdef bint plain(intp rows, intp columns, intp row_step, intp column_step, int itemsize,
                char* how, int* lead) noexcept nogil:
    """Whether BLAS takes the matrix: in Fortran's eyes, it is transposed (how = "N") or not ("T")."""
    if column_step == itemsize and leads(row_step, columns, itemsize):
        how[0] = c"N"
        lead[0] = <int>(row_step // itemsize)
        return True
    if row_step == itemsize and leads(column_step, rows, itemsize):
        how[0] = c"T"
        lead[0] = <int>(column_step // itemsize)
        return True
    return False

cdef bint symmetric(char** args, intp* dims, intp* core) noexcept nogil:
    """x @ x.T: half of it is the other half's mirror image."""
    return args[0] == args[1] and dims[1] == dims[3] and core[0] == core[3] and core[1] == core[2]

cdef bint blas_takes(Product* w, intp* dims, intp* core,
                     char* how_a, int* lead_a, char* how_b, int* lead_b) noexcept nogil:
    """Whether tiles of the product are worth BLAS, and their memory is as it wants it; then how a and b look to it."""
    cdef intp m = dims[1], n = dims[2], p = dims[3]
    if scipy_routines.gemm[0] == NULL or not worth_blas(m, n, p) or n >= INT_MAX:
        return False
    if min(m, n, p) < NARROW and (n > 1 or w.code > 1) and numpy_blas.set_threads != NULL:  # of n = 1 NumPy uses none
        return False
    if p == 1:
        if not spaced(core[2], w.itemsize) or not spaced(core[4], w.itemsize):
            return False
    elif m == 1:
        if not spaced(core[1], w.itemsize) or not spaced(core[5], w.itemsize):
            return False
    elif core[5] != w.itemsize or not leads(core[4], p, w.itemsize):
        return False
    return ((m == 1 or plain(m, n, core[0], core[1], w.itemsize, how_a, lead_a))
            and (p == 1 or plain(n, p, core[2], core[3], w.itemsize, how_b, lead_b)))

cdef void product_piece(char** args, intp* dims, intp* steps, void* data, intp start, intp stop) noexcept nogil:
    """Tiles [start, stop), counted over all matrices. a (m, n), b (n, p), out (m, p)."""
    cdef Product* w = <Product*>data
    cdef intp m = dims[1], p = dims[3]
    cdef intp* core = steps + 3
    cdef char* at[3]
    cdef intp part[4]
    cdef intp rows, columns, matrix, tile, i, k, top, left
    cdef char how_a = c"N", how_b = c"N"
    cdef int lead_a = 0, lead_b = 0
    cdef bint by_blas
    if long_vectors(m, dims[2], p):
        for i in range(start, stop):
            multiply_vectors(w, args[0] + i * steps[0], args[1] + i * steps[1], args[2] + i * steps[2], dims[2], core)
        return
    by_blas = blas_takes(w, dims, core, &how_a, &lead_a, &how_b, &lead_b)
    cut(dims, &rows, &columns)
    memcpy(part, dims, sizeof(part))
    if not by_blas and rows == columns == 1:
        for i in range(3):
            at[i] = args[i] + start * steps[i]
        part[0] = stop - start
        numpy_product(w, at, part, steps)
        return
    part[0] = 1
    for k in range(start, stop):
        matrix = k // (rows * columns)
        tile = k % (rows * columns)
        for i in range(3):
            at[i] = args[i] + matrix * steps[i]
        if by_blas and symmetric(at, dims, core):
            product_band(w.code, at, dims, core, how_a, lead_a, how_b, lead_b, tile, rows * columns)
            continue
        top = m * (tile // columns) // rows
        left = p * (tile % columns) // columns
        part[1] = m * (tile // columns + 1) // rows - top
        part[3] = p * (tile % columns + 1) // columns - left
        at[0] += top * core[0]
        at[1] += left * core[3]
        at[2] += top * core[4] + left * core[5]
        if by_blas:
            blas_tile(w, at, part, core, how_a, lead_a, how_b, lead_b, m == 1, p == 1)
        else:
            numpy_product(w, at, part, steps)

cdef inline void blas_tile(Product* w, char** at, intp* part, intp* core, char how_a, int lead_a, char how_b,
                           int lead_b, bint row, bint column) noexcept nogil:
    """A tile by SciPy's BLAS. row, column: a, or b, is a vector."""
    cdef int size = w.itemsize
    if column:
        apply(w.code, at[0], part[1], part[2], how_a, lead_a, at[1], core[2] // size, at[2], core[4] // size)
    elif row:                           # its transpose: out.T = b.T a.T
        how_b = c"N" if how_b == c"T" else c"T"
        apply(w.code, at[1], part[3], part[2], how_b, lead_b, at[0], core[1] // size, at[2], core[5] // size)
    else:
        multiply(w.code, at, part, how_a, lead_a, how_b, lead_b, <int>(core[4] // size))

cdef void numpy_product(Product* w, char** args, intp* dims, intp* steps) noexcept nogil:
    if begin_call(&numpy_blas, 0):
        w.loop(args, dims, steps, w.data)
        end_call(&numpy_blas)

# ---- long vectors ----------------------------------------------------------------------------------------------------
# In blocks for which OpenBLAS takes no threads of its own, and these in at most DOT_PARTS parts, which dflow's share.
# The length alone decides, as the last bits depend on it.

cdef void plan_vectors(Product* w, char* a, char* b, char* out, intp n, intp* core, DotPlan* d) noexcept nogil:
    d.w = w
    d.a, d.b, d.out = a, b, out
    d.n = n
    d.a_step, d.b_step = core[1], core[2]
    d.blocks = (n + DOT - 1) // DOT
    d.length = ((n + d.blocks - 1) // d.blocks + DOT_STEP - 1) // DOT_STEP * DOT_STEP
    d.blocks = (n + d.length - 1) // d.length
    d.parts = min(d.blocks, DOT_PARTS)
    memset(d.sums, 0, d.parts * sizeof(d.sums[0]))      # parts that are never multiplied, of a task that is cancelled
    d.flags = 0

cdef void multiply_vectors(Product* w, char* a, char* b, char* out, intp n, intp* core) noexcept nogil:
    cdef DotPlan d
    plan_vectors(w, a, b, out, n, core, &d)
    multiply_parts(&d, 0, d.parts)
    add_parts(&d)

cdef bint plan_dot(Kernel* k, char** args, intp* dims, intp* steps, DotPlan* d) noexcept nogil:
    if k.tag != DATA_PRODUCT or dims[0] != 1 or not long_vectors(dims[1], dims[2], dims[3]):
        return False
    plan_vectors(product_of(k), args[0], args[1], args[2], dims[2], steps + 3, d)
    return True

cdef void multiply_parts(DotPlan* d, intp start, intp stop) noexcept nogil:
    cdef Product* w = <Product*>d.w
    cdef double complex product
    cdef char* args[3]
    cdef intp steps[9]
    cdef intp part[4]
    cdef intp k, block, first
    memset(steps, 0, sizeof(steps))
    steps[4], steps[5] = d.a_step, d.b_step
    part[0] = part[1] = part[3] = 1
    for k in range(start, stop):
        first = d.blocks * k // d.parts
        for block in range(first, d.blocks * (k + 1) // d.parts):
            args[0] = d.a + block * d.length * d.a_step
            args[1] = d.b + block * d.length * d.b_step
            args[2] = <char*>(&d.sums[k] if block == first else &product)
            part[2] = min(d.length, d.n - block * d.length)
            w.loop(args, part, steps, w.data)
            if block > first:
                add_product(w.code, <char*>&d.sums[k], <char*>&product)

cdef void add_parts(DotPlan* d) noexcept nogil:
    cdef Product* w = <Product*>d.w
    cdef intp k
    for k in range(1, d.parts):
        add_product(w.code, <char*>&d.sums[0], <char*>&d.sums[k])
    memcpy(d.out, &d.sums[0], w.itemsize)

cdef void run_dot(void* plan, intp start, intp stop) noexcept nogil:
    cdef DotPlan* d = <DotPlan*>plan
    fp_clear()
    multiply_parts(d, start, stop)
    fp_collect(&d.flags)

cdef void end_dot(DotPlan* d) noexcept nogil:
    fp_clear()
    add_parts(d)
    fp_collect(&d.flags)

cdef inline void add_product(int code, char* total, char* x) noexcept nogil:
    if code == 0:
        (<float*>total)[0] += (<float*>x)[0]
    elif code == 1:
        (<double*>total)[0] += (<double*>x)[0]
    elif code == 2:
        (<float complex*>total)[0] = (<float complex*>total)[0] + (<float complex*>x)[0]
    else:
        (<double complex*>total)[0] = (<double complex*>total)[0] + (<double complex*>x)[0]

# ---- tiles by SciPy's BLAS -------------------------------------------------------------------------------------------

cdef float[4] single_one = [1, 0, 0, 0]             # one and zero, real or complex
cdef double[4] double_one = [1, 0, 0, 0]

cdef inline char* one_of(int code) noexcept nogil:
    return <char*>single_one if code == 0 or code == 2 else <char*>double_one

cdef inline char* zero_of(int code) noexcept nogil:
    return one_of(code) + (8 if code == 0 or code == 2 else 16)

cdef void multiply(int code, char** args, intp* dims, char how_a, int lead_a, char how_b, int lead_b,
                   int lead_out) noexcept nogil:
    """out = a b. To Fortran each matrix is its transpose: out.T = b.T a.T."""
    cdef int m = <int>dims[1], n = <int>dims[2], p = <int>dims[3]
    if not begin_call(&scipy_blas, 0):
        return
    use_one_thread(&scipy_blas)
    scipy_routines.gemm[code](&how_b, &how_a, &p, &m, &n, one_of(code), args[1], &lead_b, args[0], &lead_a,
                              zero_of(code), args[2], &lead_out)
    restore_threads(&scipy_blas)
    end_call(&scipy_blas)

cdef void product_band(int code, char** args, intp* dims, intp* core, char how_a, int lead_a, char how_b, int lead_b,
                       intp band, intp bands) noexcept nogil:
    """A band of rows of x @ x.T, up to its diagonal, and its mirror image: of as many elements as the others."""
    cdef intp top = <intp>(dims[1] * sqrt(<double>band / bands)), bottom = <intp>(dims[1] * sqrt((band + 1.0) / bands))
    cdef intp part[4]
    cdef char* at[3]
    cdef char upper = c"U", how = c"T" if how_a == c"N" else c"N"
    cdef int rows = <int>(bottom - top), n = <int>dims[2], lead_out = <int>(core[4] // core[5])
    memcpy(part, dims, sizeof(part))
    at[0] = args[0] + top * core[0]
    at[1] = args[1]
    at[2] = args[2] + top * core[4]
    part[1] = rows
    part[3] = top
    if top > 0:
        multiply(code, at, part, how_a, lead_a, how_b, lead_b, lead_out)
    if not begin_call(&scipy_blas, 0):
        return
    use_one_thread(&scipy_blas)
    scipy_routines.syrk[code](&upper, &how, &rows, &n, one_of(code), at[0], &lead_a, zero_of(code),
                              at[2] + top * core[5], &lead_out)
    restore_threads(&scipy_blas)
    end_call(&scipy_blas)
    if core[5] == 4:
        mirror(<float*>args[2], top, bottom, lead_out)
    elif core[5] == 8:
        mirror(<double*>args[2], top, bottom, lead_out)
    else:
        mirror(<double complex*>args[2], top, bottom, lead_out)

ctypedef fused element:         # by its size
    float
    double
    double complex

cdef void mirror(element* x, intp top, intp bottom, intp lead) noexcept nogil:
    """What is left of the diagonal in rows [top, bottom), above it too; in squares that fit into the cache."""
    cdef intp i, j, left
    for left in range(0, bottom, 32):
        for i in range(top, bottom):
            for j in range(left, min(left + 32, i)):
                x[j * lead + i] = x[i * lead + j]

cdef inline bint spaced(intp step, int itemsize) noexcept nogil:
    """Whether BLAS takes a vector with this step."""
    return step > 0 and step % itemsize == 0 and step // itemsize < INT_MAX

cdef void apply(int code, char* a, intp rows, intp n, char how, int lead, char* x, intp x_step,
                char* y, intp y_step) noexcept nogil:
    """y = a x, a of shape (rows, n): to Fortran it is transposed (how = "N") or not ("T"), as in plain()."""
    cdef int first = <int>(n if how == c"N" else rows), second = <int>(rows if how == c"N" else n)
    cdef int x_inc = <int>x_step, y_inc = <int>y_step
    cdef char fortran = c"T" if how == c"N" else c"N"
    if not begin_call(&scipy_blas, 0):
        return
    use_one_thread(&scipy_blas)
    scipy_routines.gemv[code](&fortran, &first, &second, one_of(code), a, &lead, x, &x_inc, zero_of(code), y, &y_inc)
    restore_threads(&scipy_blas)
    end_call(&scipy_blas)

cdef void product_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    product_piece(args, dims, steps, data, 0, product_pieces(dims))

cdef int use_tiles(Kernel* k, int code) except -1:
    cdef Product* w = <Product*>memory_zeros(sizeof(Product))
    if w == NULL:
        raise MemoryError("no memory for a kernel")
    find_numpy_blas()
    w.loop = k.loop
    w.data = k.data
    w.code = {FLOAT: 0, DOUBLE: 1, CFLOAT: 2, CDOUBLE: 3}[code]
    w.itemsize = itemsizes[code]
    k.loop, k.data, k.tag = product_loop, w, DATA_PRODUCT
    k.flags |= PRODUCT | MAY_RAISE
    k.resources |= BLAS
    k.pieces = product_pieces
    k.piece = product_piece
    return 0

# ---- NumPy's linear algebra ------------------------------------------------------------------------------------------

cdef struct Guarded:            # the data of a kernel whose loop calls NumPy's BLAS
    loop_t loop
    void* data
    int ndims                   # core dimensions
    int itemsize
    int first, last             # those that the order of the matrix is the least of; none: it is never alone
    int columns                 # that of how many columns are solved for; 0: it solves nothing
    int doubles                 # in an element, if these may be cut into parts; else 0
    intp small                  # up to which core dimensions OpenBLAS has one thread
    intp tiny                   # up to which it does little but take its locks

RECTANGULAR = ("svd", "qr", "lstsq")
TRIANGLES = (*RECTANGULAR, "eig")       # products with triangles in them use all of OpenBLAS's threads, however small
# The order up to which two threads are no faster than one with a stack of matrices; none where each takes longer.
TINY = {"det": 6, "slogdet": 6, "inv": 2, "solve": 4, "solve1": 4, "cholesky_lo": 6, "cholesky_up": 6}
VECTORS = {np.vecdot: 10_000, np.matvec: 90, np.vecmat: 90} if hasattr(np, "vecmat") else {}

cdef inline Guarded* guarded_of(Kernel* k) noexcept nogil:
    invariant(k.tag == DATA_GUARDED, b"the data of a kernel is a Guarded")
    return <Guarded*>k.data

cdef inline Product* product_of(Kernel* k) noexcept nogil:
    invariant(k.tag == DATA_PRODUCT, b"the data of a kernel is a Product")
    return <Product*>k.data

cdef int guard_blas(Kernel* k, object ufunc, int code) except -1:
    """Note how the kernel uses NumPy's BLAS, if it is one of its linear algebra."""
    cdef Guarded* w
    cdef int itemsize = itemsizes[code]
    name = ufunc.__name__
    if ufunc not in VECTORS and ufunc not in qr.values() and getattr(np.linalg._umath_linalg, name, None) is not ufunc:
        return 0
    find_numpy_blas()
    w = <Guarded*>memory_zeros(sizeof(Guarded))
    if w == NULL:
        raise MemoryError("no memory for a kernel")
    w.loop = k.loop
    w.data = k.data
    w.itemsize = itemsize
    w.ndims = len(set(re.findall(r"\w+", ufunc.signature)))
    w.small = VECTORS.get(ufunc, 8 if name.startswith(TRIANGLES) else 90)
    w.tiny = TINY.get(name, 0)
    w.first = w.last = ufunc not in VECTORS
    if name.startswith(RECTANGULAR):
        w.last = 2
    w.columns = 1 if name == "inv" else 2 if name == "solve" else 0
    if w.columns and (code == DOUBLE or code == CDOUBLE) and may_cut_columns():
        w.doubles = itemsize // 8
    k.loop, k.data, k.tag = guarded_loop, w, DATA_GUARDED
    k.flags |= MAY_RAISE
    k.resources |= BLAS
    if ufunc not in VECTORS:
        k.cost_model = CUBIC
    return 0

cdef void guarded_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    cdef Guarded* w = <Guarded*>data
    cdef intp area = dims[1] * dims[2 if w.ndims > 1 else 1]
    if in_parts(w, dims):
        columns_loop(args, dims, steps, w.columns == 1, w.doubles)
    elif begin_call(&numpy_blas, MATRICES * w.itemsize * area if w.first and largest_of(w, dims) > w.small else 0):
        w.loop(args, dims, steps, w.data)
        end_call(&numpy_blas)

cdef inline bint in_parts(Guarded* w, intp* dims) noexcept nogil:
    return w.doubles and cuts_columns(dims[1], dims[w.columns])

cdef int parts_of(Kernel* k, intp* dims) noexcept nogil:
    cdef Guarded* w
    if k.tag != DATA_GUARDED or dims[0] != 1:
        return 1
    w = guarded_of(k)
    return column_parts(dims[w.columns]) if in_parts(w, dims) else 1

cdef bint plan_parts(Kernel* k, char** args, intp* dims, intp* steps, ColumnPlan* p) noexcept nogil:
    cdef Guarded* w = guarded_of(k)
    return plan_columns(args, dims, steps, w.columns == 1, w.doubles, p)

cdef inline intp largest_of(Guarded* w, intp* dims) noexcept nogil:
    cdef intp largest = 0
    cdef int i
    for i in range(w.ndims):
        largest = max(largest, dims[1 + i])
    return largest

cdef int guarded_use(Guarded* w, intp* dims) noexcept nogil:
    cdef intp n = min(dims[w.first], dims[w.last]) if w.first else 0
    if in_parts(w, dims):
        return SHARED
    if largest_of(w, dims) <= w.small:
        return BY_TURNS if dims[1] <= w.tiny else UNUSED
    return ALONE if n >= (ALL_PRODUCTS if w.columns and dims[w.columns] >= n // 2 else ALL_THREADS) else SHARED

cdef int product_use(Product* w, intp* dims, intp* core) noexcept nogil:
    """Tiles are SciPy's, and parts of long vectors so short that OpenBLAS has one thread for them."""
    cdef char how_a, how_b
    cdef int lead_a, lead_b
    return UNUSED if dims[1] * dims[2] * dims[3] <= ONE_THREAD or dims[1] == dims[3] == 1 or (
        blas_takes(w, dims, core, &how_a, &lead_a, &how_b, &lead_b)) else SHARED

cdef int blas_use(Kernel* k, intp* dims, intp* steps) noexcept nogil:
    if k.tag == DATA_GUARDED:
        return guarded_use(guarded_of(k), dims)
    if k.tag == DATA_PRODUCT:
        return product_use(product_of(k), dims, steps + 3)
    return SHARED if dims[1] > LONG_DOT else UNUSED
