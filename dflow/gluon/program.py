"""Programs: what a block's forward() calls, by public names, so that it runs without the class, and elsewhere.

While a block is traced, its arguments, parameters and what is computed from them are Traced objects: they hold values,
so that shapes and types are known, and note each function of np and npx, operator and method that gets them. A program
is kept as JSON: text that names functions from a list and nothing else, so that a file can do no more than compute.
"""

import contextlib
import importlib
import json
import math
import threading
from dataclasses import dataclass

import numpy
from numpy.lib.mixins import NDArrayOperatorsMixin

from dflow import autograd, npx
from dflow import numpy as np
from dflow._array.core import is_array
from dflow._base.nested import mapped
from dflow.gluon import parameter
from dflow.ops.table import TABLE

VERSION = 1
MODULES = {"np": "numpy", "np.linalg": "numpy.linalg", "np.fft": "numpy.fft", "np.random": "numpy.random", "npx": "npx"}
# Functions of these modules that a program has no business to call: files, memory of others, Python's functions, what
# is written to, states of streams.
REFUSED = frozenset("""apply_along_axis apply_over_axes bytes copyto default_rng fill_diagonal from_dlpack frombuffer
    fromfile fromfunction fromiter fromregex genfromtxt Generator get_bit_generator get_state load loadtxt
    may_share_memory piecewise place put put_along_axis putmask RandomState seed set_bit_generator set_state
    shares_memory shuffle""".split())
METHODS = frozenset("""all any argmax argmin argsort astype clip conj conjugate copy cumprod cumsum diagonal dot
    flatten max mean min nonzero prod ravel repeat reshape round squeeze std sum swapaxes take trace transpose
    var""".split())
MOST_NESTED = 32                # lists in lists


@dataclass(frozen=True, slots=True)
class Reference:
    """What an argument stands for: an input, by its place; a parameter or constant, by its name; a call, by its number,
    and which of its results."""

    kind: str
    key: object
    place: object = None


@dataclass(frozen=True, slots=True)
class Call:
    """A function by its name, or a method as ".reshape" or ".[]"."""

    name: str
    args: tuple
    keywords: dict


# -- names -----------------------------------------------------------------------------------------

def function_of(name):
    """The public function of a name as "np.add" or ".reshape". ValueError for one that programs do not call."""
    module, _, last = name.rpartition(".")
    if name == ".[]":
        return lambda x, key: x[key]
    if not module and last in METHODS:
        return lambda x, *args, **keywords: getattr(x, last)(*args, **keywords)
    if last in REFUSED or (MODULES.get(module), last) not in TABLE:
        raise ValueError(f"{name!r} is no function that a program may call")
    return getattr(importlib.import_module(f"dflow.{MODULES[module]}"), last)


def name_of(function):
    """The name of NumPy's function: "np.linalg.norm"."""
    module = getattr(function, "__module__", "numpy").removeprefix("numpy").strip(".") if not isinstance(
        function, numpy.ufunc) else ""
    return f"np.{module}.{function.__name__}" if module else f"np.{function.__name__}"


# -- tracing ---------------------------------------------------------------------------------------

class Traced(NDArrayOperatorsMixin):
    """An array while a block is traced: its value, and what it stands for."""

    __slots__ = ("_trace", "_reference", "_value")

    def __init__(self, trace, reference, value):
        self._trace, self._reference, self._value = trace, reference, value

    def __array_ufunc__(self, ufunc, how, *inputs, out=None, **keywords):
        name = name_of(ufunc)
        if how != "__call__":
            raise TypeError(f"{name}.{how} cannot be exported: use a function, as np.sum")
        result = self._trace.call(name, inputs, keywords)
        if out is None:
            return result
        if out[0] is not inputs[0] or not isinstance(out[0], Traced):
            raise TypeError(f"{name} with out= cannot be exported: use what it returns")
        out[0]._reference, out[0]._value = result._reference, result._value       # x += y: of all who have it
        return out[0]

    def __array_function__(self, function, types, args, keywords):
        return self._trace.call(name_of(function), args, keywords)

    def __getitem__(self, key):
        return self._trace.call(".[]", (self, key), {})

    def __setitem__(self, key, value):
        raise TypeError("x[...] = y cannot be exported: use np.where or np.concatenate")

    def __getattr__(self, name):
        if name not in METHODS:
            raise AttributeError(f"{name!r} of an array cannot be exported")
        return lambda *args, **keywords: self._trace.call(f".{name}", (self, *args), keywords)

    def __len__(self):
        return len(self._value)

    def __iter__(self):
        return (self[i] for i in range(len(self._value)))

    def _no_value(self, *_args):
        raise TypeError("forward() looks at the values of an array: what it does then cannot be exported")

    __bool__ = __int__ = __float__ = __complex__ = __index__ = __array__ = _no_value
    item = tolist = asnumpy = asscalar = _no_value

    def detach(self):
        return self._trace.call("npx.stop_gradient", (self,), {})

    @property
    def T(self):
        return self.transpose()

    @property
    def real(self):
        return np.real(self)

    @property
    def imag(self):
        return np.imag(self)

    @property
    def shape(self):
        return self._value.shape

    @property
    def dtype(self):
        return self._value.dtype

    @property
    def ndim(self):
        return self._value.ndim

    @property
    def size(self):
        return self._value.size

    @property
    def ctx(self):
        return self._value.ctx

    device = context = ctx


class Trace:
    """The calls so far."""

    def __init__(self, parameters):
        self.calls = []
        self.constants = {}
        self._names = {id(p): name for name, p in reversed(parameters.items())}
        self._kept = []                         # arrays among the arguments: ids of others that lived are not theirs

    def call(self, name, args, keywords, function=None):
        """The function's result for the values; noted, if it is an array or several."""
        function = function_of(name) if function is None else function
        result = function(*mapped(args, _value), **mapped(keywords, _value))
        if not any(map(is_array, result if isinstance(result, (tuple, list)) else [result])):
            return result
        self.calls.append(Call(name, tuple(mapped(args, self.reference)), mapped(keywords, self.reference)))
        number = len(self.calls) - 1
        if is_array(result):
            return Traced(self, Reference("call", number), result)
        parts = [Traced(self, Reference("call", number, i), x) for i, x in enumerate(result)]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)

    def reference(self, x):
        """What an argument stands for; others as they are."""
        if isinstance(x, Traced):
            return x._reference
        if is_array(x) or isinstance(x, numpy.ndarray):
            name = next((name for name, known in self.constants.items() if known is x), None)
            if name is None:
                name = f"constant:{len(self.constants)}"
                self.constants[name] = x
            return Reference("array", name)
        return x

    def parameter(self, p, data):
        """What data() of a parameter gives while the block is traced."""
        if id(p) not in self._names:
            return data
        return Traced(self, Reference("array", self._names[id(p)]), data)


def _value(x):
    return x._value if isinstance(x, Traced) else x


_tracing = threading.Lock()


@contextlib.contextmanager
def _noting(trace):
    """In this thread, npx, np.random and data() of parameters take and give Traced objects."""
    me, before = threading.get_ident(), []
    data = parameter.Parameter.data

    def noting(name, function, always):
        def wrapper(*args, **keywords):
            if threading.get_ident() == me and (always or _any_traced((args, keywords))):
                return trace.call(name, args, keywords, function)
            return function(*args, **keywords)

        return wrapper

    def traced_data(self, ctx=None, device=None):
        found = data(self, ctx, device)
        return trace.parameter(self, found) if threading.get_ident() == me else found

    with _tracing:
        for short in ("npx", "np.random"):
            names = vars(importlib.import_module(f"dflow.{MODULES[short]}"))
            for module, last in list(TABLE):
                if module == MODULES[short] and last not in REFUSED and last in names:
                    before.append((names, last, names[last]))
        try:
            for names, last, function in before:
                short = "npx" if names is vars(npx) else "np.random"
                names[last] = noting(f"{short}.{last}", function, short == "np.random")
            parameter.Parameter.data = traced_data
            yield
        finally:
            parameter.Parameter.data = data
            for names, last, function in before:
                names[last] = function


def _any_traced(x):
    if isinstance(x, (tuple, list)):
        return any(map(_any_traced, x))
    return any(map(_any_traced, x.values())) if isinstance(x, dict) else isinstance(x, Traced)


def trace(function, arguments, names, parameters):
    """The Program of function(*arguments), arrays that are called by these names, and its constants, by name."""
    noted = Trace(parameters)
    given = [Traced(noted, Reference("input", i), x) for i, x in enumerate(arguments)]
    with _noting(noted), autograd.pause(), numpy.errstate(all="ignore"):
        result = function(*given)
    if not _any_traced(result):
        raise TypeError("forward() returns nothing that was computed from its arguments")
    inputs = [{"name": name, "shape": list(x.shape), "dtype": str(x.dtype)} for name, x in zip(names, arguments)]
    kinds = {name: {"shape": list(p.shape), "dtype": str(p.dtype), "grad_req": p.grad_req}
             for name, p in parameters.items()}
    for name, x in noted.constants.items():
        kinds[name] = {"shape": list(x.shape), "dtype": str(x.dtype), "grad_req": "null"}
    return Program(inputs, kinds, noted.calls, mapped(result, noted.reference)), noted.constants


# -- programs --------------------------------------------------------------------------------------

class Program:
    """Calls in their order. inputs, arrays: what is known of them; result: a structure of references."""

    def __init__(self, inputs, arrays, calls, result):
        self.inputs, self.arrays, self.calls, self.result = inputs, arrays, calls, result
        self._functions = [function_of(call.name) for call in calls]
        self._last = {}                         # of each call, the last one that needs its result
        for number, call in enumerate(calls):
            mapped((call.args, call.keywords), lambda x, number=number: self._used(x, number))
        mapped(result, lambda x: self._used(x, len(calls)))
        self._ends = {}
        for key, number in self._last.items():
            self._ends.setdefault(number, []).append(key)

    def _used(self, x, number):
        if isinstance(x, Reference) and x.kind == "call":
            self._last[x.key] = number

    def __call__(self, inputs, arrays):
        """The result, of arrays in the order of the inputs, and those by name."""
        results = {}

        def found(x):
            if not isinstance(x, Reference):
                return x
            if x.kind == "call":
                return results[x.key] if x.place is None else results[x.key][x.place]
            return inputs[x.key] if x.kind == "input" else arrays[x.key]

        for number, (call, function) in enumerate(zip(self.calls, self._functions)):
            results[number] = function(*mapped(call.args, found), **mapped(call.keywords, found))
            for key in self._ends.get(number, ()):
                del results[key]
        return mapped(self.result, found)

    def to_json(self):
        """Text; from_json() reads it."""
        calls = [{"call": call.name, "args": [_encoded(x) for x in call.args],
                  **({"keywords": {key: _encoded(x) for key, x in call.keywords.items()}} if call.keywords else {})}
                 for call in self.calls]
        lines = ",\n  ".join(map(json.dumps, calls))
        parts = [f'"format": "dflow program", "version": {VERSION}', f'"inputs": {json.dumps(self.inputs)}',
                 f'"arrays": {json.dumps(self.arrays)}', f'"calls": [\n  {lines}]',
                 f'"result": {json.dumps(_encoded(self.result))}']
        return "{" + ",\n ".join(parts) + "}\n"


# -- JSON ------------------------------------------------------------------------------------------

def _encoded(x):
    """An argument as JSON has it: lists are lists, all else that it has not is a dictionary of one key."""
    if isinstance(x, Reference):
        return {x.kind: x.key if x.place is None else [x.key, x.place]}
    if isinstance(x, list):
        return [_encoded(item) for item in x]
    if isinstance(x, tuple):
        return {"tuple": [_encoded(item) for item in x]}
    if isinstance(x, dict) and all(isinstance(key, str) for key in x):
        return {"dictionary": {key: _encoded(item) for key, item in x.items()}}
    if isinstance(x, slice):
        return {"slice": [_encoded(end) for end in (x.start, x.stop, x.step)]}
    if x is Ellipsis:
        return {"ellipsis": True}
    if isinstance(x, numpy.generic) and x.dtype.kind in "biuf":
        return {"number": [_encoded(x.item()), str(x.dtype)]}
    if isinstance(x, float) and not math.isfinite(x):
        return {"float": repr(x)}
    if x is None or type(x) in (bool, int, float, str):
        return x
    try:
        dtype = numpy.dtype(x) if isinstance(x, (type, numpy.dtype)) else None
    except TypeError:
        dtype = None
    if dtype is None or dtype.kind not in "biufc":
        raise TypeError(f"an argument that is {type(x).__name__} cannot be exported: {x!r}")
    return {"dtype": str(dtype)}


def _dtype(text):
    if not isinstance(text, str):
        raise ValueError(f"a dtype must be a text, not {text!r}")
    try:
        dtype = numpy.dtype(text)
    except (TypeError, ValueError):
        dtype = None
    if dtype is None or dtype.kind not in "biufc" or not dtype.isnative:
        raise ValueError(f"there is no dtype {text!r} in a program")
    return dtype


def _listed(x, what, length=None):
    if not isinstance(x, list) or length is not None and len(x) != length:
        raise ValueError(f"{what} must be a list{'' if length is None else f' of {length}'}, not {x!r:.100}")
    return x


def _count(x, limit, what):
    """A number from 0 up to a limit, which is not one."""
    if type(x) is not int or not 0 <= x < limit:
        raise ValueError(f"{what} must be a number below {limit}, not {x!r:.100}")
    return x


class _Reader:
    """JSON, checked: what it refers to is there."""

    def __init__(self, inputs, arrays):
        self.inputs, self.arrays = inputs, arrays
        self.known = 0                          # calls so far

    def decoded(self, x, depth=0):
        if depth > MOST_NESTED:
            raise ValueError(f"an argument is nested more than {MOST_NESTED} times")
        if isinstance(x, list):
            return [self.decoded(item, depth + 1) for item in x]
        if not isinstance(x, dict):
            return x
        if len(x) != 1:
            raise ValueError(f"an argument must be a dictionary of one key, not {x!r:.100}")
        (kind, value), = x.items()
        if kind in ("tuple", "slice"):
            items = [self.decoded(item, depth + 1) for item in _listed(value, kind, 3 if kind == "slice" else None)]
            return tuple(items) if kind == "tuple" else slice(*items)
        if kind == "dictionary" and isinstance(value, dict):
            return {key: self.decoded(item, depth + 1) for key, item in value.items()}
        if kind not in ("input", "array", "call", "ellipsis", "dtype", "float", "number"):
            raise ValueError(f"there is no argument of the kind {kind!r}")
        return getattr(self, kind)(value)

    def input(self, value):
        return Reference("input", _count(value, len(self.inputs), "an input"))

    def array(self, value):
        if not isinstance(value, str) or value not in self.arrays:
            raise ValueError(f"there is no array {value!r:.100}")
        return Reference("array", value)

    def call(self, value):
        key, place = (value, None) if not isinstance(value, list) else _listed(value, "a result of a call", 2)
        return Reference("call", _count(key, self.known, "an earlier call"),
                         place if place is None else _count(place, 1 << 20, "a result of a call"))

    def ellipsis(self, value):
        return Ellipsis

    def dtype(self, value):
        return _dtype(value)

    def float(self, value):
        if value not in ("inf", "-inf", "nan"):
            raise ValueError(f"there is no number {value!r:.100}")
        return float(value)

    def number(self, value):
        value, dtype = _listed(value, "a number", 2)
        value, dtype = self.decoded(value), _dtype(dtype)
        if type(value) not in (bool, int, float) or dtype.kind == "c":
            raise ValueError(f"there is no number {value!r:.100} of {dtype}")
        return dtype.type(value)

    def one_call(self, x):
        if not isinstance(x, dict) or not {"call"} <= x.keys() <= {"call", "args", "keywords"}:
            raise ValueError(f"a call must be a dictionary of call, args and keywords, not {x!r:.100}")
        name, keywords = x["call"], x.get("keywords", {})
        if not isinstance(name, str) or not isinstance(keywords, dict) or "out" in keywords:
            raise ValueError(f"a call must have a name, and keywords but for out, not {x!r:.100}")
        function_of(name)
        args = tuple(self.decoded(_listed(x.get("args", []), "args")))
        if name.startswith(".") and not (args and isinstance(args[0], Reference)):
            raise ValueError(f"{name!r} is called of no array")
        found = Call(name, args, {key: self.decoded(value) for key, value in keywords.items()})
        self.known += 1
        return found


def _arrays(x, what):
    """What is known of inputs or arrays."""
    if not isinstance(x, dict) or not isinstance(x.get("shape"), list):
        raise ValueError(f"{what} must have a shape and a dtype, not {x!r:.100}")
    for n in x["shape"]:
        _count(n, 1 << 62, f"a length of {what}")
    if x.get("grad_req", "null") not in autograd.REQUESTS:
        raise ValueError(f"{what} has the grad_req {x['grad_req']!r:.100}")
    return {**x, "dtype": str(_dtype(x.get("dtype")))}


def from_json(text):
    """A Program. ValueError for a text that is none, or calls what it may not."""
    try:
        x = json.loads(text)
    except RecursionError:
        raise ValueError("the text is nested too deep") from None
    if not isinstance(x, dict) or x.get("format") != "dflow program":
        raise ValueError("this is no program of dflow's: export() writes one")
    if x.get("version") != VERSION:
        raise ValueError(f"this program has the version {x.get('version')!r:.100}, and {VERSION} is known")
    inputs = [_arrays(each, "an input") for each in _listed(x.get("inputs"), "inputs")]
    if not all(isinstance(each.get("name"), str) for each in inputs):
        raise ValueError("inputs must have names")
    if not isinstance(x.get("arrays"), dict):
        raise ValueError(f"arrays must be a dictionary, not {x.get('arrays')!r:.100}")
    arrays = {name: _arrays(each, name) for name, each in x["arrays"].items()}
    reader = _Reader(inputs, arrays)
    calls = [reader.one_call(each) for each in _listed(x.get("calls"), "calls")]
    return Program(inputs, arrays, calls, reader.decoded(x.get("result")))
