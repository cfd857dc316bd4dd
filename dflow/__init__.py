"""dflow: NumPy programs run asynchronously. `import dflow.numpy as np`."""

import os

import dflow._openblas  # noqa: F401, I001  # before what imports NumPy
from dflow import _graph, _operators, _subscript

_graph.configure(os.path.dirname(os.path.abspath(__file__)) + os.sep)
_operators.connect_operators()
_subscript.connect_indexing()

from dflow import _differentiation, devices, engine  # noqa: E402, F401
from dflow._array import ndarray  # noqa: E402
from dflow._engine import waitall  # noqa: E402
from dflow.ops.host import Future, submit  # noqa: E402

__all__ = ["Future", "devices", "engine", "ndarray", "show_config", "submit", "waitall"]
__version__ = "0.1.0"


def show_config():
    """Print what dflow runs with: versions, workers, and which kernels of which BLAS large matrix products use."""
    import numpy

    print(f"dflow {__version__}, numpy {numpy.__version__}")
    for name, value in engine.config().items():
        print(f"{name}: {value}")


def __getattr__(name):
    """What is loaded when it is first asked for: graph(), and dflow.numpy as `np`, as programs for MXNet import it."""
    if name == "graph":
        from dflow._graphs import graph

        return graph
    if name != "np":
        raise AttributeError(f"module 'dflow' has no attribute {name!r}")
    import dflow.numpy

    return dflow.numpy
