"""What a result depends on besides dflow: the machine and the versions. No host names, users or paths."""
import os
import platform
import sys

import numpy
import scipy

import dflow


def machine():
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "compiler": platform.python_compiler(),
        "free_threaded": not getattr(sys, "_is_gil_enabled", lambda: True)(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "dflow": getattr(dflow, "__version__", ""),
        "workers": dflow.engine.num_workers(),
    }


def _cpu_model():
    """The model's name; where a virtual machine hides it, the vendor, family and model numbers too."""
    fields = {}
    try:
        with open("/proc/cpuinfo") as cpuinfo:
            for line in cpuinfo:
                key, _, value = line.partition(":")
                fields.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    name = fields.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in fields:
        name += f" (family {fields['cpu family']}, model {fields.get('model', '?')})"
    return name
