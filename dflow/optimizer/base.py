"""What all optimizers have, by what name they are found, and who keeps their states."""

from dflow import npx
from dflow import numpy as np
from dflow._graph_decorator import Graph

_registry: dict[str, type] = {}


def register(kind):
    """Makes a class of optimizers known to create(), by its name in small letters: a decorator.

    Parameters
    ----------
    kind : type
        The class, an Optimizer. One that had the name before is replaced, without a warning.

    Returns
    -------
    type
        The same class.

    Examples
    --------
    >>> @optimizer.register
    ... class BySign(optimizer.Optimizer):
    ...     def change(self, weight, grad, state, wd, lr):
    ...         weight -= lr * np.sign(grad)
    >>> optimizer.create("bysign", learning_rate=0.5).learning_rate
    0.5
    """
    _registry[kind.__name__.lower()] = kind
    return kind


def create(name, **kwargs):
    """Makes the optimizer of a name; one that is made already is what it returns.

    Parameters
    ----------
    name : str or Optimizer
        In capital or small letters: "sgd", "Adam".
    **kwargs
        Arguments of the class. With an Optimizer they change nothing.

    Returns
    -------
    Optimizer

    Raises
    ------
    ValueError
        For another name; it says which there are.

    Examples
    --------
    >>> optimizer.create("sgd", learning_rate=0.5, momentum=0.9).momentum
    0.9
    >>> type(optimizer.create("ADAM")) is optimizer.Adam
    True
    """
    if isinstance(name, Optimizer):
        return name
    if not isinstance(name, str) or name.lower() not in _registry:
        raise ValueError(f"no optimizer is called {name!r}; there are {', '.join(sorted(_registry))}")
    return _registry[name.lower()](**kwargs)


def _listed(state):
    """The arrays of a state, one after the other."""
    if isinstance(state, tuple):
        return [x for part in state for x in _listed(part)]
    return [] if state is None else [state]


def save_states(fname, optimizer, states):
    """Write states of an optimizer, by index, to a file, in NumPy's .npz format: waits for them."""
    found = {"num_update": np.array(optimizer.num_update, dtype=int)}
    for i, state in states.items():
        found[f"{i}.count"] = np.array(optimizer.counts[i], dtype=int)
        for k, x in enumerate(_listed(state)):
            found[f"{i}.{k}"] = x
    npx.save(fname, found)


def load_states(fname, optimizer, weights):
    """States from a file, for weights by index, and the counts that go with them, which the optimizer gets."""
    found = npx.load(fname)
    found = found if isinstance(found, dict) else {}
    made = {i: optimizer.create_state_multi_precision(i, w) for i, w in weights.items() if f"{i}.count" in found}
    wanted = {f"{i}.{k}": x for i, state in made.items() for k, x in enumerate(_listed(state))}
    counts = {"num_update"} | {f"{i}.count" for i in made}
    if wanted.keys() | counts != found.keys() or not (
            all(x.shape == found[name].shape and x.dtype == found[name].dtype for name, x in wanted.items())
            and all(found[name].shape == () and found[name].dtype.kind == "i" for name in counts)):
        raise ValueError(f"{fname} does not have the states of {type(optimizer).__name__} for these parameters")
    for name, x in wanted.items():
        x[...] = found[name]
    optimizer.counts = {i: int(found[f"{i}.count"]) for i in made}
    optimizer.num_update = int(found["num_update"])
    return made


class Optimizer:
    """Base class: a subclass has create_state(index, weight) and change(weight, grad, state, wd, *rates).

    change() is noted once and replayed, see dflow.graph(): what is another number at each update is one of rates(), and
    comes as an array without axes. Or it has MXNet's step(indices, weights, grads, states), of lists, which scales and
    clips gradients itself, and asks _update_count(index), _get_lr(index) and _get_wd(index).

    Parameters
    ----------
    learning_rate : float, optional
        That of the class, its `rate`, unless given: 0.01, where a class does not say another one. With an lr_scheduler
        it becomes the `base_lr` of that. But PolyScheduler and CosineScheduler go down from the base_lr that they were
        made with, and a warm-up grows to it.
    wd : float
        The weight decay: most optimizers add wd * weight to the gradient.
    rescale_grad : float
        What gradients are multiplied by; a Trainer's step(n) divides that by n.
    clip_gradient : float, optional
        The bound of the gradients' elements, either way, after that. None: there is none.
    lr_scheduler : callable, optional
        Called with the number of an update, it returns its learning rate: see dflow.lr_scheduler.
    param_dict : dict, optional
        Parameters by index, whose lr_mult and wd_mult multiply learning rate and weight decay. A Trainer gives its own.
    begin_num_update : int
        How many updates count as done before the first one.
    multi_precision : bool
        Weights of float16 are changed in float32, of which the state has a copy.
    param_idx2name : dict, optional
        Names of parameters by index: LARS looks at them.
    aggregate_num : int
        MXNet's; it changes nothing: all parameters of a call are changed together.
    use_fused_step : bool
        Whether fused_step(), where a subclass has one beside step(), goes before it.

    Raises
    ------
    NotImplementedError
        When it is to update, of a class without change() and step().
    UserWarning
        By set_learning_rate() where an lr_scheduler sets the learning rate.

    Examples
    --------
    >>> class Halving(optimizer.Optimizer):
    ...     def change(self, weight, grad, state, wd, lr):
    ...         weight *= 0.5
    >>> halving, w = Halving(), np.array([4.0, 8.0])
    >>> halving.update(0, w, np.zeros(2), halving.create_state(0, w))
    >>> print(w, halving.num_update)
    [2. 4.] 1
    """

    rate = 0.01                 # unless told otherwise
    clips = True                # gradients, before change() gets them

    def __init__(self, learning_rate=None, wd=0.0, rescale_grad=1.0, clip_gradient=None, lr_scheduler=None,
                 param_dict=None, begin_num_update=0, multi_precision=False, param_idx2name=None, aggregate_num=0,
                 use_fused_step=True):
        if lr_scheduler is not None and learning_rate is not None:
            lr_scheduler.base_lr = learning_rate
        self.lr = self.rate if learning_rate is None else learning_rate
        self.wd = wd
        self.rescale_grad = rescale_grad
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.lr_scheduler = lr_scheduler
        self.param_dict = param_dict or {}
        self.idx2name = param_idx2name or {}
        self.use_fused_step = use_fused_step
        self.begin_num_update = self.num_update = begin_num_update
        self.counts = {}        # updates so far, by index
        self._last = self._table = None         # the rates of the last update, and an array of them
        self._change = Graph(self._change_all, self._fixed, f"{type(self).__name__}.change", True)

    # -- rates ---------------------------------------------------------------------------------

    @property
    def learning_rate(self):
        """The present learning rate: the scheduler's, where there is one."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr):
        """Change the learning rate. UserWarning, which is raised, where a scheduler sets it.

        Parameters
        ----------
        lr : float
            The new one.
        """
        if self.lr_scheduler is not None:
            raise UserWarning("LRScheduler of the optimizer has already been defined: it sets the learning rate")
        self.lr = lr

    # -- updates -------------------------------------------------------------------------------

    def create_state(self, index, weight):
        """What is kept of a parameter from update to update.

        Parameters
        ----------
        index : int or str
            Which parameter it is.
        weight : ndarray
            Its values.

        Returns
        -------
        None, ndarray or tuple of ndarray
        """
        return None

    def create_state_multi_precision(self, index, weight):
        """create_state(); with multi_precision, of a weight in half precision: a float32 of it, and the state of that.

        Parameters
        ----------
        index : int or str
            Which parameter it is.
        weight : ndarray
            Its values.

        Returns
        -------
        None, ndarray or tuple
            What update() is to be given.
        """
        if not self._in_halves(weight):
            return self.create_state(index, weight)
        precise = weight.astype("float32")
        return precise, self.create_state(index, precise)

    def _in_halves(self, weight):
        return self.multi_precision and weight.dtype == "float16"

    def update(self, index, weight, grad, state):
        """Change a parameter by its gradient, and its state; or several, of lists. It returns at once.

        Parameters
        ----------
        index : int or str, or list of them
            Which parameter it is: its number of updates is counted.
        weight : ndarray or list of ndarray
            Its values, which are changed in place.
        grad : ndarray or list of ndarray
            Their gradient, of the same shape.
        state : object or list
            What create_state_multi_precision() made of it, which is changed in place.
        """
        if isinstance(index, (list, tuple)):
            self.update_all(index, weight, grad, state)
        else:
            self.update_all([index], [weight], [grad], [state])

    update_multi_precision = update

    def update_all(self, indices, weights, grads, states):
        """update() of several parameters, as one graph; one by one if a subclass has an update() of its own."""
        if not self.multi_precision:
            self._update_all(indices, weights, grads, states)
            return
        weights, grads, states = list(weights), list(grads), list(states)
        halves = [(k, w) for k, w in enumerate(weights) if self._in_halves(w)]
        for k, _ in halves:
            (weights[k], states[k]), grads[k] = states[k], grads[k].astype("float32")
        self._update_all(indices, weights, grads, states)
        for k, w in halves:
            w[...] = weights[k]

    def _update_all(self, indices, weights, grads, states):
        if type(self).update is not Optimizer.update:
            for each in zip(indices, weights, grads, states):
                self.update(*each)
            return
        own = (hasattr(self, "fused_step") and self.use_fused_step and self.fused_step) or getattr(self, "step", None)
        if own is not None:
            own(indices, weights, grads, states)
            return
        scale, rates, decays = self.rescale_grad, [], []
        for lr, wd, t in self._count(indices):
            rates.append((scale, *self.rates(lr, wd, t)))
            decays.append(wd)
        dtypes = [w.dtype for w in weights]             # those of their rates, too
        if dtypes.count(dtypes[0]) == len(dtypes):
            self._change_group(dtypes[0], weights, grads, states, decays, rates)
            return
        for dtype in dict.fromkeys(dtypes):
            some = [k for k, other in enumerate(dtypes) if other == dtype]
            self._change_group(dtype, *([x[k] for k in some] for x in (weights, grads, states, decays, rates)))

    def _change_group(self, dtype, weights, grads, states, decays, rates):
        if rates != self._last or dtype != self._table.dtype:
            self._last, self._table = rates, np.array(rates, dtype)
        self._change(weights, grads, states, tuple(decays), self._table, self.rescale_grad != 1)

    def _update_count(self, index):
        """The next update of a parameter, or of several, begins."""
        counts = self.counts
        indices = index if isinstance(index, (list, tuple)) else [index]
        for i in indices:
            counts[i] = counts.get(i, self.begin_num_update) + 1
        self.num_update = max(self.num_update, max([counts[i] for i in indices]))

    @property
    def _index_update_count(self):
        return self.counts

    def _get_lr(self, index):
        return self._get_lrs([index])[0]

    def _get_lrs(self, indices):
        lr, params = self.learning_rate, self.param_dict
        return [lr * params[i].lr_mult if i in params else lr for i in indices]

    def _get_wd(self, index):
        return self._get_wds([index])[0]

    def _get_wds(self, indices):
        wd, params = self.wd, self.param_dict
        return [wd * params[i].wd_mult if i in params else wd for i in indices]

    def _count(self, indices):
        """For the next update of these parameters: of each, learning rate, weight decay, its number."""
        self._update_count(indices)
        lr, wd, counts, params = self.learning_rate, self.wd, self.counts, self.param_dict
        return [(lr * params[i].lr_mult, wd * params[i].wd_mult, counts[i]) if i in params else (lr, wd, counts[i])
                for i in indices]

    def _change_all(self, weights, grads, states, decays, rates, scaled):
        for k, (weight, g, state, wd) in enumerate(zip(weights, grads, states, decays)):
            scale, *own = [rates[k, i, ...] for i in range(rates.shape[1])]
            if scaled:
                g = g * scale
            self.change(weight, self._clipped(g) if self.clips else g, state, wd, *own)

    def _clipped(self, g):
        return g if self.clip_gradient is None else np.clip(g, -self.clip_gradient, self.clip_gradient)

    def _fixed(self):
        """What change() may depend on, and is the same from update to update."""
        return [value for name, value in vars(self).items() if name not in _CHANGING]

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_change"}

    def __setstate__(self, state):
        Optimizer.__init__(self)
        vars(self).update(state)

    def rates(self, lr, wd, t):
        """What the t-th update of a parameter depends on: as many numbers each time."""
        return (lr,)

    def change(self, weight, grad, state, wd, *rates):
        """The update of a parameter, of its gradient, scaled and clipped."""
        raise NotImplementedError(f"{type(self).__name__} needs a change()")


_CHANGING = frozenset("lr counts num_update rescale_grad param_dict lr_scheduler _last _table _change".split())


class Updater:
    """Changes weights as an optimizer does, and keeps the states, by index.

    `updater(index, grad, weight)` changes a weight in place, or those of lists, and returns at once. The state of an
    index is made when it first comes.

    Parameters
    ----------
    optimizer : Optimizer
        Whose rule it is.

    Examples
    --------
    >>> w, update = np.ones(2), optimizer.Updater(optimizer.SGD(learning_rate=0.5, momentum=0.9))
    >>> update(0, np.array([1.0, -1.0]), w)
    >>> print(w, list(update.states))
    [0.5 1.5] [0]
    """

    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.states = {}

    def __call__(self, index, grad, weight):
        several = isinstance(index, (list, tuple))
        indices, grads, weights = (index, grad, weight) if several else ([index], [grad], [weight])
        for i, w in zip(indices, weights):
            if i not in self.states:
                self.states[i] = self.optimizer.create_state_multi_precision(i, w)
        self.optimizer.update_all(indices, weights, grads, [self.states[i] for i in indices])


def get_updater(optimizer):
    """Makes an Updater of an optimizer.

    Parameters
    ----------
    optimizer : Optimizer
        Whose rule it is.

    Returns
    -------
    Updater
        Called with index, gradient and weight, it changes the weight in place.

    Examples
    --------
    >>> w, update = np.ones(2), optimizer.get_updater(optimizer.SGD(learning_rate=0.5))
    >>> update(0, np.array([1.0, -1.0]), w)
    >>> print(w)
    [0.5 1.5]
    """
    return Updater(optimizer)
