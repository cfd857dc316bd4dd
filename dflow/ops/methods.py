"""What ndarray has that is no operation of the namespace; and how NumPy's own functions reach our arrays."""

import importlib
import operator
import sys
from functools import partial
from types import GenericAlias

import numpy

from dflow._array.array_type import ElementType
from dflow._array.core import attach, is_array, ndarray, window
from dflow._functions.basic_indexing import FlatIterator
from dflow._functions.buffers import apart, placed
from dflow._functions.host_task import host
from dflow._functions.interop import foreign
from dflow._functions.mapped import memmap
from dflow._functions.numpy_inline import bare
from dflow._functions.ufunc import ufunc, wrap_ufunc
from dflow._functions.views import flag_bits, is_scalar
from dflow._kernels.dtypes import NotHeld, dtypes
from dflow.ops import fallback
from dflow.ops.table import TABLE, method, op

_conjugate = wrap_ufunc(numpy.conjugate)


@method("conj")
def _conj(self, /, out=None):
    """The complex conjugate."""
    return _conjugate(self, out=out) if out is not None else _conjugate(self) if self.dtype.kind == "c" else self


@method("conjugate")
def _conjugate_method(self, /, out=None):
    """The complex conjugate."""
    return _conj(self, out)


@method("tofile")
def _tofile(self, /, file, sep="", format="%s"):
    """Write the elements to a file. Waits."""
    self.asnumpy().tofile(file, sep, format)


@method("dumps")
def _dumps(self, /):
    """The pickle of the array. Waits."""
    import pickle
    return pickle.dumps(self)


@method("dump")
def _dump(self, /, file):
    """Write the pickle of the array to a file, open or named. Waits."""
    if hasattr(file, "write"):
        file.write(self.dumps())
        return
    with open(file, "wb") as opened:
        opened.write(self.dumps())


@method("byteswap")
def _byteswap(self, /, inplace=False):
    """A copy, or the array itself, with the bytes of each number in the opposite order: a task."""
    if inplace and is_scalar(self):
        raise ValueError("cannot byteswap a scalar in-place")
    if inplace and flag_bits(self) & 4:
        raise ValueError("array to be byte-swapped is read-only")
    result = self if inplace else self.copy("K")
    host(lambda _error: window(result, write=True).byteswap(True), [result], [result])
    return result


# -- flat and flags --------------------------------------------------------------------------------

class Flat(FlatIterator):
    """The elements in C order, by one index or one after the other: what `x.flat` is."""

    def __len__(self):
        return self.base.size

    @property
    def coords(self):
        """The indices of the element whose turn is next."""
        base, index = self.base, self.index
        if index < base.size:
            return tuple(map(int, numpy.unravel_index(index, base.shape)))
        return base.shape[:1] + (0,) * (base.ndim - 1)

    def _places(self, key):
        """What chooses from the flattened array; of keys out of the ordinary NumPy's iterator says what they mean."""
        if type(key) in (int, slice) or (
                isinstance(key, (ndarray, numpy.ndarray)) and key.ndim and key.dtype.kind in "iu"):
            return key
        return numpy.arange(self.base.size).flat[fallback.unwrap(key)]

    def chosen(self, key):
        """What a key other than a place from the start chooses."""
        try:
            result = self.base.reshape(-1)[self._places(key)]
        except IndexError:
            numpy.broadcast_to(0, self.base.size).flat[fallback.unwrap(key)]        # its own words
            raise
        return result.copy() if isinstance(key, slice) else result

    def __setitem__(self, key, value):
        base = self.base
        if flag_bits(base) & 4:
            raise ValueError("underlying array is read-only")
        places = self._places(key)
        if is_array(value) and type(key) is not int:
            value = value[...]                          # a scalar is cast, whatever fits
        if type(key) is tuple and not key:
            numpy.zeros(1).flat[()] = 0                 # raises
        try:
            base.reshape(-1, copy=False)[places] = value
            return
        except (IndexError, TypeError, ValueError, OverflowError):
            # No such view, values to be used again and again, or an error.
            places = numpy.arange(base.size).flat[fallback.unwrap(places)]
        if places.ndim:
            base.put(places, value)
            return
        try:
            base[numpy.unravel_index(places, base.shape)] = value
        except (TypeError, ValueError, OverflowError):
            raise ValueError("Error setting single item of array.") from None

    def __array__(self, dtype=None, *, copy=None):
        array = self.base.reshape(-1, copy=False if copy is False else None).__array__(dtype, copy=copy)
        if copy is None and not self.base.flags.c_contiguous:
            array.flags.writeable = False           # a copy: what is written there would be lost
        return array

    def __delitem__(self, key):
        raise TypeError("Cannot delete iterator elements")

    def copy(self):
        """A 1-d copy of the array."""
        return self.base.flatten()


def _compares(how):
    """The comparison of that name for Flat, element by element: of the flattened array, with another's or anything."""

    def compare(self, other):
        return how(self.base.reshape(-1), other.base.reshape(-1) if isinstance(other, Flat) else other)

    compare.__name__ = compare.__qualname__ = f"__{how.__name__}__"
    return compare


for _how in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
    setattr(Flat, f"__{_how.__name__}__", _compares(_how))
Flat.__hash__ = None


def _set_flat(self, value):
    if is_scalar(self):
        raise AttributeError("attribute 'flat' of 'numpy.generic' objects is not writable")
    Flat(self)[:] = value


attach("flat", property(Flat, _set_flat, doc="The elements in C order, by one index; they can be assigned."))


class Flags:
    """Memory layout, as NumPy's `flags`; `writeable` can be set. Our arrays are always aligned."""

    _KEYS = {"C": "c_contiguous", "F": "f_contiguous", "O": "owndata", "W": "writeable", "A": "aligned",
             "X": "writebackifcopy", "B": "behaved", "CA": "carray", "FA": "farray",
             **{name.upper(): name for name in """c_contiguous f_contiguous contiguous fortran owndata writeable aligned
                writebackifcopy behaved carray farray fnc forc""".split()}}

    aligned = True
    writebackifcopy = False

    def __init__(self, array):
        self._array = array

    @property
    def c_contiguous(self):
        return flag_bits(self._array) & 1 != 0

    @property
    def f_contiguous(self):
        return flag_bits(self._array) & 2 != 0

    @property
    def owndata(self):
        return self._array.base is None

    @property
    def writeable(self):
        return not (flag_bits(self._array) & 4 or is_scalar(self._array))

    @writeable.setter
    def writeable(self, value):
        if is_scalar(self._array):
            raise ValueError("Cannot set flags on array scalars.")
        self._array.setflags(write=bool(value))

    contiguous, fortran, behaved = c_contiguous, f_contiguous, writeable

    @property
    def fnc(self):
        return self.f_contiguous and not self.c_contiguous

    @property
    def forc(self):
        return self.f_contiguous or self.c_contiguous

    @property
    def carray(self):
        return self.behaved and self.c_contiguous

    @property
    def farray(self):
        return self.behaved and self.fnc

    @property
    def num(self):
        return self.c_contiguous | self.f_contiguous << 1 | self.owndata << 2 | 0x100 | self.writeable << 10

    def __getitem__(self, key):
        if key not in self._KEYS:
            raise KeyError("Unknown flag")
        return getattr(self, self._KEYS[key])

    def __setitem__(self, key, value):
        name = self._KEYS.get(key)
        if name not in ("writeable", "aligned", "writebackifcopy"):
            raise KeyError("Unknown flag")
        setattr(self, name, value)

    def __eq__(self, other):
        return self.num == other.num if hasattr(other, "num") else NotImplemented

    __hash__ = None

    def __repr__(self):
        names = "c_contiguous f_contiguous owndata writeable aligned writebackifcopy".split()
        return "".join(f"  {name.upper()} : {getattr(self, name)}\n" for name in names)


attach("flags", property(Flags, doc="Memory layout: c_contiguous, f_contiguous, writeable."))


@method("__sizeof__")
def _sizeof(self, /):
    """Bytes of the array, with those of its elements if they are its own, as sys.getsizeof() gives them."""
    return object.__sizeof__(self) + (self.nbytes if self.flags.owndata else 0)


attach("__class_getitem__", classmethod(GenericAlias))      # ndarray[shape, dtype], in annotations


# -- what only NumPy's scalars have ----------------------------------------------------------------

def _of_scalars(name):
    """The attribute of that name of NumPy's scalars, where an element or a full reduction stands for one. Waits."""

    def get(self):
        if not is_scalar(self):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        return getattr(self.asnumpy()[()], name)

    attach(name, property(get, doc=f"{name}() of a number: see NumPy's scalars. Waits."))


for _name in ("as_integer_ratio", "bit_count", "denominator", "hex", "is_integer", "numerator", "__trunc__"):
    _of_scalars(_name)


# -- SciPy's linear operators ----------------------------------------------------------------------

def _as_operator(name, product):
    """What scipy.sparse.linalg asks of an operator: an attribute of arrays of two axes only."""

    def get(self):
        if self.ndim != 2:
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        return partial(product, self)

    attach(name, property(get, doc=f"A product, for scipy.sparse.linalg, which asks a matrix for {name}()."))


for _name, _product in (("matvec", lambda a, x: a @ x), ("rmatvec", lambda a, x: a.conj().T @ x),
                        ("rmatmat", lambda a, x: a.conj().T @ x)):
    _as_operator(_name, _product)


# -- NumPy's protocols -----------------------------------------------------------------------------

attach("__array_priority__", 100.0)


def _of_numbers(ours, function, args, keywords):
    """ours(*args, **keywords); NumPy's function, on copies, where an argument is an array of something else."""
    try:
        return ours(*args, **keywords)
    except NotHeld:
        return fallback.call(function, args, keywords)


def _behind(function, inputs):
    """The ufunc of NumPy's behind ours, or one of Numba's, which compiles its loop for types when it meets them."""
    if isinstance(function, ufunc):
        return function.numpy
    function(*(numpy.zeros(0, x.dtype) if is_array(x) or isinstance(x, numpy.ndarray) else x
               for x in inputs))
    return function.ufunc


# Of NumPy's ufuncs that compute numbers, once they have been asked for: ours.
_asked = {}


@method("__array_ufunc__")
def _array_ufunc(self, /, function, how, *inputs, **keywords):
    """numpy.sin(x), scipy.special.erf(x), numpy.add.reduce(x): run as ours. A NumPy `out` is filled after waiting.

    Beside subclasses of NumPy's array, and types that wrap results, it is NumPy's on copies.
    """
    ours = _asked.get(function) if how == "__call__" and not keywords else None
    if ours is not None and OF_NUMBERS.issuperset(map(type, inputs)):
        return _of_numbers(ours, function, inputs, keywords)
    outs = keywords.pop("out", ())
    others = [x for x in (*inputs, *outs, keywords.get("where")) if foreign(x)]
    if any(hasattr(x, "__array_ufunc__") and not isinstance(x, numpy.ndarray) for x in others):
        return NotImplemented
    if not isinstance(function, numpy.ufunc):
        function = _behind(function, inputs)
    if how == "at" and not is_array(inputs[0]):
        return function.at(*fallback.unwrap(inputs))
    if others or all("O" in loop for loop in function.types):
        if outs:
            keywords["out"] = outs[0] if len(outs) == 1 else outs
        return fallback.call(function if how == "__call__" else getattr(function, how), inputs, keywords)
    ours = _asked[function] = wrap_ufunc(function)
    if outs:
        keywords["out"] = outs
    if how != "__call__":
        ours, function = getattr(ours, how), getattr(function, how)
    return _of_numbers(ours, function, inputs, keywords)


LAZY = {"numpy.linalg": "dflow.ops.linalg", "numpy.fft": "dflow.ops.fft"}      # modules whose rows are made when needed


# Elements' equal NumPy's.
OF_NUMBERS = {ndarray, memmap, numpy.ndarray, numpy.memmap,
              bool, int, float, complex, *(dtype.type for dtype in dtypes)}


@method("__array_function__")
def _array_function(self, /, func, types, args, kwargs):
    """numpy.concatenate([x, y]) and all the others: the operation of that name here, else NumPy's on copies.

    So is what an array of a subclass of NumPy's takes part in. atleast_1d() and its like give NumPy's, over the memory.
    """
    for name, x, kind in (("args", args, tuple), ("kwargs", kwargs, dict)):
        if not isinstance(x, kind):
            raise TypeError(f"{name} must be a {kind.__name__}.")
    others = {*types} - OF_NUMBERS
    if others and (others := {t for t in others if type(t) is not ElementType}):       # of long double, equal nothing
        subclasses = all(issubclass(t, numpy.ndarray) for t in others)
        return fallback.call(func, args, kwargs) if subclasses else NotImplemented
    if func.__module__ in LAZY:
        importlib.import_module(LAZY[func.__module__])
    if func in CONVERTING:
        return func(*map(numpy.asarray, args))
    if func is numpy.empty_like and isinstance(kwargs.get("dtype"), list) and _asks_of_dask():
        raise TypeError("dflow's arrays have no fields")
    row = TABLE.get((func.__module__, func.__name__))
    if row is None:                         # nobody knows what it does: it may write to its first argument
        return fallback.call(func, (*fallback.opened(args[:1]), *args[1:]), kwargs)
    if args and type(args[0]) is numpy.ndarray and func in INPLACE:
        return fallback.call(func, args, kwargs)
    return _of_numbers(row.function, func, args, kwargs)


def _asks_of_dask():
    """Whether Dask asked for what calls this. Of libraries without records it keeps the fields of a chunk in a dict."""
    return sys._getframe(2).f_globals.get("__name__", "").startswith("dask.")


# By NumPy's own, code that was not swapped makes an array of anything, as by numpy.asarray(): what follows is often C.
CONVERTING = frozenset({numpy.atleast_1d, numpy.atleast_2d, numpy.atleast_3d})
INPLACE = frozenset({numpy.copyto, numpy.put, numpy.place, numpy.putmask, numpy.fill_diagonal, numpy.put_along_axis})


_NOWHERE = numpy.empty(0)
_shares_memory, _may_share_memory = bare(numpy.shares_memory), bare(numpy.may_share_memory)


def _on_windows(function, a, b, max_work):
    if is_array(a) and is_array(b):
        return function(*(_NOWHERE, _NOWHERE) if apart(a, b) else placed(a, b), max_work)
    return function(*(fallback.seen(fallback.given(x)) for x in (a, b)), max_work)


@op("a, a", "a, a.T", "a, a[1:]", "a[:, ::2], a[:, 1::2]", "a, v", "a[0], a[0, 0]", "a, a[:0]", "e, e", "s, s",
    "c, c.imag", "a, a.ravel()[3:], 0", "a, a, 'x'", "a, [1]")
def shares_memory(a, b, /, max_work=-1):
    """Whether some byte belongs to both arrays; TooHardError after more than `max_work` attempts to find one."""
    return _on_windows(_shares_memory, a, b, max_work)


@op("a, a", "a, a.T", "a, a[1:]", "a[:, ::2], a[:, 1::2]", "a, v", "a[0], a[1]", "a, a[:0]", "s, s", "a, a[1:], 1",
    "a, a, 'x'")
def may_share_memory(a, b, /, max_work=0):
    """Whether the bounds of the arrays overlap; with `max_work`, what so many attempts at an exact answer give."""
    return _on_windows(_may_share_memory, a, b, max_work)
