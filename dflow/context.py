"""Devices by the names of mxnet.context."""

from dflow.devices import (
    Context,
    Device,
    cpu,
    cpu_pinned,
    current_context,
    current_device,
    gpu,
    gpu_memory_info,
    num_gpus,
)

__all__ = ["Context", "Device", "cpu", "cpu_pinned", "current_context", "current_device", "gpu", "gpu_memory_info",
           "num_gpus"]


def __dir__():
    return sorted(__all__)
