"""Sums over processes (`dflow.distributed`): what they take here, and what the model says that they take elsewhere.

Measured: clusters of 2, 4 and 8 processes of this machine, which share its cores. Computed: by _ranks/model, for hosts
of eight ranks and a network of 10 Gb/s, each way to sum and the one that is chosen; and played by ranks that are not
there (bench/ranks), which run what runs on a cluster. bench/results/cluster.png has both, apart.
"""
import time

import numpy

from dflow._ranks import model, sums

from . import ranks
from .registry import Row, experiment

MEASURED, COMPUTED = (2, 4, 8), (8, 64, 1024)
SIZES = 4 << 10, 64 << 10, 1 << 20, 4_000_000, 64 << 20
FAR = [4 << 10 << k for k in range(0, 19, 2)]       # to 1 GB
MOST = 100_000                  # messages of what is played


def means(size, rounds):
    """Seconds for a sum, in a rank: each of the rounds, but for the first."""
    import dflow
    import dflow.numpy as np
    store, x, times = dflow.kvstore.create("dist_sync"), np.ones(size // 4, "f4"), []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        store.pushpull("x", x)
        x.wait_to_read()
        times.append(time.perf_counter() - start)
    return times[1:]


def measured(run):
    from distributed import Client, LocalCluster

    import dflow
    for processes in MEASURED if run.full or run.only else MEASURED[:1]:
        with LocalCluster(processes, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
            with Client(cluster) as client:
                dflow.distributed.setup(client)
                for size in run.sizes:
                    times = dflow.distributed.run(client, means, size, run.repeat(20))
                    took = float(numpy.median(numpy.max(times, axis=0)))
                    hosts = (tuple(range(processes)),)
                    way = model.way_for(size, hosts)
                    by_model = model.seconds(way, size, hosts)
                    yield Row(f"{named(size)} over {processes} processes here, by {way.name}", took * 1e3, "ms",
                              size=size, limit=15 if (size, processes) == (4_000_000, 2) else None, dflow=took,
                              base=by_model, note=f"measured {processes}")


def computed(run):
    """Nothing of this depends on the machine."""
    for size in COMPUTED:
        hosts = tuple(tuple(range(i, i + 8)) for i in range(0, size, 8))
        for nbytes in FAR:
            chosen = model.way_for(nbytes, hosts)
            for way in model.ways(hosts):
                seconds = model.seconds(way, nbytes, hosts)
                yield Row(f"{named(nbytes)} over {size} ranks, {wording(way)}{' (chosen)' * (way == chosen)}",
                          seconds * 1e3, "ms", size=nbytes, dflow=seconds,
                          note=f"{'chosen' if way == chosen else wording(way)} {size}")
            played = play(hosts, nbytes)
            if played is not None:
                yield Row(f"{named(nbytes)} over {size} ranks, played", played * 1e3, "ms", size=nbytes, dflow=played,
                          note=f"played {size}")


def play(hosts, nbytes):
    """Seconds; None: there would be too many messages."""
    way, size = model.way_for(nbytes, hosts), sum(map(len, hosts))
    width = len(way.rows[0]) if way.rows else 1
    pieces = -(-nbytes // (width * sums.MESSAGE))
    if size * 2 * (width + size // width if way.rows else 1) * pieces > MOST:
        return None
    scale = max(1, nbytes // (size * 100))
    given = numpy.zeros(nbytes // scale, "u1")
    before, sums.MESSAGE = sums.MESSAGE, max(1, sums.MESSAGE // scale)
    way_for, sums.way_for = sums.way_for, lambda _nbytes, _hosts: way
    try:
        return ranks.run(ranks.Network(hosts, scale=scale),
                         lambda rank, exchange: ranks.sum_of(exchange, "x", 0, given, hosts))[1]
    finally:
        sums.MESSAGE, sums.way_for = before, way_for


def wording(way):
    if way.name == "tree":
        return "in a tree"
    return "by parts" if len(way.rows) == 1 else f"by hosts, then by {'parts' if way.across == 'parts' else 'a tree'}"


def named(nbytes):
    for unit, name in ((1 << 30, "GB"), (1_000_000, "MB"), (1 << 10, "kB")):
        if nbytes >= unit:
            return f"{round(nbytes / unit)} {name}"
    return f"{nbytes} bytes"


def trained(steps):
    """Steps of training, in a rank: gradients are summed while those of layers before are computed."""
    import dflow
    import dflow.numpy as np
    from dflow import autograd, gluon
    net, loss = gluon.nn.Sequential(), gluon.loss.L2Loss()
    for width in 800, 800, 800, 1:
        net.add(gluon.nn.Dense(width, activation="relu" if width > 1 else None))
    net.initialize()
    x = np.ones((256, 400))
    net(x)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01}, kvstore="dist_sync")
    for _ in range(steps):
        with autograd.record():
            error = loss(net(x), x[:, :1])
        error.backward()
        trainer.step(256)
    dflow.waitall()


def lanes(run):
    """What two workers do in a step of training, by one profile of both."""
    from distributed import Client, LocalCluster

    import dflow
    with LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as made, Client(made) as client:
        dflow.distributed.setup(client)
        dflow.distributed.run(client, trained, 3)
        with dflow.distributed.profile(client) as profile:
            dflow.distributed.run(client, trained, 6)
    last = max(event.stop for events in profile.workers.values() for event in events)
    steps = sorted(event.start for event in next(iter(profile.workers.values())) if "sgd" in event.name.lower())
    begin = steps[len(steps) // 2] if steps else last / 2
    for rank, events in enumerate(profile.workers.values()):
        some = [event._replace(start=event.start - begin, stop=event.stop - begin, lane=event.lane)
                for event in events if begin <= event.start and event.stop <= last]
        yield Row(f"rank {rank}", last * 1e3, "ms", dflow=last, note="lanes", events=some)


PARTS = {"measured": measured, "computed": computed, "lanes": lanes}


@experiment("cluster", "sums over processes, measured and by the model", "15 ms for 4 MB over 2 processes", sizes=SIZES,
            size_is="bytes", parts=PARTS)
def cluster(run):
    for name in run.only or PARTS if run.full else run.only or ("measured",):
        yield from PARTS[name](run)
