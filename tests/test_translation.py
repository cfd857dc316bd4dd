"""What a GPU's compiler is given: _gpu/elementwise.cuh is C++ that others take, too, and its functions are NumPy's."""

import ctypes
import importlib
import itertools
import re
import shutil
import subprocess
from pathlib import Path

import numpy
import pytest
import scipy.special

from dflow._gpu import codegen

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
BEGIN = """
#include <cmath>
#include <complex>
#include <cstring>
#define __device__
using namespace std;
typedef _Float16 float16;
"""
KINDS = {"integer": "?bBhHiIqQ", "real": "fde", "complex": "FD"}
COMPARED = {name: 1e-2 if name in "e" else 2e-5 if name in "fF" else 1e-13 for name in "?bBhHiIqQfdeFD"}
pytestmark = pytest.mark.once


def loops():
    """(name, ufunc, type characters) of each loop of a ufunc that a GPU runs."""
    for name in sorted(set().union(*codegen.KNOWN.values())):
        ufunc = getattr(numpy, name, None) or getattr(scipy.special, name)
        for types in dict.fromkeys(ufunc.types):
            characters = types.replace("->", "").replace("l", "q").replace("L", "Q")
            if not set(characters) <= set("?bBhHiIqQfdeFD"):
                continue
            codes = tuple(numpy.dtype(c).num if c != "e" else codegen.HALF for c in characters)
            if codegen.recipe((ufunc, codes)) is not None:
                yield name, ufunc, characters, codes


@pytest.mark.parametrize("path", ["_gpu/elementwise.cuh", "_gpu/random.cuh"])
def test_our_headers_are_in_the_text(path):
    """A GPU's compiler has no place to look for them."""
    text = codegen.functions(path)
    assert '#include "' not in text and "#define HELPER" in text


def test_cudas_compiler_takes_them(tmp_path):
    """With CuPy's own complex numbers and halves. It needs CuPy and NVIDIA's runtime compiler, but no GPU."""
    cupy = pytest.importorskip("cupy", reason="needs CuPy")
    nvrtc = cupy.cuda.nvrtc
    include = Path(cupy.__file__).parent / "_core" / "include"
    places = [include, *(include / "cupy" / "_cccl" / name for name in ("thrust", "cub", "libcudacxx"))]
    nvidia = importlib.import_module("nvidia").__path__     # cuda_runtime/include with CUDA 12, cu13/include with 13
    places += [found for place in nvidia for found in Path(place).glob("*/include")]
    source = ["#include <cupy/complex.cuh>", "#include <cupy/carray.cuh>", codegen.functions(),
              codegen.functions("_gpu/random.cuh")]
    source += [f"__device__ void loop{k}({parameters(codes, '&')}) {{ {body(ufunc, codes)} x{len(codes) - 1} = v0; }}"
               for k, (_, ufunc, _, codes) in enumerate(loops())]
    names = {name: codegen.TYPES[code] for code, name in codegen.NAMES.items() if name[-1] in "8246"}
    source += [f"typedef {kind} {name};" for name, kind in names.items() if "complex" not in name and name != "float16"]
    for k, (function, dtype, tables) in enumerate(codegen.DRAWS.values()):
        params, lines = codegen.draw_code(function, dtype, tables)
        params = re.sub(r"raw (\w+) ", r"const \1* ", params)
        source.append(f"__device__ void draw{k}(long long i, {params}, {dtype}& y) {{ {lines} }}")
    program = nvrtc.createProgram("\n".join(source), "loops.cu", [], [])
    try:
        nvrtc.compileProgram(program, ["--std=c++17", "-arch=sm_90", *(f"-I{place}" for place in places)])
    except nvrtc.NVRTCError:
        pytest.fail(nvrtc.getProgramLog(program)[:5000])


def parameters(codes, mark):
    return ", ".join(f"{codegen.TYPES[c]}{mark} x{i}" for i, c in enumerate(codes))


def body(ufunc, codes):
    inputs = list(range(len(codes) - 1))
    return codegen.code([(codegen.recipe((ufunc, codes)), inputs)], list(codes[:-1]), [])[2]


def values(character):
    """Operands of a type: NaN, infinities, zeros, the least and largest, and some between."""
    dtype = numpy.dtype(character)
    if dtype.kind == "b":
        return numpy.array([False, True])
    if dtype.kind in "iu":
        limits = numpy.iinfo(dtype)
        some = [limits.min, limits.max, 0, 1, 2, 3, 7, 8 * dtype.itemsize]
        return numpy.array(some + [-1, -2, -7] * (dtype.kind == "i"), dtype)
    some = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, 3.25, -7.5, 100, numpy.inf, -numpy.inf, numpy.nan]
    some = numpy.array(some, dtype.char.lower())
    if dtype.kind == "f":
        return some
    some = some[:10]            # of infinities, libraries differ
    return (some[:, None] + 1j * some).ravel().astype(dtype)


def compiled(tmp_path, source, options=()):
    path = tmp_path / "loops.cpp"
    path.write_text(source)
    done = subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-ffp-contract=off", "-fwrapv", "-std=c++14", *options,
                           str(path), "-o", str(tmp_path / "loops.so")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:5000]
    return ctypes.CDLL(str(tmp_path / "loops.so"))


@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
def test_functions_are_numpys(tmp_path):
    rows = list(loops())
    assert len(rows) > 400
    source = [BEGIN, codegen.functions(), 'extern "C" {']
    for k, (_, ufunc, _, codes) in enumerate(rows):
        arrays = parameters(codes, "*").replace(" x", " p")
        reads = " ".join(f"{codegen.TYPES[c]} x{i} = p{i}[n];" for i, c in enumerate(codes[:-1]))
        source.append(f"void loop{k}(long size, {arrays}) {{ for (long n = 0; n < size; n++) {{ "
                      f"{reads} {body(ufunc, codes)} p{len(codes) - 1}[n] = v0; }} }}")
    library = compiled(tmp_path, "\n".join([*source, "}"]))
    wrong = []
    for k, (name, ufunc, characters, _) in enumerate(rows):
        operands = [numpy.array(x) for x in zip(*itertools.product(*map(values, characters[:-1])))]
        operands = [x.astype(c) for x, c in zip(operands, characters)]
        if name == "left_shift" or name == "right_shift":       # by a negative number: no two agree
            operands = [x[operands[1] >= 0] for x in operands]
        if name in ("power", "float_power") and characters[0] in "FD":
            operands = [x[(operands[0] != 0) & (abs(operands[0]) < 50) & (abs(operands[1]) < 5)] for x in operands]
        with numpy.errstate(all="ignore"):
            expected = ufunc(*operands)
        got = numpy.empty(expected.shape, characters[-1])
        assert expected.dtype == got.dtype
        addresses = [ctypes.c_void_p(x.ctypes.data) for x in [*operands, got]]
        getattr(library, f"loop{k}")(ctypes.c_long(got.size), *addresses)
        exact = numpy.dtype(characters[-1]).kind in "?biu"
        close = (got == expected) if exact else numpy.isclose(
            got, expected, COMPARED[characters[-1]], 1e-30, equal_nan=True)
        if not close.all():
            i = int(numpy.flatnonzero(~close)[0])
            wrong.append(f"{name} {characters}: {[x[i] for x in operands]} gives {got[i]}, not {expected[i]}")
    assert not wrong, "\n".join(wrong)
