"""Finds that are not mended yet. Statements like them are left out, and the program of each must still differ.

tests/test_fuzz.py fails when one no longer differs: then its entry goes, and its program joins found.py.
"""

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Known:
    reason: str
    pattern: str  # of the statements that are left out
    program: str  # statements, one a line, that show it
    condition: Any = None  # of the statement and the variables, besides the pattern
    crashes: bool = False  # its program ends the process, and is not run


KNOWN = [
    Known(
        "Python integers beyond int64 are arrays of objects, where no operator takes them",
        r"-?2\*\*(63|64|70)",
        "v0 = np.searchsorted((0,), 2**64)",
    ),
    Known(
        "an array of no axes as an index of one axis, by which NumPy copies, makes a view",
        r"\[.*(np|numpy)\.(array|int64)\((-?\d+|True)\)",
        "v0 = np.zeros((1, 1))\nv1 = v0[np.array(0)]\nv0[...] = 1",
    ),
    Known(
        "as above, by a variable",
        r"\[v\d+\]",
        "v0 = np.zeros((1, 1))\nv2 = np.array(0)\nv1 = v0[v2]\nv0[...] = 1",
        lambda statement, variables: any(
            getattr(variables.get(name), "ndim", 1) == 0 for name in re.findall(r"\[(v\d+)\]", statement)
        ),
    ),
    Known(
        "copies, of which NumPy makes views",
        r"trim_zeros|real_if_close|asarray_chkfinite|frombuffer",
        "v0 = np.ones(1)\nv1 = np.trim_zeros(v0)\nv0[...] = 2",
    ),
    Known(
        "meshgrid(copy=False) is read-only",
        r"meshgrid\(.*copy=False",
        "v0 = np.meshgrid(np.ones(2), np.ones(2), copy=False)[0]",
    ),
    Known(
        "dtype= of any() and all(), of which NumPy's method knows",
        r"\b(any|all)\(.*dtype=",
        "v0 = np.ones(3).all(dtype='?')",
    ),
    Known(
        "where= that is not of booleans",
        r"where=",
        "v0 = np.ones(1).any(where=np.ones(1))",
        lambda statement, variables: (
            bool(re.search(r"where=[^,)]*[\d.]", re.sub(r"v\d+", "v", statement)))
            or any(
                getattr(getattr(variables.get(name), "dtype", None), "char", "?") != "?"
                for name in re.findall(r"where=\(?-?(v\d+)", statement)
            )
        ),
    ),
    Known(
        "logical reductions with dtype=",
        r"logical_\w+\.(reduce|accumulate|reduceat)\(.*dtype=",
        "v0 = np.logical_and.reduce((0,), dtype='l')",
    ),
    Known(
        "nan and others to integers, unsafely",
        r"\.(real|imag) = |copyto\(.*unsafe|full(_like)?\(",
        "v0 = np.ones(1, 'l')\nv0.real = numpy.nan",
    ),
    Known(
        "copyto() into an array of NumPy's",
        r"copyto\(v",
        "v0 = numpy.arange(1)\nnp.copyto(v0, v0)",
        lambda statement, variables: True,
    ),
    Known("at() with numbers outside the type", r"\.at\(", "v0 = np.ones(3, 'b')\nnp.fmax.at(v0, [0, 1, 1], -129)"),
    Known("infinity in flat", r"\.flat\[.*\] = ", "v0 = np.ones(3, 'l')\nv0.flat[1:] = -numpy.inf"),
    Known(
        "put() of numbers outside the type", r"\bput\(", "v0 = np.ones(3, 'b')\nnp.put(v0, [0, 1], 2**40, mode='wrap')"
    ),
    Known(
        "initial= of another type than the array's",
        r"initial=",
        "v0 = np.ones(3)\nv1 = np.sum(np.ones((3, 2), 'l'), axis=1, initial=0.5, out=v0)",
    ),
    Known(
        "a scalar of NumPy's beyond the type of the array it is stored to",
        r"\] = .*numpy\.\w+\(",
        "v0 = np.ones(2, 'b')\nv0[...] = numpy.uint8(128)",
    ),
    Known(
        "a sequence of more axes than where it is stored",
        r"\] = \[|\] = .*tolist",
        "v0 = np.ones(3)\nv0[...] = [np.ones(3)]",
    ),
    Known(
        "comparisons with numbers outside the type, and out=",
        r"(less|greater|equal)\w*\(.*out=",
        "v0 = np.less(np.ones(1, 'i'), -2**32, out=np.ones(1))",
    ),
    Known(
        "which of two errors",
        r"\*\* -|\bpower\(|accumulate\(|bitwise_\w+\.reduce\(.*out=|where=0",
        "v0 = np.ones(2, 'B') ** -1",
    ),
    Known(
        "casting= of logical functions",
        r"logical_\w+\(.*casting=",
        "v0 = np.logical_and([1], np.ones(1), casting='equiv')",
    ),
    Known(
        "several axes of a reduction that has an order",
        r"(mod|remainder|power|subtract|divide|fmod|shift|arctan2|copysign|hypot|"
        r"heaviside|nextafter|logaddexp2?|floor_divide|gcd|lcm|ldexp)\.reduce\(.*axis=(None|\()",
        "v0 = np.mod.reduce(np.ones((2, 2)), axis=None)",
    ),
    Known("reduce() of a ufunc of mixed types", r"ldexp\.", "v0 = np.ldexp.reduce([1])"),
    Known(
        "take() and compress() along an axis of an array of none: SIGFPE",
        r"take\(|compress\(",
        "v0 = np.take(np.array(3.0), 0, axis=0)",
        lambda statement, variables: any(
            getattr(variables.get(name), "ndim", 1) == 0 for name in re.findall(r"v\d+", statement)
        ),
    ),
    Known(
        "select() with a default outside the type",
        r"select\(",
        "v0 = np.ones(1, 'h')\nv1 = np.select([v0 > 1], [v0], 2**15)",
    ),
    Known("putmask() into an array of NumPy's", r"putmask\(", "v0 = numpy.zeros(3)\nnp.putmask(v0, v0, v0)"),
    Known(
        "NumPy's power takes shortcuts where one exponent holds for its whole inner loop: -1, 0, 0.5, 1, 2",
        r"\*\* (v|\[)|\*\* \(|power\(|\*\*= [v(]",
        "v0 = np.arange(66.0) ** [[-1], [0]]",
    ),
    Known(
        "reduce() of one element where the identity changes it",
        r"(hypot|gcd)\.reduce",
        "v0 = np.hypot.reduce(np.array([[-5.0]]), axis=1)",
    ),
    Known("float() of complex numbers", r"float", "v0 = [*map(float, np.ones(1, 'D'))]"),
    Known("interp() of long doubles", r"interp\(", "v0 = np.interp(np.arange(2).astype('g'), [0, 1, 2], [0, 0, 0])"),
    Known(
        "nanmean() of integers that are ready adds in another order than of those that are not",
        r"nanmean\(",
        "v0 = np.array(numpy.arange(1651) * 7919 % 1000 * 2**44)\nv1 = hold(v0)\nv2 = np.nanmean(v0) == np.nanmean(v1)",
    ),
    Known(
        "an integer times an infinite complex number, in place",
        r"\*= .*inf|\*= .*j|\+= .*j|-= .*j",
        "v0 = np.ones(2, 'h')\nv0[1] *= inf - 0j",
    ),
    Known(
        "round() of complex numbers",
        r"round\(",
        "v0 = np.round(np.array([numpy.inf + 1.26j]), 1)",
        lambda statement, variables: True,
    ),
]
COMPILED = [(re.compile(known.pattern), known.condition) for known in KNOWN]


def known(statement, variables):
    """Whether a statement is like one of these."""
    return any(
        pattern.search(statement) and (condition is None or condition(statement, variables))
        for pattern, condition in COMPILED
    )
