"""Gradients of linear algebra: of the loops behind `dflow.numpy.linalg`, for stacks of matrices.

Source: M. Giles, An extended collection of matrix derivative results (2008). Eigenvectors and singular vectors are
unique up to a sign; their gradients are right where values do not coincide.
"""

from numpy.linalg import _umath_linalg

from dflow import numpy as np
from dflow._tape import Rule, add_rule


def of_loop(name, slots, *gradients, joint=None):
    add_rule(getattr(_umath_linalg, name), Rule(name, slots, gradients, joint))


def _t(x):
    return np.swapaxes(x, -1, -2)


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
    return (None if g[1] is None else _square(g[1]) * _t(np.linalg.inv(a)),)


def _halved(x):
    """The lower triangle, with half of the diagonal."""
    return np.tril(x) - 0.5 * np.eye(x.shape[-1], dtype=x.dtype) * x


def _of_lower(g, ans):
    """By a, of its Cholesky factor: symmetric, as a is."""
    inverse = np.linalg.inv(ans)
    inner = np.matmul(np.matmul(_t(inverse), _halved(np.matmul(_t(ans), g))), inverse)
    return 0.5 * (inner + _t(inner))


def _gaps(w):
    """1 / (w_j - w_i), 0 on the diagonal."""
    eye = np.eye(w.shape[-1], dtype=w.dtype)
    return (1 - eye) / (np.expand_dims(w, -2) - _column(w) + eye)


def _of_eigh(g, ans):
    w, v = ans
    inner = 0 if g[0] is None else _column(g[0]) * np.eye(w.shape[-1], dtype=w.dtype)
    if g[1] is not None:
        inner = inner + _gaps(w) * np.matmul(_t(v), g[1])
    inner = np.matmul(np.matmul(v, inner), _t(v))
    return (0.5 * (inner + _t(inner)),)


def _of_eigvalsh(g, a):
    v = np.linalg.eigh(a)[1]
    return np.matmul(v * np.expand_dims(g, -2), _t(v))


def _of_svd(g, ans):
    """Thin, or of a square matrix: u (m, k), s (k), vh (k, n). What is not in their space has a term of its own."""
    u, s, vh = ans
    gu, gs, gv = g
    k = s.shape[-1]
    if u.shape[-1] != k or vh.shape[-2] != k:
        raise NotImplementedError("svd(full_matrices=True) of a matrix that is not square has no gradient")
    v, eye = _t(vh), np.eye(k, dtype=s.dtype)
    f = _gaps(s * s)
    inner = 0 if gs is None else _column(gs) * eye
    found = 0
    if gu is not None:
        inner = inner + _symmetric(f * np.matmul(_t(u), gu)) * np.expand_dims(s, -2)
        if u.shape[-2] > k:
            outside = gu / np.expand_dims(s, -2)
            found = np.matmul(outside - np.matmul(u, np.matmul(_t(u), outside)), vh)
    if gv is not None:
        inner = inner + _column(s) * _symmetric(f * np.matmul(vh, _t(gv)))
        if v.shape[-2] > k:
            outside = gv / _column(s)
            found = found + np.matmul(u, outside - np.matmul(np.matmul(outside, v), vh))
    return (np.matmul(np.matmul(u, inner), vh) + found,)


def _symmetric(x):
    return x + _t(x)


def _of_singular_values(g, a):
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return np.matmul(u * np.expand_dims(g, -2), vh)


of_loop("inv", "a", lambda g, ans: -np.matmul(np.matmul(_t(ans), g), _t(ans)))
of_loop("solve", "ab", _of_solved, lambda g, a: np.linalg.solve(_t(a), g))
of_loop("solve1", "ab", _of_solved_vector, lambda g, a: np.linalg.solve(_t(a), _column(g))[..., 0])
of_loop("det", "a", lambda g, a, ans: _square(g * ans) * _t(np.linalg.inv(a)))
of_loop("slogdet", "a", joint=_of_slogdet)
of_loop("cholesky_lo", "a", _of_lower)
of_loop("cholesky_up", "a", lambda g, ans: _of_lower(_t(g), _t(ans)))
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
