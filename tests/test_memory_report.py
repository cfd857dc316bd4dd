"""Which lines hold memory: what is there by line, by dtype and shape, what is promised, and what has changed."""

import os
import re
import threading

import numpy
import pytest
from engines import Gate, configured, poll
from test_process import run  # noqa: F401  # the fixture

import dflow
import dflow.numpy as np

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture
def tracked():
    before = dflow.engine.track_memory(True)
    yield
    dflow.engine.track_memory(before)


def here(offset=0):
    import sys

    return sys._getframe(1).f_lineno + offset


def by_line():
    """{line of this file: (arrays, bytes)}"""
    rows = dflow.engine.memory_snapshot().by_line()
    return {int(row.name.rpartition(":")[2]): (row.arrays, row.bytes) for row in rows if __file__ in row.name}


def test_each_line_has_what_it_made(tracked):
    a = np.zeros((100, 50)) + 1
    first = here(-1)
    b = [a * i for i in range(1, 5)]
    second = here(-1)
    c = np.array(numpy.ones(2000))
    third = here(-1)
    dflow.waitall()
    assert by_line() == {first: (1, 40_000), second: (4, 160_000), third: (1, 16_000)}
    del b[0], c
    assert by_line() == {first: (1, 40_000), second: (3, 120_000)}
    view = a[10:, ::2]
    del a
    assert by_line()[first] == (1, 40_000)              # a view holds all of it
    del view
    assert set(by_line()) == {second}


def test_by_dtype_and_shape(tracked):
    with configured(limit=0):
        keep = [np.ones((30, 40)) * 2, np.ones((30, 40), "f4") @ np.ones((40, 20), "f4"), np.ones((300, 5)).sum(axis=1),
                np.ones(5000) > 0, np.ones((4, 20, 30)) @ np.ones((4, 30, 10))]
        dflow.waitall()
        names = {row.name: row for row in dflow.engine.memory_snapshot().by_array()}
    for x in keep:
        row = names[f"{x.dtype} {x.shape}"]
        assert row.bytes == row.arrays * x.nbytes


def test_what_is_promised(tracked):
    with configured(limit=0), Gate() as gate:
        matrix, x = np.ones((1000, 500)), np.ones(1000)
        dflow.waitall()
        held = gate.hold(x)
        promised = [held * i for i in range(3)] + [held @ matrix]
        blocks = [block for block in dflow.engine.memory_snapshot().blocks if block.promised]
        assert sorted(block.bytes for block in blocks) == [4000, 8000, 8000, 8000, 8000]       # the held one, too
        assert "promised" in dflow.engine.memory_report()
        gate.open()
        dflow.waitall()
        assert not any(block.promised for block in dflow.engine.memory_snapshot().blocks)
        assert len(promised) == 4


def test_what_a_group_never_stores_is_not_held(tracked):
    with configured(limit=0), Gate() as gate:
        x = gate.hold(np.ones(5000))
        y = (x + 1) * 2 - x / 3
        gate.open()
        y.wait_to_read()
        dflow.waitall()
        blocks = dflow.engine.memory_snapshot().blocks
    assert sum(block.bytes for block in blocks if block.site and block.site[1] == here(-5)) == 40_000


def test_a_comparison_tells_what_grew(tracked):
    older = dflow.engine.memory_snapshot()
    kept = []

    def leak():
        kept.append(np.ones(500) + 1)

    for _ in range(20):
        leak()
    dflow.waitall()
    rows = dflow.engine.memory_snapshot().compare_to(older)
    assert rows[0].bytes >= 20 * 4000 and rows[0].arrays >= 20 and rows[0].name.endswith(str(here(-6)))
    assert dflow.engine.memory_snapshot().compare_to(dflow.engine.memory_snapshot()) == []
    with pytest.raises(TypeError, match="older must be a Snapshot, not 3"):
        older.compare_to(3)


def test_long_programs_do_not_fill_memory(tracked):
    """What ends is forgotten, also what never had memory."""
    from dflow._profile import memory

    x = np.ones(300)
    for _ in range(20_000):
        y = x + 1
        del y
        np.empty(1000)
    dflow.waitall()
    assert len(dflow.engine.memory_snapshot().blocks) < 100
    assert len(memory._tracker._asked) <= memory.UNTOUCHED + 1000


def test_several_threads_make_and_drop_arrays(tracked):
    kept = []

    def work(seed):
        random = numpy.random.default_rng(seed)
        mine = []
        for _ in range(300):
            mine.append(np.ones(int(random.integers(200, 3000))) * 2)
            if len(mine) > 20:
                del mine[int(random.integers(len(mine)))]
        kept.append(mine)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    dflow.waitall()
    snapshot = dflow.engine.memory_snapshot()
    mine = [block.bytes for block in snapshot.blocks if block.site and block.site[2] == "work"]
    assert not snapshot.lost
    assert sorted(mine) == sorted(x.nbytes for some in kept for x in some)


def test_the_report(tracked):
    keep = [np.ones(30_000) + i for i in range(3)]
    dflow.waitall()
    text = dflow.engine.memory_report(rows=1)
    assert re.search(rf" 703 KB +3  {re.escape(__file__)}:{here(-3)}$", text, re.MULTILINE), text
    assert re.search(r" 703 KB +3  float64 \(30000,\)$", text, re.MULTILINE), text
    assert "are kept for arrays to come" in text and len(keep) == 3
    for rows in (0, True, "3", 1.5):
        with pytest.raises(ValueError, match=f"rows must be a number from 1 on, not {rows!r}"):
            dflow.engine.memory_report(rows)


def test_off():
    assert not dflow.engine.track_memory()
    snapshot = dflow.engine.memory_snapshot()
    assert snapshot.blocks == [] and not snapshot.tracked and snapshot.stats["live"] >= 0
    assert "DFLOW_TRACK_MEMORY=1" in dflow.engine.memory_report()
    for _ in range(3):                                  # on and off leaves no thread
        dflow.engine.track_memory(True)
        dflow.engine.track_memory(False)
    assert poll(lambda: not any(thread.name == "dflow memory" for thread in threading.enumerate()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_the_environment_and_a_child(run):              # noqa: F811
    code, out, err = run("""
        import os
        x = np.ones(5000) + 1
        dflow.waitall()
        assert "program.py" in dflow.engine.memory_report(), dflow.engine.memory_report()
        child = os.fork()
        y = np.ones(7000) + 1
        dflow.waitall()
        lines = dflow.engine.memory_snapshot().by_line()
        print(len(lines), flush=True)
        if child:
            assert os.waitpid(child, 0)[1] == 0
        else:
            os._exit(0)
    """, DFLOW_TRACK_MEMORY="1")
    assert (code, sorted("".join(out.split()))) == (0, ["1", "2"]), err      # two processes write their lines
