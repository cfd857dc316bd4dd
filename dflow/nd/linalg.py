"""Linear algebra of MXNet 1 over stacks of matrices, which lie along the last two axes."""

from dflow import numpy as np
from dflow._array.core import array as as_array
from dflow._base.missing import missing

__all__ = ["det", "extractdiag", "gemm", "gemm2", "inverse", "makediag", "potrf", "potri", "slogdet", "sumlogdiag",
           "syrk", "trmm", "trsm"]

__getattr__ = missing(__name__, "extracttrian gelqf maketrian syevd")


def __dir__():
    return sorted(__all__)


def _turned(x, turn):
    return x.mT if turn else x


def gemm2(A, B, transpose_a=False, transpose_b=False, alpha=1.0):
    """alpha * A @ B, either transposed first if asked for."""
    product = _turned(as_array(A), transpose_a) @ _turned(as_array(B), transpose_b)
    return product if alpha == 1 else alpha * product


def gemm(A, B, C, transpose_a=False, transpose_b=False, alpha=1.0, beta=1.0):
    """alpha * A @ B + beta * C."""
    return gemm2(A, B, transpose_a, transpose_b, alpha) + beta * as_array(C)


def syrk(A, transpose=False, alpha=1.0):
    """alpha * A @ A.mT, or alpha * A.mT @ A."""
    return gemm2(A, A, transpose, not transpose, alpha)


def potrf(A):
    """The lower Cholesky factor."""
    return np.linalg.cholesky(A)


def potri(A):
    """The inverse of B, of which A is the lower Cholesky factor."""
    inverse = np.linalg.inv(np.tril(A))
    return inverse.mT @ inverse


def _triangle(A, lower, transpose):
    return _turned(np.tril(A) if lower else np.triu(A), transpose)


def trmm(A, B, transpose=False, rightside=False, lower=True, alpha=1.0):
    """alpha * A @ B, or B @ A, of the triangle of A."""
    A = _triangle(A, lower, transpose)
    return alpha * (B @ A if rightside else A @ B)


def trsm(A, B, transpose=False, rightside=False, lower=True, alpha=1.0):
    """X of A @ X = alpha * B, or X @ A = alpha * B, of the triangle of A."""
    A, B = _triangle(A, lower, transpose), alpha * as_array(B)
    return np.linalg.solve(A.mT, B.mT).mT if rightside else np.linalg.solve(A, B)


def sumlogdiag(A):
    """The sum of the logarithms of the diagonal."""
    return np.log(extractdiag(A)).sum(-1)


def extractdiag(A, offset=0):
    """A diagonal, as the last axis."""
    return np.diagonal(as_array(A), offset, -2, -1)


def makediag(A, offset=0):
    """Matrices of zeros with the last axis along a diagonal."""
    A = as_array(A)
    n, places = A.shape[-1] + abs(offset), np.arange(A.shape[-1])
    result = np.zeros((*A.shape[:-1], n, n), A.dtype)
    result[..., places + max(-offset, 0), places + max(offset, 0)] = A
    return result


def inverse(A):
    """The inverse."""
    return np.linalg.inv(A)


def det(A):
    """The determinant."""
    return np.linalg.det(A)


def slogdet(A):
    """The sign of the determinant, and the logarithm of its absolute value."""
    sign, logarithm = np.linalg.slogdet(A)
    return sign, logarithm
