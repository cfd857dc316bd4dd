"""The gate of NumPy's BLAS: what may not enter keeps no worker; and what nobody sees comes last."""

import threading
from functools import partial

import numpy
import pytest
from compare import assert_same
from engines import Gate, configured, in_threads, poll
from test_process import BUSY_BLAS, FORK_OPTIONS, run  # noqa: F401

import dflow
import dflow.numpy as np

pytestmark = pytest.mark.core

ALONE = 900         # rows of a matrix from which a singular value decomposition has all threads of NumPy's BLAS
ALL_FACTORS = 512   # the same of an inverse
WORK = 700          # rows of a matrix whose product takes milliseconds


def matrix(n, seed):
    return numpy.random.default_rng(seed).normal(size=(n, n))


def starts(events, name):
    return [event.start for event in events if event.name.startswith(name)]


def test_what_waits_for_blas_keeps_no_worker():
    """Other work goes on beside the first large matrix, and a small one waits for no more than that."""
    large = [np.array(matrix(ALONE, seed)) for seed in range(4)]
    small, other = np.array(matrix(40, 9)), np.array(matrix(150, 8)).ravel()
    with configured(workers=2, limit=0), dflow.engine.timeline() as events:
        results = [np.linalg.svd(a, compute_uv=False) for a in large]
        results += [np.linalg.eigvalsh(small), np.sort(other)]
        dflow.waitall()
    first, second = sorted(starts(events, "svd"))[:2]
    assert starts(events, "sort")[0] < second
    assert starts(events, "eigvalsh")[0] < second
    ends = sorted(event.stop for event in events if event.name.startswith("svd"))
    assert ends[0] <= second, "each has all threads of BLAS, alone"


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_results_are_right_however_many_are_at_the_gate(workers):
    """Some have all threads, some share, from several threads that submit and wait; each result is NumPy's."""
    sizes = (3, 12, 60, 130, 300)
    inverted = {n: matrix(ALL_FACTORS if n == 300 else n, n) for n in sizes}
    expected = {n: (numpy.linalg.inv(inverted[n]), numpy.linalg.svd(matrix(n, n), compute_uv=False)) for n in sizes}
    vectors = numpy.random.default_rng(3).normal(size=(2, 20_000))

    def submit():
        for turn in range(6):
            kept = []
            for n in sizes:
                a = np.array(matrix(n, n)) + 0
                kept.append((n, np.linalg.inv(np.array(inverted[n])), np.linalg.svd(a, compute_uv=False),
                             np.dot(*map(np.array, vectors))))
            for n, inverse, values, dot in kept if turn % 2 else reversed(kept):
                assert numpy.allclose(inverse.asnumpy(), expected[n][0], rtol=1e-6, atol=1e-8)
                assert numpy.allclose(values.asnumpy(), expected[n][1])
                assert numpy.isclose(dot.item(), vectors[0] @ vectors[1])

    with configured(workers=workers):
        in_threads(submit, submit, submit)


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_vectors_and_thin_matrices_beside_what_has_blas_alone(workers):
    """What NumPy's BLAS multiplies tile by tile enters with others; an inverse and NumPy's own calls do not. In any
    order the bits are the same."""
    rng = numpy.random.default_rng(workers)
    a = rng.normal(size=(700, 600))
    v, w, big = rng.normal(size=700), rng.normal(size=600), matrix(ALONE, 5)

    def products(a, v, w):
        rows = (1, 7, 15)
        return [v @ a, a @ w, w @ a.T, a[::2] @ w, *(a[:n] @ a.T for n in rows), *(a @ a[:n].T for n in rows)]

    with configured(workers=1, limit=0):
        expected = [y.asnumpy() for y in products(*map(np.array, (a, v, w)))]
    for y, of_numpy in zip(expected, products(a, v, w), strict=True):
        assert numpy.allclose(y, of_numpy)

    def work(seed):
        rng = numpy.random.default_rng(seed)
        for _ in range(8):
            operands = [np.array(x) + 0 for x in (a, v, w)]
            kept = [products(*operands) for _ in range(2)]
            chance = rng.random()
            if chance < 0.3:
                kept[0].append(np.linalg.inv(np.array(big)))
            elif chance < 0.6:
                numpy.linalg.svd(a[:200, :200])
            for results in kept:
                for y, z in zip(results, expected, strict=False):
                    assert_same(y.asnumpy(), z)

    with configured(workers=workers, limit=0):
        in_threads(*(partial(work, seed) for seed in range(3)))


@pytest.mark.parametrize("engine", [{"limit": 0}, {"limit": 0, "workers": 1}, {"limit": 0, "workers": 16}])
def test_bits_do_not_depend_on_who_is_at_the_gate(engine):
    a = matrix(320, 5)
    alone = np.linalg.inv(np.array(a)).asnumpy()
    with configured(**engine):
        kept = [np.linalg.inv(np.array(a)) for _ in range(4)]
        others = [np.linalg.svd(np.array(matrix(50, n))) for n in range(8)]
        for inverse in kept:
            assert_same(inverse, alone)
    del others


def test_a_fork_while_tasks_are_at_the_gate():
    """The child has what was done, and enters; the parent goes on."""
    import os

    large = [np.linalg.svd(np.array(matrix(ALONE, seed)), compute_uv=False) for seed in range(3)]
    child = os.fork()
    if child == 0:
        right = numpy.allclose(np.linalg.inv(np.array(matrix(300, 1))).asnumpy(), numpy.linalg.inv(matrix(300, 1)))
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    for seed, values in enumerate(large):
        assert numpy.allclose(values.asnumpy(), numpy.linalg.svd(matrix(ALONE, seed), compute_uv=False))


def test_functions_on_workers_pass_what_waits_to_be_alone():
    """Their functions compute here and now, and keep trying; what was let go on may lie in the queue of one of them."""
    a = matrix(60, 1)

    def function(x):
        return numpy.sum([np.linalg.svd(np.array(a), compute_uv=False)[0].item() for _ in range(3)])

    with configured(workers=2, limit=0):
        large = [np.linalg.svd(np.array(matrix(ALONE, seed)), compute_uv=False) for seed in range(3)]
        sums = [dflow.submit(function, x) for x in (large[0], large[0], np.ones(1), np.ones(1))]
        assert poll(lambda: all(future.done() for future in sums) and all(values.is_ready() for values in large))
        first = numpy.linalg.svd(a, compute_uv=False)[0]
        assert all(numpy.isclose(future.result(), 3 * first) for future in sums)


@pytest.mark.parametrize("delay", [0, 30])
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_stacks_of_tiny_matrices_go_by_turns(workers, delay):
    """By several threads, beside what shares BLAS, what has it alone, and functions on workers, which have no turn."""
    rng = numpy.random.default_rng(workers)
    stacks = [rng.normal(size=(int(10 ** rng.uniform(1, 3.5)), n, n)) + 5 * numpy.eye(n) for n in (2, 3, 4, 6, 9)]
    expected = [(numpy.linalg.det(a), numpy.linalg.inv(a), numpy.linalg.solve(a, a[..., :1])) for a in stacks]
    alone, beside = numpy.linalg.inv(matrix(ALL_FACTORS, 1)), numpy.linalg.inv(matrix(120, 2))

    def submit():
        kept = []
        for turn in range(4):
            kept += [(i, np.linalg.det(x), np.linalg.inv(x), np.linalg.solve(x, x[..., :1]))
                     for i, x in enumerate(map(np.array, stacks))]
            inside = dflow.submit(np.linalg.det, np.array(stacks[turn]))
            others = np.linalg.inv(np.array(matrix(ALL_FACTORS, 1))), np.linalg.inv(np.array(matrix(120, 2)))
            for found, wanted in zip(others, (alone, beside), strict=True):
                assert numpy.allclose(found.asnumpy(), wanted, rtol=1e-6, atol=1e-8)
            assert numpy.allclose(inside.result(), expected[turn][0])
        for i, *results in reversed(kept):
            for found, wanted in zip(results, expected[i], strict=True):
                assert numpy.allclose(found.asnumpy(), wanted)

    with configured(workers=workers):
        dflow._engine.set_delays(7, delay)
        try:
            in_threads(submit, submit, submit)
        finally:
            dflow._engine.set_delays(0, 0)


def test_forks_while_stacks_of_tiny_matrices_go_by_turns(run):  # noqa: F811
    """Those held back go on in the parent, end with an error in the child, and hold nothing up there."""
    assert run("""
        import signal
        dflow.engine.set_num_workers(3)
        stacks = [numpy.random.default_rng(n).normal(size=(3000, n, n)) + 5 * numpy.eye(n) for n in (2, 3, 4)] * 4
        expected, stacks = [*map(numpy.linalg.det, stacks)], [*map(np.array, stacks)]

        def right(determinants):
            return all(map(numpy.allclose, determinants, expected))

        def child(pending):
            signal.alarm(30)                                # a child that hangs ends so
            lost = sum([raises(RuntimeError, x.tolist) for x in pending])
            assert right(map(np.linalg.det, stacks))
            dflow.waitall()
            os._exit(2 if lost else 0)

        codes = []
        for turn in range(30):
            pending = [*map(np.linalg.det, stacks)]
            time.sleep(turn % 10 * 3e-4)
            codes.append(in_child(lambda: child(pending)))
            assert right(pending)
        print({*codes} - {0})
    """, before=BUSY_BLAS, options=FORK_OPTIONS) == (0, "{2}\n", "")


def test_forks_while_threads_take_locks_of_blas(run):  # noqa: F811
    """Of workers, of who computes at once with the GIL, and of NumPy's own calls, whose operands are pending."""
    assert run("""
        import signal
        dflow.engine.set_num_workers(3)
        rng, stop = numpy.random.default_rng(1), threading.Event()
        tiny, few, square = (np.array(rng.normal(size=shape)) for shape in ((3000, 2, 2), (3, 3), (90, 90)))
        values = np.linalg.eigvals(square @ square).tolist()

        def queued():
            stacks = [np.linalg.det(tiny) for _ in range(3)]
            return (square @ square @ square).tolist(), [x.tolist() for x in stacks]

        def at_once():
            return [(few @ few, np.linalg.det(few)) for _ in range(100)]

        def numpys():
            return np.linalg.eigvals(square @ square).tolist()

        def child():
            signal.alarm(30)                                # a child that hangs ends so
            assert numpys() == values
            queued(), at_once()
            dflow.waitall()

        def over_and_over(function):
            while not stop.is_set():
                function()

        threads = [threading.Thread(target=over_and_over, args=(x,)) for x in (queued, at_once, numpys)]
        for thread in threads:
            thread.start()
        codes = []
        for turn in range(60):
            time.sleep(turn % 7 * 3e-4)
            codes.append(in_child(child))
        stop.set()
        for thread in threads:
            thread.join()
        print({*codes})
    """, before=BUSY_BLAS, options=FORK_OPTIONS) == (0, "{0}\n", "")


def test_what_nobody_sees_comes_last():
    """Inverses whose results were dropped may fail, so they are computed: after what somebody reads. Who waits for
    everything waits for them, too."""
    with configured(workers=1), dflow.engine.timeline() as events:
        with Gate() as gate:
            x = gate.hold(np.array(matrix(WORK, 0)))
            for _ in range(5):
                np.linalg.inv(x)
            kept, seen = np.argsort(x, axis=None), np.sort(x, axis=None)      # nobody waits for the first one, but may
            for _ in range(5):
                np.linalg.inv(x)
            gate.open()
            seen.wait_to_read()
        dflow.waitall()
        del kept
    order = [event.name for event in sorted(events, key=lambda event: event.start)]
    assert order.count("inv") == 10, "who waits for everything gets everything"
    assert "inv" not in order[:max(order.index("sort"), order.index("argsort"))]


def test_what_is_read_by_a_later_task_is_seen():
    with configured(workers=1), Gate() as gate:
        x = gate.hold(np.array(matrix(WORK, 0)))
        results = [(x @ x).sum() for _ in range(3)]
        gate.open()
        assert len({result.item() for result in results}) == 1


def test_a_write_that_nobody_sees_in_part_is_seen():
    """A view of an array that somebody holds."""
    whole = np.zeros((2, WORK, WORK))
    with configured(workers=1), Gate() as gate:
        x = gate.hold(np.array(matrix(WORK, 0)))
        np.matmul(x, x, out=whole[1])
        gate.open()
        assert numpy.allclose(whole.asnumpy()[1], matrix(WORK, 0) @ matrix(WORK, 0))


def test_threads_that_drop_and_threads_that_read():
    """Results that end while their task is looked at."""
    a = np.array(matrix(WORK, 1))
    stop = threading.Event()

    def drop():
        while not stop.is_set():
            for _ in range(4):
                a @ a
            dflow.waitall()

    def read():
        try:
            first = (a @ a).asnumpy()
            for _ in range(6):
                assert_same(a @ a, first)
        finally:
            stop.set()

    with configured(workers=2):
        in_threads(drop, read)
