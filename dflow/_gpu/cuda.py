"""GPUs by way of CUDA, and that by way of CuPy, which no other file knows: devices, their memory, what moves it.

A GPU has three streams: one computes, one brings memory up to it and one down. Nobody but who needs the values on the
host waits for the device: a twin knows the events after which it may be read or written, and other streams wait for
these.
"""

import copy
import ctypes
import os
import threading

import numpy

from dflow._gpu import codegen

CHUNK = 4 << 20         # bytes that are moved at once: while some cross the bus, the host copies the next

LOST: list = []         # what a child of fork() cannot end


def load():
    """CuPy. ImportError that says how to get it."""
    try:
        import cupy  # type: ignore[import-not-found,unused-ignore]
        import cupy.cuda.memory  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise ImportError('it takes CuPy (pip install "dflow[cuda]")') from error
    return cupy


def count():
    """How many GPUs there are."""
    return 0 if missing() else load().cuda.runtime.getDeviceCount()


def missing():
    """Why there is no GPU, or None."""
    try:
        cupy = load()
        return None if cupy.cuda.runtime.getDeviceCount() else "CUDA finds no device"
    except ImportError as error:
        return str(error)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CUDA finds no device: {error}"


class Gpu:
    """A device: its streams, memory and locks."""

    def __init__(self, index):
        self.cupy = cupy = load()
        self.index = index
        self.process = os.getpid()
        self.device = cupy.cuda.Device(index)
        self.upward, self.downward = threading.Lock(), threading.Lock()     # who holds one moves memory that way
        with self.device:
            self.compute, self.up, self.down = (cupy.cuda.Stream(non_blocking=True) for _ in range(3))
            self.pool = cupy.get_default_memory_pool()       # as of what CuPy allocates itself
        self.pinned = {}                            # stream: buffers, each with an event: what it is used for is done
        self.kernels, self.tables = {}, {}
        self.capturing = False                      # one whose compute stream keeps what it is told, and does not do it

    def view(self, twin, offset, axes, dtype):
        """An array over the memory of a twin; axes: length and stride of each."""
        return self.cupy.ndarray([n for n, _ in axes], dtype, twin.memory + offset, [stride for _, stride in axes])

    def elementwise(self, inputs, outputs, body, codes):
        """A kernel of CuPy's with the functions of _gpu/elementwise.cuh, and the type codes of its outputs."""
        made = self.cupy.ElementwiseKernel(inputs, outputs, body, "dflow_group", preamble=codegen.functions(),
                                           options=("--fmad=false",))       # a product is rounded before it is added to
        return made, codes

    def draw(self, recipe, words, out):
        """Fill an array with random numbers; words: the beginning of a Draw (_kernels/c/distributions.h)."""
        function, dtype, which, tables_of = recipe.signature
        kernel = self.kernels.get(recipe)
        if kernel is None:
            params, body = codegen.draw_code(function, dtype, which)
            kernel = self.kernels[recipe] = self.cupy.ElementwiseKernel(
                params, f"{dtype} y", body, "dflow_draw", preamble=codegen.functions("_gpu/random.cuh"),
                options=("--fmad=false",))
        if which is not None and which not in self.tables:          # of the ziggurat
            *arrays, r = tables_of(*which)
            self.tables[which] = (*map(self.cupy.asarray, arrays), numpy.float64(r))
        whole = function.startswith("bounded")
        parts = [("keys", "u4", 2), ("draw", "u8"), ("numbers", "u8" if whole else "f8", 3)]
        numbers = numpy.frombuffer(words, parts)[0]
        kernel(*numbers["keys"], numbers["draw"], *numbers["numbers"], *self.tables.get(which, ()), out)

    def ours(self, getpid=os.getpid):               # twins end after the module's names
        """A child of fork() cannot use CUDA."""
        return self.process == getpid()

    def check(self):
        """RuntimeError in a child of fork()."""
        if not self.ours():
            raise RuntimeError(f"what is on gpu({self.index}) stays with the process that brought it there: this one "
                               "was forked")

    def capture(self, tell):
        """What tell(gpu) tells a device, kept as a whole: a CUDA graph, and the memory that it takes besides."""
        cupy = self.cupy
        keeper = copy.copy(self)
        pool = cupy.cuda.MemoryPool()               # others must not get what the graph will write to
        with self.device:
            keeper.compute, keeper.capturing = cupy.cuda.Stream(non_blocking=True), True
            keeper.cupy = Captive(self)
            with keeper.compute, cupy.cuda.using_allocator(pool.malloc):
                keeper.compute.begin_capture()
                try:
                    tell(keeper)
                finally:
                    graph = keeper.compute.end_capture()
        return graph, pool

    def new_event(self):
        return self.cupy.cuda.Event(block=True, disable_timing=True)        # who waits for it leaves his core to others

    def event(self, stream):
        """An event of what is now in a stream."""
        event = self.new_event()
        event.record(stream)
        return event

    def allocate(self, nbytes, stream, let_go):
        """Memory that a stream may use at once. let_go ends what may be garbage, before the second try."""
        with self.device, stream:
            return self.with_room(lambda: self.pool.malloc(max(nbytes, 1)), let_go, f"{nbytes} bytes")

    def with_room(self, take, let_go, what="temporary memory"):
        """take(), and once more with all that can be freed, if the device has no memory left. MemoryError."""
        try:
            return take()
        except (MemoryError, RuntimeError) as error:
            if not is_full(error):
                raise
        let_go()
        self.device.synchronize()
        self.pool.free_all_blocks()
        try:
            return take()
        except (MemoryError, RuntimeError) as error:
            if not is_full(error):
                raise
            raise MemoryError(f"Unable to allocate {what} on gpu({self.index})") from None

    def twin(self, nbytes, from_host, let_go):
        """Memory for a storage, about to be written by the host, or computed."""
        self.check()
        return Twin(self, nbytes, self.up if from_host else self.compute, let_go)

    def buffers(self, stream):
        """Two pinned buffers of a stream. Needs the lock."""
        if stream not in self.pinned:
            self.pinned[stream] = [(self.cupy.cuda.alloc_pinned_memory(CHUNK), self.new_event()) for _ in range(2)]
        return self.pinned[stream]

    def synchronize(self):
        """Until the device has done all that it was told. Raises its errors."""
        self.check()
        with self.device:
            for stream in (self.up, self.compute, self.down):
                stream.synchronize()

    def memory(self):
        """Bytes of the device: those that are free, also in the pool, and all."""
        self.check()
        with self.device:
            free, total = self.cupy.cuda.runtime.memGetInfo()
            return free + self.pool.free_bytes(), total


def is_full(error):
    """Whether there was no memory: for an array, or for what cuBLAS and the driver take themselves."""
    return isinstance(error, MemoryError) or any(text in str(error) for text in (
        "CUBLAS_STATUS_ALLOC_FAILED", "CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation"))


def wait(event):
    """Until it has come. CuPy gives the GIL away in each call but this first one, and a thread that computes in Python
    gives it back after 5 ms."""
    if not event.done:
        event.synchronize()


class Captive:
    """CuPy while a stream captures: it keeps cuBLAS out of graphs, so small products have a kernel of ours."""

    LARGEST = 1 << 22       # multiplications from which a product is left to cuBLAS, and there is no graph

    def __init__(self, gpu):
        self.gpu = gpu

    def __getattr__(self, name):
        return getattr(self.gpu.cupy, name)

    def dot(self, a, b, out):
        (rows, depth), columns = a.shape, b.shape[1]
        if rows * depth * columns > self.LARGEST or out.dtype.kind == "c":
            raise NotImplementedError("a product by cuBLAS")
        kind = out.dtype.name
        kernel = self.gpu.kernels.get(("product", kind))
        if kernel is None:
            kernel = self.gpu.kernels["product", kind] = self.gpu.cupy.ElementwiseKernel(
                f"raw {kind} a, raw {kind} b, int64 depth, int64 columns", f"{kind} y",
                codegen.PRODUCT.replace("TYPE", codegen.TYPE_OF[kind]), "dflow_product",
                preamble=codegen.functions())
        kernel(a, b, numpy.int64(depth), numpy.int64(columns), out)


class Twin:
    """The memory of a storage on a GPU."""

    __slots__ = ("event", "gpu", "home", "memory", "nbytes", "stream", "writer", "written")

    def __init__(self, gpu, nbytes, home, let_go):
        self.gpu = gpu
        self.nbytes = nbytes
        self.home = self.stream = self.writer = home        # `home` gets the memory back; `stream` has used it last,
        self.event = self.written = None                    # until this; `writer` has written to it, until that
        self.memory = gpu.allocate(nbytes, home, let_go)

    def __del__(self):
        if not self.gpu.ours():
            LOST.append((self.event, self.written, getattr(self, "memory", None)))
        elif self.stream is not self.home:
            self.home.wait_event(self.event)        # who gets the memory next may write to it

    def ready(self, stream, write):
        """What a stream is told from now on, to read or write, comes after what it must not overtake."""
        if write and self.stream is not stream:
            stream.wait_event(self.event or self.gpu.event(self.stream))    # or else: who had the memory before
        elif not write and self.writer is not stream and self.written is not None:
            stream.wait_event(self.written)

    def used(self, stream, event, write):
        """What has been told to a stream until an event uses this."""
        self.stream, self.event = stream, event
        if write:
            self.writer, self.written = stream, event

    def wait(self):
        """Until it has been written."""
        self.gpu.check()
        if self.written is not None:
            with self.gpu.device:
                self.written.synchronize()

    def done(self):
        return self.written is None or self.written.done

    def upload(self, address):
        """Bring the host's memory at an address here. It may change when this returns. Needs gpu.upward."""
        gpu, runtime, stream = self.gpu, self.gpu.cupy.cuda.runtime, self.gpu.up
        gpu.check()
        with gpu.device:
            self.ready(stream, True)
            buffers = gpu.buffers(stream)
            for start in range(0, self.nbytes, CHUNK):
                size = min(CHUNK, self.nbytes - start)
                buffer, copied = buffers[start // CHUNK % 2]
                wait(copied)
                ctypes.memmove(buffer.ptr, address + start, size)
                runtime.memcpyAsync(self.memory.ptr + start, buffer.ptr, size, runtime.memcpyHostToDevice, stream.ptr)
                copied.record(stream)
            self.used(stream, gpu.event(stream), True)

    def receive(self, source):
        """Bring what is in the twin of another device here. Waits for it. Needs gpu.upward."""
        gpu, stream = self.gpu, self.gpu.up
        gpu.check()
        with gpu.device:
            self.ready(stream, True)
            source.ready(stream, False)
            runtime = gpu.cupy.cuda.runtime
            runtime.memcpyAsync(self.memory.ptr, source.memory.ptr, self.nbytes, runtime.memcpyDefault, stream.ptr)
            event = gpu.event(stream)
            self.used(stream, event, True)
            event.synchronize()                     # then nobody need know that the other one was read

    def download(self, address):
        """Bring this to the host's memory at an address. Needs gpu.downward."""
        gpu, runtime, stream = self.gpu, self.gpu.cupy.cuda.runtime, self.gpu.down
        gpu.check()
        with gpu.device:
            self.ready(stream, False)
            buffers = gpu.buffers(stream)
            starts = range(0, self.nbytes, CHUNK)
            for start in [*starts, None]:           # the copy of one chunk to the host, while the next crosses the bus
                if start is not None:
                    buffer, copied = buffers[start // CHUNK % 2]
                    runtime.memcpyAsync(buffer.ptr, self.memory.ptr + start, min(CHUNK, self.nbytes - start),
                                        runtime.memcpyDeviceToHost, stream.ptr)
                    copied.record(stream)
                before = starts[-1] if start is None and starts else start - CHUNK if start else None
                if before is not None:
                    buffer, copied = buffers[before // CHUNK % 2]
                    wait(copied)
                    ctypes.memmove(address + before, buffer.ptr, min(CHUNK, self.nbytes - before))
            # All of it has been awaited: who writes to this memory next waits for no event.
