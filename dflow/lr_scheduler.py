"""Learning rates that change with the number of updates, as mxnet.lr_scheduler.

A scheduler is called with the number of updates so far, which grows, and returns the learning rate of the next one.
"""

import math

__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]


def __dir__():
    return sorted(__all__)


class LRScheduler:
    """Base class: a subclass has a decayed(num_update), or a __call__ of its own.

    base_lr: the rate after warming up, as it is at present. warmup_steps: the updates before, whose rate grows evenly
    from warmup_begin_lr to base_lr (warmup_mode 'linear'), or stays at warmup_begin_lr ('constant').
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
        """The rate of an update below warmup_steps."""
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        share = num_update / self.warmup_steps
        return self.warmup_begin_lr + (self.warmup_final_lr - self.warmup_begin_lr) * share

    def decayed(self, num_update):
        """The rate of an update after warming up."""
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
    """Multiplies the rate by `factor` after each `step` updates, but not to below stop_factor_lr."""

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
    """Multiplies the rate by `factor` after each of the numbers of updates in the list `step`."""

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
    """Down to final_lr at update max_update as (1 - share of the updates) ** pwr."""

    def __init__(self, max_update, base_lr=0.01, pwr=2, final_lr=0, warmup_steps=0, warmup_begin_lr=0,
                 warmup_mode="linear"):
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def curve(self, share):
        return (1 - share) ** self.power


class CosineScheduler(_Decay):
    """Down to final_lr at update max_update along half a cosine."""

    def __init__(self, max_update, base_lr=0.01, final_lr=0, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def curve(self, share):
        return (1 + math.cos(math.pi * share)) / 2
