"""Groups of ranks that are not there (bench/ranks): what runs on a cluster, with letters that take any time, in a time
that passes only where all wait. So what hangs ends at once, with an error."""

import math
import random
import sys
import threading
from pathlib import Path

import numpy
import pytest

from dflow._ranks import model, sums
from dflow._ranks.exchange import MESSAGE, WorkerLost, portable

sys.path.append(str(Path(__file__).resolve().parent.parent))
from bench import ranks  # noqa: E402

pytestmark = pytest.mark.once
SEEDS = pytest.mark.parametrize("seed", range(12))


def evenly(rng, low, high):
    """A number that is even in logarithm; once in a while the lowest."""
    return low if rng.random() < 0.1 else int(math.exp(rng.uniform(math.log(max(low, 1)), math.log(high + 1))))


def some_hosts(rng, most):
    """Hosts of consecutive ranks: as many on each, or not, or one."""
    size, kind = evenly(rng, 1, most), rng.randrange(3)
    if kind == 0:
        return (tuple(range(size)),)
    if kind == 1:
        width = rng.choice([w for w in range(1, size + 1) if size % w == 0])
        return tuple(tuple(range(i, i + width)) for i in range(0, size, width))
    ends = sorted(rng.sample(range(1, size), rng.randrange(min(size, 5)))) if size > 1 else []
    return tuple(tuple(range(*pair)) for pair in zip([0, *ends], [*ends, size]))


def size_of(hosts):
    return sum(map(len, hosts))


def numbers(rank, n, dtype):
    x = numpy.random.default_rng(rank).random(n) * 100 - 50
    return x.astype(dtype) if dtype != "c16" else x + 1j * x[::-1]


def raised(results):
    return [(type(result), str(result)) for result in results]


def all_right(results, wants):
    """All ranks have the same bits; the numbers are the wanted ones."""
    for result in results:
        if isinstance(result, BaseException):
            raise result
        assert result.dtype == wants.dtype and result.shape == wants.shape
        assert result.tobytes() == results[0].tobytes()
    if wants.dtype.kind in "iu":
        assert (results[0] == wants).all()
    else:
        places = numpy.finfo(wants.dtype).eps * len(results) * 200
        numpy.testing.assert_allclose(results[0], wants, rtol=places, atol=places * 50)


# ---- sums ------------------------------------------------------------------------------------------------------------

@SEEDS
def test_every_way(seed, monkeypatch):
    """Sizes of a piece or several; letters that overtake each other."""
    rng = random.Random(seed)
    hosts, dtype = some_hosts(rng, 40), rng.choice(["f4", "f8", "f2", "i8", "u1", "c16"])
    monkeypatch.setattr(sums, "MESSAGE", evenly(rng, 64, 1 << 20))
    n = evenly(rng, 0, 5000)
    given = [numbers(rank, n, dtype) for rank in range(size_of(hosts))]
    wants = sum(given[1:], given[0].copy())
    for way in model.ways(hosts):
        monkeypatch.setattr(sums, "way_for", lambda nbytes, hosts, way=way: way)
        made = []
        for jitter in 0, 100:
            network = ranks.Network(hosts, jitter=jitter, seed=seed)
            made.append(ranks.run(network, lambda r, e: ranks.sum_of(e, "x", 0, given[r], hosts))[0])
        all_right(made[0], wants)
        assert made[0][0].tobytes() == made[1][0].tobytes(), way
        if way.name == "parts" and len(way.rows) == 1:
            assert made[0][0].tobytes() == wants.tobytes()          # in the order of the ranks


@SEEDS
def test_many_sums_at_once(seed):
    """Each rank begins them in an order of its own, with urgencies of its own, and some late."""
    rng = random.Random(seed)
    hosts = some_hosts(rng, 12)
    keys = [(key, count, evenly(rng, 0, 3000)) for key in "abc" for count in range(evenly(rng, 1, 5))]
    network = ranks.Network(hosts, jitter=20, seed=seed, cores=rng.choice([None, 1, 2]))

    async def body(rank, exchange):
        own = random.Random(seed * 1000 + rank)
        made = {}

        async def one(key, count, n):
            await ranks.asyncio.sleep(own.random() * 0.05)
            x = numbers(rank + count, n, "f8")
            made[key, count] = await ranks.sum_of(exchange, key, count, x, hosts, priority=own.randrange(5))
        await ranks.asyncio.gather(*(one(*key) for key in own.sample(keys, len(keys))))
        return made

    results, _ = ranks.run(network, body)
    for key, count, n in keys:
        all_right([made[key, count] for made in results],
                  sum(numbers(rank + count, n, "f8") for rank in range(1, len(results))) + numbers(count, n, "f8"))


@SEEDS
def test_what_the_first_has(seed):
    rng = random.Random(seed)
    hosts = some_hosts(rng, 100)
    given = [numbers(rank, 100, "f4") for rank in range(size_of(hosts))]
    results, _ = ranks.run(ranks.Network(hosts, jitter=5, seed=seed), lambda r, e: ranks.sum_of(
        e, "x", 0, given[r], hosts, way=ranks.first))
    assert {x.tobytes() for x in results} == {given[0].tobytes()}


def test_what_is_urgent_overtakes():
    """A small sum, begun when a large one is under way; and many small ones go together."""
    hosts, order = ((0, 1),), []
    large = numpy.zeros(20 * MESSAGE, "u1")
    network = ranks.Network(hosts)

    async def body(rank, exchange):
        async def one(key, x, delay, priority):
            await ranks.asyncio.sleep(delay)
            await ranks.sum_of(exchange, key, 0, x, hosts, priority=priority)
            order.append((rank, key))
        await ranks.asyncio.gather(one("large", large, 0, 0), *(one(f"small {k}", large[:100], 0.001, 1)
                                                                for k in range(50)))

    ranks.run(network, body)
    for rank in range(2):
        assert [key for r, key in order if r == rank][-1] == "large"
    assert network.messages < 2 * (2 * 20 + 20)                     # 200 letters of the small ones


# ---- what fails ------------------------------------------------------------------------------------------------------

def failing(rng, rank, bad, kind):
    if rank != bad:
        return numpy.ones(100)
    return {"error": lambda: ZeroDivisionError("of a rank"), "type": lambda: numpy.ones(100, "f4"),
            "shape": lambda: numpy.ones(99), "size": lambda: numpy.ones(3_000_000)}[kind]()


@SEEDS
@pytest.mark.parametrize("kind", ["error", "type", "shape", "size"])
def test_an_error_is_everybodys(seed, kind):
    """Whoever comes late, too; the next sum is right."""
    rng = random.Random(seed)
    hosts = some_hosts(rng, 30)
    bad = rng.randrange(size_of(hosts))
    late = rng.randrange(size_of(hosts))

    async def body(rank, exchange):
        await ranks.asyncio.sleep(1 if rank == late else 0)
        try:
            await ranks.sum_of(exchange, "x", 0, failing(rng, rank, bad, kind), hosts)
        except Exception as error:
            following = await ranks.sum_of(exchange, "x", 1, numpy.full(10, rank), hosts)
            assert (following == sum(range(size_of(hosts)))).all()
            raise error
        return None

    results, _ = ranks.run(ranks.Network(hosts, jitter=5, seed=seed), body)
    if kind == "error":
        assert raised(results) == [(ZeroDivisionError, "of a rank")] * len(results)
    elif len(results) > 1:
        other = {"type": "shape (100,) and type float32", "shape": "shape (99,) and type float64",
                 "size": "shape (3000000,) and type float64"}[kind]
        first, second = ("shape (100,) and type float64", other) if bad else (other, "shape (100,) and type float64")
        assert raised(results) == [(ValueError, f"the arrays of 'x' differ: rank 0 has one of {first}, rank "
                                    f"{bad or 1} one of {second}")] * len(results)


@SEEDS
def test_a_piece_that_fails_ends_the_others(seed, monkeypatch):
    """No rank waits on for the other pieces of its array."""
    rng = random.Random(seed)
    hosts = some_hosts(rng, 12)
    if size_of(hosts) < 2:
        hosts = ((0, 1),)
    monkeypatch.setattr(sums, "MESSAGE", 800)
    way = rng.choice(list(model.ways(hosts)))
    monkeypatch.setattr(sums, "way_for", lambda nbytes, hosts: way)
    added, add, bad = [], sums.add, rng.randrange(20)

    async def short_of_memory(arrays, out):
        added.append(out)
        if len(added) == bad + 1:
            raise MemoryError("of a piece")
        await add(arrays, out)

    monkeypatch.setattr(sums, "add", short_of_memory)

    async def body(rank, exchange):
        try:
            await ranks.sum_of(exchange, "x", 0, numpy.ones(20_000), hosts)
        finally:
            await ranks.asyncio.sleep(1)
            left = {task.get_coro().__name__ for task in ranks.asyncio.all_tasks()}
            assert not left & {"_parts", "_tree", "summed"}, left

    results, _ = ranks.run(ranks.Network(hosts, jitter=5, seed=seed), body)
    assert raised(results) == [(MemoryError, "of a piece")] * len(results)
    assert not any(isinstance(error.__context__, ExceptionGroup) for error in results)     # it would be in itself


@SEEDS
@pytest.mark.parametrize("kind", ["late", "ends", "stopped"])
def test_a_rank_that_does_not_come_is_named(seed, kind):
    """It comes after the timeout, or has made fewer sums than the others, or is there and does nothing."""
    rng = random.Random(seed)
    hosts = some_hosts(rng, 50)
    if size_of(hosts) < 2:
        hosts = ((0, 1),)
    bad = rng.randrange(1 if kind == "stopped" else 0, size_of(hosts))
    network = ranks.Network(hosts, jitter=5, seed=seed, stopped={bad: 0.5} if kind == "stopped" else {})

    async def body(rank, exchange):
        await ranks.sum_of(exchange, "y", 0, numpy.ones(10), hosts)
        if rank != bad:
            return await ranks.sum_of(exchange, "x", 0, numpy.ones(1000), hosts)
        await ranks.asyncio.sleep(1000)
        return None if kind != "late" else await ranks.sum_of(exchange, "x", 0, numpy.ones(1000), hosts)

    results, time = ranks.run(network, body, timeout=60.0)
    text = f"rank {bad} at {network.names[bad]} has not come to the sum of 'x' in 60 seconds"
    others = [result for rank, result in enumerate(results) if rank != bad or kind == "late"]
    assert raised(others) == [(TimeoutError, text)] * len(others) and time < 1100


@SEEDS
def test_a_rank_that_is_lost(seed):
    """All say so: one finds it, and tells the others."""
    rng = random.Random(seed)
    hosts = some_hosts(rng, 40)
    if size_of(hosts) < 2:
        hosts = ((0,), (1,))
    bad, when = rng.randrange(size_of(hosts)), rng.random() * 0.2
    network = ranks.Network(hosts, jitter=5, seed=seed, lost={bad: when})

    async def body(rank, exchange):
        for count in range(1000):
            await ranks.sum_of(exchange, "x", count, numpy.ones(10 if count % 3 else 10_000), hosts)

    results, time = ranks.run(network, body, timeout=20.0)
    others = [result for rank, result in enumerate(results) if rank != bad]
    assert raised(others) == [(WorkerLost, f"rank {bad} at {network.names[bad]} is lost")] * len(others)
    assert time < when + 65


@SEEDS
@pytest.mark.parametrize("kind", ["error", "shape"])
def test_an_error_of_what_the_first_has_is_everybodys(seed, kind):
    """Though the first has all that it needs at once."""
    rng = random.Random(seed)
    hosts = some_hosts(rng, 30)
    bad = rng.randrange(size_of(hosts))

    async def body(rank, exchange):
        await ranks.asyncio.sleep(rng.random())
        return await ranks.sum_of(exchange, "x", 0, failing(rng, rank, bad, kind), hosts, way=ranks.first)

    results, time = ranks.run(ranks.Network(hosts, jitter=5, seed=seed), body)
    assert len({*raised(results)}) == 1 and time < 30
    assert isinstance(results[0], ZeroDivisionError if kind == "error" else
                      (ValueError if len(results) > 1 else numpy.ndarray))


@SEEDS
def test_a_later_sum_of_a_key_that_ends_first(seed):
    """Who is late with the first is named, though it has been there for the second."""
    rng = random.Random(seed)
    hosts = some_hosts(rng, 20)
    if size_of(hosts) < 2:
        hosts = ((0, 1),)
    bad = rng.randrange(size_of(hosts))
    network = ranks.Network(hosts, seed=seed)

    async def body(rank, exchange):
        async def one(count):
            await ranks.asyncio.sleep(500 if rank == bad and count == 0 else 0)
            return await ranks.sum_of(exchange, "x", count, numpy.ones(5), hosts)
        return await ranks.asyncio.gather(one(0), one(1), return_exceptions=True)

    results, _ = ranks.run(network, body, timeout=50.0)
    for first, second in results:
        assert str(first) == f"rank {bad} at {network.names[bad]} has not come to the sum of 'x' in 50 seconds"
        assert (second == size_of(hosts)).all()


def test_letters_that_cannot_go(monkeypatch):
    """For what reason ever, all are told at once."""
    network = ranks.Network(((0, 1, 2),))
    carrier = network.carrier

    def failing_carrier(rank, exchanges):
        carry = carrier(rank, exchanges)

        async def carries(to, letters):
            if (rank, to) == (2, 1) and any(letter[1] != "lost" for letter in letters):
                raise KeyError("no way")
            await carry(to, letters)
        return carries

    monkeypatch.setattr(network, "carrier", failing_carrier)
    results, time = ranks.run(network, lambda r, e: ranks.sum_of(e, "x", 0, numpy.ones(5000), ((0, 1, 2),)))
    assert raised(results) == [(KeyError, "'no way'")] * 3 and time < 1


def test_errors_that_are_sent():
    """As they are, or without what cannot be sent: pickle, as distributed has taught it, sends all that led to one."""
    class Local(Exception):
        pass

    error = ZeroDivisionError("no")
    error.add_note("a note")
    assert portable(error) is error and portable(((3,), "f8")) == ((3,), "f8")
    error.lock = threading.Lock()
    sent = portable(error)
    assert (type(sent), str(sent), sent.__notes__) == (ZeroDivisionError, "no", ["a note"]) and sent is not error
    sent = portable(Local("x"))
    assert (type(sent), str(sent)) == (RuntimeError, "Local('x')")


# ---- the model -------------------------------------------------------------------------------------------------------

@SEEDS
def test_the_model_is_what_is_simulated(seed, monkeypatch):
    rng = random.Random(seed)
    hosts, scale = some_hosts(rng, 64), 1000
    n = evenly(rng, 64, 4_000_000)
    monkeypatch.setattr(sums, "MESSAGE", MESSAGE // scale)
    for name in "ADD", "BEGIN", "COPY":             # what a rank does for itself takes no time there
        monkeypatch.setattr(model, name, 0)
    given = numpy.zeros(n // scale, "u1")
    for way in model.ways(hosts):
        monkeypatch.setattr(sums, "way_for", lambda nbytes, hosts, way=way: way)
        _, time = ranks.run(ranks.Network(hosts, scale=scale), lambda r, e: ranks.sum_of(e, "x", 0, given, hosts))
        assert 0.5 < (time + 1e-9) / (model.seconds(way, n, hosts) + 1e-9) < 1.5, way


def test_ways():
    one, eight = (tuple(range(16)),), tuple(tuple(range(i, i + 8)) for i in range(0, 1024, 8))
    assert model.way_for(4 << 20, ((0, 1),)) == ("parts", ((0, 1),), "parts")
    assert model.way_for(4096, eight).name == "tree"
    large = model.way_for(1 << 30, eight)
    assert large.name == "parts" and len(large.rows) == 128
    assert {way.name for way in model.ways(one)} == {"tree", "parts"}


@pytest.mark.parametrize("names, want", [
    (["tcp://a:1", "tcp://a:2", "tcp://b:1"], ((0, 1), (2,))),
    (["tcp://a:1", "tcp://b:1", "tcp://a:2"], ((0,), (1,), (2,))),
    (["tls://[::1]:1", "tls://[::1]:2"], ((0, 1),)),
    (["inproc://10.0.0.1/1/2", "inproc://10.0.0.1/1/3"], ((0, 1),)),
])
def test_hosts(names, want):
    assert model.hosts_of(names) == want


def test_a_thousand_ranks():
    """128 hosts of 8; one rank comes late."""
    hosts = tuple(tuple(range(i, i + 8)) for i in range(0, 1024, 8))

    async def body(rank, exchange):
        await ranks.asyncio.sleep(2 if rank == 517 else 0)
        return await ranks.sum_of(exchange, "x", 0, numpy.full(500, rank), hosts)

    results, time = ranks.run(ranks.Network(hosts), body)
    assert all((result == 1024 * 1023 // 2).all() for result in results)
    assert 2 < time < 2.1


def test_a_thousand_ranks_of_which_some_are_lost():
    """All others say of one of them that it is lost."""
    hosts, lost = tuple(tuple(range(i, i + 8)) for i in range(0, 1024, 8)), {3: 0.5, 518: 0.5, 1023: 0.6}
    network = ranks.Network(hosts, jitter=5, lost=lost)

    async def body(rank, exchange):
        await ranks.sum_of(exchange, "x", 0, numpy.full(500, rank), hosts)
        await ranks.asyncio.sleep(1)
        await ranks.sum_of(exchange, "x", 1, numpy.full(500, rank), hosts)

    results, time = ranks.run(network, body, timeout=20.0)
    texts = {f"rank {rank} at {network.names[rank]} is lost" for rank in lost}
    others = raised([result for rank, result in enumerate(results) if rank not in lost])
    assert len(others) == 1021 and {*others} <= {(WorkerLost, text) for text in texts} and time < 65
