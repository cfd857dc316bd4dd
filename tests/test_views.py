"""What is a view, a copy, or the very argument, and what may be written to: as in NumPy."""

import importlib
import itertools
import math
import re

import numpy
import pytest
from compare import same_bits
from engines import configured
from test_namespace import CASES, METHODS, SOURCES, call_of

import dflow.numpy as np

importlib.import_module("dflow.numpy.linalg")

# Of what has no row: functions that wait, attributes, methods of ndarray alone, subscripts.
CALLS = """
    np.trim_zeros(v)  np.trim_zeros(v[v>9])  np.trim_zeros(s)  np.real_if_close(c)  np.real_if_close(c.real+0j)
    np.real_if_close(a)  np.asarray_chkfinite(a)  np.asarray_chkfinite(a,'f4')  np.frombuffer(a)
    np.frombuffer(v,'i4',2,8)  np.meshgrid(v,copy=False)  np.meshgrid(v,j,copy=False,sparse=True)
    np.array(a,copy=None)  np.array(a,copy=False)  np.ascontiguousarray(a.T)  np.asfortranarray(a)  np.ravel(a.T)
    np.ravel(a,'F')  np.ravel(a.T,'K')  np.round(i)  np.round(i,1)  np.round(c,1)  np.nan_to_num(a,copy=False)
    np.squeeze(a)  np.squeeze(a[:1])  np.delete(v,[])  np.append(v,[])  np.concatenate([v])  np.block(a)
    np.vstack([a])  np.tile(v,1)  np.repeat(v,1)  np.roll(v,0)  np.diff(v,0)  np.clip(v,None,None)  np.pad(v,0)
    np.einsum('ij->ij',a)  np.einsum('ij->ji',a)  np.einsum('...->...',v)  np.einsum('ii->i',m)  np.rot90(m,0)
    np.sum(a,())  np.take(v,[0])  np.take(a,np.array(0),0)  np.broadcast_arrays(v)  np.broadcast_arrays(v,v)
    np.broadcast_arrays(v,v[None])  np.broadcast_to(v,(4,))  np.unstack(a)  np.poly1d(v).coeffs  np.sort(v)
    np.astype(a,float,copy=False)  np.linalg.matrix_power(m,1)  np.average(v,weights=v)  np.cov(v)
    np.cov(v,fweights=j)  a.T  a.mT  a.real  a.imag  c.real  c.imag  a.flat[:]  a.view()  a.view('i8')
    a.astype(float,copy=False)  a.copy()  a.conj()  c.conj()  a.byteswap(True)  a.byteswap()  a.getfield('f4')
    a.round()  a.flatten()  a.reshape(4,3)  a.T.reshape(-1)  a[...]  a[()]  a[:]  a[0]  a[None]  a[[0]]  a[True]
    a[b]  a[0,...]  a[0,0,...]  s[()]  s[...]  s.T  s.real  s.view()  v[::-1]  +a  list(a)[0]"""

# Where dflow differs, as README says.
INTENDED = {
    "frombuffer(b": "what is read is copied, so it may be written to",
    "broadcast_arrays(a": "where an element has several places, a view is read-only",
    "as_strided(": "where an element has several places, a view is read-only",
    "apply_along_axis(lambda x: str": "an array of strings is NumPy's",
}


def leaves(x):
    if isinstance(x, (tuple, list)):
        return [leaf for item in x for leaf in leaves(item)]
    return [x] if isinstance(x, (numpy.ndarray, numpy.generic, np.ndarray)) else []


def relations(text, module):
    """Of each array in the result, whether it is a scalar, writeable, which argument it is, with which it shares."""
    used = {name: module.array(x) for name, x in SOURCES.items() if re.search(rf"\b{name}\b", text)}
    try:
        result = eval(text, {"np": module, **used})
    except Exception:
        return None                     # tests/test_namespace.py compares errors
    found = []
    for x in leaves(result):
        if module.isscalar(x):
            found.append("scalar")
        else:
            shared = [name for name, y in used.items() if x.size and module.shares_memory(x, y)]
            found.append((x.flags.writeable, [name for name, y in used.items() if x is y], shared))
    return type(result).__name__ if isinstance(result, (tuple, list)) else None, found


TEXTS = [*CALLS.split(), *(f"{a}.{row.name}({rest or ''})" for row, a, rest in METHODS),
         *(call_of(*case) for case in CASES)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("limit", [None, 0], ids=["inline", "queued"])
@pytest.mark.parametrize("part", range(16))
def test_views_copies_and_arguments(part, limit):
    """Over every sample of the table."""
    with configured(limit=limit):
        for text in TEXTS[part::16]:
            expected, actual = relations(text, numpy), relations(text, np)
            if None not in (expected, actual) and not any(start in text for start in INTENDED):
                assert actual == expected, text


@pytest.mark.parametrize("text", ["np.broadcast_arrays(a, v)[1]", "np.meshgrid(v, j, copy=False)[0]",
                                  "np.lib.stride_tricks.as_strided(v, (3, 2), (8, 8))"])
def test_an_element_with_several_places_is_not_written_to(text):
    x = eval(text, {"np": np, **{name: np.array(source) for name, source in SOURCES.items()}})
    with pytest.raises(ValueError, match="read-only"):
        x[...] = 0


# -- subscripts --------------------------------------------------------------------------------------

ARRAYS = [numpy.arange(5.0), numpy.arange(12.0).reshape(3, 4), numpy.arange(24.0).reshape(2, 3, 4),
          numpy.asfortranarray(numpy.arange(24.0).reshape(2, 3, 4)), numpy.array(3.0), numpy.zeros((0, 2))]
ITEMS = {"0": lambda m: 0, "array(-1)": lambda m: m.array(-1), "numpy.array(1)": lambda m: numpy.array(1),
         "array(0, u1)": lambda m: m.array(0, "u1"), ":": lambda m: slice(None), "0:2": lambda m: slice(0, 2),
         "None": lambda m: None, "...": lambda m: ..., "array(True)": lambda m: m.array(True),
         "numpy.array(False)": lambda m: numpy.array(False), "a number": lambda m: m.array([0])[0],
         "[0]": lambda m: [0], "array([0, 1])": lambda m: m.array([0, 1]), "array(9)": lambda m: m.array(9)}


def chosen(module, source, key, value):
    """What a subscript gives, and whether that is a view; or what the array is after a store."""
    x = module.array(source, order="K")
    try:
        if value is not None:
            x[key] = value
            return numpy.asarray(x).tolist()
        y = x[key]
        if module.isscalar(y):
            return "scalar", y.item()
        before = numpy.array(y)
        view = y.size > 0 and module.shares_memory(x, y)
        x[...] = -1                     # of a copy nothing is seen
        return before.tolist(), before.shape, view, (numpy.array(y) == before).all(), y.flags.writeable, y.flags.fnc
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("limit", [None, 0], ids=["inline", "queued"])
@pytest.mark.parametrize("source", ARRAYS, ids=["1-d", "2-d", "3-d", "Fortran", "0-d", "empty"])
def test_subscripts_with_arrays_of_no_axes(source, limit):
    """An index array makes a copy, also where it counts as a number; a number makes a view."""
    with configured(limit=limit):
        for names in itertools.chain(*(itertools.product(ITEMS, repeat=n) for n in (1, 2, 3))):
            for alone in (False, True)[:3 - len(names)] if len(names) < 2 else (False,):
                for value in (None, 7.0):
                    results = []
                    for module in (np, numpy):
                        key = tuple(ITEMS[name](module) for name in names)
                        results.append(chosen(module, source, key[0] if alone else key, value))
                    assert results[0] == results[1], (names, alone, value)


def test_index_arrays_that_meet_in_nothing_are_not_looked_at():
    for module in (np, numpy):
        nothing, beyond = module.zeros(0, int), module.array([[0], [7]])
        assert module.zeros((1, 3))[beyond, nothing].shape == (2, 0)
        with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 1"):
            module.zeros((1, 3))[5, nothing]


BROADCAST = """x.astype('d')
x.astype('i8')
x.copy('K')
np.copy(x)
np.array(x)
np.array(x, 'd')
np.asarray(x, 'f')
np.empty_like(x)
np.full_like(x, 3, dtype='f')
np.sort(x, 0)
np.round(x)
x.ravel('K')
-x
x + x
np.sqrt(x)""".split("\n")


@pytest.mark.parametrize("text", BROADCAST)
def test_what_is_made_of_broadcast_arrays_lies_as_numpys(text):
    """Axes without strides are innermost in copies, and as the others say in results of operations."""
    for shape, part in (((2, 2), np.s_[:]), ((3, 4, 2), np.s_[:]), ((3, 4, 2), np.s_[:, None]), ((2,), np.s_[:, None])):
        for axes in (0, 1), (1, 0):
            made = []
            for module in (np, numpy):
                x = module.arange(math.prod(shape)).reshape(shape)[part]
                x = module.broadcast_to(x, (5, *x.shape[:-1], 2 if x.shape[-1] == 1 else x.shape[-1])).swapaxes(*axes)
                y = eval(text, {"np": module, "x": x})
                made.append((y.shape, y.strides, [] if "like" in text else y.tolist()))
            assert made[0] == made[1], (shape, part, axes)


@pytest.mark.parametrize("seed", range(40))
def test_short_rows(seed):
    """Rows of a few elements are run down their columns, at once or as tasks."""
    random = numpy.random.default_rng(seed)
    ndim = int(random.integers(2, 6))
    shape = tuple(int(2 ** random.uniform(0, 5)) for _ in range(ndim - 1)) + (int(random.integers(1, 17)),)
    dtype = random.choice(["f8", "f4", "i8", "i2", "c16", "?"])
    theirs = (random.normal(size=[n + 2 for n in shape]) * 100).astype(dtype)
    place = tuple(slice(int(i), int(i) + n) for i, n in zip(random.integers(0, 3, ndim), shape))
    turned = (..., slice(None, None, int(random.choice([1, -1]))))
    text = "y = x[place][turned] + x[:-2][tuple(slice(n) for n in shape)]\ny[...] = y * y[:1]\nz = np.cos(y)\n" \
           "x[place] = y\nif y.dtype != bool: y -= x[place][turned]\nm = y > z.real"
    for limit in 0, 2000:
        with configured(limit=limit):
            results = []
            for np_ in numpy, np:
                names = {"np": np_, "x": np_.array(theirs), "place": place, "turned": turned, "shape": shape}
                exec(text, names)
                results.append([numpy.array(names[name]) for name in "xyzm"])
        for mine, expected in zip(*reversed(results)):
            assert mine.dtype == expected.dtype and same_bits(mine, expected)


@pytest.mark.parametrize("seed", range(100))
def test_integers_and_slices(seed):
    """Of any step, within bounds and beyond, by numbers and elements, on some axes or all: read, and written to."""
    random = numpy.random.default_rng(seed)
    shape = tuple(int(n) for n in random.integers(0, 6, random.integers(1, 5)))
    theirs = numpy.arange(numpy.prod(shape), dtype=random.choice(["f8", "i2"])).reshape(shape)
    turned = [slice(None, None, int(random.choice([1, 1, -1]))) for _ in shape]
    ours = np.array(theirs)[tuple(turned)]
    theirs = theirs[tuple(turned)]
    numbers = np.arange(-8, 9)
    for _ in range(60):
        pairs = []
        for _ in range(random.integers(1, len(shape) + 2)):
            a, b, step = (int(random.integers(-7, 8)) for _ in range(3))
            kind = random.choice(6, p=[0.3, 0.1, 0.3, 0.2, 0.05, 0.05])
            part = (a, a, slice(a, b, step or None), slice(None if a % 2 else a, None if b % 3 else b), None,
                    Ellipsis)[kind]
            pairs.append((numbers[a + 8] if kind == 1 else part, part))
        keys = [tuple(key) for key in zip(*pairs)] if len(pairs) > 1 or random.random() < 0.3 else pairs[0]
        ends = []
        for x, key in ((ours, keys[0]), (theirs, keys[1])):
            try:
                view = x[key]
                x[key] = 7
                steps = view.strides if view.size else None
                ends.append((view.shape, steps, numpy.asarray(view).tolist(), numpy.asarray(x).tolist()))
            except (IndexError, ValueError) as error:
                ends.append((type(error), str(error)))
        assert ends[0] == ends[1], keys[1]


def test_a_subscript_that_changes_its_array():
    """What an index computes, or waits for, is read before the array's shape, strides and memory are."""
    class Grows:
        def __init__(self, change):
            self.change = change

        def __index__(self):
            self.change()
            return 0

    a = np.arange(4.0)
    view = a[Grows(lambda: a.resize(10 ** 6)):]
    assert view.shape == (10 ** 6,) and view[-1] == 0
    a = np.arange(4.0)
    a[Grows(lambda: a.resize(10 ** 6)):] = 7
    assert a.size == 10 ** 6 and a[-1] == 7
    a = np.arange(4096.0).reshape(64, 64)

    def flatten():
        a.shape = (4096,)

    with pytest.raises(IndexError, match="too many indices"):
        a[:, Grows(flatten):]
