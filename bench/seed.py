"""The experiments of the seed documents: asynchrony, barriers, improving computation, memory footprint."""
import io
import time
from functools import partial
from itertools import pairwise

import numpy

import dflow
import dflow.numpy

from .memory import PeakResident
from .registry import Row, experiment, on_both, row_of
from .timing import Side, interleaved

# Longer than OpenBLAS's threads spin after a product, see timing.interleaved.
SETTLE = 0.2


@experiment("asynchrony", "10 x (normal(size=(n, n)); dot): time to submit, to wait, in total",
            sizes=(1000,), size_is="n, the side of the matrix")
def asynchrony(run):
    stmt = "for _ in range(10):\n    a = np.random.normal(size=(n, n))\n    b = np.dot(a, a)"
    for size in run.sizes:
        yield run.against_numpy(f"10 x (normal; dot) of {size} x {size}", stmt, {"n": size}, number=1, repeat=5,
                                settle=SETTLE, size=size)


@experiment("graph", "x = ones((1, 2)); y = ones((1, 2)); z = x * y + 2; print(z)")
def graph(run):
    ones = "x = np.ones((1, 2))\ny = np.ones((1, 2))\n"
    printed = [io.StringIO(), io.StringIO()]
    for module, text in zip((numpy, dflow.numpy), printed, strict=True):
        print(repr(module.ones((1, 2)) * module.ones((1, 2)) + 2), file=text)
    theirs, ours = (text.getvalue().strip() for text in printed)
    values = {"text": io.StringIO()}
    yield run.against_numpy("z = x * y + 2", "z = x * y + 2", {"x": numpy.ones((1, 2)), "y": numpy.ones((1, 2))})
    yield run.against_numpy("x, y = ones; z = x * y + 2", ones + "z = x * y + 2", {})
    yield run.against_numpy("x, y = ones; z = x * y + 2; print(z)", ones + "z = x * y + 2\nprint(z, file=text)", values,
                            before="text.seek(0)", note=ours if ours == theirs else f"{ours}, NumPy's is {theirs}")


@experiment("barriers", "waitall, wait_to_read, asnumpy and item after b = dot(a, a)",
            sizes=(1000,), size_is="n, the side of the matrix")
def barriers(run):
    ends = {
        "waitall()": ("waitall()", "pass"),
        "b.wait_to_read()": ("b.wait_to_read()", "pass"),
        "b.asnumpy()": ("b.asnumpy()", "b.copy()"),
        "b.sum().item()": ("b.sum().item()", "b.sum().item()"),
    }
    for size in run.sizes:
        theirs, ours = on_both(a=numpy.random.default_rng(0).normal(size=(size, size)))
        sides = {}
        for name, (end, numpy_end) in ends.items():
            sides[name] = Side("b = np.dot(a, a)", end, **ours)
            sides["numpy " + name] = Side("b = np.dot(a, a)", numpy_end, **theirs)
        timings = interleaved(sides, run.repeat(9), 1, settle=SETTLE)
        for name in ends:
            yield row_of(f"dot of {size} x {size}; {name}", timings[name], timings["numpy " + name], size=size)
        yield from _intermediate(run, size, ours)


def _intermediate(run, size, ours):
    """The seed's exercise 4: of ten products, wait for the first, or for all."""
    stmt = "first = np.dot(a, a)\nfor _ in range(9):\n    b = np.dot(a, a)"
    clean = "waitall()"
    timings = interleaved({"first": Side(stmt, "first.wait_to_read()", before=clean, **ours),
                           "all": Side(stmt, "waitall()", before=clean, **ours)}, run.repeat(5), 1)
    dflow.waitall()
    yield row_of(f"10 dots; wait for the first, not for all ({size})", timings["first"], timings["all"],
                 note="base: dflow, waitall()", size=size)


@experiment("increments", "1,000 times y = x + 1, with wait_to_read() after each, and with one wait at the end",
            sizes=(2, 100_000), size_is="elements of x, whose shape is (1, elements)")
def increments(run):
    count = 1000
    for size in run.sizes:
        theirs, ours = on_both(x=numpy.ones((1, size)))
        sides = {
            "numpy": Side("y = x + 1", **theirs),
            "sync": Side("y = x + 1\ny.wait_to_read()", **ours),
            # Not y.wait_to_read(): a wait runs what it needs first, and would leave the other 999 to the next side.
            "async": Side("y = x + 1", "waitall()", **ours),
        }
        timings = interleaved(sides, run.repeat(9), count)
        for name, words in (("sync", "synchronous"), ("async", "asynchronous")):
            yield row_of(f"y = x + 1, {words}, (1, {size})", timings[name], timings["numpy"],
                         note=f"{count} times, per op", size=size)


BATCH, LAYERS = 1024, (512, 2048, 512, 1)


def _weights(module):
    random = numpy.random.default_rng(0)
    return [module.array(random.normal(scale=inputs ** -0.5, size=(inputs, outputs)))
            for inputs, outputs in pairwise(LAYERS)]


def _epoch(module, weights, batches, barrier):
    """The seed's loop without the gradient: the forward pass and the loss of each minibatch."""
    for _ in range(batches):
        X = module.random.normal(size=(BATCH, LAYERS[0]))
        y = module.ones((BATCH, 1))
        out = X
        for weight in weights[:-1]:
            out = module.maximum(module.dot(out, weight), 0)
        out = module.dot(out, weights[-1])
        loss = ((out - y) ** 2).mean()
        if barrier:
            loss.wait_to_read()


@experiment("footprint", "minibatches through a 512-2048-512-1 network, with and without a barrier: time, peak memory",
            sizes=(20,), size_is="minibatches (the seed has 150)")
def footprint(run):
    for batches in run.sizes:
        epochs = {}
        for name, module, barrier in (("numpy", numpy, False), ("a barrier", dflow.numpy, True),
                                      ("no barrier", dflow.numpy, False)):
            epochs[name] = partial(_epoch, module, _weights(module), batches, barrier)
            # As in the seed: one batch first, so that what is measured is the loop and no first use.
            _epoch(module, _weights(module), 1, False)
            dflow.waitall()
        # The memory of the first epoch counts: later ones find the pages of earlier ones in the pool.
        peaks = {name: _peak(epoch) for name, epoch in epochs.items()}
        sides = {name: Side("epoch()", "waitall()", epoch=epoch, waitall=dflow.waitall)
                 for name, epoch in epochs.items()}
        timings = interleaved(sides, run.repeat(3), 1, settle=SETTLE)
        for name in ("a barrier", "no barrier"):
            yield row_of(f"{batches} minibatches, {name}", timings[name], timings["numpy"], size=batches)
        for name, peak in peaks.items():
            yield Row(f"{batches} minibatches, {name}: peak memory", peak, unit="bytes", size=batches)


def _peak(epoch):
    with PeakResident() as peak:
        epoch()
        dflow.waitall()
    time.sleep(SETTLE)
    return peak.increase
