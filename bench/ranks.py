"""Ranks that are not there: a group of thousands sums in one process, in a time that passes only where all wait.

What runs is what runs on a cluster, _ranks/exchange and _ranks/sums; what carries its letters has the costs of
_ranks/model. Who is late, lost or stopped is as the caller says.
"""

import asyncio
import heapq
import random
import selectors

import numpy

from dflow._ranks import model
from dflow._ranks.exchange import Exchange, bytes_of
from dflow._ranks.sums import first, summed


class _Selector(selectors.SelectSelector):
    """Nothing comes from outside, so who would wait sets the clock forward."""

    def __init__(self):
        super().__init__()
        self.now = 0.0

    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("nothing would ever happen again: all wait")
        self.now += max(timeout, 0)
        return super().select(0) if timeout <= 0 else []


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose time is the selector's."""

    def __init__(self):
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self):
        return self._clock.now

    def run_in_executor(self, executor, function, *args):
        """At once, in no time: what is computed is not part of what is simulated."""
        future = self.create_future()
        future.set_result(function(*args))
        return future


class Lost(OSError):
    pass


class Network:
    """What carries letters between ranks of hosts.

    hosts: tuples of consecutive ranks, each of one host. cores: of each host, which its processes share; None: one for
    each. scale: how many bytes one stands for. jitter: up to how much longer, as a part, each message takes, at random.
    lost: by rank, from when on nobody can reach it; stopped: by rank, when it stops to take anything.
    """

    def __init__(self, hosts, local=model.LOCAL, network=model.NETWORK, cores=None, scale=1, jitter=0, seed=0, lost=(),
                 stopped=()):
        self.hosts, self.local, self.network, self.scale = hosts, local, network, scale
        self.host = {rank: i for i, host in enumerate(hosts) for rank in host}
        self.names = [f"tcp://10.0.{self.host[r] // 256}.{self.host[r] % 256}:{r}" for r in sorted(self.host)]
        self.jitter, self.random = jitter, random.Random(seed)
        self.lost, self.stopped = dict(lost), dict(stopped)
        self.free = {}                  # when the cores are free, a heap by host, or a rank's own
        self.cores, self.messages, self.bytes = cores, 0, 0

    def _busy(self, rank, seconds, loop):
        """The time at which a rank has done something that takes so long, on the core that is free first."""
        where = self.host[rank] if self.cores else rank
        cores = self.free.setdefault(where, [0.0] * (self.cores or 1))
        done = max(heapq.heappop(cores), loop.time()) + seconds
        heapq.heappush(cores, done)
        return done

    def carrier(self, rank, exchanges):
        async def carry(to, letters):
            loop = asyncio.get_running_loop()
            link = self.local if self.host[rank] == self.host[to] else self.network
            size = sum(map(bytes_of, letters)) * self.scale
            cost = (link.message + link.byte * size) * (1 + self.jitter * self.random.random())
            self.messages += 1
            self.bytes += size
            await self._until(self._busy(rank, cost, loop))
            await asyncio.sleep(link.latency)
            if self.lost.get(to, numpy.inf) <= loop.time() or self.lost.get(rank, numpy.inf) <= loop.time():
                raise Lost(f"rank {to}")
            if self.stopped.get(to, numpy.inf) <= loop.time() or self.stopped.get(rank, numpy.inf) <= loop.time():
                await asyncio.Event().wait()
            await self._until(self._busy(to, cost, loop))
            exchanges[to].arrived(letters)
        return carry

    @staticmethod
    async def _until(time):
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0, time - loop.time()))


def run(network, body, timeout=300.0):
    """What body(rank, exchange), a coroutine function, comes to for each rank, errors as values; and the time."""
    loop = Loop()
    exchanges = []

    async def all_of_them():
        for rank, _ in enumerate(network.names):
            exchanges.append(Exchange(rank, network.names, timeout, network.carrier(rank, exchanges)))
        results = await asyncio.gather(*(body(rank, exchanges[rank]) for rank in range(len(exchanges))),
                                       return_exceptions=True)
        ended = loop.time()
        for exchange in exchanges:
            exchange.check()
            exchange.fail(RuntimeError("the group has ended"))
        await asyncio.sleep(0)
        return results, ended

    try:
        return loop.run_until_complete(all_of_them())
    finally:
        loop.close()


async def sum_of(exchange, key, count, x, hosts, way=summed, priority=0):
    """A rank's part of a sum, as dflow.distributed.Group makes it."""
    about = x if isinstance(x, BaseException) else (x.shape, x.dtype.str)

    async def body(s):
        if isinstance(x, BaseException):
            raise x
        out = numpy.empty_like(x)
        await way(s, x.reshape(-1), out.reshape(-1), hosts)
        return out

    return await exchange.sum(key, count, about, body, priority)


__all__ = ["Loop", "Lost", "Network", "first", "run", "sum_of", "summed"]
