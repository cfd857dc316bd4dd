"""How results lie in memory: as NumPy's do, so that reshape() and ravel() of them are views where NumPy's are."""

import random

import numpy
import pytest
from engines import configured

import dflow.numpy as np

CALLS = """x + 1; -x; x + x; x * x[0]; x * x[..., :1]; x > 2; x ** 2; x.copy(); x.copy("K"); x.astype("f"); np.array(x)
x.max(0); x.sum(0); x.mean(0); x.std(1); x.any(1); x.sum(1, keepdims=True); x.cumsum(0); x.cumsum(1)
np.diff(x, axis=0); np.take(x, [0, 1], 0); np.take(x, [1, 0], -1); np.take(x, 1, 0)
np.take(x, [9, -9], -1, mode="clip"); x.take([0, 1]); x[[0, 1]]; x[:, [1, 0]]; x[..., [0, 1]]; x[[0, 1], [0, 1]]
x[x > 2]; x[None, [0, 1]]; x[[0, 1], None]; x[1:, [0, 1]]; x[numpy.array([[0, 1], [1, 0]])]
np.where(x > 2, x, 0); np.where(x > 2, x, x[0]); np.sort(x); np.argsort(x); np.sort(x, 0); np.round(x, 1)
np.round(x); np.clip(x, 1, 5); np.concatenate([x, x]); np.concatenate([x, x], -1); np.stack([x, x])
np.stack([x, x], -1); np.append(x, x, 0); np.roll(x, 1, 0); np.flip(x); np.repeat(x, 2, 0); np.tile(x, 2)
np.pad(x, 1); np.zeros_like(x); np.ones_like(x, "f"); np.empty_like(x); np.add(x, x, order="C")
np.add(x, x, order="F"); x.ravel("K"); x.flatten("F"); x.swapaxes(0, -1) + 1; np.divmod(x, 2)[0]; np.modf(x)[1]
np.insert(x, 0, 1, 0); np.delete(x, 0, 0); np.einsum("...ij->...ji", x); np.tensordot(x, x, ([0], [0]))
np.gradient(x)[0]; np.fft.fft(x); np.isnan(x); np.fft.rfft(x, axis=0); np.partition(x, 1)
np.take_along_axis(x, x.argsort(0), 0); np.choose((x > 2).astype(int), [x, x]); np.select([x > 2], [x])
np.interp(x, [0, 9], [0, 1]); np.digitize(x, [1, 5]); np.isin(x, [1, 2]); np.rot90(x) + 0; np.tril(x)
np.compress([True, False], x, 0); np.add.outer(x, x[0]); np.atleast_3d(x) + 1
np.broadcast_to(x, (2,) + x.shape) + 1; np.moveaxis(x, 0, -1) * 2; np.linalg.norm(x, axis=0)
np.float_power(x, 2)"""
CALLS = [call.strip() for line in CALLS.split("\n") for call in line.split(";")]


def laid_out(module, draw):
    """An array of two to four axes, mostly not in C order."""
    shape = [draw.choice([2, 3, 4]) for _ in range(draw.choice([2, 3, 3, 4]))]
    shape[draw.randrange(len(shape))] *= draw.choice([1, 1, 30])
    x = module.array(numpy.arange(numpy.prod(shape), dtype=float).reshape(shape))
    for _ in range(draw.choice([0, 1, 1, 2])):
        form, axis = draw.choice(["T", "transpose", "broadcast", "part", "reversed", "F"]), draw.randrange(x.ndim)
        lead = (slice(None),) * axis
        if form == "T":
            x = x.T
        elif form == "transpose":
            x = x.transpose(draw.sample(range(x.ndim), x.ndim))
        elif form == "broadcast":
            x = module.broadcast_to(x[(*lead, slice(0, 1))], x.shape)
        elif form == "part" and x.shape[axis] > 2:
            x = x[(*lead, slice(1, None))]
        elif form == "reversed":
            x = x[(*lead, slice(None, None, -1))]
        elif form == "F":
            x = module.asfortranarray(x)
    return x


@pytest.mark.once
@pytest.mark.parametrize("limit", [None, 0], ids=["default", "queued"])
@pytest.mark.parametrize("call", CALLS)
def test_results_lie_as_numpys(call, limit):
    for seed in range(60):
        ends = []
        for module in (numpy, np):
            with configured(limit=limit):
                x = laid_out(module, random.Random(f"{call} {seed}"))
                result = eval(call, {"np": module, "numpy": numpy, "x": x})
                steps = [s for s, n in zip(result.strides, result.shape) if n != 1 and result.size]
                ends.append([result.shape, steps])
        assert ends[0] == ends[1], (seed, x.shape, x.strides)
