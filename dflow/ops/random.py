"""Random numbers, from counters (Philox): the same for any number of workers.

A stream has a key, made from its seed, and counts its draws. An element of a draw is a function of the key, the number
of the draw and the element's index: kernels compute it (_kernels/c/distributions.c), of any part, anywhere.

What has no kernel (parameters that are arrays, rare distributions, shuffling) comes from NumPy's generators: small
draws of numbers at once, from one of the stream's own, which moves on where others were drawn since; large ones, and
those of arrays, which may be pending, from a generator whose counter is the number of the draw: in host tasks, one for
each block of a fixed size, or for all where parameters are arrays. So any draw changes what all later ones give.
"""

import functools
import hashlib
import math
import operator
import warnings

import numpy
from numpy.lib.array_utils import normalize_axis_index

from dflow._array import core
from dflow._array.core import array as as_array
from dflow._array.core import is_array, ndarray, window
from dflow._functions.advanced_indexing import take
from dflow._functions.host_task import host
from dflow._functions.numpy_inline import LATER, as_scalar, at_once, or_else
from dflow._functions.random import KERNELS, Counter
from dflow._functions.ufunc import wrap_ufunc
from dflow._kernels.dtypes import NotHeld, dtypes
from dflow.ops import distributions, generators, mersenne
from dflow.ops.creation import arange
from dflow.ops.distributions import COUNTS, DISTRIBUTIONS, OF_GAMMA, OTHERS, PARAMETERS, STANDARD, VECTORS, by_shape
from dflow.ops.fallback import any_of_ours, arrays_in, checked, plain, seen, stand_in, task, unwrap, wrap
from dflow.ops.table import add_row
from dflow.ops.warn import called

minimum, nextafter = map(wrap_ufunc, (numpy.minimum, numpy.nextafter))

SMALL = 4096                # of NumPy's generators, draws below this come at once
BLOCK = 1 << 18             # elements that one host task fills: some milliseconds
GOLDEN = 0x9E3779B97F4A7C15

FLOAT = numpy.dtype(float)
INTEGER = numpy.dtype(int)
HALF = numpy.dtype("f2")
SINGLE, DOUBLE, LONG = map(dtypes.index, (numpy.dtype("f4"), FLOAT, INTEGER))       # type codes
CODES = {FLOAT: DOUBLE, float: DOUBLE, numpy.float64: DOUBLE, numpy.dtype("f4"): SINGLE, numpy.float32: SINGLE}
PLAIN = frozenset((int, float))
INTEGERS = (int, numpy.integer)
BOUNDS = {}                 # of integer types, as given: type code, least and greatest value, type of a single number

RANDOM, NORMAL, EXPONENTIAL, GAMMA = (
    {SINGLE: KERNELS[name, 4], DOUBLE: KERNELS[name, 8]}
    for name in ("random", "standard_normal", "standard_exponential", "gamma"))


def as_shape(size):
    """A size as a tuple of ints."""
    if type(size) is int:
        return (size,)
    many = hasattr(size, "__iter__") and not isinstance(size, (dict, set)) and getattr(size, "ndim", 1)
    sizes = tuple(size) if many else (size,)
    if any(isinstance(n, bool) for n in sizes):
        raise TypeError("an integer is required")
    return tuple(map(operator.index, sizes))


def _is_number(x):
    return isinstance(x, (int, float, numpy.number)) and not is_array(x) and not isinstance(x, numpy.complexfloating)


def _float_code(dtype, name):
    try:
        return CODES[dtype]
    except (KeyError, TypeError):
        dtype = numpy.dtype(dtype)
        if dtype not in CODES:
            raise TypeError(f"Unsupported dtype {dtype!r} for {name}") from None
        return CODES[dtype]


def _bounds(dtype):
    try:
        return BOUNDS[dtype]
    except (KeyError, TypeError):
        known = numpy.dtype(dtype)
        if known.kind not in "biu" or not known.isnative:
            return None
        info = numpy.iinfo(known) if known.kind != "b" else None
        number = dtype if dtype is int or dtype is bool else known.type
        found = (dtypes.index(known), int(info.min), int(info.max), number) if info else (0, 0, 1, number)
        if len(BOUNDS) < 100 and getattr(dtype, "__hash__", None):
            BOUNDS[dtype] = found
        return found


def _not_negative(name):
    """A check of a parameter of that name."""
    def check(x):
        if (numpy.signbit(x) & (x == x)).any():
            raise ValueError(f"{name} < 0")
        return x

    return check


def _more_than_zero(name):
    def check(x):
        if (x <= 0).any():
            raise ValueError(f"{name} <= 0")
        return x

    return check


_check_scale = _not_negative("scale")


def _check_span_older(x):
    if not numpy.isfinite(x).all():
        raise OverflowError("Range exceeds valid bounds")
    return x


def _check_span(x):
    if numpy.signbit(_check_span_older(x)).any():
        raise ValueError("high - low < 0")
    return x


def _parameter(x):
    """An array of numbers; a None among others is nan, as NumPy reads it."""
    if not is_array(x):
        x = numpy.asarray(x)
        x = as_array(x.astype(float) if x.dtype == object and x.ndim else x)
    return x


def _scale(x):
    """A scale that is not negative: a number or an array."""
    if _is_number(x):
        _check_scale(numpy.float64(x))
        return x
    return checked(_check_scale, _parameter(x))


def _is_half(dtype):
    return dtype is not FLOAT and numpy.dtype(dtype) == HALF


def _halved(x):
    """Numbers as float16."""
    return as_array(x).astype(HALF)


def _below(high, x):
    """Numbers below `high` as float16, below it still, though they are rounded."""
    last = nextafter(numpy.float16(high) if _is_number(high) else as_array(high).astype(HALF), numpy.float16(-math.inf))
    return minimum(_halved(x), last)


def common_shape(*parameters):
    return numpy.broadcast_shapes(*map(numpy.shape, parameters))


def drawn_shape(size, common):
    """The shape of a draw whose parameters broadcast to `common`."""
    shape = common if size is None else as_shape(size)
    try:
        fits = numpy.broadcast_shapes(common, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"Output size {shape} is not compatible with broadcast dimensions of inputs {common}.")
    return shape


def older(generator):
    """The older interface over the same bits."""
    return numpy.random.RandomState(generator.bit_generator)


REFUSALS = (TypeError, ValueError, LookupError, AttributeError, OverflowError)
BEFORE_OUT = {"random": 2, "standard_normal": 2, "standard_gamma": 3, "standard_exponential": 3}


def _twin(x, name):
    """An argument for NumPy to try: a copy that may be written to only if a method of that name may write to x."""
    twin = unwrap(x)
    if not is_array(x) or not isinstance(twin, numpy.ndarray):
        return twin
    flags = x.flags
    twin = twin.copy("F" if flags.f_contiguous and not flags.c_contiguous else "C")
    twin.flags.writeable = flags.writeable and (name not in BEFORE_OUT or flags.c_contiguous or flags.f_contiguous)
    return twin


def last_word(name, theirs):
    """What a method of that name does when it fails: it raises NumPy's error. Where NumPy has none, its own.

    theirs(self): an instance of NumPy's class, to try.
    """

    def decide(error, self, args, keywords):
        method = getattr(theirs(self), name)
        if "dtype" in keywords and "dtype" not in method.__doc__.split(")")[0]:
            raise error                             # of a parameter of our own
        if name in BEFORE_OUT and isinstance(self, Generator):
            out = args[-1] if len(args) == BEFORE_OUT[name] + 1 else keywords.get("out")
            if out is not None and not isinstance(out, (ndarray, numpy.ndarray)):
                raise TypeError(f"out must be an array, not {out!r}")       # NumPy reads it as one, whatever it is
        try:
            method(*(_twin(x, name) for x in args), **{key: _twin(x, name) for key, x in keywords.items()})
        except Exception as refusal:
            if type(refusal) is not type(error) or str(refusal) != str(error):
                raise refusal from error
        raise error

    return decide


def refusing(kind, names, theirs):
    """Those methods of a class raise what NumPy's raise."""
    for name in names:
        method = getattr(kind, name)
        setattr(kind, name, or_else(kind, name, method, last_word(method.__name__, theirs), REFUSALS))


def _comparable(state):
    """A state of NumPy's without arrays: two are equal or not."""
    if isinstance(state, dict):
        return {key: _comparable(x) for key, x in state.items()}
    return state.tolist() if isinstance(state, numpy.ndarray) else state


def _seed_of(bits):
    """The seed of a bit generator of NumPy's, if it is as its seed made it; else one made from its state."""
    seed, state = bits.seed_seq, _comparable(bits.state)
    if isinstance(seed, numpy.random.SeedSequence) and state == _comparable(type(bits)(seed).state):
        return seed
    return numpy.random.SeedSequence(int.from_bytes(hashlib.sha256(repr(state).encode()).digest()))


def _ahead(state, step):
    """The state of a stream that has given `step` draws more."""
    *key, draw = state["counter"]
    return {**state, "counter": (*key, (draw + step) % (1 << 64))}


def _payload(generator, fill, part):
    """What the task of one block does."""

    def run(_error):
        fill(generator(), window(part, write=True))

    return run


class Stream:
    """A sequence of draws: what Generator and the older interface share."""

    _interface = staticmethod(lambda generator: generator)      # NumPy's of this kind, over a generator's bits

    def __init__(self, seed=None):
        self._start(seed)

    def _start(self, seed):
        from numpy.random import SeedSequence
        if isinstance(seed, Stream):
            seed = seed._seed
        if not isinstance(seed, type):
            for name in ("bit_generator", "_bit_generator"):    # of a Generator or RandomState of NumPy's
                seed = getattr(seed, name, seed)
            if isinstance(seed, Bits):
                self.__dict__ = seed._stream.__dict__           # one stream, whoever draws from it
                return
            if hasattr(seed, "seed_seq"):
                seed = _seed_of(seed)
        if not isinstance(seed, SeedSequence):
            seed = SeedSequence(unwrap(seed))
        self._seed = seed
        self.__dict__.pop("_generator", None)
        key0, key1, low, high = SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 0x64726177)).generate_state(4)
        self._seen = int(low) | int(high) << 32                     # what the last draw of _small leaves the counter at
        self._counter = Counter(int(key0), int(key1), self._seen)
        self._key = None                                            # of NumPy's generators, when one is needed

    @property
    def _small(self):
        """NumPy's generator, for what has no kernel and for few numbers: made when it is first asked. See _drawing."""
        made = self.__dict__.get("_generator")
        if made is None:            # of two threads that come at once both get the same
            made = self.__dict__.setdefault("_generator", numpy.random.Generator(numpy.random.Philox(self._seed)))
        return made

    @property
    def _drawing(self):
        """The same, for a draw: other draws since its last one have moved it by as many times 2^64 numbers."""
        generator, draw = self._small, self._counter.count()
        if draw != self._seen:
            with generator.bit_generator.lock:          # another thread may draw from it, without the GIL
                generator.bit_generator.advance(draw - self._seen << 64)
        self._seen = draw + 1
        return generator

    def _task(self):
        """A function that makes the generator of the next block, on the worker."""
        if self._key is None:
            seed = numpy.random.SeedSequence(self._seed.entropy, spawn_key=(*self._seed.spawn_key, 0x666C6F77))
            self._key = seed.generate_state(2, numpy.uint64)
        key, index = self._key, self._counter.count()

        return functools.partial(generators.of_block, key, index)

    def _fill(self, shape, dtype, fill, cut=True, reads=()):
        """A pending array that fill(generator, window of a part of it) writes, block by block when `cut`.

        reads: arrays that fill() looks at.
        """
        out = core.empty(shape, dtype)
        flat = out.reshape(-1) if cut else out
        step = BLOCK if cut else max(out.size, 1)
        for start in range(0, max(out.size, 1), step):          # of nothing too: a draw is a draw
            part = flat[start:start + step] if out.size > step else flat
            host(_payload(self._task(), fill, part), list(reads), [part])
        return out

    def _of_arrays(self, draw, shape, dtype, parameters):
        """A draw whose parameters, some of them arrays of ours, draw(generator, parameters, shape) sees as NumPy's.

        One alone, as a generator broadcasts them; but blocks like those of numbers, where no parameter has axes.
        """
        ours = arrays_in(parameters)
        if math.prod(shape) < SMALL and all(x.is_ready() and x.size < SMALL for x in ours):
            generator, values = self._task(), seen(parameters, plain)
            return as_scalar(as_array(numpy.asarray(draw(generator(), values, shape), dtype)))

        def fill(generator, w):
            w[...] = draw(generator, seen(parameters), w.shape)

        return as_scalar(self._fill(shape, dtype, fill, not any(map(numpy.ndim, parameters)), ours))

    def get_state(self, legacy=True):
        """What set_state takes to continue from here. `legacy` is RandomState's: there is one form here."""
        seed, small = _comparable(self._seed.state), _comparable(self._small.bit_generator.state)
        return {"seed": seed, "small": small, "seen": self._seen, "counter": self._counter.state()}

    def set_state(self, state):
        """Continue from where get_state was called."""
        if not isinstance(state, dict) or "counter" not in state:
            raise ValueError("a state is what get_state() returned")
        self._start(numpy.random.SeedSequence(**state["seed"]))
        self._small.bit_generator.state = state["small"]
        self._counter, self._seen = Counter(*state["counter"]), state["seen"]

    def __reduce__(self):
        return _restored, (type(self), self.get_state())

    # ---- the draws that have a way of their own

    def _standard(self, kernels, name, size, dtype, out, *shape):
        """A kernel's draw, or `out` filled."""
        code = DOUBLE if dtype is FLOAT else _float_code(dtype, name)
        if out is not None:
            _check_contiguous(out, name == "standard_gamma")
        if out is None or is_array(out):
            return self._counter.draw(kernels[code], code, size, *(shape or (0.0, 1.0)), out=out)
        if out.dtype != dtype:
            expected = "float64" if code == DOUBLE else "float32"
            raise TypeError(f"Supplied output array has the wrong type. Expected {expected}, got {out.dtype}")
        if size is not None and as_shape(size) != out.shape:
            raise ValueError("size must match out.shape when used together")
        out[...] = self._counter.draw(kernels[code], code, out.shape, *(shape or (0.0, 1.0)))
        return out

    def random(self, size=None, dtype=FLOAT, out=None):
        """Uniform in [0, 1)."""
        if dtype is FLOAT and out is None:
            return self._counter.draw(RANDOM[DOUBLE], DOUBLE, size)
        return self._standard(RANDOM, "random", size, dtype, out)

    def standard_normal(self, size=None, dtype=FLOAT, out=None):
        """Normal, of mean 0 and standard deviation 1."""
        if dtype is FLOAT and out is None:
            return self._counter.draw(NORMAL[DOUBLE], DOUBLE, size)
        return self._standard(NORMAL, "standard_normal", size, dtype, out)

    def standard_exponential(self, size=None, dtype=FLOAT, method="zig", out=None):
        """Exponential, of mean 1. `method` is NumPy's: there is one here."""
        return self._standard(EXPONENTIAL, "standard_exponential", size, dtype, out)

    def standard_gamma(self, shape, size=None, dtype=FLOAT, out=None):
        """Gamma, of a shape and of scale 1."""
        if _is_number(shape) and 0 < shape < math.inf:
            return self._standard(GAMMA, "standard_gamma", size, dtype, out, shape, 1.0)
        dtype = numpy.dtype(dtype)
        if out is None:
            keywords = {} if dtype == FLOAT else {"dtype": dtype}

            def draw(shape):
                return self._other("standard_gamma", 1, (shape,), size, keywords)

            return by_shape(shape, draw) if is_array(shape) else draw(shape)
        _check_contiguous(out, True)
        if out.dtype != dtype or size is not None and as_shape(size) != out.shape:
            self._small.standard_gamma(1.0, size, dtype, stand_in(out))         # its errors
        out[...] = self._other("standard_gamma", 1, (shape,), out.shape, {"dtype": dtype})
        return out

    def _scaled(self, kernels, name, offset, scale, size, dtype):
        """offset + scale * a standard draw; both may be arrays, which the result broadcasts with."""
        if _is_half(dtype):
            return _halved(self._scaled(kernels, name, offset, scale, size, numpy.float32))
        code = DOUBLE if dtype is FLOAT else _float_code(dtype, name)
        if _is_number(offset) and _is_number(scale):
            return self._counter.draw(kernels[code], code, size, offset, scale)
        offset, scale = _parameter(offset), _parameter(scale)
        if "c" in (offset.dtype.kind, scale.dtype.kind):
            raise TypeError("parameters are real")
        shape = drawn_shape(size, numpy.broadcast_shapes(offset.shape, scale.shape))
        return (self._counter.draw(kernels[code], code, shape) * scale + offset).astype(dtypes[code], copy=False)

    def normal(self, loc=0.0, scale=1.0, size=None, dtype=FLOAT):
        """Normal, of mean `loc` and deviation `scale`. ValueError for a negative scale, on reading for an array."""
        if dtype is FLOAT and type(loc) in PLAIN and type(scale) in PLAIN and scale > 0:
            return self._counter.draw(NORMAL[DOUBLE], DOUBLE, size, loc, scale)
        return self._scaled(NORMAL, "normal", loc, _scale(scale), size, dtype)

    def uniform(self, low=0.0, high=1.0, size=None, dtype=FLOAT):
        """Uniform in [low, high)."""
        if dtype is FLOAT and type(low) in PLAIN and type(high) in PLAIN and 0 < high - low < math.inf:
            return self._counter.draw(RANDOM[DOUBLE], DOUBLE, size, low, high - low)
        is_older = isinstance(self, Shared)
        if _is_half(dtype):
            return _below(high, self.uniform(low, high, size, numpy.float32))
        if _is_number(low) and _is_number(high):
            span = float(high) - float(low)
            if not -math.inf < span < math.inf:
                text = "Range exceeds valid bounds" if is_older else "high - low range exceeds valid bounds"
                raise OverflowError(text)
            if span < 0 and not is_older:
                raise ValueError("high - low < 0")
        else:
            ours = is_array(low) or is_array(high)
            span = high - low if ours else numpy.subtract(high, low, dtype=float)
            span = checked(_check_span_older if is_older else _check_span, as_array(span))
        return self._scaled(RANDOM, "uniform", low, span, size, dtype)

    def exponential(self, scale=1.0, size=None, dtype=FLOAT):
        """Exponential, of mean `scale`. ValueError for a negative scale, on reading for an array."""
        if dtype is FLOAT and type(scale) in PLAIN and scale > 0:
            return self._counter.draw(EXPONENTIAL[DOUBLE], DOUBLE, size, 0.0, scale)
        return self._scaled(EXPONENTIAL, "exponential", 0.0, _scale(scale), size, dtype)

    def _integers(self, low, high, size, dtype, endpoint):
        """Integers in [low, high), or [low, high]; a single one is of the type asked for."""
        bounds = _bounds(dtype)
        if bounds and not any_of_ours(low, high) and isinstance(low, INTEGERS) and isinstance(high, INTEGERS):
            last = int(high) if endpoint else int(high) - 1
            if bounds[1] <= low <= last <= bounds[2]:
                drawn = self._counter.integers(int(low), last, bounds[0], size)
                return drawn if size is not None or bounds[3] is int else bounds[3](drawn)
        if any_of_ours(low, high):
            return self._of_arrays(lambda g, p, shape: g.integers(*p, shape, dtype, endpoint),
                                   drawn_shape(size, common_shape(low, high)), numpy.dtype(dtype), [low, high])
        result = self._drawing.integers(low, high, size, dtype, endpoint)
        return as_array(result) if isinstance(result, numpy.ndarray) else result

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True):
        """Random elements of a 1-d array, or of range(a); `p`: their probabilities, its errors may come on reading."""
        return self._of_population(_population(a), size, replace, p, axis, shuffle)

    def _of_population(self, a, size, replace, p, axis=0, shuffle=True):
        numbers = not isinstance(a, ndarray)
        n = int(a) if numbers else a.shape[axis]
        if replace and p is None and n > 0:
            index = self._integers(0, n, size, int, False)
        else:
            index = self._chosen(n, size, replace, p, shuffle)
        if numbers:
            return index
        if not is_array(a):
            return a.take(plain(index), axis)
        if is_array(p) and not index.is_ready():     # of indices that need no check
            shape = (*a.shape[:axis], *index.shape, *a.shape[axis:][1:])
            return task(numpy.take, a, index, axis=axis, shape=shape, dtype=a.dtype)
        chosen = take(a, index, axis)
        return chosen if size is None or chosen.ndim else chosen[...]       # for size=() an array, no scalar

    def _chosen(self, n, size, replace, p, shuffle):
        """Indices below n for choice()."""
        shape = () if size is None else as_shape(size)
        count = math.prod(shape)

        def choose(generator, p, shape):
            try:
                return generator.choice(n, shape, replace, p, 0, shuffle)
            except ValueError:          # NumPy words it by the interface
                self._interface(generator).choice(n, shape, replace, p)
                raise

        if not replace and count > n:
            choose(self._small, None, shape)
        if is_array(p):
            choose(self._small, numpy.full(p.shape, 1 / max(p.size, 1)), 0)         # errors of its shape
            return self._of_arrays(lambda generator, p, shape: choose(generator, p[0], shape), shape, INTEGER, [p])
        if count < SMALL:
            index = choose(self._drawing, p, size)
            return as_array(index) if size is not None else int(index)
        choose(self._small, p, 0)                   # its errors

        def fill(generator, w):
            w[...] = choose(generator, p, w.shape)

        return self._fill(shape, INTEGER, fill, False)

    def shuffle(self, x, axis=0):
        """Reorder along an axis, in place: asynchronously, for our arrays; many rows as a host task."""
        if not is_array(x):
            called(self._drawing.shuffle, (x, axis), {})
            return
        few = x.size < SMALL and x.ndim == 1 and axis == 0
        shuffle = few and self._drawing.shuffle     # one draw, whether x is there or not
        if few and at_once(shuffle, (x,), writes=True) is not LATER:
            return
        len(x)                                      # TypeError without axes
        if not x.flags.writeable:
            raise ValueError("array is read-only")
        axis = normalize_axis_index(axis, x.ndim)
        if x.shape[axis] < SMALL:               # a task and its generator take 10 us
            index = numpy.arange(x.shape[axis])
            (shuffle or self._drawing.shuffle)(index)
            x[...] = take(x, as_array(index), axis)
            return
        host(_payload(self._task(), lambda g, w: g.shuffle(w, axis), x), [x], [x])

    def permutation(self, x, axis=0):
        """A shuffled copy of an array, or of range(x)."""
        x = unwrap(x) if is_array(x) and x.ndim == 0 else x
        if isinstance(x, INTEGERS):
            result, axis = arange(int(x)), 0
        else:
            result = _held(x).copy()
            if not result.ndim:
                raise IndexError("x must be an integer or at least 1-dimensional")
        Stream.shuffle(self, result, axis)
        return result

    def bytes(self, length):
        """Random bytes."""
        return self._drawing.bytes(length)

    # ---- all other distributions

    def _kernel(self, name, args, size, keywords):
        """A draw of one of DISTRIBUTIONS by its kernel, if the parameters are numbers that it is for."""
        number, code, names, defaults, valid = DISTRIBUTIONS[name]
        if len(args) > len(names):
            if len(args) > len(names) + 1:
                raise TypeError(f"{len(args)} positional arguments")
            size, args = args[-1], args[:-1]
        values = args if not keywords and len(args) == len(names) else \
            (*args, *(keywords.get(key, default) for key, default in zip(names[len(args):], defaults[len(args):])))
        if all(map(_is_number, values)) and valid(*values) and keywords.keys() <= set(names[len(args):]):
            return self._counter.draw(number, code, size, *values)
        return self._other(name, len(names), args, size, keywords)

    def _other(self, name, nargs, args, size, keywords):
        """NumPy's method of that name."""
        if nargs < len(args) <= nargs + 1:
            size, args = args[nargs], args[:nargs]
        dtype = numpy.dtype(keywords.get("dtype", INTEGER if name in COUNTS else FLOAT))
        names, values = list(keywords), [*args, *keywords.values()]
        vector = name in VECTORS

        def draw(generator, values, shape):
            given = dict(zip(names, values[len(args):]))
            method = getattr(self._interface(generator), name)
            return method(*values[:len(args)], size=shape[:-1] if vector else shape, **given)

        if any_of_ours(values) and (name in STANDARD or name in OF_GAMMA):
            return self._from_standard(name, size, values, names)
        if any_of_ours(values):
            shape = vectors(name, values, names, size, isinstance(self, Shared)) if vector else \
                drawn_shape(size, common_shape(*(x for x in values if not isinstance(x, (str, numpy.dtype)))))
            given = distributions.shares(values) if name == "multinomial" else values
            return self._of_arrays(draw, shape, dtype, given)
        if vector or size is None or math.prod(as_shape(size)) < SMALL:
            result = getattr(self._interface(self._drawing), name)(*args, size=size, **keywords)
            return as_array(result) if isinstance(result, numpy.ndarray) else result
        numbers = all(numpy.ndim(x) == 0 for x in values)
        if numbers:
            draw(self._small, values, (0,))         # its errors

        def fill(generator, w):
            w[...] = draw(generator, values, w.shape)

        return self._fill(as_shape(size), dtype, fill, numbers)

    def _from_standard(self, name, size, values, names):
        """A draw of one of STANDARD or OF_GAMMA whose parameters are arrays, by which it has gradients."""
        standard, last, positive, function = STANDARD.get(name) or ("standard_gamma", *OF_GAMMA[name])
        _, _, keys, defaults, _ = DISTRIBUTIONS[name]
        given = dict(zip(keys, defaults)) | dict(zip([*keys[:len(values) - len(names)], *names], values))
        *others, scale = [_parameter(given.pop(key)) for key in keys]
        if given:
            raise TypeError(f"{name}() has no parameter {', '.join(given)}")
        if any(x.dtype.kind == "c" for x in (*others, scale)):
            raise TypeError("parameters are real")
        scale = checked(_more_than_zero(last) if positive else _not_negative(last), scale)
        shape = drawn_shape(size, common_shape(*others, scale))
        draw = getattr(self, standard)
        return function(functools.partial(draw, size=shape) if name in OF_GAMMA else draw(size=shape), *others, scale)


def _of_seed(kind, seed):
    stream = kind.__new__(kind)
    stream._start(seed)
    return stream


def _restored(kind, state):
    stream = kind.__new__(kind)
    stream.set_state(state)
    return stream


def vectors(name, values, names, size, is_older):
    """The shape of a draw of vectors, one of VECTORS, with these parameters, the last of them named."""
    given = dict(zip(names, values[len(values) - len(names):]))
    first, *rest = [*values[:len(values) - len(names)], *(given[key] for key in PARAMETERS[name] if key in given)]
    lead = ()
    if name == "multinomial":
        lead, first = common_shape(first, numpy.empty(numpy.shape(rest[0])[:-1])), rest[0]
        if is_older and lead:
            raise ValueError("one number of trials, and 1-d probabilities")
    shape = numpy.shape(first)
    if not shape or name != "multinomial" and len(shape) > 1 or name == "multivariate_normal" and (
            numpy.shape(rest[0]) != 2 * shape):
        getattr(numpy.random.default_rng(0), name)(*map(stand_in, (first, *rest)))          # its errors
    return *drawn_shape(size, lead), shape[-1]


def _give(name, draw):
    draw.__name__ = draw.__qualname__ = name
    draw.__wrapped__ = getattr(numpy.random.Generator, name)        # for its signature
    draw.__doc__ = f"numpy.random.Generator.{name}, of the same parameters."
    setattr(Stream, name, draw)


def _kernel_method(name, number, code, names, _defaults, valid):
    count = len(names)

    def draw(self, *args, size=None, **keywords):
        if not keywords:
            result = self._counter.plain(number, code, count, valid, args, size)
            if result is not NotImplemented:
                return result
        return self._kernel(name, args, size, keywords)

    return draw


def _other_method(name, nargs):
    def draw(self, *args, size=None, **keywords):
        return self._other(name, nargs, args, size, keywords)

    return draw


def _give_kernels():
    """Stream gets a method for each of DISTRIBUTIONS."""
    for name, (text, valid) in DISTRIBUTIONS.items():
        pairs = [word.partition("=") for word in text.split()]
        names = tuple(key for key, _, _ in pairs)
        defaults = tuple(float(value) if value else None for _, _, value in pairs)
        DISTRIBUTIONS[name] = (KERNELS[name, 8], LONG if name in COUNTS else DOUBLE, names, defaults, valid)

        _give(name, _kernel_method(name, *DISTRIBUTIONS[name]))


def _give_others():
    """And one for each of OTHERS."""
    for name, nargs in OTHERS.items():
        _give(name, _other_method(name, nargs))


_give_kernels()
_give_others()


def _check_contiguous(out, rows_last):
    flags = getattr(out, "flags", None)
    if not isinstance(out, (ndarray, numpy.ndarray)) or not flags.writeable or not (
            flags.c_contiguous or flags.f_contiguous and not rows_last):
        raise ValueError(f"Supplied output array must be {'C-' if rows_last else ''}contiguous, writable, aligned, "
                         "and in machine byte-order.")


def _check_permuted(x, out):
    """NumPy's errors of an output."""
    if not isinstance(out, (ndarray, numpy.ndarray)):
        raise TypeError("out must be a numpy array")
    if not out.flags.writeable:
        raise ValueError("out is read-only")
    if out.shape != x.shape:
        raise ValueError("out must have the same shape as x")
    if not numpy.can_cast(x.dtype, out.dtype):
        raise TypeError(f"Cannot cast array data from {x.dtype!r} to {out.dtype!r} according to the rule 'safe'")


class Bits:
    """The source of a Generator: its state, to keep, set and move, and the seed behind it. Its users share a stream."""

    def __init__(self, seed=None):
        self._stream = seed if isinstance(seed, Stream) else _of_seed(Generator, seed)

    def __getattr__(self, name):
        if name not in ("capsule", "cffi", "ctypes", "lock", "random_raw", "spawn"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        stream = self._stream
        return getattr((stream._drawing if name == "random_raw" else stream._small).bit_generator, name)

    seed_seq = _seed_seq = property(lambda self: self._stream._seed)        # its names in NumPy and Dask

    def advance(self, delta):
        """Leave out so many draws, of any size; below 0: go back."""
        numpy.random.Philox(0).advance(delta)                       # its errors
        Stream.set_state(self._stream, _ahead(Stream.get_state(self._stream), delta))
        return self

    def jumped(self, jumps=1):
        """Another, as far ahead as any number of jumps allows: by parts of 2^64 in the golden ratio."""
        numpy.random.Philox(0).jumped(jumps)                        # its errors
        state = _ahead(Stream.get_state(self._stream), jumps * GOLDEN)
        spawned = state["seed"]["n_children_spawned"] + jumps * (GOLDEN >> 32)
        state["seed"]["n_children_spawned"] = spawned % (1 << 32)
        return Bits(_restored(type(self._stream), state))

    @property
    def state(self):
        return {"bit_generator": "Philox", **Stream.get_state(self._stream)}

    @state.setter
    def state(self, value):
        Stream.set_state(self._stream, value)


class Kind(type):
    """Of a class whose objects NumPy has too: isinstance() holds for NumPy's, of the class `_theirs`."""

    def __subclasscheck__(cls, kind):
        return super().__subclasscheck__(kind) or issubclass(kind, vars(cls).get("_theirs", ()))

    def __instancecheck__(cls, x):
        return issubclass(type(x), cls) or issubclass(x.__class__, cls)


class Generator(Stream, metaclass=Kind):
    """What default_rng returns. A bit generator of NumPy's counts for its seed, or its state, if that is another."""

    def __init__(self, bit_generator):
        if isinstance(bit_generator, type):
            raise ValueError("Invalid bit generator. The bit generator must be instantiated.")
        _ = bit_generator.capsule                   # or it is none: AttributeError
        self._start(bit_generator)

    def __str__(self):
        return "Generator(Philox)"

    def __repr__(self):
        return f"{self} at 0x{id(self):X}"

    _theirs = numpy.random.Generator
    bit_generator = property(Bits, doc="The source of the stream: its state and its seed.")

    # Libraries ask isinstance(), or hand it to NumPy's default_rng(), which then draws from this one's own generator.
    __class__ = property(lambda self: numpy.random.Generator)
    capsule = property(lambda self: self._small.bit_generator.capsule, doc="The source, for NumPy's generators.")
    lock = property(lambda self: self._small.bit_generator.lock, doc="Of the source.")
    _bit_generator = property(lambda self: self._small.bit_generator)

    def integers(self, low, high=None, size=None, dtype=numpy.int64, endpoint=False):
        """Integers in [low, high), or [0, low); `endpoint` includes the last."""
        if high is None:
            low, high = 0, low
        return self._integers(low, high, size, dtype, endpoint)

    def permuted(self, x, *, axis=None, out=None):
        """A copy whose elements are shuffled along an axis, each row by itself."""
        x = _held(x)
        if not is_array(x):
            return self._drawing.permuted(x, axis=axis, out=out)
        if axis is not None:
            normalize_axis_index(axis, x.ndim)
        result = x.copy() if out is None else out
        if out is not None:
            _check_permuted(x, out)
            if out is not x:
                out[...] = x
        if result.ndim == 1 and result.size < SMALL:
            self.shuffle(result)
            return result
        host(_payload(self._task(), lambda g, w: g.permuted(w, axis=axis, out=w), result), [result], [result])
        return result

    def multivariate_hypergeometric(self, colors, nsample, size=None, method="marginals"):
        """How many of each colour are in a sample that is drawn without putting back."""
        if any_of_ours(colors, nsample):
            shape = (*(() if size is None else as_shape(size)), *numpy.shape(colors))
            return self._of_arrays(lambda g, p, shape: g.multivariate_hypergeometric(*p, shape[:-1], method), shape,
                                   INTEGER, [colors, nsample])
        return as_array(self._drawing.multivariate_hypergeometric(colors, nsample, size, method))

    def spawn(self, n_children):
        """So many independent generators."""
        n_children = int(n_children) if _is_number(plain(n_children)) else n_children
        return [_of_seed(Generator, seed) for seed in self._seed.spawn(n_children)]


def random_integers(self, low, high=None, size=None):
    """Integers in [low, high], or [1, low]; waits for bounds that are arrays. Deprecated, as in NumPy: use randint."""
    low, high = (1, low) if high is None else (low, high)
    text = f"This function is deprecated. Please call randint({low}, {high} + 1) instead"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return self.randint(low, int(high) + 1, size)


class Shared(Stream):
    """The older interface on Philox: the functions of dflow.numpy.random are the methods of one of these."""

    _interface = staticmethod(older)
    __class__ = property(lambda self: numpy.random.RandomState)         # for who asks mtrand._rand

    def seed(self, seed=None):
        """Start again from a seed, integers below 2^32, or from the system's entropy: this stream, and NumPy's own."""
        numpy.random.seed(plain(seed))              # what others draw from there; its errors
        self.start(seed)

    def start(self, seed):
        """The same, of this stream alone, as MXNet's seed() leaves NumPy's as it is."""
        if seed is not None:
            generators.older().seed(plain(seed))        # its errors
            seed = mersenne.short(numpy.asarray(plain(seed)).tolist())
        self._start(seed)

    def get_state(self, legacy=True):
        """What set_state takes to continue from here, in NumPy's form: a tuple, or with legacy=False a dictionary."""
        return wrap(mersenne.mersenne(Stream.get_state(self), legacy))

    def set_state(self, state):
        """Continue from where get_state was called; from a state of NumPy's, with numbers that follow from it."""
        state = unwrap(state)
        if not isinstance(state, dict) or "counter" not in state:
            state = mersenne.stream_of(state)
        if isinstance(state, dict):
            Stream.set_state(self, state)
        else:
            self._start(state)

    def __reduce__(self):
        return _restored, (type(self), Stream.get_state(self))

    def rand(self, *shape, dtype=FLOAT):
        """Uniform in [0, 1), of the shape given as arguments."""
        if _is_half(dtype):
            return _below(1, Stream.random(self, shape or None, numpy.float32))
        return Stream.random(self, shape or None, dtype)

    def randn(self, *shape, dtype=FLOAT):
        """Standard normal, of the shape given as arguments."""
        if _is_half(dtype):
            return _halved(Stream.standard_normal(self, shape or None, numpy.float32))
        return Stream.standard_normal(self, shape or None, dtype)

    def randint(self, low, high=None, size=None, dtype=int):
        """Integers in [low, high), or [0, low)."""
        if high is None:
            low, high = 0, low
        return self._integers(low, high, size, dtype, False)

    def choice(self, a, size=None, replace=True, p=None):
        """Random elements of a 1-d array, or of range(a); `p`: their probabilities, its errors may come on reading."""
        a = _population(a)
        if isinstance(a, ndarray) and a.ndim > 1:
            raise ValueError("a must be 1-dimensional")
        return self._of_population(a, size, replace, p)

    def shuffle(self, x):
        """Reorder along the first axis, in place: asynchronously, for our arrays; many rows as a host task."""
        Stream.shuffle(self, x)

    def permutation(self, x):
        """A shuffled copy of an array, or of range(x)."""
        return Stream.permutation(self, x)

    def standard_normal(self, size=None):
        """Normal, of mean 0 and standard deviation 1."""
        return self._counter.draw(NORMAL[DOUBLE], DOUBLE, size)

    def standard_exponential(self, size=None):
        """Exponential, of mean 1."""
        return self._counter.draw(EXPONENTIAL[DOUBLE], DOUBLE, size)

    def standard_gamma(self, shape, size=None):
        """Gamma, of a shape and of scale 1."""
        return Stream.standard_gamma(self, shape, size)

    random_integers = random_integers

    def random_sample(self, size=None):
        """Uniform in [0, 1)."""
        return self._counter.draw(RANDOM[DOUBLE], DOUBLE, size)

    def random(self, size=None):
        """Uniform in [0, 1)."""
        return self._counter.draw(RANDOM[DOUBLE], DOUBLE, size)


def _held(a):
    """An array of ours, or of NumPy's, where it is none of numbers."""
    if isinstance(a, (list, tuple)) and a and isinstance(a[0], (str, bytes)):
        return numpy.asarray(a)         # at once: as_array() would do that, too, to see what it is
    try:
        return as_array(a)
    except NotHeld:
        return numpy.asarray(a)


def _population(a):
    """What choice() draws from: an array, made once of a sequence, or an integer."""
    if not is_array(a) and not isinstance(a, (int, numpy.integer)) and not numpy.isscalar(a) and a is not None:
        a = _held(a)
    if is_array(a) and a.ndim == 0:
        a = plain(a)[()]
    if not isinstance(a, (ndarray, int, numpy.integer)):
        raise ValueError("a must be a sequence or an integer")
    return a


def _for_trial(self):
    return numpy.random.RandomState(0) if isinstance(self, Shared) else numpy.random.default_rng(0)


def default_rng(seed=None):
    """A Generator; the same numbers for the same seed: an integer, a SeedSequence or a bit generator of NumPy's."""
    return seed if isinstance(seed, Stream) and hasattr(seed, "bit_generator") else _of_seed(Generator, seed)


_SHARED = """seed get_state set_state rand randn randint random_integers random_sample ranf sample random normal
    uniform standard_normal standard_gamma exponential standard_exponential choice shuffle permutation bytes""".split()
_ALIASES = {"ranf": "random_sample", "sample": "random_sample"}


def _names(kind, theirs):
    """The public methods that NumPy's has, too."""
    return [name for name in dir(kind) if not name.startswith("_") and callable(getattr(theirs, name, None))]


def _function(method, name):
    """A function instead of a method: in a class, it gets the object, as NumPy's of that name does."""
    @functools.wraps(method)
    def function(*args, **keywords):
        return method(*args, **keywords)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "dflow.numpy.random"
    return function


_shared = Shared()


def get_bit_generator():
    """The source of what the functions of this module draw."""
    return Bits(_shared)


def set_bit_generator(bitgen):
    """Let the functions of this module draw from another source: that of a Generator, or one of NumPy's."""
    if isinstance(bitgen, type):
        raise ValueError("Invalid bit generator. The bit generator must be instantized.")
    _ = bitgen.capsule
    _shared._start(bitgen)


def _rows():
    refusing(Generator, _names(Generator, numpy.random.Generator), _for_trial)
    refusing(Shared, _names(Shared, numpy.random), _for_trial)
    for name in (*_SHARED, *DISTRIBUTIONS, *OTHERS):
        host = name in OTHERS or name == "choice"
        draw = getattr(_shared, _ALIASES.get(name, name))
        draw = _function(draw, name) if name == "seed" or name in _ALIASES else draw
        add_row(name, draw, kind="host" if host else "kernel", module="numpy.random")
    for thing in (default_rng, Generator, get_bit_generator, set_bit_generator):
        add_row(thing.__name__, thing, module="numpy.random")


_rows()
