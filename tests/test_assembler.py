"""The machine code of each step, by a disassembler that knows nothing of steps."""

import re

import numpy
import pytest

from dflow._kernels import native

pytestmark = pytest.mark.once

STEPS = native.step_numbers()


def numbered(names):
    """By the numbers of steps, what a disassembler calls them: "step" or "step:name", or several."""
    pairs = [(text.partition(":")[0], text.rpartition(":")[2]) for text in names.split()]
    return {STEPS[step]: name for step, name in pairs}


LOAD, STORE, LOAD_MASK, STORE_MASK, LOAD_NARROW, STORE_NARROW, LOAD_ONE, PUT_OFF, TAKE_BACK = (STEPS[name] for name in (
    "load", "store", "load_mask", "store_mask", "load_narrow", "store_narrow", "load_one", "put_off", "take_back"))
ARITHMETIC = numbered("add sub mul div sqrt and xor or but:andn")
ROUNDED = [STEPS[name] for name in ("rint", "floor", "ceil", "trunc")]
EXTREMES = numbered("max min fmax:max fmin:min")
TO_FLOATS, TO_INTEGERS, UNSIGNED_TO_FLOATS = (STEPS[name] for name in ("to_floats", "to_ints", "unsigned_to_floats"))
ROUND, LOAD_HALVES, STORE_HALVES = STEPS["round"], 0x52, 0x22
HALVED = numbered("halve_floats:vcvtpd2ps halve_to_ints:vcvttpd2dq halve_to_floats:vcvtqq2ps "
                  "halve_unsigned_to_floats:vcvtuqq2ps")
PAIR_MULTIPLY, PAIRED = STEPS["pair_mul"], 32
INTEGERS = numbered("int_add:add int_sub:sub int_mul:mull int_max:maxs int_min:mins shl:sllv shr:srlv sar:srav")
COMPARED = numbered("lt:lt_oq le:le_oq eq ne:neq")
INTEGERS_COMPARED = numbered("int_lt:lt int_le:le int_eq:eq int_ne:neq")
BASES = ["rbx", "rbp", "r12", "r13", "r14", "r15", "r8", "r9"]
OF_INTEGERS = {LOAD_NARROW, TO_FLOATS, TO_INTEGERS, UNSIGNED_TO_FLOATS, *INTEGERS, *INTEGERS_COMPARED}
# `b` of narrow loads: the bytes of an element, and 16 times what they are and become.
TO_DOUBLES = {0x04: "vcvtps2pd", 0x34: "vcvtdq2pd"}
FROM_HALVES = {LOAD_HALVES: "vcvtph2ps"}
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
    if op == LOAD_ONE and b == LOAD_HALVES:
        if letter == "z":
            return ["movzx eax, {} ptr [rax]", "imul eax, eax, 0x10001", f"vpbroadcastd zmm{to}, eax",
                    f"vcvtph2ps zmm{to}, ymm{to}"]
        return [f"vpbroadcastw ymm{to}, {{}} ptr [rax]", f"vcvtph2ps ymm{to}, xmm{to}"]
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
    if op == STORE_NARROW:
        return stored_narrow(to, b, letter, mask, single, wide)
    if op == ROUND:
        lower = "ymm31" if letter == "z" else "xmm15"
        alone = ["vxorps xmm15, xmm15, xmm15", f"vmovss xmm15, xmm15, {v(a)}"] if single else []
        return [*alone, f"vcvtps2ph {lower}{mask}{zero}, {v(15 if single else a)}, 0",
                f"vcvtph2ps {v(to)}{mask}{zero}, {lower}"]
    if op in HALVED:
        lower = "y" if letter == "z" else "x"
        if single:
            return ([f"vcvtsd2ss {v(to)}, {v(a)}, {v(a)}"] if HALVED[op] == "vcvtpd2ps"
                    else [f"vcvttsd2si r8d, {v(a)}", f"vmovd {v(to)}, r8d"])
        return [f"{HALVED[op]} {lower}mm{to}{mask}{zero}, {v(a)}"]
    if op in EXTREMES:
        tested = v(b if STEPS["fmax"] <= op else a)
        extreme = f"v{EXTREMES[op]}{suffix}"
        if letter != "z":
            return [f"vcmpunord{suffix} {v(15)}, {tested}, {tested}", f"{extreme} {v(14)}, {v(a)}, {v(b)}",
                    f"vblendv{packed} {v(to)}, {v(14)}, {v(a)}, {v(15)}"]
        if to == a:
            return [f"vcmpord{suffix} k2{mask}, {tested}, {tested}", f"{extreme} {v(to)} {{k2}}, {v(a)}, {v(b)}"]
        return [f"vcmpunord{suffix} k2{mask}, {tested}, {tested}", f"{extreme} {v(to)}{mask}{zero}, {v(a)}, {v(b)}",
                f"vmova{suffix} {v(to)} {{k2}}, {v(a)}"]
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
        name = TO_DOUBLES.get(b) or FROM_HALVES.get(b) or TO_WIDE_INTEGERS[b] + q
        if not single:
            return [f"{name} {v(to)}{mask}{zero}, {place}"]
        first = [f"vmovss {v(to)}, {place}"] if size == 4 else [f"movzx r8d, {place}", f"vmovd {v(to)}, r8d"]
        return [*first, f"{name} {v(to)}, {v(to)}"]
    if op == UNSIGNED_TO_FLOATS:
        return [f"{'vcvtuqq2pd' if wide else 'vcvtudq2ps'} {v(to)}{mask}{zero}, {v(a)}"]
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


def stored_narrow(register, b, letter, mask, single, wide):
    """The same of a store to narrower elements."""
    size, halved = b & 15, b >> 4
    place = f"{{}} ptr [rax + rcx{f'*{size}' if size > 1 else ''}]"
    if b == STORE_HALVES and not single:
        return [f"vcvtps2ph {place}{mask}, {letter}mm{register}, 0"]
    if b == STORE_HALVES:
        return [f"vcvtps2ph xmm15, xmm{register}, 0", "vmovd r8d, xmm15", f"mov {place}, r8w"]
    if letter == "z":
        source = f"{'y' if halved else 'z'}mm{register}"
        name = "vmovups" if halved and size == 4 else f"vpmov{'q' if wide and not halved else 'd'}{' bw d'[size]}"
        return [f"{name} {place}{mask}, {source}"]
    if single:
        return [f"vmovd r8d, xmm{register}", f"mov {place}, r8{' bw d'[size]}"]
    lines, source, lanes = [], register, 4 if wide else 8
    if wide and not halved:
        lines = [f"vextracti128 xmm15, ymm{register}, 1", f"vshufps xmm15, xmm{register}, xmm15, 0x88"]
        source = 15
    if size < 4:
        form, bits = "xy"[lanes == 8], f"{32 - 8 * size:#x}"
        lines += [f"vpslld {form}mm15, {form}mm{source}, {bits}", f"vpsrad {form}mm15, {form}mm15, {bits}"]
        lines += ["vextracti128 xmm14, ymm15, 1"] * (lanes == 8)
        lines += [f"vpackssdw xmm15, xmm15, xmm{14 if lanes == 8 else 15}"]
        lines += ["vpacksswb xmm15, xmm15, xmm15"] * (size == 1)
        source = 15
    return [*lines, f"{ {16: 'vmovups', 8: 'vmovq', 4: 'vmovd'}[lanes * size]} {place}, xmm{source}"]


def choose(random, name, itemsize):
    """A step that there is."""
    memory = LOAD, STORE, LOAD_MASK, STORE_MASK, LOAD_NARROW, STORE_NARROW, LOAD_ONE, PUT_OFF, TAKE_BACK
    casts = [TO_FLOATS, TO_INTEGERS] if name == "AVX-512" or itemsize == 4 else []
    casts += [UNSIGNED_TO_FLOATS] * (name == "AVX-512") + [*HALVED][:4 if name == "AVX-512" else 2] * (itemsize == 8)
    casts += [ROUND] * (itemsize == 4)
    op = int(random.choice([*memory, *ARITHMETIC, *ROUNDED, *EXTREMES, *COMPARED, *casts, *INTEGERS,
                            *INTEGERS_COMPARED]))
    to, a, b = (int(random.integers(31 if name == "AVX-512" else 14)) for _ in range(3))
    if op in memory:
        a = int(random.integers(60))
    if op == LOAD_NARROW:
        b = int(random.choice([*TO_DOUBLES, *TO_WIDE_INTEGERS] if itemsize == 8
                              else [LOAD_HALVES, *(b for b in TO_WIDE_INTEGERS if b & 15 < 4)]))
    if op == LOAD_ONE:
        b = int(random.choice([0, LOAD_HALVES])) if itemsize == 4 else 0
    if op == STORE_NARROW:
        b = int(random.choice([1, 2, 4, 17, 18, 20] if itemsize == 8 else [1, 2, STORE_HALVES]))
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


@pytest.mark.parametrize("name", ["AVX2", "AVX-512"])
def test_the_steps_of_copies_take_turns(name):
    import capstone

    wide = name == "AVX-512"
    v, lanes, size = ("zmm{}", 8, 64) if wide else ("ymm{}", 4, 32)
    steps = [(STEPS["copies"], 3, 2, 4), (LOAD, 2, 3, 0), (PUT_OFF, 2, 1, 0), (STEPS["add"], 3, 2, 0),
             (LOAD_NARROW, 4, 7, 0x04), (TAKE_BACK, 2, 1, 0), (STEPS["mul"], 5, 4, 1), (STORE, 5, 6, 0)]
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    found = [re.sub(r"[a-z]+ ptr", "ptr", f"{i.mnemonic} {i.op_str}".strip())
             for i in decoder.disasm(native.assembled(steps, 8, name), 0)]
    def turn(line):
        return [line(v.format(2 + 4 * k), v.format(3 + 4 * k), v.format(4 + 4 * k), v.format(5 + 4 * k), k)
                for k in range(3)]
    def ahead(k):
        return f" + {k * size:#x}" if k else ""
    expected = [*turn(lambda a, b, c, d, k: f"vmovupd {a}, ptr [rbx + rcx*8{ahead(k)}]"),
                *turn(lambda a, b, c, d, k: f"vmovupd ptr [rsp + {size + k * 2 * size:#x}], {a}"),
                *turn(lambda a, b, c, d, k: f"vaddpd {b}, {a}, {v.format(0)}")]
    for k in range(3):
        narrow = ["mov rax, ptr [rdi + 0x38]", f"vcvtps2pd {v.format(4 + 4 * k)}, ptr [rax + rcx*4]"]
        number = f"{k * lanes:#x}" if k * lanes > 9 else k * lanes
        expected += [f"add rcx, {number}", *narrow, f"sub rcx, {number}"] if k else narrow
    expected += [*turn(lambda a, b, c, d, k: f"vmovupd {a}, ptr [rsp + {size + k * 2 * size:#x}]"),
                 *turn(lambda a, b, c, d, k: f"vmulpd {d}, {c}, {v.format(1)}"),
                 *turn(lambda a, b, c, d, k: f"vmovupd ptr [rbp + rcx*8{ahead(k)}], {d}")]
    at = found.index(expected[0])
    assert found[at:at + len(expected)] == expected
    assert found[at + len(expected):][:2] == [f"add rcx, {3 * lanes:#x}", f"sub rsi, {3 * lanes:#x}"]
    assert f"sub rsp, {2 * 3 * size:#x}" in found


def test_copies_that_are_too_long_are_none():
    steps = [(LOAD, 2, 0, 0), *[(STEPS["max"], 2, 2, 0)] * 800, (STORE, 2, 1, 0)]
    alone = native.assembled(steps, 8, "AVX-512")
    assert alone and native.assembled([(STEPS["copies"], 4, 2, 2), *steps], 8, "AVX-512") == alone
    assert native.assembled([(STEPS["copies"], 2, 2, 2), *steps[-9:]], 8, "AVX-512") != (
        native.assembled(steps[-9:], 8, "AVX-512"))


@pytest.mark.parametrize("name", ["AVX2", "AVX-512"])
@pytest.mark.parametrize("size", [4, 8])
def test_the_bytes_of_numbers_that_become_complex(name, size):
    import capstone

    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    suffix, place = "pd" if size == 8 else "ps", f"ptr [rax + rcx*{size // 2}]"
    for to in (0, 7, 8, 13, *((17, 29) if name == "AVX-512" else ())):
        code = native.assembled([(LOAD_NARROW, to, 3, 0x40 + size)], size + PAIRED, name)
        found = [re.sub(r" [a-z]+ ptr", " ptr", f"{i.mnemonic} {i.op_str}") for i in decoder.disasm(code, 0)]
        look = ["mov rax, ptr [rdi + 0x18]"]
        if name == "AVX-512":
            first, last = ["mov eax, 0x5555", "kmovw k2, eax"], [f"vexpand{suffix} zmm{to} {{k2}} {{z}}, {place}"]
            bodies = [first + look + last, [*first, "kandw k2, k2, k1", *look, *last]]
        elif size == 8:
            bodies = [[*look, f"vmovupd xmm{to}, {place}", f"vpermpd ymm{to}, ymm{to}, 0x98"],
                      [*look, f"vmovsd xmm{to}, {place}"]]
        else:
            bodies = [[*look, f"vpmovzxdq ymm{to}, {place}"], [*look, f"vmovss xmm{to}, {place}"]]
        for lines in bodies:
            assert any(found[i:i + len(lines)] == lines for i in range(len(found))), (lines, found)


@pytest.mark.parametrize("name", ["AVX2", "AVX-512"])
@pytest.mark.parametrize("size", [4, 8])
def test_the_bytes_of_complex_products(name, size):
    import capstone

    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    random = numpy.random.default_rng(size)
    wide = name == "AVX-512"
    suffix = "pd" if size == 8 else "ps"
    second, turned, first = ("0xff", "0x55", "0") if size == 8 else ("0xf5", "0xb1", "0xa0")
    for _ in range(200):
        to, a, b = (int(random.integers(30 if wide else 14)) for _ in range(3))
        code = native.assembled([(PAIR_MULTIPLY, to, a, b)], size + PAIRED, name)
        found = [re.sub(r", 0xff$", ", 0xff", f"{i.mnemonic} {i.op_str}".strip()) for i in decoder.disasm(code, 0)]
        for letter, mask in (("z", ""), ("z", " {k1} {z}")) if wide else (("y", ""), ("x", "")):
            v = f"{letter}mm{{}}".format
            x, y = (30, 31) if wide else (14, 15)
            lines = [f"vpermil{suffix} {v(x)}, {v(a)}, {second}", f"vmul{suffix} {v(x)}{mask}, {v(x)}, {v(b)}",
                     f"vpermil{suffix} {v(x)}, {v(x)}, {turned}", f"vpermil{suffix} {v(y)}, {v(a)}, {first}",
                     f"vfmaddsub213{suffix} {v(y)}{mask}, {v(b)}, {v(x)}", f"vmova{suffix} {v(to)}, {v(y)}"]
            assert any(found[i:i + 6] == lines for i in range(len(found))), (lines, found)
        assert "add rsi, rsi" in found


@pytest.mark.parametrize("name", ["AVX-512", "AVX2"])
def test_the_bytes_of_exponentials(name):
    """The steps, and of which number of the pool in front of the code, by its place, each is."""
    import capstone

    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    random = numpy.random.default_rng(1)
    pool, size, vectors = (9, 4, 28) if name == "AVX-512" else (32, 32, 11)     # endbr64 and a jump are in front of it
    for _ in range(100):
        to, a = (int(random.integers(vectors)) for _ in range(2))
        code = native.assembled([(STEPS["exp"], to, a, a)], 4, name)
        numbers = numpy.frombuffer(code[pool:pool + 15 * size], numpy.float32).reshape(15, size // 4)
        assert (numbers[:14] == numbers[:14, :1]).all() and numpy.isnan(numbers[14]).all()
        assert list(numbers[:3, 0]) == [-104, 89, numpy.float32(numpy.log2(numpy.e))] and numbers[13, 0] == 1
        found = []
        for i in decoder.disasm(code[pool + 15 * size:], pool + 15 * size):
            line = f"{i.mnemonic} {i.op_str}"
            if (place := re.search(r"[a-z]+ ptr \[rip ([+-]) (\w+)\](\{1to16\})?", line)) is not None:
                at = i.address + i.size + int(place[1] + place[2], 0) - pool
                assert at % size == 0 and (place[3] is None) == ("broadcast" in line or name == "AVX2")
                line = line.replace(place[0], f"#{at // size}")
            found.append(line)
        for lines in exponentials(name, to, a):
            assert any(found[i:i + len(lines)] == lines for i in range(len(found))), (lines, found)


def exponentials(name, to, a):
    """The instructions of a whole vector, and of what is left."""
    def ratio(x, n, p, q, load):
        return [f"vfmadd231ps {x}, {n}, #3", f"vfmadd231ps {x}, {n}, #4", f"{load} {p}, #5",
                *(f"vfmadd213ps {p}, {x}, #{k}" for k in range(6, 11)), f"{load} {q}, #11",
                *(f"vfmadd213ps {q}, {x}, #{k}" for k in (12, 13)), f"vdivps {p}, {p}, {q}"]

    if name == "AVX-512":
        for mask in ("", " {k1}"):
            zero = " {z}" if mask else ""
            yield [f"vcmpunordps k2{mask}, zmm{a}, zmm{a}", f"vrangeps zmm31{mask}{zero}, zmm{a}, #0, 5",
                   "vrangeps zmm31, zmm31, #1, 4", "vmulps zmm30, zmm31, #2", "vrndscaleps zmm30, zmm30, 8",
                   *ratio("zmm31", "zmm30", "zmm29", "zmm28", "vbroadcastss"),
                   f"vscalefps zmm{to}{mask}{zero}, zmm29, zmm30", f"vbroadcastss zmm{to} {{k2}}, #14"]
        return
    for alone in ([], ["vxorps ymm14, ymm14, ymm14", f"vmovss xmm14, xmm14, xmm{a}"]):
        x = "ymm14" if alone else f"ymm{a}"
        yield [*alone, f"vcmpunordps ymm15, {x}, {x}", f"vandnps ymm14, ymm15, {x}", "vmaxps ymm14, ymm14, #0",
               "vminps ymm14, ymm14, #1", "vmulps ymm13, ymm14, #2", "vcvtps2dq ymm13, ymm13", "vcvtdq2ps ymm11, ymm13",
               *ratio("ymm14", "ymm11", "ymm12", "ymm11", "vmovaps"), "vpsrad ymm11, ymm13, 1",
               "vpsubd ymm13, ymm13, ymm11", "vpslld ymm11, ymm11, 0x17", "vpaddd ymm12, ymm12, ymm11",
               "vpslld ymm13, ymm13, 0x17", "vpaddd ymm13, ymm13, #13", "vmulps ymm12, ymm12, ymm13",
               f"vblendvps ymm{to}, ymm12, #14, ymm15"]


def no_address(line):
    """Whether it is no look for an operand's address, which stands before the step, or within."""
    return not line.startswith("mov rax, qword ptr [rdi")
