"""Sorting, places of extremes, products of two vectors: NumPy's functions of a row, as loops."""

import os

import numpy as np
cimport numpy as cnp
from dflow._kernels.kernel cimport BLAS, DATA_SORTING, intp, Kernel, loop_t, MAY_RAISE, REPORTS_FP, ROWS
from dflow._base.atomics cimport invariant
from dflow._base.allocator cimport block_alloc, block_free, memory_zeros
from dflow._base.threads cimport out_of_memory
from dflow._kernels.blas_library cimport find_numpy_blas
from dflow._kernels.dtypes cimport DTYPES, HALF, is_complex, is_integer, itemsizes, NCODES
from dflow._kernels.registry cimport kernel_new, recall, remember

cnp.import_array()

cdef extern from "_kernels/c/copy.h" nogil:
    void move_items(char* to, intp to_step, const char* source, intp from_step, intp n, int itemsize)

cdef extern from "numpy/arrayobject.h":
    ctypedef struct ArrFuncs "PyArray_ArrFuncs":
        int (*sort[3])(void*, intp, void*) noexcept nogil
        int (*argsort[3])(void*, intp*, intp, void*) noexcept nogil
        int (*argmax)(void*, intp, intp*, void*) noexcept nogil
        int (*argmin)(void*, intp, intp*, void*) noexcept nogil
        void (*dotfunc)(void*, intp, void*, intp, void*, intp, void*) noexcept nogil
    ArrFuncs* PyDataType_GetArrFuncs(cnp.dtype)

cdef extern from "_kernels/c/merge.h" nogil:
    ctypedef void (*merge_t)(const char*, intp, const char*, intp, char*, intp, intp)
    merge_t merge_of(char, int)

cdef extern from "_kernels/c/bytes.h" nogil:
    int sort_unsigned_bytes(void*, intp, void*)
    int sort_signed_bytes(void*, intp, void*)

cdef enum:
    LEAST_RUN = 1 << 16         # elements of a run, at least; a long row is sorted in runs, and these are merged,
    LEVELS = 3                  # two at a time, so often at most,
    WORTH_RUNS = 2000000        # nanoseconds of a sort that gains
    MERGED = 1 << 15            # so many elements of the output by one piece

cdef int cores = os.cpu_count() or 1
cdef bint vectors = np._core._multiarray_umath.__cpu_features__.get("AVX512_SKX", False)    # NumPy's quicksort has them

cdef struct Sorting:
    merge_t merge
    int runs                    # that are merged, two at a time; or made, at most
    int (*sort)(void*, intp, void*) noexcept nogil
    int (*argsort)(void*, intp*, intp, void*) noexcept nogil
    int (*arg)(void*, intp, intp*, void*) noexcept nogil
    void (*dot)(void*, intp, void*, intp, void*, intp, void*) noexcept nogil
    int itemsize

cdef inline Sorting* sorting_of(Kernel* k) noexcept nogil:
    invariant(k.tag == DATA_SORTING, b"the data of a kernel is a Sorting")
    return <Sorting*>k.data

cdef char* scratch(bint needed, intp n, bint* failed) noexcept nogil:
    """n bytes, where a loop needs them."""
    cdef char* p = block_alloc(n) if needed else NULL
    failed[0] |= needed and p == NULL
    return p

cdef void sort_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """in (r), out (r)."""
    cdef Sorting* s = <Sorting*>data
    cdef intp i, r = dims[1]
    cdef bint direct = steps[3] == s.itemsize, failed = False
    cdef char* row = scratch(not direct and r > 0, r * s.itemsize, &failed)
    cdef char* out
    for i in range(dims[0] if r > 0 and not failed else 0):
        out = args[1] + i * steps[1]
        if direct:
            row = out
        move_items(row, s.itemsize, args[0] + i * steps[0], steps[2], r, s.itemsize)
        failed |= s.sort(row, r, NULL) < 0
        if not direct:
            move_items(out, steps[3], row, s.itemsize, r, s.itemsize)
    if not direct and row != NULL:
        block_free(row, r * s.itemsize)
    if failed:
        out_of_memory()

cdef void argsort_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """in (r), out (r) of intp."""
    cdef Sorting* s = <Sorting*>data
    cdef intp i, j, r = dims[1]
    cdef bint direct = steps[2] == s.itemsize, direct_out = steps[3] == sizeof(intp), failed = False
    cdef char* row = scratch(not direct, r * s.itemsize, &failed)
    cdef intp* order = <intp*>scratch(not direct_out, r * sizeof(intp), &failed)
    for i in range(dims[0] if r > 0 and not failed else 0):
        if direct:
            row = args[0] + i * steps[0]
        else:
            move_items(row, s.itemsize, args[0] + i * steps[0], steps[2], r, s.itemsize)
        if direct_out:
            order = <intp*>(args[1] + i * steps[1])
        for j in range(r):
            order[j] = j
        failed |= s.argsort(row, order, r, NULL) < 0
        if not direct_out:
            move_items(args[1] + i * steps[1], steps[3], <char*>order, sizeof(intp), r, sizeof(intp))
    if not direct and row != NULL:
        block_free(row, r * s.itemsize)
    if not direct_out and order != NULL:
        block_free(<char*>order, r * sizeof(intp))
    if failed:
        out_of_memory()

cdef void argextreme_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """in (r), out () of intp."""
    cdef Sorting* s = <Sorting*>data
    cdef intp i, r = dims[1]
    cdef bint direct = steps[2] == s.itemsize, failed = False
    cdef char* row = scratch(not direct, r * s.itemsize, &failed)
    for i in range(0 if failed else dims[0]):
        if direct:
            row = args[0] + i * steps[0]
        else:
            move_items(row, s.itemsize, args[0] + i * steps[0], steps[2], r, s.itemsize)
        s.arg(row, r, <intp*>(args[1] + i * steps[1]), NULL)
    if not direct and row != NULL:
        block_free(row, r * s.itemsize)
    if failed:
        out_of_memory()

cdef void dot_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """a (r), b (r), out ()."""
    cdef Sorting* s = <Sorting*>data
    cdef intp i
    for i in range(dims[0]):
        s.dot(args[0] + i * steps[0], steps[3], args[1] + i * steps[1], steps[4], args[2] + i * steps[2], dims[1], NULL)

cdef Kernel* sorting_kernel(str name, int code, object kind, bint which, int nin, loop_t loop, float cost,
                            int flags=MAY_RAISE, int resources=0) except NULL:
    """kind: NumPy's number of a way to sort, or that and what else tells the kernel from others of the name."""
    key = (name, code, kind)
    cdef Kernel* k = recall(key)
    cdef Sorting* s
    cdef ArrFuncs* f
    if k == NULL:
        s = <Sorting*>memory_zeros(sizeof(Sorting))
        if s == NULL:
            raise MemoryError("no memory for a kernel")
        f = PyDataType_GetArrFuncs(DTYPES[code])
        way = kind[0] if type(kind) is tuple else kind
        s.sort = f.sort[<int>way]
        s.argsort = f.argsort[<int>way]
        s.arg = f.argmax if which else f.argmin
        s.dot = f.dotfunc
        s.itemsize = itemsizes[code]
        if s.itemsize == 1:
            s.sort = sort_signed_bytes if DTYPES[code].kind == "i" else sort_unsigned_bytes
        text = name.encode()
        k = remember(key, kernel_new(text, nin, nin + 1, loop, s, ROWS | flags, cost, DATA_SORTING))
        k.resources = resources
    return k

cdef intp runs_of(intp n, intp most) noexcept nogil:
    """Into how many runs a row is cut: a power of two."""
    cdef intp runs = 1
    while runs < most and n // (2 * runs) >= LEAST_RUN:
        runs *= 2
    return runs

cdef intp two_runs(intp* dims) noexcept nogil:
    return runs_of(dims[1], 2)

cdef intp four_runs(intp* dims) noexcept nogil:
    return runs_of(dims[1], 4)

cdef intp eight_runs(intp* dims) noexcept nogil:
    return runs_of(dims[1], 8)

cdef bint by_vectors(int code, int kind):
    """Whether NumPy sorts these so."""
    return vectors and kind == cnp.NPY_QUICKSORT and itemsizes[code] <= 8 and code != HALF and not is_complex(code)

def set_cores(int n):
    """How many cores the machine is taken to have, for tests; the number before."""
    global cores
    before, cores = cores, n
    return before

cdef int most_runs(int code, int kind, intp n):
    """What is the fastest on this machine, however many workers there are: of 10^6 random numbers NumPy's vectors take
    5 ns for one of 8 bytes, 2.5 for one of 4; else it takes 60 or so; a merge 4.7 for a float, 2.6 for an integer."""
    cdef double whole = itemsizes[code] * 0.6 if by_vectors(code, kind) else 60
    cdef double merge = 2.6 if is_integer(code) else 4.7
    if n * whole < WORTH_RUNS:
        return 1
    return min((1 << level for level in range(LEVELS + 1)),
               key=lambda runs: whole / min(runs, cores) + merge * (runs.bit_length() - 1) / cores)

cdef void sort_runs(char** args, intp* dims, intp* steps, void* data, intp start, intp stop) noexcept nogil:
    cdef intp n = dims[1], runs = runs_of(n, (<Sorting*>data).runs), run
    cdef char* at[2]
    cdef intp part[2]
    part[0] = 1
    for run in range(start, stop):
        part[1] = n * (run + 1) // runs - n * run // runs
        at[0] = args[0] + n * run // runs * steps[2]
        at[1] = args[1] + n * run // runs * steps[3]
        sort_loop(at, part, steps, data)

cdef void sort_runs_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    sort_runs(args, dims, steps, data, 0, runs_of(dims[1], (<Sorting*>data).runs))

cdef intp merge_pieces(intp* dims) noexcept nogil:
    return (dims[1] + MERGED - 1) // MERGED

cdef void merge_piece(char** args, intp* dims, intp* steps, void* data, intp start, intp stop) noexcept nogil:
    """in (r), whose runs are sorted, out (r), with half as many."""
    cdef Sorting* s = <Sorting*>data
    cdef intp n = dims[1], pair, a, b, end, first = start * MERGED, last = min(stop * MERGED, n)
    for pair in range(0, s.runs, 2):
        a = n * pair // s.runs
        b = n * (pair + 1) // s.runs
        end = n * (pair + 2) // s.runs
        if a < last and end > first:
            s.merge(args[0] + a * s.itemsize, b - a, args[0] + b * s.itemsize, end - b, args[1] + a * s.itemsize,
                    max(first, a) - a, min(last, end) - a)

cdef void merge_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    merge_piece(args, dims, steps, data, 0, merge_pieces(dims))

cdef list long_sort_kernels(int code, int kind, intp n):
    """Those that sort one row of n elements, each from one buffer to another; None when it is to be sorted as it is."""
    cdef int most = most_runs(code, kind, n) if n >= 2 * LEAST_RUN and itemsizes[code] > 1 else 1
    cdef intp runs = runs_of(n, most)
    cdef Kernel* k
    cdef list kernels
    if runs == 1 or merge_of(ord(DTYPES[code].kind), itemsizes[code]) == NULL:
        return None
    k = sorting_kernel("sort", code, (kind, "runs", most), False, 1, sort_runs_loop, 10)
    k.pieces = two_runs if most == 2 else four_runs if most == 4 else eight_runs
    k.piece = sort_runs
    sorting_of(k).runs = most
    kernels = [<size_t>k]
    while runs > 1:
        k = sorting_kernel("sort", code, (kind, runs), False, 1, merge_loop, 2, 0)
        k.pieces = merge_pieces
        k.piece = merge_piece
        sorting_of(k).merge = merge_of(ord(DTYPES[code].kind), itemsizes[code])
        sorting_of(k).runs = <int>runs
        kernels.append(<size_t>k)
        runs //= 2
    return kernels

cdef Kernel* sort_kernel(int code, int kind, bint indices) except NULL:
    cdef bint quick = by_vectors(code, kind)
    if indices:
        return sorting_kernel("argsort", code, kind, False, 1, argsort_loop, 9 if quick else 30)
    return sorting_kernel("sort", code, kind, False, 1, sort_loop,
                          1 if itemsizes[code] == 1 else 0.45 * itemsizes[code] if quick else 10)

cdef Kernel* argextreme_kernel(int code, bint largest) except NULL:
    return sorting_kernel("argmax" if largest else "argmin", code, 0, largest, 1, argextreme_loop,
                          0.5 if is_complex(code) or code == HALF else 0.02 * itemsizes[code])

cdef Kernel* dots[NCODES]

cdef Kernel* dot_kernel(int code) except NULL:
    cdef int flags = 0 if is_integer(code) else REPORTS_FP
    if dots[code] == NULL:
        find_numpy_blas()
        dots[code] = sorting_kernel("dot", code, 0, False, 2, dot_loop, 0.3, flags, BLAS)
    return dots[code]
