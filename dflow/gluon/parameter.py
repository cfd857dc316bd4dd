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
    """A parameter has no values yet, as its shape follows from the first input: it has them after the first call.

    It is a RuntimeError.

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

    On several devices it is an array on each, with a gradient of its own. data() is that of the current device,
    which for a block's forward() is the one that its arguments are on. Without a device it is where other arrays
    are.

    Parameters
    ----------
    name : str
        For messages.
    grad_req : str
        "write": backward() writes the gradient; "add": it adds to it, until zero_grad(); "null": there is none.
    shape : int or tuple of int, optional
        A length of 0 or -1 is not known yet. None: nothing is known.
    dtype : dtype
        float32 unless given.
    lr_mult : float
        What the trainer's learning rate is multiplied by.
    wd_mult : float
        What the trainer's weight decay is multiplied by.
    init : str or Initializer, optional
        First values: it goes before what initialize() of the block is told.
    allow_deferred_init : bool
        initialize() may come before the shape is known.
    differentiable : bool
        False: there is no gradient, whatever grad_req says.
    stype : str
        MXNet's; it must be "default": there are no sparse arrays.
    grad_stype : str
        MXNet's; it must be "default".

    Raises
    ------
    ValueError
        For another grad_req, stype or grad_stype.

    Examples
    --------
    >>> weight = gluon.Parameter("weight", shape=(2, 3), init="ones")
    >>> weight.initialize()
    >>> with autograd.record():
    ...     y = (weight.data() * 2).sum()
    >>> y.backward()
    >>> print(weight.grad())
    [[2. 2. 2.]
     [2. 2. 2.]]
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
        """What backward() does with the gradient: "write", "add" or "null"; ValueError for another. It may be set."""
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
        """Give it values: of `init`, its own initializer, or default_init, in this order.

        Parameters
        ----------
        init : str or Initializer, optional
            First values, before its own initializer.
        ctx : Device or list of Device, optional
            Where it goes; on several devices there is an array on each. None: the current one.
        default_init : str or Initializer
            First values, where neither says them.
        force_reinit : bool
            It gets new values, if it has some. Else there is a warning, and they stay.
        device : Device or list of Device, optional
            MXNet 2's word for ctx; it goes before.

        Raises
        ------
        ValueError
            Where its shape is not known, without allow_deferred_init; when values are made, for an unknown
            initializer.

        Warns
        -----
        UserWarning
            Where it has values already.

        Examples
        --------
        >>> weight = gluon.Parameter("weight", shape=(2,))
        >>> weight.initialize(init.Constant(3))
        >>> print(weight.data())
        [3. 3.]
        """
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
        """The array, which backward() and the trainer write to.

        Parameters
        ----------
        ctx : Device, optional
            Of several, which one's. None: the current one, or the only one that there is.
        device : Device, optional
            MXNet 2's word for ctx; it goes before.

        Returns
        -------
        ndarray

        Raises
        ------
        RuntimeError
            Where it has not been initialized, or not on that device.
        DeferredInitializationError
            Where its shape follows from the first input, which has not been.
        """
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
        """Whether there is an array: initialized, and of a known shape.

        Returns
        -------
        bool
        """
        return self._data is not None

    def list_data(self):
        """The arrays on all devices.

        Returns
        -------
        list of ndarray

        Raises
        ------
        RuntimeError
            Where it has not been initialized.
        DeferredInitializationError
            Where its shape follows from the first input, which has not been.
        """
        if self._data is None:
            raise self._missing()
        return list(self._replicas.values())

    def grad(self, ctx=None, device=None):
        """The array of the gradient, which backward() writes to.

        Parameters
        ----------
        ctx : Device, optional
            Of several, which one's. None: the current one, or the only one that there is.
        device : Device, optional
            MXNet 2's word for ctx; it goes before.

        Returns
        -------
        ndarray
            Of the parameter's shape and dtype.

        Raises
        ------
        RuntimeError
            Where its grad_req is "null", and where it has not been initialized, or not on that device.
        DeferredInitializationError
            Where its shape follows from the first input, which has not been.
        """
        if self.grad_req == "null":
            raise RuntimeError(f"{self.name} has no gradient: its grad_req is 'null'")
        return self.data(ctx, device).grad

    def list_grad(self):
        """The gradients on all devices.

        Returns
        -------
        list of ndarray

        Raises
        ------
        RuntimeError
            Where its grad_req is "null", and where it has not been initialized.
        DeferredInitializationError
            Where its shape follows from the first input, which has not been.
        """
        if self.grad_req == "null":
            raise RuntimeError(f"{self.name} has no gradient: its grad_req is 'null'")
        return [array.grad for array in self.list_data()]

    def zero_grad(self):
        """Set the gradients to zero, as grad_req "add" needs it before each backward()."""
        if self._data is not None:
            for array in self.list_data():
                array.zero_grad()

    def mean(self):
        """The mean of the arrays on all devices, which may have seen different samples.

        Returns
        -------
        ndarray
            On the first device; the array itself if there is only one.

        Raises
        ------
        RuntimeError
            Where it has not been initialized.
        DeferredInitializationError
            Where its shape follows from the first input, which has not been.
        """
        first, *others = self.list_data()
        if not others:
            return first
        with autograd.pause():
            return (sum((x.as_in_ctx(first.ctx) for x in others), first) / (len(others) + 1)).astype(self.dtype)

    def set_data(self, data):
        """Put values into the array, on all devices; the array stays the same.

        Parameters
        ----------
        data : ndarray
            Of the parameter's shape; converted to its dtype.

        Raises
        ------
        ValueError
            For another shape.
        RuntimeError
            Where it has not been initialized.

        Examples
        --------
        >>> weight = gluon.Parameter("weight", shape=(2,))
        >>> weight.initialize()
        >>> weight.set_data(np.array([1.0, 2.0]))
        >>> print(weight.data())
        [1. 2.]
        """
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
        """Take values of a file, or others: that initializes it.

        Parameters
        ----------
        data : ndarray
            The values.
        cast_dtype : bool
            Types may differ.
        dtype_source : str
            With cast_dtype, which type it is then: "current", the parameter's, or "saved", that of data.

        Raises
        ------
        ValueError
            For another shape, or another dtype_source.
        TypeError
            For another dtype, without cast_dtype.
        """
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
        """Raise what load() would, and change nothing.

        Parameters
        ----------
        data : ndarray
            The values.
        cast_dtype : bool
            Types may differ.
        dtype_source : str
            With cast_dtype, which type it is then: "current", the parameter's, or "saved", that of data.

        Raises
        ------
        ValueError
            For another shape, or another dtype_source.
        TypeError
            For another dtype, without cast_dtype.
        """
        if dtype_source not in ("current", "saved"):
            raise ValueError(f"dtype_source must be 'current' or 'saved', not {dtype_source!r}")
        try:
            self._check_shape(data.shape)
        except ValueError as error:
            raise ValueError(f"{self.name} cannot be loaded: {error}") from None
        if self.dtype != data.dtype and not cast_dtype:
            raise TypeError(f"{self.name} is {self.dtype}, in the file {data.dtype}: cast_dtype=True casts")

    def list_ctx(self):
        """The devices that it is on.

        Returns
        -------
        list of Device

        Raises
        ------
        RuntimeError
            Where it has not been initialized.
        """
        if self._data is None and self._pending is None:
            raise self._missing()
        return list(self._devices)

    def reset_ctx(self, ctx=None, device=None):
        """Move it to other devices: from several there goes the mean of the arrays.

        Parameters
        ----------
        ctx : Device or list of Device, optional
            Where it goes; on several devices there is an array on each. None: the current one.
        device : Device or list of Device, optional
            MXNet 2's word for ctx; it goes before.
        """
        ctx = ctx if device is None else device
        data = None if self._data is None else self.mean().detach()
        self._place(ctx)
        if data is not None:
            self._hold(data)

    list_device, reset_device = list_ctx, reset_ctx

    def cast(self, dtype):
        """Change its type, and that of its values; the gradient becomes zero.

        Parameters
        ----------
        dtype : dtype
            The new type.
        """
        self.dtype = np.dtype(dtype)
        if self._data is not None:
            self._hold(self._data.detach().astype(dtype))


class Constant(Parameter):
    """A parameter that is not trained: it has the values that it is made of, and no gradient.

    Parameters
    ----------
    value : ndarray or array_like
        The numbers. Of float64 they become float32.
    name : str
        For messages.

    Examples
    --------
    >>> scale = gluon.Constant([1.0, 2.0])
    >>> scale.initialize()
    >>> print(scale.data(), scale.grad_req)
    [1. 2.] null
    """

    def __init__(self, value, name="const"):
        value = np.asarray(value)
        value = value.astype("float32") if value.dtype == float else value
        self.value = value
        super().__init__(name, "null", value.shape, value.dtype, init=init.Constant(value), differentiable=False)


def _vector(arrays):
    return np.concatenate([x.reshape(-1) for x in arrays])


class Packed:
    """Several parameters that another library has as one, a vector of all their elements.

    They follow each other there in the order of a dictionary. apart(vector) gives a dictionary of arrays.
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
    """Parameters by name, and what is done to all of them: what collect_params() of a block gives.

    It is a dictionary; several names may have the same parameter.

    Parameters
    ----------
    parameters : dict or iterable of (str, Parameter)
        The first ones, by name.
    shared : dict of str to Parameter, optional
        Parameters that get() and get_constant() take, before they make one.

    Examples
    --------
    >>> net = nn.Dense(2, in_units=3)
    >>> parameters = net.collect_params()
    >>> parameters.initialize("ones")
    >>> sorted(parameters), parameters["bias"].shape
    (['bias', 'weight'], (2,))
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
        """The parameter of a name: one that is here or shared, or made with Parameter's keywords.

        Parameters
        ----------
        name : str
            The name.
        default : Parameter, optional
            What is returned where there is none; it is not kept.
        **keywords
            Of Parameter, as shape; without them none is made.

        Returns
        -------
        Parameter
            Or the default, or None.

        Raises
        ------
        ValueError
            For a shape that a shared one cannot have.

        Examples
        --------
        >>> parameters = gluon.ParameterDict()
        >>> parameters.get("weight", shape=(2, 3)) is parameters["weight"]
        True
        >>> parameters.get("bias") is None
        True
        """
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
        """The constant of a name, made of `value` if there is none.

        Parameters
        ----------
        name : str
            The name.
        value : ndarray or array_like, optional
            The numbers, where it is made.

        Returns
        -------
        Constant
        """
        if name not in self:
            self[name] = self._shared[name] if name in self._shared else Constant(value, name)
        return self[name]

    def select(self, pattern):
        """Those whose names begin with what a regular expression describes.

        Parameters
        ----------
        pattern : str, optional
            The regular expression. None: all.

        Returns
        -------
        ParameterDict
        """
        match = re.compile(pattern or "").match
        return ParameterDict((name, p) for name, p in self.items() if match(name))

    def unique(self):
        """Each parameter once, though several blocks share it.

        Returns
        -------
        list of Parameter
        """
        return list({id(p): p for p in self.values()}.values())

    def initialize(self, init=init.Uniform(), ctx=None, verbose=False, force_reinit=False, device=None):  # noqa: B008
        """Give all of them values: Parameter.initialize() of each.

        Parameters
        ----------
        init : str or Initializer
            First values of those that have no initializer of their own.
        ctx : Device or list of Device, optional
            Where they go; on several devices there is an array on each. None: the current one.
        verbose : bool
            MXNet's; it changes nothing.
        force_reinit : bool
            Those that have values get new ones. Else there is a warning of them, and they stay.
        device : Device or list of Device, optional
            MXNet 2's word for ctx; it goes before.

        Raises
        ------
        ValueError
            For a parameter whose shape is not known, and may not come later.

        Warns
        -----
        UserWarning
            For parameters that have values already.
        """
        for p in self.unique():
            p.initialize(None, ctx, init, force_reinit, device)

    def zero_grad(self):
        """Set all gradients to zero."""
        for p in self.unique():
            p.zero_grad()

    def setattr(self, name, value):
        """Set an attribute of all.

        Parameters
        ----------
        name : str
            As grad_req, lr_mult or wd_mult.
        value : object
            Its value.
        """
        for p in self.unique():
            setattr(p, name, value)

    def reset_ctx(self, ctx=None, device=None):
        """Move them to other devices: Parameter.reset_ctx() of each.

        Parameters
        ----------
        ctx : Device or list of Device, optional
            Where they go; on several devices there is an array on each. None: the current one.
        device : Device or list of Device, optional
            MXNet 2's word for ctx; it goes before.
        """
        ctx = ctx if device is None else device
        for p in self.unique():
            p.reset_ctx(ctx)

    reset_device = reset_ctx

    def list_ctx(self):
        """The devices that they are on.

        Returns
        -------
        list of Device

        Raises
        ------
        RuntimeError
            Where one of them has not been initialized.
        """
        return list({device: None for p in self.unique() for device in p.list_ctx()})

    def save(self, filename, strip_prefix=""):
        """Write them to a file, in NumPy's .npz format: waits for them.

        Parameters
        ----------
        filename : str
            Where they go.
        strip_prefix : str
            What is taken off the names where they begin with it.

        Raises
        ------
        RuntimeError
            For a parameter without values.
        """
        npx.save(filename, {name.removeprefix(strip_prefix): p.mean() for name, p in self.items()})

    def load(self, filename, ctx=None, allow_missing=False, ignore_extra=False, restore_prefix="", cast_dtype=False,
             dtype_source="current", device=None):
        """Take values from a file, of save() or MXNet's: that initializes them.

        Parameters
        ----------
        filename : str
            The file.
        ctx : Device or list of Device, optional
            Where they go. None: where they are, or the current one.
        allow_missing : bool
            The file may lack some, which stay as they are.
        ignore_extra : bool
            The file may have others, which are skipped.
        restore_prefix : str
            What is put before the names of the file.
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
        """
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
