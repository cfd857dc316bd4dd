"""dask.array over chunks of dflow's: Dask cuts what memory cannot hold, dflow computes each part.

Registered with Dask once `dask.array` and dflow are both imported, or when Dask is asked for its backend "dflow". dflow
never imports Dask.
"""

import functools
import math
import sys

import dask.array as da
import numpy
from dask import config
from dask.array.backends import ArrayBackendEntrypoint, array_creation_dispatch, percentile
from dask.array.chunk_types import register_chunk_type
from dask.array.dispatch import (
    concatenate_lookup,
    einsum_lookup,
    empty_lookup,
    numel_lookup,
    percentile_lookup,
    take_lookup,
    tensordot_lookup,
    to_numpy_dispatch,
)
from dask.utils import Dispatch
from numpy.lib.array_utils import normalize_axis_tuple

import dflow.numpy as np
from dflow._array.core import is_array
from dflow.numpy import ndarray

__all__ = ["Backend", "to_dflow"]

to_dflow = Dispatch("to_dflow")
META = np.zeros(())         # of which Dask makes names: the same in every process


def _made(function, /, *args, meta=None, **keywords):
    with config.set({"array.backend": "numpy"}):
        return getattr(da, function)(*args, meta=META if meta is None else meta, **keywords)


class Backend(ArrayBackendEntrypoint):
    """What Dask's own functions make arrays with under `dask.config.set({"array.backend": "dflow"})`.

    Examples
    --------
    >>> import dask, dask.array as da
    >>> with dask.config.set({"array.backend": "dflow"}):
    ...     x = da.ones((4, 4), chunks=2)
    >>> type((x + x.T).compute()).__module__
    'dflow'
    """

    @classmethod
    def to_backend_dispatch(cls):
        return to_dflow

    @classmethod
    def to_backend(cls, data, **keywords):
        return data if is_array(data._meta) else data.map_blocks(to_dflow, **keywords)

    @property
    def RandomState(self):
        return np.random.RandomState

    @property
    def default_bit_generator(self):
        return np.random.get_bit_generator().__class__

    @staticmethod
    def ones(*args, **keywords):
        return _made("ones", *args, **keywords)

    @staticmethod
    def zeros(*args, **keywords):
        return _made("zeros", *args, **keywords)

    @staticmethod
    def empty(*args, **keywords):
        return _made("empty", *args, **keywords)

    @staticmethod
    def full(*args, **keywords):
        return _made("full", *args, **keywords)

    @staticmethod
    def arange(*args, like=None, **keywords):
        with config.set({"array.backend": "numpy"}):
            return da.arange(*args, like=META if like is None else like, **keywords)


# ---- what Dask looks up by the type of a chunk -----------------------------------------------------------------------

@to_dflow.register((numpy.ndarray, ndarray))
def _to_dflow(chunk, **keywords):
    return np.asarray(chunk)


@to_numpy_dispatch.register(ndarray)
def _to_numpy(chunk, **keywords):
    return chunk.asnumpy()


@numel_lookup.register(ndarray)
def _numel(chunk, axis=None, keepdims=False, dtype=numpy.float64, **keywords):
    """How many elements a chunk has along some axes, as an array of dflow's."""
    axes = range(chunk.ndim) if axis is None else normalize_axis_tuple(axis, chunk.ndim)
    shape = [1 if i in axes else n for i, n in enumerate(chunk.shape) if keepdims or i not in axes]
    return np.full(shape, math.prod(chunk.shape[i] for i in axes), dtype)


for _lookup, _function in (
        (concatenate_lookup, np.concatenate), (take_lookup, np.take), (tensordot_lookup, np.tensordot),
        (einsum_lookup, np.einsum), (empty_lookup, np.empty), (percentile_lookup, percentile)):
    _lookup.register(ndarray, _function)
register_chunk_type(ndarray)
array_creation_dispatch.register_backend("dflow", Backend())


# ---- functions of Dask's that give NumPy's of ours -------------------------------------------------------------------
#
# Dask asks a function of empty chunks what its results will be, and takes what reductions give for numbers of NumPy's.
# SciPy's linear algebra gives NumPy's arrays. A generator of ours would pass for its source.

def _put(name, adapt):
    """adapt(function) in the place of one of dask.array's, wherever that is known by this name. What a version has not,
    stays away."""
    modules = [module for at, module in sys.modules.items() if f"{at}.".startswith("dask.array.")]
    given = next((found for module in modules if (found := vars(module).get(name)) is not None), None)
    adapted = given and functools.wraps(given)(adapt(given))
    for module in modules:
        if given and vars(module).get(name) is given:
            setattr(module, name, adapted)


def _is_ours(x):
    return is_array(getattr(x, "_meta", x))


def _as_ours(x, most):
    """What is NumPy's, of so many axes at most, as ours."""
    if isinstance(x, da.Array):
        x._meta = _as_ours(x._meta, most)
    return np.asarray(x) if type(x) is numpy.ndarray and x.ndim <= most else x


def _of_ours(most):
    def adapt(given):
        def adapted(*args, **keywords):
            result = given(*args, **keywords)
            ours = any(map(_is_ours, (*args, *keywords.values())))
            return _as_ours(result, most) if ours else result
        return adapted
    return adapt


def _full_diagonal(given):
    def diagonal(a, *args, **keywords):
        result = given(a, *args, **keywords)
        return result.map_blocks(to_dflow) if _is_ours(a) and result.chunks[-1] == (0,) else result
    return diagonal


def _factors(given):
    def lu(a):
        result = given(a)
        return tuple(part.map_blocks(to_dflow) for part in result) if _is_ours(a) else result
    return lu


def _of_source(given):
    return lambda seed=None: given(getattr(seed, "bit_generator", seed))


def _library(given):
    return property(lambda self: np if getattr(self, "_backend_name", None) == "dflow" else given.fget(self))


for _name in ("meta_from_array", "compute_meta", "partial_reduce"):
    _put(_name, _of_ours(0))
_put("scipy_linalg_safe", _of_ours(2))
_put("diagonal", _full_diagonal)
_put("lu", _factors)
_put("default_rng", _of_source)
for _kind in (da.random.Generator, da.random.RandomState):
    _kind._backend = _library(_kind._backend)
