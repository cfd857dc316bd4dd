"""Native loops for AArch64: the words of each step, by a disassembler, and what they do, by an emulator."""

from fractions import Fraction

import numpy
import pytest

from dflow._kernels import native

pytestmark = pytest.mark.once

STEPS = native.step_numbers()
NAMES = {number: name for name, number in STEPS.items()}
PAIRED, HALVED = 32, 16
VECTORS = 22
REFUSED = {"exp", "round", "halve_to_ints"}
THREE = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "max": "fmax", "min": "fmin", "fmax": "fmaxnm",
         "fmin": "fminnm", "eq": "fcmeq", "ne": "fcmeq", "int_add": "add", "int_sub": "sub", "int_mul": "mul",
         "int_max": "smax", "int_min": "smin", "int_lt": "cmgt", "int_le": "cmge", "int_eq": "cmeq", "int_ne": "cmeq"}
TURNED = {"int_lt", "int_le"}
TWO = {"sqrt": "fsqrt", "rint": "frintn", "floor": "frintm", "ceil": "frintp", "trunc": "frintz", "to_floats": "scvtf",
       "to_ints": "fcvtzs", "unsigned_to_floats": "ucvtf"}
BITS = {"and": "and", "xor": "eor", "or": "orr"}
LOADED = {0x04: "f4", 0x11: "i1", 0x12: "i2", 0x14: "i4", 0x21: "u1", 0x22: "u2", 0x24: "u4", 0x34: "i4"}
OF_FOUR = [b for b in LOADED if b & 15 < 4]
ORDERED = ["add", "sub", "mul", "div", "sqrt", "rint", "floor", "ceil", "trunc", "max", "min", "fmax", "fmin"]
INTEGERS = ["int_add", "int_sub", "int_mul", "int_max", "int_min", "shl", "shr", "sar"]
COMPARED = ["lt", "le", "eq", "ne"]
SPECIAL = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, -numpy.nan, 1e-42, -1e-310, 1e308, 3e38, 1.0, -1.0, 2.0 ** 31,
           -2.0 ** 31, 2.0 ** 63, -2.0 ** 63, 0.5, 2.5, -1.5, 1e300]

# ---- words ---------------------------------------------------------------------------------------------------------


def real(v):
    return v if v < 8 else v + 8


def memory_words(name, to, b, size, single):
    """The instructions of a load or store, whose operand's address is in x9."""
    def at(bytes_, load, v=to):
        shift = f", lsl #{bytes_.bit_length() - 1}" if bytes_ > 1 else ""
        lanes = 16 // size
        letter = " bh s   d       q"[bytes_ if single else bytes_ * lanes]
        if single and load:
            lane = {1: "16b", 2: "8h", 4: "4s", 8: "2d"}[bytes_]
            return [f"add x7, x9, x4{shift}", f"ld1r {{v{v}.{lane}}}, [x7]"]
        return [f"add x7, x9, x4{shift}", f"{'ldr' if load else 'str'} {letter}{v}, [x7]"]

    def longer(sign, v, start):
        lanes = {1: ("8h", "8b"), 2: ("4s", "4h"), 4: ("2d", "2s")}
        found = []
        while start < size:
            found.append(f"{sign}shll v{v}.{lanes[start][0]}, v{v}.{lanes[start][1]}, #0")
            start *= 2
        return found

    def shorter(v, size, most):
        lanes = {2: ("8b", "8h"), 4: ("4h", "4s"), 8: ("2s", "2d")}
        found = []
        while size > most:
            found.append(f"xtn v30.{lanes[size][0]}, v{v}.{lanes[size][1]}")
            size, v = size // 2, 30
        return found, v

    whole = "4s" if size == 4 else "2d"
    if name in ("load", "store"):
        if single:
            return at(size, name == "load")
        return [f"{'ldr' if name == 'load' else 'str'} q{to}, [x9, x5]"]
    if name == "load_one":
        return [f"ld1r {{v{to}.{whole}}}, [x9]"]
    if name == "load_mask":
        return [*at(1, True), *longer("u", to, 1),
                f"cmtst v{to}.{whole}, v{to}.{whole}, v{to}.{whole}"]
    if name == "store_mask":
        lines, _ = shorter(30, size, 1)
        return [f"ushr v30.{whole}, v{to}.{whole}, #{'0x1f' if size == 4 else '0x3f'}", *lines, *at(1, False, 30)]
    if name == "store_narrow":
        lines, v = shorter(to, 4 if b & HALVED else size, b & 15)
        return [*lines, *at(b & 15, False, v)]
    first = at(b & 15, True)
    if b == 0x04:
        return [*first, f"fcvtl v{to}.2d, v{to}.2s"]
    return [*first, *longer("u" if b >> 4 == 2 else "s", to, b & 15), *[f"scvtf v{to}.2d, v{to}.2d"] * (b == 0x34)]


def register_words(name, to, a, b, size):
    """The instructions of a step between vectors."""
    whole = "4s" if size == 4 else "2d"
    v, bits = f"v{{}}.{whole}".format, "v{}.16b".format

    def three(op, x, y, z, form=v):
        return f"{op} {form(x)}, {form(y)}, {form(z)}"

    def turned(op, how, x, y, by):
        return f"{op} v{x}.{how}, v{y}.{how}, #{by:#x}" if by > 9 else f"{op} v{x}.{how}, v{y}.{how}, #{by}"

    if name == "int_mul" and size == 8:
        return [f"rev64 v30.4s, v{b}.4s", f"mul v30.4s, v30.4s, v{a}.4s", "uaddlp v30.2d, v30.4s",
                "shl v30.2d, v30.2d, #0x20", f"xtn v31.2s, v{a}.2d", f"xtn v{to}.2s, v{b}.2d",
                f"umlal v30.2d, v31.2s, v{to}.2s", f"mov {bits(to)}, {bits(30)}"]
    if name in ("int_max", "int_min") and size == 8:
        x, y = (a, b) if name == "int_max" else (b, a)
        return [three("cmgt", 30, a, b), three("bsl", 30, x, y, bits), f"mov {bits(to)}, {bits(30)}"]
    if name in THREE:
        x, y = (b, a) if name in TURNED else (a, b)
        return [three(THREE[name], to, x, y), *[f"mvn {bits(to)}, {bits(to)}"] * name.endswith("ne")]
    if name in TWO:
        return [f"{TWO[name]} {v(to)}, {v(a)}"]
    if name in BITS:
        if name == "or" and a == b:
            return [f"mov {bits(to)}, {bits(a)}"]
        return [three(BITS[name], to, a, b, bits)]
    if name == "but":
        return [three("bic", to, b, a, bits)]
    if name in ("lt", "le"):
        return [three("fcmeq", 30, a, a), three("fcmeq", 31, b, b), three("and", 30, 30, 31, bits),
                three("and", 31, a, 30, bits), three("and", to, b, 30, bits),
                three("fcmgt" if name == "lt" else "fcmge", to, to, 31), three("and", to, to, 30, bits)]
    if name in ("shl", "shr"):
        return [turned("ushr", whole, 30, b, 5 if size == 4 else 6), f"cmeq {v(30)}, {v(30)}, #0",
                *[f"neg {v(31)}, {v(b)}"] * (name == "shr"), three("ushl", 31, a, b if name == "shl" else 31),
                three("and", to, 31, 30, bits)]
    if name == "sar":
        return [turned("ushr", whole, 30, b, 5 if size == 4 else 6), three("cmtst", 30, 30, 30),
                three("orr", 30, 30, b, bits), f"bic v30.4s, #{'0xe0' if size == 4 else '0xc0'}",
                f"neg {v(30)}, {v(30)}", three("sshl", to, a, 30)]
    if name == "halve_floats":
        return [f"fcvtn v{to}.2s, v{a}.2d"]
    assert name in ("halve_to_floats", "halve_unsigned_to_floats")
    op = "scvtf" if name == "halve_to_floats" else "ucvtf"
    return [f"fmov x7, d{a}", f"mov x8, v{a}.d[1]", f"{op} s30, x7", f"{op} s31, x8", f"zip1 v{to}.2s, v30.2s, v31.2s"]


def disassembled(steps, itemsize):
    """The lines of a loop: what comes before, of whole vectors, of one element, and the rest."""
    import capstone  # which a sanitizer does not let load

    decoder = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
    code = native.assembled(steps, itemsize, "NEON")
    assert code and len(code) % 16 == 0
    found = [f"{i.mnemonic} {i.op_str}".strip() for i in decoder.disasm(code, 0)]
    starts = [i for i, line in enumerate(found) if line.startswith(("b.lt", "b.eq"))]
    ends = [i for i, line in enumerate(found) if line.startswith("add x4, x4, #")]
    return (found[:starts[0] + 1], *(found[start + 1:end] for start, end in zip(starts, ends)),
            found[ends[-1]:found.index("ret") + 1])


@pytest.mark.parametrize("size", [4, 8])
def test_the_words_of_each_step(size):
    random = numpy.random.default_rng(size)
    names = [*THREE, *TWO, *BITS, "but", "lt", "le", "shl", "shr", "sar", "load", "store", "load_mask", "store_mask",
             "load_narrow", "store_narrow", "load_one", "put_off", "take_back"]
    names += ["halve_floats", "halve_to_floats", "halve_unsigned_to_floats"] * (size == 8)
    assert {*STEPS} - {*names} == REFUSED | {"spread", "literal", "copies", "pair_mul"} | (
        {name for name in STEPS if name.startswith("halve")} if size == 4 else set())
    for name in names * 12:
        to, a, b = (int(random.integers(VECTORS)) for _ in range(3))
        if name == "load_narrow":
            b = int(random.choice([*LOADED] if size == 8 else OF_FOUR))
        elif name == "store_narrow":
            b = int(random.choice([1, 2, 4, 17, 18, 20] if size == 8 else [1, 2]))
        before, body, tail, after = disassembled([(STEPS[name], to, a, b)], size)
        in_memory = STEPS["load"] <= STEPS[name] <= STEPS["load_one"]
        frame = []
        if name in ("put_off", "take_back"):
            place = f"[sp, #{16 * a:#x}]" if a else "[sp]"
            expected = [f"{'str' if name == 'put_off' else 'ldr'} q{real(to)}, {place}"] * 2
            frame = [f"sub sp, sp, #{16 * (a + 1):#x}"] if name == "put_off" else []
        elif in_memory:
            expected = [memory_words(name, real(to), b, size, single) for single in (False, True)]
        else:
            expected = [register_words(name, real(to), real(a), real(b), size)] * 2
        if name in ("put_off", "take_back"):
            expected = [[line] for line in expected]
        assert [body, tail] == expected, name
        bases = [f"ldr x9, [x0{f', #{8 * a:#x}' if 8 * a > 9 else f', #{8 * a}' if a else ''}]"] * in_memory
        assert before[:-1] == ["bti c", *bases, *frame, "mov x4, #0", "mov x5, #0", f"subs x6, x1, #{16 // size}"], name
        assert after[-1] == "ret" and (after[-2] == frame[0].replace("sub", "add") if frame else True)


@pytest.mark.parametrize("size", [4, 8])
def test_the_words_of_complex_products(size):
    random = numpy.random.default_rng(size)
    whole = "4s" if size == 4 else "2d"
    for _ in range(30):
        to, a, b = (int(random.integers(VECTORS)) for _ in range(3))
        x, y, z = real(to), real(a), real(b)
        before, body, *tail, _ = disassembled([(STEPS["pair_mul"], to, a, b)], size + PAIRED)
        turned = [f"rev64 v31.4s, v{z}.4s"] if size == 4 else [f"ext v31.16b, v{z}.16b, v{z}.16b, #8"]
        sign = (["movi v31.2d, #0x000000ffffffff", "shl v31.4s, v31.4s, #0x1f"] if size == 4
                else ["movi d31, #0xffffffffffffffff", "shl v31.2d, v31.2d, #0x3f"])
        lines = [f"trn2 v30.{whole}, v{y}.{whole}, v{y}.{whole}", *turned,
                 f"fmul v30.{whole}, v30.{whole}, v31.{whole}", *sign,
                 "eor v30.16b, v30.16b, v31.16b", f"trn1 v31.{whole}, v{y}.{whole}, v{y}.{whole}",
                 f"fmla v30.{whole}, v31.{whole}, v{z}.{whole}", f"mov v{x}.16b, v30.16b"]
        assert body == lines and (tail == [lines] if size == 4 else len(tail) == 0)     # a vector is one pair
        assert "add x1, x1, x1" in before


def test_what_there_is_no_instruction_for_is_no_loop():
    for name in REFUSED:
        assert native.assembled([(STEPS[name], 1, 2, 2)], 4, "NEON") == b""


# ---- what they do --------------------------------------------------------------------------------------------------


class Machine:
    """An AArch64 processor, and for each operand a page of memory, between two that are none."""

    CODE, STACK, TABLES, PAGES, SIZE, MOST = 0x100000, 0x800000, 0x900000, 0x1000000, 4096, 24

    def __init__(self):
        import unicorn
        from unicorn import arm64_const as names

        self.names, self.used = names, 0
        self.cpu = cpu = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
        cpu.mem_map(self.CODE, 0x400000, unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC)
        cpu.mem_map(self.STACK, 0x10000)
        cpu.mem_map(self.TABLES, 0x1000)
        for i in range(self.MOST):
            cpu.mem_map(self.page(i), self.SIZE)
        cpu.reg_write(names.UC_ARM64_REG_CPACR_EL1, 3 << 20)         # floating point is not trapped

    def page(self, i):
        return self.PAGES + 4 * self.SIZE * i

    def run(self, code, pages, starts, n, rows, apart):
        """Run a loop over operands that begin in their pages at these places. What pages are then, and flags."""
        cpu, names = self.cpu, self.names
        if self.used + len(code) > 0x400000:
            cpu.ctl_flush_tb()
            self.used = 0
        start = self.CODE + self.used
        self.used += (len(code) + 67) & ~63
        cpu.mem_write(start, code)
        at = [self.page(i) + first for i, first in enumerate(starts)]
        cpu.mem_write(self.TABLES, numpy.array(at, "u8").tobytes())
        cpu.mem_write(self.TABLES + 2048, numpy.array(apart, "i8").tobytes())
        for i, page in enumerate(pages):
            cpu.mem_write(self.page(i), page.tobytes())
        caller = {getattr(names, f"UC_ARM64_REG_X{i}"): 1000 + i for i in range(18, 31)}
        caller |= {getattr(names, f"UC_ARM64_REG_D{i}"): 2000 + i for i in range(8, 16)}
        caller |= {names.UC_ARM64_REG_SP: self.STACK + 0x10000, names.UC_ARM64_REG_X30: self.STACK + 0x8000}
        given = [self.TABLES, n, rows, self.TABLES + 2048]
        for register, value in [*caller.items(), *zip((names.UC_ARM64_REG_X0 + i for i in range(4)), given),
                                (names.UC_ARM64_REG_FPSR, 0)]:
            cpu.reg_write(register, value)
        cpu.emu_start(start, self.STACK + 0x8000)
        assert {register: cpu.reg_read(register) for register in caller} == caller
        read = [numpy.frombuffer(cpu.mem_read(self.page(i), self.SIZE), "u1") for i in range(len(pages))]
        return read, cpu.reg_read(names.UC_ARM64_REG_FPSR) & 7       # invalid, by zero, overflow


@pytest.fixture(scope="module")
def machine():
    return Machine()


class Loop:
    """Steps, operands, and what numpy makes of them."""

    def __init__(self, size, paired=False, rows=1):
        self.size, self.paired, self.rows = size, paired, rows
        self.steps, self.operands = [], []

    def step(self, name, to, a=0, b=0):
        self.steps.append((STEPS[name], to, a, b))

    def operand(self, values):
        """An array of rows; the number of it."""
        self.operands.append(numpy.ascontiguousarray(values).reshape(self.rows, -1))
        return len(self.operands) - 1

    def check(self, machine, random, n, expected, flags):
        """Run it: `expected` are operands, by number, as they are afterwards."""
        gap = int(random.integers(3)) if self.rows > 1 else 0
        pages, wanted, starts, apart = [], [], [], []
        for i, x in enumerate(self.operands):
            step = x.shape[1] * x.itemsize + gap * x.itemsize
            size = step * (self.rows - 1) + x.shape[1] * x.itemsize
            start = int(random.choice([0, machine.SIZE - size]))
            page = random.integers(0, 256, machine.SIZE, "u1")
            self.write(page, start, step, x)
            pages.append(page)
            after = page.copy()
            self.write(after, start, step, expected.get(i, x))
            wanted.append(after)
            starts.append(start)
            apart.append(step)
        code = native.assembled(self.steps, self.size + PAIRED * self.paired, "NEON")
        found, raised = machine.run(code, pages, starts, n, self.rows, apart)
        text = [(NAMES[op], *rest) for op, *rest in self.steps]
        for i, (page, after) in enumerate(zip(found, wanted)):
            if not same(page, after, self.operands[i].dtype, starts[i]):
                step, x = apart[i], self.operands[i]
                rows = [page[starts[i] + r * step:][:x.shape[1] * x.itemsize].view(x.dtype) for r in range(self.rows)]
                raise AssertionError(f"{text}, n={n}, operand {i}: {rows}, not {expected.get(i, x)}")
        assert raised == flags, (text, n, self.operands)

    @staticmethod
    def write(page, start, step, x):
        for row in x:
            page[start:start + row.nbytes] = row.view("u1")
            start += step


def same(page, after, dtype, start):
    """Bit for bit; of NaNs, which differ from processor to processor, any."""
    if (page == after).all():
        return True
    if dtype.kind != "f":
        return False
    first, last = start % dtype.itemsize, len(page) - (len(page) - start) % dtype.itemsize
    other = numpy.ones(len(page), bool)
    other[first:last] = False
    x, y = (p[first:last].view(dtype) for p in (page, after))
    bits = f"u{dtype.itemsize}"
    return (page == after)[other].all() and ((x.view(bits) == y.view(bits)) | (x != x) & (y != y)).all()


class Flags:
    """Those that numpy's operations raise within: 1 invalid, 2 by zero, 4 overflow."""

    def __enter__(self):
        self.raised = 0
        self.state = numpy.errstate(all="call", under="ignore", call=self.note)
        self.state.__enter__()
        return self

    def __exit__(self, *_):
        self.state.__exit__(*_)

    def note(self, kind, _):
        self.raised |= {"invalid value": 1, "divide by zero": 2, "overflow": 4}[kind]


def computed(name, size, a, b, flags):
    """What a step gives of the bits of elements: bits, or floats of 4 bytes."""
    f, i, u = (lambda x, kind=kind: x.view(f"{kind}{size}") for kind in "fiu")
    ufuncs = {"add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply, "div": numpy.divide, "sqrt": numpy.sqrt,
              "rint": numpy.rint, "floor": numpy.floor, "ceil": numpy.ceil, "trunc": numpy.trunc}
    if name in ufuncs:
        return u(ufuncs[name](f(a), f(b)) if ufuncs[name].nin == 2 else ufuncs[name](f(a)))
    if name in ("max", "min", "fmax", "fmin"):
        most = name.endswith("max")
        first = f(a) > f(b) if most else f(a) < f(b)
        result = numpy.where(f(a) == f(b), a & b if most else a | b, numpy.where(first, a, b))      # of zeros +, or -
        nan = f(b) != f(b) if name[0] == "f" else f(a) != f(a)
        return numpy.where(nan, a, result)
    bits = {"and": a & b, "xor": a ^ b, "or": a | b, "but": b & ~a}
    if name in bits:
        return bits[name]
    if name in COMPARED:
        x, y = f(a), f(b)
        mask = {"lt": x < y, "le": x <= y, "eq": x == y, "ne": x != y}[name]
    elif name in ("int_lt", "int_le", "int_eq", "int_ne"):
        x, y = i(a), i(b)
        mask = {"lt": x < y, "le": x <= y, "eq": x == y, "ne": x != y}[name[4:]]
    elif name == "to_floats":
        return u(i(a).astype(f"f{size}"))
    elif name == "unsigned_to_floats":
        return u(a.astype(f"f{size}"))
    elif name == "to_ints":
        return saturated(f(a), size, flags)
    elif name == "halve_floats":
        return f(a).astype("f4")
    elif name in ("halve_to_floats", "halve_unsigned_to_floats"):
        return (i(a) if name == "halve_to_floats" else a).astype("f4")
    elif name in ("shl", "shr", "sar"):
        return u(numpy.left_shift(a, b) if name == "shl" else numpy.right_shift(a, b) if name == "shr" else
                 numpy.right_shift(i(a), i(b)))
    else:
        of_integers = {"int_add": numpy.add, "int_sub": numpy.subtract, "int_mul": numpy.multiply,
                       "int_max": numpy.maximum, "int_min": numpy.minimum}
        return u(of_integers[name](i(a), i(b)))
    return numpy.where(mask, ~u(a * 0), u(a * 0))


def saturated(x, size, flags):
    limit = 2.0 ** (8 * size - 1)
    low, high = x < -limit, x >= limit
    flags.raised |= bool((low | high | numpy.isnan(x)).any())
    limits = numpy.iinfo(f"i{size}")
    result = numpy.where(low | high | numpy.isnan(x), 0, x).astype(f"i{size}")
    return numpy.where(low, limits.min, numpy.where(high, limits.max, result)).astype(f"i{size}").view(f"u{size}")


def drawn(random, count, size, kind, special=0.3):
    """The bits of numbers."""
    if kind == "f":
        with numpy.errstate(all="ignore"):
            x = random.normal(size=count) * 10.0 ** random.integers(-3, 12, count)
            x = numpy.where(random.random(count) < special, random.choice(SPECIAL, count), x)
            return x.astype(f"f{size}").view(f"u{size}")
    limits = numpy.iinfo(f"i{size}")
    x = random.integers(limits.min, limits.max, count, f"i{size}", endpoint=True)
    x >>= random.integers(0, limits.bits, count, f"i{size}")
    chosen = random.random(count) < special
    edges = [0, 1, -1, limits.max, limits.min, limits.bits, limits.bits - 1, limits.bits + 1, 256, 255, 128, -128, -256]
    x[chosen] = random.choice(edges, chosen.sum())
    return x.view(f"u{size}")


def kind_of(name):
    return "i" if name in INTEGERS or name.startswith(("int", "halve_to", "halve_un")) or name in (
        "to_floats", "unsigned_to_floats", *BITS, "but") else "f"


def result_dtype(name, size):
    floats = name in ORDERED or name in ("to_floats", "unsigned_to_floats")
    return f"f{size}" if floats else f"u{size}"


@pytest.mark.parametrize("size", [4, 8])
def test_each_step_at_every_length(machine, size):
    random = numpy.random.default_rng(size)
    names = [*ORDERED, *COMPARED, *INTEGERS, "int_lt", "int_le", "int_eq", "int_ne", *BITS, "but", "to_floats",
             "to_ints", "unsigned_to_floats"]
    names += ["halve_floats", "halve_to_floats", "halve_unsigned_to_floats"] * (size == 8)
    for name in names:
        for n in [*range(1, 10), *random.integers(10, 41, 5)]:
            n, loop = int(n), Loop(size)
            with Flags() as flags:
                special = float(random.choice([0, 0.02, 0.3]))
                a, b = (drawn(random, n, size, kind_of(name), special) for _ in range(2))
                result = computed(name, size, a, b, flags)
            expected = result if result.itemsize < size else result.view(result_dtype(name, size))
            x, y = loop.operand(a), loop.operand(b)
            out = loop.operand(numpy.zeros(n, expected.dtype))
            to = int(random.choice([0, 1, 2, 9]))                    # it may be one of its operands
            loop.step("load", 0, x)
            loop.step("load", 1, y)
            loop.step(name, to, 0, 1)
            if expected.itemsize < size:
                loop.step("store_narrow", to, out, HALVED + 4)
            else:
                loop.step("store", to, out)
            loop.check(machine, random, n, {out: expected.reshape(1, -1)}, flags.raised)


@pytest.mark.parametrize("size", [4, 8])
def test_narrow_elements_and_masks(machine, size):
    random = numpy.random.default_rng(size)
    for n in range(1, 41):
        for b in [*LOADED] if size == 8 else OF_FOUR:
            loop = Loop(size)
            source = LOADED[b]
            x = (drawn(random, n, 4, "f").view("f4") if source == "f4"
                 else random.integers(0, 256, n * int(source[1]), "u1").view(source))
            wide = x.astype("f8") if b in (0x04, 0x34) else x.astype(f"{source[0]}{size}")
            given, out = loop.operand(x), loop.operand(numpy.zeros(n, wide.dtype))
            loop.step("load_narrow", 3, given, b)
            loop.step("store", 3, out)
            loop.check(machine, random, n, {out: wide.reshape(1, -1)}, 0)
        for bytes_ in (1, 2, 4)[:2 + (size == 8)]:
            loop = Loop(size)
            x = random.integers(0, 2 ** 63, n, "u8").astype(f"u{size}")
            given, out = loop.operand(x), loop.operand(numpy.zeros(n, f"u{bytes_}"))
            loop.step("load", 20, given)
            loop.step("store_narrow", 20, out, bytes_)
            loop.check(machine, random, n, {out: x.astype(f"u{bytes_}").reshape(1, -1)}, 0)
        loop = Loop(size)
        x = random.choice(numpy.array([0, 0, 1, 2, 128, 255], "u1"), n)
        given, out, whole = (loop.operand(y) for y in (x, x * 0, numpy.zeros(n, f"u{size}")))
        loop.step("load_mask", 4, given)
        loop.step("store_mask", 4, out)
        loop.step("store", 4, whole)
        true = (x != 0).reshape(1, -1)
        loop.check(machine, random, n, {out: true.astype("u1"), whole: -true.astype(f"i{size}")}, 0)


def fused(x, y, z, dtype):
    """x * y + z, rounded once."""
    if not all(map(numpy.isfinite, (x, y, z))):
        with numpy.errstate(all="ignore"):
            return dtype(x * y + z)
    exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    if exact == 0:
        return dtype(x * y + z)
    near = float(exact)
    if dtype is numpy.float32 and Fraction(near) != exact:           # to odd, so that the next rounding is right
        if abs(Fraction(near)) > abs(exact):
            near = numpy.nextafter(near, 0)
        near = (numpy.float64(near).view("u8") | numpy.uint64(1)).view("f8")
    with numpy.errstate(all="ignore"):
        return dtype(near)


@pytest.mark.parametrize("size", [4, 8])
def test_complex_numbers(machine, size):
    random = numpy.random.default_rng(size)
    dtype = numpy.dtype(f"f{size}").type
    for n in range(1, 41):
        x, y = (random.normal(size=2 * n).astype(dtype) for _ in range(2))
        if n % 3 == 0:
            x[random.random(2 * n) < 0.3], y[random.random(2 * n) < 0.3] = numpy.inf, 0
        elif n % 3 == 1:                                             # products that nearly cancel each other
            y[0::2], y[1::2] = x[1::2] * dtype(1 + 1e-7), x[0::2]
        result = numpy.zeros(2 * n, dtype)
        with Flags() as flags:
            for i in range(0, 2 * n, 2):
                (a, b), (c, d) = x[i:i + 2], y[i:i + 2]
                flags.raised |= any(p * q != p * q and p == p and q == q
                                    for p, q in ((a, c), (a, d), (b, d), (b, c)))
                flags.raised |= bool(numpy.isnan(result[i:i + 2]).any())
                result[i:i + 2] = fused(a, c, -(b * d), dtype), fused(a, d, b * c, dtype)
                flags.raised |= bool(numpy.isnan(result[i:i + 2]).any())
        loop = Loop(size, True)
        given = [loop.operand(z) for z in (x, y)]
        out, single, back, turned = (loop.operand(numpy.zeros(2 * n, dtype)) for _ in range(4))
        narrow = loop.operand(x[::2].copy())
        loop.step("literal", 13, 15)                                 # the sign of the second ones
        loop.step("load", 0, given[0])
        loop.step("load", 1, given[1])
        loop.step("pair_mul", 1, 0, 1)
        loop.step("store", 1, out)
        loop.step("load_narrow", 2, narrow, 0x40 + size)
        loop.step("store", 2, single)
        loop.step("load_one", 3, given[0])
        loop.step("store", 3, back)
        loop.step("xor", 4, 0, 13)
        loop.step("store", 4, turned)
        conjugate = x.copy()
        conjugate[1::2] *= -1
        real_ones = numpy.zeros(2 * n, dtype)
        real_ones[::2] = x[::2]
        expected = {out: result, single: real_ones, back: numpy.tile(x[:2], n), turned: conjugate}
        loop.check(machine, random, n, {i: z.reshape(1, -1) for i, z in expected.items()}, int(flags.raised))


# By number, the bits of 4 bytes and of 8: the sign, 1.0, infinity, all, none, and 1.
LITERALS = {0: (2 ** 31, 2 ** 63), 2: (0x3f800000, 0x3ff0000000000000), 3: (0x7f800000, 0x7ff0000000000000),
            4: (2 ** 32 - 1, 2 ** 64 - 1), 5: (0, 0), 6: (1, 1)}


class Program(Loop):
    """Random steps; of each vector its kind, floats or integers, and the bits of its elements."""

    def __init__(self, random, size):
        super().__init__(size, rows=int(random.integers(1, 4)))
        self.random, self.n = random, int(random.integers(1, 41))
        self.kinds, self.bits, self.rooms = {}, {}, {}

    def have(self, to, kind, bits):
        self.kinds[to], self.bits[to] = kind, numpy.broadcast_to(bits, (self.rows, self.n))

    def pick(self, kind):
        return int(self.random.choice([v for v in self.kinds if self.kinds[v] == kind]))

    def read(self, free):
        """Literals, what is the same for all elements of a row, and more operands than have registers."""
        for which in self.random.choice([*LITERALS], 3, replace=False):
            to, bits = free.pop(), numpy.array(LITERALS[int(which)][self.size == 8], f"u{self.size}")
            self.step("literal", to, int(which))
            self.have(to, "f" if which in (2, 3) else "i", bits)
        for kind in "fi":
            bits = drawn(self.random, (self.rows, 1), self.size, kind)
            self.step("spread", free[-1], self.operand(bits))
            self.have(free.pop(), kind, bits)
            for to in free[:6] if kind == "f" else free[6:12]:
                bits = drawn(self.random, (self.rows, self.n), self.size, kind)
                self.step("load", to, self.operand(bits))
                self.have(to, kind, bits)

    def compute(self, to, flags):
        kind = "fi"[self.random.integers(2)]
        names = [*ORDERED, "to_floats"] if kind == "f" else [*INTEGERS, *BITS, "but", "int_lt", "int_le", "int_ne",
                                                             *COMPARED, "to_ints"]
        name = str(self.random.choice(names))
        of = "f" if name in (*ORDERED, *COMPARED, "to_ints") else "i"
        a, b = self.pick(of), self.pick(of)
        self.step(name, to, a, b)
        self.have(to, kind, computed(name, self.size, self.bits[a], self.bits[b], flags))

    def put_off(self):
        chosen, room = self.pick("fi"[self.random.integers(2)]), int(self.random.integers(60))
        self.step("put_off", chosen, room)
        self.rooms[room] = self.kinds[chosen], self.bits[chosen]

    def take_back(self, to):
        room = int(self.random.choice([*self.rooms]))
        self.step("take_back", to, room)
        self.have(to, *self.rooms[room])

    def store(self):
        expected = {}
        for v in self.random.permutation(list(self.bits))[:6]:
            dtype = f"{'f' if self.kinds[v] == 'f' else 'u'}{self.size}"
            result = numpy.ascontiguousarray(self.bits[v]).view(dtype)
            out = self.operand(numpy.zeros((self.rows, self.n), dtype))
            self.step("store", int(v), out)
            expected[out] = result
        return expected


@pytest.mark.parametrize("size", [4, 8])
def test_random_programs(machine, size):
    """Many steps, of which values are put off to the stack, over rows."""
    random = numpy.random.default_rng(10 + size)
    for _ in range(100):
        free = [int(v) for v in random.permutation(VECTORS)]
        program = Program(random, size)
        program.read(free)                                           # the last of `free` have their values throughout
        with Flags() as flags:
            for _ in range(int(random.integers(3, 40))):
                to, how = int(random.choice(free)), random.random()
                if how < 0.08:
                    program.put_off()
                elif how < 0.16 and program.rooms:
                    program.take_back(to)
                else:
                    program.compute(to, flags)
        program.check(machine, random, program.n, program.store(), flags.raised)


def test_no_other_lane_raises_a_flag(machine):
    """Beside what a loop reads are numbers that would."""
    random = numpy.random.default_rng(0)
    for size in (4, 8):
        for n in range(1, 10):
            for apart in (0, 1):                                     # by zero in the last element, or nowhere
                loop = Loop(size)
                x = numpy.ones(n, f"f{size}")
                y = numpy.ones(n, f"f{size}")
                y[-1] = 0 if apart else 1
                given, out = [loop.operand(z) for z in (x, y)], loop.operand(x * 0)
                for v in (0, 1):
                    loop.step("load", v, given[v])
                loop.step("div", 0, 0, 1)
                loop.step("store", 0, out)
                with numpy.errstate(all="ignore"):
                    loop.check(machine, random, n, {out: (x / y).reshape(1, -1)}, 2 * apart)


def test_what_lies_beyond_an_operand_is_not_touched(machine):
    """The machine tells of it: this is what the other tests rest on."""
    import unicorn

    loop = Loop(4)
    for v in range(2):
        loop.operand(numpy.zeros(5, "f4"))
        loop.step(("load", "store")[v], 0, v)
    code = native.assembled(loop.steps, 4, "NEON")
    pages = [numpy.zeros(machine.SIZE, "u1")] * 2
    starts = [machine.SIZE - 20] * 2
    machine.run(code, pages, starts, 5, 1, [0, 0])
    with pytest.raises(unicorn.UcError):
        machine.run(code, pages, starts, 6, 1, [0, 0])
