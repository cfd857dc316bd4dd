"""The type of dflow's universal functions."""

from typing import Any, Generic, Literal, TypeAlias, overload

from numpy import ufunc as _numpy_ufunc
from numpy.typing import ArrayLike
from typing_extensions import TypeVar

from dflow._array.core import _Axes, _Casting, _DType, _Order, _Out, ndarray

_NIn_co = TypeVar("_NIn_co", bound=int, default=Any, covariant=True)
_Result_co = TypeVar("_Result_co", default=Any, covariant=True)

_Types: TypeAlias = str | tuple[_DType, ...] | None

class ufunc(Generic[_NIn_co, _Result_co]):
    """A universal function of so many inputs that returns that. Waits for the indices of `at` and `reduceat`."""

    def __init__(self, numpy_ufunc: _numpy_ufunc) -> None: ...
    @property
    def numpy(self) -> _numpy_ufunc: ...
    @property
    def __name__(self) -> str: ...
    @property
    def nin(self) -> _NIn_co: ...
    @property
    def nout(self) -> int: ...
    @property
    def nargs(self) -> int: ...
    @property
    def ntypes(self) -> int: ...
    @property
    def types(self) -> list[str]: ...
    @property
    def identity(self) -> Any: ...
    @property
    def signature(self) -> str | None: ...
    @overload
    def __call__(
        self: ufunc[Literal[1], _Result_co], x: ArrayLike, /, *outs: _Out, out: _Out | tuple[_Out, ...] = None,
        where: ArrayLike = True, casting: _Casting = "same_kind", order: _Order = "K", dtype: _DType = None,
        subok: bool = True, signature: _Types = None,
    ) -> _Result_co: ...
    @overload       # axes, axis and keepdims: of matmul and its like
    def __call__(
        self: ufunc[Literal[2], _Result_co], x1: ArrayLike, x2: ArrayLike, /, *outs: _Out,
        out: _Out | tuple[_Out, ...] = None, where: ArrayLike = True, casting: _Casting = "same_kind",
        order: _Order = "K", dtype: _DType = None, subok: bool = True, signature: _Types = None, axes: Any = None,
        axis: int | None = None, keepdims: bool = False,
    ) -> _Result_co: ...
    def reduce(
        self: ufunc[Literal[2], _Result_co], array: ArrayLike, axis: _Axes = 0, dtype: _DType = None, out: _Out = None,
        keepdims: bool = False, initial: ArrayLike | None = ..., where: ArrayLike = True,
    ) -> _Result_co: ...
    def accumulate(
        self: ufunc[Literal[2], _Result_co], array: ArrayLike, axis: int = 0, dtype: _DType = None, out: _Out = None,
    ) -> _Result_co: ...
    def reduceat(
        self: ufunc[Literal[2], _Result_co], array: ArrayLike, indices: ArrayLike, axis: int = 0, dtype: _DType = None,
        out: _Out = None,
    ) -> _Result_co: ...
    def outer(self: ufunc[Literal[2], _Result_co], a: ArrayLike, b: ArrayLike, **keywords: Any) -> _Result_co: ...
    def at(self, a: ndarray, indices: ArrayLike | tuple[ArrayLike, ...], b: ArrayLike | None = None) -> None: ...

_Unary: TypeAlias = ufunc[Literal[1], ndarray]
_Binary: TypeAlias = ufunc[Literal[2], ndarray]
