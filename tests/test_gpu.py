"""GPUs, in a process of their own: those of this machine, or a stand-in for CuPy. See tests/gpu."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

GPU = Path(__file__).parent / "gpu"
COMMAND = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "python_files=check_*.py"]


@pytest.mark.parametrize("part, gpus", [("oracle", 2), ("devices", 2),
                                        *[pytest.param(*part, marks=pytest.mark.once)
                                          for part in (("oracle", 1), ("values", 2))]])
@pytest.mark.slow
def test_on_gpus(part, gpus):
    done = subprocess.run([*COMMAND, str(GPU / f"check_{part}.py")], capture_output=True, text=True, timeout=280,
                          env={**os.environ, "PYTEST_ADDOPTS": "", "STANDIN_DEVICES": str(gpus)})
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2000:]
