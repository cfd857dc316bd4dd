"""Random numbers, from counters (Philox): the same for any number of workers.

A stream has a key, made from its seed. A small draw comes at once, in the calling thread, from the stream's own
generator. A large one is cut into blocks of a fixed size; each block is a host task with a generator of its own, whose
counter follows from the number of blocks submitted before. So the numbers depend on the seed and on the order of the
calls, not on who runs them or when.
"""

import copy
import functools
import itertools
import math
import operator

import numpy
from numpy.lib.array_utils import normalize_axis_index

from dflow import _array
from dflow._array import array as as_array
from dflow._array import ndarray, window
from dflow._index import take
from dflow._views import fill_numpy
from dflow.ops.creation import arange
from dflow.ops.table import add_row

SMALL = 4096                # draws below this come at once
BLOCK = 1 << 18             # elements that one task fills: some milliseconds

FLOAT = numpy.dtype(float)
INTEGER = numpy.dtype(int)


def as_shape(size):
    """A size as a tuple of ints."""
    if type(size) is int:
        return (size,)
    return tuple(map(operator.index, size)) if hasattr(size, "__iter__") else (operator.index(size),)


def _value(x):
    """Parameters as Python or NumPy numbers; arrays of ours are waited for."""
    return x.asnumpy() if isinstance(x, ndarray) else x


@functools.cache
def _probe():
    """A generator whose numbers nobody wants."""
    from numpy.random import Generator, Philox
    return Generator(Philox(0))


def _is_number(x):
    return isinstance(x, (int, float, numpy.number))


def _payload(generator, fill, part):
    """What the task of one block does."""

    def run(_error):
        fill(generator(), window(part, write=True))

    return run


class Stream:
    """A sequence of draws: what Generator and RandomState share."""

    def __init__(self, seed=None):
        self._start(seed)

    def _start(self, seed):
        from numpy.random import Generator, Philox, SeedSequence
        if isinstance(seed, Stream):
            seed = seed._seed
        if not isinstance(seed, SeedSequence):
            seed = SeedSequence(_value(seed))
        self._seed = seed
        self._small = Generator(Philox(seed))
        self._key = SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 0x666C6F77)).generate_state(2, numpy.uint64)
        self._blocks = itertools.count()        # next() is atomic: threads may share a stream

    def _task(self):
        """A function that makes the generator of the next block, on the worker."""
        key, index = self._key, next(self._blocks)

        def generator():
            from numpy.random import Generator, Philox
            return Generator(Philox(key=key, counter=numpy.array([0, 0, index, 0], numpy.uint64)))

        return generator

    def _fill(self, shape, dtype, fill, cut=True):
        """A pending array that fill(generator, window of a part of it) writes, block by block when `cut`."""
        out = _array.empty(shape, dtype)
        flat = out.reshape(-1) if cut else out
        step = BLOCK if cut else max(out.size, 1)
        for start in range(0, out.size, step):
            part = flat[start:start + step] if out.size > step else flat
            _array.host(_payload(self._task(), fill, part), [], [part])
        return out

    def _draw(self, size, dtype, fill, few):
        """size None: a Python number. Some: what few(generator, size) gives, at once. Many: tasks that fill."""
        if size is None:
            return few(self._small, None)
        shape = size if type(size) is tuple else as_shape(size)
        return as_array(few(self._small, shape)) if math.prod(shape) < SMALL else self._fill(shape, dtype, fill)

    # ---- the draws that have a way of their own

    def _standard(self, name, size, dtype, out, *options):
        """One of the generator's methods that take a type, and an array to fill."""
        if dtype is not FLOAT:
            dtype = numpy.dtype(dtype)
            if dtype.char not in "fd":
                raise TypeError(f"Unsupported dtype {dtype!r} for {name}")
        result = self._draw(out.shape if size is None and out is not None else size, dtype,
                            lambda generator, w: getattr(generator, name)(None, dtype, *options, w),
                            lambda generator, shape: getattr(generator, name)(shape, dtype, *options))
        if out is None:
            return result
        out[...] = result
        return out

    def random(self, size=None, dtype=FLOAT, out=None):
        """Uniform in [0, 1)."""
        if dtype is FLOAT and out is None:
            if size is None:
                return self._small.random()
            if type(size) is int and size < SMALL or math.prod(as_shape(size)) < SMALL:
                return as_array(self._small.random(size))
        return self._standard("random", size, dtype, out)

    def standard_normal(self, size=None, dtype=FLOAT, out=None):
        """Normal, of mean 0 and standard deviation 1."""
        if dtype is FLOAT and out is None and type(size) is int and size < SMALL:
            return as_array(self._small.standard_normal(size))
        return self._standard("standard_normal", size, dtype, out)

    def standard_exponential(self, size=None, dtype=FLOAT, method="zig", out=None):
        """Exponential, of mean 1."""
        return self._standard("standard_exponential", size, dtype, out, method)

    def _scaled(self, name, offset, scale, size, dtype):
        """offset + scale * a standard draw; both may be arrays, which the result broadcasts with."""
        draw = getattr(self, name)
        if _is_number(offset) and _is_number(scale):
            if size is None:
                return float(offset + scale * draw(None, dtype))
            if scale == 1 and offset == 0:
                return draw(size, dtype)
            dtype = numpy.dtype(dtype)

            def few(generator, shape):
                w = getattr(generator, name)(shape, dtype)
                w *= scale
                w += offset
                return w

            def fill(generator, w):
                getattr(generator, name)(out=w, dtype=dtype)
                w *= scale
                w += offset

            return self._draw(size, dtype, fill, few)
        offset, scale = as_array(offset), as_array(scale)
        common = numpy.broadcast_shapes(offset.shape, scale.shape)
        shape = common if size is None else as_shape(size)
        if numpy.broadcast_shapes(common, shape) != shape:
            raise ValueError(f"Output size {shape} is not compatible with broadcast dimensions of inputs {common}.")
        return draw(shape, dtype) * scale + offset

    def normal(self, loc=0.0, scale=1.0, size=None, dtype=FLOAT):
        """Normal, of mean `loc` and standard deviation `scale`. ValueError for a negative scale that is a number."""
        if type(size) is int and type(loc) is type(scale) is float and dtype is FLOAT and size < SMALL:
            return as_array(self._small.normal(loc, scale, size))
        if _is_number(scale) and scale < 0:
            raise ValueError("scale < 0")
        if dtype is FLOAT and type(loc) in (int, float) and type(scale) in (int, float):
            shape = size if type(size) is tuple else None if size is None else as_shape(size)
            if shape is None:
                return self._small.normal(loc, scale)
            if math.prod(shape) < SMALL:
                return as_array(self._small.normal(loc, scale, shape))
        return self._scaled("standard_normal", loc, scale, size, dtype)

    def uniform(self, low=0.0, high=1.0, size=None, dtype=FLOAT):
        """Uniform in [low, high)."""
        if type(size) is int and type(low) is type(high) is float and size < SMALL and abs(high - low) < numpy.inf:
            return as_array(self._small.uniform(low, high, size))
        if _is_number(low) and _is_number(high):
            if not numpy.isfinite(high - low):
                older = isinstance(self, RandomState)
                raise OverflowError("Range exceeds valid bounds" if older else "high - low range exceeds valid bounds")
            return self._scaled("random", low, high - low, size, dtype)
        low = as_array(low)
        return self._scaled("random", low, as_array(high) - low, size, dtype)

    def exponential(self, scale=1.0, size=None, dtype=FLOAT):
        """Exponential, of mean `scale`. ValueError for a negative scale that is a number."""
        if _is_number(scale) and scale < 0:
            raise ValueError("scale < 0")
        return self._scaled("standard_exponential", 0.0, scale, size, dtype)

    def _integers(self, low, high, size, dtype, endpoint):
        if type(size) is type(low) is type(high) is int and size < SMALL:
            return as_array(self._small.integers(low, high, size, dtype, endpoint))
        low, high, dtype = _value(low), _value(high), numpy.dtype(dtype)
        if not (numpy.ndim(low) or numpy.ndim(high)):
            if size is not None and math.prod(as_shape(size)) >= SMALL:
                _probe().integers(low, high, 1, dtype, endpoint)            # its errors

            def fill(generator, w):
                w[...] = generator.integers(low, high, w.shape, dtype, endpoint)

            def few(generator, shape):
                result = generator.integers(low, high, shape, dtype, endpoint)
                return result if shape is not None else result.item()

            return self._draw(size, dtype, fill, few)
        return as_array(self._small.integers(low, high, size, dtype, endpoint))

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True):
        """Random elements of a 1-d array, or of range(a); `p`: their probabilities."""
        source = a if isinstance(a, ndarray) or numpy.ndim(a) == 0 else as_array(a)
        n = source.shape[axis] if isinstance(source, ndarray) else operator.index(a)
        p = _value(p)
        if replace and p is None and n > 0:
            index = self._integers(0, n, size, INTEGER, False)
        else:
            count = math.prod(() if size is None else as_shape(size))
            if not replace and count > n:
                raise ValueError("Cannot take a larger sample than population when replace is False")
            if count < SMALL:
                index = self._small.choice(n, size, replace, p, 0, shuffle)
                index = as_array(index) if size is not None else int(index)
            else:
                self._small.choice(n, 0, replace, p)            # its errors

                def fill(generator, w):
                    w[...] = generator.choice(n, w.shape, replace, p, 0, shuffle)

                index = self._fill(as_shape(size), INTEGER, fill, False)
        return index if source is a and not isinstance(a, ndarray) else take(source, index, axis)

    def shuffle(self, x, axis=0):
        """Reorder along an axis, in place: a task, for our arrays."""
        if not isinstance(x, ndarray):
            self._small.shuffle(x, axis)
            return
        normalize_axis_index(axis, x.ndim)
        _array.host(_payload(self._task(), lambda g, w: g.shuffle(w, axis), x), [x], [x])

    def permutation(self, x, axis=0):
        """A shuffled copy of an array, or of range(x)."""
        result = arange(int(x)) if isinstance(x, (int, numpy.integer)) else as_array(x).copy()
        self.shuffle(result, axis)
        return result

    def bytes(self, length):
        """Random bytes."""
        return self._small.bytes(length)

    # ---- all other distributions

    def _other(self, name, nargs, args, size, keywords):
        """NumPy's method of that name: at once when small, else as tasks, one alone when parameters are arrays."""
        if len(args) > nargs:
            size, args = args[nargs], args[:nargs]
        args, keywords = [_value(x) for x in args], {key: _value(x) for key, x in keywords.items()}
        few = size is None or math.prod(as_shape(size)) < SMALL
        if few or name in VECTORS:
            result = getattr(self._small, name)(*args, size=size, **keywords)
            return as_array(result) if isinstance(result, numpy.ndarray) else result
        numbers = all(numpy.ndim(x) == 0 for x in [*args, *keywords.values()])
        if numbers:
            getattr(self._small, name)(*args, size=0, **keywords)       # its errors

        def fill(generator, w):
            w[...] = getattr(generator, name)(*args, size=w.shape, **keywords)

        return self._fill(as_shape(size), INTEGER if name in COUNTS else FLOAT, fill, numbers)


COUNTS = frozenset("binomial geometric hypergeometric logseries negative_binomial poisson zipf".split())
VECTORS = {"dirichlet": 1, "multinomial": 2, "multivariate_normal": 2}          # always at once
OTHERS = {      # name: number of parameters before `size`
    "beta": 2, "binomial": 2, "chisquare": 1, "f": 2, "gamma": 2, "geometric": 1, "gumbel": 2, "hypergeometric": 3,
    "laplace": 2,
    "logistic": 2, "lognormal": 2, "logseries": 1, "negative_binomial": 2, "noncentral_chisquare": 2, "noncentral_f": 3,
    "pareto": 1, "poisson": 1, "power": 1, "rayleigh": 1, "standard_cauchy": 0, "standard_gamma": 1, "standard_t": 1,
    "triangular": 3, "vonmises": 2, "wald": 2, "weibull": 1, "zipf": 1, **VECTORS}


def _give_others():
    """Stream gets a method for each of OTHERS."""
    for name, nargs in OTHERS.items():
        def draw(self, *args, size=None, _name=name, _nargs=nargs, **keywords):
            return self._other(_name, _nargs, args, size, keywords)

        draw.__name__ = draw.__qualname__ = name
        draw.__doc__ = f"numpy.random.Generator.{name}, of the same parameters."
        setattr(Stream, name, draw)


_give_others()


class Generator(Stream):
    """What default_rng returns."""

    def integers(self, low, high=None, size=None, dtype=INTEGER, endpoint=False):
        """Integers in [low, high), or [0, low); `endpoint` includes the last."""
        if high is None:
            low, high = 0, low
        return self._integers(low, high, size, dtype, endpoint)

    def permuted(self, x, *, axis=None, out=None):
        """A copy whose elements are shuffled along an axis, each row by itself."""
        if isinstance(out, numpy.ndarray):
            return fill_numpy(self.permuted, out, x, axis=axis)
        x = as_array(x)
        result = x.copy() if out is None else out
        if out is not None and out is not x:
            out[...] = x
        _array.host(_payload(self._task(), lambda g, w: g.permuted(w, axis=axis, out=w), result), [result], [result])
        return result

    def spawn(self, n_children):
        """So many independent generators."""
        return [Generator(seed) for seed in self._seed.spawn(n_children)]


class RandomState(Stream):
    """The older interface; the functions of dflow.numpy.random are the methods of one of these."""

    def seed(self, seed=None):
        """Start again from a seed, or from the system's entropy."""
        self._start(seed)

    def rand(self, *shape, dtype=FLOAT):
        """Uniform in [0, 1), of the shape given as arguments."""
        return self.random(shape[0] if len(shape) == 1 else shape or None, dtype)

    def randn(self, *shape, dtype=FLOAT):
        """Standard normal, of the shape given as arguments."""
        return self.standard_normal(shape[0] if len(shape) == 1 else shape or None, dtype)

    def randint(self, low, high=None, size=None, dtype=INTEGER):
        """Integers in [low, high), or [0, low)."""
        if high is None:
            low, high = 0, low
        return self._integers(low, high, size, dtype, False)

    def random_sample(self, size=None):
        """Uniform in [0, 1)."""
        return self.random(size)

    ranf = sample = random_sample

    def get_state(self):
        """What set_state takes to continue from here."""
        return {"seed": self._seed, "small": self._small.bit_generator.state, "blocks": next(copy.copy(self._blocks))}

    def set_state(self, state):
        """Continue from where get_state was called."""
        self._start(state["seed"])
        self._small.bit_generator.state = state["small"]
        self._blocks = itertools.count(state["blocks"])


def default_rng(seed=None):
    """A Generator; the same numbers for the same seed, which may also be a numpy.random.SeedSequence."""
    return seed if isinstance(seed, Generator) else Generator(seed)


_SHARED = """seed get_state set_state rand randn randint random_sample ranf sample random normal uniform standard_normal
    exponential standard_exponential choice shuffle permutation bytes""".split()


def _rows():
    shared = RandomState()
    for name in (*_SHARED, *OTHERS):
        add_row(name, getattr(shared, name), kind="kernel" if name in VECTORS else "host", module="numpy.random")
    for thing in (default_rng, Generator, RandomState):
        add_row(thing.__name__, thing, kind="host", module="numpy.random")


_rows()
