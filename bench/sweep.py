"""Five kinds of work from 1 to 10^8 elements, beside NumPy: bench/results/sweep.png shows where each one pays."""
import numpy

from .registry import experiment, on_both, row_of
from .seed import SETTLE
from .timing import Side, calibrate, interleaved

SIZES = tuple(digit * 10 ** power for power in range(8) for digit in (1, 3)) + (10 ** 8,)

# The statement, the type, the most elements that are measured without --full, and nanoseconds an element with NumPy,
# roughly.
KINDS = {
    "add": ("z = x + y", "f8", 10 ** 8, 1.5),
    "exp": ("z = np.exp(x)", "f8", 10 ** 8, 5),
    "chain": ("z = x*y + 2*x - y/3", "f4", 10 ** 8, 4),
    "sum": ("z = x.sum()", "f8", 10 ** 8, 0.5),
    "product": ("z = x @ y", "f4", 10 ** 7, 60),
}

SECONDS = 0.25       # about, for one size of one kind


@experiment("sweep", "add, exp, a chain, sum and a matrix product, at sizes from 1 to 10^8 (--full: the product too)",
            sizes=SIZES, size_is="elements (of a matrix, for the product)", parts=KINDS)
def sweep(run):
    # By size: whatever else the machine does then disturbs one size of all kinds, not one kind.
    for size in run.sizes:
        for kind in run.only or KINDS:
            if size <= KINDS[kind][2] or run.full:
                yield _measure(run, kind, size)


def _measure(run, kind, size):
    stmt, dtype, _, cost = KINDS[kind]
    shape = (round(size ** 0.5),) * 2 if kind == "product" else (size,)
    theirs, ours = on_both(**_operands(shape, dtype))
    sides = {"numpy": Side(stmt, **theirs), "dflow": Side(stmt, "waitall()", **ours)}
    guess = size * cost * 1e-9
    number = 1 if guess > 0.004 else calibrate(sides["numpy"], 0.002)
    repeat = max(3, min(7, round(SECONDS / (2 * max(guess, 0.002)))))
    # Only then does OpenBLAS use threads, which spin.
    settle = SETTLE if kind == "product" and size > 1000 else 0
    timings = interleaved(sides, run.repeat(repeat), number, settle)
    label = f"{kind}, {shape[0]:,} x {shape[1]:,}" if kind == "product" else f"{kind}, {size:,}"
    return row_of(label, timings["dflow"], timings["numpy"], size=size)


def _operands(shape, dtype):
    """Two arrays of numbers between 1 and 2: some thousand random ones, repeated, as more would take long to make."""
    some = numpy.random.default_rng(0).random(4001).astype(dtype) + 1
    return {"x": numpy.resize(some, shape), "y": numpy.resize(some[::-1], shape)}
