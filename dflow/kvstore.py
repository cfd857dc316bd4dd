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
    """Makes a store: "local", "device" and others are the same KVStore; or one of a registered class, by its name.

    Parameters
    ----------
    name : str
        In capital or small letters: "local", "device", "nccl", "local_allreduce_cpu" or "local_allreduce_device", which
        differ in nothing but `type`; or the name of a class, as "teststore". "dist_sync", in a function that
        dflow.distributed.run() has run, or where mpi4py.MPI is imported, sums over processes, too. Unlike MXNet, there
        is no "dist_async".

    Returns
    -------
    KVStoreBase

    Raises
    ------
    TypeError
        For a name that is no string.
    ValueError
        For another name; it says which there are.

    Examples
    --------
    >>> store, x = dflow.kvstore.create("device"), np.empty(2)
    >>> store.init("w", np.zeros(2))
    >>> store.push("w", [np.ones(2), np.full(2, 3.0)])
    >>> store.pull("w", out=x)
    >>> print(x)
    [4. 4.]
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, not {type(name).__name__}")
    name = name.lower()
    if name in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry[name]()
    if name not in TYPES:
        raise unknown(name)
    return KVStore(name)


def unknown(name):
    """The error of create() for a name."""
    known = ", ".join(repr(each) for each in (*TYPES, *KVStoreBase.kv_registry) if not each.startswith("dist"))
    also = ("; 'dist_sync' is one in a function that dflow.distributed.run() has run, or where mpi4py.MPI is imported"
            if name.startswith("dist") else "")
    return ValueError(f"no key-value store is called {name!r}; there are {known}{also}")


class KVStoreBase:
    """Base class of stores: a subclass has what a program asks of it, broadcast() and pushpull() for a trainer.

    pushpull() hands over arrays, and writes to others what became of all that were handed over: by all devices, and
    all processes, if there are several. `priority`: what has a higher one had better come first. What a subclass lacks
    raises NotImplementedError. KVStoreBase.register, a decorator, makes a class known to create().

    Examples
    --------
    >>> class Mean(dflow.kvstore.KVStoreBase):
    ...     def broadcast(self, key, value, out, priority=0):
    ...         value.copyto(out)
    ...     def pushpull(self, key, value, out=None, priority=0):
    ...         np.copyto(out, sum(value) / len(value))
    >>> x = np.empty(2)
    >>> Mean().pushpull("w", [np.ones(2), np.full(2, 4.0)], x)
    >>> print(x)
    [2.5 2.5]
    """

    OPTIMIZER = "optimizer"
    kv_registry: dict[str, type] = {}

    @staticmethod
    def register(klass):
        """Makes a class of stores known to create(), by its name in small letters: a decorator.

        Parameters
        ----------
        klass : type
            The class, a KVStoreBase. UserWarning, by a warning, if another one has the name, which it replaces.

        Returns
        -------
        type
            The same class.
        """
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


def pairs(keys, values):
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
    """A store that keeps nothing: a sum over devices. MXNet has it for tests.

    Examples
    --------
    >>> store, x = dflow.kvstore.TestStore(), np.empty(2)
    >>> store.pushpull("w", [np.ones(2), np.full(2, 3.0)], x)
    >>> print(x)
    [4. 4.]
    """

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
    """Arrays by key. A push replaces the array by the sum of what is pushed, or changes it as the updater says.

    Keys are numbers or strings. Where a method takes a key and arrays, it takes a list of keys, too, and a list with an
    array, or a list of arrays, for each. Nothing waits, but for save_optimizer_states().

    Parameters
    ----------
    type : str
        Its name, an attribute; it changes nothing. create() makes stores by their names.

    Raises
    ------
    KeyError
        By push() and pull(), for a key that init() or broadcast() has not seen.
    ValueError
        By init(), for a key that is there already, by pull() without `out`, and by all where keys and arrays are not as
        many.

    Examples
    --------
    >>> store, x = dflow.kvstore.create(), np.empty(2)
    >>> store.init([0, "bias"], [np.ones(2), np.ones(1)])
    >>> store.set_optimizer(optimizer.SGD(learning_rate=0.5))
    >>> store.push(0, np.array([1.0, -1.0]))            # a gradient
    >>> store.pull(0, out=x)
    >>> print(x)
    [0.5 1.5]
    """

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
        """Store a copy of an array, or one for each key.

        Parameters
        ----------
        key : int or str, or list of them
            None of them may be there already.
        value : ndarray, or list of ndarray
            An array for each key.
        """
        for each, arrays in pairs(key, value):
            if each in self._values:
                raise ValueError(f"{each!r} has been initialized already")
            self._values[each] = self._first(each, arrays).copy()

    def _first(self, key, arrays):
        """What is stored at first."""
        return arrays[0]

    def _summed(self, key, arrays, priority):
        return _sum(arrays)

    def push(self, key, value, priority=0):
        """Hand over an array, or a list of them, which are summed.

        Parameters
        ----------
        key : int or str, or list of them
            Where to.
        value : ndarray or list
            An array, or a list of those of several devices; for more than one key, one of these for each.
        priority : int
            What it submits goes before all that is ready at a lower level: see engine.priority().
        """
        with engine.priority(min(max(priority, -2**15), 2**15 - 1)):
            for each, arrays in pairs(key, value):
                stored = self._stored(each)
                total = self._summed(each, arrays, priority).as_in_ctx(stored.ctx)
                if self._updater is None:
                    stored[...] = total
                else:
                    self._updater(each, total, stored)

    def pull(self, key, out=None, priority=0, ignore_sparse=True):
        """Copy what is stored into an array or each of a list.

        Parameters
        ----------
        key : int or str, or list of them
            Where from.
        out : ndarray or list
            What is written to; for more than one key, one of these for each.
        priority : int
            What it submits goes before all that is ready at a lower level: see engine.priority().
        ignore_sparse : bool
            MXNet's; it changes nothing.
        """
        if out is None:
            raise ValueError("out is missing: the arrays to write to")
        with engine.priority(min(max(priority, -2**15), 2**15 - 1)):
            for each, arrays in pairs(key, out):
                for x in arrays:
                    self._stored(each).copyto(x)

    def pushpull(self, key, value, out=None, priority=0):
        """push(), then pull().

        Parameters
        ----------
        key : int or str, or list of them
            Where to, and from.
        value : ndarray or list
            What is pushed.
        out : ndarray or list, optional
            What is written to: what was pushed, unless given.
        priority : int
            What it submits goes before all that is ready at a lower level: see engine.priority().
        """
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key, value, out, priority=0):
        """init(), of keys that may be there already, then pull().

        Parameters
        ----------
        key : int or str, or list of them
            Where to, and from.
        value : ndarray, or list of ndarray
            What is stored.
        out : ndarray or list
            What is written to.
        priority : int
            What it submits goes before all that is ready at a lower level: see engine.priority().
        """
        for each, arrays in pairs(key, value):
            self._values[each] = self._first(each, arrays).copy()
        self.pull(key, out, priority)

    def set_optimizer(self, optimizer):
        """Let pushes be gradients, by which an optimizer changes what is stored.

        Parameters
        ----------
        optimizer : Optimizer or str
            Itself, or its name.
        """
        self._set_updater(optimizers.Updater(optimizers.create(optimizer)))

    def _optimizers(self):
        if not isinstance(self._updater, optimizers.Updater):
            raise ValueError("the store has no optimizer: set_optimizer() gives it one")
        return self._updater

    def save_optimizer_states(self, fname, dump_optimizer=False):
        """Write what the optimizer keeps to a file, in NumPy's .npz format, but not itself: waits for it.

        Parameters
        ----------
        fname : path
            The file.
        dump_optimizer : bool
            MXNet's; it changes nothing.

        Raises
        ------
        ValueError
            The store has no optimizer.
        """
        updater = self._optimizers()
        optimizers.save_states(fname, updater.optimizer, updater.states)

    def load_optimizer_states(self, fname):
        """Take what the optimizer keeps from a file.

        Parameters
        ----------
        fname : path
            The file, as save_optimizer_states() writes it.

        Raises
        ------
        ValueError
            For a file of another optimizer, or other arrays, and if the store has no optimizer.
        """
        updater = self._optimizers()
        updater.states = optimizers.load_states(fname, updater.optimizer, self._values)

    def _set_updater(self, updater):
        """Let updater(key, pushed, stored) change what is stored with each push.

        Parameters
        ----------
        updater : callable or None
            None: what is pushed replaces it again.
        """
        self._updater = updater

    set_updater = _set_updater

    def is_capable(self, capability):
        """Whether it can do something.

        Parameters
        ----------
        capability : str
            "optimizer": to run one.

        Returns
        -------
        bool
        """
        return capability.lower() == "optimizer"
