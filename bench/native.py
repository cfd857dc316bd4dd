"""The loops of native.c, compiled for this machine when asked for: what a table's times are measured against."""
import ctypes
import os
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy

SOURCE = Path(__file__).with_name("native.c")
FLAGS = ["-O3", "-march=native", "-shared", "-fPIC", "-pthread"]

_POINTER, _LONG, _INT = ctypes.c_void_p, ctypes.c_long, ctypes.c_int
_ARGUMENTS = {
    "chain": [_POINTER, _POINTER, _POINTER, _LONG, _INT],
    "inplace": [_POINTER, _POINTER, _LONG, _INT],
    "stencil": [_POINTER, _POINTER, _LONG, _LONG, _INT],
    "dot": [_POINTER, _POINTER, _LONG, _INT],
}


def compiled(source, target, flags):
    """The library made of a C file; None without a compiler, or with one that does not take it."""
    compiler = shlex.split(os.environ.get("CC", "")) or [shutil.which("cc") or shutil.which("gcc") or "cc"]
    try:
        subprocess.run([*compiler, *flags, "-o", target, source], check=True, capture_output=True, timeout=60)
        return ctypes.CDLL(str(target))
    except (OSError, subprocess.SubprocessError):
        return None


@cache
def library():
    """The compiled loops; None without a compiler, or with one that does not take the flags."""
    with tempfile.TemporaryDirectory() as folder:
        loaded = compiled(SOURCE, Path(folder) / "native.so", FLAGS)
    if loaded is None:
        return None
    for name, arguments in _ARGUMENTS.items():
        getattr(loaded, name).argtypes = arguments
        getattr(loaded, name).restype = ctypes.c_double if name == "dot" else None
    return loaded


def loop(name, *values, result=None):
    """A function that calls one of the loops with these values, arrays as their data. None where there are no loops.

    It returns `result`, where the loop itself returns nothing.
    """
    loops = library()
    if loops is None:
        return None
    function = getattr(loops, name)
    arguments = [value.ctypes.data if isinstance(value, numpy.ndarray) else value for value in values]

    def call(_kept=values):
        returned = function(*arguments)
        return returned if result is None else result
    return call
