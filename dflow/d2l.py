"""What programs of the book Dive into Deep Learning take from its package, as far as it is no teaching matter.

`from dflow import d2l` in place of `from d2l import mxnet as d2l`. A timer or benchmark does not wait for pending work:
the program does, where it means to.
"""

import os
import subprocess
import time

import dflow.numpy.random  # noqa: F401
from dflow import engine
from dflow.devices import cpu, gpu, num_gpus

__all__ = ["Benchmark", "Timer", "cpu", "get_mem", "gpu", "num_gpus", "try_all_gpus", "try_gpu"]


def __dir__():
    return sorted(__all__)


engine.config()         # loads the BLAS; the time to load it, or random numbers, is not for the first benchmark to show


class Timer:
    """Records times in seconds: it runs from when it is made, and from each start()."""

    def __init__(self):
        self.times = []
        self.start()

    def start(self):
        """Run from now on."""
        self.tik = time.time()

    def stop(self):
        """The time since start(), which is recorded."""
        self.times.append(time.time() - self.tik)
        return self.times[-1]

    def avg(self):
        """The mean of the recorded times."""
        return sum(self.times) / len(self.times)

    def sum(self):
        """The sum of the recorded times."""
        return sum(self.times)

    def cumsum(self):
        """The sums of the first, the first two, ... recorded times."""
        return [sum(self.times[:n + 1]) for n in range(len(self.times))]


class Benchmark:
    """Prints how long a `with` block took: `Done: 0.7144 sec`."""

    def __init__(self, description="Done"):
        self.description = description

    def __enter__(self):
        self.timer = Timer()
        return self

    def __exit__(self, *error):
        print(f"{self.description}: {self.timer.stop():.4f} sec")


def try_gpu(i=0):
    """The GPU of that number, or the CPU where there is none."""
    return gpu(i) if num_gpus() > i else cpu()


def try_all_gpus():
    """All GPUs, or the CPU where there is none."""
    return [gpu(i) for i in range(num_gpus())] or [cpu()]


def get_mem():
    """The memory of this process, resident, in MB of 1000 KB, as `ps` tells it: on Linux and macOS."""
    found = subprocess.run(["ps", "-o", "rss=", "-p", str(os.getpid())], capture_output=True, text=True, check=True)
    return int(found.stdout) / 1e3
