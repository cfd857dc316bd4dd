"""The trainer: an optimizer over a network's parameters."""

from dflow import autograd, engine, kvstore, optimizer
from dflow._tracing.tape import leaf_of
from dflow._tracing.trace import refuse_to_replay
from dflow.gluon import parameter
from dflow.gluon.parameter import Parameter

__all__ = ["Trainer"]


def __dir__():
    return sorted(__all__)


STORES = (None, "local", "device", "nccl")      # for which the trainer does it itself


def _store(given):
    if given in STORES:
        return None
    if isinstance(given, str):
        return kvstore.create(given)
    if not isinstance(given, kvstore.KVStoreBase):
        raise TypeError(f"kvstore must be a name or a KVStoreBase, not {type(given).__name__}")
    return given


def _stale(p):
    return UserWarning(f"the gradient of {p.name}, of shape {p.shape}, has not been updated by backward() "
                       "since the last step: if it is no part of the loss, ignore_stale_grad=True skips it")


class Trainer:
    """Changes parameters by their gradients: after each backward() call step(batch_size).

    Of a parameter on several devices the first is changed, by the sum of the gradients, and the others become
    like it.

    A store is given the first values of parameters, by broadcast(), and the gradients, by pushpull(). What it
    says of itself is asked when it is first used.

    Parameters
    ----------
    params : dict of str to Parameter, or list of Parameter
        What is trained: as collect_params() of a block gives it.
    optimizer : str or Optimizer
        By its name, as "sgd" or "adam", or itself.
    optimizer_params : dict, optional
        Arguments of the optimizer, if it is a name, as {"learning_rate": 0.1}.
    kvstore : str or KVStoreBase, optional
        Who sums the gradients of several devices: "local", "device", "nccl" or None, which are all the same,
        the trainer itself; or a store, or the name of one, as kvstore.create() takes it.
    compression_params : dict, optional
        MXNet's; it must be None.
    update_on_kvstore : bool, optional
        The store's optimizer changes the parameters, not the trainer. None: where the store says that it can,
        unless it is a KVStore.

    Raises
    ------
    TypeError
        For params that are no parameters, and for a kvstore that is none.
    ValueError
        For an unknown optimizer or store; for optimizer_params of an optimizer that is made already; for
        compression_params. When it is first used: for update_on_kvstore with a store that runs no optimizer.

    Examples
    --------
    >>> net = nn.Dense(1)
    >>> net.initialize("zeros")
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> x = np.ones((2, 3))
    >>> with autograd.record():
    ...     loss = gluon.loss.L2Loss()(net(x), np.ones((2, 1)))
    >>> loss.backward()
    >>> trainer.step(2)
    >>> print(net.weight.data())
    [[0.1 0.1 0.1]]
    """

    def __init__(self, params, optimizer, optimizer_params=None, kvstore="device", compression_params=None,
                 update_on_kvstore=None):
        self._store = _store(kvstore)
        self._kvstore = None            # the same, once it has been asked
        self._update_on_kvstore = update_on_kvstore
        self._given = {}                # which values of which parameter it has
        if compression_params is not None:
            raise ValueError(f"compression_params must be None, not {compression_params!r}")
        if not isinstance(params, (dict, list, tuple)):
            raise TypeError(f"params must be parameters, in a dictionary or a list, not {type(params).__name__}")
        params = list(params.values() if isinstance(params, dict) else params)
        for p in params:
            if not isinstance(p, Parameter):
                raise TypeError(f"params must be parameters, in a dictionary or a list, not {type(p).__name__}: {p!r}")
        self._params = list({id(p): p for p in params}.values())
        self._states = {}
        self._known_at = None           # parameter.changes when _look() last ran
        self._make_optimizer(optimizer, optimizer_params or {})
        self._scale = self._optimizer.rescale_grad

    def _make_optimizer(self, kind, arguments):
        if isinstance(kind, optimizer.Optimizer) and arguments:
            raise ValueError(f"optimizer_params must be None, as optimizer is made already, not {arguments!r}")
        self._optimizer = optimizer.create(kind, **arguments)
        self._optimizer.param_dict = dict(enumerate(self._params))

    @property
    def optimizer(self):
        """The optimizer."""
        return self._optimizer

    @property
    def learning_rate(self):
        """The present learning rate: with a scheduler, that of the number of updates so far."""
        return self._optimizer.learning_rate

    def set_learning_rate(self, lr):
        """Change the learning rate.

        Parameters
        ----------
        lr : float
            The new one.

        Raises
        ------
        UserWarning
            With a scheduler, which would say another: it is raised.
        """
        self._optimizer.set_learning_rate(lr)

    def step(self, batch_size, ignore_stale_grad=False):
        """Change all parameters by their gradients, divided by batch_size.

        Parameters
        ----------
        batch_size : int
            What gradients are divided by.
        ignore_stale_grad : bool
            A parameter without a new gradient since the last step stays as it is. Else that is an error.

        Raises
        ------
        UserWarning
            For a parameter without a new gradient, unless ignore_stale_grad: it is raised, as in MXNet, and no
            parameter is changed.
        RuntimeError
            Where a parameter has not been initialized.

        Examples
        --------
        >>> net = nn.Dense(1, use_bias=False)
        >>> net.initialize("zeros")
        >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
        >>> with autograd.record():
        ...     loss = -net(np.ones((2, 1)))
        >>> loss.backward()
        >>> trainer.step(2)
        >>> print(net.weight.data())
        [[0.5]]
        """
        if self._on_store():
            self._step_on_store(batch_size, ignore_stale_grad)
        else:
            self.allreduce_grads()
            self.update(batch_size, ignore_stale_grad)

    def allreduce_grads(self):
        """Sum the gradients of parameters on several devices: each has the sum then. step() does it.

        Raises
        ------
        RuntimeError
            Where a store's optimizer changes the parameters.
        """
        self._refuse_on_store("allreduce_grads")
        if self._kvstore is not None:
            self._exchange(False)
            return
        for i, p in enumerate(self._params if parameter.replicated else ()):
            if p.grad_req != "null" and len(p.list_data()) > 1:
                first, *others = p.list_grad()
                with autograd.pause(), engine.priority(-min(i, 2**15)):     # first what the next step needs first
                    for g in others:
                        first += g.as_in_ctx(first.ctx)
                    for g in others:
                        first.copyto(g)

    def update(self, batch_size, ignore_stale_grad=False):
        """Change all parameters by their gradients, which have been summed: step() without allreduce_grads().

        Parameters
        ----------
        batch_size : int
            What gradients are divided by.
        ignore_stale_grad : bool
            A parameter without a new gradient since the last step stays as it is. Else that is an error.

        Raises
        ------
        UserWarning
            For a parameter without a new gradient, unless ignore_stale_grad: it is raised, as in MXNet, and no
            parameter is changed.
        RuntimeError
            Where a store's optimizer changes the parameters, and where a parameter has not been initialized.
        """
        self._refuse_on_store("update")
        refuse_to_replay("Trainer.step() counts its updates")
        self._optimizer.rescale_grad = self._scale / batch_size
        if self._known_at != parameter.changes:
            self._look()
        trained = self._trained
        if not all([leaf.fresh for _, _, _, leaf, _ in trained]):
            if not ignore_stale_grad:
                raise _stale(next(p for _, p, _, leaf, _ in trained if not leaf.fresh))
            trained = [each for each in trained if each[3].fresh]
        if trained:
            indices, _, weights, leaves, states = zip(*trained)
            recording = autograd.set_recording(False)
            try:
                self._optimizer.update_all(indices, weights, [leaf.grad for leaf in leaves], states)
            finally:
                autograd.set_recording(recording)
            for leaf in leaves:
                leaf.fresh = False
        for data, array, leaf in self._copies:
            data.copyto(array)
            leaf.fresh = False

    def _look(self):
        """Find what is trained: of each parameter its number, itself, its array, leaf and state."""
        self._known_at = parameter.changes
        self._trained, self._copies = [], []
        for i, p in enumerate(self._params):
            if p.grad_req != "null":
                data, *others = p.list_data()
                leaf = leaf_of(data)
                if i not in self._states:
                    with autograd.pause():
                        self._states[i] = self._optimizer.create_state_multi_precision(i, data)
                self._trained.append((i, p, data, leaf, self._states[i]))
                self._copies += [(data, array, leaf_of(array)) for array in others]

    # -- stores --------------------------------------------------------------------------------

    def _init_kvstore(self):
        """Ask the store whether its optimizer is to change the parameters; ValueError if it cannot."""
        able = self._store.is_capable(kvstore.KVStoreBase.OPTIMIZER)
        if self._update_on_kvstore and not able:
            raise ValueError(f"{type(self._store).__name__} runs no optimizer: update_on_kvstore must be False")
        if self._update_on_kvstore is None:
            self._update_on_kvstore = able and not isinstance(self._store, kvstore.KVStore)
        if self._update_on_kvstore:
            self._store.set_optimizer(self._optimizer)
        self._kvstore = self._store

    def _on_store(self):
        """Whether a store changes the parameters; it is given the values that it has not."""
        if self._store is None:
            return False
        if self._kvstore is None:
            self._init_kvstore()
        with autograd.pause():
            for i, p in enumerate(self._params):
                if p.has_data() and self._given.get(i) != p.given:
                    arrays = p.list_data()
                    self._kvstore.broadcast(i, arrays[0], arrays)
                    self._given[i] = p.given
        return self._update_on_kvstore

    def _refuse_on_store(self, name):
        if self._on_store():
            raise RuntimeError(f"{name}(): the store's optimizer changes the parameters, by step(); with "
                               "update_on_kvstore=False the trainer does")

    def _exchange(self, update):
        """Hand over the gradients, for their sums, or for the parameters that follow from them."""
        with autograd.pause():
            for i, p in enumerate(self._params):
                if p.grad_req != "null":
                    self._kvstore.pushpull(i, p.list_grad(), p.list_data() if update else None, priority=-i)

    def _step_on_store(self, batch_size, ignore_stale_grad):
        leaves = [(p, leaf_of(p.list_data()[0])) for p in self._params if p.grad_req != "null"]
        for p, leaf in leaves:
            if not (leaf.fresh or ignore_stale_grad):
                raise _stale(p)
        self._optimizer.rescale_grad = self._scale / batch_size
        self._exchange(True)
        for _, leaf in leaves:
            leaf.fresh = False

    # -- files ---------------------------------------------------------------------------------

    def save_states(self, fname):
        """Write what the optimizer keeps to a file, in NumPy's .npz format: waits for it.

        Parameters
        ----------
        fname : str
            Where it goes.
        """
        if self._on_store():
            self._kvstore.save_optimizer_states(fname, dump_optimizer=True)
        else:
            optimizer.save_states(fname, self._optimizer, self._states)

    def load_states(self, fname):
        """Take what the optimizer keeps from a file of save_states().

        Parameters
        ----------
        fname : str
            The file.

        Raises
        ------
        ValueError
            For a file of another optimizer, or of other parameters.
        FileNotFoundError
            Where there is no such file.
        """
        if self._on_store():
            self._kvstore.load_optimizer_states(fname)
            return
        weights = {i: p.list_data()[0] for i, p in enumerate(self._params) if p.has_data()}
        self._states, self._known_at = optimizer.load_states(fname, self._optimizer, weights), None
