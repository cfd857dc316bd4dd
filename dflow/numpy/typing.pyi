from typing import Any, TypeAlias, TypeVar

from numpy import dtype, generic
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import DTypeLike as DTypeLike

from dflow._array.core import ndarray

__all__ = ["ArrayLike", "DTypeLike", "NDArray"]

_ScalarT = TypeVar("_ScalarT", bound=generic)
NDArray: TypeAlias = ndarray[tuple[Any, ...], dtype[_ScalarT]]
