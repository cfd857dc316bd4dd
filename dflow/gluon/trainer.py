"""The trainer: an optimizer over a network's parameters."""

from dflow import autograd, engine, npx, optimizer
from dflow import numpy as np
from dflow._tracing.tape import leaf_of
from dflow._tracing.trace import refuse_to_replay
from dflow.gluon import parameter
from dflow.gluon.parameter import Parameter

__all__ = ["Trainer"]

STORES = (None, "local", "device", "nccl")


class Trainer:
    """Changes parameters by their gradients: after each backward() call step(batch_size).

    params: a dictionary as of collect_params(), or a list. optimizer: its name, and optimizer_params its arguments; or
    the optimizer itself. Of a parameter on several devices the first is changed, by the sum of the gradients, and the
    others become like it. `kvstore` is MXNet's: nothing leaves the process.
    """

    def __init__(self, params, optimizer, optimizer_params=None, kvstore="device", compression_params=None,
                 update_on_kvstore=None):
        if isinstance(kvstore, str) and kvstore not in STORES:
            raise ValueError(f"kvstore must be one of {', '.join(map(repr, STORES))}, not {kvstore!r}")
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
        return self._optimizer

    @property
    def learning_rate(self):
        """The present learning rate."""
        return self._optimizer.learning_rate

    def set_learning_rate(self, lr):
        """Change the learning rate."""
        self._optimizer.set_learning_rate(lr)

    def step(self, batch_size, ignore_stale_grad=False):
        """Change all parameters by their gradients, divided by batch_size.

        UserWarning for a parameter that has no new gradient since the last step, unless ignore_stale_grad: it stays.
        """
        self.allreduce_grads()
        self.update(batch_size, ignore_stale_grad)

    def allreduce_grads(self):
        """Sum the gradients of parameters on several devices: each has the sum then."""
        for i, p in enumerate(self._params if parameter.replicated else ()):
            if p.grad_req != "null" and len(p.list_data()) > 1:
                first, *others = p.list_grad()
                with autograd.pause(), engine.priority(-min(i, 2**15)):     # first what the next step needs first
                    for g in others:
                        first += g.as_in_ctx(first.ctx)
                    for g in others:
                        first.copyto(g)

    def update(self, batch_size, ignore_stale_grad=False):
        """The same as step(), for gradients that have been summed."""
        refuse_to_replay("Trainer.step() counts its updates")
        self._optimizer.rescale_grad = self._scale / batch_size
        if self._known_at != parameter.changes:
            self._look()
        trained = self._trained
        if not all([leaf.fresh for _, _, _, leaf, _ in trained]):
            if not ignore_stale_grad:
                p = next(p for _, p, _, leaf, _ in trained if not leaf.fresh)
                raise UserWarning(f"the gradient of {p.name}, of shape {p.shape}, has not been updated by backward() "
                                  "since the last step: if it is no part of the loss, ignore_stale_grad=True skips it")
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

    # -- files ---------------------------------------------------------------------------------

    def save_states(self, fname):
        """Write what the optimizer keeps to a file, in NumPy's .npz format: waits for it."""
        found = {"num_update": np.array(self._optimizer.num_update, dtype=int)}
        for i, state in self._states.items():
            found[f"{i}.count"] = np.array(self._optimizer.counts[i], dtype=int)
            for k, x in enumerate(_listed(state)):
                found[f"{i}.{k}"] = x
        npx.save(fname, found)

    def load_states(self, fname):
        """Take what the optimizer keeps from a file. ValueError for one of another optimizer, or other parameters."""
        found = npx.load(fname)
        found = found if isinstance(found, dict) else {}
        made = {}
        for i, p in enumerate(self._params):
            if f"{i}.count" in found:
                made[i] = self._optimizer.create_state_multi_precision(i, p.list_data()[0])
        wanted = {f"{i}.{k}": x for i, state in made.items() for k, x in enumerate(_listed(state))}
        counts = {"num_update"} | {f"{i}.count" for i in made}
        if wanted.keys() | counts != found.keys() or not (
                all(x.shape == found[name].shape and x.dtype == found[name].dtype for name, x in wanted.items())
                and all(found[name].shape == () and found[name].dtype.kind == "i" for name in counts)):
            raise ValueError(
                f"{fname} does not have the states of {type(self._optimizer).__name__} for these parameters")
        for name, x in wanted.items():
            x[...] = found[name]
        self._states, self._known_at = made, None
        self._optimizer.counts = {i: int(found[f"{i}.count"]) for i in made}
        self._optimizer.num_update = int(found["num_update"])


def _listed(state):
    """The arrays of a state, one after the other."""
    if isinstance(state, tuple):
        return [x for part in state for x in _listed(part)]
    return [] if state is None else [state]
