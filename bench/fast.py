"""How fast what people compute is: beside NumPy, beside other libraries, and beside what the machine can do."""
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial

import numpy
import threadpoolctl

import dflow
import dflow.numpy

from . import native, peers
from .limits import fresh
from .registry import Beside, Row, experiment, on_both, row_of
from .report import seconds
from .seed import SETTLE
from .timing import Side, Timing, calibrate, interleaved, ratio

PEER, MACHINE = "best peer", "the machine"

# The threads of OpenMP spin too after their work, though not as long as OpenBLAS's.
SPIN = 0.01

BIG = 10_000_000
CHAIN, SINE = "x*y + 2*x - y/3", "np.sin(x)*y + 2*x - y/3"


@dataclass
class Case:
    """One row to measure: a statement on both, its limit, and what else it is measured beside.

    `peers` are calls by library. `machine` is a call that shows what the machine can do, in its time / `share`. Where
    `result` names what the statement makes, they must return the same. As many statements as fill a round are
    timed, and if these are several, once more with a wait after each, for the note.
    """

    label: str
    stmt: str
    values: dict
    limit: float
    before: str = "pass"
    peers: dict = field(default_factory=dict)
    peer_limit: float | None = None
    machine: object = None
    machine_name: str = "C"
    machine_limit: float | None = None
    share: int = 1
    result: str = ""
    settle: float = 0.0
    repeat: int = 7
    inside: object = field(default_factory=nullcontext)


PARTS = {}


def part(make):
    """Registers a part of the experiment, a generator of cases. A case's arrays go before the next one's are made."""
    PARTS[make.__name__.strip("_")] = lambda run: (_measured(run, case) for case in make())
    return make


def _measured(run, case):
    """Its row; one with the error, where another library raises or computes something else."""
    try:
        return _measure(run, case)
    except Exception as error:
        return Row(case.label, error=f"{type(error).__name__}: {error}".splitlines()[0])


def _measure(run, case):
    theirs, ours = on_both(**case.values)
    calls = dict(case.peers)
    if case.machine:
        calls[case.machine_name] = case.machine
    if case.result:
        _compare(case, theirs, calls)
    sides = {"numpy": Side(case.stmt, before=case.before, **theirs),
             "dflow": Side(case.stmt, "waitall()", case.before, **ours)}
    with case.inside:
        number = calibrate(sides["numpy"])
        if number > 1:
            sides["sync"] = Side(f"{case.stmt}\nwaitall()", before=case.before, **ours)
        sides |= {name: Side("call()", call=call) for name, call in calls.items()}
        timings = interleaved(sides, run.repeat(case.repeat), number, max(case.settle, SPIN if case.peers else 0))
    mine, beside, notes = timings["dflow"], [], []
    if number > 1:
        notes.append(f"with a wait after each {ratio(timings['sync'], timings['numpy']).median:.2f} x")
    if case.peers:
        best = min(case.peers, key=lambda name: timings[name].total)
        beside.append(_beside(PEER, best, mine, timings[best], case.peer_limit))
        notes += [f"{name} {seconds(timings[name].total)}" for name in case.peers if name != best]
    if case.machine:
        limit = _divided(timings[case.machine_name], case.share)
        beside.append(_beside(MACHINE, case.machine_name, mine, limit, case.machine_limit))
    return row_of(case.label, mine, timings["numpy"], limit=case.limit, note=", ".join(notes), beside=beside)


def _beside(column, name, timing, base, limit):
    measured = ratio(timing, base)
    return Beside(column, name, base.total, measured.median, limit, measured.low, measured.high)


def _divided(timing, share):
    parts = Timing(timing.number * share)
    for submit, wait in zip(timing.submits, timing.waits, strict=True):
        parts.add(submit * timing.number, wait * timing.number)
    return parts


def _compare(case, theirs, calls):
    scope = dict(theirs)
    exec(case.stmt, scope)
    expected = scope[case.result]
    for name, call in calls.items():
        if abs(numpy.asarray(call()) - expected).max() > 1e-4 * abs(expected).max():
            raise ValueError(f"{name} computes something else than NumPy: {case.label}")


def _pair(n, dtype):
    random = numpy.random.default_rng(0)
    return [random.random(n, dtype) + numpy.ones((), dtype) for _ in range(2)]


def _cores():
    return dflow.engine.num_workers()


def _chain(x, y, machine, **more):
    out = numpy.empty_like(x)
    call = native.loop("chain", x, y, out, x.size, _cores(), result=out) if machine else None
    return Case(f"{CHAIN}, {x.size:,} float32", f"z = {CHAIN}", {"x": x, "y": y}, peers=peers.chain(x, y), machine=call,
                machine_limit=1.3, result="z", **more)


def _sine(x, y, **more):
    return Case(f"{SINE.removeprefix('np.')}, {x.size:,} float64", f"z = {SINE}", {"x": x, "y": y},
                peers=peers.sine_chain(x, y), result="z", **more)


@part
def chain():
    yield _chain(*_pair(BIG, "f4"), machine=True, limit=0.2, peer_limit=0.35)
    yield _sine(*_pair(BIG, "f8"), limit=0.25, peer_limit=0.5, repeat=5)


@part
def small():
    for n, limit in ((1000, 0.5), (10_000, 0.4), (100_000, 0.25)):
        yield _chain(*_pair(n, "f4"), machine=False, limit=limit, peer_limit=0.7, repeat=9)
        yield _sine(*_pair(n, "f8"), limit=limit, peer_limit=0.7, repeat=9)


@part
def inplace():
    for n, repeat in ((1_000_000, 15), (BIG, 7)):
        x, y = _pair(n, "f8")
        mine = x.copy()
        yield Case(f"x += y; x *= 0.5, {n:,} float64", "x += y\nx *= 0.5", {"x": x, "y": y}, 0.5, repeat=repeat,
                   peers=peers.inplace(x, y), peer_limit=1.0, machine=native.loop("inplace", mine, y, n, _cores()),
                   machine_limit=1.3)


@part
def stencil():
    five = "x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]"
    for n, limit in ((2000, 0.3), (200, 0.5)):
        x = numpy.random.default_rng(0).random((n, n))
        out, mine = numpy.zeros_like(x), numpy.zeros_like(x)
        yield Case(f"five-point stencil into a view, {n} x {n}", f"out[1:-1, 1:-1] = ({five}) * 0.2",
                   {"x": x, "out": out}, limit, peers=peers.stencil(x, out), peer_limit=0.6,
                   machine=native.loop("stencil", x, mine, n, n, _cores()), machine_limit=2)


@part
def sum_():
    x, y = _pair(BIG, "f4")
    yield Case(f"(x*y).sum(), {BIG:,} float32", "z = (x*y).sum()", {"x": x, "y": y}, 0.3, peers=peers.dot(x, y),
               peer_limit=0.9, machine=native.loop("dot", x, y, BIG, _cores()), machine_limit=1.3, result="z")


def _table():
    return numpy.random.default_rng(0).standard_normal((4096, 1024), dtype="f4")


@part
def mean():
    for axis, limit in ((0, 0.55), (1, 0.25)):
        x = _table()
        yield Case(f"x.mean(axis={axis}), (4096, 1024) float32", f"m = x.mean(axis={axis})", {"x": x}, limit,
                   peers=peers.mean(x, axis), peer_limit=0.9, result="m", repeat=15)


@part
def softmax():
    x = _table()
    yield Case("softmax of rows, (4096, 1024) float32", "e = np.exp(x - x.max(axis=1, keepdims=True))\n"
               "s = e / e.sum(axis=1, keepdims=True)", {"x": x}, 0.2, peers=peers.softmax(x),
               peer_limit=0.9, result="s")
    yield Case("logsumexp of rows, (4096, 1024) float32", "m = x.max(axis=1, keepdims=True)\n"
               "s = m + np.log(np.exp(x - m).sum(axis=1, keepdims=True))", {"x": x}, 0.2, peers=peers.logsumexp(x),
               peer_limit=0.9, result="s")


def _matmul_limit():
    """As NumPy's OpenBLAS does not use AVX-512 on some CPUs that have it, where that doubles a product's speed."""
    kernels = {one["architecture"] for one in threadpoolctl.threadpool_info() if "numpy" in one["filepath"]
               and one["internal_api"] == "openblas"}
    has = getattr(numpy._core._multiarray_umath, "__cpu_features__", {}).get("AVX512_SKX")
    return 0.55 if has and kernels & {"Haswell", "Zen"} else 1.0


@contextmanager
def _one_thread(library):
    with threadpoolctl.ThreadpoolController().select(filepath=library).limit(limits=1):
        yield


@part
def matmul():
    # The machine's limit is one thread of the library that dflow uses, times the cores; it is not always to be found.
    library = dflow.engine.config()["blas"].get("library")
    from scipy.linalg import blas  # here: dflow chooses the kernels of this library when it loads it
    for name, gemm in (("float32", blas.sgemm), ("float64", blas.dgemm)):
        a, b = (numpy.random.default_rng(0).standard_normal((2000, 2000), dtype=name) for _ in range(2))
        yield Case(f"a @ b, 2000 x 2000 {name}", "c = a @ b", {"a": a, "b": b}, _matmul_limit(),
                   peers=peers.product(a, b), peer_limit=0.5, settle=SETTLE, repeat=5, share=_cores(),
                   machine_name="GEMM", machine_limit=1.1, result="c",
                   machine=partial(_gemm, gemm, a, b) if library else None,
                   inside=_one_thread(library) if library else nullcontext())


def _gemm(gemm, a, b):
    return gemm(1.0, b.T, a.T).T


@part
def matmuls():
    matrices = list(numpy.random.default_rng(0).standard_normal((10, 500, 500), dtype="f4"))
    values = {f"a{i}": a for i, a in enumerate(matrices)}
    yield Case("ten products a @ a of 500 x 500 float32", "\n".join(f"b{i} = a{i} @ a{i}" for i in range(10)), values,
               0.3, peers=peers.products(*matrices), peer_limit=0.65, settle=SETTLE, repeat=9)


_RNG = "rng = np.random.default_rng(0)"


@part
def normal():
    for name in ("float32", "float64"):
        yield Case(f"default_rng().standard_normal({BIG:,}, {name})", f"x = rng.standard_normal({BIG}, dtype='{name}')",
                   {}, 0.3, _RNG, peers=peers.normal(BIG, name), peer_limit=0.8, repeat=5)


@part
def uniform():
    for name in ("float32", "float64"):
        yield Case(f"default_rng().random({BIG:,}, {name})", f"x = rng.random({BIG}, dtype='{name}')", {}, 0.4, _RNG,
                   peers=peers.uniform(BIG, name), peer_limit=0.6, repeat=5)


@part
def seed():
    yield Case("10 x (normal; dot) of 1000 x 1000",
               "for _ in range(10):\n    a = np.random.normal(size=(1000, 1000))\n    b = np.dot(a, a)", {}, 0.4,
               peers=peers.draws_and_products(1000), peer_limit=0.7, settle=SETTLE, repeat=5)


_BUDGET, _SPARE = 256 << 20, 64 << 20

_OUTPUTS = r"""
from collections import deque
import dflow, dflow.numpy as np
from bench.memory import PeakResident
from bench.timing import Side, interleaved
dflow.engine.set_memory_budget({budget})
x = np.ones(1_000_000, dtype="f4")
# The last outputs live on: what nobody will look at may never be stored.
output, last = "y = x * 2\nlast.append(y)", deque(maxlen=16)
sides = {{"without": Side(output, "waitall()", x=x, last=last, waitall=dflow.waitall),
         "with": Side(output + "\ny.wait_to_read()", x=x, last=last)}}
with PeakResident() as peak:
    sides["without"].run({count})
timings = interleaved(sides, {rounds}, {count})
print(peak.increase)
for name in sides:
    print(*timings[name].submits)
    print(*timings[name].waits)
"""


def outputs(run):
    """In a process of its own, in whose pool is nothing yet."""
    count = 3000
    lines = fresh(_OUTPUTS.format(budget=_BUDGET, count=count, rounds=run.repeat(3))).splitlines()
    (peak,), *times = [[float(word) for word in text.split()] for text in lines]
    timings = [Timing(1, submits, waits) for submits, waits in (times[:2], times[2:])]
    yield row_of(f"{count:,} outputs of 4 MB, no barrier", *timings, limit=1.05,
                 note="base: dflow, a barrier after each")
    yield Row(f"{count:,} outputs of 4 MB, no barrier: peak memory", peak, "bytes", limit=_BUDGET + _SPARE,
              note=f"under a budget of {_BUDGET / 1e6:.0f} MB")


PARTS["outputs"] = outputs


@part
def increment():
    x = numpy.ones((1, 2))
    yield Case("y = x + 1, (1, 2)", "y = x + 1", {"x": x}, 0.3, peers=peers.increment(x), result="y",
               repeat=15)


@experiment("fast", "what people compute, beside NumPy, the best of NumExpr, JAX and PyTorch, and the machine's limit",
            limit="a part of NumPy's time: see the table", parts=PARTS, beside=(PEER, MACHINE))
def fast(run):
    dflow.engine.config()       # loads its BLAS, before another library here does that in its own way
    for name, measure in PARTS.items():
        if not run.only or name in run.only:
            yield from measure(run)
