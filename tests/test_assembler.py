"""The machine code of each step, by a disassembler that knows nothing of steps."""

import re

import numpy
import pytest

from dflow._kernels import native

pytestmark = pytest.mark.once

# Numbers of steps, as in _kernels/c/assembler.h.
LOAD, STORE, LOAD_MASK, STORE_MASK, LOAD_NARROW, LOAD_ONE, PUT_OFF, TAKE_BACK = range(3, 11)
ARITHMETIC = dict(enumerate(("add", "sub", "mul", "div", "sqrt", "and", "xor", "or", "andn"), 11))
ROUNDED = range(20, 24)
TO_FLOATS, TO_INTEGERS = 26, 27
INTEGERS = dict(enumerate(("add", "sub", "mull", "maxs", "mins", "sllv", "srlv", "srav"), 28))
COMPARED = {36: "lt_oq", 37: "le_oq", 38: "eq", 39: "neq"}
INTEGERS_COMPARED = {40: "lt", 41: "le", 42: "eq", 43: "neq"}
OF_INTEGERS = {LOAD_NARROW, TO_FLOATS, TO_INTEGERS, *INTEGERS, *INTEGERS_COMPARED}
BASES = ["rbx", "rbp", "r12", "r13", "r14", "r15", "r8", "r9"]
# `b` of narrow loads: the bytes of an element, and 16 times what they are and become.
TO_DOUBLES = {0x04: "vcvtps2pd", 0x34: "vcvtdq2pd"}
TO_WIDE_INTEGERS = {16 * sign + size: f"vpmov{'sz'[sign - 1]}x{letter}"
                    for sign in (1, 2) for size, letter in ((1, "b"), (2, "w"), (4, "d"))}


def said(op, to, a, b, suffix, form):
    """The lines that a disassembler has of a step. form: the registers' letter, and what comes behind the first."""
    letter, mask, zero = form
    single, wide = suffix[0] == "s", suffix[1] == "d"
    packed = {"ss": "ps", "sd": "pd"}.get(suffix, suffix)
    v = f"{letter}mm{{}}".format
    byte, element = "{} ptr [rax + rcx]", f"{{}} ptr [rbx + rcx*{8 if wide else 4}]"
    q = "q" if wide else "d"
    if op in (LOAD, STORE):
        name = f"vmov{'' if single else 'u'}{suffix}"
        return [f"{name} {v(to)}{mask}{zero}, {element}" if op == LOAD else f"{name} {element}{mask}, {v(to)}"]
    if op == LOAD_ONE:
        whole = "z" if letter == "z" else "y"
        return [f"vbroadcasts{suffix[1]} {whole}mm{to}, {{}} ptr [rax]"]
    if op in (PUT_OFF, TAKE_BACK):
        place = "{} ptr [rsp" + (f" + {a * (64 if letter == 'z' else 32):#x}" if a else "") + "]"
        place = re.sub(r"\+ 0x([0-9])]", r"+ \1]", place)
        return [f"vmovu{packed} {place}, {v(to)}" if op == PUT_OFF else f"vmovu{packed} {v(to)}, {place}"]
    if op == LOAD_MASK and letter == "z":
        return [f"vpmovzxb{q} {v(to)}{mask}{zero}, {byte}", f"vptestm{q} k2{mask}, {v(to)}, {v(to)}",
                f"vpmovm2{q} {v(to)}, k2"]
    if op == LOAD_MASK:
        first = ["movzx r8d, {} ptr [rax + rcx]", f"vmovd {v(to)}, r8d"] if single else [f"vpmovzxb{q} {v(to)}, {byte}"]
        return [*first, f"vpxor {v(15)}, {v(15)}, {v(15)}", f"vpcmpgt{q} {v(to)}, {v(to)}, {v(15)}"]
    if op == STORE_MASK and letter == "z":
        return [f"vpsrl{q} zmm31, {v(to)}, {'0x3f' if wide else '0x1f'}", f"vpmov{q}b {byte}{mask}, zmm31"]
    if op == STORE_MASK:
        r, ones = ("r8", "0x101010101010101") if not wide else ("r8d", "0x1010101")
        last = (["and r8d, 1", "mov {} ptr [rax + rcx], r8b"] if single else
                [f"{'mov' if wide else 'movabs'} {r.replace('8', '9')}, {ones}",
                 f"pdep {r}, {r}, {r.replace('8', '9')}", f"mov {byte}, {r}"])
        return [f"vmovmsk{packed} r8d, {v(to)}", *last]
    if op in ROUNDED:
        name = "vrndscale" if letter == "z" else "vround"
        more = f"{v(a)}, " if single else ""
        return [f"{name}{suffix} {v(to)}{mask}{zero}, {more}{v(a)}, {(8, 9, '0xa', '0xb')[op - ROUNDED[0]]}"]
    if op in COMPARED and letter == "z":
        return [f"vcmp{COMPARED[op]}{suffix} k2{mask}, {v(a)}, {v(b)}", f"vpmovm2{q} {v(to)}, k2"]
    if op in COMPARED:
        return [f"vcmp{COMPARED[op]}{suffix} {v(to)}, {v(a)}, {v(b)}"]
    if ARITHMETIC[op] == "sqrt":
        more = f"{v(a)}, " if single else ""
        return [f"vsqrt{suffix} {v(to)}{mask}{zero}, {more}{v(a)}"]
    kind = packed if ARITHMETIC[op] in ("and", "xor", "or", "andn") else suffix
    return [f"v{ARITHMETIC[op]}{kind} {v(to)}{mask}{zero}, {v(a)}, {v(b)}"]


def said_of_integers(op, to, a, b, suffix, form):
    """The same of steps with integers."""
    letter, mask, zero = form
    v = f"{letter}mm{{}}".format
    wide, single = suffix[1] == "d", suffix[0] == "s"
    q = "q" if wide else "d"
    if op == LOAD_NARROW:
        size = b & 15
        place = f"{{}} ptr [rax + rcx{f'*{size}' if size > 1 else ''}]"
        name = TO_DOUBLES.get(b) or TO_WIDE_INTEGERS[b] + q
        if not single:
            return [f"{name} {v(to)}{mask}{zero}, {place}"]
        first = [f"vmovss {v(to)}, {place}"] if size == 4 else [f"movzx r8d, {place}", f"vmovd {v(to)}, r8d"]
        return [*first, f"{name} {v(to)}, {v(to)}"]
    if op in (TO_FLOATS, TO_INTEGERS):
        if single and op == TO_INTEGERS:
            return [f"vcvttss2si r8d, {v(a)}", f"vmovd {v(to)}, r8d"]
        names = ("vcvtqq2pd", "vcvttpd2qq") if wide else ("vcvtdq2ps", "vcvttps2dq")
        return [f"{names[op - TO_FLOATS]} {v(to)}{mask}{zero}, {v(a)}"]
    if op in INTEGERS_COMPARED and letter == "z":
        return [f"vpcmp{INTEGERS_COMPARED[op]}{q} k2{mask}, {v(a)}, {v(b)}", f"vpmovm2{q} {v(to)}, k2"]
    if op in INTEGERS_COMPARED:
        name = INTEGERS_COMPARED[op]
        x, y = (b, a) if name == "lt" else (a, b)
        turned = [f"vpcmpeqd {v(15)}, {v(15)}, {v(15)}", f"vpxor {v(to)}, {v(to)}, {v(15)}"]
        return [f"vpcmp{'gt' if name[0] == 'l' else 'eq'}{q} {v(to)}, {v(x)}, {v(y)}",
                *(turned if name in ("le", "neq") else [])]
    name = INTEGERS[op]
    if letter == "z" or not wide or name not in ("mull", "maxs", "mins", "srav"):
        return [f"vp{name}{q} {v(to)}{mask}{zero}, {v(a)}, {v(b)}"]
    if name == "mull":
        return [f"vpsrlq {v(14)}, {v(a)}, 0x20", f"vpmuludq {v(14)}, {v(14)}, {v(b)}", f"vpsrlq {v(15)}, {v(b)}, 0x20",
                f"vpmuludq {v(15)}, {v(15)}, {v(a)}", f"vpaddq {v(14)}, {v(14)}, {v(15)}",
                f"vpsllq {v(14)}, {v(14)}, 0x20", f"vpmuludq {v(15)}, {v(a)}, {v(b)}",
                f"vpaddq {v(to)}, {v(14)}, {v(15)}"]
    if name == "srav":
        return [f"vpxor {v(15)}, {v(15)}, {v(15)}", f"vpcmpgtq {v(15)}, {v(15)}, {v(a)}",
                f"vpxor {v(14)}, {v(15)}, {v(a)}", f"vpsrlvq {v(14)}, {v(14)}, {v(b)}",
                f"vpxor {v(to)}, {v(14)}, {v(15)}"]
    x, y = (b, a) if name == "maxs" else (a, b)
    return [f"vpcmpgtq {v(15)}, {v(a)}, {v(b)}", f"vblendvpd {v(to)}, {v(x)}, {v(y)}, {v(15)}"]


def choose(random, name, itemsize):
    """A step that there is."""
    memory = LOAD, STORE, LOAD_MASK, STORE_MASK, LOAD_NARROW, LOAD_ONE, PUT_OFF, TAKE_BACK
    casts = (TO_FLOATS, TO_INTEGERS) if name == "AVX-512" or itemsize == 4 else ()
    op = int(random.choice([*memory, *ARITHMETIC, *ROUNDED, *COMPARED, *casts, *INTEGERS, *INTEGERS_COMPARED]))
    to, a, b = (int(random.integers(31 if name == "AVX-512" else 14)) for _ in range(3))
    if op in memory:
        a = int(random.integers(60))
    if op == LOAD_NARROW:
        b = int(random.choice([*TO_DOUBLES, *TO_WIDE_INTEGERS] if itemsize == 8
                              else [b for b in TO_WIDE_INTEGERS if b & 15 < 4]))
    return op, to, a, b


@pytest.mark.parametrize("name", ["AVX2", "AVX-512"])
@pytest.mark.parametrize("itemsize", [4, 8])
def test_the_bytes_of_each_step(name, itemsize):
    import capstone  # which a sanitizer does not let load

    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    random = numpy.random.default_rng(itemsize)
    wide = name == "AVX-512"
    suffix = "pd" if itemsize == 8 else "ps"
    body, tail = (("z", "", ""), ("z", " {k1}", " {z}")) if wide else (("y", "", ""), ("x", "", ""))
    for _ in range(1500):
        op, to, a, b = choose(random, name, itemsize)
        found = [f"{i.mnemonic} {i.op_str}".strip()
                 for i in decoder.disasm(native.assembled([(op, to, a, b)], itemsize, name), 0)]
        found = [re.sub(r"[a-z]+ ptr \[(rax|rbx|rsp)", r"{} ptr [\1", line) for line in found]
        for form, kind in ((body, suffix), (tail, suffix if wide else suffix.replace("p", "s"))):
            lines = (said_of_integers if op in OF_INTEGERS else said)(op, to, a, b, kind, form)
            where = [i for i in range(len(found)) if [*filter(no_address, found[i:])][:len(lines)] == lines]
            assert where, (lines, found)
        place = f" + {hex(8 * a) if a > 1 else 8 * a}" if a else ""
        first, last = ["endbr64", "mov r10, rcx", "mov r11, rdx"], ["vzeroupper", "ret"]
        if op in (LOAD, STORE):
            first[1:] = ["push rbx", *first[1:], f"mov rbx, qword ptr [rdi{place}]"]
            last.insert(1, "pop rbx")
        elif LOAD <= op <= LOAD_ONE:
            assert found.count(f"mov rax, qword ptr [rdi{place}]") == 2
        assert found[:len(first)] == first and found[-len(last):] == last
        size = 64 if wide else 32               # a room on the stack, from an address that a vector may have
        frame = ["mov rdx, rsp", f"sub rsp, {(a + 1) * size:#x}", f"and rsp, {2 ** 64 - size:#x}"]
        assert (found[len(first):][:3] == frame and found[-3] == "mov rsp, rdx") == (op == PUT_OFF)


@pytest.mark.parametrize("name", ["AVX2", "AVX-512"])
def test_addresses_have_registers_and_go_on_from_row_to_row(name):
    import capstone

    many, registers = (8, BASES) if name == "AVX-512" else (4, BASES[:6])
    steps = [(LOAD, 0, a, 0) for a in range(3, 15)] + [(LOAD_MASK, 1, 15, 0), (STORE, 0, 2, 0)]
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    found = [f"{i.mnemonic} {i.op_str}".strip() for i in decoder.disasm(native.assembled(steps, 8, name), 0)]
    whole = [re.search(r"\[(\w+) \+ rcx\*8\]", line)[1] for line in found if line.startswith("vmovupd")]
    assert whole[:13] == [*registers, *["rax"] * (13 - len(registers))]
    assert [line for line in found if line.startswith("push")] == [f"push {r}" for r in BASES[:6]]
    assert [line for line in found if line.startswith("pop")] == [f"pop {r}" for r in BASES[5::-1]]
    at = found.index("add rsi, rcx")
    stepped = [re.fullmatch(r"add (\w+), qword ptr \[r10 \+ (\w+)\]", line) for line in found[at + 1:]]
    assert {m[1]: int(m[2], 0) // 8 for m in stepped if m} == {r: a for a, r in enumerate(registers, 3)}
    apart = [int(m[1] or "0", 0) // 8 for line in found[at:]
             if (m := re.fullmatch(r"vpaddq \w+, \w+, \w+ ptr \[r10(?: \+ (\w+))?\]", line))]
    others = {2, 15, *range(3 + len(registers), 15)}
    assert apart == sorted({a // many * many for a in others})


def no_address(line):
    """Whether it is no look for an operand's address, which stands before the step, or within."""
    return not line.startswith("mov rax, qword ptr [rdi")
