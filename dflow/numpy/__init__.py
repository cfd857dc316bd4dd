"""NumPy's namespace over dflow arrays: `import dflow.numpy as np`.

Functions come from the table of operations (dflow/ops), types and constants from NumPy. Any other name of NumPy's is
looked up when it is first used: its function then runs as a blocking call, on copies.
"""

import importlib
import sys as _sys
import types
from functools import wraps as _wraps

import numpy as _numpy

from dflow import ops
from dflow._array.core import is_array, ndarray
from dflow._base.documents import composed as _composed
from dflow._functions.mapped import memmap
from dflow._functions.numpy_inline import public as _public
from dflow._functions.ufunc import ufunc as _ufunc
from dflow.ops import fallback as _fallback
from dflow.ops import mxnet_forms as _mxnet_forms
from dflow.ops.defaults import MADE as _MADE
from dflow.ops.defaults import follow as _follow
from dflow.ops.defaults import is_np_array as _is_np_array
from dflow.ops.submodules import install as _install_submodules
from dflow.ops.table import describe as _describe
from dflow.ops.table import method as _method
from dflow.ops.table import namespace as _namespace

_rows = _namespace("numpy")
globals().update(_rows)
_follow(globals(), _MADE)
_mxnet_forms.install(globals(), "numpy")

# What is NumPy's and stays so: it takes or makes no arrays.
_SAME = """e euler_gamma inf nan newaxis pi little_endian True_ False_ ScalarType sctypeDict typecodes
    bool bool_ byte ubyte short ushort intc uintc int_ uint long ulong longlong ulonglong intp uintp
    int8 int16 int32 int64 uint8 uint16 uint32 uint64 half single double longdouble float16 float32 float64
    csingle cdouble clongdouble complex64 complex128 generic number integer signedinteger unsignedinteger
    inexact floating complexfloating dtype finfo iinfo errstate seterr geterr seterrcall geterrcall
    set_printoptions get_printoptions printoptions
    promote_types isdtype isscalar issubdtype typename base_repr binary_repr
    format_float_positional format_float_scientific
    s_ index_exp ndindex iterable getbufsize setbufsize _NoValue"""
globals().update({_sys.intern(name): getattr(_numpy, name) for name in _SAME.split()})
# Where the platform has them; since NumPy 2.1.
for _name in ("float128", "complex256", "__array_api_version__", "__array_namespace_info__"):
    if hasattr(_numpy, _name):
        globals()[_sys.intern(_name)] = getattr(_numpy, _name)
# MXNet's lists of what it holds.
integer_dtypes = [_numpy.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
floating_dtypes = [_numpy.dtype(f"float{bits}") for bits in (16, 32, 64)]
numeric_dtypes, boolean_dtypes = integer_dtypes + floating_dtypes, [_numpy.dtype(bool)]
_MXNETS = ("integer_dtypes", "floating_dtypes", "numeric_dtypes", "boolean_dtypes")
__version__ = _numpy.__version__                    # of the NumPy whose interface this is
__all__ = [name for name in _numpy.__all__ if name[0] != "_"]

_install_submodules()
_SUBMODULES = ("linalg", "fft", "lib", "polynomial", "random", "testing", "typing")


@_method("__array_namespace__")
def _array_namespace(self, /, *version, api_version=None):
    """This module. ValueError for a version of the Array API standard that NumPy does not follow.

    After npx.set_np() the version may be given by place, and be MXNet's, "2021.10".
    """
    if not _is_np_array():
        _numpy.empty(0).__array_namespace__(*version, api_version=api_version)
    elif len(version) + (api_version is not None) > 1:
        raise TypeError(f"__array_namespace__() takes one version, not {(*version, api_version)}")
    elif (version or (api_version,)) != ("2021.10",):
        _numpy.empty(0).__array_namespace__(api_version=version[0] if version else api_version)
    return _sys.modules[__name__]


class _Ufuncs(type):
    def __instancecheck__(cls, x):
        return isinstance(x, (_ufunc, _numpy.ufunc))


class ufunc(metaclass=_Ufuncs):
    """The type of universal functions, for isinstance: those of this namespace, NumPy's own and third parties'.

    Its methods take any of them, as np.ufunc.reduce(np.add, x).
    """


def _of_ufuncs(name):
    @_wraps(getattr(_numpy.ufunc, name))
    def method(self, /, *args, **keywords):
        return getattr(self, name)(*args, **keywords)

    return method


for _name in ("__call__", "accumulate", "at", "outer", "reduce", "reduceat", "resolve_dtypes"):
    setattr(ufunc, _name, _of_ufuncs(_name))


class _Maker:
    """mgrid, ogrid, r_ and c_: NumPy's objects, whose arrays become ours."""

    def __init__(self, name):
        self._name = name

    def __getitem__(self, key):
        return _fallback.wrap(getattr(_numpy, self._name)[_fallback.unwrap(key)])

    def __repr__(self):
        return f"<dflow.numpy.{self._name}>"


class _Joiner(_Maker):
    """r_ and c_, which join; along the last axis, 1-d arrays as columns, when `columns`."""

    def __init__(self, name, columns):
        super().__init__(name)
        self._columns = columns

    def _part(self, item):
        """What is joined, and what tells its type."""
        if not is_array(item) and not isinstance(item, (list, tuple)):
            item = _fallback.unwrap(item)
            found = getattr(_numpy, self._name)[item]           # a range, or a number, whose type is weak
            return found, item if isinstance(item, (int, float, complex)) else found.dtype
        item = _rows["asarray"](item)
        if self._columns and item.ndim < 2:
            return item.reshape(-1, 1), item.dtype
        return _rows["atleast_1d"](item), item.dtype

    def __getitem__(self, key):
        if isinstance(key, str):
            frame = _sys._getframe(1)
            return bmat(key, frame.f_locals, frame.f_globals)
        items = key if isinstance(key, tuple) else (key,)
        if not _fallback.any_of_ours(*items) or str in map(type, items):
            return super().__getitem__(key)
        parts, types = zip(*map(self._part, items))
        dtype = _numpy.result_type(*types)
        if dtype.kind not in "biufc":
            return super().__getitem__(key)
        parts = [_numpy.full_like(x, t, dtype) if type(t) is int else x for x, t in zip(parts, types)]
        return _rows["concatenate"](parts, -1 if self._columns else 0, dtype=dtype, casting="unsafe")


mgrid, ogrid = map(_Maker, ("mgrid", "ogrid"))
r_, c_ = _Joiner("r_", False), _Joiner("c_", True)

# Of arrays they look at the types and shapes only.
_OF_SHAPES = "common_type diag_indices_from einsum_path mintypecode tril_indices_from triu_indices_from"


def _of_shapes(function):
    def wrapper(*args, **keywords):
        given = {key: _fallback.stand_in(x) for key, x in keywords.items()}
        return _fallback.wrap(function(*_fallback.stand_in(args), **given))

    wrapper.__name__ = wrapper.__qualname__ = function.__name__
    wrapper.__doc__ = _composed("", "shapes", function.__doc__, f"numpy.{function.__name__}")
    wrapper.__wrapped__ = function
    return _public(wrapper, function, __name__)


globals().update({name: _of_shapes(getattr(_numpy, name)) for name in _OF_SHAPES.split()})


class vectorize(_numpy.vectorize):
    """numpy.vectorize; waits for its arguments."""

    def __call__(self, *args, **kwargs):
        result = _fallback.wrap(super().__call__(*_fallback.unwrap(args), **_fallback.unwrap(kwargs)))
        return _fallback.note_lost(self.pyfunc, [*args, *kwargs.values()], result)


class _Iterators(type):
    def __instancecheck__(cls, x):
        return isinstance(x, _numpy.nditer)


class nditer(metaclass=_Iterators):
    """numpy.nditer over the memory of the arrays, when no work on it is pending; what it writes is in them."""

    def __new__(cls, op, *args, **keywords):
        return _numpy.nditer(_fallback.opened(op), *args, **keywords)


nditer.__wrapped__ = _numpy.nditer          # for its signature


def nested_iters(op, axes, *args, **keywords):
    """numpy.nested_iters over the memory of the arrays, as nditer."""
    return _numpy.nested_iters(_fallback.opened(op), axes, *args, **keywords)


nested_iters.__wrapped__ = _numpy.nested_iters


def bmat(obj, ldict=None, gdict=None):
    """numpy.bmat; a text may name what the caller can see. Waits for its arguments."""
    if isinstance(obj, str) and gdict is None:
        frame = _sys._getframe(1)
        ldict, gdict = frame.f_locals, frame.f_globals
    return _numpy.bmat(_fallback.unwrap(obj), ldict, gdict)


def asmatrix(data, dtype=None):
    """numpy.asmatrix; over the memory of an array. Waits for its argument."""
    return _numpy.asmatrix(data if is_array(data) else _fallback.unwrap(data), dtype)


for _name, _kind in (("asmatrix", "reads"), ("bmat", "copies"), ("nested_iters", "reads")):
    _text, _theirs = globals()[_name].__doc__, getattr(_numpy, _name)
    globals()[_name] = _public(globals()[_name], _theirs, __name__)
    _describe(globals()[_name], _text, _kind, _theirs, f"numpy.{_name}")


def __getattr__(name):
    """What the table has not: submodules, when they are first used, and NumPy's other functions as blocking calls."""
    if name in _SUBMODULES:
        return importlib.import_module(f"dflow.numpy.{name}")
    if name.startswith("_"):
        raise AttributeError(f"module 'dflow.numpy' has no attribute {name!r}")
    try:
        value = getattr(_numpy, name)
    except AttributeError as error:
        mxnets = _mxnet_forms.old_name(name, globals()) if _is_np_array() else None
        if mxnets is not None:
            return mxnets
        raise AttributeError(str(error).replace("'numpy'", "'dflow.numpy'")) from None
    if isinstance(value, types.ModuleType) and value.__name__ == f"numpy.{name}":
        return importlib.import_module(f"dflow.numpy.{name}")
    if callable(value) and hasattr(value, "__name__") and not isinstance(value, (type, types.ModuleType)):
        value = _fallback.blocking(value)
        _mxnet_forms.install({name: value}, "numpy")
    if name in vars(_numpy):            # else NumPy made it for the question: a deprecated name, whose every use warns
        globals()[name] = value
    return value


def __dir__():
    return sorted({*__all__, *_SUBMODULES, *_MXNETS, "__version__"})
