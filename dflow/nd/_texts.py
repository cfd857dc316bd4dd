"""The docstrings of the functions that _table.py makes.

A function that calls one of npx has its sections, with MXNet 1's names of parameters. One that calls one of np has a
row of SUMMARIES, with the sections that its kind shares, or a block of TEXTS: a summary, parameters, the result, and
examples.
"""

import re

from dflow._base.documents import plain

ALWAYS = """out : ndarray, optional
    Where the result goes, which is then what the call returns.
name : str, optional
    MXNet's; it changes nothing."""
IGNORED = "{} : optional\n    MXNet's; it changes nothing."
RAISES = "TypeError\n    For more arguments than these, and for others."
UNARY = """data : ndarray or number
    Of any shape."""
BINARY = """lhs, rhs : ndarray or number
    Their shapes broadcast."""
SAME = "ndarray\n    Of {}, and the dtype that np.{} gives."
FLOATS = "ndarray\n    Of {}, float32."

# What it calls: a summary | the arguments of an example | what it prints, with ~ of four decimals, with / of lines.
SUMMARIES = """
np.abs           The absolute value. | [-1.5, 2] | [1.5 2. ]
np.arccos        The angle in radians, from 0 to pi, whose cosine is x. | [-1, 1] | ~ [3.1416 0.    ]
np.arccosh       The number whose hyperbolic cosine is x. | [1, 2] | ~ [0.    1.317]
np.arcsin        The angle in radians, from -pi/2 to pi/2, whose sine is x. | [0, 1] | ~ [0.     1.5708]
np.arcsinh       The number whose hyperbolic sine is x. | [0, 1] | ~ [0.     0.8814]
np.arctan        The angle in radians, from -pi/2 to pi/2, whose tangent is x. | [0, 1] | ~ [0.     0.7854]
np.arctanh       The number whose hyperbolic tangent is x. | [0, 0.5] | ~ [0.     0.5493]
np.cbrt          The cube root. | [8, -27] | ~ [ 2. -3.]
np.ceil          The next whole number that is not less. | [-1.5, 1.5] | [-1.  2.]
np.cos           The cosine of an angle in radians. | [0, 3.1415927] | ~ [ 1. -1.]
np.cosh          The hyperbolic cosine. | [0, 1] | ~ [1.     1.5431]
np.degrees       Radians as degrees. | [0, 3.1415927] | ~ [  0. 180.]
np.exp           e to the power of x. | [0, 1] | ~ [1.     2.7183]
np.expm1         exp(x) - 1, exact where x is small. | [0, 1] | ~ [0.     1.7183]
np.fix           The next whole number towards zero. | [-1.5, 1.5] | [-1.  1.]
np.floor         The next whole number that is not greater. | [-1.5, 1.5] | [-2.  1.]
np.log           The natural logarithm. | [1, 2.7182817] | ~ [0. 1.]
np.log10         The logarithm of base 10. | [1, 100] | ~ [0. 2.]
np.log1p         log(1 + x), exact where x is small. | [0, 1] | ~ [0.     0.6931]
np.log2          The logarithm of base 2. | [1, 8] | ~ [0. 3.]
np.negative      -x. | [1, -2] | [-1.  2.]
np.radians       Degrees as radians. | [0, 180] | ~ [0.     3.1416]
np.reciprocal    1 / x. | [1, 4] | [1.   0.25]
np.rint          The nearest whole number, of two the even one. | [1.5, 2.5, -1.2] | [ 2.  2. -1.]
np.sign          -1, 0 or 1: the sign of x. | [-3, 0, 2] | [-1.  0.  1.]
np.sin           The sine of an angle in radians. | [0, 1] | ~ [0.     0.8415]
np.sinh          The hyperbolic sine. | [0, 1] | ~ [0.     1.1752]
np.sqrt          The square root, nan of negative numbers. | [4, 9] | [2. 3.]
np.square        x * x. | [-2, 3] | [4. 9.]
np.tan           The tangent of an angle in radians. | [0, 1] | ~ [0.     1.5574]
np.tanh          The hyperbolic tangent. | [0, 1] | ~ [0.     0.7616]
np.trunc         The whole number towards zero. | [-1.5, 1.5] | [-1.  1.]
np.logical_not   1 where x is 0, else 0. | [0, 3] | [1. 0.]
np.isfinite      1 where x is neither infinite nor nan, else 0. | [1, float("inf")] | [1. 0.]
np.isinf         1 where x is infinite, else 0. | [1, float("inf")] | [0. 1.]
np.isnan         1 where x is nan, else 0. | [1, float("nan")] | [0. 1.]
np.add           lhs + rhs. | [[1, 2], [3, 4]]; [10, 20] | [[11. 22.] /  [13. 24.]]
np.subtract      lhs - rhs. | [[1, 2], [3, 4]]; [10, 20] | [[ -9. -18.] /  [ -7. -16.]]
np.multiply      lhs * rhs. | [[1, 2], [3, 4]]; [10, 20] | [[10. 40.] /  [30. 80.]]
np.divide        lhs / rhs. | [[1, 2], [3, 4]]; [10, 20] | [[0.1 0.1] /  [0.3 0.2]]
np.mod           What is left of lhs when it is divided by rhs, of the sign of rhs. | [5, -5]; [3] | [2. 1.]
np.power         lhs to the power of rhs. | [2, 3]; [3, 2] | ~ [8. 9.]
np.maximum       The greater of the two; nan where one is. | [1, 5]; [3] | [3. 5.]
np.minimum       The less of the two; nan where one is. | [1, 5]; [3] | [1. 3.]
np.hypot         sqrt(lhs**2 + rhs**2), the hypotenuse of these legs. | [3, 5]; [4, 12] | ~ [ 5. 13.]
np.equal         1 where the two are equal, else 0. | [1, 2, 3]; [2] | [0. 1. 0.]
np.not_equal     1 where the two differ, else 0. | [1, 2, 3]; [2] | [1. 0. 1.]
np.greater       1 where lhs is greater than rhs, else 0. | [1, 2, 3]; [2] | [0. 0. 1.]
np.greater_equal 1 where lhs is not less than rhs, else 0. | [1, 2, 3]; [2] | [0. 1. 1.]
np.less          1 where lhs is less than rhs, else 0. | [1, 2, 3]; [2] | [1. 0. 0.]
np.less_equal    1 where lhs is not greater than rhs, else 0. | [1, 2, 3]; [2] | [1. 1. 0.]
np.logical_and   1 where neither is 0, else 0. | [0, 1, 2]; [1] | [0. 1. 1.]
np.logical_or    1 where one at least is not 0, else 0. | [0, 1, 2]; [0] | [0. 1. 1.]
np.logical_xor   1 where one of the two is 0 and the other is not, else 0. | [0, 1, 2]; [1] | [1. 0. 0.]
"""

# Blocks of a name, a summary, parameters, the result, and examples.
TEXTS = """
np.argmax

The index of the largest element along an axis, of equal ones the first.

data : ndarray
    Of any shape and dtype.
axis : int, optional
    Along which. None: of the flattened array.
keepdims : bool
    Keep the axis, with length 1. Default False.

ndarray
    Of data's shape without the axis, float32, as in MXNet.

>>> print(nd.argmax(nd.array([[1, 3, 2], [6, 5, 4]]), axis=1))
[1. 0.]
>>> nd.argmax(nd.array([1, 3, 2])).dtype
dtype('float32')

np.argmin

The index of the smallest element along an axis, of equal ones the first.

data : ndarray
    Of any shape and dtype.
axis : int, optional
    Along which. None: of the flattened array.
keepdims : bool
    Keep the axis, with length 1. Default False.

ndarray
    Of data's shape without the axis, float32, as in MXNet.

>>> print(nd.argmin(nd.array([[1, 3, 2], [6, 5, 4]]), axis=1, keepdims=True))
[[0.]
 [2.]]

np.cumsum

The sums of the elements up to each one, along an axis.

a : ndarray
    Of any shape.
axis : int, optional
    Along which. None: of the flattened array.
dtype : dtype, optional
    Of the sums. None: as np.cumsum() has it.

ndarray
    Of a's shape, or of one axis.

>>> print(nd.cumsum(nd.array([[1, 2], [3, 4]]), axis=1))
[[1. 3.]
 [3. 7.]]

np.clip

Each element, or a bound where it is beyond that.

data : ndarray
    Of any shape.
a_min, a_max : number
    The bounds.

ndarray
    Of data's shape.

>>> print(nd.clip(nd.array([-1, 0.5, 2]), 0, 1))
[0.  0.5 1. ]

np.squeeze

The same elements without axes of length 1.

data : ndarray
    Of any shape and dtype.
axis : int or tuple of int, optional
    Which axes. None: all of length 1.

ndarray
    A view.

>>> x = nd.ones((1, 3, 1))
>>> nd.squeeze(x).shape, nd.squeeze(x, axis=0).shape
((3,), (3, 1))

np.expand_dims

The same elements with an axis of length 1 more.

data : ndarray
    Of any shape and dtype.
axis : int
    Where the axis is in the result.

ndarray
    A view.

>>> nd.expand_dims(nd.ones((2, 3)), axis=1).shape
(2, 1, 3)

np.swapaxes

The same elements with two axes in each other's place.

data : ndarray
    Of any shape and dtype.
dim1, dim2 : int
    The axes. Default 0.

ndarray
    A view.

>>> nd.swapaxes(nd.ones((2, 3, 4)), 0, 2).shape
(4, 3, 2)

np.transpose

The same elements with axes in another order.

data : ndarray
    Of any shape and dtype.
axes : tuple of int, optional
    The axes of data, in the order of the result. None: from the last to the first.

ndarray
    A view.

>>> x = nd.ones((2, 3, 4))
>>> nd.transpose(x).shape, nd.transpose(x, axes=(1, 0, 2)).shape
((4, 3, 2), (3, 2, 4))

np.tile

The array again and again, along one or more axes.

data : ndarray
    Of any shape and dtype.
reps : int or tuple of int
    How often, along each of the last axes.

ndarray
    Of data's dtype.

>>> print(nd.tile(nd.array([1, 2]), (2, 2)))
[[1. 2. 1. 2.]
 [1. 2. 1. 2.]]

np.repeat

Each element, or each part along an axis, again and again.

data : ndarray
    Of any shape and dtype.
repeats : int
    How often.
axis : int, optional
    Along which. None: the elements of the flattened array.

ndarray
    Of data's dtype.

>>> x = nd.array([[1, 2], [3, 4]])
>>> print(nd.repeat(x, 2))
[1. 1. 2. 2. 3. 3. 4. 4.]
>>> nd.repeat(x, repeats=3, axis=1).shape
(2, 6)

np.flip

The elements in reverse order along axes.

data : ndarray
    Of any shape and dtype.
axis : int or tuple of int
    Along which.

ndarray
    A view.

>>> print(nd.flip(nd.array([[1, 2], [3, 4]]), axis=1))
[[2. 1.]
 [4. 3.]]

np.diag

A matrix with these elements on a diagonal, or of a matrix the elements there.

data : ndarray
    Of one axis or two.
k : int
    Which diagonal: above the main one, or below if negative. Default 0.

ndarray
    Of two axes, zeros elsewhere; or of one.

>>> print(nd.diag(nd.array([1, 2])))
[[1. 0.]
 [0. 2.]]
>>> print(nd.diag(nd.array([[1, 2], [3, 4]]), k=1))
[2.]

np.moveaxis

The same elements with axes in other places, and the other axes in the order that they have.

tensor : ndarray
    Of any shape and dtype.
source : int or tuple of int
    The axes.
destination : int or tuple of int
    Their places in the result.

ndarray
    A view.

>>> nd.moveaxis(nd.ones((2, 3, 4)), 0, 2).shape
(3, 4, 2)

np.where

Elements of one array where a condition holds, and of another elsewhere.

condition : ndarray
    Whose elements hold where they are not 0.
x, y : ndarray or number
    What to choose from. The shapes of all three broadcast.

ndarray
    Of the dtype that x and y have together.

>>> print(nd.where(nd.array([1, 0, 1]), nd.array([1, 2, 3]), nd.array([-1, -2, -3])))
[ 1. -2.  3.]

nd.batch_take

The element of each row that an index says.

a : ndarray
    Of shape (rows, columns).
indices : ndarray
    Of shape (rows,), also of a floating point dtype; one that is out of bounds is the nearest that is in.

ndarray
    Of shape (rows,), and a's dtype.

>>> print(nd.batch_take(nd.array([[1, 2], [3, 4]]), nd.array([1, 0])))
[2. 3.]

nd.choose_element_0index

The element of each row that an index says: batch_take() by its older name.

lhs : ndarray
    Of shape (rows, columns).
rhs : ndarray
    Of shape (rows,), also of a floating point dtype; one that is out of bounds is the nearest that is in.

ndarray
    Of shape (rows,), and the dtype of lhs.

>>> print(nd.choose_element_0index(nd.array([[1, 2], [3, 4]]), nd.array([1, 0])))
[2. 3.]
"""

# What is said otherwise than in npx.
OTHERWISE = {
    "npx.batch_norm": (
        ("In training (None: as autograd says)", "In training, as autograd says,"),
        (", training=True))\n[[-1. -1.]\n [ 1.  1.]]", "))\n[[1. 2.]\n [3. 6.]]"),
    ),
    "npx.batch_dot": (("matrix of a first", "matrix of lhs first"), ("matrix of b first", "matrix of rhs first")),
}

_SECTION = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
_PARAMETER = re.compile(r"^(?=\S)", re.MULTILINE)


_rows = {name: text.strip().split(" | ") for name, _, text in (
    line.partition(" ") for line in SUMMARIES.strip().splitlines())}
_parts = TEXTS.strip().split("\n\n")
_blocks = {_parts[k]: _parts[k + 1:k + 5] for k in range(0, len(_parts), 5)}


def text_of(called, path, target, order, names, defaults, cast):
    """The docstring of what programs know as `called`, as "nd.softmax": it calls `target`, known by `path`."""
    if path in _rows:
        summary, given, printed = _rows[path]
        arrays = ", ".join(f"nd.array({x})" for x in given.split("; "))
        rounded, printed = (".round(4)" if printed[0] == "~" else ""), printed.lstrip("~ ").replace(" / ", "\n")
        shape = "data's shape" if len(order) == 1 else "the shape that both have together"
        result = FLOATS.format(shape) if cast else SAME.format(shape, path[3:])
        return _whole(summary, UNARY if len(order) == 1 else BINARY, result, RAISES,
                      f">>> print({called}({arrays}){rounded})\n{printed}")
    if path in _blocks or called in _blocks:
        summary, told, result, examples = _blocks.get(called) or _blocks[path]
        return _whole(summary, told, result, RAISES, examples.replace(f"nd.{path[3:]}(", f"{called}("))
    text = plain(target.__doc__)
    if not text:
        return None             # python -OO has none
    for words in OTHERWISE.get(path, ()):
        text = text.replace(*words)
    parts = _SECTION.split(text)
    found = {name: text.rstrip() for name, text in zip(parts[1::2], parts[2::2])}
    theirs = {block.partition(" :")[0]: block.rstrip() for block in _PARAMETER.split(found["Parameters"]) if block}
    told, renamed = [], {}
    for k, name in enumerate(order):
        known = names[name] if name in names else name if name in theirs else list(theirs)[k]
        block = IGNORED.format(name) if known is None else name + theirs[known][len(known):]
        if known not in (None, name):
            renamed[known] = name
        if known in defaults:
            block += f" Default {defaults[known]!r}, as in MXNet."
        told.append(block)
    result, raises = found["Returns"], f"{found['Raises']}\n{RAISES}" if "Raises" in found else RAISES
    if cast:
        result = FLOATS.format("data's shape")
    summary, told, result = (_with_names(x, renamed) for x in (parts[0].strip(), "\n".join(told), result))
    return _whole(summary, told, result, raises,
                  found["Examples"].replace(f"npx.{path[4:]}(", f"{called}("))


def _with_names(text, renamed):
    """A text with other names of parameters, where it is plain that a word is one."""
    for old, new in renamed.items():
        text = re.sub(rf"\b{old}\b" if old == "x" else rf"(?<=\bof ){old}(?=[.,;])|\b{old}(?='s\b)", new, text)
        text = text.replace("s's ", "s' ")
    return text


def _whole(summary, told, result, raises, examples):
    return "\n".join([summary, "", "Parameters", "----------", told, ALWAYS, "", "Returns", "-------", result, "",
                      "Raises", "------", raises, "", "Examples", "--------", examples, ""])
