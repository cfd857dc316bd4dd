"""Blocks: what networks are built of, with parameters and other blocks in their attributes."""

import contextlib
import itertools
import json
import warnings
from collections import defaultdict

import numpy

from dflow import autograd, init, npx
from dflow import numpy as np
from dflow._array.core import is_array
from dflow._graph_decorator import Graph
from dflow.devices import current_device
from dflow.gluon import parameter
from dflow.gluon.parameter import DeferredInitializationError, Parameter, ParameterDict
from dflow.ops.fallback import arrays_in
from dflow.ops.files import reading

__all__ = ["Block", "HybridBlock"]


def __dir__():
    return sorted(__all__)


# Names of MXNet's blocks that are not here.
_MISSING = frozenset("infer_type register_op_hook".split())

_numbers: defaultdict = defaultdict(itertools.count)         # how many blocks of a class there are, by its name


class _Hooks(dict):
    """Functions to call, by number."""

    def add(self, function):
        handle = _Handle(self, max(self, default=-1) + 1)
        self[handle.number] = function
        return handle


class _Handle:
    """What register_forward_hook() returns: detach() takes the hook away, as the end of a `with` does."""

    def __init__(self, hooks, number):
        self._hooks = hooks
        self.number = number

    def detach(self):
        self._hooks.pop(self.number, None)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.detach()


def _tell_where(error, block, args):
    """A note to an error that has none: the block in which it is raised, its parameters' shapes and its inputs'."""
    if getattr(error, "__notes__", None):
        return                              # from a block inside, or from the engine
    inputs = " and ".join(str(x.shape) for x in arrays_in(args))
    shapes = [f"input {inputs or 'no array'}"] + [f"{name} {p.shape}" for name, p in block.params.items()]
    text = repr(block)
    error.add_note(f"in {block.name}, {text if chr(10) not in text else type(block).__name__}: {', '.join(shapes)}")


def _blocks_in(x):
    if isinstance(x, (list, tuple, dict)):
        return [block for item in (x.values() if isinstance(x, dict) else x) for block in _blocks_in(item)]
    return [x] if isinstance(x, Block) else []


def _warn_of_strangers(block):
    """Warn of lists of blocks that nobody registered."""
    known = set(map(id, block._children.values()))
    for name, value in vars(block).items():
        if name != "_children" and any(id(found) not in known for found in _blocks_in(
                value if isinstance(value, (list, tuple, dict)) else ())):
            warnings.warn(f"{type(block).__name__}.{name} has blocks that are not registered: their parameters are not "
                          f"collected; use nn.Sequential, or register_child()", stacklevel=4)


class Block:
    """A layer, or a network: a subclass makes parameters and other blocks its attributes, and writes forward().

    A layer whose parameters' shapes depend on its first input has an infer_shape() of the same arguments as
    forward().

    Parameters
    ----------
    prefix : str, optional
        MXNet's: a name for messages, which ends with _. None: that of the class, and a number.
    params : ParameterDict, optional
        Parameters of another block: those of the same names are shared.

    Inputs
    ------
    *args
        What forward() takes; usually arrays.

    Outputs
    -------
    ndarray, or what forward() gives

    Raises
    ------
    NotImplementedError
        When it is called, without a forward().
    TypeError
        Where an attribute that is a block or a parameter is set to something else; `del` it before.
    RuntimeError
        When it is called before initialize(), if it has parameters.
    DeferredInitializationError
        When it is called without an infer_shape(), if shapes of parameters are not known.

    Examples
    --------
    >>> class Scale(gluon.Block):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = gluon.Parameter("factor", shape=(1,), init="ones")
    ...     def forward(self, x):
    ...         return x * self.factor.data()
    >>> net = Scale()
    >>> net.initialize()
    >>> print(net(np.array([1.0, 2.0])))
    [1. 2.]
    """

    _packed = ()                # attributes that are Packed: other libraries' parameters

    def __init__(self, prefix=None, params=None):
        kind = type(self).__name__.lower()
        self._children = {}
        self._reg_params = {}
        self._params = ParameterDict(shared=params)
        self._forward_hooks = _Hooks()
        self._forward_pre_hooks = _Hooks()
        self._name = f"{kind}{next(_numbers[kind])}" if prefix is None else prefix.rstrip("_")

    def __setattr__(self, name, value):
        kind = Block if name in self.__dict__.get("_children", ()) else Parameter if name in self.__dict__.get(
            "_reg_params", ()) else object
        if not isinstance(value, kind):
            raise TypeError(f"{name} is a {kind.__name__.lower()}, and cannot become {type(value).__name__}: "
                            f"del it before")
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            parameter.changed()
            self._reg_params[name] = value
        super().__setattr__(name, value)

    def __getattr__(self, name):
        text = f"{type(self).__name__!r} object has no attribute {name!r}"
        raise AttributeError(f"{text}: MXNet has it, dflow not yet" if name in _MISSING else text)

    def __delattr__(self, name):
        parameter.changed()
        self._children.pop(name, None)
        self._reg_params.pop(name, None)
        super().__delattr__(name)

    def __repr__(self):
        inside = [f"  ({name}): " + repr(child).replace("\n", "\n  ") for name, child in self._children.items()]
        return "\n".join([f"{type(self).__name__}(", *inside, ")"])

    @property
    def name(self):
        """A name of its own, as dense0."""
        return self._name

    @property
    def prefix(self):
        """Its name, with _ behind."""
        return self._name + "_"

    def name_scope(self):
        """MXNet's context for names: these follow from attributes, so it does nothing.

        Returns
        -------
        context manager
        """
        return contextlib.nullcontext(self)

    # -- parts ---------------------------------------------------------------------------------

    @property
    def params(self):
        """Its own parameters, without those of other blocks; params.get(name, shape=...) makes one.

        Returns
        -------
        ParameterDict
        """
        self._params.update(self._reg_params)
        return self._params

    def _named(self, prefix=""):
        """Names and parameters, from here on down."""
        yield from ((prefix + name, p) for name, p in self.params.items())
        for name, child in self._children.items():
            yield from child._named(f"{prefix}{name}.")

    def collect_params(self, select=None):
        """All parameters, here and below, by names as "0.weight".

        Parameters
        ----------
        select : str, optional
            A regular expression: those whose names begin with what it describes. None: all.

        Returns
        -------
        ParameterDict

        Warns
        -----
        UserWarning
            For a list or dictionary of blocks that are no parts of this one: their parameters are not here.

        Examples
        --------
        >>> net = nn.Sequential(nn.Dense(3), nn.Dense(1))
        >>> list(net.collect_params())
        ['0.weight', '0.bias', '1.weight', '1.bias']
        >>> list(net.collect_params(".*weight"))
        ['0.weight', '1.weight']
        """
        self.apply(_warn_of_strangers)
        found = ParameterDict(self._named()).select(select)
        starts = [(f"{path}." if path else "", block) for path, block in self._blocks() if block._packed]
        found.packed = {start + name: (start, getattr(block, name)) for start, block in starts
                        for name in block._packed}
        return found

    def register_child(self, block, name=None):
        """Make another block a part of this one. An attribute that is a block is one without it.

        Parameters
        ----------
        block : Block
            The part.
        name : str, optional
            How it is called in names of parameters. None: its number.

        Raises
        ------
        TypeError
            For what is no block.
        """
        if not isinstance(block, Block):
            raise TypeError(f"a block's children are blocks, not {type(block).__name__}: {block!r}")
        parameter.changed()
        self._children[str(len(self._children)) if name is None else name] = block

    def register_forward_hook(self, hook):
        """Call a function after each forward().

        Parameters
        ----------
        hook : callable
            Called as hook(block, inputs, outputs), with inputs in a tuple; what it returns is left alone.

        Returns
        -------
        handle
            Its detach() ends that; so does the end of a `with` block of it.

        Examples
        --------
        >>> net = nn.Dense(2)
        >>> net.initialize()
        >>> with net.register_forward_hook(lambda block, inputs, outputs: print(outputs.shape)):
        ...     y = net(np.ones((1, 3)))
        (1, 2)
        """
        return self._forward_hooks.add(hook)

    def register_forward_pre_hook(self, hook):
        """Call a function before each forward().

        Parameters
        ----------
        hook : callable
            Called as hook(block, inputs), with inputs in a tuple; what it returns is left alone.

        Returns
        -------
        handle
            Its detach() ends that; so does the end of a `with` block of it.

        Examples
        --------
        >>> net = nn.Dense(2)
        >>> net.initialize()
        >>> with net.register_forward_pre_hook(lambda block, inputs: print(inputs[0].shape)):
        ...     y = net(np.ones((1, 3)))
        (1, 3)
        """
        return self._forward_pre_hooks.add(hook)

    def apply(self, fn):
        """Call a function of each block below, then of this one.

        Parameters
        ----------
        fn : callable
            Called as fn(block).

        Returns
        -------
        Block
            This one.

        Examples
        --------
        >>> net = nn.Sequential(nn.Flatten(), nn.Identity())
        >>> net = net.apply(lambda block: print(type(block).__name__))
        Flatten
        Identity
        Sequential
        """
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def share_parameters(self, shared):
        """Take another block's parameters: both have the same ones from then on.

        Parameters
        ----------
        shared : dict of str to Parameter, optional
            By the names that collect_params() of the other gives them; those that this one has not are left out.
            None: nothing changes.

        Returns
        -------
        Block
            This one.

        Examples
        --------
        >>> first, second = nn.Dense(2, in_units=3), nn.Dense(2, in_units=3)
        >>> second = second.share_parameters(first.collect_params())
        >>> second.weight is first.weight
        True
        """
        for name, p in (shared or {}).items():
            block, (*path, last) = self, name.split(".")
            for step in path:
                block = block._children.get(step) if block is not None else None
            if block is not None and last in block.params:
                parameter.changed()
                block._params[last] = p
                if last in block._reg_params:
                    setattr(block, last, p)
        return self

    # -- parameters ----------------------------------------------------------------------------

    def initialize(self, init=init.Uniform(), ctx=None, verbose=False, force_reinit=False, device=None):  # noqa: B008
        """Give all parameters values; where shapes are not known yet, at the first call.

        Parameters
        ----------
        init : str or Initializer
            First values of those parameters that have no initializer of their own, by name, as "xavier", or itself.
        ctx : Device or list of Device, optional
            Where they go; on several devices there is a copy of each. None: the current one.
        verbose : bool
            MXNet's; it changes nothing.
        force_reinit : bool
            Those that have values get new ones. Else there is a warning of them, and they stay.
        device : Device or list of Device, optional
            MXNet 2's word for ctx; it goes before.

        Raises
        ------
        ValueError
            For an unknown initializer; for a parameter whose shape is not known, and may not come later.

        Warns
        -----
        UserWarning
            For parameters that have values already.

        Examples
        --------
        >>> net = nn.Dense(2, in_units=2)
        >>> net.initialize(init.One())
        >>> print(net.weight.data(), net.bias.data())
        [[1. 1.]
         [1. 1.]] [0. 0.]
        """
        self.collect_params().initialize(init, ctx, verbose, force_reinit, device)

    def save_parameters(self, filename, deduplicate=False):
        """Write the parameters to a file, in NumPy's .npz format: waits for them.

        Parameters
        ----------
        filename : str
            Where they go.
        deduplicate : bool
            Those that several blocks share are written once.

        Raises
        ------
        RuntimeError
            For a parameter without values.
        """
        found = self.collect_params()
        if deduplicate:
            found = ParameterDict({id(p): (name, p) for name, p in reversed(found.items())}.values())
        found.save(filename)

    def load_parameters(self, filename, ctx=None, allow_missing=False, ignore_extra=False, cast_dtype=False,
                        dtype_source="current", device=None):
        """Take the parameters from a file, of save_parameters() or MXNet's: that initializes them.

        Parameters
        ----------
        filename : str
            The file.
        ctx : Device or list of Device, optional
            Where they go; on several devices there is a copy of each. None: where they are, or the current one.
        allow_missing : bool
            The file may lack some, which stay as they are.
        ignore_extra : bool
            The file may have others, which are skipped.
        cast_dtype : bool
            Types may differ.
        dtype_source : str
            With cast_dtype, which type it is then: "current", the parameter's, or "saved", the file's.
        device : Device or list of Device, optional
            MXNet 2's word for ctx; it goes before.

        Raises
        ------
        ValueError
            Where the file has other names or shapes, unless told to allow that, and for a file that is no such, or
            damaged; nothing is changed then.
        TypeError
            Where types differ, without cast_dtype.
        FileNotFoundError
            Where there is no such file.

        Examples
        --------
        >>> import os, tempfile
        >>> net, other = nn.Dense(2, in_units=3), nn.Dense(2, in_units=3)
        >>> net.initialize()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     net.save_parameters(os.path.join(folder, "net.params"))
        ...     other.load_parameters(os.path.join(folder, "net.params"))
        >>> bool((net.weight.data() == other.weight.data()).all())
        True
        """
        self.collect_params().load(filename, ctx, allow_missing, ignore_extra, "", cast_dtype, dtype_source, device)

    def load_dict(self, param_dict, ctx=None, allow_missing=False, ignore_extra=False, cast_dtype=False,
                  dtype_source="current", device=None):
        """Take the parameters from arrays by name: load_parameters() without a file.

        Parameters
        ----------
        param_dict : dict of str to ndarray
            By the names that collect_params() gives.
        ctx : Device or list of Device, optional
            Where they go; on several devices there is a copy of each. None: where they are, or the current one.
        allow_missing : bool
            The file may lack some, which stay as they are.
        ignore_extra : bool
            The file may have others, which are skipped.
        cast_dtype : bool
            Types may differ.
        dtype_source : str
            With cast_dtype, which type it is then: "current", the parameter's, or "saved", the file's.
        device : Device or list of Device, optional
            MXNet 2's word for ctx; it goes before.

        Raises
        ------
        ValueError
            Where there are other names or shapes, unless told to allow that; nothing is changed then.
        TypeError
            Where types differ, without cast_dtype.
        """
        self.collect_params()._load(param_dict, "param_dict", ctx if device is None else device, allow_missing,
                                    ignore_extra, cast_dtype, dtype_source)

    def _blocks(self, path=""):
        """Paths, as "0.1", and blocks, from here on down."""
        yield path, self
        for name, child in self._children.items():
            yield from child._blocks(f"{path}.{name}" if path else name)

    def save(self, prefix):
        """Write the parameters, and which blocks have them and are hybridized, to two files: waits for them.

        They are `prefix`-model.params and `prefix`-model.json. load() of a block that was made in the same way takes
        both.

        Parameters
        ----------
        prefix : str
            What the names of both files begin with.

        Raises
        ------
        RuntimeError
            For a parameter without values.
        """
        self.save_parameters(f"{prefix}-model.params")
        rows = {path: {"class": type(block).__name__, "parameters": list(block.params),
                       "hybridized": "_run" in block.__dict__} for path, block in self._blocks()}
        with open(f"{prefix}-model.json", "w") as stream:
            json.dump(rows, stream, indent=1)

    def load(self, prefix):
        """Take what save() wrote: the parameters, and which blocks are hybridized.

        Parameters
        ----------
        prefix : str
            What the names of both files begin with.

        Raises
        ------
        ValueError
            Where blocks, or names or shapes of parameters, differ, and for files that are damaged.
        FileNotFoundError
            Where there are no such files.
        """
        file = f"{prefix}-model.json"
        with reading(file), open(file, "rb") as stream:
            rows = {path: (row["class"], row["parameters"], row["hybridized"] is True)
                    for path, row in json.load(stream).items()}
        blocks = dict(self._blocks())
        for path in rows | blocks:
            here = path in blocks and (type(blocks[path]).__name__, list(blocks[path].params))
            there = path in rows and rows[path][:2]
            if here != there:
                here, there = (f"{x[0]} with the parameters {x[1]}" if x else "missing" for x in (here, there))
                raise ValueError(f"{file}: the block {path or 'itself'} is {there}, and here {here}")
        self.load_parameters(f"{prefix}-model.params")
        for path, block in blocks.items():
            if rows[path][2]:
                block.hybridize()

    def setattr(self, name, value):
        """Set an attribute of all parameters.

        Parameters
        ----------
        name : str
            As grad_req, lr_mult or wd_mult.
        value : object
            Its value.

        Examples
        --------
        >>> net = nn.Dense(2, in_units=3)
        >>> net.setattr("grad_req", "null")
        >>> net.weight.grad_req
        'null'
        """
        self.collect_params().setattr(name, value)

    def zero_grad(self):
        """Set all gradients to zero."""
        self.collect_params().zero_grad()

    def reset_ctx(self, ctx=None, device=None):
        """Move the parameters to other devices: from several there goes the mean of the arrays.

        Parameters
        ----------
        ctx : Device or list of Device, optional
            Where they go; on several devices there is a copy of each. None: the current one.
        device : Device or list of Device, optional
            MXNet 2's word for ctx; it goes before.
        """
        ctx = ctx if device is None else device
        self.collect_params().reset_ctx(ctx)

    reset_device = reset_ctx

    def cast(self, dtype):
        """Change the type of all parameters, here and below.

        Parameters
        ----------
        dtype : dtype
            The new type.

        Examples
        --------
        >>> net = nn.Dense(2, in_units=3)
        >>> net.cast("float64")
        >>> net.weight.dtype
        dtype('float64')
        """
        for child in self._children.values():
            child.cast(dtype)
        for p in self.params.values():
            p.cast(dtype)

    def hybridize(self, active=True, **kwargs):
        """Hybridize the blocks below: see HybridBlock. This one itself runs as written.

        Parameters
        ----------
        active : bool
            Whether they are to be replayed.
        **kwargs
            MXNet's, as static_alloc; they change nothing.
        """
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    # -- running -------------------------------------------------------------------------------

    def __call__(self, *args, **kwargs):
        if parameter.replicated:
            arrays = arrays_in(args)
            if arrays and arrays[0].ctx != current_device():
                with arrays[0].ctx:             # which decides what data() of its parameters gives
                    return self(*args, **kwargs)
        if not self._forward_pre_hooks and not self._forward_hooks:
            return self._run(*args, **kwargs)
        for hook in list(self._forward_pre_hooks.values()):
            hook(self, args)
        out = self._run(*args, **kwargs)
        for hook in list(self._forward_hooks.values()):
            hook(self, args, out)
        return out

    def _run(self, *args, **kwargs):
        try:
            try:
                return self.forward(*args, **kwargs)
            except DeferredInitializationError:
                if not self._complete(*args, **kwargs):
                    raise
                return self.forward(*args, **kwargs)
        except (TypeError, ValueError) as error:
            _tell_where(error, self, args)
            raise

    def _complete(self, *args, **kwargs):
        """Make the parameters that waited for the first input; False if there are none."""
        waiting = [p for p in self.params.values() if p._data is None and p._pending is not None]
        if waiting:
            self._infer(*args, **kwargs)
        for p in waiting:
            p._make()
        return bool(waiting)

    def forward(self, *args):
        """The block's function, of arrays: a subclass writes it, and calling the block runs it.

        Parameters
        ----------
        *args
            What the block is called with.

        Returns
        -------
        ndarray, or what the block gives

        Raises
        ------
        NotImplementedError
            Always: it is for subclasses.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a forward()")

    def _infer(self, *args, **kwargs):
        """infer_shape(), of the arguments of forward()."""
        self.infer_shape(*args, **kwargs)

    def infer_shape(self, *args):
        """Set the shapes of parameters that depend on the input: a subclass writes it, if it has such.

        Parameters
        ----------
        *args
            What forward() is called with first.

        Raises
        ------
        DeferredInitializationError
            Always: it is for subclasses.
        """
        raise DeferredInitializationError(
            f"{type(self).__name__} has parameters of unknown shape: it needs an infer_shape()")

    def summary(self, *inputs):
        """Run forward() of some inputs, and print each block's output and number of parameters.

        Parameters
        ----------
        *inputs
            What the block is called with.
        """
        rows, handles = [], []

        def note(block, inputs, out):
            own = {id(p): p for p in block.params.values() if p._data is not None}
            rows.append((block, out, own))

        def shapes(out):
            return str(out.shape if is_array(out) else [shapes(x) for x in out])

        self.apply(lambda block: handles.append(block.register_forward_hook(note)))
        try:
            self(*inputs)
        finally:
            for handle in handles:
                handle.detach()
        line = "{:>24}  {:>36}  {:>15}".format
        print("-" * 80, line("Layer (type)", "Output Shape", "Param #"), "=" * 80,
              line("Input", ", ".join(map(shapes, inputs)), 0), sep="\n")
        counted = {}
        for number, (block, out, own) in enumerate(rows, 1):
            new = {key: p for key, p in own.items() if key not in counted}
            counted.update(new)
            print(line(f"{type(block).__name__}-{number}", shapes(out), sum(p._data.size for p in own.values())))
        trained = sum(p._data.size for p in counted.values() if p.grad_req != "null")
        total = sum(p._data.size for p in counted.values())
        print("=" * 80, f"Total params: {total}", f"Trainable params: {trained}",
              f"Non-trainable params: {total - trained}", "-" * 80, sep="\n")


class HybridBlock(Block):
    """A Block whose forward() is noted once for arguments of some shapes, and replayed, after hybridize().

    Then forward(), of this block and those below, is a function as dflow.graph() says: Python code runs once, and
    hooks of the blocks below with it. MXNet 1's hybrid_forward(F, x, ..., **parameters) is called where there is
    no forward().

    Parameters
    ----------
    prefix : str, optional
        MXNet's: a name for messages, which ends with _. None: that of the class, and a number.
    params : ParameterDict, optional
        Parameters of another block: those of the same names are shared.

    Inputs
    ------
    *args
        What forward() takes; usually arrays.

    Outputs
    -------
    ndarray, or what forward() gives

    Raises
    ------
    NotImplementedError, TypeError, RuntimeError
        As of Block.

    Warns
    -----
    RuntimeWarning
        Once, where what forward() does cannot be replayed: it runs as written then.

    Examples
    --------
    >>> class Scale(gluon.HybridBlock):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = gluon.Parameter("factor", shape=(1,), init="ones")
    ...     def forward(self, x):
    ...         return x * self.factor.data()
    >>> net = Scale()
    >>> net.initialize()
    >>> net.hybridize()
    >>> print(net(np.array([1.0, 2.0])))
    [1. 2.]
    """

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_run"}

    def hybridize(self, active=True, **kwargs):
        """Replay forward() from now on, or no more, here and below.

        Parameters
        ----------
        active : bool
            Whether it is to be replayed.
        **kwargs
            MXNet's, as static_alloc; they change nothing.

        Examples
        --------
        >>> net = nn.HybridSequential(nn.Dense(3), nn.Dense(1))
        >>> net.initialize()
        >>> net.hybridize()
        >>> first, second = net(np.ones((2, 4))), net(np.ones((2, 4)))       # noted, and replayed
        >>> bool((first == second).all())
        True
        """
        self.__dict__.pop("_run", None)
        if active:
            self._run = Graph(self._seen, self._surroundings, f"block {self.name}", True)
        self._initialized_at = None
        super().hybridize(active, **kwargs)

    def optimize_for(self, x, *args, backend=None, **kwargs):
        """hybridize(), and a first call.

        Parameters
        ----------
        x : ndarray
            The first argument of the call.
        *args
            The others.
        backend : str, optional
            None, or MXNet's for CPUs, "ONEDNN" or "MKLDNN": no matter which.
        **kwargs
            MXNet's, as of hybridize(); they change nothing.

        Raises
        ------
        ValueError
            For another backend.
        """
        if backend not in (None, "ONEDNN", "MKLDNN"):
            raise ValueError(f"backend must be None, 'ONEDNN' or 'MKLDNN', not {backend!r}")
        self.hybridize(True, **kwargs)
        self(x, *args)

    _shapes = None

    def _seen(self, *args, **kwargs):
        """forward(), of arguments that are noted: export() needs to know their kinds."""
        self._shapes = [(x.shape, x.dtype) if is_array(x) else type(x).__name__ for x in (*args, *kwargs.values())]
        return Block._run(self, *args, **kwargs)

    def export(self, path, epoch=0, remove_amp_cast=True, inputs=None):
        """Write what forward() does, for SymbolBlock.imports(): `path`-symbol.json, and `path`-0000.params for epoch 0.

        The one is the program, by the public names of the functions that are called; the other the arrays, in NumPy's
        .npz format, which are waited for. Values may be others later, and shapes where forward() does not ask for
        them.

        Parameters
        ----------
        path : str
            What the names of both files begin with.
        epoch : int
            The number in the name of the second.
        remove_amp_cast : bool
            MXNet's; it changes nothing.
        inputs : ndarray or list of ndarray, optional
            Arrays as forward() takes them. None: hybridize() the block and call it before.

        Returns
        -------
        tuple of str
            The names of both files.

        Raises
        ------
        RuntimeError
            Without inputs, where it has not been called after hybridize().
        TypeError
            Where forward() looks at values, writes into arrays or runs other code than np's and npx's with them;
            without inputs, where it was called with other arguments than arrays.

        Examples
        --------
        >>> import os, tempfile
        >>> net = nn.Dense(2, in_units=3)
        >>> net.initialize()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = net.export(os.path.join(folder, "net"), inputs=np.ones((1, 3)))
        >>> [os.path.basename(file) for file in files]
        ['net-symbol.json', 'net-0000.params']
        """
        from dflow.gluon import program  # it is for few
        if inputs is None:
            if self._shapes is None:
                raise RuntimeError(f"{self.name}: hybridize() it and call it once before export(), or give inputs")
            if strange := [kind for kind in self._shapes if isinstance(kind, str)]:
                raise TypeError(f"{self.name} takes other arguments than arrays, and cannot be exported: {strange[0]}")
            inputs = [np.zeros(*kind) for kind in self._shapes]
        inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        names = ["data"] if len(inputs) == 1 else [f"data{i}" for i in range(len(inputs))]
        parameters, replayed = self.collect_params(), []

        def as_written(block):
            if "_run" in block.__dict__:
                replayed.append((block, block.__dict__.pop("_run")))

        with autograd.pause(), numpy.errstate(all="ignore"):
            self(*inputs)                       # gives parameters their shapes
        self.apply(as_written)
        try:
            recorded, constants = program.trace(self, inputs, names, parameters)
        finally:
            for block, run in replayed:
                block._run = run
        files = f"{path}-symbol.json", f"{path}-{epoch:04d}.params"
        npx.save(files[1], {name: p.mean() for name, p in parameters.items()} | constants)
        with open(files[0], "w") as stream:
            stream.write(recorded.to_json())
        return files

    def _surroundings(self):
        """When the parameters were last changed; None while there are some without values."""
        if self._initialized_at != parameter.changes:
            if any(p._data is None for p in self.collect_params().values()):
                return None
            self._initialized_at = parameter.changes
        return self._initialized_at

    def forward(self, *args):
        """The block's function, of arrays: a subclass writes it.

        One that has MXNet 1's hybrid_forward(F, *args, **parameters) instead is called with that, where F is nd, with
        np and npx.

        Parameters
        ----------
        *args
            What the block is called with.

        Returns
        -------
        ndarray, or what the block gives

        Raises
        ------
        NotImplementedError
            Without a hybrid_forward().
        """
        if not hasattr(self, "hybrid_forward"):
            return super().forward(*args)
        from dflow import nd  # gives arrays MXNet 1's methods

        return self.hybrid_forward(nd, *args, **{name: p.data() for name, p in self._reg_params.items()})
