"""Streams of draws: what makes the kernels of _kernels/c/distributions.c, and counts the draws."""

import numpy as np

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset
from dflow._runtime.errors cimport here
from dflow._kernels.kernel cimport ELEMENTWISE, intp, Kernel, loop_t
from dflow._array.core cimport ndarray, new_array, fill_operand, check_writable, shape_tuple, wait_write
from dflow._base cimport thread_state
from dflow._kernels.dtypes cimport DOUBLE, itemsizes, read_scalar
from dflow._kernels.registry cimport kernel_new, name_kernel
from dflow._array.dispatch cimport Operand, launch, fill_constant, fill_index
from dflow._base.hooks cimport check_hooks
from dflow._base.thread_state cimport DrawHooks, cannot_replay, captures, capturing, draw_hooks
from dflow._array.shape cimport parse_shape, check_dimensions

cdef extern from "_kernels/c/distributions.h" nogil:
    ctypedef struct Range:
        uint64_t low
        uint64_t range
        uint64_t threshold
    ctypedef union Parameters:
        double p[5]
        Range i
    ctypedef struct Stream:
        uint32_t key[2]
        uint64_t draw
    ctypedef struct Draw:
        Stream stream
        Parameters u
    ctypedef struct Distribution:
        const char* name
        int itemsize
        float cost
    const Distribution distributions[1]
    int random_tables(int, int, const void**, const double**, double*)
    void random_loop(char**, intp*, intp*, void*)
    void random_setup()
    int random_sets()
    void random_use(int)
    void philox4x32(const uint32_t*, const uint32_t*, uint32_t*)

cdef enum:
    MAX_DISTRIBUTIONS = 64

cdef Kernel* kernels[MAX_DISTRIBUTIONS]
cdef bint ready = False             # the tables are made

cdef inline void prepare() noexcept:
    """Before the first draw: making tables takes a quarter of a millisecond that imports need not wait for."""
    global ready
    if not ready:
        random_setup()
        ready = True

def ziggurat(bint normal, int bits):
    """Of normals or exponentials, from so many bits: the layers as they lie in memory, in words of 64 bits, the
    densities, and where the tail begins; as NumPy's arrays."""
    cdef const void* layers
    cdef const double* densities
    cdef double r
    cdef int n
    prepare()
    n = random_tables(normal, bits, &layers, &densities, &r)
    return (np.frombuffer((<const char*>layers)[:n * 2 * bits // 8], "u8"),
            np.frombuffer((<const char*>densities)[:(n + 1) * sizeof(double)]), r)

def _make_kernels():
    """Numbers of the kernels by name and item size."""
    cdef const Distribution* d = distributions
    cdef int i = 0
    numbers = {}
    while d.name != NULL:
        kernels[i] = kernel_new(d.name, 2, 3, <loop_t>random_loop, <void*>d, ELEMENTWISE, d.cost)
        numbers[d.name.decode(), d.itemsize] = i
        name_kernel(("draw", d.name.decode(), d.itemsize, ziggurat), <size_t>kernels[i])
        d += 1
        i += 1
    return numbers

KERNELS = _make_kernels()
cdef int bounded[9]                 # by item size: integers of a range below 2^32

def _fill_bounded():
    cdef int size
    for size in (1, 2, 4, 8):
        bounded[size] = KERNELS[f"integers{8 * size}", size]

_fill_bounded()
cdef int bounded_wide = KERNELS["integers", 8]

cdef class Counter:
    """A key, and how many draws it has given. The n-th draw is the same whoever computes it, and wherever it is cut.

    key: two integers of 32 bits; start: the number of the first draw, modulo 2^64.
    """

    cdef uint32_t key[2]
    cdef uint64_t next

    def __init__(self, uint32_t key0, uint32_t key1, uint64_t start):
        self.key[0] = key0
        self.key[1] = key1
        self.next = start

    def state(self):
        """What makes an equal one."""
        return self.key[0], self.key[1], self.next

    def __reduce__(self):
        return Counter, self.state()

    def count(self):
        """The number of the next draw, one that NumPy's generators make, in one step: threads may share it."""
        self.next += 1
        return self.next - 1

    def draw(self, int kernel, int code, object size, double p0=0, double p1=1, double p2=0, out=None):
        """A draw: a pending array of shape `size` and type `code`, or `out`, filled; a number when both are None."""
        cdef Draw d
        d.u.p[0] = p0
        d.u.p[1] = p1
        d.u.p[2] = p2
        return self.give(&d, kernel, code, size, out)

    def plain(self, int kernel, int code, int count, object valid, tuple args, object size):
        """The draw for so many parameters, maybe followed by the size, if they are plain numbers; or NotImplemented."""
        cdef Draw d
        cdef Py_ssize_t i, n = len(args)
        if n == count + 1 and size is None:
            size = args[count]
            args = args[:count]
        elif n != count:
            return NotImplemented
        for i in range(count):
            x = args[i]
            if type(x) is not float and type(x) is not int:
                return NotImplemented
        if not valid(*args):
            return NotImplemented
        for i in range(count):
            d.u.p[i] = args[i]
        if count < 2:
            d.u.p[1] = 1
        return self.give(&d, kernel, code, size, None)

    def integers(self, object low, object high, int code, object size):
        """Integers in [low, high], which are within the type, and high is not below low."""
        cdef Draw d
        cdef object span = high - low
        cdef int kernel
        low = low & 0xFFFF_FFFF_FFFF_FFFF
        d.u.i.low = low
        d.u.i.range = <uint64_t>span + 1                # 0: all 64 bits
        kernel = bounded[itemsizes[code]]
        if span < 0xFFFF_FFFF:
            d.u.i.threshold = (<uint64_t>1 << 32) % d.u.i.range
        elif itemsizes[code] < 8:
            d.u.i.range = d.u.i.threshold = 0           # all 32 bits
        else:
            kernel = bounded_wide
            d.u.i.threshold = -d.u.i.range % d.u.i.range if d.u.i.range else 0
        return self.give(&d, kernel, code, size, None)

    cdef object give(self, Draw* d, int kernel, int code, object size, object out):
        cdef intp shape[64]
        cdef int ndim
        cdef ndarray a
        prepare()
        d.stream.key[0] = self.key[0]
        d.stream.key[1] = self.key[1]
        d.stream.draw = self.next
        if size is None and out is None:
            if captures:
                cannot_replay(b"a random number is drawn as a Python number", here())
            self.next += 1
            return one(d, kernel, code)
        if out is not None:
            a = <ndarray?>out
            check_out(a, code, size)
        else:
            ndim = parse_shape(size, shape)
            check_dimensions(ndim, shape)
            a = new_array(code, ndim, shape, True)
        self.next += 1
        if capturing():
            thread_state.source = <void*>self
        fill(d, kernel, a)
        return a

cdef int check_out(ndarray a, int code, object size) except -1:
    cdef intp shape[64]
    check_writable(a)
    if a.code != code:
        raise TypeError("Supplied output array has the wrong type. Expected "
                        f"{'float64' if code == DOUBLE else 'float32'}, got {a.dtype}")
    if size is not None:
        if parse_shape(size, shape) != a.ndim or tuple([shape[i] for i in range(a.ndim)]) != shape_tuple(a):
            raise ValueError("size must match out.shape when used together")
    return 0

cdef object one(Draw* d, int kernel, int code):
    cdef char* args[3]
    cdef intp n = 1
    cdef intp steps[3]
    cdef double value
    args[0] = NULL
    args[1] = <char*>d
    args[2] = <char*>&value
    steps[0] = 1
    steps[1] = steps[2] = 0
    random_loop(args, &n, steps, kernels[kernel].data)
    return read_scalar(code, <char*>&value)

cdef int fill(Draw* d, int kernel, ndarray a) except -1:
    cdef Operand ops[3]
    cdef intp shape[64]
    cdef int i
    for i in range(a.ndim):
        shape[i] = a.shape[i]
    fill_index(&ops[0], a.ndim, shape)
    fill_constant(&ops[1], <char*>d, sizeof(Draw))
    fill_operand(&ops[2], a, a.ndim, shape, True)
    return launch(kernels[kernel], ops, 3, a.ndim, shape, NULL)

cdef void redraw(void* counter, char* draw) noexcept:
    (<Draw*>draw).stream.draw = (<Counter>counter).next
    (<Counter>counter).next += 1

draw_hooks.redraw = redraw

def check():
    check_hooks("_base.thread_state", &draw_hooks, sizeof(DrawHooks), "redraw")

check()

# ---- for tests

def philox(counter, key):
    """Philox4x32-10: four words for a counter of four and a key of two."""
    cdef uint32_t c[4]
    cdef uint32_t k[2]
    cdef uint32_t x[4]
    for i in range(4):
        c[<int>i] = counter[i]
    for i in range(2):
        k[<int>i] = key[i]
    philox4x32(c, k, x)
    return [x[0], x[1], x[2], x[3]]

def instruction_sets():
    """How many sets of instructions there are code for and this machine has."""
    return random_sets()

def use(int i):
    """Compute with one of them, and not with the last."""
    prepare()
    random_use(i)

def piece(Counter counter, int kernel, int code, params, intp start, ndarray a):
    """Elements start.. of the next draw, into a flat array that is there; the draw is not counted."""
    cdef Draw d
    cdef char* args[3]
    cdef intp steps[3]
    memset(&d, 0, sizeof(d))
    for i in range(len(params)):
        d.u.p[<int>i] = params[i]
    d.stream.key[0] = counter.key[0]
    d.stream.key[1] = counter.key[1]
    d.stream.draw = counter.next
    prepare()
    wait_write(a)
    args[0] = <char*>start
    args[1] = <char*>&d
    args[2] = a.st.data + a.offset
    steps[0] = 1
    steps[1] = 0
    steps[2] = (a.shape + a.ndim)[0]
    random_loop(args, a.shape, steps, kernels[kernel].data)
