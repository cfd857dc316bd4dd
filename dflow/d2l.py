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
    """Records times in seconds: it runs from when it is made, and from each start().

    stop() gives the time, and records it in `times`; avg(), sum() and cumsum() are of those recorded. It does not wait
    for pending work: the program does, where it means to. It has no parameters.

    Examples
    --------
    >>> from dflow import d2l
    >>> timer = d2l.Timer()
    >>> np.ones(10).sum().wait_to_read()
    >>> first = timer.stop()
    >>> timer.start()
    >>> second = timer.stop()
    >>> timer.sum() == first + second and timer.cumsum()[0] == first
    True
    """

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
    """Prints how long a `with` block took, in seconds.

    It does not wait for pending work: the program does, where it means to.

    Parameters
    ----------
    description : str
        What stands before the time.

    Examples
    --------
    >>> from dflow import d2l
    >>> with d2l.Benchmark("Sum"):
    ...     np.ones(10).sum().wait_to_read()
    Sum: ... sec
    """

    def __init__(self, description="Done"):
        self.description = description

    def __enter__(self):
        self.timer = Timer()
        return self

    def __exit__(self, *error):
        print(f"{self.description}: {self.timer.stop():.4f} sec")


def try_gpu(i=0):
    """Gives the GPU of that number, or the CPU where there is none.

    Parameters
    ----------
    i : int
        Which.

    Returns
    -------
    Device
        The device.

    Examples
    --------
    >>> from dflow import d2l
    >>> d2l.try_gpu(1000)
    cpu(0)
    """
    return gpu(i) if num_gpus() > i else cpu()


def try_all_gpus():
    """Gives all GPUs, or the CPU where there is none.

    Returns
    -------
    list of Device
        One at least.

    Examples
    --------
    >>> from dflow import d2l
    >>> len(d2l.try_all_gpus()) == max(d2l.num_gpus(), 1)
    True
    """
    return [gpu(i) for i in range(num_gpus())] or [cpu()]


def get_mem():
    """Says how much memory this process has, resident.

    It asks the program `ps`: on Linux and macOS.

    Returns
    -------
    float
        MB of 1000 KB.

    Raises
    ------
    FileNotFoundError
        Where there is no `ps`.

    Examples
    --------
    >>> from dflow import d2l
    >>> import shutil
    >>> shutil.which("ps") is None or d2l.get_mem() > 1
    True
    """
    found = subprocess.run(["ps", "-o", "rss=", "-p", str(os.getpid())], capture_output=True, text=True, check=True)
    return int(found.stdout) / 1e3
