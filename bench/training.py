"""Training networks: MXNet's programs on dflow, beside the best of MXNet, PyTorch and JAX, each in its own process.

PyTorch and JAX are those of this environment (make bench-peers). MXNet 1.9 needs an environment with NumPy 1.23: its
interpreter is what DFLOW_MXNET_PYTHON names.
"""
import os
import statistics
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from .registry import Row, experiment

SCRIPT = Path(__file__).with_name("learners.py")
# What; how often in a round; its limit, in the time of which peers.
PEERS = ("mxnet", "mxnet graph", "torch", "jax")
WORKS = {
    "seed_forward": ("512-2048-512-1, batch 1,024: forward", 10, {"dflow": (0.7, PEERS)}),
    "seed_training": ("512-2048-512-1, batch 1,024: training", 5, {"dflow graph": (0.6, PEERS)}),
    "small_training": ("16-32-1, batch 8: training", 300,
                       {"dflow": (0.25, ("torch",)), "dflow graph": (0.1, ("torch",))}),
    "lenet_training": ("LeNet, 28 x 28, batch 256: training", 3, {"dflow graph": (0.8, PEERS[:3])}),
}


class Learner:
    """A process that does the works of one library."""

    def __init__(self, library, python):
        self.process = subprocess.Popen([python, str(SCRIPT), library], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)

    def seconds(self, work, times):
        """For one step of a work; None if the library has none such."""
        print(work, times, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline().strip()
        return None if answer in ("", "missing") else float(answer) / times

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def learners():
    """Those that can run here, by name."""
    pythons = {"dflow": sys.executable, "dflow graph": sys.executable}
    pythons |= {name: sys.executable for name in ("torch", "jax") if find_spec(name)}
    mxnet = os.environ.get("DFLOW_MXNET_PYTHON")
    pythons |= {"mxnet": mxnet, "mxnet graph": mxnet} if mxnet else {}
    return {name: Learner(name, python) for name, python in pythons.items()}


@experiment("training", "training steps of networks, beside the best of MXNet, PyTorch and JAX (its time is the base)",
            limit="0.1 to 0.8 x the best peer", parts=WORKS)
def training(run):
    there = learners()
    try:
        for work in run.only or WORKS:
            yield from rows_of(run, work, there)
    finally:
        for learner in there.values():
            learner.end()


def rows_of(run, work, there):
    label, times, limits = WORKS[work]
    rounds = [{name: learner.seconds(work, times) for name, learner in there.items()} for _ in range(run.repeat(7))]
    typical = {name: statistics.median(one[name] for one in rounds) for name in there if rounds[0][name] is not None}
    for name, (limit, peers) in limits.items():
        found = [peer for peer in peers if peer in typical]
        row = Row(f"{label}{', replayed' if name == 'dflow graph' else ''}", typical[name] * 1e6, "us",
                  dflow=typical[name])
        if found:
            row.unit, best = "x", min(found, key=typical.get)
            ratios = sorted(one[name] / one[best] for one in rounds)
            row.base, row.limit, row.measured = typical[best], limit, statistics.median(ratios)
            row.low, row.high = ratios[0], ratios[-1]
            others = sorted(found, key=typical.get)
            row.note = "beside " + ", ".join(f"{peer} {typical[peer] * 1e3:.3g} ms" for peer in others)
        yield row
