"""How long a sum takes, by a model of messages, and the way that it is to take: the fastest of them.

A message costs both of its processes time, whatever its size (`message`), and time a byte (`byte`), and is under way
for a while (`latency`). Numbers are added at a rate (ADD). The constants are measured, by `python -m bench cluster`,
and the same everywhere: the order in which numbers are added depends on how many ranks there are, on how many a host
has, and on the size, but not on time.
"""

import functools
import itertools
import math
from typing import NamedTuple


class Link(NamedTuple):
    message: float          # seconds of each process for a message, sent or received
    byte: float             # seconds of each for a byte of it
    latency: float          # seconds on its way


LOCAL = Link(300e-6, 0.7e-9, 100e-6)        # between processes of a host, over distributed's connections
NETWORK = Link(300e-6, 0.8e-9, 300e-6)      # between hosts of a network of 10 Gb/s and more
ADD = 0.25e-9                               # seconds for a byte to be added
BEGIN, COPY = 1e-3, 1e-9                    # seconds of any sum, and for a byte that is handed over and comes back


class Way(NamedTuple):
    """How a sum is made.

    "tree": ranks hand what they have summed to others, the whole arrays, until rank 0 has it; and back.
    "parts": each rank of a row adds a part of the arrays of that row; those of a column sum that, `across`; and back.
    """

    name: str               # "tree" or "parts"
    rows: tuple = ()        # tuples of ranks, of one length
    across: str = "parts"   # or "tree"


def ways(hosts):
    """What may be chosen. hosts: tuples of consecutive ranks, each of one host."""
    ranks = tuple(rank for host in hosts for rank in host)
    yield Way("tree")
    yield Way("parts", (ranks,))
    rows = {len(host) for host in hosts}
    widths = rows if len(rows) == 1 and rows != {1} else {w for w in range(2, len(ranks)) if len(ranks) % w == 0}
    for width in widths - {len(ranks)}:
        for across in "parts", "tree":
            yield Way("parts", tuple(ranks[i:i + width] for i in range(0, len(ranks), width)), across)


def seconds(way, nbytes, hosts, local=LOCAL, network=NETWORK):
    """What a sum of so many bytes takes by the model."""
    size = sum(map(len, hosts))
    link = local if len(hosts) == 1 else network
    whole = BEGIN + COPY * nbytes
    if way.name == "tree":
        return whole + _tree(size, nbytes, link)
    width = len(way.rows[0])
    inside = local if len(hosts) == 1 or len(hosts[0]) == width else network
    across = _parts if way.across == "parts" else _tree
    return whole + _parts(width, nbytes, inside) + across(len(way.rows), nbytes / width, link)


def _parts(size, nbytes, link):
    if size == 1:
        return 0
    each = 2 * (size - 1) * (link.message + link.byte * nbytes / size)      # sent and received
    return 2 * (each + link.latency) + ADD * nbytes * (size - 1) / size


def _tree(size, nbytes, link):
    rounds = math.ceil(math.log2(size))
    return rounds * (2 * (2 * (link.message + link.byte * nbytes) + link.latency) + ADD * nbytes)


@functools.lru_cache(1000)
def way_for(nbytes, hosts):
    """The fastest way for a sum of so many bytes."""
    return min(ways(hosts), key=lambda way: seconds(way, nbytes, hosts))


def hosts_of(names):
    """Tuples of ranks, each of one host: of their addresses, as 'tcp://10.0.0.1:4000'; one rank each, where hosts do
    not have consecutive ranks."""
    hosts = [name.rpartition(":")[0] for name in names]
    groups = [tuple(i for i, _ in run) for _, run in itertools.groupby(enumerate(hosts), key=lambda pair: pair[1])]
    return tuple(groups) if len(groups) == len(set(hosts)) else tuple((rank,) for rank in range(len(names)))
