"""Learning rates that change with the number of updates, as mxnet.lr_scheduler.

A scheduler is called with the number of an update, 1 for the first, which grows, and returns its learning rate.
"""

import math

__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]


def __dir__():
    return sorted(__all__)


class LRScheduler:
    """Base class: a subclass has a decayed(num_update), or a __call__ of its own.

    Called with the number of an update, 1 for the first, it returns its learning rate. An optimizer counts updates, and
    calls it. Below warmup_steps the rate is that of get_warmup_lr(), from there on that of decayed().

    Parameters
    ----------
    base_lr : float
        The rate after warming up, as it is at present: an attribute, which changes.
    warmup_steps : int
        The update at which the rate is base_lr; those before warm up.
    warmup_begin_lr : float
        What the rate begins with.
    warmup_mode : str
        "linear": it grows evenly from warmup_begin_lr to base_lr; "constant": it stays at warmup_begin_lr.

    Raises
    ------
    TypeError
        For warmup_steps that are no int.
    ValueError
        For negative warmup_steps, a warmup_begin_lr greater than base_lr, and another warmup_mode.
    NotImplementedError
        When it is called, of a class without decayed().

    Examples
    --------
    >>> class Inverse(dflow.lr_scheduler.LRScheduler):
    ...     def decayed(self, num_update):
    ...         return 1 / num_update
    >>> schedule = Inverse(base_lr=0.5, warmup_steps=2)
    >>> [schedule(n) for n in range(6)]
    [0.0, 0.25, 0.5, 0.3333333333333333, 0.25, 0.2]
    """

    def __init__(self, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        if not isinstance(warmup_steps, int):
            raise TypeError(f"warmup_steps must be an integer, not {warmup_steps!r}")
        if warmup_begin_lr > base_lr:
            raise ValueError("Base lr has to be higher than warmup_begin_lr")
        if warmup_steps < 0:
            raise ValueError("Warmup steps has to be positive or 0")
        if warmup_mode not in ("linear", "constant"):
            raise ValueError("Supports only linear and constant modes of warmup")
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_final_lr = base_lr
        self.warmup_mode = warmup_mode

    def get_warmup_lr(self, num_update):
        """The rate of an update below warmup_steps.

        Parameters
        ----------
        num_update : int
            The number of the update.

        Returns
        -------
        float
        """
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        share = num_update / self.warmup_steps
        return self.warmup_begin_lr + (self.warmup_final_lr - self.warmup_begin_lr) * share

    def decayed(self, num_update):
        """The rate of an update after warming up.

        Parameters
        ----------
        num_update : int
            The number of the update, no less than in the last call.

        Returns
        -------
        float
        """
        raise NotImplementedError("a learning rate scheduler needs a decayed() or a __call__()")

    def __call__(self, num_update):
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        self.base_lr = self.decayed(num_update)
        return self.base_lr


def _check_factor(factor):
    if factor > 1.0:
        raise ValueError("Factor must be no more than 1 to make lr reduce")


class FactorScheduler(LRScheduler):
    """Multiplies the rate by a factor after so many updates each.

    Parameters
    ----------
    step : int
        After how many updates.
    factor : float
        What it is multiplied by, at most 1.
    stop_factor_lr : float
        The rate becomes no less.
    base_lr : float
        The rate at first.
    warmup_steps : int
        The update at which warming up ends. Those before count for `step`, too.
    warmup_begin_lr : float
        What the rate begins with.
    warmup_mode : str
        "linear" or "constant": see LRScheduler.

    Raises
    ------
    ValueError
        For a step of less than 1, a factor greater than 1, and as of LRScheduler.

    Examples
    --------
    >>> schedule = dflow.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=1.0)
    >>> [schedule(n) for n in range(1, 7)]
    [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]
    """

    def __init__(self, step, factor=1, stop_factor_lr=1e-8, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0,
                 warmup_mode="linear"):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if step < 1:
            raise ValueError("Schedule step must be greater or equal than 1 round")
        _check_factor(factor)
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0          # updates that the rate takes into account

    def decayed(self, num_update):
        lr = self.base_lr
        while num_update > self.count + self.step:
            self.count += self.step
            lr = max(lr * self.factor, self.stop_factor_lr)
        return lr


class MultiFactorScheduler(LRScheduler):
    """Multiplies the rate by a factor after each of some numbers of updates.

    Parameters
    ----------
    step : list of int
        These numbers, each greater than the one before.
    factor : float
        What it is multiplied by, at most 1.
    base_lr : float
        The rate at first.
    warmup_steps : int
        The update at which warming up ends. Those before count for `step`, too.
    warmup_begin_lr : float
        What the rate begins with.
    warmup_mode : str
        "linear" or "constant": see LRScheduler.

    Raises
    ------
    ValueError
        For no step, a first one of less than 1, steps that do not grow, a factor greater than 1, and as of LRScheduler.

    Examples
    --------
    >>> schedule = dflow.lr_scheduler.MultiFactorScheduler(step=[2, 3], factor=0.5, base_lr=1.0)
    >>> [schedule(n) for n in range(1, 7)]
    [1.0, 1.0, 0.5, 0.25, 0.25, 0.25]
    """

    def __init__(self, step, factor=1, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        step = list(step)
        if not step or step[0] < 1:
            raise ValueError("Schedule step must be greater or equal than 1 round")
        if any(after <= before for before, after in zip(step, step[1:])):
            raise ValueError("Schedule step must be an increasing integer list")
        _check_factor(factor)
        self.step = step
        self.factor = factor
        self.cur_step_ind = 0   # steps that the rate takes into account

    def decayed(self, num_update):
        lr = self.base_lr
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.cur_step_ind += 1
            lr *= self.factor
        return lr


class _Decay(LRScheduler):
    """From base_lr down to final_lr, reached at update max_update, along a curve(share of the way) from 1 to 0."""

    def __init__(self, max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(max_update, int):
            raise TypeError(f"max_update must be an integer, not {max_update!r}")
        if max_update < 1:
            raise ValueError("maximum number of updates must be strictly positive")
        self.base_lr_orig = base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = max_update - warmup_steps

    def decayed(self, num_update):
        steps = min(num_update, self.max_update) - self.warmup_steps
        share = steps / self.max_steps if steps < self.max_steps else 1
        return self.final_lr + (self.base_lr_orig - self.final_lr) * self.curve(share)


class PolyScheduler(_Decay):
    """Down from one rate to another as a power of the updates that are left, of those from warming up on.

    At update n the rate is final_lr + (base_lr - final_lr) * (1 - n / max_update) ** pwr. With a warm-up, both n and
    max_update are counted from its end on.

    Parameters
    ----------
    max_update : int
        The update from which on it is final_lr.
    base_lr : float
        The rate at first, after warming up.
    pwr : float
        Which power.
    final_lr : float
        The last rate.
    warmup_steps : int
        The update at which the rate is base_lr; those before warm up.
    warmup_begin_lr : float
        What the rate begins with.
    warmup_mode : str
        "linear" or "constant": see LRScheduler.

    Raises
    ------
    TypeError
        For a max_update that is no int, and as of LRScheduler.
    ValueError
        For a max_update of less than 1, and as of LRScheduler.

    Examples
    --------
    >>> schedule = dflow.lr_scheduler.PolyScheduler(max_update=4, base_lr=1.0)
    >>> [schedule(n) for n in range(6)]
    [1.0, 0.5625, 0.25, 0.0625, 0.0, 0.0]
    """

    def __init__(self, max_update, base_lr=0.01, pwr=2, final_lr=0, warmup_steps=0, warmup_begin_lr=0,
                 warmup_mode="linear"):
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def curve(self, share):
        return (1 - share) ** self.power


class CosineScheduler(_Decay):
    """Down from one rate to another along half a cosine.

    At update n the rate is final_lr + (base_lr - final_lr) * (1 + cos(pi * n / max_update)) / 2. With a warm-up, both n
    and max_update are counted from its end on.

    Parameters
    ----------
    max_update : int
        The update from which on it is final_lr.
    base_lr : float
        The rate at first, after warming up.
    final_lr : float
        The last rate.
    warmup_steps : int
        The update at which the rate is base_lr; those before warm up.
    warmup_begin_lr : float
        What the rate begins with.
    warmup_mode : str
        "linear" or "constant": see LRScheduler.

    Raises
    ------
    TypeError
        For a max_update that is no int, and as of LRScheduler.
    ValueError
        For a max_update of less than 1, and as of LRScheduler.

    Examples
    --------
    >>> schedule = dflow.lr_scheduler.CosineScheduler(max_update=4, base_lr=1.0, warmup_steps=2)
    >>> [round(schedule(n), 2) for n in range(6)]
    [0.0, 0.5, 1.0, 0.5, 0.0, 0.0]
    """

    def __init__(self, max_update, base_lr=0.01, final_lr=0, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def curve(self, share):
        return (1 + math.cos(math.pi * share)) / 2
