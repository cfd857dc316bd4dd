"""Memory that runs out: a MemoryError, always, and nothing else changed."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import allocations
import pytest
from engines import HANG, Gate, clean_environment, configured, poll

import dflow
import dflow.numpy as np
from dflow._base import allocator

pytestmark = pytest.mark.core
ROOT = Path(__file__).resolve().parent.parent

# The address space may grow by so many megabytes. A buffer of OpenBLAS's takes 32.
LIMITED = """
import os, resource, sys
import numpy
import dflow, dflow.numpy

if sys.argv[1] == "forked" and os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))

SPACES = 1, 3, 8, 33, 40, 80, 161, 170, 250, 0
numbers = numpy.random.default_rng(0).random((300, 300)) + 300 * numpy.eye(300)
array = dflow.numpy.array(numbers)

codes = [compile(text, "", "eval") for text in sys.argv[2:]]
results = [[] for _ in codes]

def attempt(code, space):
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (space << 20) if space else -1, -1))
    try:
        pending = dflow.engine.sleep(array, 1e-4)       # so what follows is a task
        return eval(code, {"np": dflow.numpy, "x": pending}).asnumpy()
    except MemoryError:
        return None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))

for space in SPACES:
    for code, result in zip(codes, results):
        result.append(attempt(code, space))
        try:
            dflow.waitall()
        except MemoryError:         # of what nobody has read
            pass
        assert (dflow.engine.sleep(array, 1e-4) + 1).tolist() == (numbers + 1).tolist()
for code, result in zip(codes, results):
    want = eval(code, {"np": numpy, "x": numbers})
    print(*["MemoryError" if y is None else "right" if numpy.allclose(y, want) else "wrong" for y in result], sep=";")
"""
LINEAR = ["np.linalg.inv(x)", "np.linalg.qr(x)[1]", "np.linalg.svd(x)[1]", "np.linalg.svdvals(x)",
          "np.linalg.det(x / 300)", "np.linalg.slogdet(x)[1]", "np.linalg.solve(x, x[0])", "np.linalg.solve(x, x)",
          "np.linalg.eigvalsh(x + x.T)", "np.linalg.eigh(x + x.T)[0]", "np.sort(abs(np.linalg.eigvals(x)))",
          "np.linalg.cholesky(x + x.T)", "np.linalg.lstsq(x, x[0], rcond=None)[0]",
          "np.linalg.inv(x[:256].reshape(-1, 16, 16) + 9 * np.eye(16))"]
OTHERS = ["x @ x", "x @ x.T", "x @ x[0]", "np.fft.fft(x)", "np.fft.rfft(x, axis=0)", "np.fft.ifft2(x)",
          "np.sort(x, axis=0)", "np.argsort(x, axis=0)", "x.astype(int) ** 2", "x.sum(axis=0)"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a limit of the address space, as Linux has it")
@pytest.mark.parametrize("process, operations", [("first", LINEAR), ("forked", LINEAR[::-1]), ("first", OTHERS)],
                         ids=["linear", "forked", "others"])
def test_what_a_loop_finds_no_memory_for(process, operations):
    done = subprocess.run([sys.executable, "-c", LIMITED, process, *operations], capture_output=True, text=True,
                          timeout=HANG, env=clean_environment())
    ends = [line.split(";") for line in done.stdout.split("\n")[:-1]]
    assert done.returncode == 0, done.stderr
    for text, of in zip(operations, ends, strict=True):
        assert set(of) <= {"MemoryError", "right"} and of[-1] == "right", (text, of)
    assert any("MemoryError" in of for of in ends)


# -- each request of the engine's ------------------------------------------------------------------

refusing = pytest.mark.skipif(allocator.refuse(0) is None, reason="the debug build alone can refuse a request")


@refusing
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")   # unread errors
@pytest.mark.parametrize("name", allocations.PROGRAMS)
def test_each_request_fails_once(name):
    found = []
    requests, _ = allocations.check(name, report=found.append)
    assert requests > 2 and not found


@refusing
def test_an_error_for_which_there_is_no_memory_is_raised_by_waitall():
    """One of the requests is for the error of the power itself: a MemoryError that was there before stands for it."""
    raised, n, refused = [], 0, True
    while refused:
        n += 1
        with configured(workers=1, limit=0), Gate() as gate:
            x = gate.hold(np.array([2, 3])) ** np.array([-1, -1])
            allocator.refuse(n)
            gate.open()
            assert poll(x.is_ready)
            refused = allocator.refuse(0)
            with pytest.raises((ValueError, MemoryError)) as caught:
                dflow.waitall()
            raised.append(str(caught.value))
            dflow.waitall()                 # it is seen
            with pytest.raises(type(caught.value)):
                x.tolist()
    assert raised.count("out of memory") == 1 and raised[-1].startswith("Integers to negative")


@refusing
def test_a_request_that_fails_at_the_import():
    done = subprocess.run([sys.executable, "-c", "import dflow"], capture_output=True, text=True, timeout=HANG,
                          env={**clean_environment(), "DFLOW_FAIL_ALLOC": "1"})
    assert done.returncode == 1 and "\nMemoryError: no memory for a kernel" in done.stderr


# -- Python's own ----------------------------------------------------------------------------------

@pytest.mark.once
@pytest.mark.skipif(importlib.util.find_spec("_testcapi") is None, reason="CPython without its test modules")
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="a function without memory ends CPython 3.12.1, 3.13.0 itself")
@pytest.mark.parametrize("name", allocations.PROGRAMS)
def test_requests_of_pythons_that_fail(name):
    environment = clean_environment()
    environment["PYTHONPATH"] += f":{ROOT}"
    command = [sys.executable, "-m", "tests.allocations", "--python", "--programs", name]
    command += ["--first", "150", "--every", "10"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * HANG, cwd=ROOT, env=environment)
    assert done.returncode == 0 and " requests, 0 wrong" in done.stdout, done.stdout + done.stderr[-3000:]
