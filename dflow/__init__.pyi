from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import GenericAlias, TracebackType
from typing import Any, Generic, NamedTuple, TypeVar, overload

from dflow import devices as devices
from dflow import engine as engine
from dflow import numpy as _numpy
from dflow._array.core import _DType, _Shape
from dflow._array.core import ndarray as ndarray
from dflow.devices import Context as Context
from dflow.devices import Device as Device
from dflow.devices import cpu as cpu
from dflow.devices import cpu_pinned as cpu_pinned
from dflow.devices import current_context as current_context
from dflow.devices import current_device as current_device
from dflow.devices import gpu as gpu
from dflow.devices import num_gpus as num_gpus
from dflow.devices import synchronize as synchronize
from dflow.engine import profile as profile
from dflow.util import is_np_array as is_np_array
from dflow.util import is_np_default_dtype as is_np_default_dtype
from dflow.util import is_np_shape as is_np_shape
from dflow.util import np_array as np_array
from dflow.util import np_default_dtype as np_default_dtype
from dflow.util import np_shape as np_shape
from dflow.util import set_np_shape as set_np_shape
from dflow.util import use_np as use_np
from dflow.util import use_np_array as use_np_array
from dflow.util import use_np_default_dtype as use_np_default_dtype
from dflow.util import use_np_shape as use_np_shape

__all__ = ["Future", "devices", "engine", "graph", "ndarray", "profile", "progress", "show_config", "submit",
           "timeit", "trange", "visualize", "waitall"]
__version__: str

_T_co = TypeVar("_T_co", covariant=True)
_T = TypeVar("_T")

class Future(Generic[_T_co]):
    def __init__(self, state: ndarray) -> None: ...
    def done(self) -> bool: ...
    def result(self) -> _T_co: ...
    def __class_getitem__(cls, item: Any, /) -> GenericAlias: ...
    def __await__(self) -> Generator[Any, None, _T_co]: ...

class _Node(NamedTuple):
    key: str
    name: str
    state: str
    shape: tuple[int, ...] | None
    dtype: str
    site: tuple[str, int, str] | None
    where: str
    group: str | None
    told: bool = True

class _Graph:
    nodes: list[_Node]
    edges: list[tuple[str, str]]
    groups: dict[str, list[str]]
    sizes: dict[str, int]
    more: int
    whole: bool
    @property
    def dot(self) -> str: ...
    @property
    def svg(self) -> str: ...
    @property
    def own_svg(self) -> str: ...
    def _repr_svg_(self) -> str: ...
    def _repr_mimebundle_(self, include: Collection[str] | None = None,
                          exclude: Collection[str] | None = None) -> dict[str, str]: ...
    def save(self, path: str | PathLike[str]) -> None: ...

@overload
def submit(fn: Callable[..., _T], *args: Any, shape: None = None, dtype: None = None, **kwargs: Any) -> Future[_T]: ...
@overload
def submit(fn: Callable[..., Any], *args: Any, shape: _Shape, dtype: _DType = None, **kwargs: Any) -> ndarray: ...
def graph(function: Callable[..., _T]) -> Callable[..., _T]: ...

np = _numpy

class progress(Generic[_T_co]):
    iterable: Iterable[_T_co] | None
    n: float
    total: float | None
    desc: str
    @overload
    def __init__(self: progress[Any], iterable: None = None, total: float | None = None, *, wait: bool = True,
                 **arguments: Any) -> None: ...
    @overload
    def __init__(self, iterable: Iterable[_T_co], total: float | None = None, *, wait: bool = True,
                 **arguments: Any) -> None: ...
    def __iter__(self) -> Iterator[_T_co]: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __enter__(self) -> progress[_T_co]: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None: ...
    def __del__(self) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def update(self, n: float = 1) -> None: ...
    def close(self) -> None: ...
    def set_postfix(self, ordered_dict: Mapping[str, Any] | None = None, refresh: bool = True,
                    **values: Any) -> None: ...
    @staticmethod
    def write(s: str, file: Any = None, end: str = "\n") -> None: ...

def trange(*args: Any, **kwargs: Any) -> progress[int]: ...

class _TimeitResult:
    all_runs: list[float]
    timings: list[float]
    loops: int
    repeat: int
    best: float
    worst: float
    average: float
    stdev: float

def timeit(f: Callable[..., Any] | str, *args: Any, number: int | None = None, repeat: int = 5, setup: str = "pass",
           globals: dict[str, Any] | None = None) -> _TimeitResult: ...
def load_ipython_extension(shell: Any) -> None: ...
def show_config() -> None: ...
def visualize(x: ndarray[Any, Any] | Sequence[ndarray[Any, Any]] | None = None, limit: int = 200) -> _Graph: ...
def waitall(timeout: float | None = None) -> None: ...
