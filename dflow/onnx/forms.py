"""What ONNX has for functions of np and npx: FORMS[name](writer, to, result, given) writes the nodes of a call.

`to` is the name that its result gets, `result` the value for zeros as inputs, and `given` the arguments by their names.
"""

import inspect
import math
from functools import partial

import numpy
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from dflow.gluon.program import Reference, function_of

FORMS: dict = {}
# Methods whose arguments are other than those of the function of that name.
METHODS = {".reshape": ("a", "*shape"), ".transpose": ("a", "*axes"), ".flatten": ("a",), ".copy": ("a",),
           ".astype": ("a", "dtype"), ".[]": ("a", "key")}


def form(*names):
    """Decorates what writes the calls of functions."""
    def add(function):
        FORMS.update(dict.fromkeys(names, function))
        return function

    return add


def arguments_of(call):
    """The arguments by name; of ufuncs and where() as x0, x1, ..."""
    if call.name in METHODS:
        names = METHODS[call.name]
        if names[-1].startswith("*"):
            return {names[0]: call.args[0], names[-1][1:]: call.args[1:], **call.keywords}
        return dict(zip(names, call.args)) | call.keywords
    function = function_of(f"np{call.name}" if call.name.startswith(".") else call.name)
    if call.name in PLAIN:
        if call.keywords:
            raise ValueError(f"{call.name} with {', '.join(call.keywords)} has no form in ONNX here")
        return {f"x{i}": x for i, x in enumerate(call.args)}
    bound = inspect.signature(function).bind(*call.args, **call.keywords)
    bound.apply_defaults()
    return bound.arguments


def refuse(name, given, **usual):
    """ValueError where an argument is not as usual."""
    for key, value in usual.items():
        found = given.get(key, value)
        if found is not value and found is not numpy._NoValue and not (
                type(found) is type(value) and found == value):
            raise ValueError(f"{name} with {key}={found!r:.60} has no form in ONNX here")


def whole(*numbers):
    """Numbers of axes, shapes and the like."""
    return numpy.array(numbers, numpy.int64)


# -- elementwise -----------------------------------------------------------------------------------

UNARY = {"negative": "Neg", "absolute": "Abs", "abs": "Abs", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "tanh": "Tanh",
         "sin": "Sin", "cos": "Cos", "tan": "Tan", "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan",
         "sinh": "Sinh", "cosh": "Cosh", "arcsinh": "Asinh", "arccosh": "Acosh", "arctanh": "Atanh", "floor": "Floor",
         "ceil": "Ceil", "rint": "Round", "sign": "Sign", "reciprocal": "Reciprocal", "positive": "Identity"}
BINARY = {"add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "true_divide": "Div", "power": "Pow",
          "maximum": "Max", "minimum": "Min", "matmul": "MatMul"}
COMPARED = {"greater": "Greater", "less": "Less", "greater_equal": "GreaterOrEqual", "less_equal": "LessOrEqual",
            "equal": "Equal"}
LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
PLAIN = {f"np.{name}" for name in (*UNARY, *BINARY, *COMPARED, *LOGICAL, "square", "not_equal", "logical_not", "where",
                                   "isnan")}


def _elementwise(operation):
    def write(m, to, result, given):
        m.node(operation, *(m.name(x, result.dtype) for x in given.values()), to=to)

    return write


for _names in (UNARY, BINARY):
    for _name, _operation in _names.items():
        form(f"np.{_name}")(_elementwise(_operation))


@form("np.square")
def _square(m, to, result, given):
    x = m.name(given["x0"], result.dtype)
    m.node("Mul", x, x, to=to)


def _compared(operation):
    def write(m, to, result, given):
        dtype = numpy.result_type(*(m.value(x).dtype if isinstance(x, Reference) else x for x in given.values()))
        m.node(operation, *(m.name(x, dtype) for x in given.values()), to=to)

    return write


for _name, _operation in COMPARED.items():
    form(f"np.{_name}")(_compared(_operation))


@form("np.not_equal")
def _not_equal(m, to, result, given):
    _compared("Equal")(m, f"{to} is equal", result, given)
    m.node("Not", f"{to} is equal", to=to)


def _logical(operation):
    def write(m, to, result, given):
        m.node(operation, *(m.name(x, bool) for x in given.values()), to=to)

    return write


for _name, _operation in {**LOGICAL, "logical_not": "Not"}.items():
    form(f"np.{_name}")(_logical(_operation))


@form("np.isnan")
def _isnan(m, to, result, given):
    m.node("IsNaN", m.name(given["x0"]), to=to)


@form("np.where")
def _where(m, to, result, given):
    condition, x, y = given.values()
    m.node("Where", m.name(condition, bool), m.name(x, result.dtype), m.name(y, result.dtype), to=to)


@form("np.clip", ".clip")
def _clip(m, to, result, given):
    refuse("clip", given, out=None)
    low, high = given.get("a_min", given.get("min")), given.get("a_max", given.get("max"))
    low, high = (None if x is numpy._NoValue else x for x in (low, high))
    low, high = given.get("min") if low is None else low, given.get("max") if high is None else high
    name = m.name(given["a"], result.dtype)
    for operation, bound in (("Max", low), ("Min", high)):
        if bound is not None and bound is not numpy._NoValue:
            name = m.node(operation, name, m.name(bound, result.dtype))
    m.node("Identity", name, to=to)


# -- shapes ----------------------------------------------------------------------------------------

@form("np.reshape", ".reshape", "np.expand_dims", "np.squeeze", ".squeeze", ".flatten", "np.ravel", ".ravel",
      "npx.batch_flatten")
def _reshaped(m, to, result, given):
    refuse("reshape", given, order="C", copy=None)
    m.node("Reshape", m.name(next(iter(given.values()))), m.number(whole(*result.shape)), to=to, allowzero=1)


@form("np.transpose", ".transpose")
def _transposed(m, to, result, given):
    axes = given["axes"]
    axes = axes[0] if isinstance(axes, (tuple, list)) and len(axes) == 1 and not isinstance(axes[0], int) else axes
    order = normalize_axis_tuple(axes, result.ndim) if axes else tuple(range(result.ndim))[::-1]
    m.node("Transpose", m.name(given["a"]), to=to, perm=list(order))


@form("np.swapaxes", ".swapaxes")
def _swapped(m, to, result, given):
    order = list(range(result.ndim))
    i, k = given["axis1"], given["axis2"]
    order[i], order[k] = order[k], order[i]
    m.node("Transpose", m.name(given["a"]), to=to, perm=order)


@form("np.broadcast_to")
def _broadcast(m, to, result, given):
    m.node("Expand", m.name(given["array"]), m.number(whole(*result.shape)), to=to)


@form("np.concatenate", "np.concat")
def _concatenated(m, to, result, given):
    parts = next(iter(given.values()))
    refuse("concatenate", given, out=None, dtype=None)
    if given["axis"] is None or not isinstance(parts, (list, tuple)):
        raise ValueError("concatenate of all elements has no form in ONNX here")
    m.node("Concat", *(m.name(x, result.dtype) for x in parts), to=to, axis=given["axis"])


@form("np.stack")
def _stacked(m, to, result, given):
    axis = normalize_axis_index(given["axis"], result.ndim)
    shape = m.number(whole(*(1 if k == axis else n for k, n in enumerate(result.shape))))
    parts = [m.node("Reshape", m.name(x, result.dtype), shape) for x in given["arrays"]]
    m.node("Concat", *parts, to=to, axis=axis)


@form("np.split", "np.array_split")
def _split(m, to, result, given):
    axis = given["axis"]
    m.node("Split", m.name(given["ary"]), m.number(whole(*(x.shape[axis] for x in result))), to=to, axis=axis)


@form("np.pad")
def _padded(m, to, result, given):
    mode, rest = given.get("mode", "constant"), given.get("kwargs", {})
    if mode not in ("constant", "reflect", "edge") or rest.keys() - {"constant_values"}:
        raise ValueError(f"np.pad of the mode {mode!r} has no form in ONNX here")
    width = numpy.broadcast_to(numpy.array(given["pad_width"]), (result.ndim, 2))
    last = [m.number(rest.get("constant_values", 0), result.dtype)] if mode == "constant" else []
    m.node("Pad", m.name(given["array"]), m.number(whole(*width.T.ravel())), *last, to=to, mode=mode)


@form(".[]", "np.take", ".take")
def _taken(m, to, result, given):
    key, x = given.get("key", given.get("indices")), m.value(given["a"])
    if "indices" in given:
        refuse("take", given, mode="raise", out=None)
        axis = given.get("axis")
        if axis is None:
            raise ValueError("take without an axis has no form in ONNX here")
        m.node("Gather", m.name(given["a"]), m.name(key, numpy.int64), to=to, axis=axis)
        return
    if isinstance(key, (Reference, list)) and numpy.asarray(m.value(key)).dtype.kind == "i":
        m.node("Gather", m.name(given["a"]), m.name(key, numpy.int64), to=to, axis=0)
        return
    key = key if isinstance(key, tuple) else (key,)
    if not all(isinstance(k, (int, slice)) or k is None or k is Ellipsis for k in key):
        raise ValueError("an index that is not made of numbers and slices has no form in ONNX here")
    m.node("Reshape", _sliced(m, m.name(given["a"]), x.shape, key), m.number(whole(*result.shape)), to=to, allowzero=1)


def _sliced(m, name, shape, key):
    """The name of what numbers and slices choose, with the axes as they were."""
    axes = [k for k in key if k is not None]
    if Ellipsis in axes:
        place = axes.index(Ellipsis)
        axes[place:place + 1] = [slice(None)] * (len(shape) - len(axes) + 1)
    rows = []
    for axis, (k, n) in enumerate(zip(axes, shape)):
        start, stop, step = k.indices(n) if isinstance(k, slice) else (k % n, k % n + 1, 1)
        if (start, stop, step) != (0, n, 1):
            rows.append((axis, start, stop if stop >= 0 else -n - 1, step))
    if not rows:
        return name
    places, starts, stops, steps = (m.number(whole(*column)) for column in zip(*rows))
    return m.node("Slice", name, starts, stops, places, steps)


# -- types, constants, copies ----------------------------------------------------------------------

@form(".astype", "np.astype")
def _astype(m, to, result, given):
    m.cast(m.name(next(iter(given.values()))), result.dtype, to=to)


@form("npx.dropout", "npx.stop_gradient", ".copy", "np.copy")
def _same(m, to, result, given):
    if given.get("mode") == "always":
        raise ValueError("npx.dropout of the mode 'always' has no form in ONNX here")
    m.node("Identity", m.name(next(iter(given.values())), result.dtype), to=to)


@form("np.zeros_like", "np.ones_like", "np.full_like")
def _filled(m, to, result, given):
    m.node("Identity", m.number(numpy.asarray(result)), to=to)


# -- reductions ------------------------------------------------------------------------------------

def _reduced(operation):
    def write(m, to, result, given):
        refuse(operation, given, dtype=None, out=None, initial=None, where=True)
        x = m.value(given["a"])
        axis = given.get("axis")
        axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)
        keeps = given.get("keepdims")
        keeps = int(keeps) if isinstance(keeps, (bool, int)) else 0
        m.node(operation, m.name(given["a"], result.dtype), m.number(whole(*axes)), to=to, keepdims=keeps)

    return write


for _name, _operation in {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin",
                          "prod": "ReduceProd"}.items():
    form(f"np.{_name}", f".{_name}")(_reduced(_operation))
form("np.amax")(FORMS["np.max"])
form("np.amin")(FORMS["np.min"])


def _extreme(operation):
    def write(m, to, result, given):
        refuse(operation, given, out=None)
        if given.get("axis") is None:
            raise ValueError(f"{operation} without an axis has no form in ONNX here")
        keeps = given.get("keepdims")
        name = m.node(operation, m.name(given["a"]), axis=given["axis"], keepdims=int(keeps is True))
        m.cast(name, result.dtype, to=to)

    return write


for _name, _operation in {"argmax": "ArgMax", "argmin": "ArgMin"}.items():
    form(f"np.{_name}", f".{_name}")(_extreme(_operation))


@form("np.dot", ".dot")
def _dot(m, to, result, given):
    a, b = list(given.values())[:2]
    if m.value(b).ndim > 2:
        raise ValueError("np.dot of more than two dimensions has no form in ONNX here")
    m.node("MatMul" if m.value(b).ndim else "Mul", m.name(a, result.dtype), m.name(b, result.dtype), to=to)


# -- networks --------------------------------------------------------------------------------------

ACTIVATIONS = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "softrelu": "Softplus", "softsign": "Softsign",
               "mish": "Mish"}


@form("npx.activation")
def _activation(m, to, result, given):
    kind = given["act_type"]
    x = m.name(given["data"], result.dtype)
    if kind == "log_sigmoid":
        m.node("Log", m.node("Sigmoid", x), to=to)
    else:
        m.node(ACTIVATIONS[kind], x, to=to)


for _name, _operation in {"npx.relu": "Relu", "npx.sigmoid": "Sigmoid", "npx.erf": "Erf"}.items():
    form(_name)(_elementwise(_operation))
PLAIN |= {"npx.relu", "npx.sigmoid", "npx.erf"}


@form("npx.gelu")
def _gelu(m, to, result, given):
    x = m.name(given["data"], result.dtype)
    number = partial(m.number, dtype=result.dtype)
    if "tanh" in (given.get("approximation"), given.get("act_type", "").removeprefix("gelu_")):
        cube = m.node("Mul", m.node("Mul", x, m.node("Mul", x, x)), number(0.044715))
        part = m.node("Tanh", m.node("Mul", m.node("Add", x, cube), number(math.sqrt(2 / math.pi))))
    else:
        part = m.node("Erf", m.node("Mul", x, number(math.sqrt(0.5))))
    m.node("Mul", m.node("Mul", x, number(0.5)), m.node("Add", part, number(1)), to=to)


@form("npx.leaky_relu")
def _leaky(m, to, result, given):
    kind, slope = given["act_type"], given["slope"]
    x = m.name(given["data"], result.dtype)
    if kind.startswith("gelu"):
        _gelu(m, to, result, given)
    elif kind == "prelu":
        gamma = m.value(given["gamma"])
        by_channel = gamma.ndim == 1 and gamma.size > 1 and result.ndim > 1
        shape = m.number(whole(*((-1,) + (1,) * (result.ndim - 2) if by_channel else gamma.shape)))
        m.node("PRelu", x, m.node("Reshape", m.name(given["gamma"], result.dtype), shape), to=to)
    elif kind in ("leaky", "rrelu"):
        slope = slope if kind == "leaky" else (given["lower_bound"] + given["upper_bound"]) / 2
        m.node("LeakyRelu", x, to=to, alpha=slope)
    else:
        m.node("Elu" if kind == "elu" else "Selu", x, to=to, **({"alpha": slope} if kind == "elu" else {}))


def _softmax(operation):
    def write(m, to, result, given):
        refuse(operation, given, length=None, use_length=False, dtype=None)
        x = m.name(given["data"], result.dtype)
        if given["temperature"] not in (None, 1):
            x = m.node("Div", x, m.number(given["temperature"], result.dtype))
        m.node(operation, x, to=to, axis=given["axis"])

    return write


form("npx.softmax")(_softmax("Softmax"))
form("npx.log_softmax")(_softmax("LogSoftmax"))


def _spatial(given, name, ndim, default):
    found = given[name]
    if found is None or isinstance(found, (tuple, list)) and not found:
        return [default] * ndim
    return [found] * ndim if isinstance(found, int) else list(found)


@form("npx.convolution", "npx.deconvolution")
def _convolution(m, to, result, given):
    ndim = result.ndim - 2
    transposed = "adj" in given
    refuse("convolution", given, target_shape=None)
    if given["layout"] not in (None, "NCW", "NCHW", "NCDHW"):
        raise ValueError(f"npx.convolution of the layout {given['layout']} has no form in ONNX here")
    bias = [] if given["no_bias"] or given["bias"] is None else [m.name(given["bias"], result.dtype)]
    pad = _spatial(given, "pad", ndim, 0)
    more = {"output_padding": _spatial(given, "adj", ndim, 0)} if transposed else {}
    m.node("ConvTranspose" if transposed else "Conv", m.name(given["data"], result.dtype),
           m.name(given["weight"], result.dtype), *bias, to=to, strides=_spatial(given, "stride", ndim, 1),
           dilations=_spatial(given, "dilate", ndim, 1), pads=pad + pad, group=given["num_group"], **more)


@form("npx.pooling")
def _pooling(m, to, result, given):
    kind, ndim = given["pool_type"], result.ndim - 2
    if given["layout"] not in (None, "NCW", "NCHW", "NCDHW") or kind not in ("max", "avg"):
        raise ValueError(f"npx.pooling of the kind {kind}, layout {given['layout']} has no form in ONNX here")
    x = m.name(given["data"], result.dtype)
    if given["global_pool"]:
        m.node("GlobalMaxPool" if kind == "max" else "GlobalAveragePool", x, to=to)
        return
    if given["pooling_convention"] not in ("valid", "full"):
        raise ValueError(f"npx.pooling of the convention {given['pooling_convention']!r} has no form in ONNX here")
    pad = _spatial(given, "pad", ndim, 0)
    more = {} if kind == "max" else {"count_include_pad": int(given["count_include_pad"])}
    m.node("MaxPool" if kind == "max" else "AveragePool", x, to=to, kernel_shape=_spatial(given, "kernel", ndim, 1),
           strides=_spatial(given, "stride", ndim, 1), pads=pad + pad,
           ceil_mode=int(given["pooling_convention"] == "full"), **more)


@form("npx.fully_connected")
def _connected(m, to, result, given):
    x, value = m.name(given["x"], result.dtype), m.value(given["x"])
    if given["flatten"] and value.ndim != 2:
        x = m.node("Reshape", x, m.number(whole(result.shape[0], -1)))
    weight = m.node("Transpose", m.name(given["weight"], result.dtype), perm=[1, 0])
    if given["bias"] is None:
        m.node("MatMul", x, weight, to=to)
    else:
        m.node("Add", m.node("MatMul", x, weight), m.name(given["bias"], result.dtype), to=to)


@form("npx.batch_dot")
def _batch_dot(m, to, result, given):
    parts = []
    for key in ("a", "b"):
        name = m.name(given[key], result.dtype)
        if given[f"transpose_{key}"]:
            order = list(range(result.ndim))
            name = m.node("Transpose", name, perm=[*order[:-2], order[-1], order[-2]])
        parts.append(name)
    m.node("MatMul", *parts, to=to)


@form("np.tile")
def _tile(m, to, result, given):
    name, shape = m.name(given["A"]), m.value(given["A"]).shape
    reps = given["reps"]
    reps = tuple(reps) if isinstance(reps, (list, tuple)) else (reps,)
    if len(reps) > len(shape):
        name = m.node("Reshape", name, m.number(whole(*(1,) * (len(reps) - len(shape)), *shape)))
    m.node("Tile", name, m.number(whole(*(1,) * (len(shape) - len(reps)), *reps)), to=to)


@form("npx.embedding")
def _embedding(m, to, result, given):
    # Indices beyond the table are clipped, as npx.embedding does.
    rows = m.value(given["weight"]).shape[0]
    index = m.name(given["data"], numpy.int64)
    index = m.node("Min", m.node("Max", index, m.number(0, numpy.int64)), m.number(rows - 1, numpy.int64))
    m.node("Gather", m.name(given["weight"]), index, to=to, axis=0)


def _channels(m, x, axis, ndim, dtype):
    """A vector that lies along an axis."""
    shape = [1] * ndim
    shape[axis] = -1
    return m.node("Reshape", m.name(x, dtype), m.number(whole(*shape)))


@form("npx.batch_norm")
def _batch_norm(m, to, result, given):
    refuse("npx.batch_norm", given, output_mean_var=False)
    if given["training"]:
        raise ValueError("npx.batch_norm with training=True has no form in ONNX here")
    axis = normalize_axis_index(given["axis"], result.ndim)
    gamma, beta, mean, var = (_channels(m, given[key], axis, result.ndim, result.dtype)
                              for key in ("gamma", "beta", "running_mean", "running_var"))
    deviation = m.node("Sqrt", m.node("Add", var, m.number(given["eps"], result.dtype)))
    y = m.node("Div", m.node("Sub", m.name(given["x"], result.dtype), mean), deviation)
    y = y if given["fix_gamma"] else m.node("Mul", y, gamma)
    m.node("Add", y, beta, to=to)


def _normalized(m, x, axes, eps, dtype):
    """The name of x less its mean along axes, divided by its deviation."""
    axes = m.number(whole(*axes))
    centred = m.node("Sub", x, m.node("ReduceMean", x, axes, keepdims=1))
    var = m.node("ReduceMean", m.node("Mul", centred, centred), axes, keepdims=1)
    return m.node("Div", centred, m.node("Sqrt", m.node("Add", var, m.number(eps, dtype))))


@form("npx.layer_norm", "npx.instance_norm", "npx.group_norm")
def _layer_norm(m, to, result, given):
    refuse("npx.layer_norm", given, output_mean_var=False)
    ndim, dtype, x = result.ndim, result.dtype, m.name(given["data"], result.dtype)
    along = normalize_axis_index(given["axis"], ndim) if "axis" in given else 1
    if "num_groups" in given:
        x = m.node("Reshape", x, m.number(whole(result.shape[0], given["num_groups"], -1)))
        y = m.node("Reshape", _normalized(m, x, (2,), given["eps"], dtype), m.number(whole(*result.shape)))
    else:
        axes = (along,) if "axis" in given else range(2, ndim)
        y = _normalized(m, x, axes, given["eps"], dtype)
    gamma, beta = (_channels(m, given[key], along, ndim, dtype) for key in ("gamma", "beta"))
    m.node("Add", m.node("Mul", y, gamma), beta, to=to)
