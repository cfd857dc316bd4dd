"""The store that sums over the ranks of a group, kvstore.create("dist_sync"); the lane whose worker waits for sums."""

import functools
import threading

from dflow import engine
from dflow._ranks.place import group
from dflow.devices import cpu
from dflow.kvstore import KVStore, KVStoreBase, pairs, unknown

LANE = cpu(15)
_lock = threading.Lock()        # over: _started
_started = set()


def start_lane():
    """Let it have the one worker, once in a process."""
    with _lock:
        if not _started:
            engine.set_num_workers(1, LANE)
            _started.add(LANE)


class DistSync(KVStore):
    """A store that sums over the ranks of a group. What is pushed is summed on each rank first."""

    def __init__(self, type, group):
        super().__init__(type)
        self._group = group
        self.rank, self.num_workers = group.rank, group.size

    def _summed(self, key, arrays, priority):
        return self._group.sum(key, super()._summed(key, arrays, priority), priority=priority)

    def pushpull(self, key, value, out=None, priority=0):
        """Sum over all ranks; without an updater nothing is stored, and keys need not have been initialized."""
        if self._updater is not None:
            super().pushpull(key, value, out, priority)
            return
        with engine.priority(min(max(priority, -2**15), 2**15 - 1)):
            for (each, arrays), (_, outs) in zip(pairs(key, value), pairs(key, value if out is None else out)):
                total = self._summed(each, arrays, priority)
                for x in outs:
                    total.copyto(x)

    def _first(self, key, arrays):
        return self._group.sum(("first", key), arrays[0], only_first=True).as_in_ctx(arrays[0].ctx)


def _store(name):
    there = group()
    if there is None:
        raise unknown(name)
    return DistSync(name, there)


for _name in ("dist_sync", "dist_device_sync", "dist_sync_device", "dist"):
    KVStoreBase.kv_registry[_name] = functools.partial(_store, _name)
