"""numpy.typing over dflow arrays: NDArray is theirs, the rest NumPy's."""

from typing import Any, TypeVar

from numpy import dtype as _dtype
from numpy import generic as _generic
from numpy.typing import ArrayLike, DTypeLike

from dflow._array.core import ndarray as _ndarray

__all__ = ["ArrayLike", "DTypeLike", "NDArray"]


def __dir__():
    return sorted(__all__)


_ScalarT = TypeVar("_ScalarT", bound=_generic)
NDArray = _ndarray[tuple[Any, ...], _dtype[_ScalarT]]
