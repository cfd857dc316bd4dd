"""Arrays that live on the workers of a cluster: dflow.cluster().

A Remote stands for what a worker has, or will have. What is done with it is noted, and sent in the order of the
program, as much at once as there is when the last that was sent has been taken: so nothing waits but who asks for a
value, or a shape. The worker runs it with arrays of its own, which are pending there like others. An error stands for
what was to be made, with the line that asked for it, and is raised by who reads that.

What goes to another worker goes there directly. Of what is sent and of what waits for it there, each is noted on its
worker in the program's order, so no two workers wait for each other.
"""

import asyncio
import collections
import functools
import itertools
import operator
import pickle
import sys
import threading
import types
import uuid
from contextlib import suppress

import numpy
from numpy.lib.mixins import NDArrayOperatorsMixin

import dflow.numpy as np
from dflow._array.core import is_array
from dflow._ranks.exchange import WorkerLost, portable

PACKAGE = __name__.partition(".")[0] + "."
ARRIVE = 300                # seconds that a worker waits for what another one is to send
HOW_MANY = 1000             # operations that are sent at once, at most


class Packed:
    """What is sent: pickled, with the arrays as they lie."""

    def __init__(self, value):
        self.value = value


def packed(value):
    from distributed.protocol import to_serialize

    return to_serialize(Packed(value))


class Reference:
    """What an argument stands for on the worker."""

    def __init__(self, number):
        self.number = number


class Failed:
    """An error, in place of a value."""

    def __init__(self, error):
        self.error = error


def mapped(x, function):
    """A structure of tuples, lists, dictionaries and slices with function(part) for all else."""
    if isinstance(x, (tuple, list)):
        parts = [mapped(part, function) for part in x]
        return type(x)(parts) if type(x) in (tuple, list) else tuple(parts)
    if type(x) is dict:
        return {name: mapped(part, function) for name, part in x.items()}
    if isinstance(x, slice):
        return slice(*(mapped(end, function) for end in (x.start, x.stop, x.step)))
    return function(x)


# ---- on the worker ---------------------------------------------------------------------------------------------------

class Table:
    """What a worker has for one client, by number."""

    def __init__(self, worker):
        self.worker, self.values, self.lock = worker, {}, asyncio.Lock()
        self.arrived = {}               # futures of what other workers send
        self.sending = set()            # tasks

    async def run(self, noted):
        async with self.lock:
            await asyncio.to_thread(self._run, noted, asyncio.get_running_loop())

    def _run(self, noted, loop):
        for what, number, *rest in noted:
            if what == "free":
                self.values.pop(number, None)
            elif what == "send":
                value = mapped(self.values[number], _copied)        # what follows here may write to it
                asyncio.run_coroutine_threadsafe(self._send(value, *rest), loop)
            elif what == "take":
                self.values[number] = self._take(number, loop, *rest)
            else:
                self.values[number] = self._called(*rest)

    def _called(self, function, args, keywords, line):
        try:
            args, keywords = mapped((args, keywords), self._value)
        except Exception as error:
            return Failed(error)
        try:
            return as_at(*line)(function, args, keywords)
        except Exception as error:
            error.add_note("submitted at {}:{} in {}".format(*line))
            return Failed(portable(error))

    def _value(self, x):
        value = self.values[x.number] if isinstance(x, Reference) else x
        if isinstance(value, Failed):
            raise value.error
        return value

    def future(self, number):
        return self.arrived.setdefault(number, asyncio.get_running_loop().create_future())

    def _take(self, number, loop, address):
        async def taken():
            async with asyncio.timeout(ARRIVE):
                return await self.future(number)
        try:
            return asyncio.run_coroutine_threadsafe(taken(), loop).result()
        except TimeoutError:
            return Failed(TimeoutError(f"the worker at {address} has sent nothing in {ARRIVE} seconds"))
        finally:
            loop.call_soon_threadsafe(self.arrived.pop, number, None)

    async def _send(self, value, address, name, number):
        value = await asyncio.to_thread(_read, value)
        with suppress(OSError):             # who waits for it there is told by the time
            await self.worker.rpc(address).dflow_put(name=name, number=number, value=packed(value))


@functools.lru_cache(1000)
def as_at(file, line, name):
    """Calls a function as if at the client's line: which is what operations, and so errors and profiles, note."""
    def call(function, args, keywords): return function(*args, **keywords)  # noqa: E704
    return types.FunctionType(call.__code__.replace(co_filename=file, co_firstlineno=line, co_name=name), {})


def _copied(x):
    return x.copy() if is_array(x) else x


def _read(value):
    """A value that is there, or why it failed."""
    try:
        mapped(value, lambda x: x.wait_to_read() if is_array(x) else None)
        return value
    except Exception as error:
        return Failed(portable(error))


async def _open(name, dask_worker):
    tables = dask_worker.__dict__.setdefault("dflow_tables", {})
    tables[name] = Table(dask_worker)

    async def run(name, noted):
        await tables[name].run(noted.value)

    async def get(name, number, what):
        """What is known of a value, or itself: when all before has been noted here."""
        table = tables[name]
        async with table.lock:
            value = table.values[number]
        if what == "value" or not is_array(value):
            value = await asyncio.to_thread(_read, value)
        if what == "about" and not isinstance(value, Failed):
            value = about(value)
        return packed(value)

    async def put(name, number, value):
        if name in tables:
            future = tables[name].future(number)
            if not future.done():
                future.set_result(value.value)

    for handler, function in ("dflow_run", run), ("dflow_get", get), ("dflow_put", put):
        dask_worker.handlers.setdefault(handler, function)


def about(value):
    """(kind, shape, type) of an array, (kind, length) of a list or a tuple of them, or (kind, itself)."""
    if is_array(value) or isinstance(value, (numpy.ndarray, numpy.generic)):
        return "array", value.shape, value.dtype
    return ("list", len(value)) if isinstance(value, (list, tuple)) else ("other", value)


# ---- here ------------------------------------------------------------------------------------------------------------

class WorkerDevice:
    """A worker of a cluster, as a device: dflow.cluster() makes them.

    np.ones(n, device=device), and whatever makes arrays, makes one there; x.copyto(device) copies one to it. Operations
    on it return at once, and results stay there.
    """

    device_type = "worker"

    def __init__(self, client, address, number, name):
        self._client, self.address, self.device_id, self._name = client, address, number, name
        self._numbers = itertools.count()
        self._noted = collections.deque()
        self._lock = threading.Lock()           # over: _sender
        self._sender = None                     # a future: of what sends, while something does
        self._lost = None

    def __repr__(self):
        return f"worker({self.device_id})"

    def __reduce__(self):
        raise TypeError(f"{self} belongs to a client: it cannot be pickled")

    # ---- noting

    def note(self, what, number, *rest):
        self._noted.append((what, number, *rest))
        with self._lock:
            if self._sender is None and self._lost is None:
                self._sender = asyncio.run_coroutine_threadsafe(self._send(), self._client.loop.asyncio_loop)

    async def _send(self):
        while True:
            noted = []
            while self._noted and len(noted) < HOW_MANY:
                noted.append(self._noted.popleft())
            if noted:
                try:
                    noted = await asyncio.to_thread(mapped, noted, _settled)
                    await self._client.rpc(self.address).dflow_run(name=self._name, noted=packed(noted))
                except OSError as error:
                    self._lost = WorkerLost(self.device_id, self.address)
                    self._lost.__cause__ = error
            with self._lock:
                if not self._noted or self._lost is not None:
                    self._sender = None
                    return

    def call(self, function, *args, **keywords):
        """Have the worker call a function, with its arrays in place of those that stand for them.

        Parameters
        ----------
        function : callable
            What can be pickled. What it does with arrays does not wait there.
        *args, **keywords
            Its arguments: arrays of this device; others are sent.

        Returns
        -------
        Remote
            It stands for the result.

        Raises
        ------
        ValueError
            For an array of another device.
        """
        number = next(self._numbers)
        given = mapped((args, keywords), self._argument)        # which args and keywords keep until they are noted
        self.note("call", number, function, *given, _line())
        return Remote(self, number)

    def _argument(self, x):
        if isinstance(x, Remote):
            if x.device is not self:
                raise ValueError(f"arrays are on several devices, {self} and {x.device}: copy them to one first")
            return Reference(x.number)
        return Given(x) if is_array(x) else x.copy() if isinstance(x, numpy.ndarray) else x

    def put(self, x):
        """A copy of an array on this device; from another worker it goes directly. See Remote.copyto()."""
        if isinstance(x, Remote) and x.device is not self:
            number = next(self._numbers)
            x.device.note("send", x.number, self.address, self._name, number)
            self.note("take", number, x.device.address)
            return Remote(self, number)
        return self.call(operator.methodcaller("copy") if isinstance(x, Remote) else np.array, x)

    def __array_function__(self, function, types, args, keywords):
        keywords.pop("like", None)
        return self.call(made, function, args, keywords)

    # ---- reading

    def get(self, number, what):
        """What is known of a value ("about"), or itself: waits."""
        value = self._client.sync(self._get, number, what)
        if isinstance(value, Failed):
            raise value.error
        return value

    async def _get(self, number, what):
        while self._sender is not None:
            await asyncio.wrap_future(self._sender)
        if self._lost is not None:
            raise self._lost
        try:
            return (await self._client.rpc(self.address).dflow_get(name=self._name, number=number, what=what)).value
        except OSError as error:
            raise WorkerLost(self.device_id, self.address) from error


class Given:
    """An array of this process that is sent: as it is now."""

    def __init__(self, x):
        self.copy = x.copy()


def _settled(x):
    return _read(x.copy) if isinstance(x, Given) else x


def made(function, args, keywords):
    """What a function of NumPy's that makes arrays makes: ours."""
    name = function.__module__.removeprefix("numpy").strip(".")
    there = np
    for part in name.split(".") if name and not name.startswith("_") else ():
        there = getattr(there, part)
    return getattr(there, function.__name__)(*args, **keywords)


def _method(x, name, args, keywords):
    return getattr(x, name)(*args, **keywords)


def _set(x, key, value):
    x[key] = value
    return x


def _line():
    """The program's line that called this module."""
    frame = sys._getframe(1)
    while frame is not None and (frame.f_globals.get("__name__", "") + ".").startswith((PACKAGE, "numpy.")):
        frame = frame.f_back
    return ("unknown", 1, "unknown") if frame is None else (
        frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


class Remote(NDArrayOperatorsMixin):
    """An array, or a list of them, on a worker of a cluster: what NumPy's functions, operators and its methods make of
    it is there, too. Who reads it waits, and gets an array of dflow's; so does who asks for its shape.

    Attributes
    ----------
    device : WorkerDevice
        Where it is.
    """

    __slots__ = ("_about", "device", "number")

    def __init__(self, device, number):
        self.device, self.number, self._about = device, number, None

    def __del__(self):
        with suppress(Exception):           # Python may be ending
            self.device.note("free", self.number)

    def __reduce__(self):
        return pickle.loads, (pickle.dumps(self.read()),)

    # ---- what is done there

    def __array_ufunc__(self, ufunc, how, *inputs, out=None, **keywords):
        function = ufunc if how == "__call__" else getattr(ufunc, how)
        if out is not None:
            keywords["out"] = out
        result = self._device_of(inputs, keywords).call(function, *inputs, **keywords)
        return result if out is None else out[0] if len(out) == 1 else out

    def __array_function__(self, function, types, args, keywords):
        return self._device_of(args, keywords).call(function, *args, **keywords)

    def _device_of(self, args, keywords):
        found = []
        mapped((args, keywords), lambda x: found.append(x.device) if isinstance(x, Remote) else None)
        return found[0] if found else self.device

    def __getattr__(self, name):
        if name.startswith("_") or not callable(getattr(np.ndarray, name, None)):
            raise AttributeError(f"an array on a worker has no attribute {name!r}")
        return lambda *args, **keywords: self.device.call(_method, self, name, args, keywords)

    def __getitem__(self, key):
        return self.device.call(operator.getitem, self, key)

    def __setitem__(self, key, value):
        self.device.call(_set, self, key, value)

    @property
    def T(self):
        return self.device.call(getattr, self, "T")

    @property
    def real(self):
        return self.device.call(getattr, self, "real")

    @property
    def imag(self):
        return self.device.call(getattr, self, "imag")

    # ---- what is known of it

    @property
    def _known(self):
        if self._about is None:
            self._about = self.device.get(self.number, "about")
        return self._about

    def _array_only(self, place):
        known = self._known
        if known[0] != "array":
            raise AttributeError("it is no array, but " + ("several" if known[0] == "list" else repr(known[1])))
        return known[place]

    @property
    def shape(self):
        return self._array_only(1)

    @property
    def dtype(self):
        return self._array_only(2)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return int(numpy.prod(self.shape, dtype=int))

    @property
    def itemsize(self):
        return self.dtype.itemsize

    @property
    def nbytes(self):
        return self.size * self.itemsize

    @property
    def ctx(self):
        return self.device

    context = ctx

    def __len__(self):
        if self._known[0] == "list":
            return self._known[1]
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    # ---- reading

    def read(self):
        """What it stands for: an array of dflow's, a list or a tuple of them, or what else a function returned."""
        return self.device.get(self.number, "value")

    def wait_to_read(self):
        """Wait until it is there. Raises what went wrong."""
        self.device.call(_wait, self).read()

    def asnumpy(self):
        """NumPy's array of it."""
        return numpy.asarray(self.read())

    def __array__(self, dtype=None, copy=None):
        return numpy.asarray(self.read(), dtype)

    def copyto(self, other):
        """A copy on another device, or into an array.

        Parameters
        ----------
        other : WorkerDevice, Device, Remote or ndarray
            Where to: between workers it goes directly.

        Returns
        -------
        Remote or ndarray
            The copy; or `other`, if it is an array.
        """
        if isinstance(other, WorkerDevice):
            return other.put(self)
        if isinstance(other, Remote):
            other[...] = self if other.device is self.device else other.device.put(self)
            return other
        if is_array(other):
            other[...] = self.read()
            return other
        return self.read().copyto(other)

    def to_device(self, device, /, *, stream=None):
        """The array itself if it is there, else a copy on the device."""
        return self if device is self.device else self.copyto(device)

    as_in_ctx = as_in_context = to_device

    def item(self, *args):
        """A number: see ndarray.item()."""
        return self.read().item(*args)

    def tolist(self):
        """Python's numbers, in lists."""
        return self.read().tolist()

    def __bool__(self):
        return bool(self.read())

    def __int__(self):
        return int(self.read())

    def __float__(self):
        return float(self.read())

    def __complex__(self):
        return complex(self.read())

    def __index__(self):
        return operator.index(self.read())

    def __repr__(self):
        return f"{self.read()!r} on {self.device}"

    def __str__(self):
        return str(self.read())

    __hash__ = None


def _wait(x):
    x.wait_to_read()


def devices(client):
    name = uuid.uuid4().hex
    addresses = sorted(client.run(_open, name))
    return [WorkerDevice(client, address, number, name) for number, address in enumerate(addresses)]
