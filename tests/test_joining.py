"""Which tasks join a group though they wait for other things than it does."""

import numpy
import pytest
from compare import assert_same
from engines import Gate, configured

import dflow
import dflow.numpy as np

pytestmark = pytest.mark.core


@pytest.fixture
def two_workers():
    with configured(limit=0, workers=2):
        yield


def accumulated(library, p, n, weights):
    result = library.zeros_like(p[:n])
    for k, weight in enumerate(weights):
        result += weight * p[k:k + n]
    return result


def test_an_accumulation_over_pending_windows_is_one_group(two_workers):
    """The windows wait for one thing, the sum for another; the first sum must wait for both anyway."""
    n, weights = 400_000, [0.5, 0.25, 0.125, 2.0, 3.0, 0.75]
    source = numpy.arange(n + 5.0) % 17
    expected = accumulated(numpy, source, n, weights)

    def fused():
        p = np.concatenate((np.array(source[:7]), np.array(source[7:])))
        before = dflow.engine.statistics()["fused"]
        assert_same(accumulated(np, p, n, weights), expected)
        return dflow.engine.statistics()["fused"] - before >= 2 * len(weights) - 2

    assert any(fused() for _ in range(100))         # a worker may take some members early


def reacted(u, v, steps):
    """Steps of a reaction, as Gray and Scott have it, in place."""
    a, b = u[1:-1, 1:-1], v[1:-1, 1:-1]
    for _ in range(steps):
        x, y = (z[:-2, 1:-1] + z[1:-1, :-2] - 4 * z[1:-1, 1:-1] + z[1:-1, 2:] + z[2:, 1:-1] for z in (u, v))
        both = a * b * b
        a += 0.16 * x - both + 0.06 * (1 - a)
        b += 0.08 * y + both - 0.122 * b
    return u, v


def test_what_waits_for_different_quick_things_is_one_group(two_workers):
    """What reads u waits for one group of the step before, what reads v for another."""
    random = numpy.random.default_rng(3)
    starts, steps = random.uniform(size=(2, 400, 400)), 8
    expected = reacted(*starts.copy(), steps)

    def fused():
        u, v = (np.array(x) for x in starts)
        before = dflow.engine.statistics()["groups"]
        for result, wanted in zip(reacted(u, v, steps), expected):
            assert_same(result, wanted)
        return dflow.engine.statistics()["groups"] - before <= 3 * steps

    assert any(fused() for _ in range(100))         # a worker may take some members early


def test_a_large_member_waits_for_no_host_task_that_it_does_not_need(two_workers):
    n = 400_000
    with configured(workers=3), Gate() as gate:
        x = np.ones(n)
        h = gate.hold(x)
        late = (h + x) * 2              # behind the host task
        early = x * 3                   # shares x, and must not wait
        early += x
        assert early[n - 1].item() == 4 and not late.is_ready()
        gate.open()
        assert late[0].item() == 4
