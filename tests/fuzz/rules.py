"""What may differ from NumPy, each with its reason, and what is not asked. Nothing else may."""

import functools
import re

import numpy

from dflow.ops.table import TABLE
from tests.fuzz.known import known

# -- the order of a sum --------------------------------------------------------------------------
# README: "The order of a floating-point sum, the last bits of a matrix product, and, with SciPy 1.18, of a transform."
# Integers that stay small are exact in any order: there the same bits are due.

SUMS = {
    "sum",
    "mean",
    "nansum",
    "nanmean",
    "average",
    "std",
    "var",
    "nanstd",
    "nanvar",
    "trace",
    "prod",
    "nanprod",
    "add.reduce",
    "multiply.reduce",
    "add.reduceat",
    "multiply.reduceat",
    "subtract.reduce",
    "divide.reduce",
    "true_divide.reduce",
    "logaddexp.reduce",
    "logaddexp2.reduce",
    "hypot.reduce",
    "cov",
    "corrcoef",
    "trapezoid",
    "histogram",
    "histogram2d",
    "histogramdd",
    "bincount",
}
PRODUCTS = {
    "matmul",
    "dot",
    "inner",
    "vdot",
    "tensordot",
    "einsum",
    "vecdot",
    "matvec",
    "vecmat",
    "convolve",
    "correlate",
    "linalg.matmul",
    "linalg.vecdot",
    "linalg.tensordot",
    "linalg.outer",
    "linalg.trace",
}
REDUCERS = {
    "sum",
    "prod",
    "max",
    "min",
    "amax",
    "amin",
    "any",
    "all",
    "mean",
    "std",
    "var",
    "nansum",
    "nanprod",
    "nanmax",
    "nanmin",
    "nanmean",
    "nanstd",
    "nanvar",
}
MEANS = {"mean", "nanmean", "average", "std", "var", "nanstd", "nanvar", "cov", "corrcoef"}
SPREADS = {"std", "var", "nanstd", "nanvar", "cov"}
FACTORS = {"prod", "nanprod", "multiply.reduce", "multiply.reduceat"}

# -- shortcuts by strides ---------------------------------------------------------------------------
# NumPy has two implementations of each of these, whose last bits differ: one for memory whose strides vector
# instructions take, the C library's for other memory, such as that of x[::-1]. Where dflow has a copy, the first runs.
STRIDED = {
    "tan",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "cbrt",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "asin",
    "acos",
    "atan",
    "asinh",
    "acosh",
    "atanh",
    "power",
    "pow",
    "float_power",
    "arctan2",
    "atan2",
}

CALL = re.compile(r"(?:np\.|\.)((?:linalg\.|fft\.|\w+\.(?=reduce|accumulate|at\b|outer))?\w+)\(")


def called(statement):
    """The names of what a statement calls."""
    names = set(CALL.findall(statement))
    if " @" in statement:
        names.add("matmul")
    if " **" in statement:
        names.add("power")
    return names


@functools.cache
def close_rows():
    return {f"{row.module}.{row.name}".removeprefix("numpy.") for row in TABLE.values() if row.close}


def operands_of(names, variables):
    return [x for name in names if isinstance(x := variables.get(name), (numpy.ndarray, numpy.generic))]


def level(statement, names, variables):
    """0 where dflow must give NumPy's bits, 1 where the last ones may differ."""
    calls = called(statement)
    operands = operands_of(names, variables)
    if calls & STRIDED and by_strides(statement, calls, operands):
        return 1
    if not calls & SUMS and not calls & PRODUCTS and not calls & close_rows():
        return 0
    if calls & (SUMS | PRODUCTS) and not calls & (MEANS | FACTORS):
        if exact(operands, "+ 0" in statement or not calls & PRODUCTS):
            return 0
    return 1


def by_strides(statement, calls, operands):
    """Whether one of STRIDED may meet memory that it takes otherwise than a copy."""
    if not calls & STRIDED - {"power", "pow"} and all(x.dtype.kind in "biu" for x in operands):
        if not re.search(r"\d\.\d|\d/|nan|inf|float|double|\d[je]\d*", statement):
            return False  # integers
    return (
        "[" in statement
        or len({x.shape for x in operands}) > 1  # one exponent for a row: shortcuts for -1, 0, 0.5, 1 and 2
        or any(isinstance(x, numpy.ndarray) and not x.flags.c_contiguous for x in operands)
    )


def bound(statement, names, variables, result):
    """By how much a result of level 1 may differ: a bound of the error of its sums. None: none is known."""
    calls = called(statement)
    operands = [x for x in operands_of(names, variables) if x.size and x.dtype.kind in "biufc"]
    if (
        not isinstance(result, (numpy.ndarray, numpy.generic))
        or result.dtype.kind not in "fc"
        or not result.size
        or not operands
    ):
        return None
    if any(name.startswith("linalg.") for name in calls):
        return None  # that depends on how near a matrix is to a singular one
    eps = max(float(numpy.finfo(x.dtype).eps) for x in (result, *operands) if x.dtype.kind in "fc")
    largest = [float(numpy.abs(x.astype("g" if x.dtype.kind != "c" else "G")).max(initial=1)) for x in operands]
    if not numpy.isfinite(largest).all() or numpy.prod(largest) ** 2 > float(numpy.finfo(result.dtype).max) / 1e6:
        return None  # what overflows depends on the order, too
    terms = max(x.size for x in operands)
    if calls & STRIDED and not calls & (SUMS | PRODUCTS | close_rows()):
        return 8 * eps * float(numpy.abs(result).max())
    if calls & FACTORS:
        return None
    size = numpy.prod(largest) * (max(largest) * 4 if calls & SPREADS else 1)
    error = 4 * eps * terms * size * (1 if calls & MEANS else terms)
    return error**0.5 + error if calls & {"std", "nanstd"} else error


def exact(operands, signs):
    """Whether all sums of products of these are exact: they are small integers, and no zero is negative."""
    bound, digits = 1, 53
    for x in operands:
        kind = x.dtype.kind
        if kind in "biu":
            if not signs:
                return False
            if x.size and kind != "b":
                bound *= max(abs(int(x.max())), abs(int(x.min())), 1)
            continue
        parts = (x.real, x.imag) if kind == "c" else (x,)
        digits = min(digits, numpy.finfo(x.dtype).nmant)
        for part in parts:
            if not part.size:
                continue
            if (
                not numpy.isfinite(part).all()
                or (part != numpy.trunc(part)).any()
                or (numpy.signbit(part) & (part == 0)).any()
            ):
                return False
            bound *= max(float(abs(part).max()), 1)
    if not signs:
        return False
    return bound * max((x.size for x in operands), default=1) < 2**digits


# -- not asked ----------------------------------------------------------------------------------

NAMES = re.compile(r"v\d+")
AVOIDED = []  # (pattern of the statement, condition on the variables or None, reason)


def avoid(pattern, reason, condition=None):
    AVOIDED.append((re.compile(pattern), condition, reason))


avoid(r"\bempty(_like)?\(|np\.ndarray\(", "what is not initialised has no value")
avoid(
    r"where=",
    "what is left out has no value",
    lambda statement, variables: (
        "out=" not in statement
        and not called(statement) & REDUCERS
        and ".reduce(" not in statement
        and not statement.startswith("np.")
    ),
)
avoid(r"device=|\bctx\b", "devices have tests of their own")
avoid(r"\b(tofile|dump|dumps|save|savez|load|open|fromfile|savetxt|loadtxt|genfromtxt|fromregex)\(", "files")
avoid(r"object|'[SUMmO]\d*'|\bstr\b", "README: arrays hold numbers")
avoid(r"get_include|show_config|__array_function__|getbufsize|printoptions", "not of arrays")


avoid(
    r"tolist|list\(|repr\(|apply_along|fromiter|vectorize|piecewise|\+ range|\bfor\b",
    "too slow where arrays are large",
    lambda statement, variables: any(
        getattr(variables.get(name), "size", 0) > 20000 for name in re.findall(r"v\d+", statement)
    ),
)


avoid(
    r"v\d+\[.*v\d+|copy=False|require|putmask|copyto|place\(",
    "NumPy's own arrays are written to as NumPy does, or copied",
    lambda statement, variables: any(name in variables.get("foreign", ()) for name in re.findall(r"v\d+", statement)),
)
avoid(r"\.flat\[.*\] = .*v\d", "NumPy reads elements that it has just written")
avoid(r"resize\(.*refcheck=False", "in NumPy, views of what is resized see memory that was freed")
avoid(
    r"flags|\.mT| in v|\.base\b|_\w+__",
    "README: 0-d arrays, as what full reductions give, behave like scalars, and are arrays",
    lambda statement, variables: any(
        isinstance(variables.get(name), numpy.generic) for name in NAMES.findall(statement)
    ),
)
avoid(
    r"bincount",
    "NumPy writes outside its memory where the largest number plus one is none",
    lambda statement, variables: any(
        getattr(variables.get(name), "size", 0) and numpy.max(numpy.abs(variables[name])) > 1e6
        for name in re.findall(r"v\d+", statement)
    ),
)
avoid(
    r"\b(equal|not_equal|less|less_equal|greater|greater_equal)\(.*-?\b\d+\b.*(where|out)=",
    "NumPy 2.4 ends the process where an integer lies beyond the type of the other operand",
)
avoid(r"random\.bytes", "there is no seed")
avoid(
    r"byteswap|view\(|tobytes|frombuffer",
    "long doubles have bytes that mean nothing",
    lambda statement, variables: any(
        getattr(getattr(variables.get(name), "dtype", None), "char", "") in ("g", "G")
        for name in re.findall(r"v\d+", statement)
    ),
)


avoid(
    r"out=",
    "NumPy's scalars have methods that return a copy of out",
    lambda statement, variables: any(
        numpy.ndim(variables.get(name, 1)) == 0
        for name in re.findall(r"v\d+", statement.partition("out=")[0].partition(" = ")[2])
    ),
)


def avoided(statement, variables):
    for pattern, condition, _ in AVOIDED:
        if pattern.search(statement) and (condition is None or condition(statement, variables)):
            return True
    return known(statement, variables)


# -- errors and objects ---------------------------------------------------------------------------


def same_error(statement, ours, theirs):
    """Whether an error of dflow's may stand for NumPy's (None: no error)."""
    # NumPy's `at` casts a read-only array of another type than the loop's, and writes to the array all the same.
    # Nor does `concatenate` look, where there is nothing to write.
    return (".at(" in statement or "concatenate(" in statement) and "read-only" in str(ours)


def flags_differ(ours, theirs):
    """How an array may be used otherwise than NumPy's."""
    if isinstance(theirs, numpy.ndarray) and hasattr(ours, "flags") and ours.flags.writeable != theirs.flags.writeable:
        return f"flags.writeable is {ours.flags.writeable}, NumPy's {theirs.flags.writeable}"
    return None
