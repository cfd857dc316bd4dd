from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, SupportsIndex

from numpy.lib.format import *  # noqa: F403
from numpy.lib.format import __all__ as __all__
from numpy.typing import DTypeLike

from dflow.numpy import memmap

def open_memmap(
    filename: str | PathLike[str], mode: Literal["r", "r+", "w+", "c"] = "r+", dtype: DTypeLike | None = None,
    shape: SupportsIndex | Sequence[SupportsIndex] | None = None, fortran_order: bool = False,
    version: tuple[int, int] | None = None, *, max_header_size: int = 10_000,
) -> memmap[Any, Any]: ...
