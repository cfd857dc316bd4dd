"""How a sum is added: see Way in _ranks/model. Always in the order of the ranks, or of ranges of them, and by one rank,
of whom all others have it: so all have the same bits, in every run."""

import asyncio

import numpy

from dflow._ranks.exchange import MESSAGE
from dflow._ranks.model import way_for

INLINE = 1 << 20            # bytes that the event loop adds itself, rather than by a thread


async def summed(s, x, out, hosts):
    """The sum over all ranks of x, a vector, into another one; s: the Sum."""
    way = way_for(x.nbytes, hosts)
    width = len(way.rows[0]) if way.name == "parts" else 1
    step = max(1, width * MESSAGE // x.itemsize)
    ranks = tuple(rank for host in hosts for rank in host)
    pieces = [slice(i, i + step) for i in range(0, max(len(x), 1), step)]
    failed = None
    try:
        async with asyncio.TaskGroup() as group:        # where one fails, the others do not wait any longer
            for k, i in enumerate(pieces):
                group.create_task(_tree(s, (k,), ranks, x[i], out[i]) if way.name == "tree" else
                                  _parts(s, (k,), way, x[i], out[i]))
    except ExceptionGroup as errors:
        failed = errors.exceptions[0]
    if failed is not None:
        raise failed                # out here: with the group as its context it would be in its own, and not be pickled


async def first(s, x, out, hosts):
    """What rank 0 has; done when all have it, as an error is to be everybody's."""
    ranks = tuple(rank for host in hosts for rank in host)
    numpy.copyto(out, x)
    await _down(s, (), ranks, out)
    await _tree(s, ("all",), ranks, x[:0], x[:0].copy())


async def add(arrays, out):
    """Their sum, in their order; out may be the first."""
    if len(arrays) == 1:
        numpy.copyto(out, arrays[0])
    elif out.nbytes <= INLINE:
        _add(arrays, out)
    else:
        await asyncio.to_thread(_add, arrays, out)


def _add(arrays, out):
    numpy.add(arrays[0], arrays[1], out=out)
    for x in arrays[2:]:
        out += x


async def _parts(s, tag, way, x, out):
    row = next(row for row in way.rows if s.rank in row)
    place = row.index(s.rank)
    parts, sums = numpy.array_split(x, len(row)), numpy.array_split(out, len(row))
    for rank, part in zip(row, parts):
        s.send(rank, (*tag, "part"), part)
    own = sums[place]
    await add([(await s.receive(rank, (*tag, "part")))[0] for rank in row], own)
    if len(way.rows) > 1:
        column = tuple(other[place] for other in way.rows)
        if way.across == "tree":
            await _tree(s, (*tag, "across"), column, own, own)
        else:
            await _parts(s, (*tag, "across"), way._replace(rows=(column,)), own.copy(), own)
    for rank in row:
        if rank != s.rank:
            s.send(rank, (*tag, "sum"), own)
    for rank, part in zip(row, sums):
        if rank != s.rank:
            part[...] = (await s.receive(rank, (*tag, "sum")))[0]


async def _tree(s, tag, ranks, x, out):
    """A rank adds what those have whose places differ from its own by 1, 2, 4...: first two, then four, and so on."""
    place, step = ranks.index(s.rank), 1
    numpy.copyto(out, x)
    while step < len(ranks):
        if place & step:
            s.send(ranks[place - step], (*tag, "up"), out.copy())
            break
        if place + step < len(ranks):
            other, = await s.receive(ranks[place + step], (*tag, "up"))
            await add([out, other], out)
        step *= 2
    await _down(s, tag, ranks, out)


async def _down(s, tag, ranks, out):
    """Let all have what the first has in `out`."""
    place = ranks.index(s.rank)
    step = place & -place or 1 << (len(ranks) - 1).bit_length()
    if place:
        out[...] = (await s.receive(ranks[place - step], (*tag, "down")))[0]
    while step > 1:
        step //= 2
        if place + step < len(ranks):
            s.send(ranks[place + step], (*tag, "down"), out)
