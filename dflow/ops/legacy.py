"""RandomState: NumPy's own, with its very numbers, for programs that need just these.

Each number follows from the one before, so the draws of one RandomState run one after the other: large ones as tasks,
small ones in the caller. What is fast, and the same for any number of workers, is in dflow/ops/random.py.
"""

import functools
import math

import numpy

from dflow._array import core
from dflow._array.core import array as as_array
from dflow._array.core import is_array, window
from dflow._functions.host_task import host
from dflow._functions.numpy_inline import LATER, as_scalar, at_once
from dflow._kernels.dtypes import NotHeld
from dflow.ops.fallback import any_of_ours, arrays_in, plain, seen, unwrap, wrap
from dflow.ops.random import (
    COUNTS,
    DISTRIBUTIONS,
    FLOAT,
    OTHERS,
    SMALL,
    VECTORS,
    Kind,
    as_shape,
    common_shape,
    drawn_shape,
    random_integers,
    refusing,
    vectors,
)
from dflow.ops.table import add_row
from dflow.ops.warn import called

# name: number of parameters before `size`
_DRAWS = {"random_sample": 0, "random": 0, "standard_normal": 0, "standard_exponential": 0, "exponential": 1,
          "standard_gamma": 1, "normal": 2, "uniform": 2, "randint": 2, "tomaxint": 0,
          **{name: len(row[2]) for name, row in DISTRIBUTIONS.items()},
          **{name: count for name, count in OTHERS.items() if name not in VECTORS}}
_WAITING = "bytes get_state seed set_state".split()


@functools.cache
def _probe():
    """A single number from it tells a draw's type, and its errors."""
    from numpy.random import RandomState as Older
    return Older(0)


def _choice(a, size=None, replace=True, p=None):
    """The shape and type of what choice() returns; None where it shall wait: for errors, or what is no numbers."""
    population = a.shape if is_array(a) else numpy.shape(a) or (a,)
    if len(population) != 1 or p is not None and numpy.shape(p) != population:
        return None
    try:
        dtype = as_array(a).dtype if numpy.ndim(a) else _probe().randint(1, size=1).dtype
    except NotHeld:
        return None
    return () if size is None else as_shape(size), dtype


def _permutation(x):
    return (x.shape, x.dtype) if x.ndim else None


def _multinomial(n, pvals, size=None):
    return vectors("multinomial", [n, pvals], [], size, True), _probe().randint(1, size=1).dtype


# What takes arrays as they are: its result's shape and type, by the arguments.
_KNOWN = {
    "choice": _choice, "permutation": _permutation, "multinomial": _multinomial,
    "dirichlet": lambda alpha, size=None: (vectors("dirichlet", [alpha], [], size, True), FLOAT),
    "multivariate_normal": lambda mean, cov, size=None, *_options, **_named: (
        vectors("multivariate_normal", [mean, cov], [], size, True), FLOAT),
}


def _large(size):
    try:
        return size is not None and math.prod(as_shape(size)) >= SMALL
    except TypeError:
        return False


class RandomState(metaclass=Kind):
    """numpy.random.RandomState: the same numbers from the same seed. Errors of values in arrays come on reading."""

    _theirs = numpy.random.RandomState
    __class__ = property(lambda self: numpy.random.RandomState)         # for libraries that ask isinstance()

    def __init__(self, seed=None):
        from numpy.random import RandomState as Older
        self._older = Older(plain(seed))
        self._turn = core.empty((), bool)         # each draw writes it: so they run in their order

    def __repr__(self):
        return f"{self} at 0x{id(self):X}"

    def __str__(self):
        return str(self._older)

    def __reduce__(self):
        self._turn.wait_to_read()
        return _with, (self._older,)

    @property
    def _bit_generator(self):
        self._turn.wait_to_read()
        return self._older._bit_generator

    def _now(self, name, *args, **keywords):
        """NumPy's method, when the draws before it have ended."""
        args, keywords = unwrap(args), unwrap(keywords)
        self._turn.wait_to_read()
        return wrap(getattr(self._older, name)(*args, **keywords))

    def _later(self, name, args, keywords, shape, dtype):
        """NumPy's method over arrays of ours, in its turn; its error is the result's, not that of draws after it."""
        arrays, box = arrays_in([*args, *keywords.values()]), []
        if math.prod(shape) < SMALL and all(x.is_ready() and x.size < SMALL for x in (self._turn, *arrays)):
            return as_scalar(as_array(numpy.asarray(self._now(name, *args, **keywords))))

        def run(error):
            try:
                named = {key: seen(x) for key, x in keywords.items()}
                box.append(error or getattr(self._older, name)(*seen(args), **named))
            except Exception as problem:
                box.append(problem)

        def give(_error):
            if isinstance(box[0], BaseException):
                raise box[0]
            window(out, write=True)[...] = box[0]

        out = as_scalar(core.empty(shape, dtype))
        host(run, arrays, [self._turn], always=True)
        host(give, [self._turn], [out])
        return out

    def _known(self, name, args, keywords):
        """A draw of _KNOWN."""
        found = _KNOWN[name](*args, **keywords) if any_of_ours(args, list(keywords.values())) else None
        return self._later(name, args, keywords, *found) if found else self._now(name, *args, **keywords)

    def _draw(self, name, args, keywords):
        """A draw as a task, if it is large or has parameters that are arrays of ours."""
        count = _DRAWS[name]
        size = args[count] if len(args) > count else keywords.get("size")
        large = _large(size)
        if not large and self._turn.is_ready():
            drawn = at_once(getattr(self._older, name), args, keywords, small=1, draws=True)
            if drawn is not LATER:
                return drawn
        others = [x for key, x in keywords.items() if key != "size"]
        if any_of_ours(args[:count], others) and name not in ("randint", "tomaxint"):
            shape = drawn_shape(size, common_shape(*args[:count], *others))
            dtype = _probe().randint(1, size=1).dtype if name in COUNTS else FLOAT
            return self._later(name, args, keywords, shape, dtype)
        if not large or any(map(numpy.ndim, (*args[:count], *others))):
            return self._now(name, *args, **keywords)

        def draw(older, size):
            if len(args) > count:
                return getattr(older, name)(*args[:count], size, *args[count + 1:], **keywords)
            return getattr(older, name)(*args, **{**keywords, "size": size})

        out = core.empty(as_shape(size), draw(_probe(), 1).dtype)

        def run(_error):
            window(out, write=True)[...] = draw(self._older, out.shape)

        host(run, [], [out, self._turn])
        return out

    random_integers = random_integers

    def rand(self, *args):
        """Uniform in [0, 1), of the shape given as arguments."""
        return self.random_sample(args or None)

    def randn(self, *args):
        """Standard normal, of the shape given as arguments."""
        return self.standard_normal(args or None)

    def shuffle(self, x):
        """Reorder along the first axis, in place: a task, for our arrays."""
        if not is_array(x):
            self._turn.wait_to_read()
            called(self._older.shuffle, (x,), {})
            return
        len(x)                                      # TypeError without axes
        if not x.flags.writeable:
            raise ValueError("array is read-only")
        if self._turn.is_ready() and at_once(self._older.shuffle, (x,), writes=True) is not LATER:
            return
        host(lambda _error: self._older.shuffle(window(x, write=True)), [x], [x, self._turn])


def _with(older):
    result = RandomState.__new__(RandomState)
    result._older, result._turn = older, core.empty((), bool)
    return result


def _methods():
    """RandomState gets a method for each draw, and for what waits."""
    for name in (*_DRAWS, *_KNOWN, *_WAITING):
        if name in _WAITING:
            def method(self, *args, _name=name, **keywords):
                return self._now(_name, *args, **keywords)
        else:
            way = RandomState._draw if name in _DRAWS else RandomState._known

            def method(self, *args, _name=name, _way=way, **keywords):
                return _way(self, _name, args, keywords)

        method.__name__ = method.__qualname__ = name
        method.__doc__ = f"numpy.random.RandomState.{name}, with its numbers."
        method.__wrapped__ = getattr(numpy.random.RandomState, name)        # for its signature
        setattr(RandomState, name, method)


def _for_trial(_self):
    from numpy.random import RandomState as Older
    return Older(0)


_methods()
refusing(RandomState, [*_DRAWS, *_KNOWN, *_WAITING, "rand", "randn", "random_integers", "shuffle"],
         _for_trial)
add_row("RandomState", RandomState, module="numpy.random")
