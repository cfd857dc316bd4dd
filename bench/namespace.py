"""The names of NumPy that programs use most, one statement each, on small arrays: what a call costs beside NumPy's."""
import math

import numpy

from .registry import experiment

# x, y: floats; i: integers; k: places in them; m: a mask; a, b: matrices of n elements; w: to be written into.
STATEMENTS = """
np.zeros(n)                 np.ones(n)                  np.empty(n)                 np.full(n, 2.5)
np.zeros(a.shape)           np.zeros(n, int)            np.zeros_like(x)            np.ones_like(x)
np.empty_like(x)            np.full_like(x, 2.5)        np.arange(n)                np.arange(0.0, n, 1.0)
np.linspace(0, 1, n)        np.eye(5)                   np.array(values)            np.asarray(values)
np.array(x)                 np.asarray(x)               np.copy(x)                  np.array([1, 2, 3])
np.concatenate([x, y])      np.stack([x, y])            np.vstack([x, y])           np.hstack([x, y])
np.append(x, 1.0)           np.tile(x, 2)               np.repeat(x, 2)             np.split(y2, 2)
np.reshape(x, (-1, 1))      np.ravel(a)                 np.transpose(a)             np.expand_dims(x, 0)
np.squeeze(x2)              np.swapaxes(a, 0, 1)        np.moveaxis(a, 0, 1)        np.broadcast_to(x, (2, n))
np.flip(x)                  np.roll(x, 1)               np.diag(x[:9])              np.diag(a)
np.tril(a)                  np.meshgrid(x[:9], x[:9])   np.add(x, y)                np.multiply(x, 2.0)
np.sqrt(x)                  np.exp(x)                   np.abs(x)                   np.maximum(x, y)
np.power(x, 2)              np.where(m, x, y)           np.where(m, x, 0.0)         np.clip(x, 0.2, 0.8)
x.clip(0.2, 0.8)            np.round(x)                 np.isnan(x)                 np.logical_and(m, m)
np.isclose(x, y)            np.allclose(x, y)           np.array_equal(x, y)        np.add(x, y, out=w)
np.sum(x)                   a.sum(axis=0)               np.mean(x)                  a.mean(axis=1)
np.std(x)                   np.var(a, axis=0)           np.max(x)                   a.max(axis=1)
np.min(x)                   np.prod(x)                  np.any(m)                   np.all(m)
np.argmax(x)                x.argmin()                  np.argmax(a, axis=1)        np.cumsum(x)
np.count_nonzero(m)         np.median(x)                np.percentile(x, 50)        np.average(x)
np.nanmean(x)               np.nansum(x)                np.diff(x)                  np.ptp(x)
np.sort(x)                  np.argsort(x)               w.sort()                    np.unique(i)
np.searchsorted(x, 0.5)     np.searchsorted(x, y)       np.nonzero(m)               np.bincount(i)
np.take(x, k)               x.take(k)                   x[k]                        x[m]
a[0]                        a[:, 0]                     a[0, 0]                     x[1:]
x[0]                        x[-1]                       float(x[0])                 x[0].item()
x.item(0)                   w[0] = 1.0                  c[0, 0] = 1.0               c[0] = a[0]
w[:] = x                    w[:] = 0.0                  w[k] = 1.0                  w[m] = 0.0
w += 1.0                    w[0] += 1.0                 for e in x: pass            for e in a: pass
len(x)                      x < 0.5                     x == y                      (x < 0.5).any()
bool(x[0] < 0.5)            x.tolist()                  x.astype(int)               x.copy()
x.reshape(-1, 1)            x.shape                     x.dtype                     a.T
np.dot(x, y)                np.matmul(x, y)             np.matmul(a, a.T)           np.dot(a, a.T)
x @ y                       a @ a.T                     np.outer(x[:9], y[:9])      np.inner(x, y)
np.einsum('i,i->', x, y)    np.einsum('ij,kj->ik', a, a)    np.tensordot(a, a, 2)   np.vdot(x, y)
np.linalg.norm(x)           np.linalg.inv(s)            np.linalg.solve(s, s[0])    np.linalg.det(s)
np.random.rand(n)           np.random.randn(n)          np.random.normal(size=n)    np.random.uniform(size=n)
np.random.randint(0, 9, n)  np.random.random()          rng.random(n)               rng.normal(size=n)
rng.integers(0, 9, n)       np.interp(x, x, y)          np.fft.fft(x)               np.pad(x, 1)
"""


def statements():
    """Each of them; two spaces or more part those of one line."""
    return [part.strip() for line in STATEMENTS.split("\n") for part in line.split("  ") if part.strip()]


def _values(n):
    rng = numpy.random.default_rng(0)
    x, y = numpy.sort(rng.random(n)), rng.random(n)
    a = x.reshape(max(d for d in range(1, math.isqrt(n) + 1) if n % d == 0), -1)
    return {"n": n, "x": x, "y": y, "x2": x.reshape(1, -1), "y2": numpy.concatenate([y, y]), "a": a, "c": a.copy(),
            "w": y.copy(), "m": y < 0.5, "i": rng.integers(0, 9, n), "k": rng.integers(0, n, n), "values": x.tolist(),
            "s": rng.random((3, 3)) + 3 * numpy.eye(3)}


@experiment("namespace", "the most used names, a call of each on n elements; worst first", limit="1.1 x NumPy",
            sizes=(1, 1000), size_is="elements")
def namespace(run):
    for size in run.sizes:
        rows = [run.against_numpy(f"{stmt}, {size}", stmt, _values(size), before="rng = np.random.default_rng(0)",
                                  number=None, repeat=9, limit=1.1, size=size) for stmt in statements()]
        yield from sorted(rows, key=lambda row: -row.measured)
