"""The environment in which OpenBLAS is loaded, of which NumPy and SciPy have a copy each."""

import os
import sys
from contextlib import contextmanager


@contextmanager
def environment(coretype=None):
    """OpenBLAS is loaded in here, with the kernels for coretype, or else those that it or the user chooses.

    Its threads would look for work for a tenth of a second after the loading and after each use, beside dflow's
    workers, which are as many as there are cores. Loaded here they sleep after 0.1 ms, or what the user has set.
    """
    settings = {} if coretype is None else {"OPENBLAS_CORETYPE": coretype}
    if "OPENBLAS_THREAD_TIMEOUT" not in os.environ:
        settings["OPENBLAS_THREAD_TIMEOUT"] = "18"          # 2 to this power of the processor's clock
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


# What was imported before dflow, and has a copy's threads look for work as they like.
early = [name for name in ("numpy.linalg._umath_linalg", "scipy.linalg._fblas") if name in sys.modules]
with environment():
    import numpy  # noqa: F401
