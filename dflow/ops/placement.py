"""Where arrays are, and how they come to another device."""

from dflow._array.core import attach, is_array
from dflow._functions.numpy_inline import small_first
from dflow._functions.placement import copy_to, device_number, number_of, write_to
from dflow._tracing.tape import Rule, add_rule
from dflow.ops.table import method


def _copied(x, number, source):
    """A copy on a device; source: where its gradient goes to."""
    return copy_to(x, number)


def _back(g, number, source):
    return copied(g, source, number)


add_rule(_copied, Rule("as_in_ctx", ("x", "number", "source"), (_back, None, None), over_complex="own"))
copied = small_first(_copied, None, 0)


def moved(x, number):
    """The array itself, if it is there, or a copy that is."""
    return x if number_of(x) == number else copied(x, number, number_of(x))


@method("to_device")
def _to_device(self, device, /, *, stream=None):
    """The array itself if it is there, else a copy on the device: "cpu", or one of dflow.devices.

    ValueError for a device that there is not, and for a stream.
    """
    if not isinstance(device, str) and not hasattr(device, "device_type"):
        raise TypeError(f"to_device() argument 1 must be str, not {type(device).__name__}")
    if getattr(device, "device_type", None) == "worker":
        return device.put(self)
    if stream is not None:
        raise ValueError("The stream argument in to_device() is not supported")
    if isinstance(device, str) and device != "cpu":
        raise ValueError(f"Unsupported device: {device}. Only 'cpu' is accepted.")
    return moved(self, device_number(device))


def _asked(name, device):
    """The number of a device. TypeError for what is none."""
    if not isinstance(device, str) and not hasattr(device, "device_type"):
        raise TypeError(f"{name} must be a device, not {type(device).__name__}")
    return device_number(device)


def as_in_ctx(self, ctx):
    """The array itself if it is there, else a copy on the device. ValueError for one that there is not."""
    if getattr(ctx, "device_type", None) == "worker":
        return ctx.put(self)
    return moved(self, _asked("ctx", ctx))


def copyto(self, other):
    """A copy on a device, or into another array, wherever that is, which is returned."""
    if getattr(other, "device_type", None) == "worker":     # of a cluster
        return other.put(self)
    if not is_array(other):
        return copied(self, _asked("other", other), number_of(self))
    write_to(other, self)
    return other


for _name, _value in {"as_in_ctx": as_in_ctx, "as_in_context": as_in_ctx, "copyto": copyto}.items():
    attach(_name, _value)
