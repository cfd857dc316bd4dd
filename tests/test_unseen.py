"""What nobody can see any more is not computed; what has effects, or may fail, is."""

import contextlib
import random
import sys
import time
import warnings

import numpy
import pytest
from engines import Gate, configured, poll
from test_process import run  # noqa: F401  # the fixture

import dflow
import dflow.numpy as np
from dflow import engine

pytestmark = pytest.mark.core


def never_run():
    return engine.statistics()["never_run"]


@contextlib.contextmanager
def held():
    """One worker, which a Python function keeps until the gate opens: what is submitted meanwhile waits."""
    with configured(workers=1, limit=0), Gate() as gate:
        x = np.ones((500, 500))
        x.wait_to_read()
        gate.hold()
        yield gate, x


def test_products_that_nobody_holds():
    with held() as (gate, x):
        before = never_run()
        for _ in range(1000):
            y = x @ x
        gate.open()
        start = time.perf_counter()
        dflow.waitall()
        assert never_run() - before >= 990 and time.perf_counter() - start < 30
        assert y[3, 4].item() == 500


def test_groups_and_reductions():
    with held() as (gate, _):
        x = np.ones(3_000_000)
        before = never_run()
        np.exp(x) * 2 + x
        np.sort(x)
        (x * 2).sum()
        gate.open()
        dflow.waitall()
        assert never_run() - before >= 5


def test_what_somebody_needs_is_computed():
    with held() as (gate, x):
        before = never_run()
        y = x @ x                   # another task needs it
        z = (y @ x)[0]              # a view of it is held
        del y
        a = np.zeros((500, 500))
        part = a[10:20]
        a[:, :] = x @ x @ x         # into something of which a part is held
        del a
        gate.open()
        assert z.tolist() == [250_000] * 500 and part.sum().item() == 10 * 500 * 250_000
        assert never_run() == before


def test_memory_of_others():
    with held() as (gate, x):
        theirs = numpy.zeros((500, 500))
        shared = np.from_dlpack(theirs)
        np.matmul(x, x, out=shared)
        del shared
        gate.open()
        dflow.waitall()
        assert theirs[1, 2] == 500


def test_what_may_fail_fails(monkeypatch):
    told, done = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda about: told.append(about.exc_type))
    with held() as (gate, x):
        np.linalg.inv(np.zeros((300, 300)))
        np.full(2_000_000, 2) ** np.full(2_000_000, -1)
        dflow.submit(lambda a: done.append(a.sum()), x)
        gate.open()
        dflow.waitall()
        assert poll(lambda: len(told) == 2)
    assert set(told) == {np.linalg.LinAlgError, ValueError} and done == [250_000]


def test_warnings_that_are_looked_at():
    with configured(workers=1, limit=0):
        x = np.zeros(3_000_000)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            np.log(x)
            dflow.waitall()
        assert [str(w.message) for w in seen] == ["divide by zero encountered in log"]
        with warnings.catch_warnings(), pytest.raises(RuntimeWarning, match="divide by zero"):
            warnings.simplefilter("error")
            np.log(x)
            dflow.waitall()


def test_a_sleep_is_slept():
    with configured(limit=0):
        start = time.perf_counter()
        engine.sleep(np.ones(3), 0.2)
        dflow.waitall()
        assert time.perf_counter() - start >= 0.2


def test_random_numbers_are_those_of_a_program_that_holds_them():
    def draws(hold):
        np.random.seed(7)
        kept = []
        for _ in range(20):
            x = np.random.normal(size=(400, 400))
            y = x @ x
            if hold:
                kept.append(y)
        return np.random.normal(size=5).tolist(), y.sum().item()

    with configured(workers=2, limit=0):
        assert draws(True) == draws(False)


def test_memory_is_given_back():
    with held() as (gate, x):
        held_before = engine.statistics()["bytes"]
        for _ in range(200):
            x @ x
        assert engine.statistics()["bytes"] > held_before + 100 * x.nbytes
        gate.open()
        assert poll(lambda: engine.statistics()["bytes"] <= held_before + 2 * x.nbytes)


def test_gradients_of_what_is_dropped():
    with configured(workers=2, limit=0):
        x = np.ones((400, 400))
        x.attach_grad()
        with dflow.autograd.record():
            y = (x @ x).sum()
            x @ x @ x
        y.backward()
        del y
        assert x.grad[0, 0].item() == 800


def test_the_record_tells(tmp_path):
    import json

    with engine.profile(tmp_path / "run.json"), held() as (gate, x):
        x @ x
        gate.open()
        dflow.waitall()
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    told = [e for e in events if e["ph"] == "X" and "never_run" in e["args"]]
    assert [e["name"] for e in told] == ["matmul"] and told[0]["dur"] < 1000


@pytest.mark.parametrize("seed", range(30))
def test_oracle_of_dropped_results(seed):
    """Of large arrays, dropped and kept at random: what is kept is NumPy's."""
    rng = random.Random(seed)
    made = [numpy.random.default_rng(seed + i).random((300, 300)) for i in range(3)]
    with configured(workers=rng.randint(1, 3), limit=0, bulk=rng.choice([0, 8, 512])):
        if rng.random() < 0.3:
            dflow._engine.set_delays(seed + 1, 200)
        try:
            kept = [(v, np.array(v)) for v in made]
            for _ in range(40):
                (a, x), (b, y) = rng.choice(kept), rng.choice(kept)
                match rng.randrange(6):
                    case 0:
                        pair = a @ b / 150, x @ y / 150
                    case 1:
                        pair = numpy.sin(a) * b - a, np.sin(x) * y - x
                    case 2:
                        pair = numpy.sort(a, axis=0), np.sort(x, axis=0)
                    case 3:
                        pair = a.T, x.T
                    case 4:
                        pair = a + b[:1], x + y[:1]
                    case 5:
                        a, x = a.copy(), x.copy()
                        a[5:100], x[5:100] = b[7:102], y[7:102]
                        pair = a, x
                if rng.random() < 0.5:
                    kept[rng.randrange(3)] = pair
            del x, y, pair
            for numpys, ours in kept:
                assert numpy.allclose(ours.asnumpy(), numpys, rtol=0, atol=1e-9)
        finally:
            dflow._engine.set_delays(0, 0)


# -- tracemalloc -------------------------------------------------------------------------------------------------------

def test_tracemalloc_sees_arrays(run):                      # noqa: F811
    text = """
        import tracemalloc
        tracemalloc.start(3)
        import dflow, dflow.numpy as np
        from dflow import engine
        x = np.ones((1000, 1000))
        y = [x + i for i in range(10)]
        small = [x[0, :5] + i for i in range(100)]
        dflow.waitall()

        def seen():
            ours = tracemalloc.DomainFilter(True, engine.tracemalloc_domain)
            snapshot = tracemalloc.take_snapshot().filter_traces([ours])
            return {s.traceback[0].lineno: (s.size, s.count) for s in snapshot.statistics("lineno")}

        print(seen())
        del y, small
        dflow.waitall()
        print(seen())
        z = np.sort(x, axis=0) * 2                          # freed by workers
        z[0, 0].item()
        del x, z
        dflow.waitall()
        print(seen())
        tracemalloc.stop()
        x = np.ones(100_000)
        """
    code, out, errors = run(text, before="")
    assert (code, errors) == (0, "")
    lines = dict(enumerate(out.splitlines()))
    assert lines[0] == "{7: (80000000, 10), 6: (8000000, 1)}"
    assert lines[1] == "{6: (8000000, 1)}" and lines[2] == "{}"


def test_tracemalloc_from_the_beginning(run):               # noqa: F811
    """Its allocators need the GIL, in a worker that begins, too."""
    text = """
        import dflow, dflow.numpy as np
        for n in range(1, 9):
            dflow.engine.set_num_workers(n)
            print(int((np.ones((300, 300)) @ np.ones((300, 300))).sum().item()), flush=True)
        """
    code, out, errors = run(text, before="", options=["-X", "tracemalloc=5"])
    assert (code, out, errors) == (0, "27000000\n" * 8, "")


def test_workers_that_are_dismissed_as_they_begin(run):     # noqa: F811
    """Under tracemalloc who starts one lets others have the GIL, and these may want fewer."""
    text = """
        import threading
        import dflow, dflow.numpy as np

        def resize():
            for i in range(150):
                dflow.engine.set_num_workers(1 + i % 8)

        def work():
            for _ in range(150):
                assert np.sort(np.arange(3000.0)[::-1] * 2)[1].item() == 2

        dflow.engine.inline_limit(0)
        threads = [threading.Thread(target=f) for f in (resize, work, work)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        dflow.waitall()
        print("done")
        """
    code, out, errors = run(text, before="", options=["-X", "tracemalloc"])
    assert (code, out, errors) == (0, "done\n", "")
