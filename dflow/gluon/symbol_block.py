"""SymbolBlock: a block made of what HybridBlock.export() wrote, without the Python class."""

import os

from dflow._array.core import is_array
from dflow.gluon import program
from dflow.gluon.block import HybridBlock
from dflow.gluon.parameter import Parameter
from dflow.ops.files import reading

__all__ = ["SymbolBlock"]


def __dir__():
    return sorted(__all__)


MOST_TEXT = 1 << 28             # bytes of a program


class SymbolBlock(HybridBlock):
    """A recorded program as a block, without the Python class that it comes from: imports() makes it of files.

    It can be trained further: its parameters have the names that they had.

    Parameters
    ----------
    recorded : Program
        What HybridBlock.export() wrote, read.
    order : list of int, optional
        Of each input of the program, which argument of a call it is. None: in their order.

    Inputs
    ------
    *args
        As many arrays as the program has inputs.

    Outputs
    -------
    ndarray, or list of ndarray
        What the recorded forward() gives.

    Raises
    ------
    TypeError
        When it is called, for another number of arguments, or others than arrays.
    RuntimeError
        When it is called before its parameters have values.

    Examples
    --------
    >>> import os, tempfile
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> path = os.path.join(tempfile.mkdtemp(), "net")
    >>> files = net.export(path, inputs=np.ones((1, 3)))
    >>> gluon.SymbolBlock.imports(files[0], ["data"], files[1])(np.ones((1, 3))).shape
    (1, 2)
    """

    def __init__(self, recorded, order=None):
        super().__init__()
        self._recorded = recorded
        self._order = list(range(len(recorded.inputs))) if order is None else order
        for name, known in recorded.arrays.items():
            constant = name.startswith("constant:")
            self._params[name] = Parameter(name, known.get("grad_req", "write"), tuple(known["shape"]), known["dtype"],
                                           differentiable=not constant)

    @staticmethod
    def imports(symbol_file, input_names, param_file=None, ctx=None, device=None, allow_missing=False,
                ignore_extra=False):
        """The block of a file that HybridBlock.export() wrote.

        Only functions of np and npx are ever called, none of them that knows files. Unlike in MXNet, files are those
        of dflow.

        Parameters
        ----------
        symbol_file : str
            The program: `path`-symbol.json.
        input_names : str or list of str
            Its inputs, in the order in which the block takes them: "data", or "data0", "data1", ...
        param_file : str, optional
            Its arrays: `path`-0000.params. None: initialize() or load_parameters() give them.
        ctx : Device or list of Device, optional
            Where the arrays go. None: the current one.
        device : Device or list of Device, optional
            MXNet 2's word for ctx; it goes before.
        allow_missing : bool
            The file may lack arrays, which have no values then.
        ignore_extra : bool
            The file may have others, which are skipped.

        Returns
        -------
        SymbolBlock

        Raises
        ------
        ValueError
            For a file that is damaged, which it names; for other input_names, or arrays than the program's.
        FileNotFoundError
            Where there is no such file.
        """
        with reading(symbol_file), open(symbol_file, "rb") as stream:
            if os.fstat(stream.fileno()).st_size > MOST_TEXT:
                raise ValueError(f"a program of more than {MOST_TEXT} bytes")
            recorded = program.from_json(stream.read().decode())
        wanted = [input_names] if isinstance(input_names, str) else list(input_names)
        names = [each["name"] for each in recorded.inputs]
        if sorted(wanted) != sorted(names):
            raise ValueError(f"input_names must be {', '.join(names)} in some order, not {', '.join(map(str, wanted))}")
        block = SymbolBlock(recorded, [wanted.index(name) for name in names])
        if param_file is not None:
            block.load_parameters(param_file, ctx, allow_missing, ignore_extra, device=device)
        return block

    def __repr__(self):
        taken = ", ".join(each["name"] for each in self._recorded.inputs)
        return f"{type(self).__name__}(\n  {len(self._recorded.calls)} operations on {taken}\n)"

    def forward(self, *args):
        if len(args) != len(self._order) or not all(map(is_array, args)):
            raise TypeError(f"{len(self._order)} arrays are expected, not {', '.join(type(x).__name__ for x in args)}")
        arrays = {name: p.data() for name, p in self.params.items()}
        return self._recorded([args[i] for i in self._order], arrays)
