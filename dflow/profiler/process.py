"""The profiler that a process has, and what its arguments may be."""

import atexit
import os
import threading
import warnings

from dflow._profile.session import OPERATIONS, USE, WAITS, Session
from dflow._profile.totals import Totals
from dflow._profile.trace import File

# Of set_config(), which sets all: those that it is not told, to these.
DEFAULTS = {"filename": "profile.json", "gpu_memory_profile_filename_prefix": None, "profile_all": False,
            "profile_symbolic": True, "profile_imperative": True, "profile_memory": True, "profile_api": True,
            "continuous_dump": False, "dump_period": 1.0, "aggregate_stats": False, "profile_process": "worker"}
LOOK = 0.25                     # seconds, in which a thread notes fewer events, mostly, than it keeps


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


# ---- the process -----------------------------------------------------------------------------------------------------

def _at_exit():
    with _profiler.lock:
        if _profiler.session is not None:
            _profiler.end()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    # With the lock, so that no thread is in the middle of a look: what else it had locked stays so in a child.
    os.register_at_fork(before=lambda: _profiler.lock.acquire(), after_in_parent=lambda: _profiler.lock.release(),
                        after_in_child=_profiler.forget)
