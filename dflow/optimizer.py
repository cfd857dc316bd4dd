"""Optimizers: how a parameter changes by its gradient, as mxnet.optimizer.

Arrays are changed in place, and nothing waits: a step is elementwise operations, which fuse.
"""

import math

from dflow import npx
from dflow import numpy as np
from dflow._graph_decorator import Graph

__all__ = ["DCASGD", "FTML", "LAMB", "LANS", "LARS", "NAG", "SGD", "SGLD", "AdaBelief", "AdaDelta", "AdaGrad", "Adam",
           "AdamW", "Adamax", "Ftrl", "Nadam", "Optimizer", "RMSProp", "Signum", "Updater", "create",
           "get_updater", "register"]


def __dir__():
    return sorted(__all__)


# MXNet's names that are not here.
_MISSING = frozenset("LBSGD Test ccSGD contrib".split())

_registry: dict[str, type] = {}


def __getattr__(name):
    text = f"module 'dflow.optimizer' has no attribute {name!r}"
    raise AttributeError(f"{text}: MXNet has it, dflow not yet" if name in _MISSING else text)


def register(kind):
    """A class of optimizers that create() knows by its name, in small letters."""
    _registry[kind.__name__.lower()] = kind
    return kind


def create(name, **kwargs):
    """The optimizer of a name, made with these arguments; one that is made already as it is."""
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

    rescale_grad: what gradients are multiplied by; clip_gradient: the bound of their elements after that; wd: the
    weight decay; lr_scheduler: of the number of updates the learning rate; multi_precision: weights in half precision
    are changed in float32. param_dict: parameters by index, whose lr_mult and wd_mult count.
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
        """The present learning rate."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr):
        """Change the learning rate, which no scheduler may have in its hands."""
        if self.lr_scheduler is not None:
            raise UserWarning("LRScheduler of the optimizer has already been defined: it sets the learning rate")
        self.lr = lr

    # -- updates -------------------------------------------------------------------------------

    def create_state(self, index, weight):
        """What is kept of a parameter from update to update: None, an array, or a tuple of arrays."""
        return None

    def create_state_multi_precision(self, index, weight):
        """The same; with multi_precision, of a weight in half precision: a float32 of it, and the state of that."""
        if not self._in_halves(weight):
            return self.create_state(index, weight)
        precise = weight.astype("float32")
        return precise, self.create_state(index, precise)

    def _in_halves(self, weight):
        return self.multi_precision and weight.dtype == "float16"

    def update(self, index, weight, grad, state):
        """Change a parameter by its gradient, and its state; or several, of lists."""
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


def _decayed(weight, grad, wd):
    """The gradient of the loss and half of wd * weight^2."""
    return grad + wd * weight if wd else grad


def _average(mean, x, beta):
    """A running mean takes in x, with 1 - beta."""
    mean *= beta
    mean += (1 - beta) * x


def _norm(x):
    return np.sqrt(np.sum(x * x))


def _ratio(x, y):
    """x / y, of norms; 1 where one of them is 0."""
    return np.where(x * y > 0, x / np.where(y > 0, y, 1), 1)


def _zeros(weight, count):
    return tuple(np.zeros_like(weight) for _ in range(count))


@register
class SGD(Optimizer):
    """Gradient descent: v = momentum * v - lr * grad; weight += v."""

    rate = 0.1

    def __init__(self, learning_rate=None, momentum=0.0, lazy_update=False, **kwargs):
        super().__init__(learning_rate, **kwargs)
        self.momentum = momentum

    def create_state(self, index, weight):
        return np.zeros_like(weight) if self.momentum else None

    def change(self, weight, grad, state, wd, lr):
        g = _decayed(weight, grad, wd)
        if state is None:
            weight -= lr * g
            return
        state *= self.momentum
        state -= lr * g
        weight += self.ahead(state, lr * g)

    def ahead(self, velocity, step):
        return velocity


@register
class NAG(SGD):
    """Nesterov's: v = momentum * v - lr * grad; weight += momentum * v - lr * grad."""

    def ahead(self, velocity, step):
        return self.momentum * velocity - step


@register
class Adam(Optimizer):
    """Running means m of gradients, v of their squares, made unbiased: weight -= lr * m / (sqrt(v) + epsilon)."""

    rate = 0.001

    def __init__(self, learning_rate=None, beta1=0.9, beta2=0.999, epsilon=1e-8, lazy_update=False, **kwargs):
        super().__init__(learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index, weight):
        return _zeros(weight, 2)

    def rates(self, lr, wd, t):
        return (lr * math.sqrt(1 - self.beta2**t) / (1 - self.beta1**t),)

    def change(self, weight, grad, state, wd, rate):
        mean, var = state
        g = _decayed(weight, grad, wd)
        _average(mean, g, self.beta1)
        _average(var, g * g, self.beta2)
        weight -= rate * mean / (np.sqrt(var) + self.epsilon)


@register
class AdamW(Adam):
    """Adam whose weight decay is apart from the gradient: weight -= lr * wd * weight, before the step.

    correct_bias=False: m and v are taken as they are.
    """

    def __init__(self, learning_rate=None, beta1=0.9, beta2=0.999, epsilon=1e-6, correct_bias=True, **kwargs):
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.correct_bias = correct_bias

    def rates(self, lr, wd, t):
        rate = super().rates(lr, wd, t)[0] if self.correct_bias else lr
        return rate, 1 - lr * wd

    def change(self, weight, grad, state, wd, rate, decay):
        if wd:
            weight *= decay
        super().change(weight, grad, state, 0, rate)


@register
class Adamax(Adam):
    """A running mean m of gradients, the largest u of gradients of late: weight -= lr * m / u."""

    rate = 0.002

    def __init__(self, learning_rate=None, beta1=0.9, beta2=0.999, **kwargs):
        super().__init__(learning_rate, beta1, beta2, **kwargs)

    def rates(self, lr, wd, t):
        return (lr / (1 - self.beta1**t),)

    def change(self, weight, grad, state, wd, rate):
        mean, largest = state
        g = _decayed(weight, grad, wd)
        _average(mean, g, self.beta1)
        np.maximum(self.beta2 * largest, np.abs(g), out=largest)
        weight -= rate * mean / largest


@register
class Nadam(Adam):
    """Adam with Nesterov's momentum, which grows from beta1 / 2 to beta1 as schedule_decay says."""

    def __init__(self, learning_rate=None, beta1=0.9, beta2=0.999, epsilon=1e-8, schedule_decay=0.004, **kwargs):
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.schedule_decay = schedule_decay

    def _momentum(self, t):
        return self.beta1 * (1 - 0.5 * 0.96 ** (t * self.schedule_decay))

    def rates(self, lr, wd, t):
        now, following, product, k = self._momentum(t), self._momentum(t + 1), 1.0, 0
        while k < t and product > 1e-20:        # beside 1, smaller ones are nothing
            k += 1
            product *= self._momentum(k)
        return lr * (1 - now) / (1 - product), lr * following / (1 - product * following), 1 / (1 - self.beta2**t)

    def change(self, weight, grad, state, wd, of_grad, of_mean, of_var):
        mean, var = state
        g = _decayed(weight, grad, wd)
        _average(mean, g, self.beta1)
        _average(var, g * g, self.beta2)
        weight -= (of_grad * g + of_mean * mean) / (np.sqrt(var * of_var) + self.epsilon)


@register
class LAMB(Adam):
    """Adam's step, with wd * weight, scaled to the norm of the weight, which counts as within the bounds.

    bias_correction=False: the running means are taken as they are.
    """

    def __init__(self, learning_rate=None, beta1=0.9, beta2=0.999, epsilon=1e-6, lower_bound=None, upper_bound=None,
                 bias_correction=True, **kwargs):
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction

    def rates(self, lr, wd, t):
        return (lr, *(1 / (1 - beta**t) if self.bias_correction else 1 for beta in (self.beta1, self.beta2)))

    def change(self, weight, grad, state, wd, lr, of_mean, of_var):
        mean, var = state
        _average(mean, grad, self.beta1)
        _average(var, grad * grad, self.beta2)
        step = _decayed(weight, of_mean * mean / (np.sqrt(of_var * var) + self.epsilon), wd)
        weight -= lr * _ratio(self._size(weight), _norm(step)) * step

    def _size(self, weight):
        size = _norm(weight)
        if self.lower_bound is not None or self.upper_bound is not None:
            size = np.clip(size, self.lower_bound, self.upper_bound)
        return size


@register
class LANS(LAMB):
    """LAMB of gradients divided by their norm, with a second step, of the gradient itself, that is scaled alike."""

    clips = False

    def __init__(self, learning_rate=None, beta1=0.9, beta2=0.999, epsilon=1e-6, lower_bound=None, upper_bound=None,
                 **kwargs):
        super().__init__(learning_rate, beta1, beta2, epsilon, lower_bound, upper_bound, **kwargs)

    def change(self, weight, grad, state, wd, lr, of_mean, of_var):
        mean, var = state
        g = self._clipped(grad / _norm(grad))
        _average(mean, g, self.beta1)
        _average(var, g * g, self.beta2)
        size, deviation = self._size(weight), np.sqrt(of_var * var) + self.epsilon
        for share, part in ((self.beta1, of_mean * mean), (1 - self.beta1, g)):
            step = _decayed(weight, part / deviation, wd)
            weight -= lr * share * _ratio(size, _norm(step)) * step


@register
class Signum(SGD):
    """By the sign of a running mean m of gradients: weight -= lr * sign(m). wd_lh: a weight decay apart from them.

    momentum=0: by the sign of the gradient, with all weight decay apart from it.
    """

    rate = 0.01

    def __init__(self, learning_rate=None, momentum=0.9, wd_lh=0.0, **kwargs):
        super().__init__(learning_rate, momentum, **kwargs)
        self.wd_lh = wd_lh

    def change(self, weight, grad, state, wd, lr):
        if state is None:
            apart, mean = wd, grad
        else:
            apart, mean = self.wd_lh, state
            _average(mean, _decayed(weight, grad, wd), self.momentum)
        if apart:
            weight *= 1 - lr * apart
        weight -= lr * np.sign(mean)


@register
class AdaGrad(Optimizer):
    """h += grad^2; weight -= lr * grad / (sqrt(h) + epsilon)."""

    def __init__(self, learning_rate=None, epsilon=1e-6, initial_accumulator_value=0, eps=None, **kwargs):
        super().__init__(learning_rate, **kwargs)
        self.epsilon = epsilon if eps is None else eps
        self.initial_accumulator_value = initial_accumulator_value

    def create_state(self, index, weight):
        return np.full_like(weight, self.initial_accumulator_value)

    def change(self, weight, grad, state, wd, lr):
        g = _decayed(weight, grad, wd)
        state += g * g
        weight -= lr * g / (np.sqrt(state) + self.epsilon)


@register
class RMSProp(Optimizer):
    """A running mean v of squares: weight -= lr * grad / (sqrt(v) + epsilon); centered: of variances, with momentum.

    gamma1 and gamma2 are older names of rho and momentum.
    """

    rate = 0.001

    def __init__(self, learning_rate=None, rho=0.9, momentum=0.9, epsilon=1e-8, centered=False, clip_weights=None,
                 gamma1=None, gamma2=None, **kwargs):
        super().__init__(learning_rate, **kwargs)
        self.rho = rho if gamma1 is None else gamma1
        self.momentum = momentum if gamma2 is None else gamma2
        self.epsilon = epsilon
        self.centered = centered
        self.clip_weights = clip_weights

    def create_state(self, index, weight):
        return _zeros(weight, 3 if self.centered else 1)

    def change(self, weight, grad, state, wd, lr):
        g, var = _decayed(weight, grad, wd), state[0]
        _average(var, g * g, self.rho)
        if self.centered:
            _, mean, velocity = state
            _average(mean, g, self.rho)
            velocity *= self.momentum
            velocity -= lr * g / np.sqrt(var - mean * mean + self.epsilon)
            weight += velocity
        else:
            weight -= lr * g / (np.sqrt(var) + self.epsilon)
        if self.clip_weights:
            np.clip(weight, -self.clip_weights, self.clip_weights, out=weight)


@register
class AdaDelta(Optimizer):
    """Running means v of squared gradients and d of squared steps: weight -= lr * sqrt(d / v) * grad.

    epsilon is added to d and v.
    """

    rate = 1.0

    def __init__(self, learning_rate=None, rho=0.9, epsilon=1e-6, **kwargs):
        super().__init__(learning_rate, **kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def create_state(self, index, weight):
        return _zeros(weight, 2)

    def change(self, weight, grad, state, wd, lr):
        var, steps = state
        g = _decayed(weight, grad, wd)
        _average(var, g * g, self.rho)
        step = np.sqrt(steps + self.epsilon) / np.sqrt(var + self.epsilon) * g
        _average(steps, step * step, self.rho)
        weight -= lr * step


@register
class Ftrl(Optimizer):
    """Follow the regularized leader: lamda1 is the L1 penalty, which makes weights zero, wd the L2 penalty."""

    rate = 0.1

    def __init__(self, learning_rate=None, lamda1=0.01, beta=1.0, **kwargs):
        super().__init__(learning_rate, **kwargs)
        self.lamda1 = lamda1
        self.beta = beta

    def create_state(self, index, weight):
        return _zeros(weight, 2)

    def change(self, weight, grad, state, wd, lr):
        z, n = state
        before = np.sqrt(n)
        n += grad * grad
        now = np.sqrt(n)
        z += grad - (now - before) / lr * weight
        weight[...] = -np.sign(z) * np.maximum(np.abs(z) - self.lamda1, 0) / ((self.beta + now) / lr + wd)


@register
class FTML(Optimizer):
    """Follow the moving leader: of running means of gradients and of their squares, made unbiased."""

    rate = 0.0025

    def __init__(self, learning_rate=None, beta1=0.6, beta2=0.999, epsilon=1e-8, **kwargs):
        super().__init__(learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index, weight):
        return _zeros(weight, 3)

    def rates(self, lr, wd, t):
        return (1 - self.beta1**t) / lr, 1 / (1 - self.beta2**t)

    def change(self, weight, grad, state, wd, of_mean, of_var):
        d, var, z = state
        g = _decayed(weight, grad, wd)
        _average(var, g * g, self.beta2)
        now = (np.sqrt(var * of_var) + self.epsilon) * of_mean
        _average(z, g, self.beta1)
        z -= (now - self.beta1 * d) * weight
        d[...] = now
        weight[...] = -z / d


@register
class AdaBelief(Adam):
    """Adam whose v are running means of squares of what gradients differ from m by, and epsilon."""

    clips = False

    def __init__(self, learning_rate=None, beta1=0.9, beta2=0.999, epsilon=1e-6, correct_bias=True, **kwargs):
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.correct_bias = correct_bias

    def rates(self, lr, wd, t):
        return super().rates(lr, wd, t) if self.correct_bias else (lr,)

    def change(self, weight, grad, state, wd, rate):
        mean, var = state
        g = self._clipped(_decayed(weight, grad, wd))
        _average(mean, g, self.beta1)
        _average(var, (g - mean) ** 2, self.beta2)
        var += self.epsilon
        weight -= rate * mean / (np.sqrt(var) + self.epsilon)


@register
class LARS(SGD):
    """SGD whose rate is, for each parameter, eta times the norm of the weight by that of the gradient, and wd's part.

    Parameters whose names, in param_idx2name, end in gamma, beta or bias, have the rate as it is.
    """

    clips = False

    def __init__(self, learning_rate=None, momentum=0.0, eta=0.001, epsilon=1e-8, **kwargs):
        super().__init__(learning_rate, momentum, **kwargs)
        self.eta = eta
        self.epsilon = epsilon

    def create_state(self, index, weight):
        scaled = not self.idx2name.get(index, "").endswith(("gamma", "beta", "bias"))
        return super().create_state(index, weight), np.array(scaled, dtype=bool)

    def change(self, weight, grad, state, wd, lr):
        velocity, scaled = state
        size, slope = _norm(weight), _norm(grad)
        lr = lr * np.where(scaled & (size * slope > 0), self.eta * size / (slope + wd * size + self.epsilon), 1)
        super().change(weight, self._clipped(grad), velocity, wd, lr)


@register
class DCASGD(SGD):
    """SGD for gradients that come late: lamda * grad^2 times how far the weight has gone since is added to them."""

    def __init__(self, learning_rate=None, momentum=0.0, lamda=0.04, **kwargs):
        super().__init__(learning_rate, momentum, **kwargs)
        self.lamda = lamda

    def create_state(self, index, weight):
        return super().create_state(index, weight), weight.copy()

    def change(self, weight, grad, state, wd, lr):
        velocity, before = state
        g = _decayed(weight, grad, wd)
        g = g + self.lamda * g * g * (weight - before)
        before[...] = weight
        super().change(weight, g, velocity, 0, lr)


@register
class SGLD(Optimizer):
    """Langevin dynamics: weight -= lr / 2 * grad, and normal numbers of variance lr."""

    rate = 0.1

    def change(self, weight, grad, state, wd, lr):
        noise = np.random.normal(size=weight.shape, dtype=weight.dtype)
        weight -= lr / 2 * _decayed(weight, grad, wd) - np.sqrt(lr) * noise


class Updater:
    """updater(index, grad, weight) changes a weight, or those of lists, and keeps the states, by index."""

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
    """An Updater of an optimizer."""
    return Updater(optimizer)
