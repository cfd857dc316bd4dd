"""`await x` in asyncio: the loop runs on while an array is pending, and errors arrive at the await."""

import asyncio

import pytest
from engines import Gate, configured, in_threads

import dflow
import dflow.numpy as np


@pytest.fixture(autouse=True)
def two_workers():
    """A worker for the task that a gate holds, and one for the rest."""
    with configured(workers=2):
        yield


def within(coroutine):
    """Run it in a fresh event loop; one that hangs fails."""
    return asyncio.run(asyncio.wait_for(coroutine, 60))


def test_await_gives_the_array_itself_when_it_is_ready():
    async def main():
        x = dflow.engine.sleep(np.arange(3), 1e-3) + 1
        y = await x
        assert y is x and x.is_ready()
        assert await x is x                                 # again, ready now
        assert x.tolist() == [1, 2, 3]

    within(main())


def test_the_loop_runs_on_while_an_array_is_pending():
    """Only a coroutine that runs meanwhile opens the gate: an await that blocks the loop hangs."""
    async def main():
        with Gate() as gate:
            x = gate.hold(np.ones(2)) + 1

            async def open_later():
                await asyncio.sleep(0)
                assert not x.is_ready()
                gate.open()

            opener = asyncio.ensure_future(open_later())
            assert (await x).tolist() == [2, 2]
            await opener

    within(main())


def test_gather_of_several():
    async def wait_for(x):
        return (await x).tolist()

    async def main():
        arrays = [dflow.engine.sleep(np.full(2, i), 1e-3) * 2 for i in range(20)]
        assert await asyncio.gather(*map(wait_for, arrays)) == [[2 * i, 2 * i] for i in range(20)]

    within(main())


def test_several_coroutines_await_one_array():
    async def wait_for(x):
        return await x

    async def main():
        with Gate() as gate:
            x = gate.hold(np.ones(2))
            waiting = [asyncio.ensure_future(wait_for(x)) for _ in range(10)]
            await asyncio.sleep(0)
            assert not any(task.done() for task in waiting)
            gate.open()
            assert all(y is x for y in await asyncio.gather(*waiting))

    within(main())


def test_await_of_a_view():
    async def main():
        x = dflow.engine.sleep(np.arange(6), 1e-3)
        assert (await x[::2]).tolist() == [0, 2, 4]
        assert (await x.sum()).item() == 15

    within(main())


def test_await_raises_what_reading_raises():
    async def main():
        x = dflow.engine.sleep(np.array([2]), 0.1) ** np.array([-1])
        for poisoned in (x, x + 1, x):
            with pytest.raises(ValueError, match="negative integer powers") as caught:
                await poisoned
            assert len(caught.value.__notes__) == 1

    within(main())


def test_await_of_a_future():
    async def main():
        assert await dflow.submit(lambda values: values.sum(), np.arange(4)) == 6
        with pytest.raises(ZeroDivisionError):
            await dflow.submit(lambda: 1 / 0)

    within(main())


def test_a_cancelled_await_leaves_the_array_usable():
    async def main():
        with Gate() as gate:
            x = gate.hold(np.ones(2))

            async def wait():
                await x

            task = asyncio.ensure_future(wait())
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            gate.open()
            assert (await x).tolist() == [1, 1]

    within(main())


def test_awaits_in_two_loops_in_two_threads():
    async def count(x):
        for _ in range(50):
            x = await (x + 1)
        return x.tolist()

    def run():
        assert within(count(np.zeros(2))) == [50, 50]

    in_threads(run, run)
