"""A store of arrays by key, as mxnet.kvstore: what devices push is summed, and pulled by all of them.

Nothing waits: what is pulled is pending as long as what was pushed. A program may have stores of its own: a subclass of
KVStoreBase, registered, which Trainer(kvstore=...) takes, too.
"""

import warnings

from dflow import engine
from dflow import optimizer as optimizers
from dflow._base.missing import missing

__all__ = ["KVStore", "KVStoreBase", "TestStore", "create"]

__getattr__ = missing(__name__, "Horovod BytePS KVStoreServer")


def __dir__():
    return sorted(__all__)


TYPES = ("local", "device", "nccl", "local_allreduce_cpu", "local_allreduce_device")


def create(name="local"):
    """A store: "local" and "device" are the same KVStore; or one of a registered class, by its name."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, not {type(name).__name__}")
    name = name.lower()
    if name in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry[name]()
    if name not in TYPES:
        known = map(repr, (*TYPES, *KVStoreBase.kv_registry))
        raise ValueError(f"no key-value store is called {name!r}; there are {', '.join(known)}")
    return KVStore(name)


class KVStoreBase:
    """Base class of stores: a subclass has what a program asks of it, broadcast() and pushpull() for a trainer.

    pushpull() hands over arrays, and writes to others what became of all that were handed over: by all devices, and
    all processes, if there are several. `priority`: what has a higher one had better come first.
    """

    OPTIMIZER = "optimizer"
    kv_registry: dict[str, type] = {}

    @staticmethod
    def register(klass):
        """A class of stores that create() knows by its name. UserWarning if another one has it."""
        name = klass.__name__.lower()
        if name in KVStoreBase.kv_registry:
            warnings.warn(f"there is a key-value store {name!r} already, which {klass.__qualname__} replaces",
                          stacklevel=2)
        KVStoreBase.kv_registry[name] = klass
        return klass

    def _lacks(self, what):
        return NotImplementedError(f"{type(self).__name__} has no {what}")

    def broadcast(self, key, value, out, priority=0):
        """Give all the value that the first process has: written to `out`, an array or a list of them."""
        raise self._lacks("broadcast()")

    def pushpull(self, key, value, out=None, priority=0):
        """Hand over an array, or a list of them; their sum is written to `out`, or to themselves."""
        raise self._lacks("pushpull()")

    def set_optimizer(self, optimizer):
        """Let what is handed over be gradients, by which an optimizer changes what is stored, and pulled."""
        raise self._lacks("set_optimizer()")

    def is_capable(self, capability):
        """Whether it can do something: run an "optimizer"."""
        raise self._lacks("is_capable()")

    def save_optimizer_states(self, fname, dump_optimizer=False):
        """Write what the optimizer keeps to a file."""
        raise self._lacks("save_optimizer_states()")

    def load_optimizer_states(self, fname):
        """Take what the optimizer keeps from a file."""
        raise self._lacks("load_optimizer_states()")

    @property
    def type(self):
        """Its name."""
        raise self._lacks("type")

    @property
    def rank(self):
        """The number of this process among those that share the store."""
        raise self._lacks("rank")

    @property
    def num_workers(self):
        """How many processes share the store."""
        raise self._lacks("num_workers")


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


@KVStoreBase.register
class TestStore(KVStoreBase):
    """A store that keeps nothing: a sum over devices. MXNet has it for tests."""

    type, rank, num_workers = "teststore", 0, 1
    __test__ = False                    # not one of pytest's

    def broadcast(self, key, value, out, priority=0):
        """Copy the value into an array, or into each of a list."""
        for x in _listed(out):
            value.copyto(x)

    def pushpull(self, key, value, out=None, priority=0):
        """Sum the arrays of a list into `out`, or into themselves."""
        total = _sum(_listed(value))
        for x in _listed(value if out is None else out):
            total.copyto(x)

    @staticmethod
    def is_capable(capability):
        """It runs no "optimizer". ValueError for other words."""
        if capability.lower() != KVStoreBase.OPTIMIZER:
            raise ValueError(f"capability must be 'optimizer', not {capability!r}")
        return False


class KVStore(KVStoreBase):
    """Arrays by key. A push replaces the array by the sum of what is pushed, or changes it as the updater says."""

    type, rank, num_workers = "local", 0, 1

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
        """init(), of keys that may be there already, then pull()."""
        for each, arrays in _pairs(key, value):
            self._values[each] = arrays[0].copy()
        self.pull(key, out, priority)

    def set_optimizer(self, optimizer):
        """Let pushes be gradients, by which an optimizer changes what is stored."""
        self._set_updater(optimizers.Updater(optimizers.create(optimizer)))

    def _optimizers(self):
        if not isinstance(self._updater, optimizers.Updater):
            raise ValueError("the store has no optimizer: set_optimizer() gives it one")
        return self._updater

    def save_optimizer_states(self, fname, dump_optimizer=False):
        """Write what the optimizer keeps to a file, in NumPy's .npz format, but not itself: waits for it."""
        updater = self._optimizers()
        optimizers.save_states(fname, updater.optimizer, updater.states)

    def load_optimizer_states(self, fname):
        """Take what the optimizer keeps from a file. ValueError for one of another optimizer, or other arrays."""
        updater = self._optimizers()
        updater.states = optimizers.load_states(fname, updater.optimizer, self._values)

    def _set_updater(self, updater):
        """Let updater(key, pushed, stored) change what is stored with each push; None: replace it."""
        self._updater = updater

    set_updater = _set_updater

    def is_capable(self, capability):
        """Whether it can do something: run an "optimizer"."""
        return capability.lower() == "optimizer"
