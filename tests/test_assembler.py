"""The machine code of each step, by a disassembler that knows nothing of steps."""

import re

import numpy
import pytest

from dflow._kernels import native

pytestmark = pytest.mark.once

# Numbers of steps, as in _kernels/c/assembler.h.
LOAD, STORE, LOAD_MASK, STORE_MASK, LOAD_ONE, PUT_OFF, TAKE_BACK = range(3, 10)
ARITHMETIC = {10: "add", 11: "sub", 12: "mul", 13: "div", 14: "sqrt", 15: "and", 16: "xor", 17: "or", 18: "andn"}
ROUNDED = range(19, 23)
COMPARED = {25: "lt_oq", 26: "le_oq", 27: "eq", 28: "neq"}


def said(op, to, a, b, suffix, form):
    """The lines that a disassembler has of a step. form: the registers' letter, and what comes behind the first."""
    letter, mask, zero = form
    single, wide = suffix[0] == "s", suffix[1] == "d"
    packed = {"ss": "ps", "sd": "pd"}.get(suffix, suffix)
    v = f"{letter}mm{{}}".format
    byte, element = "{} ptr [rax + rcx]", f"{{}} ptr [rax + rcx*{8 if wide else 4}]"
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
    kind = packed if 15 <= op <= 18 else suffix
    return [f"v{ARITHMETIC[op]}{kind} {v(to)}{mask}{zero}, {v(a)}, {v(b)}"]


@pytest.mark.parametrize("name", ["AVX2", "AVX-512"])
@pytest.mark.parametrize("itemsize", [4, 8])
def test_the_bytes_of_each_step(name, itemsize):
    import capstone  # which a sanitizer does not let load

    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    random = numpy.random.default_rng(itemsize)
    wide = name == "AVX-512"
    suffix = "pd" if itemsize == 8 else "ps"
    body, tail = (("z", "", ""), ("z", " {k1}", " {z}")) if wide else (("y", "", ""), ("x", "", ""))
    memory, rooms = (LOAD, STORE, LOAD_MASK, STORE_MASK, LOAD_ONE), (PUT_OFF, TAKE_BACK)
    for _ in range(600):
        op = int(random.choice([*memory, *rooms, *ARITHMETIC, *ROUNDED, *COMPARED]))
        to, a, b = (int(random.integers(31 if wide else 14)) for _ in range(3))
        if op in memory + rooms:
            a = int(random.integers(60))
        found = [f"{i.mnemonic} {i.op_str}".strip()
                 for i in decoder.disasm(native.assembled([(op, to, a, b)], itemsize, name), 0)]
        found = [re.sub(r"[a-z]+ ptr \[(rax|rsp)", r"{} ptr [\1", line) for line in found]
        for form, kind in ((body, suffix), (tail, suffix if wide else suffix.replace("p", "s"))):
            lines = said(op, to, a, b, kind, form)
            where = [i for i in range(len(found)) if [*filter(no_address, found[i:])][:len(lines)] == lines]
            assert where, (lines, found)
        if op in memory:
            place = f" + {hex(8 * a) if a > 1 else 8 * a}" if a else ""
            assert found.count(f"mov rax, qword ptr [rdi{place}]") == 2
        assert found[0] == "endbr64" and found[-2:] == ["vzeroupper", "ret"]
        size = 64 if wide else 32               # a room on the stack, from an address that a vector may have
        frame = ["mov rdx, rsp", f"sub rsp, {(a + 1) * size:#x}", f"and rsp, {2 ** 64 - size:#x}"]
        assert (found[1:4] == frame and found[-3] == "mov rsp, rdx") == (op == PUT_OFF)


def no_address(line):
    """Whether it is no look for an operand's address, which stands before the step, or within."""
    return not line.startswith("mov rax, qword ptr [rdi")
