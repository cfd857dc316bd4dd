"""Memory that is kept for arrays to come: how much, and how it goes back to the system."""

import gc
import random
import subprocess
import sys
import threading

import numpy
import pytest
from compare import assert_same
from engines import HANG, clean_environment

import dflow
import dflow.numpy as np
from dflow import engine

pytestmark = pytest.mark.core

MB = 1 << 20


@pytest.fixture
def keeps():
    """Whether this build keeps memory at all: that under the sanitizers does not."""
    engine.trim()
    np.ones(MB).wait_to_read()
    dflow.waitall()
    return engine.memory_stats()["cached"] > 0


@pytest.fixture
def limit():
    before = engine.set_cache_limit(1 << 62)
    engine.set_cache_limit(before)
    yield engine.set_cache_limit
    engine.set_cache_limit(before)


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def make_and_drop(megabytes):
    x = np.ones(megabytes * MB // 8)
    x += 1
    x.wait_to_read()
    del x
    dflow.waitall()


def test_trim(keeps):
    make_and_drop(200)
    kept, before = engine.memory_stats()["cached"], resident()
    assert kept >= 200 * MB or not keeps
    assert engine.trim() == kept and engine.memory_stats()["cached"] == 0
    assert resident() < before - 150 * MB or not keeps
    assert engine.trim() == 0


def test_trim_while_others_work():
    """From any thread, at any time: results are right, and the books are balanced."""
    wrong, ended = [], threading.Event()

    def trims():
        while not ended.is_set():
            engine.trim()

    def works(seed):
        rng = random.Random(seed)
        for _ in range(60):
            n = int(10 ** rng.uniform(0, 6))
            x = np.arange(float(n))
            y = (x + 1) * 2 - np.sqrt(x)
            kept = [np.full(rng.randrange(1, n + 1), seed) for _ in range(3)]
            want = (numpy.arange(float(n)) + 1) * 2 - numpy.sqrt(numpy.arange(float(n)))
            if not numpy.array_equal(y.asnumpy(), want) or any((z != seed).any() for z in kept):
                wrong.append((seed, n))

    trimmer, workers = threading.Thread(target=trims), [threading.Thread(target=works, args=(k,)) for k in range(3)]
    for thread in [trimmer, *workers]:
        thread.start()
    for thread in workers:
        thread.join(HANG)
    ended.set()
    trimmer.join(HANG)
    assert not wrong and not any(thread.is_alive() for thread in [trimmer, *workers])
    dflow.waitall()
    engine.trim()
    gc.collect()
    stats = engine.memory_stats()
    assert stats["cached"] == 0 <= stats["held"]


@pytest.mark.parametrize("most", [0, 1, 100_000, 3 * MB, 50 * MB])
def test_no_more_is_kept_than_the_limit(limit, most):
    make_and_drop(60)
    limit(most)
    assert engine.memory_stats()["cached"] <= most
    rng = random.Random(most)
    for _ in range(200):
        x = np.ones(int(2 ** rng.uniform(0, 22)))
        y = x * 2
        assert_same(y[:1], numpy.array([2.0]))
        del x, y
        assert engine.memory_stats()["cached"] <= most
    assert limit(7) == most and limit(most) == 7


@pytest.mark.parametrize("bad", [-1, 1.5, "1", None, True])
def test_limits_that_are_none(bad):
    with pytest.raises(ValueError, match="nbytes must be an int that is not negative, not "):
        engine.set_cache_limit(bad)


def test_a_lower_budget_gives_memory_back_at_once(keeps):
    make_and_drop(100)
    before = engine.set_memory_budget(engine.memory_stats()["live"] + 10 * MB)
    try:
        assert engine.memory_stats()["cached"] == 0
    finally:
        engine.set_memory_budget(before)


# For memory of its own Python would not ask again: so an object comes in place of another one.
NEEDS = {
    "another size": "y = np.ones(120 << 17); y.wait_to_read()",
    "many small ones": "for k in range(len(many)): many[k] = np.full(1000, k)\ndflow.waitall()",
    "LAPACK": "y = np.linalg.inv(np.eye(1500)); y.wait_to_read()",
    "tasks": "from functools import reduce; one = dflow.engine.sleep(np.ones(9), 1)\n"
             "reduce(lambda y, k: dflow.engine.sleep(y, 0), range(100_000), one).wait_to_read()",
    "rows": "y = np.sort(np.ones((1 << 21, 2)), axis=0); y.wait_to_read()",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", NEEDS)
def test_what_is_kept_goes_before_a_memory_error(keeps, what):
    """The process may have little more than it has; of that, 256 MB are kept for arrays to come."""
    program = f"""
import resource, dflow, dflow.numpy as np
np.linalg.inv(np.eye(200)).wait_to_read(), np.sort(np.ones((9, 3)), 0).wait_to_read()
np.linalg.inv(np.eye(1500)).wait_to_read()
x, many = [np.ones(8 << 17) for _ in range(32)], [np.ones(1) for _ in range(15_000)]
dflow.waitall()
del x
used = 4096 * int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (used + (24 << 20),) * 2)
{NEEDS[what]}
print("done")
"""
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=clean_environment(),
                         timeout=HANG)
    assert out.stdout == "done\n", out.stderr
