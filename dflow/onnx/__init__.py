"""Programs that HybridBlock.export() wrote, as ONNX models, for other runtimes. It needs the package onnx.

Shapes and types are those of the inputs that are given. What is for training, as dropout, is left out.
"""

import numpy

from dflow import numpy as np
from dflow._array.core import is_array
from dflow.gluon.program import Reference, from_json, function_of
from dflow.onnx import recurrent  # noqa: F401  (has forms, too)
from dflow.onnx.forms import FORMS, arguments_of
from dflow.ops.files import load, reading

__all__ = ["export_model"]


def __dir__():
    return sorted(__all__)


OPSET = 18


def export_model(sym, params, in_shapes=None, in_types=None, onnx_file_path="model.onnx"):
    """Write an ONNX model of the files that HybridBlock.export() wrote: the program and its arrays.

    It needs the package onnx. Shapes and types in the model are fixed: those of the inputs. What is for training,
    as dropout, is left out. The model is of opset 18, and checked.

    Parameters
    ----------
    sym : str
        The program: `path`-symbol.json.
    params : str
        Its arrays: `path`-0000.params.
    in_shapes : list of tuple of int, optional
        Of each input. None: those of export().
    in_types : dtype or list of dtype, optional
        Of each input, or one for all. None: those of export().
    onnx_file_path : str
        Where the model goes.

    Returns
    -------
    str
        onnx_file_path.

    Raises
    ------
    ModuleNotFoundError
        Without the package onnx.
    ValueError
        For a function that has no form in ONNX here, which it names; for in_shapes or in_types of another
        number of inputs; for params without an array of the program; for files that are damaged.
    FileNotFoundError
        Where there are no such files.

    Examples
    --------
    >>> import os, tempfile
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = net.export(os.path.join(folder, "net"), inputs=np.ones((1, 3)))
    ...     try:
    ...         made = dflow.onnx.export_model(*files, onnx_file_path=os.path.join(folder, "net.onnx"))
    ...         print(os.path.getsize(made) > 0)
    ...     except ModuleNotFoundError:
    ...         print(True)             # without the package onnx
    True
    """
    import onnx

    with reading(sym), open(sym, "rb") as stream:
        program = from_json(stream.read().decode())
    arrays = load(params)
    if not isinstance(arrays, dict) or (missing := [name for name in program.arrays if name not in arrays]):
        raise ValueError(f"{params} has no array {', '.join(missing) if isinstance(arrays, dict) else 'with a name'}")
    shapes = [each["shape"] for each in program.inputs] if in_shapes is None else list(in_shapes)
    types = [each["dtype"] for each in program.inputs] if in_types is None else in_types
    types = list(types) if isinstance(types, (list, tuple)) else [types] * len(shapes)
    if not len(shapes) == len(types) == len(program.inputs):
        raise ValueError(f"in_shapes and in_types must be of {len(program.inputs)} inputs, "
                         f"not {len(shapes)} and {len(types)}")
    inputs = [np.zeros(tuple(shape), numpy.dtype(dtype)) for shape, dtype in zip(shapes, types)]
    model = Writer(onnx, program, inputs, arrays).model()
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, onnx_file_path)
    return onnx_file_path


class Writer:
    """The parts of a model, as they are written. Each value has a name, and is known for zeros as inputs."""

    def __init__(self, onnx, program, inputs, arrays):
        self.onnx, self.program, self.arrays = onnx, program, arrays
        self.nodes, self.numbers, self.used = [], {}, set()
        self.inputs = [(each["name"], x) for each, x in zip(program.inputs, inputs)]
        self.known = {Reference("input", i): pair for i, pair in enumerate(self.inputs)}
        self.known |= {Reference("array", name): (f"array {name}", arrays[name]) for name in program.arrays}

    def model(self):
        """The ONNX model."""
        with numpy.errstate(all="ignore"):
            for number, call in enumerate(self.program.calls):
                self.write(number, call)
        found = self.program.result
        outputs = []
        for i, x in enumerate(found if isinstance(found, (list, tuple)) else [found]):
            if not isinstance(x, Reference):
                raise ValueError("an ONNX model returns an array, or a list of them")
            outputs.append((self.node("Identity", self.name(x), to=f"output{i}"), self.known[x][1]))
        helper = self.onnx.helper
        infos = [[helper.make_tensor_value_info(name, self.kind(x.dtype), x.shape) for name, x in some]
                 for some in (self.inputs, outputs)]
        kept = [(name, x) for name, x in self.known.values() if name in self.used and name.startswith("array ")]
        tensors = [self.onnx.numpy_helper.from_array(numpy.array(x), name)
                   for name, x in [*kept, *self.numbers.items()]]
        graph = helper.make_graph(self.nodes, "dflow", *infos, tensors)
        return helper.make_model(graph, producer_name="dflow", ir_version=9,
                                 opset_imports=[helper.make_opsetid("", OPSET)])

    def write(self, number, call):
        """The nodes of one call."""
        if call.name not in FORMS:
            raise ValueError(f"{call.name} has no form in ONNX here")
        result = function_of(call.name)(*self.value(call.args),
                                        **{key: self.value(x) for key, x in call.keywords.items()})
        to = f"call{number}"
        given = arguments_of(call)
        if is_array(result):
            FORMS[call.name](self, to, result, given)
            self.known[Reference("call", number)] = to, result
            return
        names = [f"{to}_{i}" for i in range(len(result))]
        FORMS[call.name](self, names, result, given)
        self.known |= {Reference("call", number, i): pair for i, pair in enumerate(zip(names, result))}

    # -- parts ---------------------------------------------------------------------------------

    def kind(self, dtype):
        """ONNX's number of a type."""
        return self.onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))

    def node(self, operation, *inputs, to=None, **attributes):
        """A node of the names of its inputs; the name of its result, or of several."""
        to = f"value{len(self.nodes)}" if to is None else to
        self.used |= set(inputs)
        outputs = to if isinstance(to, list) else [to]
        self.nodes.append(self.onnx.helper.make_node(operation, list(inputs), outputs, **attributes))
        return to

    def cast(self, name, dtype, to=None):
        """The name of a value as of another type."""
        result = self.node("Cast", name, to=to)
        self.nodes[-1].attribute.append(self.onnx.helper.make_attribute("to", self.kind(dtype)))
        return result

    def number(self, x, dtype=None):
        """The name of numbers that are always the same."""
        name = f"number{len(self.numbers)}"
        self.numbers[name] = numpy.asarray(x, dtype)
        return name

    def value(self, x):
        """What an argument is for zeros as inputs."""
        if isinstance(x, Reference):
            return self.known[x][1]
        return type(x)(map(self.value, x)) if isinstance(x, (list, tuple)) else x

    def name(self, x, dtype=None):
        """The name of an argument, as of a type."""
        if not isinstance(x, Reference):
            return self.number(x, dtype)
        name, value = self.known[x]
        return name if dtype is None or value.dtype == dtype else self.cast(name, dtype)
