"""The processes of an MPI program (mpi4py) as the ranks of a group: kvstore.create("dist_sync") sums over them.

Each sum is three collective calls, on a communicator of its own, by the worker of a lane of its own: what is handed
over is compared, each process gets its part of all arrays and adds them in the order of the ranks, and all get all
sums. So processes must hand over the same keys in the same order, which is seen; and all have the same bits. A process
that ends, or an error that nobody catches, is MPI's: run programs by `python -m mpi4py`, which ends all of them.
"""

import numpy

import dflow.numpy as np
from dflow._array.core import window
from dflow._functions.host_task import host
from dflow._ranks.exchange import MESSAGE, portable
from dflow._ranks.place import begin_process
from dflow._ranks.store import LANE, start_lane


class Group:
    """A process's view of MPI's world. MPI: mpi4py's module."""

    def __init__(self, MPI):
        self._MPI, self._world, self._turn = MPI, MPI.COMM_WORLD, None
        self.rank, self.size = self._world.rank, self._world.size

    def _begin(self):
        """At the first sum: all processes must come here."""
        if self._MPI.Query_thread() < self._MPI.THREAD_MULTIPLE:
            raise RuntimeError("sums need MPI's THREAD_MULTIPLE: another thread calls MPI beside the program")
        start_lane()
        self._comm = self._world.Dup()
        self._turn = np.zeros(1, device=LANE)           # written by each sum: they follow each other as submitted

    def sum(self, key, x, only_first=False, priority=0):
        """A pending array: the sum of the arrays of all processes, or that of the first. priority changes nothing."""
        if self._turn is None:
            self._begin()
        out, result = np.empty(x.shape, x.dtype, device=LANE), []

        def collect(error):
            given = sums = room = None
            try:                # whatever fails here, all processes take part in what follows
                given = numpy.ascontiguousarray(window(x)).reshape(-1) if error is None else error
                if error is None:
                    sums = given.copy() if only_first else numpy.empty_like(given)
                    room = numpy.empty(min(len(given), self._step(given)) + self.size, given.dtype)
            except BaseException as failed:
                given = failed
            result.append(self._collected(key, given, sums, room, x, only_first))

        def take(_error):
            if isinstance(result[0], BaseException):
                raise result[0]
            window(out, write=True)[...] = result[0].reshape(out.shape)

        host(collect, [x], [self._turn], always=True)
        host(take, [self._turn], [out])
        return out

    def _step(self, x):
        """How many elements are summed at once."""
        return max(self.size, MESSAGE * self.size // x.itemsize)

    def _collected(self, key, x, out, room, array, only_first):
        """The sum, in `out`, or an error, everybody's. room: for a process's parts of what is summed at once."""
        about = portable(x) if isinstance(x, BaseException) else (key, array.shape, array.dtype.str)
        error = _different(self._comm.allgather(about))
        if error is not None:
            return error
        if only_first:
            for i in range(0, out.nbytes, 1 << 30):
                self._comm.Bcast([_bytes(out)[i:i + (1 << 30)], self._MPI.BYTE])
            return out
        step = self._step(x)
        for i in range(0, len(x), step):
            self._add(x[i:i + step], out[i:i + step], room)
        return out

    def _add(self, x, out, room):
        parts, byte = numpy.array_split(x, self.size), self._MPI.BYTE
        own = parts[self.rank]
        came = room[:self.size * len(own)].reshape(self.size, len(own))
        sizes = [part.nbytes for part in parts]
        places = [sum(sizes[:r]) for r in range(self.size)]
        self._comm.Alltoallv([_bytes(x), sizes, places, byte],
                             [_bytes(came), [own.nbytes] * self.size, [own.nbytes * r for r in range(self.size)], byte])
        total = came[0]
        for other in came[1:]:
            total += other
        self._comm.Allgatherv([_bytes(total), own.nbytes, byte], [_bytes(out), sizes, places, byte])


def _bytes(x):
    return x.reshape(-1).view("u1")


def _different(abouts):
    for about in abouts:
        if isinstance(about, BaseException):
            return about
    for rank, about in enumerate(abouts):
        if about != abouts[0]:
            (key, shape, dtype), (other_key, other, kind) = abouts[0], about
            return ValueError(f"process 0 sums {key!r} of shape {shape} and type {numpy.dtype(dtype)}, process {rank} "
                              f"{other_key!r} of shape {other} and type {numpy.dtype(kind)}")
    return None


def teach(MPI):
    begin_process(Group(MPI))
