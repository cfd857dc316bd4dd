"""Bars of progress: tqdm's, or where it is not there a line of text of our own.

A step, or a task, counts when its work is done. The bar belongs to a daemon thread, which the program that it tells of
need not wait for.
"""

import os
import sys
import threading
import time
import weakref
from operator import length_hint

from dflow import _engine
from dflow._array.core import is_array
from dflow._profile.steps import Steps
from dflow._profile.summary import size_text

TICK, SHORTEST = 0.1, 0.01              # seconds between two looks; where much happens
LONGEST = 0.02                          # seconds between two of who waits
MOST_VALUES = 64                        # sets of values beside a bar that are waited for

_unfinished = set()                     # bars whose loop has ended; they close when all is done


class progress:
    """progress(iterable): like tqdm.tqdm(iterable), but a step counts when its work is done: all tasks that were
    submitted before the loop asked for the next item are finished. To submit takes a moment, so tqdm's own bar would
    soon be full, and nothing done.

    The loop is not held up: Python runs ahead as without a bar. At its end it waits for what its steps have submitted,
    and raises nothing that failed among that; `wait=False`: the bar goes on by itself, and closes when all is done.
    Where the loop is left by `break` or an exception, the bar closes at once.

    Of tqdm's bars it has update, close, set_description, set_postfix and their like, write, refresh, n, total, and
    whatever else is asked for. While there is no tqdm, a line of text on standard error (`file`) tells the same.

    Parameters
    ----------
    iterable : iterable, optional
        Without one, update(n) says that n steps have been submitted.
    total : number, optional
        How many steps. None: len(iterable), if it has one.
    wait : bool
        At its end the loop waits for what its steps have submitted.
    **arguments
        tqdm's.

    Examples
    --------
    >>> import io
    >>> for k in dflow.progress(range(3), file=io.StringIO()):
    ...     x = np.full(3, k) * 2
    >>> x
    array([4, 4, 4])
    """

    def __init__(self, iterable=None, total=None, *, wait=True, **arguments):
        self._bar = self._steps = None
        if iterable is not None and not hasattr(iterable, "__iter__") and not hasattr(iterable, "__getitem__"):
            raise TypeError(f"iterable must be iterable, not {iterable!r}")
        if isinstance(total, (str, bytes)) or total is not None and not hasattr(total, "__float__"):
            raise TypeError(f"total must be a number or None, not {total!r}")
        self.iterable = iterable
        self._wait = wait
        self._lock = threading.RLock()          # the garbage collector may close a bar in the middle of a look
        self._over = False
        self._process = os.getpid()
        self._bar = make_bar(_length(iterable) if total is None and iterable is not None else total, **arguments)
        if not self._bar.disable:
            self._steps = Steps()
            self._shown = 0
            self._values = []                   # sets of values, the newest last, not all there
            self._stop = threading.Event()
            threading.Thread(target=_look_often, args=(weakref.ref(self), self._stop), name="dflow progress",
                             daemon=True).start()

    def __iter__(self):
        if self.iterable is None:
            raise TypeError("progress() has no iterable: give it one, or call update()")
        steps = self._steps
        if steps is None:
            yield from self.iterable
            return
        end = steps.end
        steps.begin()
        try:
            for item in self.iterable:
                yield item
                end()
        except BaseException:                   # GeneratorExit, after a `break`
            self._close()
            raise
        self.close()

    def update(self, n=1):
        """n steps have been submitted: they count when what was submitted since the last update is done."""
        if self._steps is not None:
            self._steps.end(n)

    def close(self):
        """Wait for what is not done yet, unless wait=False; then close the bar."""
        if self._steps is None or self._process != os.getpid():
            return
        if self._wait and not inside_host_task():
            pause = 0.0005
            while self._look() is not None and self._steps is not None and self._steps.held:
                time.sleep(pause)
                pause = min(2 * pause, LONGEST)
        elif not self._wait:
            self._over = True
            _unfinished.add(self)
            return
        self._close()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if kind is None:
            self.close()
        else:
            self._close()

    def __del__(self):
        if self._steps is not None:
            self._close()

    def __len__(self):
        return len(self.iterable) if self.iterable is not None else self._bar.total

    def __bool__(self):
        return self.total is None or self.total > 0

    def __getattr__(self, name):
        if name.startswith("__") or name == "_bar":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._bar, name)

    # tqdm's own: a program may set them, and refresh() the bar
    n = property(lambda self: self._bar.n, lambda self, n: setattr(self._bar, "n", n))
    total = property(lambda self: self._bar.total, lambda self, total: setattr(self._bar, "total", total))
    desc = property(lambda self: self._bar.desc, lambda self, desc: setattr(self._bar, "desc", desc))

    def set_postfix(self, ordered_dict=None, refresh=True, **values):
        """Show values beside the bar. Arrays are not waited for: their values come when they are there."""
        values = {**(ordered_dict or {}), **values}
        if self._steps is None or not any(map(is_array, values.values())):
            self._bar.set_postfix(values, refresh)
            return
        with self._lock:
            if len(self._values) == MOST_VALUES:        # Python is far ahead: some are enough
                del self._values[1::2]
            self._values.append(values)

    @staticmethod
    def write(s, file=None, end="\n"):
        """Print s, without harm to the bars."""
        kind_of_bar().write(s, file=file, end=end)

    # ---- by whichever thread looks

    def _look(self):
        """Show what is done. Seconds until the next look; None: the bar is closed."""
        with self._lock:
            steps = self._steps
            if steps is None:
                return None
            steps.look()
            self._show(steps)
            if steps.held and steps.quiet:
                nudge()
            elif self._over and not steps.held:
                self._close()
                return None
            return SHORTEST if steps.many else TICK

    def _show(self, steps):
        ready = [i for i, values in enumerate(self._values) if all(map(_is_there, values.values()))]
        if ready:
            self._bar.set_postfix({name: _value(x) for name, x in self._values[ready[-1]].items()}, refresh=False)
            del self._values[:ready[-1] + 1]
        if steps.done != self._shown:
            more, self._shown = steps.done - self._shown, steps.done
            self._bar.update(more)

    def _close(self):
        if self._process != os.getpid():        # a child of fork() has neither the bar nor its thread
            return
        with self._lock:
            steps, self._steps = self._steps, None
            if steps is None:
                return
            self._stop.set()
            _unfinished.discard(self)
            try:
                steps.look()
                self._show(steps)
                self._bar.close()
            finally:
                steps.close()


def trange(*args, **kwargs):
    """progress(range(*args), **kwargs)

    Parameters
    ----------
    *args
        range()'s.
    **kwargs
        progress()'s.

    Examples
    --------
    >>> import io
    >>> for k in dflow.trange(2, file=io.StringIO()):
    ...     x = np.full(2, k)
    """
    return progress(range(*args), **kwargs)


def _look_often(bar, stop):
    pause = TICK
    while pause is not None and not stop.wait(pause):
        shown = bar()
        if shown is None:
            return
        try:
            pause = shown._look()
        except Exception:               # the file is closed, say: the program hears of it when it closes the bar
            return
        del shown


def _is_there(x):
    return not is_array(x) or x.is_ready()


def _value(x):
    """As tqdm takes it."""
    if not is_array(x):
        return x
    try:
        return x.item() if x.size == 1 else str(x)
    except Exception:                   # the loop meets it where it reads the array
        return "failed"


def nudge():
    """What was submitted last, and waits for more to join it, runs now."""
    _engine.statistics()


def inside_host_task():
    """Whether this is a Python function on a worker, which may wait for nothing."""
    try:
        _engine.waitall(timeout=-1)
    except RuntimeError:
        return True
    except ValueError:                  # but for that it could
        return False


def _length(iterable):
    try:
        return len(iterable)
    except TypeError:
        return length_hint(iterable) or None


class Tasks:
    """A bar of all tasks: see dflow.engine.progress()."""

    def __init__(self, desc=None, file=None, mininterval=0.1, leave=True, disable=False):
        try:
            self._interval = max(float(mininterval), 0.01)
        except (TypeError, ValueError):
            raise TypeError(f"mininterval must be a number of seconds, not {mininterval!r}") from None
        self._arguments = {"desc": desc, "file": file, "mininterval": self._interval / 2, "leave": leave,
                           "disable": disable}
        self._bar = None
        self.done = self.submitted = 0

    def __enter__(self):
        counts = _engine.statistics()
        self._since = counts["queued"] - counts["pending"]
        self._bar = make_bar(0, unit=" tasks", **self._arguments)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dflow progress", daemon=True)
        if not self._bar.disable:
            self._thread.start()
        return self

    def __exit__(self, kind, error, traceback):
        try:
            if kind is None:
                _engine.waitall()
        finally:
            self._stop.set()
            if self._thread.is_alive():
                self._thread.join()
            self._look()
            self._bar.close()

    def write(self, s, file=None, end="\n"):
        """Print s, without harm to the bar."""
        progress.write(s, file, end)

    def set_description(self, desc=None, refresh=True):
        self._bar.set_description(desc, refresh)

    def _run(self):
        while not self._stop.wait(self._interval):
            try:
                self._look()
            except Exception:           # as above
                return

    def _look(self):
        counts = _engine.statistics()
        submitted = counts["queued"] - self._since
        done = submitted - counts["pending"]
        if (done, submitted) == (self.done, self.submitted):
            return
        more, self.done, self.submitted = done - self.done, done, submitted
        self._bar.total = submitted
        self._bar.set_postfix_str(f"{size_text(_engine.memory_stats()['live'])} held", refresh=False)
        if not self._bar.update(more):
            self._bar.refresh()


# ---- bars ------------------------------------------------------------------------------------------------------------

def kind_of_bar():
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return Line
    return tqdm


def make_bar(total, **arguments):
    # miniters: the bar is told of some steps at a time, and tqdm would take that for the usual number
    return kind_of_bar()(total=total, **{"miniters": 1, **arguments})


class Line:
    """A line of text in place of tqdm's bar, with as much of its interface as programs use. Arguments for what it does
    not have are not looked at."""

    open = []                           # those that stand on a terminal now

    def __init__(self, total=None, desc=None, file=None, mininterval=0.1, leave=True, disable=False, unit="it",
                 initial=0, postfix=None, **others):
        self.file = sys.stderr if file is None else file
        self.disable = not self.file.isatty() if disable is None else bool(disable)
        self.n, self.total, self.desc, self.unit, self.leave = initial, total, desc or "", unit, leave
        self.mininterval = mininterval
        self.postfix = ""
        self.start_t = time.monotonic()
        self._initial, self._shown_at, self._width, self._lock = initial, 0, 0, threading.RLock()
        if postfix:
            self.set_postfix(postfix, refresh=False)
        if not self.disable:
            Line.open.append(self)
            self.refresh()

    def __str__(self):
        seconds = time.monotonic() - self.start_t
        text = f"{self.desc}: " if self.desc else ""
        if self.total:
            text += f"{self.n / self.total:4.0%} "
        of = f"/{self.total}" if self.total is not None else ""
        rate = f", {(self.n - self._initial) / seconds:.3g}/s" if seconds else ""
        unit = self.unit if self.unit.startswith(" ") else f" {self.unit}"
        return f"{text}{self.n}{of}{unit} [{seconds:.1f} s{rate}{', ' if self.postfix else ''}{self.postfix}]"

    def update(self, n=1):
        self.n += n
        if not self.disable and time.monotonic() >= self._shown_at + self.mininterval:
            return self.refresh()

    def refresh(self, **_):
        if self.disable or Line.open[-1] is not self:       # of nested ones the innermost is shown
            return
        with self._lock:
            text = str(self)
            self.file.write("\r" + text.ljust(self._width))
            self.file.flush()
            self._width, self._shown_at = len(text), time.monotonic()
        return True

    display = refresh

    def clear(self, **_):
        if not self.disable:
            with self._lock:
                self.file.write("\r" + " " * self._width + "\r")
                self.file.flush()

    def reset(self, total=None):
        self.n, self.start_t = 0, time.monotonic()
        self.total = self.total if total is None else total
        self.refresh()

    def set_description(self, desc=None, refresh=True):
        self.desc = desc or ""
        if refresh:
            self.refresh()

    set_description_str = set_description

    def set_postfix(self, ordered_dict=None, refresh=True, **values):
        pairs = {**(ordered_dict or {}), **values}
        self.set_postfix_str(", ".join(f"{name}={_short(value)}" for name, value in pairs.items()), refresh)

    def set_postfix_str(self, s="", refresh=True):
        self.postfix = str(s)
        if refresh:
            self.refresh()

    @staticmethod
    def write(s, file=None, end="\n"):
        bars = list(Line.open)
        for bar in bars:
            bar.clear()
        print(s, file=sys.stdout if file is None else file, end=end, flush=True)
        for bar in bars:
            bar.refresh()

    def close(self):
        if self.disable:
            return
        if self.leave:
            self.refresh()
            self.file.write("\n")
            self.file.flush()
        else:
            self.clear()
        self.disable = True
        Line.open.remove(self)


def _short(value):
    return f"{value:.3g}" if isinstance(value, float) else str(value).strip()
