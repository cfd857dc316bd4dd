"""dflow: NumPy programs run asynchronously. `import dflow.numpy as np`."""

import importlib
import os

import dflow._kernels.openblas  # noqa: F401, I001  # before what imports NumPy

try:
    from dflow._base import renamed
    from dflow._functions import wiring  # noqa: F401
    from dflow._runtime import errors as _errors
except ImportError as error:
    raise ImportError(f"{error}\nAre dflow's extensions built for this Python? `make build` does it.") from error

renamed.install()
_errors.configure(os.path.dirname(os.path.abspath(__file__)) + os.sep)

from dflow import _gradient_methods, _libraries, devices, engine  # noqa: E402, F401
from dflow._array.core import ndarray  # noqa: E402
from dflow._base.missing import missing  # noqa: E402
from dflow._engine import waitall  # noqa: E402
from dflow._profile.progress import progress, trange  # noqa: E402
from dflow._profile.timing import timeit  # noqa: E402
from dflow.engine import profile  # noqa: E402
from dflow.ops.host import Future, submit  # noqa: E402

_libraries.install()

__all__ = ["Future", "devices", "engine", "graph", "ndarray", "profile", "progress", "show_config", "submit",
           "timeit", "trange", "visualize", "waitall"]
__version__ = "0.1.0"

for _thing in (Future, submit, waitall):
    _thing.__module__ = __name__            # where programs have it from


def show_config():
    """Print what dflow runs with: versions, workers, and which kernels of which BLAS large matrix products use.

    Examples
    --------
    >>> dflow.show_config()         # doctest: +ELLIPSIS
    dflow ..., numpy ...
    """
    import numpy

    print(f"dflow {__version__}, numpy {numpy.__version__}")
    for name, value in engine.config().items():
        print(f"{name}: {value}")


def load_ipython_extension(shell):
    """`%load_ext dflow`: IPython's shell has the magic %dtimeit."""
    importlib.import_module("dflow._notebook").load(shell)


# What programs for MXNet find besides, as `from dflow import np, nd` or `import dflow as mx`: loaded when asked for.
_OWN = """autograd context d2l gluon image init kvstore lr_scheduler metric nd npx numpy onnx optimizer profiler random
    util"""
_MODULES = {name: f"dflow.{name}" for name in _OWN.split()}
_MODULES |= {"np": "dflow.numpy", "numpy_extension": "dflow.npx", "img": "dflow.image", "initializer": "dflow.init",
             "kv": "dflow.kvstore", "rnd": "dflow.random"}
_UTIL = frozenset("""is_np_array is_np_default_dtype is_np_shape np_array np_default_dtype np_shape set_np_shape use_np
    use_np_array use_np_default_dtype use_np_shape""".split())
_DEVICES = frozenset("Context Device cpu cpu_pinned current_context current_device gpu num_gpus synchronize".split())
_names = missing(__name__, """AttrScope callback contrib io mod module monitor name operator recordio
    rtc sym symbol test_utils visualization viz""")


def __dir__():
    return sorted({*__all__, *_MODULES, *_UTIL, *_DEVICES, "__version__"})


def __getattr__(name):
    if name == "graph":
        return importlib.import_module("dflow._graph_decorator").graph
    if name == "cluster":
        return importlib.import_module("dflow.distributed").cluster
    if name == "visualize":
        return importlib.import_module("dflow._profile.graph").visualize
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in _UTIL:
        return getattr(importlib.import_module("dflow.util"), name)
    return getattr(devices, name) if name in _DEVICES else _names(name)


if os.environ.get("MXNET_PROFILER_AUTOSTART"):
    importlib.import_module("dflow.profiler")       # which starts, if it is to
