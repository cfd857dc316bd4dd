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
    crashes: bool = False  # its program ends the process


KNOWN = [
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
        "copyto() into an array of NumPy's",
        r"copyto\(v",
        "v0 = numpy.arange(1)\nnp.copyto(v0, v0)",
        lambda statement, variables: True,
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
        "casting= of logical functions",
        r"logical_\w+\(.*casting=",
        "v0 = np.logical_and([1], np.ones(1), casting='equiv')",
    ),
    Known("reduce() of a ufunc of mixed types", r"ldexp\.", "v0 = np.ldexp.reduce([1])"),
    Known(
        "select() with a default outside the type",
        r"select\(",
        "v0 = np.ones(1, 'h')\nv1 = np.select([v0 > 1], [v0], 2**15)",
    ),
    Known("putmask() into an array of NumPy's", r"putmask\(", "v0 = numpy.zeros(3)\nnp.putmask(v0, v0, v0)"),
    Known(
        "reduce() of one element where the identity changes it",
        r"(hypot|gcd)\.reduce",
        "v0 = np.hypot.reduce(np.array([[-5.0]]), axis=1)",
    ),
    Known("float() of complex numbers", r"float", "v0 = [*map(float, np.ones(1, 'D'))]"),
    Known(
        "nanmean() of integers that are ready adds in another order than of those that are not",
        r"nanmean\(",
        "v0 = np.array(numpy.frombuffer(numpy.random.RandomState(113).bytes(13208), 'l').copy())\nv1 = hold(v0)\n"
        "v2 = (np.nanmean(v0) == np.nanmean(v1)).item()",
    ),
    Known(
        "an integer times an infinite complex number, in place",
        r"\*= .*inf|\*= .*j|\+= .*j|-= .*j",
        "v0 = np.ones(2, 'h')\nv0[1] *= inf - 0j",
    ),
    Known(
        "ravel('K') of an array that is broadcast: in the order of its strides of zero",
        r"'K'",
        "v0 = np.ravel(np.broadcast_to([1, 0], (2, 2)), 'K')",
    ),
    Known(
        "which of two errors: where= of comparisons, that have no identity",
        r"(equal|less|greater)\.reduce\(.*where=",
        "v0 = np.greater_equal.reduce((1,), where=[True])",
    ),
    Known("which of two errors: take() into out", r"take\(.*out=", "v0 = np.take(np.array([]), [0], out=np.array([]))"),
    Known(
        "casting='equiv' and 'no' of comparisons with Python's numbers",
        r"casting=",
        "v0 = np.equal(0, np.ones(1, 'L'), casting='equiv')",
    ),
    Known(
        "var() and std() of an array of NumPy's with where= of ours",
        r"(var|std)\(.*where=",
        "v0 = numpy.ones((2, 3)).var(axis=1, where=np.array([[True]]))",
    ),
    Known("the sign of a zero beside a nan", r"nan(max|min)\(", "v0 = np.nanmax(complex(nan, -0.0))"),
]
COMPILED = [(re.compile(known.pattern), known.condition) for known in KNOWN]


def known(statement, variables):
    """Whether a statement is like one of these."""
    return any(
        pattern.search(statement) and (condition is None or condition(statement, variables))
        for pattern, condition in COMPILED
    )
