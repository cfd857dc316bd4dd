"""Parameters: arrays that layers own and training changes."""

import math
import re
import types
import warnings

from dflow import autograd, init, npx
from dflow import numpy as np
from dflow._array.core import is_array
from dflow._functions.placement import put_on
from dflow.devices import current_device
from dflow.ops.files import reading

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict"]


def __dir__():
    return sorted(__all__)


changes = 0     # how often a parameter got another array, or a block another part: then what was noted is out of date
replicated = False          # there has been a parameter on several devices: blocks look where their arguments are


def changed():
    global changes
    changes += 1


class DeferredInitializationError(RuntimeError):
    """A parameter has no values yet, as its shape follows from the first input.

    Examples
    --------
    >>> net = nn.Dense(2)
    >>> net.initialize()
    >>> try:
    ...     net.weight.data()
    ... except gluon.DeferredInitializationError:
    ...     print("after the first call")
    after the first call
    """


def _known(shape):
    """Whether all of a shape is known: -1 is a length that is not."""
    return shape is not None and -1 not in shape


def _devices(ctx):
    """A device, several or None, as a tuple of devices."""
    found = (current_device(),) if ctx is None else tuple(ctx) if isinstance(ctx, (list, tuple)) else (ctx,)
    for device in found:
        np.empty(0).as_in_ctx(device)           # its error
    return found


class Parameter:
    """An array with a gradient, made by initialize(); where lengths of `shape` are 0 or -1, once these are known.

    grad_req: "write", "add" (to the gradient, until zero_grad()) or "null" (none). lr_mult, wd_mult: what the trainer's
    learning rate and weight decay are multiplied by. init: an initializer that goes before the one of initialize().

    On several devices it is an array on each, with a gradient of its own. data() is that of the current device, which
    for a block's forward() is the one that its arguments are on. Without a device it is where other arrays are.

    Parameters
    ----------
    name : str
        For messages and files.
    grad_req : str
        "write", "add" or "null".
    shape : int or tuple of int, optional
        0 or -1: not known yet.
    dtype : dtype
        Of the parameters.
    lr_mult : float
        What learning rates are multiplied by.
    wd_mult : float
        What weight decay is multiplied by.
    init : str or Initializer, optional
        First values.
    allow_deferred_init : bool
        initialize() may come before the shape is known.
    differentiable : bool
        False: there is no gradient.
    stype : str
        "default".
    grad_stype : str
        "default".

    Examples
    --------
    >>> weight = gluon.Parameter("weight", shape=(2, 3), init="ones")
    >>> weight.initialize()
    >>> print(weight.data())
    [[1. 1. 1.]
     [1. 1. 1.]]
    """

    given = 0                           # how often it was given values, other than by training

    def __init__(self, name="weight", grad_req="write", shape=None, dtype="float32", lr_mult=1.0, wd_mult=1.0,
                 init=None, allow_deferred_init=False, differentiable=True, stype="default", grad_stype="default"):
        for argument, value in (("stype", stype), ("grad_stype", grad_stype)):
            if value != "default":
                raise ValueError(f"{argument} must be 'default', not {value!r}")
        self.name = name
        self.dtype = np.dtype(dtype)
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.init = init
        self.allow_deferred_init = allow_deferred_init
        self._differentiable = differentiable
        self._data = None
        self._replicas = {}             # the arrays by device; the first is `_data`
        self._pending = None            # the initializer, until the shape is known
        self._devices = ()
        self._placed = False            # whether these were asked for
        self._shape = None
        self.shape = shape
        self.grad_req = grad_req

    def __setstate__(self, state):
        """Of a copy, or one from a file, whose array has no gradient yet."""
        self.__dict__.update(state)
        if self._data is not None:
            self._hold(self._data)

    def __repr__(self):
        return f"Parameter {self.name} (shape={self.shape}, dtype={self.dtype})"

    @property
    def shape(self):
        """The shape; -1 is a length that is not known yet. Such lengths may be set, others not be changed."""
        return self._shape

    @shape.setter
    def shape(self, shape):
        if shape is None:
            return
        shape = (shape,) if isinstance(shape, int) else tuple(n or -1 for n in shape)
        self._check_shape(shape)
        self._shape = shape

    def _check_shape(self, shape):
        old = self._shape
        if old is not None and (len(old) != len(shape) or any(n not in (-1, m) for n, m in zip(old, shape))):
            raise ValueError(f"the shape of {self.name} is {old}, and cannot become {shape}")

    @property
    def grad_req(self):
        return self._grad_req

    @grad_req.setter
    def grad_req(self, request):
        if request not in autograd.REQUESTS:
            raise ValueError(
                f"grad_req must be one of {', '.join(map(repr, autograd.REQUESTS))}, not {request!r}")
        self._grad_req = request if self._differentiable else "null"
        if self._data is not None:
            self._hold(self._data.detach())

    # -- making --------------------------------------------------------------------------------

    def initialize(self, init=None, ctx=None, default_init=init.Uniform(), force_reinit=False, device=None):  # noqa: B008
        """Give it values: of `init`, its own initializer, or default_init, in this order."""
        if self._data is not None and not force_reinit:
            warnings.warn(f"{self.name} is initialized already: force_reinit=True does it again", stacklevel=2)
            return
        self._place(ctx if device is None else device)
        self._data = None
        changed()
        self._pending = next(choice for choice in (init, self.init, default_init) if choice is not None)
        if _known(self.shape):
            self._make()
        elif not self.allow_deferred_init:
            raise ValueError(f"{self.name} cannot be initialized: its shape {self.shape} is not known")

    def _make(self):
        """Values for what initialize() was called on, now that the shape is known."""
        if not _known(self.shape):
            raise DeferredInitializationError(f"{self.name} has the shape {self.shape}: it is not known")
        with autograd.pause():
            data = np.empty(self.shape, self.dtype)
            init.create(self._pending)._init_weight(self.name, data)
        self._hold(data)

    def _place(self, ctx):
        self._devices = _devices(ctx)
        self._placed = ctx is not None

    def _hold(self, data):
        """Have values from now on, on all devices."""
        global replicated
        changed()
        self.given += 1
        if self._placed:
            data = put_on(data.as_in_ctx(self._devices[0]), self._devices[0])
        first, *others = self._devices
        self._data, self._pending = data, None
        self._replicas = {first: data, **{device: data.copyto(device) for device in others}}
        replicated = replicated or bool(others)
        if self.grad_req != "null":
            for array in self.list_data():
                array.attach_grad(self.grad_req)

    def _missing(self):
        """The error for who asks for data that are not there."""
        if self._pending is not None:
            return DeferredInitializationError(
                f"{self.name} has no values yet: its shape {self.shape} follows from the first input")
        return RuntimeError(f"{self.name} has not been initialized: call initialize() of it or its block first")

    # -- data ----------------------------------------------------------------------------------

    def data(self, ctx=None, device=None):
        """The array: of several, that on a device, or else on the current one. RuntimeError if it is not there."""
        if self._data is None:
            raise self._missing()
        wanted = ctx if device is None else device
        if not self._placed or wanted is None and len(self._devices) == 1:
            return self._data
        wanted = current_device() if wanted is None else wanted
        if wanted not in self._replicas:
            raise RuntimeError(f"{self.name} has not been initialized on {wanted}: "
                               f"it is on {', '.join(map(str, self._devices))}")
        return self._replicas[wanted]

    def has_data(self):
        """Whether there is an array: initialized, and of a known shape."""
        return self._data is not None

    def list_data(self):
        """The arrays on all devices."""
        if self._data is None:
            raise self._missing()
        return list(self._replicas.values())

    def grad(self, ctx=None, device=None):
        """The array of the gradient, on a device as data()."""
        if self.grad_req == "null":
            raise RuntimeError(f"{self.name} has no gradient: its grad_req is 'null'")
        return self.data(ctx, device).grad

    def list_grad(self):
        """The gradients on all devices."""
        if self.grad_req == "null":
            raise RuntimeError(f"{self.name} has no gradient: its grad_req is 'null'")
        return [array.grad for array in self.list_data()]

    def zero_grad(self):
        """Set the gradients to zero."""
        if self._data is not None:
            for array in self.list_data():
                array.zero_grad()

    def mean(self):
        """The mean of the arrays on all devices, which may have seen different samples; on the first of them."""
        first, *others = self.list_data()
        if not others:
            return first
        with autograd.pause():
            return (sum((x.as_in_ctx(first.ctx) for x in others), first) / (len(others) + 1)).astype(self.dtype)

    def set_data(self, data):
        """Put these values into the array."""
        self.shape = data.shape
        if self._data is None and self._pending is None:
            raise self._missing()
        if self._data is None:
            self._hold(np.array(data, self.dtype))
            return
        self.given += 1
        with autograd.pause():
            for array in self.list_data():
                if is_array(data):
                    data.copyto(array)
                else:
                    array[...] = data

    def load(self, data, cast_dtype=False, dtype_source="current"):
        """Take values of a file: initializes. Types must be the same; with cast_dtype one becomes the other."""
        self.check_load(data, cast_dtype, dtype_source)
        self.shape = data.shape
        if self.dtype != data.dtype and dtype_source == "saved":
            self.cast(data.dtype)
        if not self._devices:
            self._place(None)
        if self._data is None:
            self._pending = self._pending or init.Zero()
        self.set_data(data)

    def check_load(self, data, cast_dtype=False, dtype_source="current"):
        """Raise what load() would, and change nothing."""
        if dtype_source not in ("current", "saved"):
            raise ValueError(f"dtype_source must be 'current' or 'saved', not {dtype_source!r}")
        try:
            self._check_shape(data.shape)
        except ValueError as error:
            raise ValueError(f"{self.name} cannot be loaded: {error}") from None
        if self.dtype != data.dtype and not cast_dtype:
            raise TypeError(f"{self.name} is {self.dtype}, in the file {data.dtype}: cast_dtype=True casts")

    def list_ctx(self):
        """The devices that it is on."""
        if self._data is None and self._pending is None:
            raise self._missing()
        return list(self._devices)

    def reset_ctx(self, ctx=None, device=None):
        """Move it to other devices."""
        ctx = ctx if device is None else device
        data = None if self._data is None else self.mean().detach()
        self._place(ctx)
        if data is not None:
            self._hold(data)

    list_device, reset_device = list_ctx, reset_ctx

    def cast(self, dtype):
        """Change its type."""
        self.dtype = np.dtype(dtype)
        if self._data is not None:
            self._hold(self._data.detach().astype(dtype))


class Constant(Parameter):
    """A parameter that is not trained: an array, or numbers to make one of.

    Parameters
    ----------
    value : ndarray or array_like
        The numbers.
    name : str
        For messages and files.

    Examples
    --------
    >>> scale = gluon.Constant([1.0, 2.0])
    >>> scale.initialize()
    >>> print(scale.data())
    [1. 2.]
    """

    def __init__(self, value, name="const"):
        value = np.asarray(value)
        value = value.astype("float32") if value.dtype == float else value
        self.value = value
        super().__init__(name, "null", value.shape, value.dtype, init=init.Constant(value), differentiable=False)


def _vector(arrays):
    return np.concatenate([x.reshape(-1) for x in arrays])


class Packed:
    """Several parameters that another library has as one, a vector of all their elements: they follow each other there
    in the order of a dictionary. apart(vector) gives a dictionary of arrays.
    """

    def __init__(self, parameters, apart):
        self._parameters, self.apart = parameters, apart

    @property
    def shape(self):
        return (sum(math.prod(p.shape) for p in self._parameters.values()),)

    def joined(self, ctx=None):
        """The vector, as an operation on the parameters."""
        return _vector(p.data(ctx) for p in self._parameters.values())

    def data(self, ctx=None):
        """A copy of it, with one of the gradients."""
        found = self.joined(ctx).detach()
        if all(p.grad_req != "null" for p in self._parameters.values()):
            autograd.mark_variables([found], [self.grad(ctx)])
        return found

    def grad(self, ctx=None):
        """A copy of the gradients."""
        return _vector(p.grad(ctx) for p in self._parameters.values())

    def set_data(self, data):
        """Give all new values."""
        for name, x in self.apart(data).items():
            self._parameters[name].set_data(x)


class ParameterDict(dict):
    """Parameters by name, and what is done to all of them.

    Parameters
    ----------
    parameters : dict or list
        The first ones, by name.
    shared : ParameterDict, optional
        MXNet's; it changes nothing.

    Examples
    --------
    >>> net = nn.Dense(2, in_units=3)
    >>> sorted(net.collect_params())
    ['bias', 'weight']
    """

    packed = types.MappingProxyType({})     # names of Packed, each with what its parameters' names begin with

    def __missing__(self, name):
        if name in self.packed:
            return self.packed[name][1]
        raise KeyError(name)

    def __init__(self, parameters=(), shared=None):
        super().__init__(parameters)
        self._shared = {} if shared is None else shared

    def __repr__(self):
        return "{" + ",\n ".join(f"{name!r}: {p}" for name, p in self.items()) + "}"

    def get(self, name, default=None, **keywords):
        """The parameter of a name: that of the block it is shared with, or made with Parameter's keywords."""
        if name not in self:
            if name in self._shared:
                self[name] = self._shared[name]
                if "shape" in keywords:
                    self[name].shape = keywords["shape"]
            elif default is not None or not keywords:
                return default
            else:
                self[name] = Parameter(name, **keywords)
        return self[name]

    def get_constant(self, name, value=None):
        """The constant of a name, made of `value` if there is none."""
        if name not in self:
            self[name] = self._shared[name] if name in self._shared else Constant(value, name)
        return self[name]

    def select(self, pattern):
        """Those whose names begin with what a regular expression describes; all for None."""
        match = re.compile(pattern or "").match
        return ParameterDict((name, p) for name, p in self.items() if match(name))

    def unique(self):
        """Each parameter once, though several blocks share it."""
        return list({id(p): p for p in self.values()}.values())

    def initialize(self, init=init.Uniform(), ctx=None, verbose=False, force_reinit=False, device=None):  # noqa: B008
        """Parameter.initialize() of all; `init` is for those that have no initializer of their own."""
        for p in self.unique():
            p.initialize(None, ctx, init, force_reinit, device)

    def zero_grad(self):
        """Set all gradients to zero."""
        for p in self.unique():
            p.zero_grad()

    def setattr(self, name, value):
        """Set an attribute of all, as grad_req or lr_mult."""
        for p in self.unique():
            setattr(p, name, value)

    def reset_ctx(self, ctx=None, device=None):
        """Move them to other devices."""
        ctx = ctx if device is None else device
        for p in self.unique():
            p.reset_ctx(ctx)

    reset_device = reset_ctx

    def list_ctx(self):
        """The devices that they are on."""
        return list({device: None for p in self.unique() for device in p.list_ctx()})

    def save(self, filename, strip_prefix=""):
        """Write them to a file, in NumPy's .npz format: waits for them."""
        npx.save(filename, {name.removeprefix(strip_prefix): p.mean() for name, p in self.items()})

    def load(self, filename, ctx=None, allow_missing=False, ignore_extra=False, restore_prefix="", cast_dtype=False,
             dtype_source="current", device=None):
        """Take values from a file, MXNet's too; ValueError where it has other names, unless told to allow that."""
        loaded = npx.load(filename)
        if not isinstance(loaded, dict):
            raise ValueError(f"{filename}: named parameters are expected, and the file has arrays without names")
        loaded = {restore_prefix + name.removeprefix("arg:").removeprefix("aux:"): x for name, x in loaded.items()}
        with reading(filename, lambda: Exception):
            self._load(loaded, filename, ctx if device is None else device, allow_missing, ignore_extra, cast_dtype,
                       dtype_source)

    def _load(self, loaded, source, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source):
        for name in self.packed.keys() & loaded.keys():
            start, packed = self.packed[name]
            loaded = {**loaded, **{start + key: x for key, x in packed.apart(loaded[name]).items()}}
            del loaded[name]
        there = {id(self[name]) for name in loaded if name in self}
        missing = [name for name, p in self.items() if id(p) not in there]      # one name will do for what is shared
        if missing and not allow_missing:
            raise ValueError(f"{source} has no parameter {', '.join(missing)}: allow_missing=True lets it be")
        extra = [name for name in loaded if name not in self]
        if extra and not ignore_extra:
            raise ValueError(f"{source} has {', '.join(extra)}, which is no parameter here: ignore_extra=True skips it")
        for name, x in loaded.items():
            if name in self:
                self[name].check_load(x, cast_dtype, dtype_source)      # all of them, before any is changed
        for name, x in loaded.items():
            if name in self:
                if ctx is not None:
                    self[name].reset_ctx(ctx)
                self[name].load(x, cast_dtype, dtype_source)
