"""QR factorizations as generalized ufuncs: loops of numpy.linalg, of which the first writes into its operand."""

from numpy cimport NPY_CDOUBLE, NPY_DOUBLE, PyUFunc_FromFuncAndDataAndSignature, PyUFuncGenericFunction, import_ufunc
from dflow._kernels.kernel cimport intp, loop_t
from dflow._kernels.lu cimport copy_matrix
from dflow._base.thread_state cimport loop_raised
from dflow._base.threads cimport out_of_memory
from dflow._base.allocator cimport memory_free, memory_new

from dflow._kernels import openblas     # NumPy is loaded in its environment
from numpy.linalg import _umath_linalg

cdef extern from "Python.h":
    ctypedef struct PyObject

cdef extern from "numpy/ufuncobject.h":
    ctypedef struct UfuncObject "PyUFuncObject":
        loop_t* functions
        void** data

cdef enum:
    REDUCED, COMPLETE, ONLY_R

cdef struct Factoring:
    loop_t factor, form     # Householder's vectors below R, in place, and their factors; and Q of these
    void* factor_data
    void* form_data
    int which, doubles      # in an element

cdef Factoring factorings[3][2]         # of double, of complex
cdef void* datas[3][2]
cdef PyUFuncGenericFunction loops[2]
# For one result, from the second on.
cdef char[6] types = [NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_CDOUBLE, NPY_CDOUBLE, NPY_CDOUBLE]

cdef void copy_triangle(char* to, intp to_row, intp to_column, char* source, intp row_step, intp column_step,
                        intp rows, intp columns, int doubles) noexcept nogil:
    """What is left of the diagonal is zero."""
    cdef intp row, column
    cdef double* x
    copy_matrix(to, to_row, to_column, source, row_step, column_step, rows, columns, doubles)
    for column in range(columns):
        for row in range(column + 1, rows):
            x = <double*>(to + row * to_row + column * to_column)
            x[0] = x[doubles - 1] = 0

cdef void factor_loop(char** args, intp* dims, intp* steps, void* data) noexcept nogil:
    """NumPy's layout of a loop of (m,n)->(m,k),(k,n), (m,n)->(m,m),(m,n) or (m,n)->(k,n)."""
    cdef Factoring* f = <Factoring*>data
    cdef intp m = dims[1], n = dims[2], least = min(m, n), size = 8 * f.doubles, lead = size * m, i
    cdef int outs = 1 if f.which == ONLY_R else 2
    cdef intp* of_a = steps + 1 + outs
    cdef intp* of_q = of_a + 2
    cdef intp* of_r = of_a + 2 * outs
    cdef char* work = <char*>memory_new(lead * n + size * least + 1)
    cdef char* at[3]
    cdef intp part[4]
    cdef intp factor_steps[5]
    cdef intp form_steps[8]
    if work == NULL:
        out_of_memory()
        return
    part[0], part[1], part[2], part[3] = 1, m, n, least
    factor_steps[0], factor_steps[1], factor_steps[2], factor_steps[3], factor_steps[4] = 0, 0, size, lead, size
    form_steps[0], form_steps[1], form_steps[2], form_steps[3], form_steps[4], form_steps[5] = 0, 0, 0, size, lead, size
    form_steps[6], form_steps[7] = of_q[0], of_q[1]
    for i in range(dims[0]):
        at[0], at[1] = work, work + lead * n
        copy_matrix(work, size, lead, args[0] + i * steps[0], of_a[0], of_a[1], m, n, f.doubles)
        f.factor(at, part, factor_steps, f.factor_data)
        if loop_raised():
            break
        if outs == 2:
            at[2] = args[1] + i * steps[1]
            f.form(at, part, form_steps, f.form_data)
        copy_triangle(args[outs] + i * steps[outs], of_r[0], of_r[1], work, size, lead,
                      m if f.which == COMPLETE else least, n, f.doubles)
    memory_free(work)

cdef object factorization(int which, bytes name, bytes signature, form):
    """name, signature: literals, as the ufunc keeps no copy of them."""
    cdef UfuncObject* first
    cdef UfuncObject* second = <UfuncObject*><PyObject*>form
    cdef Factoring* f
    cdef int i, outs = 1 if which == ONLY_R else 2
    raw = getattr(_umath_linalg, "qr_r_raw", None) or _umath_linalg.qr_r_raw_n      # before NumPy 2.1 one of two names
    first = <UfuncObject*><PyObject*>raw
    for i in range(2):
        f = &factorings[which][i]
        f.factor, f.factor_data = <loop_t>first.functions[i], first.data[i]
        f.form, f.form_data = <loop_t>second.functions[i], second.data[i]
        f.which, f.doubles = which, 1 + i
        datas[which][i] = f
        loops[i] = <PyUFuncGenericFunction>factor_loop
    return PyUFunc_FromFuncAndDataAndSignature(loops, datas[which], &types[2 - outs], 2, 1, outs, -1, name, b"", 0,
                                               signature)

import_ufunc()
qr = {"reduced": factorization(REDUCED, b"qr_reduced", b"(m,n)->(m,k),(k,n)", _umath_linalg.qr_reduced),
      "complete": factorization(COMPLETE, b"qr_complete", b"(m,n)->(m,m),(m,n)", _umath_linalg.qr_complete),
      "r": factorization(ONLY_R, b"qr_r", b"(m,n)->(k,n)", _umath_linalg.qr_reduced)}
