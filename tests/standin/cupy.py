"""A stand-in for CuPy on machines without a GPU: the part of its interface that dflow and its bench use, over NumPy.

What makes a GPU hard to use right is real here: memory of a device is not the host's, holds garbage at first and again
when it is freed, and is given to the next allocation of its stream at once; streams run by themselves, late, at random
times (STANDIN_DELAY, seconds at most), and wait for each other only where they are told to; copies need pinned memory;
a kernel may only touch memory of the current device.
"""

import builtins
import collections
import contextlib
import ctypes
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import types

import numpy
import scipy.special

DELAY = float(os.environ.get("STANDIN_DELAY", "0"))
DEVICES = int(os.environ.get("STANDIN_DEVICES", "2"))
LIMIT = int(os.environ.get("STANDIN_BYTES", str(1 << 34)))      # of a device
chance = random.Random(int(os.environ.get("STANDIN_SEED", "1")))
local = threading.local()
faults = []             # of what ran in streams: a test that leaves some has failed
launches = collections.Counter()        # by the name of what was launched


# ---- devices, streams, events ----------------------------------------------------------------------------------------

class Device:
    all_streams = collections.defaultdict(list)

    def __init__(self, device=0):
        self.id = device

    def __enter__(self):
        local.devices = [*getattr(local, "devices", ()), self.id]
        return self

    def __exit__(self, *error):
        local.devices = local.devices[:-1]

    def synchronize(self):
        for stream in self.all_streams[self.id]:
            stream.synchronize()


def current_device():
    devices = getattr(local, "devices", ())
    return devices[-1] if devices else 0


class Stream:
    by_pointer = {}

    def __init__(self, null=False, non_blocking=False):
        self.device = current_device()
        self.work = collections.deque()
        self.change = threading.Condition()
        self.busy = False
        self.kept = None            # while it captures: what it was told
        self.ptr = id(self)
        self.by_pointer[self.ptr] = self
        Device.all_streams[self.device].append(self)
        threading.Thread(target=self.run, daemon=True).start()

    def __enter__(self):
        local.streams = [*getattr(local, "streams", ()), self]
        return self

    def __exit__(self, *error):
        local.streams = local.streams[:-1]

    def tell(self, function):
        if self.kept is not None:
            self.kept.append(function)
            return
        with self.change:
            self.work.append(function)
            self.change.notify_all()

    def run(self):
        while True:
            with self.change:
                while not self.work:
                    self.busy = False
                    self.change.notify_all()
                    self.change.wait()
                self.busy = True
                function = self.work.popleft()
            if DELAY and chance.random() < 0.3:
                time.sleep(DELAY * chance.random())
            try:
                with numpy.errstate(all="ignore"):
                    function()
            except BaseException as error:
                faults.append(error)
                print("stand-in:", repr(error), file=sys.stderr)
            function = None

    def begin_capture(self, mode=None):
        assert self.kept is None
        self.kept = []

    def end_capture(self):
        graph, self.kept = Graph(self.kept), None
        return graph

    def is_capturing(self):
        return self.kept is not None

    def synchronize(self):
        assert self.kept is None, "a stream that captures is awaited"
        with self.change:
            while self.work or self.busy:
                self.change.wait()
        if faults:
            raise CUDARuntimeError(repr(faults[-1]))

    def wait_event(self, event):
        assert self.kept is None, "a stream that captures waits for another"
        told = event.told
        self.tell(lambda: told is None or told.wait())

    def record(self, event=None):
        event = event or Event()
        event.record(self)
        return event


class Graph:
    def __init__(self, functions):
        self.functions = functions

    def launch(self, stream=None):
        launches["graph"] += 1
        for function in self.functions:
            (stream or current_stream()).tell(function)


null = Stream(null=True)


def current_stream():
    streams = getattr(local, "streams", ())
    return streams[-1] if streams else null


class Event:
    def __init__(self, block=False, disable_timing=False, interprocess=False):
        self.told = None            # nothing was recorded

    def record(self, stream=None):
        self.told = threading.Event()
        (stream or current_stream()).tell(self.told.set)

    def synchronize(self):
        if self.told is not None:
            self.told.wait()

    @property
    def done(self):
        return self.told is None or self.told.is_set()


class CUDARuntimeError(RuntimeError):
    pass


class OutOfMemoryError(MemoryError):
    pass


# ---- memory ----------------------------------------------------------------------------------------------------------

class Block:
    """Memory of a device, as the system has it."""
    regions = {}

    def __init__(self, size, device, stream):
        self.memory = numpy.full(size, 0xFF, numpy.uint8)
        self.ptr, self.size, self.device, self.stream = self.memory.ctypes.data, size, device, stream
        self.regions[self.ptr] = self


def device_of(address, size):
    for block in list(Block.regions.values()):
        if block.ptr <= address and address + size <= block.ptr + block.size:
            return block.device
    return None


class Memory:
    """A block in use; it goes back to its arena, and is scribbled over in its stream."""

    def __init__(self, pool, block):
        self.pool, self.block = pool, block

    def __del__(self):
        block, pool = self.block, self.pool
        block.stream.tell(lambda: block.memory.fill(0xFF))
        pool.free[block.device, block.stream, block.size].append(block)
        pool.used[block.device] -= block.size


class MemoryPointer:
    def __init__(self, mem, offset):
        self.mem, self.offset = mem, offset
        self.ptr = mem.block.ptr + offset
        self.device_id = mem.block.device

    def __add__(self, offset):
        return MemoryPointer(self.mem, self.offset + int(offset))


class MemoryPool:
    def __init__(self):
        self.free = collections.defaultdict(list)
        self.used = collections.Counter()
        self.kept = collections.Counter()
        self.freed_all = 0

    def malloc(self, size):
        size = (size + 511) // 512 * 512
        device, stream = current_device(), current_stream()
        assert stream is null or stream.device == device, "memory of a stream on another device"
        free = self.free[device, stream, size]
        if free:
            block = free.pop()
        else:
            if self.kept[device] + size > LIMIT:
                raise OutOfMemoryError(f"Out of memory allocating {size} bytes")
            block = Block(size, device, stream)
            self.kept[device] += size
        self.used[device] += size
        return MemoryPointer(Memory(self, block), 0)

    def free_all_blocks(self, stream=None):
        self.freed_all += 1
        for blocks in self.free.values():
            for block in blocks:
                del Block.regions[block.ptr]
                self.kept[block.device] -= block.size
            blocks.clear()

    def free_bytes(self):
        return self.kept[current_device()] - self.used[current_device()]


pool = MemoryPool()


def allocator():
    allocators = getattr(local, "allocators", ())
    return allocators[-1] if allocators else pool.malloc


@contextlib.contextmanager
def using_allocator(allocate=None):
    local.allocators = [*getattr(local, "allocators", ()), allocate]
    yield
    local.allocators = local.allocators[:-1]


def get_default_memory_pool():
    return pool


class Pinned:
    regions = {}

    def __init__(self, size):
        self.memory = numpy.full(size, 0xFF, numpy.uint8)
        self.ptr = self.memory.ctypes.data
        self.regions[self.ptr] = size


def check_place(address, size, on_device):
    device = device_of(address, size)
    if on_device:
        assert device is not None, "no memory of a device"
    else:
        assert device is None, "memory of a device, not of the host"
        inside = [start <= address and address + size <= start + room for start, room in Pinned.regions.items()]
        assert True in inside, "not pinned"


HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT = 1, 2, 3, 4


def memcpy_async(target, source, size, kind, stream):
    if kind != DEFAULT:
        check_place(target, size, kind != DEVICE_TO_HOST)
        check_place(source, size, kind != HOST_TO_DEVICE)
    launches["memcpy"] += 1
    Stream.by_pointer[stream].tell(lambda: ctypes.memmove(target, source, size))


# ---- arrays ----------------------------------------------------------------------------------------------------------

class ndarray:
    def __init__(self, shape, dtype=float, memptr=None, strides=None, order="C"):
        self.shape, self.dtype = tuple(shape), numpy.dtype(dtype)
        plain = numpy.empty(self.shape, numpy.int8).strides
        self.strides = tuple(s * self.dtype.itemsize for s in plain) if strides is None else tuple(strides)
        self.size = int(numpy.prod(self.shape))
        self.ndim = len(self.shape)
        self.data = allocator()(max(self.size * self.dtype.itemsize, 1)) if memptr is None else memptr
        low = builtins.sum(min(0, (n - 1) * s) for n, s in zip(self.shape, self.strides))
        high = builtins.sum(max(0, (n - 1) * s) for n, s in zip(self.shape, self.strides)) + self.dtype.itemsize
        if self.size:
            block = self.data.mem.block
            first, last = self.data.ptr + low, self.data.ptr + high
            assert block.ptr <= first and last <= block.ptr + block.size, "outside of its memory"

    def host(self):
        """As NumPy sees it. For what runs in a stream."""
        if not self.size:
            return numpy.empty(self.shape, self.dtype)
        array = numpy.ndarray(1, self.dtype, (ctypes.c_ubyte * self.dtype.itemsize).from_address(self.data.ptr))
        return numpy.lib.stride_tricks.as_strided(array, self.shape, self.strides)

    @property
    def flags(self):
        return types.SimpleNamespace(c_contiguous=self.strides == numpy.empty(self.shape, self.dtype).strides)

    def __getitem__(self, key):
        key = key if isinstance(key, tuple) else (key,)
        fake = numpy.lib.stride_tricks.as_strided(numpy.empty(1, self.dtype), self.shape, self.strides)
        view = fake[key]
        offset = view.__array_interface__["data"][0] - fake.__array_interface__["data"][0] if view.size else 0
        return ndarray(view.shape, self.dtype, self.data + offset, view.strides)

    def conj(self):
        return call("conjugate", numpy.conjugate, (self,), {})


def device_arrays(values):
    return [x for x in values if isinstance(x, ndarray)]


def launch(name, arrays, function):
    """function() in the current stream, which uses these arrays."""
    for x in arrays:
        assert x.data.device_id == current_device() == current_stream().device, "an array on another device"
    launches[name] += 1
    current_stream().tell(lambda: (function(), arrays))


def value(x):
    return x.host() if isinstance(x, ndarray) else x


def call(name, function, args, keywords):
    out = keywords.pop("out", None)
    if out is None:
        fakes = [numpy.zeros(x.shape, x.dtype) if isinstance(x, ndarray) else x for x in args]
        made = function(*fakes, **keywords)
        out = ndarray(made.shape, made.dtype)

    def run():
        out.host()[...] = function(*map(value, args), **keywords)

    launch(name, [*device_arrays(args), out], run)
    return out


class CUBLASError(RuntimeError):
    pass


WORKSPACE = 1 << 20     # that cuBLAS takes for itself, with the first product of a thread on a device
handles = set()


def use_cublas():
    if current_stream().is_capturing():
        raise NotImplementedError("calling cuBLAS API during stream capture is currently unsupported")
    handle = current_device(), threading.get_ident()
    if handle not in handles and pool.kept[handle[0]] + WORKSPACE > LIMIT:
        raise CUBLASError("CUBLAS_STATUS_ALLOC_FAILED")
    handles.add(handle)


def wrapped(name, function):
    def wrapper(*args, **keywords):
        if name in ("dot", "matmul"):
            use_cublas()
        return call(name, function, args, keywords)
    return wrapper


def dot_as_cupys(a, b):
    """CuPy's dot() multiplies for one number, and adds up what it has rounded."""
    return numpy.dot(a, b) if a.ndim < 2 or a.shape[0] * b.shape[-1] > 1 else (a * b.T).sum().reshape(1, 1)


def refuses_out(name):
    """CuPy's amin() of a contiguous array confuses its arguments."""
    function = globals()[name]

    def wrapper(*args, out=None, **keywords):
        assert out is None, f"{name}() with out="
        return function(*args, **keywords)
    globals()[name] = wrapper


for _name in ("sum prod amax amin all any matmul dot cumsum cumprod argmax argmin sort argsort add multiply maximum "
              "minimum logical_and logical_or take").split():
    globals()[_name] = wrapped(_name, getattr(numpy, _name))


def asarray(x):
    made = ndarray(x.shape, x.dtype)

    def run():
        made.host()[...] = x
    launch("asarray", [made], run)
    return made


def copyto(target, source, casting="same_kind"):
    def run():
        numpy.copyto(target.host(), value(source), casting=casting)
    launch("copyto", device_arrays((target, source)), run)


dot = wrapped("dot", dot_as_cupys)
refuses_out("amin")


def _plus(a, b):
    return call("add", numpy.add, (a, b), {})


ndarray.__add__ = _plus
ndarray.__floordiv__ = lambda a, b: call("floor_divide", numpy.floor_divide, (a, b), {})


def add_at(target, index, values):
    if target.dtype.kind == "c":
        raise TypeError("`scatter_add` only supports ...")
    launch("add.at", device_arrays((target, index, values)),
           lambda: numpy.add.at(target.host(), value(index), value(values)))


add.at = add_at         # noqa: F821 (one of the functions above)


# ---- kernels ---------------------------------------------------------------------------------------------------------

C_TYPES = {"bool": "?", "signed char": "b", "unsigned char": "B", "short": "h", "unsigned short": "H", "int": "i",
           "unsigned int": "I", "long long": "q", "unsigned long long": "Q", "float": "f", "double": "d",
           "complex<float>": "F", "complex<double>": "D", "float16": "e"}
TOKEN = re.compile(r"op_(\w+)<((?:complex<\w+>)|[\w ]+)>\(|([xv]\d+)|[,)]")


class Body:
    """The lines that dflow writes: assignments of calls of op_NAME<TYPE>(...)."""

    def __init__(self, text):
        self.lines = []
        for line in text.splitlines():
            match = re.fullmatch(r"(?:const (.+) (v\d+)|(y\d+)) = (.+);", line)
            assert match, f"what is {line!r}?"
            self.lines.append((match[2] or match[3], match[1], match[4]))

    def run(self, names):
        for target, kind, text in self.lines:
            made, rest = self.term(text, names)
            assert not rest, f"what is {rest!r}?"
            if kind:
                dtype = numpy.dtype(C_TYPES[kind])
                assert made.dtype == dtype, f"{text} is no {kind}"
                names[target] = made
            else:
                assert names[target].dtype == made.dtype, f"{target} is no {made.dtype}"
                names[target][...] = made

    def term(self, text, names):
        match = TOKEN.match(text)
        assert match, f"what is {text!r}?"
        rest = text[match.end():]
        if match[3]:
            return names[match[3]], rest
        name, dtype = match[1], numpy.dtype(C_TYPES[match[2]])
        args = []
        while not rest.startswith(")"):
            made, rest = self.term(rest.lstrip(", "), names)
            args.append(made)
        if name == "bits":
            made = numpy.ascontiguousarray(args[0]).view(dtype).reshape(numpy.shape(args[0]))
        elif name == "cast":
            made = numpy.asarray(args[0]).astype(dtype)
        elif name == "where":
            assert args[0].dtype == bool and args[1].dtype == args[2].dtype
            made = numpy.where(*args)
        else:
            function = getattr(numpy, name, None) or getattr(scipy.special, name)
            made = numpy.asarray(function(*args)).astype(dtype)
        return numpy.asarray(made), rest[1:]


class Compiled:
    """A kernel of other lines: a compiler for C++ makes a function of it. Arrays that are raw are addresses in it."""
    made = {}

    def __init__(self, ins, outs, operation, preamble):
        types = {numpy.dtype(c).name: name for name, c in C_TYPES.items()}
        params = [(types[p[-2]], p[-1], "raw" in p) for p in [*ins, *outs]]
        parameters = [f"{kind} *{'' if raw else 'at_'}{name}" for kind, name, raw in params]
        named = [f"{kind} {f'{name} = *at_{name}' if n < len(ins) else f'&{name} = at_{name}[i]'};"
                 for n, (kind, name, raw) in enumerate(params) if not raw]
        self.source = f"""
            #include <cmath>
            #include <complex>
            #include <cstring>
            #define __device__
            using namespace std;
            typedef _Float16 float16;
            {preamble}
            extern "C" void run(long long n, {", ".join(parameters)}) {{
                for (long long i = 0; i < n; i++) {{ {" ".join(named)}
                    {operation} }} }}"""
        self.raw = ["raw" in p for p in outs]

    def run(self, names, outs, size):
        function = self.made.get(self.source)
        if function is None:
            folder = tempfile.mkdtemp()
            with open(f"{folder}/kernel.cpp", "w") as file:
                file.write(self.source)
            subprocess.run(["c++", "-O1", "-shared", "-fPIC", "-ffp-contract=off", f"{folder}/kernel.cpp", "-o",
                            f"{folder}/kernel.so"], check=True)
            function = self.made[self.source] = ctypes.CDLL(f"{folder}/kernel.so").run
        results = [x if raw else numpy.empty(x.shape, x.dtype) for x, raw in zip(outs, self.raw)]
        assert builtins.all(x.flags.c_contiguous for x in results), "raw, and not in one piece"
        names = [numpy.ascontiguousarray(x) for x in names]
        function(ctypes.c_longlong(results[0].size if size is None else size),
                 *(ctypes.c_void_p(x.ctypes.data) for x in [*names, *results]))
        for x, made in zip(outs, results):
            if made is not x:
                x[...] = made


class ElementwiseKernel:
    def __init__(self, in_params, out_params, operation, name="kernel", preamble="", options=()):
        self.ins = [p.split() for p in in_params.split(", ") if p]
        self.outs = [p.split() for p in out_params.split(", ")]
        self.name = name
        self.compiled = Compiled(self.ins, self.outs, operation, preamble) if "raw" in in_params + out_params or (
            "struct Stream" in preamble) else None
        self.body = None if self.compiled else Body(operation)

    def __call__(self, *args, size=None):
        if self.compiled is not None:
            for p, x in zip([*self.ins, *self.outs], args, strict=True):
                assert numpy.dtype(p[-2]) == x.dtype, f"{p[-1]} is {x.dtype}"
            shaped = [x for p, x in zip([*self.ins, *self.outs], args) if isinstance(x, ndarray) and "raw" not in p]
            assert (size is None) == bool(shaped), "either a size or an array that is not raw"
            launches["compiled"] += 1
            return launch(self.name, device_arrays(args),
                          lambda: self.compiled.run([value(x) for x in args[:len(self.ins)]],
                                                    [x.host() for x in args[len(self.ins):]], size))
        assert size is None
        assert len(args) == len(self.ins) + len(self.outs)
        named = list(zip([*self.ins, *self.outs], args))
        for (kind, name), x in named:
            assert numpy.dtype(kind) == x.dtype, f"{name} is {x.dtype}, not {kind}"
        shape = args[-1].shape
        for _, x in named:
            assert not isinstance(x, ndarray) or x.shape == shape, "of another shape"
        assert builtins.all(isinstance(x, ndarray) for _, x in named[len(self.ins):])

        def run():
            with numpy.errstate(all="ignore"):
                names = {name: value(x) for (_, name), x in named}
                # Each element is read before any is written, as by its own thread: so inputs are copied.
                names.update({name: numpy.array(names[name]) for _, name in self.ins})
                self.body.run(names)
        launch(self.name, device_arrays(args), run)


# ---- modules ---------------------------------------------------------------------------------------------------------

__version__ = "14.2.0"
__path__ = []
cuda = types.ModuleType("cupy.cuda")
cuda.Device, cuda.Stream, cuda.Event, cuda.MemoryPool = Device, Stream, Event, MemoryPool
cuda.alloc_pinned_memory, cuda.using_allocator, cuda.Graph = Pinned, using_allocator, Graph
cuda.runtime = types.SimpleNamespace(
    CUDARuntimeError=CUDARuntimeError, getDeviceCount=lambda: DEVICES, memcpyAsync=memcpy_async,
    memcpyHostToDevice=HOST_TO_DEVICE, memcpyDeviceToHost=DEVICE_TO_HOST, memcpyDefault=DEFAULT,
    memGetInfo=lambda: (LIMIT - pool.kept[current_device()], LIMIT))
cuda.memory = types.ModuleType("cupy.cuda.memory")
cuda.memory.OutOfMemoryError = OutOfMemoryError
sys.modules["cupy.cuda"], sys.modules["cupy.cuda.memory"] = cuda, cuda.memory
