"""Devices as MXNet names them: cpu(0), cpu(1), ..., over one memory, and gpu(0), gpu(1), ..., each with its own.

An array is where it was put (`ctx=`, `device=`, as_in_ctx()), and results are where their arguments are. Arrays that
were put on different devices do not mix. One that was made without saying where, also in `with cpu(1):`, goes along.
"""

import operator
import threading

from dflow import _engine
from dflow._array.core import attach
from dflow._engine import waitall
from dflow._functions import placement

__all__ = ["Context", "Device", "cpu", "cpu_pinned", "current_context", "current_device", "gpu",
           "gpu_memory_info", "num_gpus", "synchronize"]


def __dir__():
    return sorted(__all__)


_TYPES = ("cpu", "gpu", "cpu_pinned", "cpu_shared")
_entered = threading.local()        # stack: the devices before each `with` block that this thread is in


class Device:
    """A device: its type and number. It may be one that is not there; arrays cannot be made on it then.

    `with device:` has what this thread makes there, unless it is told, or made of arrays that were put elsewhere.

    Parameters
    ----------
    device_type : str
        "cpu" or "gpu"; "cpu_pinned" and "cpu_shared" are "cpu".
    device_id : int
        Its number, from 0 on.

    Raises
    ------
    ValueError
        For another type, or a negative number.

    Examples
    --------
    >>> with dflow.Device("cpu", 1):
    ...     x = np.ones(3)
    >>> x.device
    cpu(1)
    """

    __slots__ = ("device_type", "device_id")
    devtype2str = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}        # MXNet's numbers
    devstr2type = {name: number for number, name in devtype2str.items()}

    def __init__(self, device_type, device_id=0):
        if device_type not in _TYPES:
            raise ValueError(f"device_type must be one of {', '.join(map(repr, _TYPES))}, not {device_type!r}")
        device_id = operator.index(device_id)
        if device_id < 0:
            raise ValueError(f"device_id must not be negative: {device_id}")
        # Pinned memory is what a GPU reads faster, shared memory what other processes see: here, memory like any other.
        self.device_type = "gpu" if device_type == "gpu" else "cpu"
        self.device_id = device_id

    def __eq__(self, other):
        """cpu(0) is "cpu", too, as NumPy names it."""
        if isinstance(other, str):
            return other == "cpu" and self.device_type == "cpu" and self.device_id == 0
        if not isinstance(other, Device):
            return NotImplemented
        return (self.device_type, self.device_id) == (other.device_type, other.device_id)

    def __hash__(self):
        return hash("cpu" if self == "cpu" else (self.device_type, self.device_id))

    @property
    def device_typeid(self):
        """MXNet's number of the type."""
        return self.devstr2type[self.device_type]

    def __repr__(self):
        return f"{self.device_type}({self.device_id})"

    def __enter__(self):
        _entered.stack = [*getattr(_entered, "stack", ()), placement.set_current(placement.device_number(self))]
        return self

    def __exit__(self, *error):
        placement.set_current(_entered.stack.pop())


Context = Device            # its older name


def cpu(device_id=0):
    """A share of the CPU; all of them are over one memory.

    Parameters
    ----------
    device_id : int
        0 to 15.

    Returns
    -------
    Device

    Examples
    --------
    >>> np.ones(3, device=dflow.cpu(1)).device
    cpu(1)
    """
    return Device("cpu", device_id)


def cpu_pinned(device_id=0):
    """The CPU: memory that a GPU reads faster is memory like any other here.

    Parameters
    ----------
    device_id : int
        As of cpu().

    Returns
    -------
    Device

    Examples
    --------
    >>> dflow.cpu_pinned() == dflow.cpu()
    True
    """
    return Device("cpu_pinned", device_id)


def gpu(device_id=0):
    """A GPU, through CuPy (the extra dflow[cuda]). ValueError where an array is to be made on one that is not there.

    Parameters
    ----------
    device_id : int
        From 0 on.

    Returns
    -------
    Device

    Examples
    --------
    >>> dflow.gpu(1)
    gpu(1)
    """
    return Device("gpu", device_id)


def num_gpus():
    """How many GPUs arrays can be on: none without CuPy.

    Returns
    -------
    int

    Examples
    --------
    >>> device = dflow.gpu(0) if dflow.num_gpus() else dflow.cpu(0)
    """
    return placement.num_gpus()


def gpu_memory_info(device_id=0):
    """Bytes of a GPU's memory.

    Parameters
    ----------
    device_id : int
        Its number.

    Returns
    -------
    tuple of int
        What is free, also in the pool that arrays come from, and all.

    Raises
    ------
    ValueError
        For one that is not there.

    Examples
    --------
    >>> from dflow import devices
    >>> [devices.gpu_memory_info(number) for number in range(dflow.num_gpus())] == [] or dflow.num_gpus() > 0
    True
    """
    return placement.gpu_memory(placement.device_number(gpu(device_id)))


def _numbered(number):
    return cpu(number) if number < placement.CPUS else gpu(number - placement.CPUS)


def current_device():
    """Where this thread makes arrays that are not told: the device of the innermost `with` block, or cpu(0).

    Returns
    -------
    Device

    Examples
    --------
    >>> with dflow.cpu(2):
    ...     dflow.current_device()
    cpu(2)
    """
    return _numbered(placement.current())


current_context = current_device


def synchronize(device=None):
    """Wait until nothing is pending for a device's workers. Raises the errors that nobody has seen.

    Parameters
    ----------
    device : Device, optional
        None: any.

    Examples
    --------
    >>> x = np.ones((300, 300)) @ np.ones((300, 300))
    >>> dflow.synchronize()
    >>> x.is_ready()
    True
    """
    if device is None:
        waitall()
    else:
        _engine.synchronize(placement.device_number(device))


def _context(self):
    """The device that the array is on."""
    return _numbered(placement.number_of(self))


def _in_place(name):
    def refuse(_array, _value):
        raise AttributeError(f"attribute {name!r} of 'ndarray' objects is not writable: to_device() gives a copy there")

    return refuse


for _name in ("ctx", "context", "device"):
    attach(_name, property(_context, _in_place(_name)))
