from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike, DTypeLike

from dflow import ndarray
from dflow.npx import bernoulli as bernoulli
from dflow.npx import normal_n as normal_n
from dflow.npx import seed as seed
from dflow.npx import uniform_n as uniform_n

__all__ = ["bernoulli", "categorical", "multinomial", "normal_n", "seed", "uniform_n"]

def categorical(data: ArrayLike, shape: int | Sequence[int] | None = None, get_prob: bool = False,
                dtype: DTypeLike = "int32") -> Any: ...
def multinomial(n: ArrayLike, p: ArrayLike, shape: int | Sequence[int] | None = None, dtype: DTypeLike = ...,
                ctx: Any = None, device: Any = None, out: ndarray | None = None) -> ndarray: ...
