"""MXNet's profiler, on dflow's own recorder: what ran, how long, who waited, how much memory arrays held.

Operations that are so small that they run where they are called are not noted; after engine.inline_limit(0) all are.
Nothing here waits for what is pending: waitall() before set_state("stop"), as in programs for MXNet.
"""

import os
import threading
import warnings

from dflow import devices
from dflow._base.missing import missing
from dflow._profile.totals import BY
from dflow.profiler.process import DEFAULTS, _profiler, flag, one_of, path_of, seconds_of, text, worker
from dflow.profiler.spans import Counter, Domain, Event, Frame, Marker, Scope, Task, scope

__all__ = ["Counter", "Domain", "Event", "Frame", "Marker", "Scope", "Task", "dump", "dump_profile", "dumps", "pause",
           "profiler_set_config", "profiler_set_state", "resume", "scope", "set_config", "set_kvstore_handle",
           "set_state", "start", "stop"]

__getattr__ = missing(__name__, "profiler_kvstore_handle")


def __dir__():
    return sorted(__all__)


MODES = "symbolic", "imperative", "memory", "api", "all"


def set_config(**kwargs):
    """Sets what is profiled, and where to; what is not given is as at first (in brackets below).

    Parameters
    ----------
    filename : path
        Of the trace, which dump() writes ["profile.json"].
    profile_symbolic : bool
        Operations: here the same as profile_imperative, either has all [True].
    profile_imperative : bool
        Operations [True].
    profile_memory : bool
        What arrays hold [True].
    profile_api : bool
        Where threads wait [True].
    profile_all : bool
        All of these [False].
    aggregate_stats : bool
        How often what ran, and how long, for dumps() to show [False]. Those from before go on, unless it was False.
    continuous_dump : bool
        The file is written every dump_period seconds, and as profiling stops [False, where MXNet has True: it keeps the
        program from running].
    dump_period : float
        Seconds, more than 0 [1.0].
    profile_process : str
        "worker" is the only one.
    gpu_memory_profile_filename_prefix : str, optional
        MXNet's [None]: such a file is not written, of which a warning tells where there are GPUs; dumps() tells of
        memory.

    Raises
    ------
    ValueError
        For another argument, and for values that are none of these.
    TypeError
        For a filename that is no path.

    Examples
    --------
    >>> dflow.profiler.set_config(aggregate_stats=True, profile_memory=False)
    >>> "Profile Statistics" in dflow.profiler.dumps()
    True
    >>> dflow.profiler.set_config()             # all as at first
    >>> dflow.profiler.dumps()
    ''
    """
    for name in kwargs:
        if name not in DEFAULTS:
            raise ValueError(f"set_config() has no argument {name!r}: there are {', '.join(DEFAULTS)}")
    checks = {"filename": path_of, "dump_period": seconds_of, "profile_process": lambda name, value: worker(value),
              "gpu_memory_profile_filename_prefix": lambda name, value: value if value is None else text(name, value)}
    config = DEFAULTS | {name: checks.get(name, flag)(name, value) for name, value in kwargs.items()}
    if config["continuous_dump"] and not 0 < config["dump_period"] <= threading.TIMEOUT_MAX:
        raise ValueError(f"dump_period must be more than 0 seconds, not {config['dump_period']!r}")
    if config["gpu_memory_profile_filename_prefix"] is not None and devices.num_gpus():
        warnings.warn("gpu_memory_profile_filename_prefix: no such file is written; dumps() tells of memory",
                      RuntimeWarning, stacklevel=2)
    with _profiler.lock:
        _profiler.configure(config)


def set_state(state="stop", profile_process="worker"):
    """Profiles from now on, or no more.

    Nothing waits. What is pending when it stops is not in the profile: waitall() comes before. Operations that are so
    small that they run where they are called are not in it, either, but after engine.inline_limit(0). A pause ends.

    Parameters
    ----------
    state : str
        "run" or "stop".
    profile_process : str
        MXNet's: "worker" is the only one.

    Raises
    ------
    ValueError
        For another state or process.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dflow.profiler.set_config(filename=f"{folder}/trace.json", aggregate_stats=True)
    ...     dflow.profiler.set_state("run")
    ...     x = np.ones((300, 300)) @ np.ones((300, 300))
    ...     dflow.waitall()
    ...     dflow.profiler.set_state("stop")
    ...     dflow.profiler.dump()
    >>> "matmul" in dflow.profiler.dumps()
    True
    >>> dflow.profiler.set_config()
    """
    one_of("state", state, ("run", "stop"))
    worker(profile_process)
    with _profiler.lock:
        _profiler.change(running=state == "run", paused=False)


def start(profile_process="worker"):
    """Profiles from now on: set_state("run").

    Parameters
    ----------
    profile_process : str
        MXNet's: "worker" is the only one.

    Raises
    ------
    ValueError
        For another process.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dflow.profiler.set_config(filename=f"{folder}/trace.json")
    ...     dflow.profiler.start()
    ...     dflow.profiler.dump()
    ...     print(os.listdir(folder))
    ['trace.json']
    >>> dflow.profiler.set_config()
    """
    set_state("run", profile_process)


def stop(profile_process="worker"):
    """Profiles no more: set_state("stop"). Nothing waits: waitall() comes before.

    Parameters
    ----------
    profile_process : str
        MXNet's: "worker" is the only one.

    Raises
    ------
    ValueError
        For another process.

    Examples
    --------
    >>> import tempfile
    >>> counter = dflow.profiler.Domain("mine").new_counter("n")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dflow.profiler.set_config(filename=f"{folder}/trace.json", aggregate_stats=True)
    ...     dflow.profiler.start()
    ...     dflow.profiler.stop()
    ...     counter.set_value(7)
    ...     dflow.profiler.dump()
    >>> "mine" in dflow.profiler.dumps()
    False
    >>> dflow.profiler.set_config()
    """
    set_state("stop", profile_process)


def pause(profile_process="worker"):
    """Leaves out what runs from now on, until resume(), or until a state is set.

    Parameters
    ----------
    profile_process : str
        MXNet's: "worker" is the only one.

    Raises
    ------
    ValueError
        For another process.

    Examples
    --------
    >>> import tempfile
    >>> counter = dflow.profiler.Domain("mine").new_counter("n")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dflow.profiler.set_config(filename=f"{folder}/trace.json", aggregate_stats=True)
    ...     dflow.profiler.start()
    ...     dflow.profiler.pause()
    ...     counter.set_value(7)
    ...     dflow.profiler.dump()
    >>> "mine" in dflow.profiler.dumps()
    False
    >>> dflow.profiler.set_config()
    """
    worker(profile_process)
    with _profiler.lock:
        _profiler.change(paused=True)


def resume(profile_process="worker"):
    """Goes on after pause().

    Parameters
    ----------
    profile_process : str
        MXNet's: "worker" is the only one.

    Raises
    ------
    ValueError
        For another process.

    Examples
    --------
    >>> import tempfile
    >>> counter = dflow.profiler.Domain("mine").new_counter("n")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dflow.profiler.set_config(filename=f"{folder}/trace.json", aggregate_stats=True)
    ...     dflow.profiler.start()
    ...     dflow.profiler.pause()
    ...     dflow.profiler.resume()
    ...     counter.set_value(7)
    ...     dflow.profiler.dump()
    >>> "mine" in dflow.profiler.dumps()
    True
    >>> dflow.profiler.set_config()
    """
    worker(profile_process)
    with _profiler.lock:
        _profiler.change(paused=False)


def dump(finished=True, profile_process="worker"):
    """Writes the trace to the file that set_config() names, for https://ui.perfetto.dev and chrome://tracing.

    The file is whole each time. At the end of the program, what was not dumped is.

    Parameters
    ----------
    finished : bool
        Profiling ends; if it runs again, and is dumped, the file begins anew. False: it goes on, and the next dump
        appends what is new.
    profile_process : str
        MXNet's: "worker" is the only one.

    Raises
    ------
    RuntimeError
        If nothing was profiled since the last dump that ended it.
    ValueError
        For another process.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import json, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dflow.profiler.set_config(filename=f"{folder}/trace.json")
    ...     dflow.profiler.start()
    ...     x = np.ones((300, 300)) @ np.ones((300, 300))
    ...     dflow.waitall()
    ...     dflow.profiler.dump()
    ...     with open(f"{folder}/trace.json") as file:
    ...         events = json.load(file)["traceEvents"]
    >>> any("matmul" in event["name"] for event in events)
    True
    >>> dflow.profiler.set_config()
    """
    finished = flag("finished", finished)
    worker(profile_process)
    with _profiler.lock:
        if _profiler.session is None:
            raise RuntimeError("nothing was profiled since the last dump: set_state('run') comes before dump()")
        if finished:
            _profiler.end()
        else:
            _profiler.write()


def dumps(reset=False, format="table", sort_by="total", ascending=False):
    """Tells what ran how often and how long, as text; "" without set_config(aggregate_stats=True).

    Sections are "operator", "Device Storage" (what arrays hold, of all devices), "API" (waits), "event", "scope", and
    the program's own domains: of tasks and counters by their names, "...,frame", "...,instant_marker". Counters show
    what they count: under Time (ms) the last value.

    Parameters
    ----------
    reset : bool
        Afterwards all begins anew.
    format : str
        "table", or "json": {"Time": {section: {name: {"Count", "Total", "Min", "Max", "Avg"}}}, "Memory": ..., "Unit":
        ...}.
    sort_by : str
        "total", "avg", "min", "max" or "count".
    ascending : bool
        The least first.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        For another format or order.

    Examples
    --------
    >>> import json, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dflow.profiler.set_config(filename=f"{folder}/trace.json", aggregate_stats=True)
    ...     dflow.profiler.start()
    ...     for n in range(3):
    ...         x = np.ones((300, 300)) @ np.ones((300, 300))
    ...     dflow.waitall()
    ...     dflow.profiler.dump()
    >>> json.loads(dflow.profiler.dumps(format="json"))["Time"]["operator"]["matmul"]["Count"]
    3
    >>> dflow.profiler.set_config()
    """
    reset, ascending = flag("reset", reset), flag("ascending", ascending)
    one_of("format", format, ("table", "json"))
    one_of("sort_by", sort_by, tuple(BY))
    with _profiler.lock:
        if _profiler.totals is None:
            return ""
        if _profiler.session is not None:
            _profiler.session.collect()
        made = getattr(_profiler.totals, format)(sort_by, ascending)
        if reset:
            _profiler.totals.clear()
        return made


def set_kvstore_handle(handle):
    """MXNet's, of a store whose servers are profiled: there are none here, so that it changes nothing.

    Parameters
    ----------
    handle : object
        Anything.

    Examples
    --------
    >>> dflow.profiler.set_kvstore_handle(None)
    """


def _deprecated(old, new):
    warnings.warn(f"profiler.{old}() is deprecated: profiler.{new}() replaces it", DeprecationWarning, stacklevel=3)


def profiler_set_config(mode="symbolic", filename="profile.json"):
    """Sets what is profiled: an older set_config(profile_...=True, filename=...), of which a DeprecationWarning tells.

    Parameters
    ----------
    mode : str
        "symbolic", "imperative", "memory", "api" or "all".
    filename : path
        Of the trace.

    Raises
    ------
    ValueError
        For another mode.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     dflow.profiler.profiler_set_config("all")
    >>> print(told[0].message)
    profiler.profiler_set_config() is deprecated: profiler.set_config() replaces it
    """
    _deprecated("profiler_set_config", "set_config")
    set_config(**{f"profile_{one_of('mode', mode, MODES)}": True, "filename": filename})


def profiler_set_state(state="stop"):
    """Profiles from now on, or no more: an older set_state(), of which a DeprecationWarning tells.

    Parameters
    ----------
    state : str
        "run" or "stop".

    Raises
    ------
    ValueError
        For another state.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     dflow.profiler.profiler_set_state("stop")
    >>> print(told[0].message)
    profiler.profiler_set_state() is deprecated: profiler.set_state() replaces it
    """
    _deprecated("profiler_set_state", "set_state")
    set_state(state)


def dump_profile():
    """Writes the trace: an older dump(), of which a DeprecationWarning tells.

    Raises
    ------
    RuntimeError
        If nothing was profiled since the last dump.

    Examples
    --------
    >>> import os, tempfile, warnings
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     dflow.profiler.set_config(filename=f"{folder}/trace.json")
    ...     dflow.profiler.start()
    ...     dflow.profiler.dump_profile()
    ...     print(os.listdir(folder))
    ['trace.json']
    >>> dflow.profiler.set_config()
    """
    _deprecated("dump_profile", "dump")
    dump()


if flag("MXNET_PROFILER_AUTOSTART", os.environ.get("MXNET_PROFILER_AUTOSTART") or 0):
    set_state("run")
