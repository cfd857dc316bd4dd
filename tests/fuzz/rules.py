"""What may differ from NumPy, each with its reason, and what is not asked. Nothing else may."""

import functools
import re

import numpy

import dflow.numpy as np
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
ROOTS = {"logaddexp.reduce", "logaddexp2.reduce", "hypot.reduce"}  # of integers, too, they are no integers

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
    "angle",
}

# The same of halves alone.
OF_HALVES = {"sin", "cos"}

# The same of complex numbers, whose products and magnitudes are fused or not.
OF_COMPLEX = {"abs", "absolute", "square", "multiply", "divide", "true_divide", "reciprocal", "multiply.accumulate"}
COMPLEX = re.compile(r"\d[jJ]\b")
OPERATORS = re.compile(r" [*/]=? |abs\(|\*\*")

# What may also differ by whether operands are there, as those that are not may be copied: the above, and products that
# NumPy's loops sum where they are small, dflow's otherwise.
LOOSE = STRIDED | OF_COMPLEX | {"einsum", "vecdot", "matvec", "vecmat", "linalg.vecdot"}

# Of two zeros of different signs, any may be the larger, or the first of what is sorted: which one NumPy takes depends
# on where they are in a vector.
EXTREMES = {"max", "min", "amax", "amin", "nanmax", "nanmin", "maximum", "minimum", "fmax", "fmin", "clip", "sort"}

CALL = re.compile(r"(?:np\.|\.)((?:linalg\.|fft\.|\w+\.(?=reduce|accumulate|at\b|outer))?\w+)\(")


def called(statement):
    """The names of what a statement calls."""
    names = set(CALL.findall(statement))
    if " @" in statement:
        names.add("matmul")
    if " **" in statement:
        names.add("power")
    if re.search(r"(?<![\w.])abs\(", statement):
        names.add("absolute")
    return names


@functools.cache
def close_rows():
    return {f"{row.module}.{row.name}".removeprefix("numpy.") for row in TABLE.values() if row.close}


def two_zeros(statement, result):
    """Whether the result may have zeros of the other sign."""
    chosen = {name.partition(".")[0] for name in called(statement)} & EXTREMES  # also of maximum.at
    dtype = getattr(result, "dtype", None)
    return bool(chosen) and dtype is not None and dtype.kind in "fc" and bool((result == 0).any())


def operands_of(names, variables):
    return [x for name in names if isinstance(x := variables.get(name), (numpy.ndarray, numpy.generic))]


def level(statement, names, variables):
    """0 where dflow must give NumPy's bits, 1 where the last ones may differ."""
    calls = {name.removesuffix(".at").removesuffix(".outer") for name in called(statement)}
    if calls & {"power.reduce", "pow.reduce"}:
        calls.add("power")
    operands = operands_of(names, variables)
    if of_halves(statement, operands):
        calls |= STRIDED
    if calls & STRIDED and by_strides(statement, calls, operands):
        return 1
    if calls & OF_COMPLEX or OPERATORS.search(statement):
        if any(isinstance(variables.get(name), complex) for name in names) or COMPLEX.search(statement):
            return 1  # scalars: see by_strides()
        if any(x.dtype.kind == "c" for x in operands) and by_strides(statement, calls | STRIDED, operands):
            return 1
    if not calls & SUMS and not calls & PRODUCTS and not calls & close_rows():
        return 0
    fractions = re.search(r"\d\.\d|/ ?\d|\de[+-]?\d", statement)
    if calls & (SUMS | PRODUCTS) and not calls & (MEANS | FACTORS | ROOTS) and not fractions:
        if exact(operands, "+ 0" in statement or not calls & PRODUCTS, narrow(statement)):
            return 0
    return 1


def of_halves(statement, operands):
    """Whether it takes sines of halves, whose last bits NumPy's vectors have otherwise, too."""
    names = {name.partition(".")[0] for name in called(statement)}
    return bool(names & OF_HALVES) and ("dtype='e'" in statement or any(x.dtype.char == "e" for x in operands))


def by_strides(statement, calls, operands):
    """Whether one of STRIDED may meet memory that it takes otherwise than a copy."""
    if not calls & STRIDED - {"power", "pow"} and all(x.dtype.kind in "biu" for x in operands):
        if not re.search(r"\d\.\d|\d/|nan|inf|float|double|\d[je]\d*", statement):
            return False  # integers
    return (
        "[" in statement
        or ".at(" in statement
        or any(x.size == 1 for x in operands)  # NumPy's scalars have functions of their own, one element has no strides
        or len({x.shape for x in operands}) > 1  # one exponent for a row: shortcuts for -1, 0, 0.5, 1 and 2
        or any(isinstance(x, numpy.ndarray) and not x.flags.c_contiguous for x in operands)
    )


def is_loose(statement, names, variables):
    """Whether its last bits may differ by whether operands are there."""
    if called(statement) & LOOSE or of_halves(statement, operands_of(names, variables)):
        return True
    return bool(OPERATORS.search(statement)) and any(x.dtype.kind == "c" for x in operands_of(names, variables))


def bound(statement, names, variables, result):
    """By how much a result of level 1 may differ: a bound of the error of its sums. None: none is known."""
    calls = called(statement)
    operands = [x for x in operands_of(names, variables) if x.size and x.dtype.kind in "biufc"]
    if calls and not calls - EXTREMES and not OPERATORS.search(statement):
        return 0
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
    largest += [max(abs(float(text)), 1.0) for text in re.findall(r"(?<!\w)\d+\.?\d*(?:e[+-]?\d+)?(?!\w)", statement)]
    largest += [2.0 ** int(text) for text in re.findall(r"\b2 ?\*\* ?(\d+)", statement)]
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


def narrow(statement):
    """The digits of the type that dtype= names, if it is a small one of floats."""
    digits = {"e": 10, "f": 23, "F": 23}
    return min((digits.get(name, 53) for name in re.findall(r"dtype='(\w+)'", statement)), default=53)


def exact(operands, signs, digits):
    """Whether all sums of products of these are exact: they are small integers, and no zero is negative."""
    bound = 1
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
avoid(
    r"\b(mean|var|std|nanmean|nanvar|nanstd)\(.*where=",
    "NumPy's means count the numbers of where=",
    lambda statement, variables: (
        bool(re.search(r"where=[^,)]*[\d.]", re.sub(r"v\d+", "v", statement)))
        or any(
            getattr(getattr(variables.get(name), "dtype", None), "char", "?") != "?"
            for name in re.findall(r"where=\(?-?(v\d+)", statement)
        )
    ),
)
avoid(
    r"(var|std)\(.*where=",
    "NumPy's methods take other libraries' where= for NumPy's",
    lambda statement, variables: any(name in variables.get("foreign", ()) for name in NAMES.findall(statement)),
)
avoid(r"meshgrid\(.*copy=False", "README: views that may show an element twice are read-only")
avoid(r"\b(any|all)\(.*dtype=", "NumPy's methods take dtype=, which is not in their signatures")
avoid(
    r"\.at\(|\.real = |\bround\(.*out=|copyto\(",
    "NumPy's functions do not look at whether they may write where they cast, nor to the array itself",
    lambda statement, variables: any(
        isinstance(x := variables.get(name), numpy.ndarray) and not x.flags.writeable
        for name in NAMES.findall(statement)
    ),
)
avoid(
    r"nan(min|max)\(.*(where|initial)=",
    "NumPy's nanmin() and nanmax() of what is no array look for what is not nan without where= and initial=",
    lambda statement, variables: (
        (first := re.search(r"nan(?:min|max)\((v\d+),", statement)) is None
        or not isinstance(variables.get(first[1]), numpy.ndarray)
    ),
)
avoid(
    r"out=v\d+",
    "what a cast makes of a float beyond the type of integers, C does not say",
    lambda statement, variables: (
        "'unsafe'" in statement
        and getattr(variables.get(re.search(r"out=(v\d+)", statement)[1]), "dtype", numpy.dtype("d")).kind in "iu"
    ),
)
avoid(
    r"out=v\d+",
    "as above: reductions cast so; with numbers that have a sign, those of 64 bits without one are computed as floats",
    lambda statement, variables: (
        (to := getattr(variables.get(re.search(r"out=(v\d+)", statement)[1]), "dtype", numpy.dtype("d"))).kind in "iu"
        and any(
            x.dtype.kind == "i" and to.char in "LQ" and (x < 0).any()
            or x.dtype.kind in "fc" and not (numpy.abs(x) < 2**15).all()
            for x in operands_of(NAMES.findall(statement), variables)
        )
    ),
)
avoid(
    r"dtype='[bBhHiIlLqQ]'",
    "as above, where memory is cast in another order",
    lambda statement, variables: (
        ("'unsafe'" in statement or bool(called(statement) & REDUCERS))
        and any(
            x.dtype.kind in "fc" and not (numpy.abs(x) < (2**31 if "'unsafe'" in statement else 2**15)).all()
            for x in operands_of(NAMES.findall(statement), variables)
        )
    ),
)
avoid(
    r"^v\d+(\[.*\])? = v\d+|(array\(v\d+, |astype\()'[bBhHiIlLqQ]'|\bput\(|\.fill\(",
    "as above, where it is stored",
    lambda statement, variables: (
        (
            bool(re.search(r"(array\(v\d+, |astype\()'[bBhHiIlLqQ]'", statement))
            or getattr(variables.get(re.search(r"v\d+", statement)[0]), "dtype", numpy.dtype("d")).kind in "iu"
        )
        and any(
            isinstance(x, numpy.ndarray) and x.dtype.kind in "fc" and not (numpy.abs(x) < 2**31).all()
            for x in operands_of(NAMES.findall(statement)[1:], variables)
        )
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
    r"v\d+\[.*(v\d+|np\.)|copy=False|require|putmask|copyto|place\(|\.fill\(v|__setitem__\(.*v",
    "NumPy's own arrays are written to as NumPy does, or copied",
    lambda statement, variables: any(name in variables.get("foreign", ()) for name in re.findall(r"v\d+", statement)),
)
avoid(r"\.flat\[.*\] = .*v\d", "NumPy reads elements that it has just written")
avoid(
    r"^v\d+\[.*v\d+.*\] = ",
    "NumPy goes through indices in the order of their memory, and the last one counts where they repeat",
    lambda statement, variables: any(
        isinstance(x := variables.get(name), numpy.ndarray) and x.dtype.kind in "iu" and not x.flags.c_contiguous
        for name in NAMES.findall(statement.partition("] = ")[0])
    ),
)
avoid(
    r"^(v\d+)\[.*(v\d|[<>=]).*\] = \1(\[[^v<>=]*\]|\.T)?$",
    "under a mask, NumPy reads elements that it has just written",
)
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
avoid(
    r"(logical_\w+|equal|less|greater|is\w+|signbit)\(.*out=v",
    "NumPy writes a truth value also where the mask of where= leaves an array of another type as it is",
    lambda statement, variables: (
        "where=" in statement
        and getattr(variables.get(re.search(r"out=(v\d+)", statement)[1]), "dtype", numpy.dtype("?")).char != "?"
    ),
)
avoid(r"^(?=.*where=)(?=.*dtype=)(?=.*out=v)", "NumPy casts to that type and back what where= leaves as it is, too")
avoid(r"(linspace|select|where)\(.*2 ?\*\* ?(6[3-9]|70)", "README: arrays hold numbers, not Python's; where() crashes")
avoid(
    r"^(?=.*2 ?\*\* ?(6[3-9]|70))(?=.*(v\d+\S* \*\* | \*\* v|\*\*=|pow(er)?[.(]))",
    "powers of Python's integers, in arrays of objects, take for ever",
)
avoid(
    r"\b(power|pow|float_power|arctan2|atan2)\.reduce",
    "NumPy's AVX-512 loops take a result that stays where it is for one that moves: these are wrong",
    lambda statement, variables: (
        bool(re.search(r"\d\.\d|nan|inf|atan2|arctan2|float_power|dtype='?[defgDFG]", statement))
        or any(x.dtype.kind not in "biu" for x in operands_of(NAMES.findall(statement), variables))
    ),
)
avoid(r"ldexp\.reduce|\b(arctan2|atan2)\.at\(", "as above, where NumPy casts to its buffer")
avoid(
    r"\b(equal|not_equal|less|less_equal|greater|greater_equal)\.(accumulate|reduce|reduceat)\(.*dtype=(bool|'\?')",
    "NumPy reads truth values where its buffer holds numbers, or finds no loop, by what was called before",
)
avoid(
    r" [<>]=? ",
    "NumPy's complex scalars compare their real parts also where the imaginary ones are nan, unlike its arrays",
    lambda statement, variables: any(
        x.dtype.kind == "c" and not x.ndim and numpy.isnan(x)
        for x in operands_of(NAMES.findall(statement), variables)
    ),
)
avoid(r"nan(max|min)\(.*initial=(numpy\.)?nan", "NumPy's scalars start from it, its arrays do not")
avoid(
    r"numpy\.float(16|32)\(",
    "Python's complex numbers and NumPy's scalars make Python's, which are weak",
    lambda statement, variables: bool(COMPLEX.search(statement)),
)
avoid(r"\.owndata|\.base is", "what NumPy writes in Python returns views of results that nobody else has")
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
    # NumPy's `concatenate` does not look where there is nothing to write.
    return "concatenate(" in statement and "read-only" in str(ours)


def flags_differ(ours, theirs):
    """How an array may be used otherwise than NumPy's."""
    if isinstance(theirs, numpy.generic) and not np.isscalar(ours):
        return f"{type(ours).__name__} is no scalar, as NumPy's is"
    if isinstance(theirs, numpy.ndarray) and theirs.size and hasattr(ours, "flags"):
        if ours.flags.writeable != theirs.flags.writeable:
            return f"flags.writeable is {ours.flags.writeable}, NumPy's {theirs.flags.writeable}"
    return None
