"""Matrix products: NumPy's within rounding, the same bits for any number of workers, nobody else's threads touched."""

import ast
import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy
import pytest
import threadpoolctl
from compare import assert_same
from engines import HANG, clean_environment, configured, in_threads

import dflow
import dflow.numpy as np

DTYPES = ("float32", "float64", "complex64", "complex128")
OTHERS = ("float16", "int64", "uint8", "bool", "longdouble", "clongdouble")
WORKERS = (1, 2, 5, 16)


def draw(shape, dtype, seed=0):
    random = numpy.random.default_rng(seed + sum(shape))
    x = random.normal(size=shape)
    if numpy.dtype(dtype).kind == "c":
        x = x + 1j * random.normal(size=shape)
    return (x * (1 if numpy.dtype(dtype).kind in "fc" else 3)).astype(dtype, casting="unsafe")


LAYOUTS = {
    "C": lambda np, x: x,
    "Fortran": lambda np, x: np.swapaxes(np.swapaxes(x, -1, -2).copy(), -1, -2),
    "rows of a larger one": lambda np, x: np.concatenate([x, x], axis=-1)[..., :x.shape[-1]],
    "columns of a larger one": lambda np, x: np.swapaxes(
        np.concatenate([np.swapaxes(x, -1, -2)] * 2, axis=-1)[..., :x.shape[-2]], -1, -2),
    "every second column": lambda np, x: np.repeat(x, 2, axis=-1)[..., ::2],
    "every second row": lambda np, x: np.repeat(x, 2, axis=-2)[..., ::2, :],
    "rows backwards": lambda np, x: x[..., ::-1, :].copy()[..., ::-1, :],
    "columns backwards": lambda np, x: x[..., ::-1].copy()[..., ::-1],
    "shifted": lambda np, x: np.concatenate([x[..., :1, :], x], axis=-2)[..., 1:, :],
}


def assert_near(actual, expected, n):
    """n: terms of each sum."""
    actual = actual.asnumpy()
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind not in "fc":
        assert (actual == expected).all()
        return
    real = expected.dtype.type(0).real.dtype
    scale = numpy.abs(expected).max(initial=1)
    assert numpy.abs(actual - expected).max(initial=0) <= 8 * numpy.finfo(real).eps * max(n, 1) ** 0.5 * scale * 4


def check(x, y, n=None, product=lambda np, x, y: x @ y, settings=({},)):
    expected = product(numpy, x, y)
    bits = None
    for setting in settings:
        with configured(**setting):
            actual = product(np, np.array(x), np.array(y))
            assert_near(actual, expected, n or x.shape[-1])
            data = actual.asnumpy().tobytes() if expected.dtype.char not in "gG" else b""
        bits = data if bits is None else bits
        assert data == bits, setting


ANY_WORKERS = [{"workers": n} for n in WORKERS] + [{"naive": True}, {"workers": 2, "limit": 0, "bulk": 0}]


# -- values and bits -------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", LAYOUTS)
def test_layouts(dtype, left):
    x, y = draw((70, 130), dtype), draw((130, 90), dtype, 1)
    for right in LAYOUTS:
        check(x, y, product=lambda np, x, y: LAYOUTS[left](np, x) @ LAYOUTS[right](np, y))  # noqa: B023


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(700, 300, 40), (1100, 20, 1100), (513, 64, 2049), (16, 1100, 16), (100, 1100, 17),
                                   (17, 1100, 1600),
                                   (64, 64, 64), (65, 64, 65), (2600, 16, 16), (16, 16, 2600),
                                   (8, 600, 1500), (1500, 600, 3), (2, 40, 4000), (15, 130, 140)])
def test_the_same_bits_for_any_number_of_workers(dtype, shape):
    m, n, p = shape
    check(draw((m, n), dtype), draw((n, p), dtype, 1), settings=ANY_WORKERS)


@pytest.mark.parametrize("left, right", [("Fortran", "C"), ("C", "Fortran"), ("Fortran", "Fortran"),
                                         ("every second column", "C"),
                                         ("rows backwards", "columns backwards"),
                                         ("rows of a larger one", "columns of a larger one")])
def test_the_same_bits_in_any_layout_and_number_of_workers(left, right):
    for dtype in ("float32", "complex128"):
        check(draw((900, 60), dtype), draw((60, 1700), dtype, 1), settings=ANY_WORKERS,
              product=lambda np, x, y: LAYOUTS[left](np, x) @ LAYOUTS[right](np, y))


@pytest.mark.parametrize("dtype", DTYPES)
def test_batches(dtype):
    for a, b in (((5, 70, 80), (5, 80, 90)), ((5, 70, 80), (80, 90)), ((70, 80), (5, 80, 90)),
                 ((4, 1, 70, 80), (3, 80, 20)),
                 ((1, 3, 70, 80), (4, 1, 80, 90)), ((0, 70, 80), (80, 90)), ((40, 20, 30), (40, 30, 20)),
                 ((2, 600, 70), (1, 70, 1100)),
                 ((2, 3, 1), (1, 4)), ((300, 3, 4), (300, 4, 5))):
        check(draw(a, dtype), draw(b, dtype, 1), settings=[{}, {"workers": 3, "limit": 0}, {"naive": True}])


def test_batches_in_other_layouts():
    x, y = draw((6, 70, 80), "float64"), draw((6, 80, 90), "float64", 1)
    for layout in LAYOUTS.values():
        check(x, y, product=lambda np, x, y: layout(np, x)[::-1] @ layout(np, y)[::2].repeat(2, axis=0))    # noqa: B023
    check(x, y, product=lambda np, x, y: np.swapaxes(np.swapaxes(x, 0, 1).copy(), 0, 1) @ y)
    check(x, y, product=lambda np, x, y: x.transpose(1, 0, 2) @ y.transpose(0, 1, 2)[:1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [9_984, 9_985, 20_011, 100_003, 262_144, 700_001])
def test_long_vectors(dtype, n):
    x, y = draw((n,), dtype), draw((n,), dtype, 1)
    for step in (1, -1, 2):
        check(x, y, product=lambda np, x, y: x[::step] @ y[::step], n=n, settings=ANY_WORKERS)      # noqa: B023
        check(x, y, product=lambda np, x, y: np.vdot(x[::step], y[::step]), n=n, settings=ANY_WORKERS)      # noqa: B023
    check(x[::2], y, product=lambda np, x, y: np.dot(x, y[:x.size]), n=n)
    check(x, y, product=lambda np, x, y: np.dot(x + x, y), n=n, settings=ANY_WORKERS)


@pytest.mark.parametrize("dtype", DTYPES)
def test_stacks_of_long_vectors(dtype):
    """Each has the bits of the product of two."""
    x, y = draw((3, 1, 30_011), dtype), draw((3, 30_011, 1), dtype, 1)
    check(x, y, n=30_011, settings=ANY_WORKERS)
    alone = [np.array(x[i, 0]) @ np.array(y[i, :, 0]) for i in range(3)]
    assert (np.array(x) @ np.array(y)).ravel().tolist() == [value.item() for value in alone]


@pytest.mark.once
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_vectors_of_any_length(dtype):
    """Ready and pending ones, beside those of another type: up to some length where they are asked for."""
    random = numpy.random.default_rng(6)
    for _ in range(20):
        n = int(10 ** random.uniform(0, 5.6))
        x, y = draw((n,), dtype, n), draw((n,), random.choice([dtype, "complex64", "float64"]), 1)
        name = str(random.choice(["dot", "vdot", "inner"]))
        for product in (lambda np, x, y: getattr(np, name)(x, y), lambda np, x, y: getattr(np, name)(x + y, y * 2)):  # noqa: B023
            check(x, y, product=product, n=n, settings=ANY_WORKERS)


def test_long_vectors_with_what_is_no_number():
    for value in (numpy.inf, numpy.nan):
        x, y = draw((300_007,), "float64"), draw((300_007,), "float64", 1)
        x[123_456] = value
        assert repr(float(np.array(x) @ np.array(y))) == repr(float(x @ y))
    for n in (12_345, 60_007, 300_007):
        with pytest.warns(RuntimeWarning, match="invalid value encountered in matmul"):
            assert np.isnan(np.zeros(n) @ np.full(n, numpy.inf))
        with pytest.warns(RuntimeWarning, match="overflow encountered in matmul"):
            assert np.isinf(np.full(n, 1.5 * (numpy.finfo(float).max / n)) @ np.ones(n))     # the sum of parts alone


@pytest.mark.parametrize("dtype", DTYPES)
def test_with_its_own_transpose(dtype):
    x = draw((600, 130), dtype)
    for product in (lambda np, x, y: x @ x.T, lambda np, x, y: x.T @ x, lambda np, x, y: x[::2] @ x[::2].T,
                    lambda np, x, y: x @ x[:].T, lambda np, x, y: x @ x.T[:, :500], lambda np, x, y: x[:130] @ x[:130],
                    lambda np, x, y: x.T[::-1] @ x[:, ::-1], lambda np, x, y: x @ x.T.conj()):
        check(x, x, n=600, product=product, settings=ANY_WORKERS[:4])
    x = draw((3, 200, 130), dtype)
    for product in (lambda np, x, y: x @ np.swapaxes(x, 1, 2), lambda np, x, y: x @ np.swapaxes(x[:1], 1, 2),
                    lambda np, x, y: x[1] @ np.swapaxes(x, 1, 2)):
        check(x, x, product=product, settings=ANY_WORKERS[:4])


@pytest.mark.parametrize("layout", ["C", "Fortran", "rows of a larger one", "columns of a larger one",
                                    "every second row"])
@pytest.mark.parametrize("shape", [(20, 3000), (97, 300), (317, 33), (1100, 40)])
def test_a_product_with_its_own_transpose_is_symmetric(shape, layout):
    """To the last bit, as NumPy's is, where BLAS takes the layout."""
    for dtype in DTYPES:
        x = LAYOUTS[layout](np, np.array(draw(shape, dtype)))
        for product in (x @ x.T, x.T @ x):
            assert (product == product.T).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors(dtype):
    m, v, w = draw((300, 1200), dtype), draw((1200,), dtype, 1), draw((300,), dtype, 2)
    settings = ANY_WORKERS[:3] + ANY_WORKERS[-2:]
    check(m, v, settings=settings)
    check(w, m, settings=settings)
    check(v, m, product=lambda np, x, y: x @ y.T, settings=settings)
    check(w, m, product=lambda np, x, y: y.T @ x, settings=settings)
    check(v, v, settings=settings)
    check(m, v, product=lambda np, x, y: x[:, ::2] @ y[::-2], settings=settings)
    check(m, v, product=lambda np, x, y: x @ y[:, None], settings=settings)
    check(v, w, n=1, product=lambda np, x, y: x[:, None] @ y[None, :], settings=settings)
    check(m, v, product=lambda np, x, y: np.dot(x, y), settings=settings)
    check(draw((4, 30, 40), dtype), draw((40,), dtype), settings=settings)


@pytest.mark.parametrize("dtype", DTYPES + OTHERS)
def test_empty_and_tiny(dtype):
    for a, b in (((0, 5), (5, 4)), ((4, 5), (5, 0)), ((4, 0), (0, 5)), ((0, 0), (0, 0)), ((1, 1), (1, 1)),
                 ((3, 0, 4), (4, 5)), ((0,), (0,)),
                 ((0,), (0, 3)), ((1, 500), (500, 1)), ((100, 0), (0, 100))):
        check(draw(a, dtype), draw(b, dtype, 1), settings=[{}, {"limit": 0}])


@pytest.mark.parametrize("dtype", OTHERS)
def test_types_without_a_blas(dtype):
    check(draw((70, 80), dtype), draw((80, 90), dtype, 1), settings=[{}, {"workers": 3}, {"workers": 1}])
    check(draw((2, 70, 20), dtype), draw((20, 40), dtype, 1), settings=[{}, {"workers": 3}, {"workers": 1}])


def test_mixed_types():
    for a in DTYPES + ("int64", "float16"):
        for b in DTYPES + ("uint8",):
            check(draw((70, 80), a), draw((80, 90), b, 1))


@pytest.mark.parametrize("product", [np.matmul, np.dot])
@pytest.mark.parametrize("n", [2, 80])
def test_a_gradient_knows_that_a_product_overwrote_what_it_needs(product, n):
    from dflow import autograd
    a, x, w = np.ones((n, n)), np.ones((n, n)), np.ones((n, n))
    w.attach_grad()
    with autograd.record():
        y = (w * x).sum()
    assert product(a, a, out=x) is x and (x == n).all()
    with pytest.raises(ValueError, match="was written to since"):
        y.backward()


def test_a_product_is_not_written_into_a_value():
    a, s = np.ones(3), np.ones(3)[0]
    with pytest.raises(TypeError, match="return arrays must be of ArrayType"):
        np.matmul(a, a, out=s)
    assert s == 1


OUTS = ("np.matmul(x, y, out=out)", "np.matmul(x, y, out=out[::2])", "np.matmul(x, y, out=out.T)",
        "np.matmul(x, y, out=x)",
        "np.matmul(x, y, out=y)", "np.matmul(x, y.T, out=x[::-1])", "np.matmul(x, y, out=out[:, ::-1])",
        "np.matmul(x, x, out=x)",
        "np.dot(x, y, out=out)", "x @= y", "np.matmul(x[1:], y, out=x[:-1])")


@pytest.mark.parametrize("statement", OUTS)
def test_out_and_overlap(statement):
    n = 300
    variables = []
    for module in (numpy, np):
        x, y = draw((n, n), "float64"), draw((n, n), "float64", 1)
        out = numpy.zeros((2 * n, n) if "::2]" in statement else (n, n))
        these = {"np": module} | {name: module.array(value) for name, value in (("x", x), ("y", y), ("out", out))}
        exec(statement, these)
        variables.append(these)
    for name in ("x", "y", "out"):
        assert_near(variables[1][name], variables[0][name], n)


def test_products_read_what_is_pending_and_are_read():
    with configured(limit=0):
        x, y = draw((300, 200), "float64"), draw((200, 250), "float64", 1)
        a, b = np.array(x), np.array(y)
        c = (a * 2 - 1) @ (b + 1)
        a += 1
        d = (c * 2).sum(axis=0) + c[0]
        expected = (x * 2 - 1) @ (y + 1)
        assert_near(c, expected, 2000)
        assert_near(d, (expected * 2).sum(axis=0) + expected[0], 2000)


def test_nan_and_infinity_spread_as_in_numpy():
    x, y = draw((200, 100), "float64"), draw((100, 300), "float64", 1)
    x[5, 7] = numpy.nan
    y[3, 11] = numpy.inf
    with numpy.errstate(all="ignore"):
        expected, actual = x @ y, (np.array(x) @ np.array(y)).asnumpy()
    assert (numpy.isnan(expected) == numpy.isnan(actual)).all() and (numpy.isinf(expected) == numpy.isinf(actual)).all()


def test_what_was_in_the_results_memory_does_not_show():
    """Freed memory full of NaN is used again for results."""
    for _ in range(5):
        np.full((300, 300), numpy.nan).wait_to_read()
        x = np.ones((300, 300)) @ np.ones((300, 300))
        assert (x.asnumpy() == 300).all()


# -- threads ---------------------------------------------------------------------------------------

def thread_counts():
    return {library["filepath"]: library["num_threads"] for library in threadpoolctl.threadpool_info()}


@pytest.fixture
def loaded():
    """SciPy's BLAS, as the first large product loads it."""
    dflow.engine.config()
    return thread_counts()


def test_nobodys_thread_counts_change(loaded):
    x = draw((700, 600), "float64")
    y = np.array(x)
    for n in (1, 2, 5):
        with configured(workers=n):
            for _ in range(5):
                (y @ y.T[:, ::-1]).wait_to_read()
                (y @ y.T).wait_to_read()
            dflow.waitall()
        assert thread_counts() == loaded


# Before dflow runs anything: looks at the time of the threads that there are, of a BLAS.
THEIRS = """
import os, time
theirs = [f"/proc/self/task/{t}/schedstat" for t in os.listdir("/proc/self/task") if int(t) != os.getpid()]
def used():
    return sum(int(open(f).read().split()[0]) for f in theirs)
"""
ASIDE = """
import dflow.numpy as np
x = np.ones(400_000)
z = x.astype("F")
time.sleep(0.3)             # new threads look around for work for a while
before, start = used(), time.process_time_ns()
for call in (lambda: x @ x, lambda: z @ z, lambda: np.vecdot(x, x), lambda: np.einsum("i,i", x, x)):
    for _ in range(100):
        call()
    dflow.waitall()
print(repr((used() - before, time.process_time_ns() - start)))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="needs Linux")
def test_the_threads_of_numpys_blas_stay_out_of_vector_products():
    (theirs, all_of_us), _ = run("import numpy, dflow" + THEIRS + ASIDE)
    assert theirs < all_of_us / 20


@pytest.mark.once
@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="needs Linux")
@pytest.mark.parametrize("first, product", [
    ("dflow", "x @ x"), ("numpy", "x @ x"), ("scipy.linalg", "x @ x"),
    ("scipy.linalg", "scipy.linalg.blas.dgemm(1, x, x)")])
def test_threads_of_a_blas_sleep_soon_whatever_is_imported_first(first, product):
    """Left alone they would spin for 2**26 cycles."""
    library = ctypes.CDLL(numpy.linalg._umath_linalg.__file__)
    if first != "dflow" and product == "x @ x" and not hasattr(library, "blas_thread_shutdown_"):
        pytest.skip("NumPy's OpenBLAS does not show how: since NumPy 2.5 dflow has to come first")
    used, = run(f"import {first}, numpy, scipy.linalg, dflow" + THEIRS + f"""
x = numpy.ones((300, 300))
{product}
time.sleep(0.2)             # new threads look around for work for a while
before = used()
for _ in range(5):
    {product}
    time.sleep(0.05)
print(repr((used() - before,)))
""")[0]
    assert used < 50_000_000, "nanoseconds, for five products"


def test_nobody_waits_with_the_gil_for_numpys_blas():
    """Whoever has it for himself may need the GIL to get out."""
    x, m, v = np.array(draw((1400, 1400), "float64")), draw((100, 100), "float64"), draw((100,), "float64", 1)
    a, b, long = np.array(m), np.array(v), np.ones(20_000)
    with configured(workers=2):
        a @ b, long @ long, np.linalg.solve(a, b)       # from the second time on, they know the way
        dflow.waitall()
        values = np.linalg.svd(x)[1]
        time.sleep(0.05)                                # a worker has begun
        start = time.monotonic()
        products = a @ b, long @ long, np.linalg.solve(a, b)
        taken = time.monotonic() - start
        in_task = dflow.submit(lambda a, b: float((a @ b).sum()), a, b)
        values.wait_to_read()
        assert taken < time.monotonic() - start - taken
        assert_near(products[0], m @ v, 100)
        assert float(products[1]) == 20_000
        assert numpy.allclose(products[2].asnumpy(), numpy.linalg.solve(m, v))
        assert numpy.isclose(in_task.result(), (m @ v).sum())


def test_what_must_run_at_once_waits_for_numpys_blas_without_the_gil():
    x, m, v = np.array(draw((1400, 1400), "float64")), draw((100, 100), "float64"), draw((100,), "float64", 1)
    a, b = np.array(m), np.array(v)
    with configured(workers=2):
        values = np.linalg.svd(x)[1]
        time.sleep(0.1)
        with np.errstate(invalid="raise"):
            assert_near(a @ b, m @ v, 100)
            with pytest.raises(FloatingPointError):
                a @ np.full(100, numpy.inf)
        assert values.asnumpy()[0] > 0


@pytest.mark.parametrize("change", ["a.resize(2)", "a[:] = 7"])
def test_operands_that_change_while_a_task_waits_for_numpys_blas(change):
    """They are none of the task's, so nobody waits for it; its product is of what they were, or became, as a whole."""
    x, a, b = np.array(draw((1000, 1000), "float64")), np.full((100, 100), 3.0), np.ones(100)
    begun = threading.Event()

    def multiply():
        begun.set()
        return a @ b

    with configured(workers=2):
        a @ b
        dflow.waitall()
        values = np.linalg.svd(x)[1]
        time.sleep(0.05)                                # a worker has begun
        product = dflow.submit(multiply)
        assert begun.wait(HANG)
        time.sleep(0.01)
        exec(change, {"a": a})
        others = [np.full((100, 100), 5.0) for _ in range(9)]               # in memory that is free now
        assert not values.is_ready()
        assert set(product.result().tolist()) in ({300}, {700} if "7" in change else {300})
        assert all((other == 5).all() for other in others)
        values.wait_to_read()


def test_products_in_tasks_of_what_another_thread_writes_while_numpys_blas_is_busy():
    """Each sees one write of all elements: no older one than had been submitted before, none submitted later."""
    a, b, m = np.zeros((100, 100)), np.ones(100), np.array(draw((300, 300), "float64"))
    stop, last, seen = threading.Event(), [0, 0], []

    def multiply():
        oldest = last[1]
        product = a @ b
        seen.append((oldest, product, last[0]))

    def write():
        while not stop.is_set():
            last[0] += 1
            a.fill(last[0])
            last[1] = last[0]
            time.sleep(0.0001)

    def use_blas():
        for _ in range(10):
            inverse = np.linalg.inv(m)                  # has it for itself
            for task in [dflow.submit(multiply) for _ in range(4)]:
                task.result()
            inverse.wait_to_read()
        stop.set()

    with configured(workers=3):
        in_threads(write, use_blas)
    for oldest, product, newest in seen:
        value, = set(product.tolist())
        assert 100 * oldest <= value <= 100 * newest
    assert len(seen) == 40 and seen[-1][1][0] > 0


def test_a_count_that_the_user_set_stays(loaded):
    y = np.array(draw((700, 600), "float64"))
    for limit in (1, 2, 3):
        with threadpoolctl.threadpool_limits(limit, user_api="blas"):
            counts = thread_counts()
            (y.T @ y[:, ::-1]).wait_to_read()
            dflow.waitall()
            assert thread_counts() == counts
    assert thread_counts() == loaded


def test_counts_when_several_threads_multiply(loaded):
    y = np.array(draw((400, 500), "float32"))
    expected = y.asnumpy() @ y.asnumpy().T[:, ::-1]

    def multiply():
        for _ in range(8):
            assert_near(y @ y.T[:, ::-1], expected, 500)

    for settings in ({"workers": 3}, {"workers": 1}, {"naive": True}):
        with configured(**settings):
            in_threads(multiply, multiply, multiply)
            dflow.waitall()
        assert thread_counts() == loaded


def test_numpys_own_products_beside_ours(loaded):
    x = draw((500, 500), "float64")
    y, stop = np.array(x), threading.Event()
    expected = x @ x

    def theirs():
        while not stop.is_set():
            assert numpy.allclose(x @ x, expected)

    def ours():
        try:
            for _ in range(20):
                assert_near(y @ y, expected, 2000)
        finally:
            stop.set()

    in_threads(theirs, ours)
    dflow.waitall()
    assert thread_counts() == loaded


# -- configuration ---------------------------------------------------------------------------------

PROGRAM = """
import os
before = dict(os.environ)
import numpy
import dflow, dflow.numpy as np
x = np.arange(40000.0).reshape(200, 200) % 7
y = (x @ x[::-1]).asnumpy()
assert (y == x.asnumpy() @ x.asnumpy()[::-1]).all()
assert dict(os.environ) == before, "the environment was changed"
print(repr(dflow.engine.config()))
dflow.show_config()
"""


def run(program=PROGRAM, **environment):
    """The configuration that a process prints first, and its other lines."""
    env = clean_environment()
    env.pop("OPENBLAS_CORETYPE", None)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=HANG,
                          env=env | environment)
    assert done.returncode == 0, done.stderr
    first, *lines = done.stdout.splitlines()
    return ast.literal_eval(first), lines


def skip_without_openblas():
    if not dflow.engine.config()["blas"].get("kernels"):
        pytest.skip("SciPy's BLAS is not OpenBLAS")


def test_the_core_type_can_be_chosen():
    skip_without_openblas()
    for name, kernels in (("HASWELL", "Haswell"), ("SANDYBRIDGE", "Sandybridge")):
        assert run(DFLOW_BLAS_CORETYPE=name)[0]["blas"]["kernels"] == kernels


def test_an_empty_core_type_leaves_the_choice_to_the_library():
    skip_without_openblas()
    own = run(DFLOW_BLAS_CORETYPE="")[0]["blas"]["kernels"]
    program = ("import scipy.linalg, threadpoolctl\n"
               "print([l['architecture'] for l in threadpoolctl.threadpool_info() if 'scipy' in l['filepath']])")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=HANG)
    assert own in ast.literal_eval(done.stdout)


def test_the_users_openblas_coretype_counts():
    skip_without_openblas()
    assert run(OPENBLAS_CORETYPE="HASWELL")[0]["blas"]["kernels"] == "Haswell"
    assert run(OPENBLAS_CORETYPE="HASWELL", DFLOW_BLAS_CORETYPE="SANDYBRIDGE")[0]["blas"]["kernels"] == "Sandybridge"


def test_a_library_that_is_loaded_already_is_used_as_it_is():
    skip_without_openblas()
    config, _ = run("import scipy.linalg\n" + PROGRAM, DFLOW_BLAS_CORETYPE="SANDYBRIDGE", OPENBLAS_CORETYPE="HASWELL")
    assert config["blas"]["kernels"] == "Haswell"


def test_the_environment_is_as_before():
    program = ("import os\nbefore = dict(os.environ)\nimport dflow\ndflow.engine.config()\n"
               "new = {name: value for name, value in os.environ.items() if before.get(name) != value}\n"
               "print(repr(new | {name: None for name in before if name not in os.environ}))\n")
    for own in ({}, {"OPENBLAS_THREAD_TIMEOUT": "10"},
                {"OPENBLAS_CORETYPE": "HASWELL", "DFLOW_BLAS_CORETYPE": "SANDYBRIDGE"}):
        assert not {name for name in run(program, **own)[0] if "OPENBLAS" in name}


def test_show_config():
    config, lines = run(DFLOW_NUM_WORKERS="3")
    assert lines[0] == f"dflow {dflow.__version__}, numpy {numpy.__version__}"
    assert lines[1:] == [f"{name}: {value}" for name, value in config.items()]
    assert config["workers"] == 3 and config["naive"] is False and config["bulk"] == dflow.engine.config()["bulk"]
    assert {"workers", "naive", "bulk", "memory_budget", "native", "blas"} == set(config)


def test_the_same_bits_in_another_process_with_another_number_of_workers():
    program = ("import numpy, hashlib, dflow.numpy as np, dflow\nr = numpy.random.default_rng(3)\n"
               "x, y = np.array(r.normal(size=(1300, 150))), np.array(r.normal(size=(150, 1300)))\n"
               "z = hashlib.sha256((x @ y).asnumpy().tobytes()).hexdigest()\nprint(repr({'z': z}))\n")
    assert len({run(program, DFLOW_NUM_WORKERS=str(n))[0]["z"] for n in (1, 2, 7)}) == 1


# -- linear algebra: a loop of NumPy's for each matrix --------------------------------------------------------------

OF_MATRICES = {
    "inv": lambda np, m: np.linalg.inv(m),
    "det": lambda np, m: np.linalg.det(m),
    "slogdet": lambda np, m: np.stack(np.linalg.slogdet(m), -1),
    "solve": lambda np, m: np.linalg.solve(m, m[..., :1] + m),
    "cholesky": lambda np, m: np.linalg.cholesky(m @ np.swapaxes(m, -1, -2) + np.eye(m.shape[-1])),
    "svd": lambda np, m: np.linalg.svd(m)[1],
    "eigvalsh": lambda np, m: np.linalg.eigvalsh(m + np.swapaxes(m, -1, -2)),
    "reduced": lambda np, m: np.concatenate(np.linalg.qr(m[..., :-1]), -2),
    "complete": lambda np, m: np.concatenate(np.linalg.qr(m[..., :-1, :], "complete"), -1),
    "r": lambda np, m: np.linalg.qr(m, "r"),
}


@pytest.mark.parametrize("n", [2, 3, 5, 20, 40])
@pytest.mark.parametrize("name", OF_MATRICES)
def test_linear_algebra_of_stacks_and_of_matrices_beside_each_other(name, n):
    function, stack = OF_MATRICES[name], draw((200, n, n), "float64") + n * numpy.eye(n)
    expected = function(numpy, stack)
    results = []
    for workers in (1, 4):
        with configured(workers=workers):
            results.append(function(np, np.array(stack)).asnumpy())
            numpy.testing.assert_allclose(results[-1], expected, rtol=1e-9, atol=1e-11)
            matrices = [function(np, np.array(m)) for m in stack[:50]]
            numpy.testing.assert_allclose([m.asnumpy() for m in matrices], expected[:50], rtol=1e-9, atol=1e-11)
    numpy.testing.assert_array_equal(*results)


@pytest.mark.parametrize("seed", range(12))
def test_systems_of_many_columns(seed):
    """Solved for in parts, by whoever comes: the same bits alone, in a stack, and with any number of workers."""
    random = numpy.random.default_rng(seed)
    n = int(numpy.exp(random.uniform(numpy.log(50), numpy.log(600))))
    k = random.choice([1, n // 2 - 1, n // 2, n, int(random.integers(1, 2 * n))])
    a, b = random.normal(size=(n, n)) + n ** 0.5 * numpy.eye(n), random.normal(size=(n, k))
    if seed % 3 == 0:
        a, b = a + 1j * random.normal(size=(n, n)), b + 0j
    if seed % 2:
        a, b = numpy.asfortranarray(a), numpy.repeat(b, 2, axis=1)[::-1, ::2]
    calls = (lambda a, b: np.linalg.inv(a), np.linalg.solve)
    results = []
    for workers in (1, 2, 4):
        with configured(workers=workers):
            results.append([call(np.array(a, copy=False), np.array(b, copy=False)) for call in calls])
            results.append([call(np.array([a, a]), np.array([b, b]))[1] for call in calls])
            dflow.waitall()
    results.append([call(np.array(a), np.array(b)) for call in calls])
    for inverse, solution in results:
        numpy.testing.assert_array_equal(inverse, results[0][0])
        numpy.testing.assert_array_equal(solution, results[0][1])
    assert abs(a @ results[0][0].asnumpy() - numpy.eye(n)).max() < 1e-10
    assert abs(a @ results[0][1].asnumpy() - b).max() < 1e-10
    numpy.testing.assert_allclose(results[0][1], numpy.linalg.solve(a, b), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("n", [72, 99, 255, 300, 513])
@pytest.mark.parametrize("dtype", ["d", "D"])
def test_a_singular_matrix_of_many_columns(n, dtype):
    bad, good = numpy.ones((n, n), dtype), numpy.eye(n, dtype=dtype) * 2
    for workers in (1, 4):
        with configured(workers=workers):
            for a in (bad, numpy.array([good, bad])):
                found = [np.linalg.inv(np.array(a)), np.linalg.solve(np.array(a), np.array(good))]
                fine = np.linalg.inv(np.array(good))
                for x in found:
                    with pytest.raises(numpy.linalg.LinAlgError, match="Singular matrix"):
                        x.asnumpy()
                numpy.testing.assert_array_equal(fine, good / 4)


@pytest.mark.parametrize("n", [3, 80])
@pytest.mark.parametrize("rows", [2, 64])
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_singular_matrix_in_a_stack_of_two_axes(n, rows, workers):
    """The loop runs once a row: what it finds in the last is not all."""
    stack = numpy.tile(numpy.eye(n), (rows, 3, 1, 1))
    stack[0, 1] = 0
    for stacked in (stack[:, :2], stack[:, 1:], stack.transpose(1, 0, 2, 3)):
        with configured(workers=workers):
            with pytest.raises(numpy.linalg.LinAlgError, match="Singular matrix"):
                np.linalg.inv(np.array(stacked, copy=False)).asnumpy()
            with pytest.raises(numpy.linalg.LinAlgError, match="Singular matrix"):
                np.linalg.solve(np.array(stacked, copy=False), np.array(stacked)).asnumpy()


@pytest.mark.parametrize("name, text", [("inv", "Singular matrix"), ("cholesky", "Matrix is not positive definite")])
@pytest.mark.parametrize("n", [3, 40])
def test_one_bad_matrix_in_a_stack(name, text, n):
    """Whoever comes across it in a split kernel."""
    stack = np.array(numpy.tile(numpy.eye(n), (9000 // n, 1, 1)))
    stack[170] = -numpy.eye(n) if name == "cholesky" else 0
    with configured(workers=4):
        found = getattr(np.linalg, name)(stack)
        with pytest.raises(numpy.linalg.LinAlgError, match=text):
            found.asnumpy()


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8"])
def test_products_of_rows_of_integers(dtype):
    """einsum of many vectors of integers, for which there is no BLAS: wrapped round in their type, as NumPy's."""
    random = numpy.random.default_rng(2)
    for _ in range(12):
        shape = int(10 ** random.uniform(0, 3)), int(10 ** random.uniform(0, 2.5)) - 1
        x, y = (random.integers(0, 2, shape) if dtype == "?" else random.integers(-100, 100, shape) for _ in range(2))
        x, y = x.astype(dtype), y.astype(dtype)
        for subscripts in ("ij,ij->i", "ij,ij->j", "ij,ij", "ij,kj->ik"):
            if subscripts != "ij,kj->ik" or shape[0] < 100:
                for how in {}, {"optimize": True}:
                    assert_same(np.einsum(subscripts, np.array(x), np.array(y), **how), numpy.einsum(subscripts, x, y))
