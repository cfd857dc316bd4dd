"""GPUs: those of this machine or, where there are none, those of the stand-in for CuPy, whose streams run late."""

import os
import sys
from pathlib import Path

import pytest

try:
    import cupy
    REAL = cupy.cuda.runtime.getDeviceCount() > 0
except Exception:
    REAL = False
if not REAL:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cupy"]:
        del sys.modules[name]
    os.environ.setdefault("STANDIN_DELAY", "0.0003")
    sys.path.insert(0, str(Path(__file__).parent.parent / "standin"))
    import cupy


def pytest_report_header():
    return f"gpus: {cupy.cuda.runtime.getDeviceCount()}, {'of this machine' if REAL else 'of the stand-in'}"


@pytest.fixture(autouse=True)
def no_faults():
    """Nothing went wrong in a stream of the stand-in."""
    yield
    if not REAL:
        faults = list(cupy.faults)
        cupy.faults.clear()
        assert not faults


@pytest.fixture
def standin():
    """The stand-in, for what only that can show."""
    if REAL:
        pytest.skip("the GPUs are real")
    cupy.launches.clear()
    return cupy


@pytest.fixture
def real():
    """For what only a real device can show."""
    if not REAL:
        pytest.skip("there is no real GPU")
