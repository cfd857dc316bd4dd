"""Gradients of linear algebra: of the loops behind `dflow.numpy.linalg`, for stacks of matrices, and of its functions.

Source: M. Giles, An extended collection of matrix derivative results (2008). Eigenvectors and singular vectors are
unique up to a sign; their gradients are right where values do not coincide.
"""

from numpy.linalg import _umath_linalg

from dflow import numpy as np
from dflow._tracing import tape
from dflow._tracing.tape import Rule, add_form, add_rule
from dflow.gradients import bare, conjugate, recorded_as
from dflow.ops import linalg
from dflow.ops.linalg import QRResult


def of_loop(name, slots, *gradients, joint=None, over_complex="own"):
    add_rule(getattr(_umath_linalg, name), Rule(name, slots, gradients, joint, (), over_complex))


def of_function(function, slots, *gradients, joint=None):
    add_rule(bare(function), Rule(function.__name__, slots, gradients, joint, (None,) * len(slots), "own"))


def _t(x):
    return np.swapaxes(x, -1, -2)


def _h(x):
    """The conjugate transpose."""
    return _t(conjugate(x))


def _column(x):
    return np.expand_dims(x, -1)


def _square(x):
    return x[..., None, None]


def _of_solved(g, a, ans):
    """By the matrix a, of ans = solve(a, b)."""
    return -np.matmul(np.linalg.solve(_t(a), g), _t(ans))


def _of_solved_vector(g, a, ans):
    return -_column(np.linalg.solve(_t(a), _column(g))[..., 0]) * np.expand_dims(ans, -2)


def _of_slogdet(g, a, ans):
    """Of real matrices the sign is constant, but for jumps."""
    along = None if g[1] is None else g[1]
    if g[0] is not None and a.dtype.kind == "c":
        turn = (g[0] * np.conjugate(ans[0])).imag * 1j
        along = turn if along is None else along + turn
    return (None if along is None else _square(along) * _h(np.linalg.inv(a)),)


def _halved(x):
    """The lower triangle, with half of the diagonal."""
    return np.tril(x) - 0.5 * np.eye(x.shape[-1], dtype=x.dtype) * x


def _of_lower(g, ans):
    """By a, of its Cholesky factor: symmetric, as a is."""
    inverse = np.linalg.inv(ans)
    inner = np.matmul(np.matmul(_h(inverse), _halved(np.matmul(_h(ans), g))), inverse)
    return 0.5 * (inner + _h(inner))


def _gaps(w):
    """1 / (w_j - w_i), 0 on the diagonal."""
    eye = np.eye(w.shape[-1], dtype=w.dtype)
    return (1 - eye) / (np.expand_dims(w, -2) - _column(w) + eye)


def _of_eigh(g, ans):
    w, v = ans
    inner = 0 if g[0] is None else _column(g[0]) * np.eye(w.shape[-1], dtype=w.dtype)
    if g[1] is not None:
        inner = inner + _gaps(w) * np.matmul(_h(v), g[1])
    inner = np.matmul(np.matmul(v, inner), _h(v))
    return (0.5 * (inner + _h(inner)),)


def _of_eigvalsh(g, a):
    v = np.linalg.eigh(a)[1]
    return np.matmul(v * np.expand_dims(g, -2), _h(v))


def _of_eig(g, ans):
    """Of eigenvectors as LAPACK has them, of length 1. Complex where eigenvalues are."""
    w, v = ans
    eye = np.eye(w.shape[-1], dtype=v.dtype)
    inner = 0 if g[0] is None else _column(g[0]) * eye
    if g[1] is not None:
        part = np.matmul(_h(v), g[1])
        along = np.sum(part * eye, -2, keepdims=True).real
        inner = inner + (part - np.matmul(_h(v), v) * along) * conjugate(_gaps(w))
    return (np.matmul(np.linalg.solve(_h(v), inner), _h(v)),)


def _of_svd(g, ans):
    """u (m, k), s (k), vh (k, n): what is not in their space has a term of its own.

    Full matrices have more columns in u, or rows in vh: any that complete a basis. They turn as the others make them,
    not among themselves, which is right for what depends on their space alone.
    """
    u, s, vh = ans
    gu, gs, gv = g
    k, found = s.shape[-1], 0
    if u.shape[-1] > k:
        u, others = u[..., :k], u[..., k:]
        if gu is not None:
            gu, beyond = gu[..., :k], gu[..., k:]
            found = -np.matmul(others, np.matmul(np.matmul(_h(beyond), u / np.expand_dims(s, -2)), vh))
    if vh.shape[-2] > k:
        vh, others = vh[..., :k, :], vh[..., k:, :]
        if gv is not None:
            gv, beyond = gv[..., :k, :], gv[..., k:, :]
            found = -np.matmul(u, np.matmul(np.matmul(vh / _column(s), _h(beyond)), others))
    v, eye = _h(vh), np.eye(k, dtype=s.dtype)
    f = _gaps(s * s)
    inner = 0 if gs is None else _column(gs) * eye
    if gu is not None:
        part = np.matmul(_h(u), gu)
        inner = inner + _symmetric(f * part) * np.expand_dims(s, -2)
        if u.dtype.kind == "c":             # the phases
            inner = inner + 1j * part.imag * eye / _column(s)
        if u.shape[-2] > k:
            outside = gu / np.expand_dims(s, -2)
            found = found + np.matmul(outside - np.matmul(u, np.matmul(_h(u), outside)), vh)
    if gv is not None:
        inner = inner + _column(s) * _symmetric(f * np.matmul(vh, _h(gv)))
        if v.shape[-2] > k:
            outside = gv / _column(s)
            found = found + np.matmul(u, outside - np.matmul(np.matmul(outside, v), vh))
    return (np.matmul(np.matmul(u, inner), vh) + found,)


def _symmetric(x):
    return x + _h(x)


def _of_qr(g, ans):
    q, r = ans
    if q.shape[-2] < q.shape[-1] or q.shape[-1] > r.shape[-1]:
        raise NotImplementedError("qr(mode='complete') of a matrix that is not square has no gradient")
    inner = 0 if g[1] is None else np.matmul(r, _h(g[1]))
    if g[0] is not None:
        inner = inner - np.matmul(_h(g[0]), q)
    lower = np.tril(inner, -1)
    diagonal = inner.real * np.eye(r.shape[-1], dtype=r.real.dtype)
    found = np.matmul(q, lower + _h(lower) + diagonal)
    found = found if g[0] is None else found + g[0]
    return (_h(np.linalg.solve(r, _h(found))),)


_factors = bare(np.linalg.qr)


@recorded_as(np.linalg.qr)
def _qr(a, mode="reduced"):
    """Of a wide matrix, Q and the left part of R follow from the first columns."""
    n, wide = a.shape[-1], a.shape[-2] < a.shape[-1]
    q, r = _qr_of_tall(a[..., :a.shape[-2]] if wide else a, "reduced" if mode == "r" or wide else mode)
    if wide:
        r = np.concatenate([r, np.matmul(_h(q), a[..., a.shape[-2]:n])], -1)
    return r if mode == "r" else QRResult(q, r)


@linalg.recorded
def _qr_of_tall(a, mode):
    return _factors(a, mode)


_pinv = bare(np.linalg.pinv)


@linalg.recorded
def _whole_pinv(a):
    return _pinv(a)


@recorded_as(np.linalg.pinv)
def _recorded_pinv(a, *rest, **keywords):
    """Where small singular values may be cut off, by the singular value decomposition."""
    return _pinv(a, *rest, **keywords) if rest or keywords else _whole_pinv(a)


def _of_pinv(g, a, ans):
    """G. H. Golub and V. Pereyra (1973): of the pseudo-inverse, while the rank stays as it is."""
    left = g - np.matmul(ans, np.matmul(a, g))
    right = _h(g) - np.matmul(a, np.matmul(ans, _h(g)))
    return (-np.matmul(np.matmul(_h(ans), g), _h(ans)) + np.matmul(np.matmul(right, ans), _h(ans))
            + np.matmul(_h(ans), np.matmul(ans, _h(left))))


@recorded_as(np.linalg.lstsq)
def _lstsq(a, b, rcond=None):
    """By the pseudo-inverse, which is differentiable."""
    a, b = np.asarray(a), np.asarray(b)
    _, residuals, rank, s = bare(np.linalg.lstsq)(tape.detach(a), tape.detach(b), rcond)
    cutoff = [] if rank == min(a.shape) else [max(a.shape) * np.finfo(s.dtype).eps if rcond is None else rcond]
    x = np.matmul(np.linalg.pinv(a, *cutoff), b)
    if residuals.size:
        rest = b - np.matmul(a, x)
        residuals = np.sum((rest * conjugate(rest)).real, 0)
        residuals = residuals if residuals.ndim else residuals.reshape(1)
    return x, residuals, rank, np.linalg.svdvals(a)


@recorded_as(np.linalg.eigvals)
def _eigvals(a):
    return np.linalg.eig(a)[0]


def _of_singular_values(g, a):
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return np.matmul(u * np.expand_dims(g, -2), vh)


of_loop("inv", "a", lambda g, ans: -np.matmul(np.matmul(_t(ans), g), _t(ans)), over_complex="conjugate")
of_loop("solve", "ab", _of_solved, lambda g, a: np.linalg.solve(_t(a), g), over_complex="conjugate")
of_loop("solve1", "ab", _of_solved_vector, lambda g, a: np.linalg.solve(_t(a), _column(g))[..., 0],
        over_complex="conjugate")
of_loop("det", "a", lambda g, a, ans: _square(g * ans) * _t(np.linalg.inv(a)), over_complex="conjugate")
of_loop("slogdet", "a", joint=_of_slogdet)
of_loop("cholesky_lo", "a", _of_lower)
of_loop("cholesky_up", "a", lambda g, ans: _of_lower(_h(g), _h(ans)))
for _name in ("eigh_lo", "eigh_up"):
    of_loop(_name, "a", joint=_of_eigh)
for _name in ("eigvalsh_lo", "eigvalsh_up"):
    of_loop(_name, "a", _of_eigvalsh)
for _name in ("svd_f", "svd_s", "svd_m_f", "svd_n_f", "svd_m_s", "svd_n_s"):
    if hasattr(_umath_linalg, _name):
        of_loop(_name, "a", joint=_of_svd)
for _name in ("svd", "svd_m", "svd_n"):
    if hasattr(_umath_linalg, _name):
        of_loop(_name, "a", _of_singular_values)
of_function(np.linalg.eig, "a", joint=_of_eig)
add_rule(bare(_whole_pinv), Rule("pinv", "a", (_of_pinv,), over_complex="own"))
add_rule(bare(_qr_of_tall), Rule("qr", ("a", "mode"), (), _of_qr, (), "own"))
add_form(bare(linalg._sorted_by), lambda order, x: np.take_along_axis(x, order, -1))
for _function in (np.linalg.norm, np.linalg.matrix_power):      # some are constant
    add_form(bare(_function), bare(_function))
