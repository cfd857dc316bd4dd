"""MXNet's profiler, on dflow's own recorder: what ran, how long, who waited, how much memory arrays held.

Operations that are so small that they run where they are called are not noted; after engine.inline_limit(0) all are.
Nothing here waits for what is pending: waitall() before set_state("stop"), as in programs for MXNet.
"""

import atexit
import contextvars
import os
import threading
import warnings

from dflow import devices
from dflow._base.missing import missing
from dflow._profile.session import OPERATIONS, USE, WAITS, Session
from dflow._profile.totals import BY, Totals
from dflow._profile.trace import File
from dflow._runtime import events

__all__ = ["Counter", "Domain", "Event", "Frame", "Marker", "Scope", "Task", "dump", "dump_profile", "dumps", "pause",
           "profiler_set_config", "profiler_set_state", "resume", "scope", "set_config", "set_kvstore_handle",
           "set_state", "start", "stop"]

__getattr__ = missing(__name__, "profiler_kvstore_handle")


def __dir__():
    return sorted(__all__)


# Of set_config(), which sets all: those that it is not told, to these.
DEFAULTS = {"filename": "profile.json", "gpu_memory_profile_filename_prefix": None, "profile_all": False,
            "profile_symbolic": True, "profile_imperative": True, "profile_memory": True, "profile_api": True,
            "continuous_dump": False, "dump_period": 1.0, "aggregate_stats": False, "profile_process": "worker"}
MODES = "symbolic", "imperative", "memory", "api", "all"
LOOK = 0.25                     # seconds, in which a thread notes fewer events, mostly, than it keeps
SCOPES = {"global": "g", "process": "p", "thread": "t", "task": "p", "marker": "p"}


class Profiler:
    """The one that a process has. Who calls a method holds the lock, but for forget()."""

    def __init__(self, config):
        self.lock = threading.RLock()
        self.running = self.paused = False
        self.totals = self.file = self.timer = None
        self.session = None             # from when it first runs to the dump that ends it
        self.configure(config)

    def configure(self, config):
        self.config = config
        pairs = (OPERATIONS, "symbolic"), (OPERATIONS, "imperative"), (USE, "memory"), (WAITS, "api")
        self.kinds = {kind for kind, name in pairs if config["profile_all"] or config[f"profile_{name}"]}
        self.totals = (self.totals or Totals()) if config["aggregate_stats"] else None
        path = os.path.abspath(config["filename"])
        if self.file is not None and self.file.path != path:
            self.file = None
        if self.session is not None:
            self.session.collect()
            self.session.kinds, self.session.totals = self.kinds, self.totals
        self.follow()

    def follow(self):
        """Note what happens, or do not; and look once in a while, before what was noted is lost."""
        if self.running and self.session is None:
            self.session = Session(self.kinds, self.totals)
        if self.session is not None:
            if self.running and not self.paused:
                self.session.start()
            elif self.session.running:
                self.session.stop()
        continuous = self.config["continuous_dump"]
        seconds = self.config["dump_period"] if continuous else LOOK
        if not self.running or not continuous and self.totals is None:
            seconds = None
        if self.timer is not None and self.timer.seconds != seconds:
            self.timer.ended.set()
            self.timer = None
        if self.timer is None and seconds is not None:
            self.timer = Timer(self, seconds)
            self.timer.start()

    def change(self, running=None, paused=None):
        self.running = self.running if running is None else running
        self.paused = self.paused if paused is None else paused
        self.follow()
        if running is False and self.session is not None and self.config["continuous_dump"]:
            self.write()

    def look(self):
        """From time to time."""
        if self.config["continuous_dump"]:
            self.write()
        else:
            self.session.collect()

    def write(self):
        if self.file is None:
            self.file = File(self.config["filename"])
        self.session.write(self.file)

    def end(self):
        """After a last dump, the next one begins a file anew."""
        self.change(running=False, paused=False)
        self.write()
        self.session = self.file = None

    def forget(self):
        """In a child of fork(), which has none of the threads, and whose parent writes the file."""
        if self.session is not None:
            self.session.abandon()
        self.__init__(self.config)


class Timer(threading.Thread):
    """Has a profiler look at what was noted, until `ended`."""

    def __init__(self, profiler, seconds):
        super().__init__(name="dflow profiler", daemon=True)
        self.ended = threading.Event()
        self.seconds = seconds
        self._profiler = profiler

    def run(self):
        while not self.ended.wait(self.seconds):
            with self._profiler.lock:
                if self.ended.is_set():
                    return
                try:
                    self._profiler.look()
                except OSError as error:        # a later dump() raises, if it is still so
                    warnings.warn(f"the profile is not written any more: {error}", RuntimeWarning, stacklevel=1)
                    return


_profiler = Profiler(DEFAULTS)


# ---- arguments -------------------------------------------------------------------------------------------------------

def flag(name, value):
    """Of what MXNet takes for a boolean."""
    text = str(value).lower()
    if text not in ("true", "false", "0", "1"):
        raise ValueError(f"{name} must be True or False, not {value!r}")
    return text in ("true", "1")


def one_of(name, value, known):
    if not isinstance(value, str) or value not in known:
        *others, last = map(repr, known)
        raise ValueError(f"{name} must be {', '.join(others)} or {last}, not {value!r}")
    return value


def worker(profile_process):
    if one_of("profile_process", profile_process, ("worker", "server")) == "server":
        raise ValueError("profile_process must be 'worker', not 'server': dflow's key-value stores have no servers")
    return profile_process


def text(name, value):
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, not {type(value).__name__}")
    if not value:
        raise ValueError(f"{name} must not be {value!r}")
    return value


def whole(name, value):
    try:
        return int(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must be a whole number, not {value!r}") from None


def domain_of(domain):
    if not isinstance(domain, Domain):
        raise TypeError(f"domain must be a Domain, not {type(domain).__name__}")
    return domain


def path_of(name, value):
    try:
        value = os.fsdecode(value)
    except TypeError:
        raise TypeError(f"{name} must be a path, not {type(value).__name__}") from None
    return text(name, value)


def seconds_of(name, value):
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number of seconds, not {value!r}") from None


# ---- what to profile, and when ---------------------------------------------------------------------------------------

def set_config(**kwargs):
    """What is profiled, and where to; what is not given is as at first (in brackets).

    filename: of the trace ["profile.json"]. profile_symbolic, profile_imperative: operations, which are the same here:
    either has all [True]. profile_memory: what arrays hold [True]. profile_api: where threads wait [True]. profile_all:
    all of these [False]. aggregate_stats: what dumps() shows [False]. continuous_dump: the file is written every
    dump_period seconds, and as profiling stops [False, where MXNet has True: it keeps the program from running], [1.0].
    profile_process: "worker" is the only one.
    gpu_memory_profile_filename_prefix [None]: such a file is not written; dumps() tells of memory.
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
    """Profile from now on: "run"; no more: "stop". What is pending then is not in it: waitall() comes before."""
    one_of("state", state, ("run", "stop"))
    worker(profile_process)
    with _profiler.lock:
        _profiler.change(running=state == "run", paused=False)


def start(profile_process="worker"):
    """set_state("run")."""
    set_state("run", profile_process)


def stop(profile_process="worker"):
    """set_state("stop")."""
    set_state("stop", profile_process)


def pause(profile_process="worker"):
    """What runs from now on, until resume(), is not in the profile."""
    worker(profile_process)
    with _profiler.lock:
        _profiler.change(paused=True)


def resume(profile_process="worker"):
    """Go on after pause()."""
    worker(profile_process)
    with _profiler.lock:
        _profiler.change(paused=False)


def dump(finished=True, profile_process="worker"):
    """Write the trace to the file that set_config() names, for https://ui.perfetto.dev and chrome://tracing.

    finished: profiling ends; if it runs again, and is dumped, the file begins anew. False: it goes on, and the next
    dump appends what is new. The file is whole each time. RuntimeError: nothing was profiled. At the end of the program
    what was not dumped is.
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
    """What ran how often and how long, as text: a table, or "json"; "" without set_config(aggregate_stats=True).

    Sections are "operator", "Device Storage" (what arrays hold, of all devices), "API" (waits), "event", "scope", and
    the program's own domains: of tasks and counters by their names, "...,frame", "...,instant_marker". Counters show
    what they count: under Time (ms) the last value. sort_by: "total", "avg", "min", "max" or "count". reset: begin anew
    afterwards.
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
    """Of a store whose servers are profiled in MXNet: there are none here, so that it changes nothing."""


def _deprecated(old, new):
    warnings.warn(f"profiler.{old}() is deprecated: profiler.{new}() replaces it", DeprecationWarning, stacklevel=3)


def profiler_set_config(mode="symbolic", filename="profile.json"):
    """An older set_config(profile_...=True, filename=...)."""
    _deprecated("profiler_set_config", "set_config")
    set_config(**{f"profile_{one_of('mode', mode, MODES)}": True, "filename": filename})


def profiler_set_state(state="stop"):
    """An older set_state()."""
    _deprecated("profiler_set_state", "set_state")
    set_state(state)


def dump_profile():
    """An older dump()."""
    _deprecated("dump_profile", "dump")
    dump()


# ---- what a program tells --------------------------------------------------------------------------------------------

class Domain:
    """A name under which others belong together: their category in a trace, their section in dumps()."""

    def __init__(self, name):
        self.name = text("name", name)

    def __str__(self):
        return self.name

    def new_task(self, name):
        """A Task of this domain."""
        return Task(self, name)

    def new_frame(self, name):
        """A Frame of this domain."""
        return Frame(self, name)

    def new_counter(self, name, value=None):
        """A Counter of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name):
        """A Marker of this domain."""
        return Marker(self, name)


class _Span:
    """From start() to stop(), or a `with` block: in the profile if that runs at its end."""

    def __init__(self, name, category):
        self.name = text("name", name)
        self._category = category
        self._started = None

    def __str__(self):
        return self.name

    def start(self):
        """It begins now."""
        self._started = events.now()

    def stop(self):
        """It ends now. RuntimeError: it has not begun."""
        started, now = self._started, events.now()      # in this order: another thread may start it
        if started is None:
            raise RuntimeError(f"{type(self).__name__} {self.name!r} was stopped before it was started")
        with _profiler.lock:
            if _profiler.session is not None:
                _profiler.session.span(self._category, self.name, started, now)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()


class Task(_Span):
    """Something that a program does, by its own name."""

    def __init__(self, domain, name):
        super().__init__(name, domain_of(domain).name)


class Frame(_Span):
    """One of many like it, such as pictures or steps."""

    def __init__(self, domain, name):
        super().__init__(name, f"{domain_of(domain).name},frame")


class Event(_Span):
    """As a Task, of no domain."""

    def __init__(self, name):
        super().__init__(name, "event")


class Counter:
    """A whole number that changes, from 0 on; `value`: it is set to that at once. Several threads may change it."""

    def __init__(self, domain, name, value=None):
        self.name = text("name", name)
        self._category = domain_of(domain).name
        self._value = 0
        if value is not None:
            self.set_value(value)

    def __str__(self):
        return self.name

    def set_value(self, value):
        """It is so much now."""
        self._set(0, whole("value", value))

    def increment(self, delta=1):
        """It is so much more."""
        self._set(1, whole("delta", delta))

    def decrement(self, delta=1):
        """It is so much less."""
        self._set(1, -whole("delta", delta))

    def _set(self, keep, change):
        with _profiler.lock:
            self._value = keep * self._value + change
            if _profiler.session is not None:
                _profiler.session.count(self._category, self.name, self._value)

    def __iadd__(self, delta):
        self.increment(delta)
        return self

    def __isub__(self, delta):
        self.decrement(delta)
        return self


class Marker:
    """A moment that a program marks."""

    def __init__(self, domain, name):
        self.name = text("name", name)
        self.domain = domain_of(domain)

    def mark(self, scope="process"):
        """It is now. scope: of a "thread", the "process", or "global"; "task" and "marker" are the process, too."""
        one_of("scope", scope, SCOPES)
        with _profiler.lock:
            if _profiler.session is not None:
                _profiler.session.mark(f"{self.domain.name},instant_marker", self.name, SCOPES[scope])


_scope = contextvars.ContextVar("scope", default="")


class Scope(_Span):
    """A part of a program, under the names of those around it, "forward:layer:", unless append_mode is False.

    with profiler.scope("forward") as name:
        ...
    """

    def __init__(self, name="<unk>:", append_mode=True):
        super().__init__(text("name", name), "scope")
        self.append_mode = flag("append_mode", append_mode)
        self._given, self._tokens = name if name.endswith(":") else f"{name}:", []

    def start(self):
        """It begins now, in this thread, or task of asyncio's."""
        self.name = _scope.get() + self._given if self.append_mode else self._given
        self._tokens.append(_scope.set(self.name))
        super().start()

    def stop(self):
        """It ends now, where it began."""
        super().stop()
        if self._tokens:
            _scope.reset(self._tokens.pop())

    def __enter__(self):
        self.start()
        return self.name


def scope(name="<unk>:", append_mode=True):
    """A Scope."""
    return Scope(name, append_mode)


# ---- the process -----------------------------------------------------------------------------------------------------

def _at_exit():
    with _profiler.lock:
        if _profiler.session is not None:
            _profiler.end()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_profiler.forget)
if flag("MXNET_PROFILER_AUTOSTART", os.environ.get("MXNET_PROFILER_AUTOSTART") or 0):
    set_state("run")
