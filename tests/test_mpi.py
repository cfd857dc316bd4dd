"""The processes of an MPI program as ranks of a group: programs of several processes, by mpiexec."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from engines import HANG

pytest.importorskip("mpi4py")
MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
if MPIEXEC is None:
    pytest.skip("there is no mpiexec", allow_module_level=True)

pytestmark = pytest.mark.once

BEGIN = """
import numpy
from mpi4py import MPI

import dflow
import dflow.numpy as np
from dflow import autograd, gluon, kvstore

store = kvstore.create("dist_sync")
rank, size, world = store.rank, store.num_workers, MPI.COMM_WORLD
assert (rank, size, store.type) == (world.rank, world.size, "dist_sync")


def raised(x):
    try:
        x.wait_to_read()
    except Exception as error:
        return type(error).__name__, str(error)


def agree(thing):
    assert world.allgather(thing) == [thing] * size, world.allgather(thing)
"""


def run(tmp_path, processes, program):
    path = tmp_path / "program.py"
    path.write_text(BEGIN + textwrap.dedent(program) + "\nprint(f'done {rank}', flush=True)\n")
    ended = subprocess.run([MPIEXEC, "-n", str(processes), sys.executable, "-m", "mpi4py", str(path)],
                           capture_output=True, text=True, timeout=HANG)
    assert ended.returncode == 0, ended.stderr
    assert sorted(re.findall(r"done|\d+", ended.stdout)) == sorted(     # mpiexec mixes what they write
        ["done"] * processes + [str(rank) for rank in range(processes)]), ended.stdout


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_sums(tmp_path, processes):
    """In the order of the ranks, to the last bit; of what is pending; more than one message."""
    run(tmp_path, processes, """
        for dtype in "f4", "f8", "f2", "i8", "c16":
            for n in 0, 1, 2, 5, 1000, 3_000_001:
                given = [(numpy.random.default_rng(r).random(n) * 100 - 50).astype(dtype) for r in range(size)]
                x = np.array(given[rank]) * 1
                store.pushpull(n, x)
                want = given[0].copy()
                for other in given[1:]:
                    want += other
                assert x.asnumpy().tobytes() == want.tobytes(), (dtype, n)
        x = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)
        store.pushpull("x", x, out := np.empty((4, 2, 3)))
        assert (out == x * size).all()
    """)


def test_what_is_stored(tmp_path):
    run(tmp_path, 2, """
        store.init("w", np.full(2, 5.0 + rank))
        store.pull("w", out=(out := np.empty(2)))
        assert out.tolist() == [5, 5]
        store.set_optimizer(dflow.optimizer.SGD(learning_rate=0.5))
        store.push("w", np.array([1.0, rank]))
        store.pull("w", out=out)
        assert out.tolist() == [4, 4.5]
    """)


def test_training(tmp_path):
    run(tmp_path, 2, """
        dflow.npx.random.seed(1)
        net, loss = gluon.nn.Sequential(), gluon.loss.L2Loss()
        net.add(gluon.nn.Dense(16, activation="tanh"), gluon.nn.Dense(1))
        net.initialize(dflow.init.Normal(0.5))
        net(np.zeros((1, 5)))
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01}, kvstore="dist_sync")
        rng, errors = numpy.random.default_rng(7), []
        for _ in range(60):
            x = np.array(rng.random((24, 5))[rank::size])
            with autograd.record():
                error = loss(net(x), np.sin(x.sum(axis=1, keepdims=True)))
            error.backward()
            trainer.step(24)
            errors.append(error.mean().item())
        assert sum(errors[-5:]) < 0.5 * sum(errors[:5])
        agree([p.data().asnumpy().tobytes() for p in net.collect_params().values()])
    """)


def test_an_error_is_everybodys(tmp_path):
    """What a process has failed to compute; shapes, types and keys that differ. The next sum is right."""
    run(tmp_path, 3, """
        for make, want in [
            (lambda: np.linalg.inv(dflow.engine.sleep(np.zeros((3, 3)) if rank == 1 else np.eye(3), 0.02)),
             ("LinAlgError", "Singular matrix")),
            (lambda: np.ones(3 + rank // 2), ("ValueError", "process 0 sums 'x' of shape (3,) and type float64, "
                                                            "process 2 'x' of shape (4,) and type float64")),
            (lambda: np.ones(3, "f4" if rank == 1 else "f8"), (
                "ValueError", "process 0 sums 'x' of shape (3,) and type float64, process 1 'x' of shape (3,) and type "
                              "float32")),
        ]:
            x = make()
            store.pushpull("x", x, out := np.empty(x.shape, x.dtype))
            assert raised(out) == want, raised(out)
        store.pushpull("ab"[rank % 2], x := np.ones(2))
        assert raised(x) == ("ValueError", "process 0 sums 'a' of shape (2,) and type float64, process 1 'b' of shape "
                                           "(2,) and type float64"), raised(x)
        store.pushpull("x", x := np.full(3, rank))
        assert x.tolist() == [3, 3, 3]
    """)


def test_a_process_that_raises_ends_all(tmp_path):
    """mpi4py's own way to run programs sees to it: nobody waits for ever."""
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        run(tmp_path, 2, """
            if rank:
                1 / 0
            store.pushpull("x", x := np.ones(3))
            x.wait_to_read()
        """)
