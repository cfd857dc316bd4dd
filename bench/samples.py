"""Every sample of the table of operations (dflow/ops/table.py), on the few elements that its tests have, read at once.

What no list of statements has, since each form of a call may go a way of its own. With --full all that are slower are
told, not the worst alone.
"""
import sys
import warnings
from pathlib import Path

import numpy

import dflow.numpy
from dflow import ndarray

from .registry import Row, experiment
from .timing import Side, calibrate, interleaved, ratio

EQUAL, SLOWER = 1.05, 1.25
SECONDS = 0.0003        # of a round
MOST = 20               # that are told


def read(x):
    """NumPy's results are looked at, too: it takes as long."""
    if type(x) is tuple or type(x) is list:
        for item in x:
            read(item)
    elif type(x) is ndarray:
        x.wait_to_read()
    elif type(x) is numpy.ndarray:
        x.setflags()


def _ratio(text, sources):
    """dflow's time over NumPy's; None where one of the two fails."""
    sides = {name: Side(f"read({text})", "pass", np=module, read=read, **{key: make(x) for key, x in sources.items()})
             for name, module, make in (("numpy", numpy, numpy.array), ("dflow", dflow.numpy, dflow.numpy.array))}
    try:
        timings = interleaved(sides, 5, calibrate(sides["numpy"], SECONDS))
    except Exception:
        return None
    return ratio(timings["dflow"], timings["numpy"]).median, timings["numpy"].total, timings["dflow"].total


@experiment("samples", "each form of each operation, few elements, read at once: the share within 1.05 of NumPy's time")
def samples(run):
    sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
    from test_namespace import CASES, SOURCES, call_of
    found = {}
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row, sample in CASES:
            if row.module == "random" or "?" in sample[:1]:
                continue
            text = call_of(row, sample)
            measured = _ratio(text, SOURCES)
            if measured is not None:
                found.setdefault(row.kind, []).append((*measured, text))
    for kind, some in found.items():
        yield _shares(kind, some)
    everything = sorted((one for some in found.values() for one in some), reverse=True)
    yield _shares("all", everything)
    for measured, theirs, mine, text in everything[:None if run.full else MOST]:
        if measured > SLOWER:
            yield Row(text, measured, base=theirs, note=f"{mine * 1e6:.2f} us")


def _shares(kind, some):
    ratios = sorted(one[0] for one in some)
    equal, near = (sum(r <= most for r in ratios) / len(ratios) for most in (EQUAL, SLOWER))
    return Row(f"{kind}: {len(ratios)} samples", ratios[len(ratios) // 2], low=ratios[len(ratios) // 4],
               high=ratios[3 * len(ratios) // 4], note=f"{equal:.1%} within {EQUAL}, {near:.1%} within {SLOWER}")
