"""numpy.linalg: NumPy's LAPACK loops as kernels. A singular matrix is found when the work is done, so read raises.

Errors of shape and type raise at the call. A LinAlgError of a matrix's values does where the call runs in its caller or
stands in a `try` (docs/errors.md), else when a result that depends on it is read.
"""

from functools import wraps

import numpy
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.linalg import LinAlgError, _umath_linalg
from numpy.linalg._linalg import EighResult, QRResult, SlogdetResult, SVDResult

from dflow._array.core import array as as_array
from dflow._functions import sorting
from dflow._functions.advanced_indexing import where
from dflow._functions.constructors import empty_like
from dflow._functions.numpy_inline import SMALL, as_scalar
from dflow._functions.placement import follow
from dflow._functions.ufunc import ufunc, wrap_ufunc
from dflow._kernels import blas_library as _blas_library
from dflow._kernels import qr as _qr
from dflow._tracing.tape import is_recording
from dflow.ops import fallback, linear, selection
from dflow.ops.defaults import is_np_array
from dflow.ops.einsum import einsum
from dflow.ops.reductions import add_reduce, any_reduce, maximum_reduce, minimum_reduce
from dflow.ops.table import op as _op
from dflow.ops.table import recorded

_absolute = wrap_ufunc(numpy.absolute)
_copysign = wrap_ufunc(numpy.copysign)
_isnan = wrap_ufunc(numpy.isnan)
_sqrt = wrap_ufunc(numpy.sqrt)


FEW = 256               # elements of matrices that take less time here than a task
# For samples: a matrix whose inverse is far off when it is computed in the precision in which it is given.
SINGLE = "1 / (np.arange(5)[:, None] + np.arange(1, 6)).astype('f4')"


def op(*samples, **keywords):
    """A row of this module."""
    return _op(*samples, module="numpy.linalg", close=True, **keywords)


def _in_blas(function):
    """A function of NumPy's, on its arrays, that calls LAPACK."""
    @wraps(function)
    def within(*args):
        with _blas_library.Caller(sum(map(numpy.size, args))):
            return function(*args)
    return within


_by_lapack = {name: _in_blas(getattr(numpy.linalg, name)) for name in ("eig", "eigvals", "qr", "lstsq")}


def _loop(name, failure=None):
    """A kernel of NumPy's linalg; `failure` is the error that its invalid result means."""
    function = ufunc(getattr(_umath_linalg, name))
    function.failure = failure
    return function


_inv = _loop("inv", b"Singular matrix")
_inv_or_nan = _loop("inv")
_solve = _loop("solve", b"Singular matrix")
_solve1 = _loop("solve1", b"Singular matrix")
_det = _loop("det")
_slogdet = _loop("slogdet")
_cholesky = {upper: _loop(name, b"Matrix is not positive definite")
             for upper, name in ((False, "cholesky_lo"), (True, "cholesky_up"))}
_eigh = {x: _loop(f"eigh_{x}", b"Eigenvalues did not converge") for x in ("lo", "up")}
_eigvalsh = {x: _loop(f"eigvalsh_{x}", b"Eigenvalues did not converge") for x in ("lo", "up")}
# Before NumPy 2.1 there are two of each, for fewer rows than columns and for others.
_svd = {x: [_loop(x if hasattr(_umath_linalg, x) else x.replace("svd", side), b"SVD did not converge")
            for side in ("svd_m", "svd_n")] for x in ("svd", "svd_f", "svd_s")}
_qr = {mode: ufunc(function) for mode, function in _qr.qr.items()}
for _function in _qr.values():
    _function.failure = b"Incorrect argument found while performing QR factorization"


def _computed(loop, *arrays):
    """What a loop makes of the arrays: computed in double precision, as NumPy does, and given in their type."""
    dtype = arrays[0].dtype
    if dtype is not arrays[-1].dtype:
        dtype = numpy.result_type(dtype, arrays[-1].dtype)
        arrays = [x.astype(dtype, copy=False) for x in arrays]
    if dtype.char in "dD":
        return loop(*arrays)
    wide = loop(*[x.astype("D" if dtype.kind == "c" else "d") for x in arrays])
    parts = [x.astype("F" if x.dtype.kind == "c" else "f") for x in (wide if type(wide) is tuple else (wide,))]
    return tuple(parts) if type(wide) is tuple else parts[0]


def _matrices(a, square=False):
    """Arrays of at least two axes, in a type that LAPACK has."""
    a = as_array(a)
    if a.ndim < 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if square:
        *_, m, n = a.shape
        if m != n:
            raise LinAlgError("Last 2 dimensions of the array must be square")
    return _supported(a)


def _supported(a):
    code = a.dtype.char
    if code in "dfDF":
        return a
    if code in "egG":
        raise TypeError(f"array type {a.dtype.name} is unsupported in linalg")
    return a.astype(float)


@op("m", "a", "v", "np.stack([m, m + 1])", "m.astype('f4')", "i[:, :3]", "m * 1j", "m.astype('f2')", "np.zeros((0, 0))",
    SINGLE, SINGLE + " * np.complex64(1j)")
def inv(a):
    """The inverse of square matrices (..., n, n). LinAlgError for a singular one: see the top."""
    return _computed(_inv, _matrices(a, True))


@op("m, v[:3]", "m, a", "np.stack([m, m + 1]), a", "m, v", "a, v", "m, m * 1j", "m.astype('f4'), m",
    "i[:, :3], v[:3]", "v, v", SINGLE + ", np.ones(5, 'f4')", SINGLE + ", np.ones((5, 2), 'c8')")
def solve(a, b):
    """The solution x of a @ x = b: a is (..., n, n), b and x are (n,) or (..., n, k). LinAlgError as for inv()."""
    a, b = _matrices(a, True), _supported(as_array(b))
    return _computed(_solve1 if b.ndim == 1 else _solve, a, b)


@op("m", "a", "np.stack([m, m + 1])", "m.astype('f4')", "i[:, :3]", "m * 1j", "np.ones((2, 2))", "np.zeros((0, 0))",
    SINGLE)
def det(a):
    """The determinant of square matrices (..., n, n): of shape (...)."""
    return _computed(_det, _matrices(a, True))


@op("m", "a", "np.stack([m, m + 1])", "m.astype('f4')", "m * 1j", "np.ones((2, 2))", SINGLE)
def slogdet(a):
    """The sign and the logarithm of the absolute value of the determinant of (..., n, n): each (...)."""
    return SlogdetResult(*_computed(_slogdet, _matrices(a, True)))


@op("m", "m, upper=True", "a", "np.stack([m, m + np.eye(3)])", "m.astype('f4')", SINGLE)
def cholesky(a, /, *, upper=False):
    """The lower, or upper, Cholesky factor of (..., n, n). LinAlgError if not positive definite: see the top."""
    return _computed(_cholesky[bool(upper)], _matrices(a, True))


def _triangle(UPLO):
    UPLO = UPLO.upper()
    if UPLO not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return "lo" if UPLO == "L" else "up"


@op("m", "a", "m, 'U'", "m, 'x'", "np.stack([m, m + np.eye(3)])")
def eigh(a, UPLO="L"):
    """Eigenvalues (..., n), ascending, and eigenvectors (..., n, n), as columns, of Hermitian matrices (..., n, n).

    UPLO: the triangle that is read, "L" or "U"; ValueError for any other.
    """
    return EighResult(*_computed(_eigh[_triangle(UPLO)], _matrices(a, True)))


@op("m", "a", "m, 'U'", "m, 'x'", "np.stack([m, m + np.eye(3)])", SINGLE)
def eigvalsh(a, UPLO="L"):
    """Eigenvalues (..., n), ascending, of Hermitian matrices (..., n, n); UPLO as in eigh()."""
    return _computed(_eigvalsh[_triangle(UPLO)], _matrices(a, True))


@op("m", "np.stack([m, m + np.eye(3)])", "a", "[[0, 1], [-1, 0]]", kind="blocking", small=SMALL)
def eig(a):
    """Eigenvalues (..., n) and right eigenvectors (..., n, n). Waits: the values decide whether they are complex."""
    return fallback.call(_by_lapack["eig"], (_matrices(a, True),), {})


@op("m", "np.stack([m, m + np.eye(3)])", "a", "[[0, 1], [-1, 0]]", kind="blocking", small=SMALL)
def eigvals(a):
    """Eigenvalues (..., n). Waits: the values decide whether they are complex."""
    return fallback.call(_by_lapack["eigvals"], (_matrices(a, True),), {})


@op("m", "a", "a, False", "a, compute_uv=False", "np.stack([a, a + 1]), False", "v",
    "a.astype('f4'), compute_uv=False", "m, hermitian=True", "m - 3 * np.eye(3), True, False, True",
    "a, hermitian=True",
    "np.stack([m, np.diag([1.0, -2, -0.0])]), hermitian=True", "m.astype('f4'), hermitian=True",
    "m * 1j, hermitian=True",
    "np.zeros((0, 0)), hermitian=True", "c, compute_uv=False")
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    """The singular value decomposition of (..., m, n): U, S, Vh, or S alone, descending.

    S is (..., k), k = min(m, n); U is (..., m, m) and Vh (..., n, n), or without full_matrices (..., m, k) and
    (..., k, n). With `hermitian`, square matrices are taken as Hermitian; ones that are not are not found out.
    """
    a = _matrices(a, hermitian)
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    tall = a.shape[-2] >= a.shape[-1]
    if not compute_uv:
        return _computed(_svd["svd"][tall], a)
    return SVDResult(*_computed(_svd["svd_f" if full_matrices else "svd_s"][tall], a))


def _hermitian_svd(a, compute_uv):
    """From the eigenvalues, by magnitude."""
    if not compute_uv:
        return sorting.sort(_absolute(eigvalsh(a)))[..., ::-1]
    s, u = eigh(a)
    signs, s = _copysign(1.0, s), _absolute(s)
    order = sorting.argsort(s)[..., ::-1]
    signs, s, u = (_sorted_by(order if x.ndim == s.ndim else order[..., None, :], x) for x in (signs, s, u))
    return SVDResult(u, s, (u * signs[..., None, :]).conj().swapaxes(-1, -2))


@recorded
def _sorted_by(order, x):
    """take_along_axis() of indices that need no check, and are not waited for."""
    return fallback.task(numpy.take_along_axis, x, order, shape=x.shape, dtype=x.dtype, axis=-1)


@op("m", "a", "np.stack([a, a + 1])", SINGLE)
def svdvals(x, /):
    """The singular values (..., min(m, n)) of matrices (..., m, n), descending."""
    return svd(x, compute_uv=False)


@op("m", "a", "a.T", "a.T, 'complete'", "a, 'r'", "np.stack([a, a + 1])", "a, 'x'", "v", "c", "a.astype('f4')",
    "a.T * 1j", "np.zeros((0, 3))", "np.zeros((3, 0)), 'complete'", "np.stack([a.T, a.T + 1]), 'r'",
    SINGLE, small=FEW)
def qr(a, mode="reduced"):
    """The QR factorization of (..., m, n): Q and R, or with mode 'r' R alone.

    With k = min(m, n) they are (..., m, k) and (..., k, n); with mode 'complete' k = m.
    """
    if mode not in ("reduced", "complete", "r"):
        return fallback.call(_by_lapack["qr"], (a, mode), {})
    a = _matrices(a)
    if mode == "complete" and a.shape[-2] <= a.shape[-1]:
        mode = "reduced"
    found = _computed(_qr[mode], a)
    return found if mode == "r" else QRResult(*found)


@op("a.T, v", "a.T, a.T, None", "a, v", "m, v[:3]", kind="blocking", small=SMALL)
def lstsq(a, b, rcond=None):
    """The least-squares solution of a @ x = b, residuals, rank and singular values.

    Waits: the rank, a number, decides how many residuals there are.
    a is (m, n), b (m,) or (m, k), x (n,) or (n, k).
    """
    copies = fallback.unwrap(a), fallback.unwrap(b)
    x, residuals, rank, s = _by_lapack["lstsq"](*copies, rcond)
    return follow([a, b], (as_array(x), as_array(residuals), as_scalar(as_array(rank)), as_array(s)), lstsq)


@op("a", "m", "np.ones((3, 3))", "m, 1e-3", "np.stack([a, np.zeros((3, 4))])", "a, rtol=0.5", "v",
    "np.zeros((0, 0))")
def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    """How many singular values are above a tolerance; for a vector, whether it is not zero, which waits."""
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    a = as_array(A)
    if a.ndim < 2:
        return int(not (a == 0).all().item())
    s = svd(a, compute_uv=False, hermitian=hermitian)
    if tol is None:
        rtol = max(a.shape[-2:]) * numpy.finfo(s.dtype).eps if rtol is None else as_array(rtol)[..., None]
        tol = rtol * maximum_reduce(s, -1, None, None, True, 0)
    else:
        tol = as_array(tol)[..., None]
    return add_reduce(s > tol, -1, numpy.intp)


@op("a", "a.T", "m", "np.stack([a, a + 1])", "np.ones((3, 2))", "c", "a, 0.5", "a, 0.5, rtol=0.5")
def pinv(a, rcond=None, hermitian=False, *, rtol=numpy._NoValue):
    """The pseudo-inverse (..., n, m) of (..., m, n). Singular values up to rcond times the largest count as zero."""
    a = as_array(a)
    if rcond is not None and rtol is not numpy._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        if rtol is None:
            rtol = max(a.shape[-2:]) * numpy.finfo(a.dtype).eps
        rcond = 1e-15 if rtol is numpy._NoValue else rtol
    if 0 in a.shape[-2:]:
        m, n = a.shape[-2:]
        return as_array(numpy.empty((*a.shape[:-2], n, m), a.dtype))
    u, s, vh = svd(_matrices(a).conj(), False, hermitian=hermitian)
    cutoff = as_array(rcond)[..., None] * maximum_reduce(s, -1, None, None, True)
    large = s > cutoff
    s = where(large, 1 / where(large, s, numpy.ones((), s.dtype)), numpy.zeros((), s.dtype))
    return linear.matmul(vh.swapaxes(-1, -2), s[..., None] * u.swapaxes(-1, -2))


@op("m, 3", "m, 0", "m, -2", "m, 1", "i[:, :3], 5", "a, 2", "m, 2.5", "m, 2", "m, 10")
def matrix_power(a, n):
    """A square matrix to an integer power."""
    import operator
    a = as_array(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        _matrices(a, True)
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError("exponent must be an integer") from error
    if n == 0:
        result = empty_like(a)
        result[...] = numpy.eye(a.shape[-1], dtype=a.dtype)
        return result
    if n < 0:
        a, n = inv(a), -n
    result = None
    while n:
        if n & 1:
            result = a if result is None else linear.matmul(result, a)
        n >>= 1
        a = linear.matmul(a, a) if n else a
    return result


NORMS = ("a", "v", "v, 1", "v, np.inf", "v, -np.inf", "v, 0", "v, 3", "a, 1", "a, -1", "a, np.inf", "a, -np.inf",
    "a, 'fro'", "a, 'nuc'", "a, 2",
         "a, -2", "a, axis=1", "a, 1, axis=0", "f, axis=(0, 2)", "f, 'fro', (1, 2), True", "a, keepdims=True", "i",
         "c", "a, 'x'", "f, 2", "v, 'fro'",
         "a, 5", "a, 2, 1", "f, 2, (0, 1)", "a, axis=(0, 0)", "a, 2.5, 1", "h, axis=0", "a, axis=2.5",
         "e, np.inf", "e, 1", "e, 2", "e[:, 0], np.inf", "e[:, 0], 1")


@op(*NORMS)
def norm(x, ord=None, axis=None, keepdims=False):
    """A norm of vectors (one axis) or matrices (two), or the 2-norm of all elements."""
    x = as_array(x)
    if x.dtype.kind in "iub":
        x = x.astype(float)
    if axis is None:
        if ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1):
            total = _square_sum(x.reshape(-1))
            result = _sqrt(total)
            return result.reshape((1,) * x.ndim) if keepdims else result
        axis = tuple(range(x.ndim))
    elif not isinstance(axis, tuple):
        try:
            axis = (int(axis),)
        except Exception as error:
            raise TypeError("'axis' must be None, an integer or a tuple of integers") from error
    if len(axis) == 1:
        return _vector_norm(x, ord, axis, keepdims)
    if len(axis) == 2:
        return _matrix_norm(x, ord, axis, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def _square_sum(x, axis=None, keepdims=False):
    """The sum of |x| ** 2."""
    plain = axis is None and x.ndim == 1
    if x.dtype.kind == "c":
        if not plain or not x.flags["C_CONTIGUOUS"] or is_recording():
            return add_reduce(x.real ** 2 + x.imag ** 2, axis, None, None, keepdims)
        x = x.view(x.dtype.char.lower())
    if plain:
        return x @ x
    return add_reduce(x * x, axis, None, None, keepdims)


def _vector_norm(x, ord, axis, keepdims):
    if ord is None or ord == 2:
        return _sqrt(_square_sum(x, axis, keepdims))
    if ord == numpy.inf:
        return maximum_reduce(_absolute(x), axis, None, None, keepdims, 0)
    if ord == -numpy.inf:
        return minimum_reduce(_absolute(x), axis, None, None, keepdims)
    if ord == 0:
        return add_reduce((x != 0).astype(x.real.dtype), axis, None, None, keepdims)
    if ord == 1:
        return add_reduce(_absolute(x), axis, None, None, keepdims)
    if isinstance(ord, str):
        if _is_mxnets(ord):
            return _vector_norm(x, float(ord), axis, keepdims)
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    total = add_reduce(_absolute(x) ** ord, axis, None, None, keepdims)
    return total ** numpy.reciprocal(numpy.asarray(ord, total.dtype))


def _is_mxnets(ord):
    """Whether it is the order inf or -inf as MXNet's programs, after npx.set_np(), may spell it."""
    return ord in ("inf", "-inf") and is_np_array()


def _largest(x, axis):
    """The maximum of what is not negative; 0 when there is nothing."""
    return maximum_reduce(x, axis, None, None, False, 0)


def _matrix_norm(x, ord, axis, keepdims):
    row, column = normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    if row == column:
        raise ValueError("Duplicate axes given.")
    if ord in (None, "fro", "f"):
        return _sqrt(_square_sum(x, (row, column), keepdims))
    if ord in (2, -2, "nuc"):
        from dflow.ops.shape import moveaxis
        s = svdvals(moveaxis(x, (row, column), (-2, -1)))
        result = _largest(s, -1) if ord == 2 else (minimum_reduce if ord == -2 else add_reduce)(s, -1)
    elif ord in (1, -1, numpy.inf, -numpy.inf):
        first, second = (row, column) if abs(ord) == 1 else (column, row)
        if second > first:
            second -= 1
        sums = add_reduce(_absolute(x), first)
        result = (_largest if ord > 0 else minimum_reduce)(sums, second)
    elif _is_mxnets(ord):
        return _matrix_norm(x, float(ord), axis, keepdims)
    else:
        raise ValueError("Invalid norm order for matrices.")
    return result.reshape(tuple(1 if k in (row, column) else n for k, n in enumerate(x.shape))) if keepdims else result


@op("a", "a, ord=1", "f, keepdims=True")
def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """The norm of the matrices in the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


@op("a", "a, axis=1", "v, ord=1", "f, axis=(0, 1), keepdims=True")
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The norm of vectors along axes; of all elements without."""
    x = as_array(x)
    if axis is None:
        result = norm(x.reshape(-1), ord, 0)
        return result.reshape((1,) * x.ndim) if keepdims else result
    if isinstance(axis, tuple):
        axes = normalize_axis_tuple(axis, x.ndim)
        rest = [k for k in range(x.ndim) if k not in axes]
        joined = x.transpose([*axes, *rest]).reshape((-1, *[x.shape[k] for k in rest]))
        result = norm(joined, ord, 0)
        return result.reshape(tuple(1 if k in axes else n for k, n in enumerate(x.shape))) if keepdims else result
    return norm(x, ord, axis, keepdims)


def _spoilt(x):
    """Which of the matrices have an element that is not a number."""
    return any_reduce(_isnan(x), (-2, -1), None, None)


_SPOILT_IS_NAN = numpy.lib.NumpyVersion(numpy.__version__) >= "2.5.0"         # the condition of nan; before, an error


@op("m", "m, 1", "m, 'fro'", "np.ones((2, 2))", "np.ones((2, 2)), 1", "a", "a, 1", "m, -2", "m, -np.inf", "e", "v",
    "np.stack([m, np.ones((3, 3)), m * np.nan]), 'fro'", "np.stack([m, m * 0]), 2", "m, 'x'", "m, 3", "m * 1j, 1",
    "m.astype('f4'), 1", "i[:, :3], np.inf", "m * np.nan", "n[:, :3], 1", "m.astype('f2')", small=FEW)
def cond(x, p=None):
    """The condition number (...) of matrices (..., m, n), which but for the norms None, 2 and -2 are square."""
    x = as_array(x)
    if 0 in x.shape[-2:]:
        raise LinAlgError("cond is not defined on empty arrays")
    with numpy.errstate(all="ignore"):
        if p in (None, 2, -2):
            zero = numpy.asarray(0, x.dtype)
            s = svdvals(where(_spoilt(x)[..., None, None], zero, x) if _SPOILT_IS_NAN and x.ndim > 1 else x)
            r = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
        else:
            x = _matrices(x, True)
            r = norm(x, p, (-2, -1)) * norm(_inv_or_nan(x.astype("D" if x.dtype.kind == "c" else "d")), p, (-2, -1))
            r = r.astype(x.real.dtype, copy=False)
    # What is not a number is infinite, unless it comes from elements that are none.
    return as_scalar(where(_isnan(r) & ~_spoilt(x), numpy.asarray(numpy.inf, r.dtype), r))


@op("[a, a.T, a]", "[a, v]", "[v[:3], a, a.T, v[:3]]", "[a]", "[a, a]", small=FEW)
def multi_dot(arrays, *, out=None):
    """The product of matrices (the first and last may be vectors), in the order that costs least."""
    arrays = [as_array(x) for x in arrays]
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(arrays) == 2:
        return linear.dot(*arrays, out)
    ends = arrays[0].ndim, arrays[-1].ndim
    if ends[0] == 1:
        arrays[0] = arrays[0].reshape(1, -1)
    if ends[1] == 1:
        arrays[-1] = arrays[-1].reshape(-1, 1)
    for x in arrays:
        if x.ndim != 2:
            raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    letters = [chr(97 + k) for k in range(len(arrays) + 1)]
    terms = ",".join(letters[k] + letters[k + 1] for k in range(len(arrays)))
    result = einsum(f"{terms}->{letters[0]}{letters[-1]}", *arrays)
    result = result.reshape([n for n, end in ((result.shape[0], ends[0]), (result.shape[1], ends[1])) if end > 1])
    return linear.give(out, result)


@op("np.eye(6).reshape(2, 3, 6), ind=2", "m, 1", "m, 0", small=FEW)
def tensorinv(a, ind=2):
    """The inverse of a tensor as a map from its last axes to its first `ind`."""
    a = as_array(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = a.shape
    n = int(numpy.prod(shape[ind:]))
    return inv(a.reshape(n, -1)).reshape((*shape[ind:], *shape[:ind]))


@op("np.eye(6).reshape(2, 3, 6), np.ones((2, 3))", "m, v[:3]", "m[:1, :1], m[1:2, 1:2]",
    "np.eye(4).reshape(4, 2, 2), np.ones((1, 2, 2, 1))", small=FEW)
def tensorsolve(a, b, axes=None):
    """The solution x of tensordot(a, x, x.ndim) = b."""
    a, b = as_array(a), as_array(b)
    if axes is not None:
        order = [k for k in range(a.ndim) if k not in axes] + list(axes)
        a = a.transpose(order)
    shape = a.shape[-(a.ndim - b.ndim):]                # as NumPy: all of them where there are as many
    n = int(numpy.prod(shape))
    if a.size != n ** 2:
        raise LinAlgError("Input arrays must satisfy the requirement             "      # the gap is NumPy's
                          "prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    return solve(a.reshape(n, n), b.reshape(-1)).reshape(shape)


# -- of the namespace, over the last axes ----------------------------------------------------------

@op("a", "f, offset=1")
def diagonal(x, /, *, offset=0):
    """The diagonal of the last two axes."""
    return selection.diagonal(x, offset, -2, -1)


@op("a", "f, offset=1", "i, dtype='f4'")
def trace(x, /, *, offset=0, dtype=None):
    """The sum along a diagonal of the last two axes."""
    return linear.trace(x, offset, -2, -1, dtype)


@op("v, v", "a, v")
def outer(x1, x2, /):
    """The products of each element of one vector with each of the other."""
    x1, x2 = as_array(x1), as_array(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are x1.ndim={x1.ndim} and x2.ndim={x2.ndim}.")
    return linear.outer(x1, x2)


@op("v[:3], v[1:]", "a, a")
def cross(x1, x2, /, *, axis=-1):
    """The cross product of vectors of length 3."""
    x1, x2 = as_array(x1), as_array(x2)
    if x1.ndim == 0 or x2.ndim == 0 or axis is None:
        return as_array(numpy.linalg.cross(x1.asnumpy(), x2.asnumpy(), axis=axis))      # what its version says
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors, "
                         f"but they are {x1.shape[axis]} and {x2.shape[axis]} dimensional instead.")
    return linear.cross(x1, x2, axis=axis)


@op("a, a.T")
def matmul(x1, x2, /):
    """The matrix product."""
    return linear.matmul(x1, x2)


@op("a, v", "a, a, axis=0")
def vecdot(x1, x2, /, *, axis=-1):
    """The dot products of vectors along an axis."""
    return linear.vecdot(x1, x2) if axis == -1 else linear.vecdot(x1, x2, axis=axis)


@op("f, f", "a, a, axes=2")
def tensordot(x1, x2, /, *, axes=2):
    """The sum over pairs of axes."""
    return linear.tensordot(x1, x2, axes)


@op("a", "v")
def matrix_transpose(x, /):
    """The last two axes swapped."""
    x = as_array(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return x.swapaxes(-1, -2)
