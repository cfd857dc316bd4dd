"""The engine's controls.

The environment sets them at import: DFLOW_NUM_WORKERS (default: the cores this process may use), DFLOW_ENGINE=naive,
DFLOW_NATIVE=0 (no loops of machine code), DFLOW_STACKS=1 (see stacks()), DFLOW_CHECK_FINITE=1 (see check_finite()),
DFLOW_TRACK_MEMORY=1 (see track_memory()), DFLOW_EXIT_ON_ERROR=1 (an error that nobody has read, which is reported,
makes the exit code 1).
"""

import atexit
import os
from contextlib import contextmanager

from dflow import _engine
from dflow._array import core
from dflow._engine import (
    inline_limit,
    memory_stats,
    naive,
    set_cache_limit,
    set_memory_budget,
    spill,
    statistics,
    trim,
)
from dflow._functions import buffers, constructors, host_task, placement
from dflow._kernels import blas_library
from dflow._kernels import native as _native
from dflow._profile import memory
from dflow._profile.progress import Tasks
from dflow._profile.timeline import Event, Timeline
from dflow._runtime import errors, fork, fp_errors, graph, queues

__all__ = ["Event", "Timeline", "bulk", "cancel", "cancel_all", "check_finite", "config", "explain", "inline_limit",
           "memory_report", "memory_snapshot", "memory_stats", "naive", "native", "num_workers", "priority", "profile",
           "progress", "set_bulk_size", "set_cache_limit", "set_memory_budget", "set_num_workers", "sleep", "spill",
           "stacks", "statistics", "timeline", "tracemalloc_domain", "track_memory", "trim"]


def __dir__():
    return sorted(__all__)


for _thing in (Event, Timeline, inline_limit, memory_stats, naive, set_cache_limit, set_memory_budget, spill,
               statistics, trim):
    _thing.__module__ = __name__            # where programs have it from


tracemalloc_domain = graph.TRACEMALLOC_DOMAIN      # as tracemalloc knows arrays of more than a kilobyte


def _cores():
    """Cores this process may use: its affinity, and the quota of its cgroup."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()
        if quota != "max":
            cores = min(cores, max(1, round(int(quota) / int(period))))
    except (OSError, ValueError):
        pass  # no cgroup v2, or no quota
    return max(1, cores)


def _memory():
    """Bytes of memory that this process may use: the machine's, or the limit of its cgroup."""
    nbytes = 1 << 62
    try:
        nbytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        pass  # not told by this system
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(name) as file:
                text = file.read().strip()
            nbytes = min(nbytes, int(text)) if text != "max" else nbytes
        except (OSError, ValueError):
            pass  # the other version of cgroups, or none
    return nbytes


def _number_of_workers():
    text = os.environ.get("DFLOW_NUM_WORKERS")
    if text is None:
        return min(_cores(), 256)
    if not text.strip().isdigit() or not 1 <= int(text) <= 256:
        raise ValueError(f"DFLOW_NUM_WORKERS must be a number between 1 and 256, not {text!r}")
    return int(text)


def set_num_workers(n, device=None, cores=None):
    """Use n worker threads from now on. Waits for pending work first.

    What is copied between devices that do not share workers is done by one more thread for each target.

    Parameters
    ----------
    n : int
        How many, 1 to 256. 0: a device other than cpu(0) has none, and shares those of cpu(0), as at first.
    device : Device, optional
        One that has workers of its own then: they run what writes to its arrays, and nothing else does. None: cpu(0).
    cores : sequence of int, optional
        Numbers of those that the workers may run on, and no others; None: of all that this process may use.

    Raises
    ------
    ValueError
        For another n, and for cores that this process may not use.

    Examples
    --------
    >>> before = engine.num_workers()
    >>> engine.set_num_workers(2)
    >>> engine.num_workers()
    2
    >>> engine.set_num_workers(before)
    """
    if cores is not None:
        cores = sorted(cores)
        allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        if not cores or not set(cores) <= set(allowed):
            raise ValueError(f"cores must be some of {allowed}, not {cores}")
    _engine.set_num_workers(n, max(placement.device_number(device), 0), cores)


def num_workers(device=None):
    """How many worker threads a device has, or shares.

    Parameters
    ----------
    device : Device, optional
        None: cpu(0).

    Returns
    -------
    int

    Examples
    --------
    >>> engine.num_workers() == engine.num_workers(dflow.cpu(3))
    True
    """
    return _engine.num_workers(max(placement.device_number(device), 0))


class _Limit(int):
    """A limit of bulk(), which the end of a `with` sets again."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        _engine.bulk(int(self))


def bulk(n=None):
    """At most n elementwise operations run as one group from now on. `with bulk(n):` ends that at its end.

    Parameters
    ----------
    n : int, optional
        0 or 1: none do. None changes nothing.

    Returns
    -------
    int
        The limit that was, which is a context manager, too.

    Examples
    --------
    >>> with engine.bulk(0):
    ...     y = np.ones(5) * 2 + 1      # two tasks
    >>> int(engine.bulk())
    512
    """
    return _Limit(_engine.bulk(n))


def set_bulk_size(size):
    """MXNet's older name of bulk().

    Parameters
    ----------
    size : int
        At most so many operations run as one group.

    Returns
    -------
    int
        The limit that was.

    Examples
    --------
    >>> before = engine.set_bulk_size(16)
    >>> engine.set_bulk_size(before)
    16
    """
    return bulk(size)


@contextmanager
def priority(level):
    """Within it, what this thread submits goes before all that is ready on its device at a lower level.

    Parameters
    ----------
    level : int
        0 is that of what is submitted elsewhere.

    Returns
    -------
    context manager

    Examples
    --------
    >>> with engine.priority(1):
    ...     y = np.ones((300, 300)) @ np.ones((300, 300))
    """
    before = queues.priority(level)
    try:
        yield
    finally:
        queues.priority(before)


def timeline(stacks=False):
    """A list of an Event for each task that runs within: there at its end, when nothing is pending.

    Several may be noted at a time, by one thread or by many: each has all that runs within it, whoever submitted it.
    What runs at once where it is called is no task. A kernel that is split has an event for each thread in it. Of each
    thread the last 262,144 things that it noted are kept: its submissions, what they wait for, what it ran.

    Parameters
    ----------
    stacks : bool
        As by stacks(), within and in the trace.

    Returns
    -------
    Timeline
        A context manager and a list: `events.save("run.json")` writes a trace for https://ui.perfetto.dev.

    Examples
    --------
    >>> with engine.timeline() as events:
    ...     y = np.ones((300, 300)) @ np.ones((300, 300))
    >>> "matmul" in {event.name for event in events}
    True
    """
    return Timeline(stacks=stacks)


def profile(file=None, functions=False, stacks=False):
    """timeline(), which writes its trace to `file` at the end, for https://ui.perfetto.dev.

    Parameters
    ----------
    file : path or open text file, optional
        None: nothing is written.
    functions : bool
        The trace has Python's functions, too, on the rows of the threads that called them: those of all threads
        from Python 3.12 on, before that of this one and of those that begin within. What calls many small ones
        becomes several times slower.
    stacks : bool
        As by stacks(), within and in the trace.

    Returns
    -------
    Timeline

    Raises
    ------
    ValueError
        With `functions`, where another profiler is on.

    Examples
    --------
    >>> import io
    >>> with dflow.profile(io.StringIO()) as events:
    ...     y = np.ones((300, 300)) @ np.ones((300, 300))
    >>> len(events) > 0
    True
    """
    return Timeline(file, functions, stacks)


def stacks(on=None):
    """Whether an operation notes, besides the line that submitted it, the lines that called that one, up to 64 outside
    dflow. An error's note then has them all, as have traces; an operation takes some microseconds more to submit.

    Parameters
    ----------
    on : bool, optional
        From now on. None changes nothing. At first as DFLOW_STACKS=1 in the environment says.

    Returns
    -------
    bool
        What it was.

    Examples
    --------
    >>> before = engine.stacks(True)
    >>> engine.stacks(before)
    True
    """
    return errors.stacks(on)


def check_finite(on=None):
    """Whether an operation that makes a nan or an infinity from finite values raises, at its line: to find the first.

    It does so whatever np.errstate says, in all threads, and waits at each operation, so a program is several times
    slower. What a given nan or infinity brings about raises nothing; that one infinity is taken from another does.
    Of LAPACK's results it sees those alone that are errors anyway, and of random numbers and ranges, which are made of
    no arrays, none.

    Parameters
    ----------
    on : bool, optional
        From now on, when what is pending is done. None changes nothing. At first as DFLOW_CHECK_FINITE=1 in the
        environment says.

    Returns
    -------
    bool
        What it was.

    Raises
    ------
    FloatingPointError
        By the operations: a division by zero, an overflow, an invalid value.

    See Also
    --------
    numpy.errstate : The same for a block of a program, and by kind.

    Examples
    --------
    >>> before = engine.check_finite(True)
    >>> try:
    ...     y = np.log(np.zeros(3))
    ... except FloatingPointError as error:
    ...     print(error)
    ... finally:
    ...     _ = engine.check_finite(before)
    divide by zero encountered in log
    """
    if on is not None:
        _engine.waitall()
    return fp_errors.check_finite(on)


def progress(desc=None, file=None, mininterval=0.1, leave=True, disable=False):
    """A bar of the tasks that are done, of all that are submitted so far, and the bytes that arrays have; at its end
    nothing is pending, as after waitall().

    The bar is tqdm's, or a line of text where that is not there.

    Parameters
    ----------
    desc : str, optional
        What stands before the bar.
    file : text file, optional
        Where to write; None: standard error.
    mininterval : float
        Seconds between two looks.
    leave : bool
        The bar stays at the end.
    disable : bool or None
        There is none; None: unless `file` is a terminal.

    Returns
    -------
    context manager
        Its value has write(text), set_description(text), `done` and `submitted`.

    Examples
    --------
    >>> import io
    >>> with engine.progress("products", file=io.StringIO()) as bar:
    ...     y = np.ones((300, 300)) @ np.ones((300, 300))
    >>> bar.done == bar.submitted
    True
    """
    return Tasks(desc, file, mininterval, leave, disable)


def track_memory(on=None):
    """Whether it is known which line made which array that lives, for memory_report(): of arrays of a kilobyte or more
    that are made from now on. It costs what a timeline does, for as long as it is on.

    Parameters
    ----------
    on : bool, optional
        None changes nothing. At first as DFLOW_TRACK_MEMORY=1 in the environment says.

    Returns
    -------
    bool
        What it was.

    Examples
    --------
    >>> before = engine.track_memory(True)
    >>> engine.track_memory(before)
    True
    """
    return memory.track(on)


def memory_report(rows=10):
    """Which lines hold memory, as text: bytes of arrays by the line that made them, by dtype and shape; what is
    promised to pending tasks; what is kept for arrays to come. Waits for nothing.

    Parameters
    ----------
    rows : int
        Of each table at most.

    Returns
    -------
    str

    Examples
    --------
    >>> before = engine.track_memory(True)
    >>> x = np.ones((300, 300))
    >>> "float64 (300, 300)" in engine.memory_report()
    True
    >>> engine.track_memory(before)
    True
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise ValueError(f"rows must be a number from 1 on, not {rows!r}")
    return memory.snapshot().text(rows)


def memory_snapshot():
    """The arrays that there are, to look at, or to compare with those of another moment. Waits for nothing.

    Returns
    -------
    Snapshot
        With `blocks`, by_line(), by_array(), and compare_to(older), which has what is there more, by line.

    Examples
    --------
    >>> before = engine.track_memory(True)
    >>> older = engine.memory_snapshot()
    >>> x = np.ones((300, 300)) @ np.ones((300, 300))
    >>> [row.bytes > 0 for row in engine.memory_snapshot().compare_to(older)]
    [True]
    >>> engine.track_memory(before)
    True
    """
    return memory.snapshot()


def explain(x=None):
    """Why reading x would wait: the tasks that will write to it, and those that these wait for, as a tree.

    Each has its name, the line that submitted it, and its state: waits for, in the open group, queued, running, and on
    which worker. A wait of a minute gives the same, once, as a RuntimeWarning.

    Parameters
    ----------
    x : ndarray, optional
        None: what waits for nothing else, of all that is pending.

    Returns
    -------
    str
        Some 20 lines at most: "ready" where nothing is pending, with the error, if reading raises one.

    Examples
    --------
    >>> x = np.ones(3)
    >>> x.wait_to_read()
    >>> engine.explain(x)
    'ready'
    """
    return host_task.explain(x)


def cancel(x):
    """Cancel what is pending of x: tasks that will write to it and have not begun, and those of which they alone would
    have used the results. Waits for nothing.

    Reading x, and whatever depends on it, then raises concurrent.futures.CancelledError, until all of it is written
    again. What has begun goes on, and so do Python functions that something waits for.

    Parameters
    ----------
    x : ndarray

    Returns
    -------
    int
        How many tasks that are.

    Raises
    ------
    TypeError
        Where x is no array of dflow's.

    Examples
    --------
    >>> x = np.ones(3)
    >>> x.wait_to_read()
    >>> engine.cancel(x)
    0
    """
    return host_task.cancel(x)


def cancel_all():
    """Cancel all that is pending, on all devices, whoever submitted it. Waits for nothing.

    Reading what they were to write then raises concurrent.futures.CancelledError; what is submitted from now on is not
    concerned, but if it depends on that. What has begun ends: a kernel that several threads share with its next part,
    another one, or a Python function, as it would have.

    Returns
    -------
    int
        How many tasks were pending.

    Examples
    --------
    >>> dflow.waitall()
    >>> engine.cancel_all()
    0
    """
    return _engine.cancel_all()


def sleep(array, seconds):
    """A copy of array, finished `seconds` later: a kernel that sleeps without the GIL, to watch the scheduler with.

    Parameters
    ----------
    array : array_like
        Of any shape and numeric dtype.
    seconds : float

    Returns
    -------
    ndarray
        Of the same shape and dtype.

    Examples
    --------
    >>> y = engine.sleep(np.ones(2), 0.05)      # returns at once
    >>> y.is_ready()
    False
    >>> print(y)
    [1. 1.]
    """
    return constructors.sleep(core.array(array), float(seconds))


def native(on=None):
    """Whether groups may run as loops of machine code that dflow writes for them.

    A group of elementwise operations has one such loop from its second time on: for +, -, *, /, negative, abs, sqrt,
    square, reciprocal, extremes, clip, sign, floor, ceil, trunc, rint and copysign of float32 or float64, what there is
    of these for int32, uint32, int64 and uint64, their bits and shifts, comparisons, isnan, isinf, isfinite, logic,
    where(), copies and casts, and for +, -, *, negative, square and conjugate of complex numbers; under Linux on
    x86-64 with AVX2 or AVX-512, and on AArch64 where it is switched on. The bits and the warnings are those of NumPy's
    loops: the first elements that a new loop computes are compared. Elsewhere it is False and stays so; config() says
    why.

    Parameters
    ----------
    on : bool, optional
        From now on. None changes nothing.

    Returns
    -------
    bool
        What it was.

    Examples
    --------
    >>> before = engine.native(False)
    >>> engine.native()
    False
    >>> engine.native(before)
    False
    """
    return _native.switch(on) if on is not None else _native.is_on()


def config():
    """What the engine runs with.

    Returns
    -------
    dict
        Its workers, its mode, its memory budget in bytes, its native loops, and the BLAS of large matrix products.

    Examples
    --------
    >>> sorted(engine.config())
    ['blas', 'bulk', 'memory_budget', 'naive', 'native', 'workers']
    """
    return {"workers": num_workers(), "naive": naive(), "bulk": bulk(), "memory_budget": memory_stats()["budget"],
            "native": _native.config(), "blas": blas_library.config()}


_mode = os.environ.get("DFLOW_ENGINE", "")
if _mode not in ("", "naive"):
    raise ValueError(f"DFLOW_ENGINE must be unset or 'naive', not {_mode!r}")
naive(_mode == "naive")
set_num_workers(_number_of_workers())
set_memory_budget(_memory() // 5 * 4)



def _switch(name):
    """A variable of the environment that is 1, or 0, or unset."""
    text = os.environ.get(name, "")
    if text not in ("", "0", "1"):
        raise ValueError(f"{name} must be unset, 0 or 1, not {text!r}")
    return text == "1"


stacks(_switch("DFLOW_STACKS"))
check_finite(_switch("DFLOW_CHECK_FINITE"))
track_memory(_switch("DFLOW_TRACK_MEMORY"))
_fails = _switch("DFLOW_EXIT_ON_ERROR")


def _shut_down():
    try:
        buffers.end_writes()            # to files, which outlast the process; what else is pending is dropped
    finally:
        _engine.shutdown()
    if _fails:
        errors.fail_at_exit()


atexit.register(_shut_down)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=fork.before_fork, after_in_parent=fork.after_fork_in_parent,
                        after_in_child=fork.after_fork_in_child)
