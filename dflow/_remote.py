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
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy
from numpy.lib.mixins import NDArrayOperatorsMixin

import dflow.numpy as np
from dflow._array.core import is_array
from dflow._base.nested import mapped
from dflow._ranks.exchange import WorkerLost, portable
from dflow._runtime.errors import report_unseen, strip_frames
from dflow._tracing.tape import is_recording, is_tracked

PACKAGE = __name__.partition(".")[0] + "."
LOOK = 5                    # seconds between looks whether a worker is there that is to send something
INPLACE = frozenset("fill itemset partition put resize sort".split())
WRITERS = frozenset("copyto fill_diagonal place put put_along_axis putmask".split())
HOW_MANY = 1000             # operations that are sent at once, at most
NO_GRADIENT = "gradients are computed where a program runs; to train on workers, see dflow.distributed.run()"


class Packed:
    """What is sent: pickled, with the arrays as they lie."""

    def __init__(self, value):
        self.value = value


def packed(value):
    from distributed.protocol import to_serialize

    return to_serialize(Packed(value))


def dumps(value):
    """As Dask pickles, functions without a name, too: bytes, and buffers."""
    from distributed.protocol import pickle as dasks

    buffers = []
    return dasks.dumps(value, buffer_callback=buffers.append), buffers


def loads(data, buffers):
    from distributed.protocol import pickle as dasks

    return dasks.loads(data, buffers=buffers)


class Reference:
    """What an argument stands for on the worker."""

    def __init__(self, number):
        self.number = number


class Failed:
    """An error, in place of a value: without the frames that it passed, and what these hold.

    unread: nobody has been told, so it is reported when nothing refers to it. What is sent is somebody else's concern.
    """

    unread = False

    def __init__(self, error, unread=False):
        self.error, self.unread = pickle.loads(pickle.dumps(portable(error))), unread
        strip_frames(self.error)            # this one is among them: tblib, which Dask loads, has errors bring theirs

    def __reduce__(self):
        return Failed, (self.error,)

    def __del__(self):
        if self.unread:
            report_unseen(self.error)

    def tell(self):
        """Raise it: a copy, as it may be raised again."""
        raise pickle.loads(pickle.dumps(self.error))


# ---- on the worker ---------------------------------------------------------------------------------------------------

class Table:
    """What a worker has for one client, by number."""

    def __init__(self, worker):
        self.worker, self.values, self.lock = worker, {}, asyncio.Lock()
        self.arrived = {}               # futures of what other workers send
        self.thread = ThreadPoolExecutor(1, "dflow-table")     # of its own, as it waits for what others send

    async def run(self, noted):
        async with self.lock:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self.thread, self._run, noted, loop)

    def _run(self, noted, loop):
        for number, data, buffers in noted:
            try:
                what, *rest = loads(data, buffers)
                if what == "free":
                    self.values.pop(number, None)
                elif what == "send":
                    value = mapped(self.values[number], _copied)        # what follows here may write to it
                    asyncio.run_coroutine_threadsafe(self._send(value, *rest), loop)
                else:
                    self.values[number] = (self._take(number, loop, *rest) if what == "take"
                                           else self._called(*rest))
            except Exception as error:      # of what cannot be read here, or for which there is no memory
                self.values[number] = Failed(error, True)

    def _called(self, function, args, keywords, line):
        failed = []
        args, keywords = mapped((args, keywords), lambda x: self._value(x, failed))
        if failed:
            return failed[0]
        try:
            return as_at(*line)(function, args, keywords)
        except Exception as error:
            error.add_note("submitted at {}:{} in {}".format(*line))
            return Failed(error, True)

    def _value(self, x, failed):
        value = self.values[x.number] if isinstance(x, Reference) else x
        if isinstance(value, Failed):
            if value is x:                  # it has just come
                value.unread = True
            failed.append(value)
        return value

    def future(self, number):
        return self.arrived.setdefault(number, asyncio.get_running_loop().create_future())

    def _take(self, number, loop, address, other):
        """What another worker sends, for as long as that is there."""
        async def taken():
            future = self.future(number)
            while not (await asyncio.wait([future], timeout=LOOK))[0]:
                await self.worker.rpc(address).identity()
            value = future.result()
            if isinstance(value, Failed):
                value.unread = True
            return value
        try:
            return asyncio.run_coroutine_threadsafe(taken(), loop).result()
        except OSError:
            return Failed(WorkerLost(other, address))
        finally:
            loop.call_soon_threadsafe(self.arrived.pop, number, None)

    async def _send(self, value, address, name, number):
        value = await asyncio.to_thread(_read, value)
        there = self.worker.rpc(address)
        with suppress(OSError):             # it is gone, and nobody waits for this there
            try:
                data = dumps(value)
            except Exception as error:
                data = dumps(Failed(error))
            await there.dflow_put(name=name, number=number, value=packed(data))


@functools.lru_cache(1000)
def as_at(file, line, name):
    """Calls a function as if at the client's line: which is what operations, and so errors and profiles, note."""
    def call(function, args, keywords): return function(*args, **keywords)  # noqa: E704
    return types.FunctionType(call.__code__.replace(co_filename=file, co_firstlineno=line, co_name=name), {})


def _copied(x):
    return x.copy() if is_array(x) else x


def _read(value):
    """A value that is there, or why it failed: who asks tells it."""
    if isinstance(value, Failed):
        value.unread = False
    try:
        mapped(value, lambda x: x.wait_to_read() if is_array(x) else None)
        return value
    except Exception as error:
        return Failed(error)


async def _open(name, dask_worker):
    dask_worker.dflow_tables[name] = Table(dask_worker)


def answer(worker):
    """Let a worker answer what devices send. None: it has no such table, as it came in the place of another one."""
    tables = worker.__dict__.setdefault("dflow_tables", {})

    async def run(name, noted):
        if name in tables:
            await tables[name].run(noted.value)
            return True

    async def get(name, number, what):
        """What is known of a value, or itself: when all before has been noted here."""
        table = tables.get(name)
        if table is None:
            return None
        async with table.lock:
            value = table.values[number]
        if what == "value" or not is_array(value):          # what has failed, too
            value = await asyncio.to_thread(_read, value)
        if what == "about" and not isinstance(value, Failed):
            value = about(value)
        try:
            return packed(dumps(value))
        except Exception as error:          # it cannot be sent
            return packed(dumps(Failed(error)))

    async def drop(name):
        """No client has anything of it any more."""
        table = tables.pop(name, None)
        if table is not None:
            table.thread.shutdown(wait=False)

    async def put(name, number, value):
        if name in tables:
            future = tables[name].future(number)
            if not future.done():
                future.set_result(loads(*value.value))

    for handler, function in ("dflow_run", run), ("dflow_get", get), ("dflow_put", put), (
            "dflow_drop", drop):
        worker.handlers.setdefault(handler, function)


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
        self._lost = False

    def __repr__(self):
        return f"worker({self.device_id})"

    def __reduce__(self):
        raise TypeError(f"{self} belongs to a client: it cannot be pickled")

    # ---- noting

    def note(self, what, number, *rest):
        self._noted.append((what, number, *rest))
        with self._lock:
            self._begin()

    def free(self, number):
        """The same of what ends, whenever Python finds that: maybe while this very thread has the lock. Then it goes
        with what is noted next."""
        self._noted.append(("free", number))
        if self._lock.acquire(blocking=False):
            try:
                self._begin()
            finally:
                self._lock.release()

    def _begin(self):
        if self._lost or self._client.status != "running":
            self._noted.clear()
        elif self._sender is None:
            self._sender = asyncio.run_coroutine_threadsafe(self._send(), self._client.loop.asyncio_loop)

    async def _send(self):
        done = False
        while not done:
            try:
                noted = await asyncio.to_thread(self._next)
                if noted:
                    there = self._client.rpc(self.address)
                    self._lost = not await there.dflow_run(name=self._name, noted=packed(noted))
            except BaseException as error:
                self._lost = True
                if not isinstance(error, OSError):
                    raise
            finally:
                with self._lock:
                    done = not self._noted or self._lost
                    if done:
                        self._sender = None

    def _next(self):
        """What is to be sent, each for itself, as it is read there: when what is given is there."""
        noted = []
        while self._noted and len(noted) < HOW_MANY:
            what, number, *rest = self._noted.popleft()
            try:
                data = dumps((what, *mapped(rest, _settled)))
            except Exception as error:
                data = dumps(("call", _fail, (Failed(error),), {}, rest[-1]))
            noted.append((number, *data))
        return noted

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
        self.change(number, function, *args, **keywords)
        return Remote(self, number)

    def change(self, number, function, *args, **keywords):
        """The same, for what has that number from then on."""
        given = mapped((args, keywords), self._argument)        # which args and keywords keep until they are noted
        self.note("call", number, function, *given, _line())

    def _argument(self, x):
        if isinstance(x, Remote):
            if x.device is not self:
                raise ValueError(f"arrays are on several devices, {self} and {x.device}: copy them to one first")
            return Reference(x.number)
        if is_array(x) and is_recording() and is_tracked(x):        # see no_gradient below
            raise NotImplementedError(f"an array with a gradient meets Remote: {NO_GRADIENT}")
        return Given(x) if is_array(x) else x.copy() if isinstance(x, numpy.ndarray) else x

    def put(self, x):
        """A copy of an array on this device; from another worker it goes directly. See Remote.copyto()."""
        if isinstance(x, Remote) and x.device is not self:
            number = next(self._numbers)
            if x.device._lost:
                return self.call(_fail, Failed(WorkerLost(x.device.device_id, x.device.address)))
            x.device.note("send", x.number, self.address, self._name, number)
            self.note("take", number, x.device.address, x.device.device_id)
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
            value.tell()
        return value

    async def _get(self, number, what):
        while self._sender is not None:
            await asyncio.shield(asyncio.wrap_future(self._sender))         # Ctrl-C ends this wait alone
        if not self._lost:
            with suppress(OSError):
                there = self._client.rpc(self.address)
                value = await there.dflow_get(name=self._name, number=number, what=what)
                if value is not None:
                    return loads(*value.value)
        raise WorkerLost(self.device_id, self.address)


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


def _inplace(x, name, args, keywords):
    getattr(x, name)(*args, **keywords)
    return x


def _set(x, key, value):
    x[key] = value
    return x


def _kept(x, result):
    return x


def _depends(x, result):
    """What was to be written to is what failed, if that did."""
    if isinstance(x, Remote):
        x.device.change(x.number, _kept, x, result)


def _fail(failed):
    """Not called: what is given a Failed fails."""


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
    no_gradient = NO_GRADIENT           # who records an operation that results in one finds it here

    def __init__(self, device, number):
        self.device, self.number, self._about = device, number, None

    def __del__(self):
        with suppress(Exception):           # Python may be ending
            self.device.free(self.number)

    def __reduce__(self):
        return pickle.loads, (pickle.dumps(self.read()),)

    # ---- what is done there

    def __array_ufunc__(self, ufunc, how, *inputs, out=None, **keywords):
        function = ufunc if how == "__call__" else getattr(ufunc, how)
        if out is not None:
            keywords["out"] = out
        device = self._device_of(inputs, keywords)
        result = device.call(function, *inputs, **keywords)
        for x in (inputs[:1] if how == "at" else out or ()):
            _depends(x, result)
        return result if out is None else out[0] if len(out) == 1 else out

    def __array_function__(self, function, types, args, keywords):
        result = self._device_of(args, keywords).call(function, *args, **keywords)
        for x in (*(args[:1] if function.__name__ in WRITERS else ()), keywords.get("out")):
            _depends(x, result)
        return result

    def _device_of(self, args, keywords):
        found = []
        mapped((args, keywords), lambda x: found.append(x.device) if isinstance(x, Remote) else None)
        return found[0] if found else self.device

    def __getattr__(self, name):
        if name in ("attach_grad", "backward", "grad"):
            raise AttributeError(f"an array on a worker has no {name!r}: {NO_GRADIENT}")
        if name.startswith("_") or not callable(getattr(np.ndarray, name, None)):
            raise AttributeError(f"an array on a worker has no attribute {name!r}")
        if name in INPLACE:
            return lambda *args, **keywords: self.device.change(self.number, _inplace, self, name, args, keywords)
        return lambda *args, **keywords: self.device.call(_method, self, name, args, keywords)

    def __getitem__(self, key):
        return self.device.call(operator.getitem, self, key)

    def __setitem__(self, key, value):
        self.device.change(self.number, _set, self, key, value)

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

    def __await__(self):
        """What read() returns; the event loop goes on."""
        return asyncio.to_thread(self.read).__await__()

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

    def __format__(self, how):
        return format(self.read(), how)

    def __round__(self, digits=None):
        return round(self.read(), digits)

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


def devices(client, name):
    """name: of the tables that they have on the workers."""
    addresses = sorted(client.run(_open, name))
    made = [WorkerDevice(client, address, number, name) for number, address in enumerate(addresses)]
    for device in made:
        weakref.finalize(device, _drop, client, device.address, name).atexit = False
    return made


def _drop(client, address, name):
    """A device that nobody has any more: its table goes, too."""
    async def drop():
        with suppress(OSError):
            await client.rpc(address).dflow_drop(name=name)

    if client.status == "running":
        client.loop.add_callback(drop)
