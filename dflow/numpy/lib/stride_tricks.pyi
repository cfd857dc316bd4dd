from typing import Any, SupportsIndex

from numpy.typing import ArrayLike

from dflow._array.core import ndarray

def as_strided(
    x: ArrayLike, shape: tuple[int, ...] | None = None, strides: tuple[int, ...] | None = None, subok: bool = False,
    writeable: bool = True,
) -> ndarray[Any, Any]: ...
def sliding_window_view(
    x: ArrayLike, window_shape: int | tuple[int, ...], axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, *,
    subok: bool = False, writeable: bool = False,
) -> ndarray[Any, Any]: ...
