"""Properties against NumPy, over arrays, dtypes and indices that hypothesis draws (the same ones in every run)."""

import functools

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy
import pytest
from compare import assert_same, assert_same_outcome, outcome
from engines import configured
from hypothesis import HealthCheck, given, settings

import dflow.numpy as np

# Values such as 1 / 0 warn in both; that the warnings agree is tested in test_errors.py.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::RuntimeWarning"),
              pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")]

check = functools.partial(settings, deadline=None, derandomize=True, database=None,
                          suppress_health_check=list(HealthCheck))

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
          "float64", "longdouble", "complex64", "complex128")
COMMON = ("float64", "int64", "float32", "bool", "complex128", "uint8", "float16")

UNARY = ("negative", "positive", "absolute", "fabs", "rint", "sign", "conjugate", "exp", "exp2", "log", "log2", "log10",
         "expm1", "log1p", "sqrt", "square", "cbrt", "reciprocal", "sin", "cos", "tan", "arcsin", "arctan", "sinh",
         "tanh", "invert", "logical_not", "isfinite", "isinf", "isnan", "signbit", "spacing", "floor", "ceil", "trunc",
         "bitwise_count", "deg2rad")
BINARY = ("add", "subtract", "multiply", "true_divide", "floor_divide", "remainder", "fmod", "power", "float_power",
          "arctan2", "hypot", "copysign", "nextafter", "logaddexp", "maximum", "minimum", "fmax", "fmin", "equal",
          "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor",
          "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm", "heaviside")
OPERATORS = ("{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} // {}", "{} % {}", "{} ** {}", "{} < {}", "{} >= {}",
             "{} == {}", "{} != {}", "{} & {}", "{} | {}", "{} ^ {}", "{} << {}", "{} >> {}")
REDUCTIONS = ("sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin", "cumsum", "cumprod", "ptp",
              "count_nonzero", "var", "std")

SPECIAL = {
    "b": (False, True),
    "i": (0, 1, -1, 2, -3, 7, 100, -128, 127),
    "u": (0, 1, 2, 3, 7, 100, 255),
    "f": (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.25, 1e3, 6e4, 1e-4, numpy.inf, -numpy.inf, numpy.nan, 0.1),
    "c": (0, 1, -1, 1j, 2 - 3j, complex(numpy.inf, 0), complex(0, numpy.nan), 0.5 + 0.25j, -0.0),
}
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
full_shapes = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4)


@st.composite
def arrays(draw, shape=shapes, dtypes=DTYPES, small=False):
    """A NumPy array: its values picked from SPECIAL, or small integers whose sums are exact in any order."""
    dtype = numpy.dtype(draw(st.sampled_from(dtypes)))
    shape = draw(shape) if isinstance(shape, st.SearchStrategy) else shape
    # One drawn integer instead of one draw an element: ten times faster, and any failure is about the operation.
    chooser = numpy.random.default_rng(draw(st.integers(0, 1000)))
    low = 0 if dtype.kind in "bu" else -2
    pool = numpy.arange(low, 3) if small else numpy.array(SPECIAL[dtype.kind])
    return numpy.asarray(pool[chooser.integers(0, len(pool), size=shape)]).astype(dtype)


def both(function, *sources):
    """Call with NumPy's arrays and with dflow's: same outcome."""
    expected = outcome(lambda: function(numpy, *(source.copy() for source in sources)))
    actual = outcome(lambda: function(np, *map(np.array, sources)))
    assert_same_outcome(actual, expected)


@st.composite
def broadcastable(draw, count=2, dtypes=DTYPES):
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=count, max_dims=3, max_side=4)).input_shapes
    return [draw(arrays(shape, dtypes)) for shape in shapes]


# -- elementwise -----------------------------------------------------------------------------------

@pytest.mark.once
@pytest.mark.parametrize("name", UNARY)
@check(max_examples=15)
@given(arrays())
def test_unary_ufunc(name, x):
    both(lambda np, x: getattr(np, name)(x), x)


@pytest.mark.once
@pytest.mark.parametrize("name", BINARY)
@check(max_examples=18)
@given(broadcastable())
def test_binary_ufunc_broadcasts_and_promotes(name, operands):
    both(lambda np, x, y: getattr(np, name)(x, y), *operands)


@check(max_examples=150)
@given(arrays(), st.sampled_from(OPERATORS), st.booleans(),
       st.sampled_from((0, 1, 2, -1, 3, 300, -1000, 2 ** 40, 2 ** 70, 0.5, -2.0, 1e300, True, 2j)))
def test_python_scalars_are_weak(x, operator, reflected, scalar):
    text = operator.format("s", "x") if reflected else operator.format("x", "s")
    both(lambda np, x: eval(text, {"x": x, "s": scalar}), x)


@check(max_examples=120)
@given(broadcastable(), st.sampled_from(OPERATORS[:7] + OPERATORS[11:]))
def test_inplace_operators(operands, operator):
    def inplace(np, x, y):
        variables = {"x": x, "y": y}
        exec(operator.replace("{} ", "x ", 1).replace(" {}", "= y"), variables)
        return variables["x"]
    both(inplace, *operands)


@check(max_examples=90)
@given(broadcastable(3, COMMON), st.sampled_from(("add", "multiply", "subtract", "maximum")), st.booleans(),
       st.sampled_from(("same_kind", "unsafe", "no")))
def test_out_where_and_casting(operands, name, masked, casting):
    x, y, mask = operands
    shape = numpy.broadcast_shapes(x.shape, y.shape, mask.shape)
    out = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape).astype(mask.dtype)

    def call(np, x, y, mask, out):
        where = {"where": mask != 0} if masked else {}
        with numpy.errstate(all="ignore"):
            result = getattr(np, name)(x, y, out=out, casting=casting, **where)
        assert result is out
        return out
    both(call, x, y, mask, out)


@check(max_examples=90)
@given(arrays(), st.sampled_from(DTYPES), st.sampled_from(("unsafe", "same_kind", "safe")))
def test_astype(x, dtype, casting):
    if x.dtype.kind in "fc" and numpy.dtype(dtype).kind in "iu":
        x = numpy.where(numpy.isfinite(x) & (abs(x) < 100), abs(x), 1)      # what the others become is not defined
    both(lambda np, x: x.astype(dtype, casting=casting), x)


@check(max_examples=60)
@given(broadcastable(3, COMMON))
def test_where(operands):
    both(lambda np, condition, x, y: np.where(condition, x, y), *operands)


@check(max_examples=60)
@given(broadcastable(4, COMMON))
def test_fused_expression(operands):
    both(lambda np, x, y, z, w: abs((x + y) * z - w) + z * 2 - (x == y), *operands)


@check(max_examples=36)
@given(arrays(full_shapes, ("float64", "float32", "int64")), st.integers(1, 50), st.booleans())
def test_large_arrays_in_blocks(x, repeat, transpose):
    """Arrays of up to some hundred thousand elements, so that work is cut into blocks and spread over workers."""
    large = numpy.tile(x, (repeat * 3,) * x.ndim if x.ndim < 3 else (repeat, 2, 7))
    if transpose:
        large = large.T
    both(lambda np, x: (x * 2 + x[::-1]) * (x[:1] - 3), large)


# -- indexing --------------------------------------------------------------------------------------

@st.composite
def basic(draw, dtypes=COMMON):
    x = draw(arrays(full_shapes, dtypes, small=True))
    index = draw(hnp.basic_indices(x.shape, allow_ellipsis=True, allow_newaxis=True))
    return x, index


@st.composite
def advanced(draw, dtypes=COMMON):
    """An array and an index with at least one array, list or mask in it, mixed with slices and integers."""
    x = draw(arrays(full_shapes, dtypes, small=True))
    form = draw(st.sampled_from(("mask", "row mask", "integers", "one list", "mixed")))
    integers = functools.partial(hnp.integer_array_indices, dtype=numpy.dtype("int64"))
    if form == "mask":
        index = draw(arrays(x.shape, ("bool",)))
    elif form == "row mask":
        index = draw(arrays(x.shape[:1], ("bool",)))
    elif form == "integers":
        index = draw(integers(x.shape, result_shape=hnp.array_shapes(max_dims=2, max_side=3)))
    elif form == "one list":
        index = draw(st.lists(st.integers(-x.shape[0], x.shape[0] - 1), max_size=4).filter(len))
    else:
        parts = [draw(st.one_of(st.integers(-n, n - 1), st.slices(n), st.just(slice(None)))) for n in x.shape]
        for axis in draw(st.sets(st.integers(0, x.ndim - 1), min_size=1)):
            n = x.shape[axis]
            parts[axis] = numpy.array(draw(st.lists(st.integers(-n, n - 1), min_size=2, max_size=2)))
        index = tuple(parts)
    return x, index


def to_dflow(index):
    """The index with dflow's arrays in place of NumPy's."""
    if isinstance(index, tuple):
        return tuple(map(to_dflow, index))
    return np.array(index) if isinstance(index, numpy.ndarray) else index


def check_get_set(x, index, value_dtype, operator):
    """x[index] and x[index] op= value, with NumPy's and with dflow's arrays as the index."""
    shape = numpy.shape(x[index])
    value = (numpy.arange(numpy.prod(shape, dtype=int)) % 5).reshape(shape).astype(value_dtype)

    def write(x, index, value):
        exec(f"x[index] {operator}= value", {"x": x, "index": index, "value": value})
        return x

    for ours in (index, to_dflow(index)):
        indices = {numpy: index, np: ours}
        both(lambda np, x: x[indices[np]], x)                               # noqa: B023 (called before the next turn)
        both(lambda np, x, value: write(x, indices[np], value), x, value)   # noqa: B023
        both(lambda np, x: write(x, indices[np], 1), x)                     # noqa: B023


@check(max_examples=150)
@given(basic(), st.sampled_from(COMMON), st.sampled_from(("", "", "+", "*")))
def test_basic_indexing(case, dtype, operator):
    check_get_set(*case, dtype, operator)


@check(max_examples=150)
@given(advanced(), st.sampled_from(COMMON), st.sampled_from(("", "", "+", "*")))
def test_advanced_indexing(case, dtype, operator):
    check_get_set(*case, dtype, operator)


@check(max_examples=90)
@given(arrays(full_shapes, COMMON, small=True), st.data())
def test_any_index_good_or_bad(x, data):
    """Indices that may be out of bounds, of a wrong type or too many: the same result, or the same error."""
    part = st.one_of(st.integers(-5, 5), st.slices(6), st.sampled_from((None, ..., True, 1.0, "a", [0], [7], [True])))
    index = data.draw(st.one_of(part, st.tuples(part, part), st.tuples(part, part, part)))

    def write(np, x):
        x[index] = 1
        return x
    both(lambda np, x: x[index], x)
    both(write, x)


@check(max_examples=60)
@given(arrays(full_shapes, COMMON, small=True), st.data())
def test_take_clip_sort(x, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    picks = data.draw(st.lists(st.integers(0, x.shape[axis] - 1), min_size=1, max_size=5))
    both(lambda np, x: np.take(x, picks, axis=axis), x)
    both(lambda np, x: np.sort(x, axis=axis), x)
    both(lambda np, x: np.argsort(x, axis=axis, kind="stable"), x)
    if x.dtype.kind != "c":
        both(lambda np, x: np.clip(x, 0, 1), x)
    both(lambda np, x: np.concatenate([x, x], axis=axis), x)
    both(lambda np, x: np.stack([x, x + 1], axis=axis), x)


# -- reductions ------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", REDUCTIONS)
@check(max_examples=36)
@given(arrays(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=2), small=True), st.booleans(), st.data())
def test_reduction(name, x, keepdims, data):
    one = st.integers(-x.ndim - 1, x.ndim)              # now and then outside
    several = st.lists(st.integers(-x.ndim, max(x.ndim - 1, 0)), max_size=x.ndim).map(tuple)
    single = name.startswith(("arg", "cum"))
    axis = data.draw(st.one_of(st.none(), one) if single else st.one_of(st.none(), one, several, several))
    options = {} if name.startswith("cum") else {"keepdims": keepdims}
    both(lambda np, x: getattr(np, name)(x, axis=axis, **options), x)


@check(max_examples=90)
@given(arrays(full_shapes, small=True), st.sampled_from(("sum", "prod", "max", "min", "any", "all")),
       st.sampled_from((None, 0, -1)), st.sampled_from((None, "float64", "int64", "complex128")), st.booleans())
def test_reduction_dtype_initial_where(x, name, axis, dtype, masked):
    options = {}
    if dtype is not None and name in ("sum", "prod"):
        options["dtype"] = dtype
    if name in ("sum", "prod", "max", "min"):
        options["initial"] = 1
    if masked:
        options["where"] = x != 1
    both(lambda np, x: getattr(np, name)(x, axis=axis, **options), x)


@check(max_examples=60)
@given(arrays(full_shapes, small=True), st.sampled_from(("add", "multiply", "maximum", "logical_or")), st.data())
def test_ufunc_methods(x, name, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    starts = data.draw(st.lists(st.integers(0, x.shape[axis] - 1), min_size=1, max_size=3))
    both(lambda np, x: getattr(np, name).reduce(x, axis=axis), x)
    both(lambda np, x: getattr(np, name).accumulate(x, axis=axis), x)
    both(lambda np, x: getattr(np, name).reduceat(x, starts, axis=axis), x)
    both(lambda np, x: getattr(np, name).outer(x, x[0]), x)


@check(max_examples=36)
@given(arrays(full_shapes, COMMON, small=True), st.data())
def test_ufunc_at(x, data):
    picks = data.draw(st.lists(st.integers(-x.shape[0], x.shape[0] - 1), min_size=1, max_size=5))

    def at(np, x):
        np.add.at(x, picks, 1)
        return x
    both(at, x)


@check(max_examples=60)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.sampled_from(COMMON), st.sampled_from(COMMON),
       st.booleans(), st.data())
def test_products(n, k, m, left, right, transposed, data):
    x = data.draw(arrays((k, n) if transposed else (n, k), (left,), small=True))
    y = data.draw(arrays((k, m), (right,), small=True))
    x = x.T if transposed else x
    # + 0: the sign of a zero depends on the order of the sum.
    both(lambda np, x, y: x @ y + 0, x, y)
    both(lambda np, x, y: np.dot(x, y[:, 0]) + 0, x, y)
    both(lambda np, x, y: np.inner(x, y.T) + 0, x, y)
    both(lambda np, x, y: np.outer(x, y) + 0, x, y)
    both(lambda np, x, y: np.tensordot(x, y, axes=1) + 0, x, y)
    both(lambda np, x, y: np.einsum("ij,jk->ki", x, y) + 0, x, y)


# -- views and overlap -----------------------------------------------------------------------------

@st.composite
def view_chain(draw):
    """Functions that each turn an array into another view of it (or, where NumPy must, a copy)."""
    forms = st.sampled_from(("index", "index", "transpose", "reshape", "flatten", "newaxis", "swap", "squeeze", "half"))
    return draw(st.lists(st.tuples(forms, st.integers(0, 10 ** 6)), min_size=1, max_size=5))


def apply_form(np, x, form, seed):
    """One step of a chain; `seed` makes its parameters fit the shape at hand."""
    random = numpy.random.default_rng(seed)
    if form == "index":
        parts = []
        for n in x.shape:
            low, step = int(random.integers(0, n + 1)), int(random.integers(1, 3))
            parts.append([slice(None), slice(low, None, step), slice(None, -low), slice(None, None, -step)][seed % 4])
        return x[tuple(parts)]
    if form == "transpose":
        return x.transpose(tuple(int(i) for i in random.permutation(x.ndim)))
    if form == "reshape" and x.ndim:
        return x.reshape(x.shape[:-2] + (-1,)) if x.size else x
    if form == "flatten":
        return x.ravel()
    if form == "newaxis":
        return x[:, None] if x.ndim and x.ndim < 5 else x
    if form == "swap" and x.ndim > 1:
        return np.swapaxes(x, 0, -1)
    if form == "squeeze":
        return np.squeeze(x)
    if form == "half" and x.ndim and x.shape[0] > 1:
        return np.split(x, [x.shape[0] // 2])[seed % 2]
    return x[...]


@check(max_examples=240)
@given(arrays(full_shapes, COMMON, small=True), view_chain(), st.sampled_from(("v[...] = 3", "v += 2", "v *= v")))
def test_writes_through_view_chains_show_in_the_base(x, chain, statement):
    def write(np, x, base):
        v = x
        for form, seed in chain:
            v = apply_form(np, v, form, seed)
        exec(statement, {"v": v})
        return x if base else v
    both(lambda np, x: write(np, x, True), x)
    both(lambda np, x: write(np, x, False), x)
    both(lambda np, x: write(np, x.T, True), x)


OVERLAPS = ("a[1:] += a[:-1]", "a[:-1] += a[1:]", "a[:] = a[::-1]", "a[1:] = a[:-1]", "a[:-1] = a[1:]",
            "a += a[::-1]", "a[::2] += a[:len(a[::2])]", "a[...] = a[0]", "a -= a[-1]", "a.T[...] = a.T[::-1]",
            "np.add(a[:-1], a[1:], out=a[1:])", "np.multiply(a, a[::-1], out=a)", "a[[0, -1]] = a[[-1, 0]]",
            "a[a > 0] = a[a > 0][::-1]", "a[::-1][1:] -= a[:-1]", "np.cumsum(a, axis=0, out=a)",
            "np.add.accumulate(a[::-1], out=a)", "a[1:] = a[:-1] * 2 + a[1:]", "b = a; b[1:] += a[:-1]",
            "a[:, ...] += a[:, ...][::-1]", "np.add(a, 1, out=a, where=a[::-1] > 0)", "a[:1] = a.sum(axis=0)",
            "a[...] = a.reshape(a.shape[::-1]).T", "np.copyto(a[1:], a[:-1])", "a.sort(axis=0)")


@pytest.mark.parametrize("statement", OVERLAPS)
@check(max_examples=15)
@given(arrays(full_shapes, ("float64", "int64", "float32", "uint8"), small=True), st.booleans(), st.integers(1, 40))
def test_overlap(statement, x, transposed, repeat):
    x = numpy.concatenate([x] * repeat)
    x = x.T if transposed else x

    def run(np, a):
        exec(statement, {"a": a, "np": np})
        return a
    both(run, x)


LAYOUTS = ("x + 1", "x.T + x.T", "x + x.T.copy().T", "x * x[:1]", "-x", "x == 1", "x.astype('float32')", "x.copy()",
           "np.copy(x)", "np.array(x)", "x.T.copy()", "np.where(x > 0, x, 1)", "np.cumsum(x, axis=0)",
           "np.cumsum(x, axis=-1)", "np.add.accumulate(x, axis=0)", "x.sum(axis=0)", "x.sum(axis=-1, keepdims=True)",
           "x.max(axis=0)", "np.concatenate([x, x])", "np.concatenate([x, x], axis=-1)", "np.stack([x, x])",
           "np.sort(x, axis=0)",
           "np.clip(x, 0, 1)", "np.take(x, [0, 0], axis=0)", "x[[0, 0]]", "x[:, [0]]", "x[x == x]", "np.zeros_like(x)",
           "np.full_like(x, 2)", "np.transpose(x)", "np.swapaxes(x, 0, -1)", "x @ x.T", "np.outer(x, x)", "x.ravel()",
           "np.argsort(x, axis=0, kind='stable')", "np.repeat(x, 2, axis=0)", "np.tile(x, 2)", "x[::-1]", "x[::-1] + 0")


@pytest.mark.parametrize("expression", LAYOUTS)
@check(max_examples=9)
@given(arrays(hnp.array_shapes(min_dims=2, max_dims=3, max_side=3), ("float64", "int64", "bool"), small=True),
       st.sampled_from(("x", "x.T", "x.T[::-1]", "np.swapaxes(x, 0, 1)")))
def test_results_are_laid_out_as_numpys(expression, x, source):
    """In C order, in Fortran's, or as the operands are: seen by whether a flat reshape is a view or a copy."""
    def write(np, x):
        result = eval(expression, {"np": np, "x": eval(source, {"np": np, "x": x})})
        flat = result.reshape(-1)
        flat[...] = 3 * flat + 1
        return result
    both(write, x)


@check(max_examples=30)
@given(arrays(full_shapes, COMMON, small=True))
def test_scalars_keep_their_values(x):
    """NumPy's a[0] of one axis and a.sum() are values: later writes to the array, or to another name, do not show."""
    def single(np, x):
        flat = x.ravel()
        first, total = flat[0], flat.sum()
        same = total
        flat[0] = 1
        total += 1
        return np.stack([first, total, same])
    both(single, x)


@check(max_examples=30)
@given(arrays(shapes, COMMON))
def test_conversions(x):
    y = np.array(x)
    assert repr(y.tolist()) == repr(x.tolist())
    assert y.shape == x.shape and y.dtype == x.dtype and y.size == x.size and y.ndim == x.ndim
    assert repr(y) == repr(x) and str(y) == str(x)
    assert_same(np.asarray(y), x)
    assert_same(numpy.asarray(y), x)
    if x.size == 1:
        assert repr(y.item()) == repr(x.item())
        assert bool(y) == bool(x)
    if x.ndim:
        assert len(y) == len(x)
        for row, expected in zip(y, x):
            assert_same(row, expected)
            assert repr(row) == repr(expected)


def test_source_may_change_after_the_copy():
    source = numpy.arange(100_000.0)
    copies = []
    for i in range(20):
        source[:] = i
        copies.append(np.array(source) if i % 2 else np.asarray(source))
    source[:] = -1
    for i, x in enumerate(copies):
        assert_same(x, numpy.full(100_000, float(i)))


# -- programs --------------------------------------------------------------------------------------

# Of a and b, any two of the arrays so far. Integers that stay small, also as floats: exact in any order.
VALUES = """a + b; a - b; a * b % 100; np.maximum(a, b); np.where(a > b, a, b); a // 3; -a; abs(a) % 5; a == b
a > 0; a & 3; a.T; a[::-1]; a[1:]; a[..., :1]; a[None]; a[..., 0]; a.reshape(-1); a.ravel(); np.swapaxes(a, 0, -1)
np.squeeze(a); a[:]; a.copy(); a.astype('f4'); a.astype(int); a != 0; np.broadcast_to(a, (2,) + a.shape).copy()
np.diagonal(a).copy(); np.atleast_2d(a); a.sum(axis=0) % 100; a.max(axis=-1, keepdims=True); a.min(); a.argmax()
a.any(axis=0); np.cumsum(a, axis=0) % 100; np.ptp(a); np.count_nonzero(a, axis=0); np.median(a, axis=0) // 1
np.dot(a, b) % 100; np.outer(a, b) % 100; np.trace(a) % 100; np.einsum('i...->...', a) % 100
np.tensordot(a, b, 1) % 100; np.inner(a, b) % 100; np.cross(a[..., :3], a[..., :3] + 1) % 9; np.concatenate([a, b])
np.stack([a, a]); np.hstack([a, b]); np.tile(a, 2); np.repeat(a, 2); np.pad(a, 1); np.roll(a, 1); np.flip(a)
np.rot90(a); np.diff(a, axis=0); np.append(a, b); np.insert(a, 0, 1); np.delete(a, 0, 0); np.split(a, 1)[0]
np.sort(a, axis=0); np.argsort(a, axis=-1, kind='stable'); np.partition(a, 0)[..., 0]; np.unique(a)
np.searchsorted(np.sort(a, None), b); a[a > 0]; a[[0, -1]]; np.take(a, [0, 0], axis=0); np.nonzero(a)[0]
np.argwhere(a); np.flatnonzero(a); a[np.argsort(a[:, 0])]; np.take_along_axis(a, np.argsort(a, 0, kind='stable'), 0)
np.compress([True, False], a, axis=0); np.choose(a % 2, [a, b]); np.isin(a, b); np.union1d(a, b)
np.intersect1d(a, b); np.setdiff1d(a, b); np.bincount(abs(a).ravel().astype(int)); np.clip(a, -1, 1); np.tril(a)
np.select([a > 0, a < 0], [a, -a], 7); np.digitize(a, [0, 2]); np.interp(b % 4, [0, 4], [0, 4])
np.histogram(a, [-100, 0, 1, 100])[0]; np.full_like(a, 3); np.arange(a.size).reshape(a.shape)
np.indices(a.shape)[0]; np.logical_xor(a, b); np.nan_to_num(a); np.gradient(a * 2.0, axis=0)
np.convolve(a[0], b[0]) % 100; np.vander(a[0] % 3, 3); np.lexsort((a.ravel(), a.ravel()[::-1]))
np.meshgrid(a[0], b[0])[1]; np.packbits(a > 0); np.apply_along_axis(np.sort, 0, a)"""
EFFECTS = """a += b; a -= 1; a *= 2; a %= 7; a |= 1; a[...] = b; a[0] = 1; a[::2] += 2; a[a < 0] = 0; a[a > 3] -= 3
a[[0, 0]] += 1; a.sort(axis=0); np.add.at(a, [0, 0], 1); np.put(a, [0, -1], [5, 6]); np.copyto(a, b)
np.copyto(a, 4, where=a > 1); a.fill(2); a.T[...] -= 1; np.putmask(a, a > 1, b); a[1:] = a[:-1]; a[:] = a[::-1]
np.fill_diagonal(a, 3); np.add(a, b, out=a); np.negative(a, out=a, where=a > 0); np.cumsum(a, axis=0, out=a)
a[..., -1] = b[..., 0]; a.flat[0] = 9; np.put_along_axis(a, np.argmax(a, 0, keepdims=True), 0, 0); a.partition(0)
np.maximum.at(a, 0, b); a -= a.min(axis=0); np.place(a, a > 2, [7, 8])"""


def statements(text):
    return [statement.strip() for line in text.split("\n") for statement in line.split(";")]


@st.composite
def programs(draw):
    """Statements, each with the numbers of its arrays."""
    chosen = st.sampled_from(statements(VALUES)) | st.sampled_from(statements(EFFECTS))
    return draw(st.lists(st.tuples(chosen, st.integers(0, 100), st.integers(0, 100)), min_size=3, max_size=15))


def run_program(np, program, sources):
    """All arrays that the program made, and the statements that raised: with two reasons to, either may be named."""
    arrays, errors = list(sources), []
    effects = set(statements(EFFECTS))
    for statement, i, j in program:
        names = {"np": np, "a": arrays[i % len(arrays)], "b": arrays[j % len(arrays)]}
        try:
            if statement in effects:
                exec(statement, names)
            else:
                result = eval(statement, names)
                if result.ndim and result.size <= 500:      # a scalar of NumPy's takes no writes
                    arrays.append(result)
        except Exception:
            errors.append((statement, len(arrays)))
    return arrays, errors


@pytest.mark.parametrize("setting", [{}, {"limit": 0}, {"workers": 3, "bulk": 0}])
@check(max_examples=150)
@given(arrays(full_shapes, ("float64", "int64", "int32", "bool"), small=True),
       arrays(full_shapes, ("int64", "float64"), small=True), programs())
def test_programs(setting, x, y, program):
    expected, errors = run_program(numpy, program, [x.copy(), y.copy()])
    with configured(**setting):
        actual, here = run_program(np, program, [np.array(x), np.array(y)])
        assert here == errors
        for a, b in zip(actual, expected, strict=True):
            assert_same(a, numpy.asarray(b))
