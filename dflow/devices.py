"""Devices as MXNet names them. There is one kind, the CPU, whose arrays all share its memory, whatever their number."""

import operator

from dflow._array import attach, ndarray
from dflow._make import check_device

__all__ = ["Context", "Device", "cpu", "cpu_pinned", "current_context", "current_device", "gpu", "num_gpus"]

_TYPES = ("cpu", "gpu", "cpu_pinned")


class Device:
    """A device: its type and number. It may be one that is not there; arrays cannot be made on it then."""

    __slots__ = ("device_type", "device_id")

    def __init__(self, device_type, device_id=0):
        if device_type not in _TYPES:
            raise ValueError(f"device_type must be one of {', '.join(map(repr, _TYPES))}, not {device_type!r}")
        device_id = operator.index(device_id)
        if device_id < 0:
            raise ValueError(f"device_id must not be negative: {device_id}")
        # Pinned memory is what a GPU reads faster: without one, memory like any other.
        self.device_type = "cpu" if device_type == "cpu_pinned" else device_type
        self.device_id = device_id

    def __eq__(self, other):
        if not isinstance(other, Device):
            return NotImplemented
        return (self.device_type, self.device_id) == (other.device_type, other.device_id)

    def __hash__(self):
        return hash((self.device_type, self.device_id))

    def __repr__(self):
        return f"{self.device_type}({self.device_id})"

    def __enter__(self):
        check_device(self)
        return self

    def __exit__(self, *error):
        pass


Context = Device            # its older name


def cpu(device_id=0):
    """The CPU. All numbers are the same memory."""
    return Device("cpu", device_id)


def cpu_pinned(device_id=0):
    """The CPU."""
    return Device("cpu_pinned", device_id)


def gpu(device_id=0):
    """A GPU. There is none: ValueError where an array is to be made on it."""
    return Device("gpu", device_id)


def num_gpus():
    """How many GPUs arrays can be on: none."""
    return 0


def current_device():
    """Where arrays are made that are not told: the CPU."""
    return cpu()


current_context = current_device


def _context(self):
    """The device of the array: cpu(0)."""
    return cpu()


def as_in_ctx(self, device):
    """The array itself: it is where it can be. ValueError for another device than the CPU."""
    check_device(device)
    return self


def copyto(self, other):
    """A copy on a device, or into another array, which is returned."""
    if isinstance(other, ndarray):
        other[...] = self
        return other
    check_device(other)
    return self.copy()


for _name, _value in {"ctx": property(_context), "context": property(_context), "as_in_ctx": as_in_ctx,
                      "as_in_context": as_in_ctx, "copyto": copyto}.items():
    attach(_name, _value)
