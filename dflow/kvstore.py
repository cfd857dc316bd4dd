"""A store of arrays by key, as mxnet.kvstore: what devices push is summed, and pulled by all of them.

Nothing waits: what is pulled is pending as long as what was pushed.
"""

from dflow import engine
from dflow import optimizer as optimizers
from dflow._base.missing import missing

__all__ = ["KVStore", "create"]

__getattr__ = missing(__name__, "Horovod BytePS KVStoreBase KVStoreServer TestStore")

TYPES = ("local", "device", "nccl", "local_allreduce_cpu", "local_allreduce_device")


def create(name="local"):
    """A store within this process: "local" and "device" are the same."""
    if name not in TYPES:
        raise ValueError(f"name must be one of {', '.join(map(repr, TYPES))}, not {name!r}")
    return KVStore(name)


def _listed(x):
    return x if isinstance(x, (list, tuple)) else [x]


def _pairs(keys, values):
    """Each key with a list of its arrays."""
    if not isinstance(keys, (list, tuple)):
        return [(keys, _listed(values))]
    if not isinstance(values, (list, tuple)) or len(values) != len(keys):
        raise ValueError(f"there must be as many arrays, or lists of them, as the {len(keys)} keys")
    return [(key, _listed(x)) for key, x in zip(keys, values)]


def _sum(arrays):
    total, *others = arrays
    for x in others:
        total = total + x.as_in_ctx(total.ctx)
    return total


class KVStore:
    """Arrays by key. A push replaces the array by the sum of what is pushed, or changes it as the updater says."""

    rank, num_workers = 0, 1            # this process among those that share the store

    def __init__(self, type):
        self.type = type
        self._values = {}
        self._updater = None

    def _stored(self, key):
        if key not in self._values:
            raise KeyError(f"{key!r} has not been initialized")
        return self._values[key]

    def init(self, key, value):
        """Store a copy of an array, or one for each key. ValueError for a key that is there already."""
        for each, arrays in _pairs(key, value):
            if each in self._values:
                raise ValueError(f"{each!r} has been initialized already")
            self._values[each] = arrays[0].copy()

    def push(self, key, value, priority=0):
        """Hand over an array, or a list of them, which are summed; for more than one key, one of these for each."""
        with engine.priority(min(max(priority, -2**15), 2**15 - 1)):
            for each, arrays in _pairs(key, value):
                stored = self._stored(each)
                total = _sum(arrays).as_in_ctx(stored.ctx)
                if self._updater is None:
                    stored[...] = total
                else:
                    self._updater(each, total, stored)

    def pull(self, key, out=None, priority=0, ignore_sparse=True):
        """Copy what is stored into an array or each of a list; for more than one key, one of these for each."""
        if out is None:
            raise ValueError("out is missing: the arrays to write to")
        with engine.priority(min(max(priority, -2**15), 2**15 - 1)):
            for each, arrays in _pairs(key, out):
                for x in arrays:
                    self._stored(each).copyto(x)

    def pushpull(self, key, value, out=None, priority=0):
        """push(), then pull() into `out`, or into what was pushed."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key, value, out, priority=0):
        """init(), then pull()."""
        self.init(key, value)
        self.pull(key, out, priority)

    def set_optimizer(self, optimizer):
        """Let pushes be gradients, by which an optimizer changes what is stored."""
        states = {}

        def update(key, grad, weight):
            if key not in states:
                states[key] = optimizer.create_state(key, weight)
            optimizer.update(key, weight, grad, states[key])

        optimizer = optimizers.create(optimizer)
        self._set_updater(update)

    def _set_updater(self, updater):
        """Let updater(key, pushed, stored) change what is stored with each push; None: replace it."""
        self._updater = updater

    set_updater = _set_updater

    def is_capable(self, capability):
        """Whether it can do something: run an "optimizer"."""
        return capability.lower() == "optimizer"
