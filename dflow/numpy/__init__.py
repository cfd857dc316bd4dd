"""NumPy's namespace over dflow arrays: `import dflow.numpy as np`.

Functions come from the table of operations (dflow/ops), types and constants from NumPy. Any other name of NumPy's is
looked up when it is first used: its function then runs as a blocking call, on copies.
"""

import importlib
import sys as _sys
import types

import numpy as _numpy

from dflow import ops
from dflow._array import ndarray
from dflow._ufunc import ufunc as _ufunc
from dflow._views import is_scalar
from dflow.ops import fallback as _fallback
from dflow.ops import methods as _methods
from dflow.ops.table import method as _method
from dflow.ops.table import namespace as _namespace

globals().update(_namespace("numpy"))

# What is NumPy's and stays so: it takes or makes no arrays.
_SAME = """e euler_gamma inf nan newaxis pi little_endian True_ False_ ScalarType sctypeDict typecodes
    bool bool_ byte ubyte short ushort intc uintc int_ uint long ulong longlong ulonglong intp uintp
    int8 int16 int32 int64 uint8 uint16 uint32 uint64 half single double longdouble float16 float32 float64
    csingle cdouble clongdouble complex64 complex128 generic number integer signedinteger unsignedinteger
    inexact floating complexfloating dtype finfo iinfo errstate seterr geterr seterrcall geterrcall
    set_printoptions get_printoptions printoptions
    promote_types issubdtype isdtype typename base_repr binary_repr format_float_positional format_float_scientific
    s_ index_exp ndindex iterable getbufsize setbufsize __array_api_version__ __array_namespace_info__"""
globals().update({name: getattr(_numpy, name) for name in _SAME.split()})
for _name in ("float128", "complex256"):            # where the platform has them
    if hasattr(_numpy, _name):
        globals()[_name] = getattr(_numpy, _name)
__version__ = _numpy.__version__                    # of the NumPy whose interface this is
__all__ = [name for name in _numpy.__all__ if name[0] != "_"]
shares_memory, may_share_memory = _methods.shares_memory, _methods.may_share_memory

_SUBMODULES = ("linalg", "fft", "random", "testing", "typing")


@_method("__array_namespace__")
def _array_namespace(self, *, api_version=None):
    """This module. ValueError for a version of the Array API standard that NumPy does not follow."""
    _numpy.empty(0).__array_namespace__(api_version=api_version)
    return _sys.modules[__name__]


def _types(x):
    return x.dtype if isinstance(x, ndarray) else x


def result_type(*arrays_and_dtypes):
    """The type that NumPy's promotion gives."""
    return _numpy.result_type(*map(_types, arrays_and_dtypes))


def isscalar(element):
    """Whether it is a number, not an array; elements and full reductions count as numbers."""
    return is_scalar(element) if isinstance(element, ndarray) else _numpy.isscalar(element)


def can_cast(from_, to, casting="safe"):
    """Whether a cast is allowed by a casting rule."""
    return _numpy.can_cast(_types(from_), to, casting)


class _Ufuncs(type):
    def __instancecheck__(cls, x):
        return isinstance(x, (_ufunc, _numpy.ufunc))


class ufunc(metaclass=_Ufuncs):
    """The type of universal functions, for isinstance: those of this namespace, NumPy's own and third parties'."""


class _Maker:
    """mgrid, ogrid, r_ and c_: NumPy's objects, whose arrays become ours."""

    def __init__(self, name):
        self._name = name

    def __getitem__(self, key):
        return _fallback.wrap(getattr(_numpy, self._name)[_fallback.unwrap(key)])

    def __repr__(self):
        return f"<dflow.numpy.{self._name}>"


mgrid, ogrid, r_, c_ = map(_Maker, ("mgrid", "ogrid", "r_", "c_"))


class vectorize(_numpy.vectorize):
    """numpy.vectorize; waits for its arguments."""

    def __call__(self, *args, **kwargs):
        return _fallback.wrap(super().__call__(*_fallback.unwrap(args), **_fallback.unwrap(kwargs)))


def nditer(op, *args, **keywords):
    """numpy.nditer over the memory of the arrays, when no work on it is pending; what it writes is in them."""
    return _numpy.nditer(_fallback.opened(op), *args, **keywords)


nditer.__wrapped__ = _numpy.nditer          # for its signature


def __getattr__(name):
    """What the table has not: submodules, when they are first used, and NumPy's other functions as blocking calls."""
    if name in _SUBMODULES:
        return importlib.import_module(f"dflow.numpy.{name}")
    if name.startswith("_"):
        raise AttributeError(f"module 'dflow.numpy' has no attribute {name!r}")
    try:
        value = getattr(_numpy, name)
    except AttributeError as error:
        raise AttributeError(str(error).replace("'numpy'", "'dflow.numpy'")) from None
    if callable(value) and hasattr(value, "__name__") and not isinstance(value, (type, types.ModuleType)):
        value = _fallback.blocking(value)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_SUBMODULES, *_numpy.__all__})
