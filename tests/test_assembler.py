"""The machine code of each step, by a disassembler that knows nothing of steps."""

import re

import numpy
import pytest

from dflow._kernels import native

pytestmark = pytest.mark.once

LOAD, STORE = 3, 4             # numbers of steps, as in _kernels/c/assembler.h
ARITHMETIC = {5: "add", 6: "sub", 7: "mul", 8: "div", 9: "sqrt", 10: "and", 11: "xor", 12: "or"}
ROUNDED = range(13, 17)


def said(op, to, a, b, suffix, form):
    """What a disassembler says of a step. form: the registers' letter, and what comes behind the first."""
    letter, mask, zero = form
    packed = {"ss": "ps", "sd": "pd"}.get(suffix, suffix)
    v = f"{letter}mm{{}}".format
    if op in (LOAD, STORE):
        name, memory = f"vmov{'' if suffix[0] == 's' else 'u'}{suffix}", "{} ptr [rax + rcx]"
        return f"{name} {v(to)}{mask}{zero}, {memory}" if op == LOAD else f"{name} {memory}{mask}, {v(to)}"
    if op in ROUNDED:
        name = "vrndscale" if letter == "z" else "vround"
        more = f"{v(a)}, " if suffix[0] == "s" else ""
        return f"{name}{suffix} {v(to)}{mask}{zero}, {more}{v(a)}, {(8, 9, '0xa', '0xb')[op - ROUNDED[0]]}"
    if ARITHMETIC[op] == "sqrt":
        more = f"{v(a)}, " if suffix[0] == "s" else ""
        return f"vsqrt{suffix} {v(to)}{mask}{zero}, {more}{v(a)}"
    kind = packed if ARITHMETIC[op] in ("and", "xor", "or") else suffix
    return f"v{ARITHMETIC[op]}{kind} {v(to)}{mask}{zero}, {v(a)}, {v(b)}"


@pytest.mark.parametrize("name", ["AVX2", "AVX-512"])
@pytest.mark.parametrize("itemsize", [4, 8])
def test_the_bytes_of_each_step(name, itemsize):
    import capstone  # which a sanitizer does not let load

    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    random = numpy.random.default_rng(itemsize)
    count = 32 if name == "AVX-512" else 14
    suffix = "pd" if itemsize == 8 else "ps"
    body, tail = (("z", "", ""), ("z", " {k1}", " {z}")) if count == 32 else (("y", "", ""), ("x", "", ""))
    for _ in range(300):
        op = int(random.choice([LOAD, STORE, *ARITHMETIC, *ROUNDED]))
        to, a, b = (int(random.integers(count)) for _ in range(3))
        if op in (LOAD, STORE):
            a = int(random.integers(60))
        found = [f"{i.mnemonic} {i.op_str}".strip()
                 for i in decoder.disasm(native.assembled([(op, to, a, b)], itemsize, name), 0)]
        found = [re.sub(r"[a-z]+ ptr \[rax", "{} ptr [rax", line) for line in found]
        for form, kind in ((body, suffix), (tail, suffix if count == 32 else suffix.replace("p", "s"))):
            line = said(op, to, a, b, kind, form)
            assert line in found, (line, found)
        if op in (LOAD, STORE):
            place = f" + {hex(8 * a) if a > 1 else 8 * a}" if a else ""
            assert found.count(f"mov rax, qword ptr [rdi{place}]") == 2
        assert found[0] == "endbr64" and found[-2:] == ["vzeroupper", "ret"]
