"""Learning rates: formulas, warming up, arguments that make no sense."""

import math

import pytest

from dflow import lr_scheduler as lr

pytestmark = pytest.mark.once


def rates(scheduler, numbers):
    return [pytest.approx(scheduler(number)) for number in numbers]


def test_factors():
    assert [1, 1, 0.5, 0.5, 0.25, 0.25] == rates(lr.FactorScheduler(2, 0.5, base_lr=1), range(1, 7))
    assert [1, 0.1, 0.03, 0.03] == rates(lr.FactorScheduler(1, 0.1, 0.03, base_lr=1), range(1, 5))
    assert [0.125] == rates(lr.FactorScheduler(2, 0.5, base_lr=1), [7])         # going on in the middle
    assert [1, 1, 0.1, 0.1, 0.01] == rates(lr.MultiFactorScheduler([2, 4], 0.1, base_lr=1), range(1, 6))
    assert [0.01] == rates(lr.MultiFactorScheduler([2, 4], 0.1, base_lr=1), [50])


def test_curves():
    poly = lr.PolyScheduler(10, base_lr=2, pwr=3, final_lr=1)
    assert [1 + (1 - n / 10) ** 3 for n in range(11)] + [1] == rates(poly, range(12))
    cosine = lr.CosineScheduler(10, base_lr=2, final_lr=1)
    assert [1.5 + math.cos(math.pi * n / 10) / 2 for n in range(11)] + [1] == rates(cosine, range(12))
    assert cosine.base_lr == 1
    assert [1.0] == rates(lr.CosineScheduler(10, base_lr=2, final_lr=1), [500])


@pytest.mark.parametrize("scheduler", [
    lr.CosineScheduler(20, 1, 0, 5, 0.5), lr.PolyScheduler(20, 1, 2, 0, 5, 0.5),
    lr.FactorScheduler(9, 0.5, 0, 1, 5, 0.5), lr.MultiFactorScheduler([9], 0.5, 1, 5, 0.5)])
def test_warming_up(scheduler):
    assert [0.5, 0.6, 0.7, 0.8, 0.9, 1] == rates(scheduler, range(6))


def test_constant_warming_up():
    assert [0.2, 0.2, 1, 1] == rates(lr.FactorScheduler(9, base_lr=1, warmup_steps=2, warmup_begin_lr=0.2,
                                                        warmup_mode="constant"), range(4))


def test_schedulers_of_ones_own():
    class Inverse(lr.LRScheduler):
        def decayed(self, num_update):
            return 1 / num_update

    assert [0, 0.5, 1 / 2, 1 / 3] == rates(Inverse(1, warmup_steps=2), range(4))
    with pytest.raises(NotImplementedError):
        lr.LRScheduler()(1)


@pytest.mark.parametrize("make, error", [
    (lambda: lr.FactorScheduler(0), ValueError), (lambda: lr.FactorScheduler(1, 1.5), ValueError),
    (lambda: lr.MultiFactorScheduler([]), ValueError), (lambda: lr.MultiFactorScheduler([3, 3]), ValueError),
    (lambda: lr.MultiFactorScheduler([0, 3]), ValueError), (lambda: lr.MultiFactorScheduler([3], 2), ValueError),
    (lambda: lr.CosineScheduler(0), ValueError), (lambda: lr.PolyScheduler(1.5), TypeError),
    (lambda: lr.FactorScheduler(1, warmup_steps=1.5), TypeError),
    (lambda: lr.FactorScheduler(1, warmup_steps=-1), ValueError),
    (lambda: lr.FactorScheduler(1, warmup_begin_lr=1), ValueError),
    (lambda: lr.FactorScheduler(1, warmup_mode="quadratic"), ValueError),
])
def test_arguments_that_make_no_sense(make, error):
    with pytest.raises(error):
        make()
