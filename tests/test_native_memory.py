"""What native loops read and write: their operands, and no byte beyond, at every length of a last vector."""

import ctypes
import mmap

import numpy
import pytest
from compare import same_bits

from dflow import engine
from dflow._kernels import native

pytestmark = [pytest.mark.core, pytest.mark.skipif(not engine.native(), reason="this processor has no AVX2")]

STEPS = native.step_numbers()
PAIRED = 32
NARROW = {0x52: "f2", 0x04: "f4", 0x11: "i1", 0x12: "i2", 0x14: "i4", 0x21: "u1", 0x22: "u2", 0x24: "u4", 0x34: "i4"}
CONJUGATE = 15                                          # of literals


class Guarded:
    """A page between two that nobody may touch, and arrays that begin or end where it does."""

    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

    def __init__(self):
        size = mmap.PAGESIZE
        self.start = self.libc.mmap(None, 3 * size, mmap.PROT_READ | mmap.PROT_WRITE,
                                    mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        for page in (0, 2):
            assert self.libc.mprotect(self.start + page * size, size, 0) == 0

    def end(self):
        self.libc.munmap(self.start, 3 * mmap.PAGESIZE)

    def array(self, n, dtype, at_end):
        dtype = numpy.dtype(dtype)
        offset = 0 if not at_end else mmap.PAGESIZE - n * dtype.itemsize
        page = (ctypes.c_char * mmap.PAGESIZE).from_address(self.start + mmap.PAGESIZE)
        page[:] = b"\xa5" * mmap.PAGESIZE
        return numpy.frombuffer(page, dtype, n, offset)


@pytest.fixture
def pages():
    held = [Guarded() for _ in range(3)]
    yield held
    for guarded in held:
        guarded.end()


def step(name, to=0, a=0, b=0):
    return STEPS[name], to, a, b


def cases(name, size):
    """(what, steps, itemsize, types of operands, which hold one element, what the last of them becomes)."""
    f, i, u = f"f{size}", f"i{size}", f"u{size}"
    load, store = step("load", 0, 0), step("store", 0, 1)
    yield "copy", [load, store], size, [f, f], (), lambda x: x
    yield "spread", [step("spread", 0, 0), store], size, [f, f], (0,), lambda x: x
    yield "one", [step("load_one", 0, 0), store], size, [f, f], (0,), lambda x: x
    yield "room", [load, step("put_off", 0, 1), step("take_back", 3, 1), step("store", 3, 1)], size, [f, f], (), (
        lambda x: x)
    yield "add", [load, step("load", 1, 1), step("add", 0, 0, 1), step("store", 0, 2)], size, [f, f, f], (), (
        lambda x, y: x + y)
    yield "mask", [step("load_mask", 0, 0), step("store_mask", 0, 1)], size, ["u1", "u1"], (), lambda x: x != 0
    yield "compare", [load, step("load", 1, 1), step("lt", 0, 0, 1), step("store_mask", 0, 2)], size, (
        [f, f, "u1"]), (), lambda x, y: x < y
    for b, dtype in NARROW.items():
        if (b & 15) < size and (b != 0x52 or size == 4 and name != "NEON"):
            to = f if dtype[0] == "f" or b == 0x34 else i if dtype[0] == "i" else u
            yield f"load {dtype}", [step("load_narrow", 0, 0, b), store], size, [dtype, to], (), lambda x: x
    for n in (1, 2, 4):
        if n < size:
            yield f"store i{n}", [load, step("store_narrow", 0, 1, n)], size, [i, f"i{n}"], (), lambda x: x
    if size == 8:
        halves = {"halve_floats": (f, "f4")} | ({"halve_to_ints": (f, "i4")} if name != "NEON" else {})
        if name != "AVX2":
            halves |= {"halve_to_floats": (i, "f4"), "halve_unsigned_to_floats": (u, "f4")}
        for op, (source, target) in halves.items():
            yield op, [load, step(op, 0, 0), step("store_narrow", 0, 1, 20)], 8, [source, target], (), lambda x: x
        for n in (1, 2) if name != "NEON" else ():
            yield f"i4 to i{n}", [load, step("halve_to_ints", 0, 0), step("store_narrow", 0, 1, 16 + n)], 8, (
                [f, f"i{n}"]), (), lambda x: x.astype("i4")
    if size == 4 and name != "NEON":
        yield "store f2", [load, step("store_narrow", 0, 1, 0x22)], 4, ["f4", "f2"], (), lambda x: x
        yield "a half", [step("spread", 0, 0, 0x52), store], 4, ["f2", "f4"], (0,), lambda x: x
        yield "one half", [step("load_one", 0, 0, 0x52), store], 4, ["f2", "f4"], (0,), lambda x: x
        yield "round", [load, step("round", 0, 0), store], 4, ["f4", "f4"], (), lambda x: x.astype("f2")
    c = f"c{2 * size}"
    yield "pairs of numbers", [step("load_narrow", 0, 0, 0x40 + size), store], size + PAIRED, [f, c], (), lambda x: x
    yield "products", [load, step("load", 1, 1), step("pair_mul", 0, 0, 1), step("store", 0, 2)], size + PAIRED, (
        [c, c, c]), (), lambda x, y: x * y
    yield "a number's products", [step("spread", 4, 0), step("load", 1, 1), step("pair_mul", 0, 4, 1),
                                  step("store", 0, 2)], size + PAIRED, [c, c, c], (0,), lambda x, y: x[0] * y
    yield "conjugates", [step("literal", 5, CONJUGATE), load, step("xor", 0, 0, 5), step("store", 0, 1)], (
        size + PAIRED), [c, c], (), numpy.conjugate


def fill(random, x):
    kind = x.dtype.kind
    if kind == "c":
        fill(random, x.view(f"f{x.itemsize // 2}"))
    elif kind == "f":
        x[:] = random.integers(-120, 120, x.size) + random.choice([0, 0.25, 0.5], x.size)
    else:
        limits = numpy.iinfo(x.dtype)
        shift = x.dtype.type(random.integers(0, limits.bits))
        x[:] = random.integers(limits.min, limits.max, x.size, x.dtype, endpoint=True) >> shift


def with_copies(steps, copies):
    """The same, so many vectors a turn: those that are the same for all elements come first."""
    fixed = list(dict.fromkeys(to for op, to, *_ in steps if op in (STEPS["spread"], STEPS["literal"])))
    vectors = {to for _, to, *_ in steps} | {v for op, _, a, b in steps if op >= STEPS["add"] for v in (a, b)}
    others = sorted(vectors - {*fixed})
    place = {v: i for i, v in enumerate(fixed + others)}
    moved = [(op, place[to], *((place[a], place[b]) if op >= STEPS["add"] else (a, b))) for op, to, a, b in steps]
    return [step("copies", copies, len(fixed), len(others)), *moved]


@pytest.mark.once
@pytest.mark.parametrize("name", ["AVX2", "AVX-512", "NEON"])
@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("at_end", [True, False])
def test_loops_stay_within_their_operands(name, size, at_end, pages):
    random = numpy.random.default_rng(size)
    if not native.run_assembled([step("load"), step("store", 0, 1)], size, name, [0, 0], 0):
        pytest.skip(f"this processor has no {name}")
    for what, steps, itemsize, types, ones, function in cases(name, size):
        lengths = range(1, 2 * 64 // size + 2)
        copied = [(int(n), 3, copies) for copies in (2, 3, 4) for n in random.integers(1, 5 * 64 // size + 1, 4)]
        for n, rows, copies in [(n, rows, 1) for n in lengths for rows in (1, 3)] + copied:
            arrays = [page.array(1 if i in ones else rows * n, dtype, at_end)
                      for i, (page, dtype) in enumerate(zip(pages, types))]
            *inputs, output = arrays
            for x in inputs:
                fill(random, x)
            with numpy.errstate(all="ignore"):
                given = numpy.empty(rows * n, output.dtype)
                given[...] = numpy.asarray(function(*inputs)).astype(given.dtype)
            apart = [0 if i in ones else n * x.itemsize for i, x in enumerate(arrays)]
            written = steps if copies == 1 else with_copies(steps, copies)
            assert native.run_assembled(written, itemsize, name, [x.ctypes.data for x in arrays], n, rows, apart)
            assert same_bits(output, given), (what, n, rows, copies)
            begin = output.ctypes.data - pages[len(arrays) - 1].start - mmap.PAGESIZE
            page = ctypes.string_at(pages[len(arrays) - 1].start + mmap.PAGESIZE, mmap.PAGESIZE)
            assert set(page[:begin] + page[begin + output.nbytes:]) == {0xa5}, (what, n)
