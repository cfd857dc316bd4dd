"""The optimizers: by which rule each one changes weights."""

import math

from dflow import numpy as np
from dflow.optimizer.base import Optimizer, register


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
    """Gradient descent, with momentum if wanted: v = momentum * v - lr * grad; weight += v.

    Parameters
    ----------
    learning_rate : float, optional
        0.1 unless given.
    momentum : float
        How much of the last step is part of the next. 0: nothing is kept of a weight; else one array.
    lazy_update : bool
        MXNet's, for sparse gradients; it changes nothing.
    **kwargs
        Of Optimizer.

    Examples
    --------
    >>> w, update = np.ones(2), optimizer.get_updater(optimizer.SGD(momentum=0.5))
    >>> for _ in range(2):
    ...     update(0, np.array([1.0, -2.0]), w)         # by 0.1 times the gradient, then by 0.15 times
    >>> print(w)
    [0.75 1.5 ]
    """

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
    """Nesterov's gradient descent: v = momentum * v - lr * grad; weight += momentum * v - lr * grad.

    Parameters
    ----------
    learning_rate : float, optional
        0.1 unless given.
    momentum : float
        How much of the last step is part of the next. 0: it is SGD.
    lazy_update : bool
        MXNet's, for sparse gradients; it changes nothing.
    **kwargs
        Of Optimizer.

    Examples
    --------
    >>> w, update = np.ones(2), optimizer.get_updater(optimizer.NAG(momentum=0.5))
    >>> update(0, np.array([1.0, -2.0]), w)             # by 0.15 times the gradient
    >>> print(w)
    [0.85 1.3 ]
    """

    def ahead(self, velocity, step):
        return self.momentum * velocity - step


@register
class Adam(Optimizer):
    """Running means m of gradients, v of their squares, made unbiased: weight -= lr * m / (sqrt(v) + epsilon).

    It keeps two arrays for each weight. epsilon is added to the root of v as it is, before it is made unbiased, as in
    MXNet.

    Parameters
    ----------
    learning_rate : float, optional
        0.001 unless given: about how far an element moves in an update.
    beta1 : float
        How much of m stays at each update.
    beta2 : float
        How much of v stays.
    epsilon : float
        What keeps from division by zero.
    lazy_update : bool
        MXNet's, for sparse gradients; it changes nothing.
    **kwargs
        Of Optimizer.

    Examples
    --------
    >>> w, update = np.ones(2), optimizer.get_updater(optimizer.Adam(learning_rate=0.1))
    >>> update(0, np.array([1.0, -200.0]), w)           # by the sign of the gradient, at first
    >>> print(w)
    [0.90000003 1.1       ]
    """

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

    Parameters
    ----------
    learning_rate : float, optional
        0.001 unless given.
    beta1 : float
        How much of the mean of gradients stays at each update.
    beta2 : float
        How much of that of their squares stays.
    epsilon : float
        What keeps from division by zero.
    correct_bias : bool
        False: the running means are taken as they are, not made unbiased.
    **kwargs
        Of Optimizer.

    Examples
    --------
    >>> w, update = np.ones(2), optimizer.get_updater(optimizer.AdamW(learning_rate=0.1, wd=0.5))
    >>> update(0, np.zeros(2), w)                       # the decay alone
    >>> print(w)
    [0.95 0.95]
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
    """A running mean m of gradients, the largest u of gradients of late: weight -= lr * m / u.

    It keeps two arrays for each weight. An element whose gradients have all been 0 becomes nan, as in MXNet.

    Parameters
    ----------
    learning_rate : float, optional
        0.002 unless given. Divided by 1 - beta1**t at update t, which makes m unbiased.
    beta1 : float
        How much of m stays at each update.
    beta2 : float
        How much of u stays, where the gradient is smaller.
    **kwargs
        Of Optimizer, and `epsilon`, which changes nothing.

    Examples
    --------
    >>> w, update = np.ones(2), optimizer.get_updater(optimizer.Adamax(learning_rate=0.1))
    >>> update(0, np.array([1.0, -200.0]), w)
    >>> print(w)
    [0.9 1.1]
    """

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
    """Adam with Nesterov's momentum, which grows from beta1 / 2 to beta1 as schedule_decay says.

    At update t the momentum is beta1 * (1 - 0.5 * 0.96 ** (t * schedule_decay)).

    Parameters
    ----------
    learning_rate : float, optional
        0.001 unless given.
    beta1 : float
        How much of the mean of gradients stays at each update.
    beta2 : float
        How much of that of their squares stays.
    epsilon : float
        What keeps from division by zero.
    schedule_decay : float
        How fast the momentum grows.
    **kwargs
        Of Optimizer.

    Examples
    --------
    >>> w, update = np.ones(2), optimizer.get_updater(optimizer.Nadam(learning_rate=0.1))
    >>> for _ in range(2):
    ...     update(0, np.array([1.0, -200.0]), w)
    >>> print(w)
    [0.81598639 1.18401361]
    """

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
    """Adam's step, with wd * weight, scaled to the norm of the weight: for large batches.

    Where one of the norms is 0, it is not scaled.

    Parameters
    ----------
    learning_rate : float, optional
        0.001 unless given: the norm of a step, as a share of the weight's.
    beta1 : float
        How much of the mean of gradients stays at each update.
    beta2 : float
        How much of that of their squares stays.
    epsilon : float
        What keeps from division by zero.
    lower_bound : float, optional
        The norm of the weight counts as no less.
    upper_bound : float, optional
        It counts as no more.
    bias_correction : bool
        False: the running means are taken as they are, not made unbiased.
    **kwargs
        Of Optimizer.

    Examples
    --------
    >>> w, update = np.array([10.0, 10.0]), optimizer.get_updater(optimizer.LAMB(learning_rate=0.1))
    >>> update(0, np.array([1.0, -200.0]), w)
    >>> print(w)
    [ 9.0000005 11.0000005]
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
    """LAMB of gradients divided by their norm, with a second step, of the gradient itself, that is scaled alike.

    clip_gradient is the bound of what was divided. A gradient that is 0 everywhere makes the weight nan, as it has no
    norm to divide by.

    Parameters
    ----------
    learning_rate : float, optional
        0.001 unless given: the norm of the steps, as a share of the weight's.
    beta1 : float
        How much of the mean of gradients stays at each update; and the share of LAMB's step, 1 - beta1 that of the
        other.
    beta2 : float
        How much of the mean of their squares stays.
    epsilon : float
        What keeps from division by zero.
    lower_bound : float, optional
        The norm of the weight counts as no less.
    upper_bound : float, optional
        It counts as no more.
    **kwargs
        Of Optimizer, and LAMB's bias_correction.

    Examples
    --------
    >>> w, update = np.array([10.0, 10.0]), optimizer.get_updater(optimizer.LANS(learning_rate=0.1))
    >>> update(0, np.array([1.0, -200.0]), w)
    >>> print(w)
    [ 9.0000995  11.00009949]
    """

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
    """By the sign of a running mean m of gradients: weight -= lr * sign(m).

    momentum=0: by the sign of the gradient, with all weight decay apart from it.

    Parameters
    ----------
    learning_rate : float, optional
        0.01 unless given: how far each element moves.
    momentum : float
        How much of m stays at each update.
    wd_lh : float
        A weight decay apart from the gradients: weight *= 1 - lr * wd_lh. Not with momentum=0.
    **kwargs
        Of Optimizer.

    Examples
    --------
    >>> w, update = np.ones(3), optimizer.get_updater(optimizer.Signum(learning_rate=0.1))
    >>> update(0, np.array([1.0, -200.0, 0.0]), w)
    >>> print(w)
    [0.9 1.1 1. ]
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
    """Smaller steps where gradients have been large: h += grad^2; weight -= lr * grad / (sqrt(h) + epsilon).

    Parameters
    ----------
    learning_rate : float, optional
        0.01 unless given.
    epsilon : float
        What keeps from division by zero.
    initial_accumulator_value : float
        What h begins with.
    eps : float, optional
        An older name of epsilon, which goes before it.
    **kwargs
        Of Optimizer.

    Examples
    --------
    >>> w, update = np.ones(2), optimizer.get_updater(optimizer.AdaGrad(learning_rate=0.1))
    >>> for _ in range(2):
    ...     update(0, np.array([1.0, -200.0]), w)       # by 0.1, then by 0.1 / sqrt(2)
    >>> print(w)
    [0.82928947 1.17071068]
    """

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
    """A running mean v of squares of gradients: weight -= lr * grad / (sqrt(v) + epsilon).

    With centered, of variances, and with momentum: u = momentum * u - lr * grad / sqrt(v - m^2 + epsilon); weight += u,
    where m is the running mean of gradients. It keeps three arrays for each weight then, otherwise one.

    Parameters
    ----------
    learning_rate : float, optional
        0.001 unless given.
    rho : float
        How much of v, and m, stays at each update.
    momentum : float
        How much of the last step is part of the next, with centered alone.
    epsilon : float
        What keeps from division by zero.
    centered : bool
        By variances, not squares.
    clip_weights : float, optional
        The bound of the weights' elements, either way, after an update. None or 0: there is none.
    gamma1 : float, optional
        An older name of rho, which goes before it.
    gamma2 : float, optional
        An older name of momentum, which goes before it.
    **kwargs
        Of Optimizer.

    Examples
    --------
    >>> w, update = np.ones(2), optimizer.get_updater(optimizer.RMSProp(learning_rate=0.1, rho=0.75))
    >>> update(0, np.array([1.0, -200.0]), w)           # v is a quarter of the square
    >>> print(w)
    [0.8 1.2]
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

    epsilon is added to d and v, of which it keeps an array each for each weight.

    Parameters
    ----------
    learning_rate : float, optional
        1.0 unless given.
    rho : float
        How much of d and v stays at each update.
    epsilon : float
        What steps begin with: the larger, the longer they are.
    **kwargs
        Of Optimizer.

    Examples
    --------
    >>> w, update = np.ones(2), optimizer.get_updater(optimizer.AdaDelta(rho=0.75, epsilon=0.01))
    >>> update(0, np.array([1.0, -200.0]), w)
    >>> print(w)
    [0.80388386 1.1999999 ]
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
    """Follow the regularized leader: with a penalty that makes weights zero.

    z += grad - (sqrt(n + grad^2) - sqrt(n)) / lr * weight; n += grad^2; the weight is 0 where |z| is at most lamda1,
    else (sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd). It keeps z and n.

    Parameters
    ----------
    learning_rate : float, optional
        0.1 unless given.
    lamda1 : float
        The L1 penalty.
    beta : float
        What keeps first steps short.
    **kwargs
        Of Optimizer; wd is the L2 penalty.

    Examples
    --------
    >>> w, update = np.zeros(2), optimizer.get_updater(optimizer.Ftrl(lamda1=0.5))
    >>> update(0, np.array([-1.0, -0.25]), w)           # the second is not worth it
    >>> print(w)
    [0.025 0.   ]
    """

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
    """Follow the moving leader: of running means of gradients and of their squares, made unbiased.

    It keeps three arrays for each weight.

    Parameters
    ----------
    learning_rate : float, optional
        0.0025 unless given.
    beta1 : float
        How much of the mean of gradients stays at each update.
    beta2 : float
        How much of that of their squares stays.
    epsilon : float
        What keeps from division by zero.
    **kwargs
        Of Optimizer.

    Examples
    --------
    >>> w, update = np.ones(2), optimizer.get_updater(optimizer.FTML(learning_rate=0.1))
    >>> update(0, np.array([1.0, -200.0]), w)
    >>> print(w)
    [0.9 1.1]
    """

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
    """Adam whose v are running means of squares of what gradients differ from m by, and epsilon.

    Where gradients are what was believed, m, steps are long. Unlike others', clip_gradient is the bound of the gradient
    and wd * weight together.

    Parameters
    ----------
    learning_rate : float, optional
        0.001 unless given.
    beta1 : float
        How much of m stays at each update.
    beta2 : float
        How much of v stays.
    epsilon : float
        What is added to v at each update, and to its root.
    correct_bias : bool
        False: the running means are taken as they are, not made unbiased.
    **kwargs
        Of Optimizer.

    Examples
    --------
    >>> w, update = np.ones(2), optimizer.get_updater(optimizer.AdaBelief(learning_rate=0.1))
    >>> for sign in (1, -1, 1, -1):
    ...     update(0, np.array([1.0, 1.0 * sign]), w)   # a steady one, and one that changes
    >>> print(w)
    [0.52151862 0.86414525]
    """

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

    lr is multiplied by eta * |weight| / (|grad| + wd * |weight| + epsilon), unless one of the norms is 0. Weights whose
    names, in param_idx2name, end in gamma, beta or bias, have the rate as it is. The norm is that of gradients before
    clip_gradient.

    Parameters
    ----------
    learning_rate : float, optional
        0.1 unless given.
    momentum : float
        How much of the last step is part of the next.
    eta : float
        How long steps are, as a share of the weight.
    epsilon : float
        What keeps from division by zero.
    **kwargs
        Of Optimizer.

    Examples
    --------
    >>> w, update = np.array([3.0, 4.0]), optimizer.get_updater(optimizer.LARS(learning_rate=1.0, eta=0.1))
    >>> update(0, np.array([300.0, 400.0]), w)          # a tenth of the weight, however long the gradient is
    >>> print(w)
    [2.7 3.6]
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
    """SGD for gradients that come late: lamda * grad^2 times how far the weight has gone since is added to them.

    It keeps, beside SGD's momentum, what the weight was before the last update.

    Parameters
    ----------
    learning_rate : float, optional
        0.1 unless given.
    momentum : float
        How much of the last step is part of the next.
    lamda : float
        How much is added.
    **kwargs
        Of Optimizer.

    Examples
    --------
    >>> w, update = np.ones(2), optimizer.get_updater(optimizer.DCASGD(lamda=1.0))
    >>> for _ in range(2):
    ...     update(0, np.array([1.0, -2.0]), w)
    >>> print(w)
    [0.81 1.32]
    """

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
    """Langevin dynamics: weight -= lr / 2 * grad, and normal numbers of variance lr.

    The weights become samples of a distribution, not its mode. Numbers come from the stream of dflow.numpy.random.

    Parameters
    ----------
    learning_rate : float, optional
        0.1 unless given.
    **kwargs
        The others of Optimizer: wd, rescale_grad, clip_gradient, lr_scheduler, param_dict, begin_num_update,
        multi_precision, param_idx2name, aggregate_num, use_fused_step.

    Examples
    --------
    >>> w, update = np.zeros(10000), optimizer.get_updater(optimizer.SGLD(learning_rate=0.25))
    >>> update(0, np.full(10000, 8.0), w)
    >>> print(w.mean().round(1), w.std().round(1))
    -1.0 0.5
    """

    rate = 0.1

    def change(self, weight, grad, state, wd, lr):
        noise = np.random.normal(size=weight.shape, dtype=weight.dtype)
        weight -= lr / 2 * _decayed(weight, grad, wd) - np.sqrt(lr) * noise
