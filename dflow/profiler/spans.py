"""What a program tells its profile: spans of time, counters, moments."""

import contextvars

from dflow._runtime import events  # type: ignore[attr-defined]  # of Cython
from dflow.profiler.process import _profiler, flag, one_of, text, whole

SCOPES = {"global": "g", "process": "p", "thread": "t", "task": "p", "marker": "p"}


def domain_of(domain):
    if not isinstance(domain, Domain):
        raise TypeError(f"domain must be a Domain, not {type(domain).__name__}")
    return domain


class Domain:
    """A name under which others belong together: their category in a trace, their section in dumps().

    Parameters
    ----------
    name : str
        The name, which is not empty.

    Raises
    ------
    TypeError
        For a name that is no string.
    ValueError
        For an empty one.

    Examples
    --------
    >>> domain = dflow.profiler.Domain("training")
    >>> task, counter = domain.new_task("epoch"), domain.new_counter("samples")
    >>> print(domain, task, counter)
    training epoch samples
    """

    def __init__(self, name):
        self.name = text("name", name)

    def __str__(self):
        return self.name

    def new_task(self, name):
        """A Task of this domain.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        Task
        """
        return Task(self, name)

    def new_frame(self, name):
        """A Frame of this domain.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        Frame
        """
        return Frame(self, name)

    def new_counter(self, name, value=None):
        """A Counter of this domain.

        Parameters
        ----------
        name : str
            Its name.
        value : int, optional
            What it is set to at once.

        Returns
        -------
        Counter
        """
        return Counter(self, name, value)

    def new_marker(self, name):
        """A Marker of this domain.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        Marker
        """
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
    """Something that a program does, by its own name: from start() to stop(), or a `with` block.

    It is in the profile if that runs when it ends. What ran before profiling began is none of it.

    Parameters
    ----------
    domain : Domain
        Where it belongs.
    name : str
        Its name, which is not empty.

    Raises
    ------
    TypeError
        For a domain that is no Domain, and a name that is no string.
    ValueError
        For an empty name.
    RuntimeError
        By stop(), before start().

    Examples
    --------
    >>> import json, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dflow.profiler.set_config(filename=f"{folder}/trace.json", aggregate_stats=True)
    ...     dflow.profiler.start()
    ...     with dflow.profiler.Task(dflow.profiler.Domain("training"), "epoch"):
    ...         x = np.ones(3) + 1
    ...     dflow.profiler.dump()
    >>> json.loads(dflow.profiler.dumps(format="json"))["Time"]["training"]["epoch"]["Count"]
    1
    >>> dflow.profiler.set_config()
    """

    def __init__(self, domain, name):
        super().__init__(name, domain_of(domain).name)


class Frame(_Span):
    """One of many like it, such as pictures or steps: from start() to stop(), or a `with` block.

    It is as a Task, in a section of its own, the domain's name and ",frame".

    Parameters
    ----------
    domain : Domain
        Where it belongs.
    name : str
        Its name, which is not empty.

    Raises
    ------
    TypeError
        For a domain that is no Domain, and a name that is no string.
    ValueError
        For an empty name.
    RuntimeError
        By stop(), before start().

    Examples
    --------
    >>> import json, tempfile
    >>> frame = dflow.profiler.Frame(dflow.profiler.Domain("training"), "step")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dflow.profiler.set_config(filename=f"{folder}/trace.json", aggregate_stats=True)
    ...     dflow.profiler.start()
    ...     for _ in range(3):
    ...         with frame:
    ...             x = np.ones(3) + 1
    ...     dflow.profiler.dump()
    >>> json.loads(dflow.profiler.dumps(format="json"))["Time"]["training,frame"]["step"]["Count"]
    3
    >>> dflow.profiler.set_config()
    """

    def __init__(self, domain, name):
        super().__init__(name, f"{domain_of(domain).name},frame")


class Event(_Span):
    """Something that a program does, of no domain: from start() to stop(), or a `with` block.

    It is as a Task, in the section "event".

    Parameters
    ----------
    name : str
        Its name, which is not empty.

    Raises
    ------
    TypeError
        For a name that is no string.
    ValueError
        For an empty one.
    RuntimeError
        By stop(), before start().

    Examples
    --------
    >>> with dflow.profiler.Event("reading") as event:      # in the profile, if one runs
    ...     x = np.ones(3) + 1
    >>> print(event)
    reading
    """

    def __init__(self, name):
        super().__init__(name, "event")


class Counter:
    """A whole number that changes, from 0 on. Several threads may change it.

    `counter += n` and `counter -= n` are increment() and decrement(). It counts whether profiling runs or not.

    Parameters
    ----------
    domain : Domain
        Where it belongs.
    name : str
        Its name, which is not empty.
    value : int, optional
        What it is set to at once.

    Raises
    ------
    TypeError
        For a domain that is no Domain, a name that is no string, and values that are no numbers.
    ValueError
        For an empty name.

    Examples
    --------
    >>> import json, tempfile
    >>> counter = dflow.profiler.Counter(dflow.profiler.Domain("training"), "samples", 100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dflow.profiler.set_config(filename=f"{folder}/trace.json", aggregate_stats=True)
    ...     dflow.profiler.start()
    ...     counter += 20
    ...     dflow.profiler.dump()
    >>> json.loads(dflow.profiler.dumps(format="json"))["Time"]["training"]["samples"]["Total"]
    120
    >>> dflow.profiler.set_config()
    """

    def __init__(self, domain, name, value=None):
        self.name = text("name", name)
        self._category = domain_of(domain).name
        self._value = 0
        if value is not None:
            self.set_value(value)

    def __str__(self):
        return self.name

    def set_value(self, value):
        """It is so much now.

        Parameters
        ----------
        value : int
            How much.
        """
        self._set(0, whole("value", value))

    def increment(self, delta=1):
        """It is so much more.

        Parameters
        ----------
        delta : int
            How much.
        """
        self._set(1, whole("delta", delta))

    def decrement(self, delta=1):
        """It is so much less.

        Parameters
        ----------
        delta : int
            How much.
        """
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
    """A moment that a program marks, by mark(): in the trace, if profiling runs then.

    Parameters
    ----------
    domain : Domain
        Where it belongs; its section is the domain's name and ",instant_marker".
    name : str
        Its name, which is not empty.

    Raises
    ------
    TypeError
        For a domain that is no Domain, and a name that is no string.
    ValueError
        For an empty name, and by mark(), for another scope.

    Examples
    --------
    >>> import json, tempfile
    >>> marker = dflow.profiler.Marker(dflow.profiler.Domain("training"), "saved")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dflow.profiler.set_config(filename=f"{folder}/trace.json")
    ...     dflow.profiler.start()
    ...     marker.mark()
    ...     dflow.profiler.dump()
    ...     with open(f"{folder}/trace.json") as file:
    ...         events = json.load(file)["traceEvents"]
    >>> [event["s"] for event in events if event["name"] == "saved"]       # "p": of the process
    ['p']
    >>> dflow.profiler.set_config()
    """

    def __init__(self, domain, name):
        self.name = text("name", name)
        self.domain = domain_of(domain)

    def mark(self, scope="process"):
        """It is now.

        Parameters
        ----------
        scope : str
            Of a "thread", the "process", or "global"; "task" and "marker" are the process, too.
        """
        one_of("scope", scope, SCOPES)
        with _profiler.lock:
            if _profiler.session is not None:
                _profiler.session.mark(f"{self.domain.name},instant_marker", self.name, SCOPES[scope])


_scope = contextvars.ContextVar("scope", default="")


class Scope(_Span):
    """A part of a program, under the names of those around it: from start() to stop(), or a `with` block.

    `with` gives its whole name, of those around it in this thread, or this task of asyncio's, each with a colon. It is
    in the section "scope".

    Parameters
    ----------
    name : str
        Its own name, to which a colon is added, unless it ends with one.
    append_mode : bool
        False: without the names around it.

    Raises
    ------
    TypeError
        For a name that is no string.
    ValueError
        For an empty one.
    RuntimeError
        By stop(), before start().

    Examples
    --------
    >>> with dflow.profiler.Scope("forward"):
    ...     with dflow.profiler.Scope("layer") as name:
    ...         print(name)
    forward:layer:
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
    """Makes a Scope: `with profiler.scope("forward"):`.

    Parameters
    ----------
    name : str
        Its own name, to which a colon is added, unless it ends with one.
    append_mode : bool
        False: without the names of those around it.

    Returns
    -------
    Scope
        A context manager, which gives its whole name.

    Raises
    ------
    TypeError
        For a name that is no string.
    ValueError
        For an empty one.

    Examples
    --------
    >>> with dflow.profiler.scope("forward"):
    ...     with dflow.profiler.scope("layer") as inner, dflow.profiler.scope("apart:", append_mode=False) as apart:
    ...         print(inner, apart)
    forward:layer: apart:
    """
    return Scope(name, append_mode)
