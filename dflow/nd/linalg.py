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
    """The product of matrices, alpha * A @ B; either may be transposed first.

    Parameters
    ----------
    A : ndarray
        Matrices, of shape (..., n, k), and a floating point dtype.
    B : ndarray
        Matrices, of shape (..., k, m).
    transpose_a, transpose_b : bool
        Take the transposed matrices of A, or of B. Default False.
    alpha : float
        What the product is multiplied by. Default 1.

    Returns
    -------
    ndarray
        Of shape (..., n, m).

    Examples
    --------
    >>> A = nd.array([[1, 2], [3, 4]])
    >>> print(nd.linalg.gemm2(A, A))
    [[ 7. 10.]
     [15. 22.]]
    >>> print(nd.linalg.gemm2(A, A, transpose_b=True, alpha=2))
    [[10. 22.]
     [22. 50.]]
    """
    product = _turned(as_array(A), transpose_a) @ _turned(as_array(B), transpose_b)
    return product if alpha == 1 else alpha * product


def gemm(A, B, C, transpose_a=False, transpose_b=False, alpha=1.0, beta=1.0):
    """The product of matrices and a matrix more: alpha * A @ B + beta * C.

    Parameters
    ----------
    A : ndarray
        Matrices, of shape (..., n, k), and a floating point dtype.
    B : ndarray
        Matrices, of shape (..., k, m).
    C : ndarray
        Of shape (..., n, m), or one that broadcasts.
    transpose_a, transpose_b : bool
        Take the transposed matrices of A, or of B. Default False.
    alpha : float
        What the product is multiplied by. Default 1.
    beta : float
        What C is multiplied by. Default 1.

    Returns
    -------
    ndarray
        Of shape (..., n, m).

    Examples
    --------
    >>> A, C = nd.array([[1, 2], [3, 4]]), nd.ones((2, 2))
    >>> print(nd.linalg.gemm(A, A, C, beta=10))
    [[17. 20.]
     [25. 32.]]
    """
    return gemm2(A, B, transpose_a, transpose_b, alpha) + beta * as_array(C)


def syrk(A, transpose=False, alpha=1.0):
    """The product of matrices and their transposed ones: alpha * A @ A.mT, or alpha * A.mT @ A.

    Parameters
    ----------
    A : ndarray
        Matrices, of shape (..., n, k), and a floating point dtype.
    transpose : bool
        A.mT @ A. Default False.
    alpha : float
        What the product is multiplied by. Default 1.

    Returns
    -------
    ndarray
        Of shape (..., n, n), or with transpose (..., k, k).

    Examples
    --------
    >>> A = nd.array([[1, 2, 3]])
    >>> print(nd.linalg.syrk(A))
    [[14.]]
    >>> nd.linalg.syrk(A, transpose=True).shape
    (3, 3)
    """
    return gemm2(A, A, transpose, not transpose, alpha)


def potrf(A):
    """The lower Cholesky factor: L of A = L @ L.mT.

    Parameters
    ----------
    A : ndarray
        Symmetric, positive definite matrices, of shape (..., n, n); the lower triangle counts.

    Returns
    -------
    ndarray
        Of A's shape, zeros above the diagonal.

    Raises
    ------
    LinAlgError
        On reading, for a matrix that is not positive definite.

    Examples
    --------
    >>> print(nd.linalg.potrf(nd.array([[4, 2], [2, 5]])))
    [[2. 0.]
     [1. 2.]]
    """
    return np.linalg.cholesky(A)


def potri(A):
    """The inverse of the matrix whose lower Cholesky factor is A: of A @ A.mT.

    Parameters
    ----------
    A : ndarray
        Lower triangular matrices, of shape (..., n, n), as potrf() gives them.

    Returns
    -------
    ndarray
        Of A's shape.

    Raises
    ------
    LinAlgError
        On reading, for a matrix with a zero on its diagonal.

    Examples
    --------
    >>> B = nd.array([[4, 0], [0, 2]])
    >>> print(nd.linalg.potri(nd.linalg.potrf(B)).round(4))
    [[0.25 0.  ]
     [0.   0.5 ]]
    """
    inverse = np.linalg.inv(np.tril(A))
    return inverse.mT @ inverse


def _triangle(A, lower, transpose):
    return _turned(np.tril(A) if lower else np.triu(A), transpose)


def trmm(A, B, transpose=False, rightside=False, lower=True, alpha=1.0):
    """The product of a triangle and a matrix: alpha * A @ B, or with rightside alpha * B @ A.

    Parameters
    ----------
    A : ndarray
        Triangular matrices, of shape (..., n, n); the other triangle does not count.
    B : ndarray
        Matrices, of shape (..., n, m), or with rightside (..., m, n).
    transpose : bool
        Take the transposed triangle. Default False.
    rightside : bool
        A is on the right. Default False.
    lower : bool
        The lower triangle of A counts, else the upper one. Default True.
    alpha : float
        What the product is multiplied by. Default 1.

    Returns
    -------
    ndarray
        Of B's shape.

    Examples
    --------
    >>> A, B = nd.array([[1, 9], [2, 3]]), nd.array([[1, 0], [0, 1]])
    >>> print(nd.linalg.trmm(A, B))
    [[1. 0.]
     [2. 3.]]
    >>> print(nd.linalg.trmm(A, B, lower=False, alpha=2))
    [[ 2. 18.]
     [ 0.  6.]]
    """
    A = _triangle(A, lower, transpose)
    return alpha * (B @ A if rightside else A @ B)


def trsm(A, B, transpose=False, rightside=False, lower=True, alpha=1.0):
    """The solution X of A @ X = alpha * B with a triangle, or with rightside of X @ A = alpha * B.

    Parameters
    ----------
    A : ndarray
        Triangular matrices, of shape (..., n, n); the other triangle does not count.
    B : ndarray
        Matrices, of shape (..., n, m), or with rightside (..., m, n).
    transpose : bool
        Take the transposed triangle. Default False.
    rightside : bool
        A is on the right. Default False.
    lower : bool
        The lower triangle of A counts, else the upper one. Default True.
    alpha : float
        What B is multiplied by. Default 1.

    Returns
    -------
    ndarray
        Of B's shape.

    Raises
    ------
    LinAlgError
        On reading, for a triangle with a zero on its diagonal.

    Examples
    --------
    >>> A, B = nd.array([[2, 9], [0, 4]]), nd.array([[2], [4]])
    >>> print(nd.linalg.trsm(A, B))
    [[1.]
     [1.]]
    """
    A, B = _triangle(A, lower, transpose), alpha * as_array(B)
    return np.linalg.solve(A.mT, B.mT).mT if rightside else np.linalg.solve(A, B)


def sumlogdiag(A):
    """The sum of the natural logarithms of the elements on the diagonal.

    Parameters
    ----------
    A : ndarray
        Matrices, of shape (..., n, n), and a floating point dtype.

    Returns
    -------
    ndarray
        Of A's shape without the last two axes.

    Examples
    --------
    >>> print(nd.linalg.sumlogdiag(nd.array([[1, 9], [9, 1]])))
    0.0
    """
    return np.log(extractdiag(A)).sum(-1)


def extractdiag(A, offset=0):
    """The elements on a diagonal of matrices.

    Parameters
    ----------
    A : ndarray
        Matrices, of shape (..., n, m).
    offset : int
        Which diagonal: above the main one, or below if negative. Default 0.

    Returns
    -------
    ndarray
        A view, with the diagonal as its last axis.

    Examples
    --------
    >>> A = nd.array([[1, 2], [3, 4]])
    >>> print(nd.linalg.extractdiag(A), nd.linalg.extractdiag(A, offset=1))
    [1. 4.] [2.]
    """
    return np.diagonal(as_array(A), offset, -2, -1)


def makediag(A, offset=0):
    """Matrices of zeros that have the last axis of an array on a diagonal.

    Parameters
    ----------
    A : ndarray
        Of shape (..., n).
    offset : int
        Which diagonal: above the main one, or below if negative. Default 0.

    Returns
    -------
    ndarray
        Of shape (..., n + abs(offset), n + abs(offset)), and A's dtype.

    Examples
    --------
    >>> print(nd.linalg.makediag(nd.array([1, 2])))
    [[1. 0.]
     [0. 2.]]
    >>> nd.linalg.makediag(nd.array([1, 2]), offset=-1).shape
    (3, 3)
    """
    A = as_array(A)
    n, places = A.shape[-1] + abs(offset), np.arange(A.shape[-1])
    result = np.zeros((*A.shape[:-1], n, n), A.dtype)
    result[..., places + max(-offset, 0), places + max(offset, 0)] = A
    return result


def inverse(A):
    """The inverse of each matrix.

    Parameters
    ----------
    A : ndarray
        Matrices, of shape (..., n, n), and a floating point dtype.

    Returns
    -------
    ndarray
        Of A's shape.

    Raises
    ------
    LinAlgError
        On reading, for a singular matrix.

    Examples
    --------
    >>> print(nd.linalg.inverse(nd.array([[2, 0], [0, 4]])))
    [[0.5  0.  ]
     [0.   0.25]]
    """
    return np.linalg.inv(A)


def det(A):
    """The determinant of each matrix.

    Parameters
    ----------
    A : ndarray
        Matrices, of shape (..., n, n), and a floating point dtype.

    Returns
    -------
    ndarray
        Of A's shape without the last two axes.

    Examples
    --------
    >>> print(nd.linalg.det(nd.array([[2, 0], [0, 4]])))
    8.0
    """
    return np.linalg.det(A)


def slogdet(A):
    """The sign of each determinant, and the logarithm of its absolute value.

    Parameters
    ----------
    A : ndarray
        Matrices, of shape (..., n, n), and a floating point dtype.

    Returns
    -------
    tuple of ndarray
        Sign and logarithm, each of A's shape without the last two axes.

    Examples
    --------
    >>> sign, logarithm = nd.linalg.slogdet(nd.array([[0, 1], [1, 0]]))
    >>> print(sign, logarithm)
    -1.0 0.0
    """
    sign, logarithm = np.linalg.slogdet(A)
    return sign, logarithm
