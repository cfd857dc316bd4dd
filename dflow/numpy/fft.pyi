from collections.abc import Sequence
from typing import Literal, SupportsIndex, TypeAlias

from numpy.fft import __all__ as __all__
from numpy.typing import ArrayLike

from dflow._array.core import _Device, _Out, _Shape, ndarray

_Norm: TypeAlias = Literal["backward", "ortho", "forward"] | None

def fft(
    a: ArrayLike, n: int | None = None, axis: SupportsIndex = -1, norm: _Norm = None, out: _Out = None,
) -> ndarray: ...
def ifft(
    a: ArrayLike, n: int | None = None, axis: SupportsIndex = -1, norm: _Norm = None, out: _Out = None,
) -> ndarray: ...
def rfft(
    a: ArrayLike, n: int | None = None, axis: SupportsIndex = -1, norm: _Norm = None, out: _Out = None,
) -> ndarray: ...
def irfft(
    a: ArrayLike, n: int | None = None, axis: SupportsIndex = -1, norm: _Norm = None, out: _Out = None,
) -> ndarray: ...
def hfft(
    a: ArrayLike, n: int | None = None, axis: SupportsIndex = -1, norm: _Norm = None, out: _Out = None,
) -> ndarray: ...
def ihfft(
    a: ArrayLike, n: int | None = None, axis: SupportsIndex = -1, norm: _Norm = None, out: _Out = None,
) -> ndarray: ...
def fft2(
    a: ArrayLike, s: _Shape | None = None, axes: Sequence[int] | None = (-2, -1), norm: _Norm = None,
    out: _Out = None,
) -> ndarray: ...
def ifft2(
    a: ArrayLike, s: _Shape | None = None, axes: Sequence[int] | None = (-2, -1), norm: _Norm = None,
    out: _Out = None,
) -> ndarray: ...
def rfft2(
    a: ArrayLike, s: _Shape | None = None, axes: Sequence[int] | None = (-2, -1), norm: _Norm = None,
    out: _Out = None,
) -> ndarray: ...
def irfft2(
    a: ArrayLike, s: _Shape | None = None, axes: Sequence[int] | None = (-2, -1), norm: _Norm = None,
    out: _Out = None,
) -> ndarray: ...
def fftn(
    a: ArrayLike, s: _Shape | None = None, axes: Sequence[int] | None = None, norm: _Norm = None, out: _Out = None,
) -> ndarray: ...
def ifftn(
    a: ArrayLike, s: _Shape | None = None, axes: Sequence[int] | None = None, norm: _Norm = None, out: _Out = None,
) -> ndarray: ...
def rfftn(
    a: ArrayLike, s: _Shape | None = None, axes: Sequence[int] | None = None, norm: _Norm = None, out: _Out = None,
) -> ndarray: ...
def irfftn(
    a: ArrayLike, s: _Shape | None = None, axes: Sequence[int] | None = None, norm: _Norm = None, out: _Out = None,
) -> ndarray: ...
def fftfreq(n: int, d: float = 1.0, device: _Device = None) -> ndarray: ...
def rfftfreq(n: int, d: float = 1.0, device: _Device = None) -> ndarray: ...
def fftshift(x: ArrayLike, axes: _Shape | None = None) -> ndarray: ...
def ifftshift(x: ArrayLike, axes: _Shape | None = None) -> ndarray: ...
