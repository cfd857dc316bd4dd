"""Values and gradients against PyTorch's, first and second order, in float64. `pip install torch` makes this file run.

A case is a call, and PyTorch's call of the same meaning. Their results are compared, then the products of random
numbers with the derivatives of these, and of random numbers with the derivatives of those products in turn. What
PyTorch defines otherwise is left out: what two equal elements of maximum() have of its gradient, for one.
"""

import re

import numpy
import pytest

from dflow import autograd, gluon, npx
from dflow import numpy as np

torch = pytest.importorskip("torch")
F, sequences = torch.nn.functional, torch.nn.utils.rnn


def _points():
    """The arrays that calls name. i, j, k are indices, l labels, m and o masks, n is taller than wide, z complex."""
    rng = numpy.random.default_rng(3)
    normal, uniform = rng.standard_normal, rng.uniform
    return {
        "a": normal((4, 4)) + 4 * numpy.eye(4), "b": normal((4, 2)), "c": normal((2, 3, 3)) + 3 * numpy.eye(3),
        "d": normal((2, 6, 9)), "e": normal((2, 6, 8, 7)), "f": normal((2, 2, 5, 4, 6)), "g": normal(6), "h": normal(6),
        "i": rng.integers(0, 3, (3, 4)), "j": numpy.array([2, 0, 2, 1]), "k": numpy.array([1, 1, 0, 2]),
        "l": numpy.array([1, 3, 0]), "m": numpy.arange(12).reshape(3, 4) % 3 > 0, "n": normal((5, 3)),
        "o": numpy.array([True, False, True]),
        "p": uniform(0.5, 2, (3, 4)), "q": uniform(0.5, 2, 6),
        "r": numpy.array([[1.0, 2, 2], [3, 3, 3]]), "s": numpy.sign(normal((3, 4))), "t": normal((2, 3, 4)),
        "u": uniform(-0.9, 0.9, (3, 4)), "v": normal(4), "w": normal(3), "x": normal((3, 4)), "y": normal((3, 4)),
        "z": normal((3, 4)) + 1j * normal((3, 4)),
        "X": normal((200, 150)), "Y": normal((150, 80)), "Z": uniform(0.5, 2, 150),     # enough to be computed later
    }


POINTS = _points()


def stored(x, key, value):
    """A copy of x with a value at an index."""
    x = x * 1
    x[key] = value
    return x


def changed(x, key, value):
    """A copy of x, part of which was multiplied, then added to."""
    x = x * 1
    x[key] *= value
    x += value.sum()
    return x


def after(x, write):
    """A copy of x that a function has written to."""
    x = x * 1
    write(x)
    return x


# -- the comparison --------------------------------------------------------------------------------

class Ours:
    names = {"np": np, "npx": npx, "loss": gluon.loss}
    grad = staticmethod(autograd.grad)

    @staticmethod
    def array(x):
        x = np.array(x)
        if x.dtype.kind in "fc":
            x.attach_grad()
        return x


class Theirs:
    names = {"np": torch, "F": F, "torch": torch}
    grad = staticmethod(torch.autograd.grad)

    @staticmethod
    def array(x):
        return torch.tensor(x, requires_grad=x.dtype.kind in "fc")


def listed(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def random_like(x, rng):
    """Random numbers of x's shape, complex ones if x is."""
    shape, imaginary = tuple(x.shape), 1j if "complex" in str(x.dtype) else 0
    return numpy.asarray(rng.standard_normal(shape) + imaginary * rng.standard_normal(shape))


def derivatives(library, function, points):
    """What a function of arrays gives at points, then the products with its derivatives, order by order."""
    rng = numpy.random.default_rng(5)
    arrays = {name: library.array(x) for name, x in points.items()}
    variables = [arrays[name] for name, x in points.items() if x.dtype.kind in "fc"]
    with autograd.record(train_mode=False):
        nothing = sum((0 * x).real.sum() for x in variables)        # so all depends on all of them
        found = [[x + nothing for x in listed(function(library, **arrays))]]
        for _ in range(2):
            weights = [library.array(random_like(x, rng)) for x in found[-1]]
            found.append([x + nothing for x in library.grad(found[-1], variables, weights, create_graph=True)])
    return [[numpy.asarray(x.detach()) for x in some] for some in found]


def assert_close(ours, theirs, what):
    assert ours.shape == theirs.shape, what
    scale = 1 + abs(theirs).max(initial=0)
    numpy.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * scale, err_msg=what)


def compare(ours, theirs, points):
    """Compares two functions, each of its library and arrays."""
    results = [derivatives(*each, points) for each in ((Ours, ours), (Theirs, theirs))]
    for name, mine, others in zip(("value", "first order", "second order"), *results):
        for k, (x, y) in enumerate(zip(mine, others, strict=True)):
            assert_close(x, y, f"{name}, {k}")


# -- calls -----------------------------------------------------------------------------------------

# The same text, where np is dflow.numpy or torch.
SAME = """
np.exp(x); np.exp2(x); np.expm1(x); np.sin(x); np.cos(x); np.tan(u); np.sinh(x); np.cosh(x); np.tanh(x); np.arctan(x)
np.arcsinh(x); np.square(x); np.absolute(x); np.abs(z); np.negative(x); np.positive(x); np.sinc(x); np.i0(x)
np.deg2rad(x); np.rad2deg(x); np.sign(x); np.floor(x); np.ceil(x); np.trunc(x); np.round(x); np.nan_to_num(x)
np.log(p); np.log2(p); np.log10(p); np.log1p(p); np.sqrt(p); np.reciprocal(p); np.arccosh(1 + p)
np.arcsin(u); np.arccos(u); np.arctanh(u); np.real(z); np.imag(z); np.angle(z); np.exp(z); np.sqrt(z); np.tanh(z)
np.add(x, v); np.subtract(x, v); np.multiply(x, v); np.divide(x, p); np.true_divide(v, p); np.maximum(x, y)
np.minimum(x, v); np.fmax(x, y); np.fmin(x, y); np.hypot(x, y); np.copysign(x, y); np.logaddexp(x, y)
np.logaddexp2(x, v); np.arctan2(x, y); np.arctan2(x, v); np.fmod(x, p); np.remainder(x, p); np.float_power(p, x)
np.ldexp(x, i); np.multiply(z, x); np.divide(x, z)
x ** 2; x ** 3; x ** 1; x ** 0; x ** -1; p ** 0.5; p ** 2.5; p ** x; p ** v; 2.0 ** x; 1 - x; 1 / p; x % 0.75
abs(x); -x; x + z; z * z; z ** 3; (x - 1) / (y * y + 1); x * x.T[0, 0]; x @ x.T
np.where(m, x, v); np.where(x > y, x * y, y); np.clip(x, -0.5, 0.7); np.clip(x, -p, p); np.clip(x, v, v + 1)
np.clip(r, 2, 3); np.abs(r - 2); (r - 1) ** 2; np.sign(r - 2); np.max(r)

np.sum(t); np.sum(t, axis=1); np.sum(t, axis=(0, 2), keepdims=True); np.mean(t); np.mean(t, axis=(1, 2))
np.mean(t, axis=-1, keepdims=True); np.prod(t); np.prod(t, axis=1); np.prod(t, axis=2, keepdims=True)
np.amax(t); np.amax(t, axis=1); np.amin(t, axis=(0, 2)); np.amax(r, axis=1); np.amin(r, axis=1, keepdims=True)
np.max(t); np.min(t); np.var(t, correction=0); np.var(t, axis=1, correction=1); np.var(x, axis=(0, 1), correction=2)
np.std(t, axis=2, correction=1); np.std(x, axis=0, correction=0, keepdims=True); np.cumsum(t, axis=1)
np.cumprod(t, axis=2); np.nansum(t, axis=1); np.nanmean(t, axis=1); np.trapezoid(t); np.trapezoid(t, v); np.cov(x)
np.corrcoef(x); np.diff(t, 1, 1); np.diff(t, 2); np.trace(a); np.quantile(t, 0.3, 1)

np.moveaxis(t, 0, 2); np.swapaxes(t, 0, 2); np.reshape(t, (4, 6)); np.ravel(t); np.squeeze(t[:, :1], 1); x.T
np.broadcast_to(v, (2, 3, 4)); np.concatenate([x, y], axis=1); np.concatenate([x, v[None]]); np.stack([x, y], axis=1)
np.hstack([x, y]); np.vstack([x, v]); np.dstack([x, y]); np.column_stack([w, x]); np.hsplit(x, 2); np.vsplit(e, 2)
np.dsplit(t, 2); np.roll(t, 2, 1); np.roll(t, (1, -2), (0, 2)); np.roll(x, 5); np.flip(t, (0, 2)); np.fliplr(x)
np.flipud(x); np.rot90(t, 1, (0, 2)); np.tile(x, (2, 3)); np.tile(v, (2, 1, 2)); np.diag(v); np.diag(v, 1)
np.diag(a, -1); np.diagonal(a, 1); np.diagonal(t, 0, 1, 2); np.diagflat(v, 1); np.tril(a, -1); np.triu(t, 1)
np.tril(x); np.kron(x, b); np.kron(w, v); np.outer(v, w); np.meshgrid(v, w, indexing="ij"); np.atleast_2d(v)
np.take(x, j); np.hstack([v, w]) * np.hstack([w, v])

x[1]; x[1:, ::2]; x[..., None, 1]; t[:, -1, 1:3]; x[m]; x[o]; t[:, o]; t[:, m]; x[j]; x[j, k]; x[j[:3], 1:]; t[:, j]
t[0, j, k]; x[i, j]; t[..., k]; t[:, j][:, :, k]; t[:, j, None, k]
stored(x, 1, v); stored(x, s_[:, 1], w); stored(x, s_[1:, ::2], x[:2, :2]); stored(x, m, 0.5); stored(x, j[1:], y)
stored(x, s_[j[1:], k[:3]], w); stored(t, s_[..., 0], x[:, 0]); stored(x, s_[:, :2], y[:, 1:3])
changed(x, 1, v); changed(x, s_[:, 1], w); changed(t, s_[:, ::2], v)

np.matmul(v, v); np.matmul(x, v); np.matmul(w, x); np.matmul(x, a); np.matmul(t, a); np.matmul(t, b); np.matmul(t, v)
np.matmul(v, e[0, 0, :4]); np.matmul(c, t); np.matmul(c[0], t); np.matmul(c[:, None], c); np.matmul(w, t)
np.matmul(z, z.T)
np.dot(v, v); np.inner(x, y); np.inner(t, x); np.vdot(v, v); np.tensordot(t, x, ([1, 2], [0, 1]))
np.tensordot(t, b, ([2], [0])); np.tensordot(t, t, ([0, 1], [0, 1])); np.einsum("ijk,jk->i", t, x)
np.einsum("ij,jk,kl", x, a, b); np.einsum("ii", a); np.einsum("ii->i", a); np.einsum("ij->ji", x)
np.einsum("...j,j", t, v); np.einsum("...ij,...jk", c, t); np.einsum("ij->", x); np.einsum("i,j->ij", v, w)
np.einsum("ij,ij->j", x, y); np.einsum("bij,bkj->bik", t, t); np.linalg.multi_dot([x, a, b])
np.linalg.matrix_power(a, 3); np.linalg.matrix_power(c, -2); np.linalg.matrix_power(a, 0)
np.linalg.cross(x[:, :3], y[:, :3]); np.linalg.cross(w[None], x[:, :3]); np.linalg.vecdot(x, y); np.linalg.vecdot(x, v)

np.linalg.inv(a); np.linalg.inv(c); np.linalg.solve(a, b); np.linalg.solve(a, v); np.linalg.solve(c, t)
np.linalg.solve(c, c[0]); np.linalg.det(a); np.linalg.det(c); np.linalg.slogdet(a)[1]; np.linalg.slogdet(c)[1]
np.linalg.cholesky(a @ a.T); np.linalg.cholesky(c @ c.swapaxes(1, 2)); np.linalg.eigvalsh(a + a.T)
np.linalg.eigh(a + a.T)[0]; np.linalg.eigh(c + c.swapaxes(1, 2))[1] ** 2; np.linalg.eigvals(a)
np.abs(np.linalg.eig(a)[1]); np.linalg.svdvals(n); np.linalg.svdvals(c); np.linalg.svdvals(x)
np.linalg.svd(n, full_matrices=False)[1]; np.linalg.svd(n, full_matrices=False)[0] ** 2
np.linalg.svd(x, full_matrices=False)[2] ** 2; np.linalg.qr(n); np.linalg.qr(x); np.linalg.qr(c)
np.linalg.qr(a, "complete"); np.linalg.pinv(n); np.linalg.pinv(x); np.linalg.pinv(c); np.linalg.lstsq(n, d[0, :5])[0]
np.linalg.norm(x); np.linalg.norm(t); np.linalg.norm(v, 3); np.linalg.norm(x, 1); np.linalg.norm(x, -1)
np.linalg.norm(x, 2); np.linalg.norm(x, -2); np.linalg.norm(x, "fro"); np.linalg.norm(x, "nuc"); np.linalg.norm(x, inf)
np.linalg.norm(x, None, 1); np.linalg.norm(x, 1, 0); np.linalg.norm(x, inf, 1); np.linalg.norm(t, 2.5, 1, True)
np.linalg.norm(t, 2, (1, 2)); np.linalg.norm(t, "nuc", (0, 2)); np.linalg.vector_norm(t, ord=3)
np.linalg.matrix_norm(t, ord="nuc"); np.linalg.cond(a); np.linalg.cond(c)
np.linalg.tensorinv(a.reshape((4, 2, 2)), 1); np.linalg.tensorsolve(a.reshape((2, 2, 4)), x[:2, :2])
np.linalg.inv(z[:, :3]); np.linalg.det(z[:, :3]); np.linalg.solve(z[:, :3], w + 0j)

x.sum(1); x.mean(); x.prod(0); x.cumsum(1); x.clip(-1, 1); x.flatten(); x.reshape(4, 3); x.swapaxes(0, 1); a.trace()
v.dot(v); a.diagonal(); z.conj(); z.real * z.imag; x[0, 0] * v; np.sum(x) * x; np.mean(t) - t; np.square(x.T)
np.exp(x[:, ::2]); np.sum(x[:0]); np.prod(x[:0], axis=0); np.concatenate([x[:0], x]); x[:0] @ a; x[:, :0] @ b[:0]
np.cumsum(x[:0], axis=0)

np.exp(X); np.tanh(X) * X + X / Z; np.where(X > 0, X * Z, -X); np.sum(X * X, axis=0); np.sum(X, axis=1) * np.mean(X)
np.var(X, axis=1, correction=0); np.amax(X, axis=0); np.cumsum(X, axis=0); np.cumprod(1 + X / 9, axis=1); X @ Y; X @ X.T
np.einsum("ij,jk->k", X, Y); X.T[::2, 3:] * 2; X[X > 1]; X[:, j] * 3; np.concatenate([X, Y.T[:, :150]]) ** 2
stored(X, s_[::2, 5:], Z[5:]); changed(X, s_[:, 3:9], Z[:6]); np.linalg.inv(X[:, :60].T @ X[:, :60])
np.fft.rfft(X); np.roll(X, 7, 1) - X; np.maximum(X, Z) + np.minimum(X, -Z); np.sqrt(Z) @ np.abs(Y); X.ravel()[7::3]
np.prod(1 + X[:, :9] / 9, axis=0); np.linalg.norm(X, None, 1); np.tril(X) - np.flip(X, (0, 1)); np.diff(X, 1, 0)

np.fft.fft(x); np.fft.fft(x, 6, 0); np.fft.fft(z, 3); np.fft.ifft(x); np.fft.ifft(z, None, 0, "forward")
np.fft.rfft(x); np.fft.rfft(x, 5, 1, "ortho"); np.fft.rfft(n, 4, 0); np.fft.irfft(z); np.fft.irfft(z, 5)
np.fft.irfft(z, 4, 0, "ortho"); np.fft.hfft(z); np.fft.ihfft(x); np.fft.fft2(t); np.fft.ifft2(z, (2, 3))
np.fft.fftn(t); np.fft.ifftn(t, None, (0, 2)); np.fft.rfft2(t); np.fft.rfftn(t, None, (0, 1)); np.fft.irfft2(z)
np.fft.irfftn(z, (3, 5), (0, 1)); np.fft.fftshift(t); np.fft.ifftshift(t, 1); abs(np.fft.rfft(x)) ** 2
"""

# Ours and PyTorch's.
OTHER = {
    "np.power(p, y)": "torch.pow(p, y)",
    "np.cbrt(p)": "p ** (1 / 3)",
    "np.expand_dims(x, 1)": "x.unsqueeze(1)",
    "np.transpose(t)": "t.permute(2, 1, 0)",
    "np.transpose(t, (1, 2, 0))": "t.permute(1, 2, 0)",
    "np.ptp(t, 1)": "t.amax(1) - t.amin(1)",
    "np.median(t, axis=1)": "t.quantile(0.5, 1)",
    "np.percentile(t, 30, axis=(0, 2))": "t.swapaxes(0, 1).reshape(3, 8).quantile(0.3, 1)",
    "np.quantile(t, [0.3, 0.8], axis=2)": "t.quantile(torch.tensor([0.3, 0.8], dtype=torch.float64), 2)",
    "np.average(x, axis=1, weights=p)": "(x * p).sum(1) / p.sum(1)",
    "np.sum(x, where=m)": "x[m].sum()",
    "np.mean(x, axis=0, where=m)": "(x * m).sum(0) / m.sum(0)",
    "np.max(x, axis=1, initial=0.1)": "x.amax(1).clip(0.1)",
    "np.logaddexp.reduce(t, axis=1)": "torch.logsumexp(t, 1)",
    "np.log(np.sum(np.exp(t), axis=1))": "torch.logsumexp(t, 1)",
    "np.maximum.accumulate(t, axis=1)": "torch.cummax(t, 1).values",
    "np.minimum.accumulate(x, axis=0)": "torch.cummin(x, 0).values",
    "np.multiply.outer(x, y)": "torch.tensordot(x, y, 0)",
    "np.gradient(x)": "torch.gradient(x)",
    "np.gradient(x, 0.5, axis=1, edge_order=2)": "torch.gradient(x, spacing=0.5, dim=1, edge_order=2)",
    "np.split(t, 2, axis=2)": "torch.split(t, 2, 2)",
    "np.array_split(e, 3, axis=3)": "torch.tensor_split(e, 3, 3)",
    "np.unstack(t, axis=1)": "torch.unbind(t, 1)",
    "np.take(x, j, axis=0)": "torch.index_select(x, 0, j)",
    "np.take(t, j, axis=1)": "torch.index_select(t, 1, j)",
    "np.take_along_axis(x, i, 1)": "torch.take_along_dim(x, i, 1)",
    "np.compress(o, t, axis=1)": "t[:, o]",
    "np.choose(i, [x, y, p])": "torch.stack([x, y, p]).gather(0, i[None])[0]",
    "np.select([x > 0.5, m], [x * y, y], 0.5)": "torch.where(x > 0.5, x * y, torch.where(m, y, 0.5))",
    "np.repeat(x, 2, axis=1)": "torch.repeat_interleave(x, 2, 1)",
    "np.repeat(x, [1, 0, 3], axis=0)": "torch.repeat_interleave(x, torch.tensor([1, 0, 3]), 0)",
    "np.delete(x, 1, axis=0)": "x[[0, 2]]",
    "np.append(x, y)": "torch.cat([x.ravel(), y.ravel()])",
    "np.pad(x, 1)": "F.pad(x, (1, 1, 1, 1))",
    "np.pad(t, ((0, 0), (1, 2), (3, 0)), constant_values=2.5)": "F.pad(t, (3, 0, 1, 2), value=2.5)",
    "np.pad(t, ((0, 0), (0, 0), (2, 1)), 'reflect')": "F.pad(t, (2, 1), 'reflect')",
    "np.pad(t, ((0, 0), (0, 0), (2, 3)), 'edge')": "F.pad(t, (2, 3), 'replicate')",
    "np.pad(t, ((0, 0), (0, 0), (4, 2)), 'wrap')": "F.pad(t, (4, 2), 'circular')",
    "np.pad(e, ((0, 0), (0, 0), (2, 1), (3, 2)), 'reflect')": "F.pad(e, (3, 2, 2, 1), 'reflect')",
    "np.convolve(v, w)": "F.conv1d(v[None, None], w.flip(0)[None, None], padding=2)[0, 0]",
    "np.correlate(v, w, 'same')": "F.conv1d(v[None, None], w[None, None], padding=1)[0, 0]",
    "np.sort(t, axis=1)": "torch.sort(t, 1).values",
    "np.sort(x, axis=None)": "torch.sort(x.ravel()).values",
    "np.polyval(w, x)": "(w[0] * x + w[1]) * x + w[2]",
    "np.vander(v, 3)": "torch.stack([v * v, v, v ** 0], 1)",
    "np.linalg.cond(a, 1)": "torch.linalg.norm(a, 1) * torch.linalg.norm(torch.linalg.inv(a), 1)",
    "np.linalg.cond(c, 'fro')": "torch.linalg.norm(c, dim=(1, 2)) * torch.linalg.norm(torch.linalg.inv(c), dim=(1, 2))",
    "np.sort(X, axis=1)": "torch.sort(X, 1).values",
    "npx.softmax(X) * Z": "torch.softmax(X, 1) * Z",
    "npx.log_softmax(X, 0)": "torch.log_softmax(X, 0)",
    "npx.layer_norm(X, Z, X[0])": "F.layer_norm(X, (150,), Z, X[0])",
    "npx.batch_norm(X, Z, X[0], Z * 1, Z * 1, 1e-5, fix_gamma=False, training=True)":
        "F.batch_norm(X, None, None, Z, X[0], True)",
    "npx.fully_connected(X, Y.T, Z[:80], no_bias=False)": "F.linear(X, Y.T, Z[:80])",
    "npx.relu(X) + npx.sigmoid(X) * npx.gelu(X)": "torch.relu(X) + torch.sigmoid(X) * F.gelu(X)",
    "npx.embedding(i, X)": "F.embedding(i, X)",
    "np.matvec(t, v)": "t @ v",
    "np.vecmat(w, t)": "w @ t",
    "np.vecdot(t, v)": "t @ v",
    "np.fabs(x)": "x.abs()",
    "np.extract(m, x)": "x[m]",
    "np.insert(x, 1, v, axis=0)": "torch.cat([x[:1], v[None], x[1:]])",
    "np.block([[x, y], [y, x]])": "torch.cat([torch.cat([x, y], 1), torch.cat([y, x], 1)])",
    "np.bincount(j, v)": "torch.zeros(3, dtype=torch.float64).index_add(0, j, v)",
    "np.resize(x, (5, 4))": "torch.tile(x, (2, 1))[:5]",
    "np.ediff1d(x)": "torch.diff(x.ravel())",
    "np.cumulative_sum(x, axis=1, include_initial=True)": "F.pad(torch.cumsum(x, 1), (1, 0))",
    "np.polyfit(v, x.T, 1)": "torch.linalg.lstsq(torch.stack([v, v ** 0], 1), x.T)[0]",
    "after(x, lambda x: np.put_along_axis(x, i[:, :1], y[:, :1], 1))": "x.scatter(1, i[:, :1], y[:, :1])",
    "after(a, lambda a: np.fill_diagonal(a, v[0]))": "a.diagonal_scatter(v[0].expand(4))",
    "after(x, lambda x: np.copyto(x, y, where=m))": "torch.where(m, y, x)",
    "after(x, lambda x: np.putmask(x, m, y))": "torch.where(m, y, x)",
    "after(x, lambda x: np.put(x, j, v))": "x.ravel().index_copy(0, j, v).reshape(3, 4)",
    "after(x, lambda x: np.multiply(x, y, out=x))": "x * y",
    "after(x, lambda x: np.exp(x, out=x, where=m))": "torch.where(m, torch.exp(x), x)",
    "after(x, lambda x: np.cumsum(x, axis=1, out=x))": "torch.cumsum(x, 1)",
    "after(x, lambda x: x[1].__imul__(v))": "x * torch.stack([v ** 0, v, v ** 0])",
    "np.multiply(x, y, where=m, out=x * 2)": "torch.where(m, x * y, x * 2)",
    "divmod(x, p)": "[torch.floor(x / p), x % p]",
    "np.add.reduceat(x, [0, 2], axis=1)": "torch.stack([x[:, :2].sum(1), x[:, 2:].sum(1)], 1)",
    "np.linalg.trace(c)": "torch.einsum('bii->b', c)",
    "np.linalg.eigvalsh(c @ c.swapaxes(1, 2), 'U')": "torch.linalg.eigvalsh(c @ c.swapaxes(1, 2), UPLO='U')",
    "np.prod(r * np.array([[1, 0, 2], [0, 1, 0]]), axis=1)": "(r * torch.tensor([[1, 0, 2], [0, 1, 0]])).prod(1)",
    "np.cumprod(stored(x, s_[1, 1], 0 * x[0, 0]), axis=1)": "torch.cumprod(stored(x, s_[1, 1], 0 * x[0, 0]), 1)",

    "npx.relu(x)": "torch.relu(x)",
    "npx.relu(r - 2)": "torch.relu(r - 2)",
    "npx.leaky_relu(r - 2)": "F.leaky_relu(r - 2, 0.25)",
    "npx.smooth_l1(r - 2)": "F.smooth_l1_loss(r - 2, 0 * r, reduction='none')",
    "npx.sigmoid(9 * x)": "torch.sigmoid(9 * x)",
    "npx.activation(x, 'tanh')": "torch.tanh(x)",
    "npx.activation(x, 'softrelu')": "F.softplus(x)",
    "npx.activation(x, 'softsign')": "F.softsign(x)",
    "npx.activation(x, 'log_sigmoid')": "F.logsigmoid(x)",
    "npx.activation(x, 'mish')": "F.mish(x)",
    "npx.gelu(x)": "F.gelu(x)",
    "npx.leaky_relu(x)": "F.leaky_relu(x, 0.25)",
    "npx.leaky_relu(x, act_type='elu', slope=0.7)": "F.elu(x, 0.7)",
    "npx.leaky_relu(x, act_type='selu')": "F.selu(x)",
    "npx.leaky_relu(x, act_type='gelu')": "F.gelu(x)",
    "npx.leaky_relu(x, v, 'prelu')": "F.prelu(x, v)",
    "npx.leaky_relu(e, g, 'prelu')": "F.prelu(e, g)",
    "npx.leaky_relu(e, g[:1], 'prelu')": "F.prelu(e, g[:1])",
    "npx.leaky_relu(x, act_type='rrelu')": "F.rrelu(x, 0.125, 0.334)",
    "npx.smooth_l1(x)": "F.smooth_l1_loss(x, 0 * x, reduction='none')",
    "npx.smooth_l1(x, 2.0)": "F.smooth_l1_loss(x, 0 * x, reduction='none', beta=0.25)",
    "npx.dropout(x, 0.3)": "F.dropout(x, 0.3, training=False)",
    "npx.erf(x)": "torch.erf(x)",
    "npx.erfinv(u)": "torch.erfinv(u)",
    "npx.gamma(p)": "torch.exp(torch.lgamma(p))",
    "npx.gammaln(p)": "torch.lgamma(p)",
    "npx.softmax(x)": "torch.softmax(x, -1)",
    "npx.softmax(t, 1, temperature=2.5)": "torch.softmax(t / 2.5, 1)",
    "npx.softmax(x, -1, l + 1, use_length=True)":
        "torch.softmax(torch.where(torch.arange(4) <= l[:, None], x, -inf), -1)",
    "npx.log_softmax(t, 0)": "torch.log_softmax(t, 0)",
    "npx.masked_softmax(x, m)": "torch.softmax(torch.where(m, x, -inf), -1)",
    "npx.masked_log_softmax(x, m, 0)[m]": "torch.log_softmax(torch.where(m, x, -inf), 0)[m]",
    "npx.layer_norm(x, v, p[0])": "F.layer_norm(x, (4,), v, p[0])",
    "npx.layer_norm(t, w, x[:, 0], 1, 1e-3)": "F.layer_norm(t.mT, (3,), w, x[:, 0], 1e-3).mT",
    "npx.group_norm(e, g, h, 3)": "F.group_norm(e, 3, g, h, 1e-3)",
    "npx.group_norm(d, g, h, 6, 1e-5)": "F.group_norm(d, 6, g, h)",
    "npx.instance_norm(e, g, h)": "F.instance_norm(e, weight=g, bias=h, eps=1e-3)",
    "npx.l2_normalization(x)": "F.normalize(x)",
    "npx.batch_norm(e, g, h, h.detach(), q.detach(), fix_gamma=False)":
        "F.batch_norm(e, h.detach(), q.detach(), g, h, eps=1e-3)",
    "npx.batch_norm(e, g, h, h.detach(), q.detach(), 1e-5, use_global_stats=True, training=True)":
        "F.batch_norm(e, h.detach(), q.detach(), torch.ones_like(g), h)",
    "npx.batch_norm(e, g, h, q * 1, q * 1, 1e-5, fix_gamma=False, training=True)":
        "F.batch_norm(e, None, None, g, h, True)",
    "npx.batch_norm(d, g, h, q * 1, q * 1, 1e-5, training=True)":
        "F.batch_norm(d, None, None, torch.ones_like(g), h, True)",
    "npx.batch_norm(t, v, w[0] + v, v * 1, v * v, 1e-5, fix_gamma=False, axis=2, training=True)":
        "F.batch_norm(t.mT, None, None, v, w[0] + v, True).mT",
    "npx.fully_connected(x, a)": "F.linear(x, a)",
    "npx.fully_connected(x, a, v, no_bias=False)": "F.linear(x, a, v)",
    "npx.fully_connected(t, a, v, no_bias=False, flatten=False)": "F.linear(t, a, v)",
    "npx.fully_connected(c, d[0])": "F.linear(c.flatten(1), d[0])",
    "npx.batch_dot(c, t)": "torch.bmm(c, t)",
    "npx.batch_dot(t, t, transpose_b=True)": "torch.bmm(t, t.mT)",
    "npx.batch_dot(c, t, True)": "torch.bmm(c.mT, t)",
    "npx.embedding(i, n)": "F.embedding(i, n)",
    "npx.pick(x, l)": "x.gather(1, l[:, None])[:, 0]",
    "npx.pick(x, j, axis=0, keepdims=True)": "x.gather(0, j[None])",
    "npx.one_hot(j, 5, 2.0, 0.5, 'float64') * v[:, None]": "(F.one_hot(j, 5) * 1.5 + 0.5) * v[:, None]",
    "npx.topk(x, k=2, ret_typ='value')": "torch.topk(x, 2).values",
    "npx.topk(x, 0, 2, ret_typ='value', is_ascend=True)": "torch.topk(x, 2, 0, False).values",
    "npx.gather_nd(t, np.stack([o * 1, j[:3]]))": "t[o * 1, j[:3]]",
    "npx.index_add(x, j[None], a)": "x.index_add(0, j, a)",
    "npx.index_update(x, j[None, 1:], y)": "stored(x, j[1:], y)",
    "npx.scatter_nd(w, np.stack([j[1:], k[1:]]), (3, 4))": "stored(0 * x, (j[1:], k[1:]), w)",
    "npx.boolean_mask(x, o)": "x[o]",
    "npx.sequence_mask(x, l, True, axis=1)": "x * (torch.arange(4) < l[:, None])",

    "loss.L2Loss()(x, y)": "F.mse_loss(x, y, reduction='none').mean(1) / 2",
    "loss.L1Loss(weight=3)(x, y)": "3 * F.l1_loss(x, y, reduction='none').mean(1)",
    "loss.SigmoidBCELoss()(x, p / 2)": "F.binary_cross_entropy_with_logits(x, p / 2, reduction='none').mean(1)",
    "loss.SigmoidBCELoss()(x, p / 2, pos_weight=v.detach() ** 2)":
        "F.binary_cross_entropy_with_logits(x, p / 2, pos_weight=v.detach() ** 2, reduction='none').mean(1)",
    "loss.SoftmaxCELoss()(x, l)": "F.cross_entropy(x, l, reduction='none')",
    "loss.SoftmaxCELoss(axis=1)(t, j.reshape((1, 4)) * np.ones((2, 1)))":
        "F.cross_entropy(t, j.expand(2, 4), reduction='none').mean(1)",
    "loss.SoftmaxCELoss(sparse_label=False)(x, p)": "F.cross_entropy(x, p, reduction='none')",
    "loss.SoftmaxCELoss(from_logits=True)(x, l)": "F.nll_loss(x, l, reduction='none')",
    "loss.SoftmaxCELoss()(x, l, w[:, None])": "F.cross_entropy(x, l, reduction='none') * w",
    "loss.HuberLoss()(x, y)": "F.huber_loss(x, y, reduction='none').mean(1)",
    "loss.HuberLoss(0.5)(x, y)": "F.huber_loss(x, y, reduction='none', delta=0.5).mean(1) / 0.5",
    "loss.HingeLoss()(x, s)": "F.relu(1 - x * s).mean(1)",
    "loss.SquaredHingeLoss(0.5)(x, s)": "F.relu(0.5 - x * s).square().mean(1)",
    "loss.LogisticLoss()(x, s.detach())": "-F.logsigmoid(x * s.detach()).mean(1)",
    "loss.PoissonNLLLoss()(x, p)": "F.poisson_nll_loss(x, p, reduction='none').mean(1)",
    "loss.PoissonNLLLoss(from_logits=False)(p, y * y)":
        "F.poisson_nll_loss(p, y * y, log_input=False, reduction='none').mean(1)",
    "loss.PoissonNLLLoss(compute_full=True)(x, 2 * p)":
        "F.poisson_nll_loss(x, 2 * p, full=True, reduction='none').mean(1)",
    "loss.CosineEmbeddingLoss(margin=0.1)(x, y, s[:, 0])":
        "F.cosine_embedding_loss(x, y, s[:, 0], margin=0.1, reduction='none')",
    "loss.TripletLoss(0.5)(x, y, p)": "F.relu((x - y).square().sum(1) - (x - p).square().sum(1) + 0.5)",
}

CALLS = {**{text: text for text in re.split(r"; |\n+", SAME.strip())}, **OTHER}
SHARED = {"stored": stored, "changed": changed, "after": after, "s_": numpy.s_, "inf": numpy.inf}


def compare_calls(ours, theirs):
    texts, words = {Ours: ours, Theirs: theirs}, set(re.findall(r"\b[a-zA-Z]\b", ours + theirs))

    def run(library, **arrays):
        return eval(texts[library], {**SHARED, **library.names, **arrays})

    compare(run, run, {name: x for name, x in POINTS.items() if name in words})


@pytest.mark.parametrize("text", CALLS)
def test_calls(text):
    compare_calls(text, CALLS[text])


def test_running_statistics():
    """The variances that PyTorch keeps are those of n - 1; ours, as MXNet's, of n."""
    mean, var = np.zeros(6), np.ones(6)
    theirs = torch.zeros(6, dtype=torch.float64), torch.ones(6, dtype=torch.float64)
    x, n = POINTS["e"], POINTS["e"].size // 6
    for _ in range(3):
        npx.batch_norm(np.array(x), np.ones(6), np.ones(6), mean, var, momentum=0.7, training=True)
        F.batch_norm(torch.tensor(x), *theirs, training=True, momentum=0.3)
    assert_close(mean.asnumpy(), theirs[0].numpy(), "mean")
    assert_close(var.asnumpy() - 0.343, (theirs[1].numpy() - 0.343) * (n - 1) / n, "variance")


# -- convolutions and pooling ----------------------------------------------------------------------

# The shapes of data and weight, and what convolution() is told besides.
CONVOLUTIONS = [
    ((2, 3, 9), (4, 3, 3), {}),
    ((2, 3, 9), (4, 3, 3), {"stride": 2, "pad": 1}),
    ((2, 4, 11), (6, 2, 3), {"stride": 3, "dilate": 2, "pad": 3, "num_group": 2}),
    ((2, 3, 50), (2, 3, 4), {"pad": 2}),
    ((2, 3, 5, 6), (4, 3, 1, 1), {}),
    ((2, 3, 6, 7), (4, 3, 2, 3), {"stride": (2, 1), "pad": (1, 2)}),
    ((2, 3, 8, 9), (4, 3, 3, 2), {"dilate": (2, 3), "stride": (1, 2)}),
    ((2, 6, 7, 7), (6, 1, 3, 3), {"num_group": 6, "pad": 1}),
    ((1, 4, 6, 6), (6, 2, 6, 6), {"num_group": 2}),
    ((4, 3, 20, 20), (6, 3, 5, 5), {}),
    ((4, 3, 20, 20), (5, 3, 5, 5), {"pad": 2}),
    ((2, 4, 20, 19), (6, 2, 3, 3), {"pad": (1, 2), "dilate": (2, 1), "num_group": 2}),
    ((2, 3, 24, 20), (4, 3, 5, 5), {"stride": (2, 1), "pad": 2}),
    ((2, 3, 24, 20), (4, 3, 5, 5), {"stride": 2, "pad": 2}),
    ((17, 2, 12, 12), (33, 2, 3, 3), {}),
    ((2, 2, 4, 5, 6), (3, 2, 2, 3, 2), {}),
    ((2, 4, 5, 4, 6), (4, 2, 2, 3, 2), {"stride": (1, 2, 2), "dilate": (2, 1, 1), "pad": (0, 1, 1), "num_group": 2}),
    ((2, 2, 8, 9, 10), (3, 2, 3, 3, 3), {"pad": 1}),
]
TRANSPOSED = [
    ((2, 3, 7), (3, 4, 3), {}),
    ((2, 4, 7), (4, 3, 4), {"stride": 3, "pad": 2, "adj": 1, "num_group": 2}),
    ((2, 3, 4, 5), (3, 2, 2, 3), {"stride": (2, 3), "pad": (1, 2), "adj": (1, 0)}),
    ((2, 3, 4, 5), (3, 2, 3, 2), {"dilate": (2, 1), "stride": (1, 2)}),
    ((2, 4, 5, 5), (4, 1, 3, 3), {"num_group": 4}),
    ((4, 3, 20, 20), (3, 5, 5, 5), {}),
    ((4, 3, 20, 20), (3, 5, 5, 5), {"pad": 2}),
    ((2, 4, 16, 18), (4, 2, 4, 4), {"stride": 2, "pad": 1, "num_group": 2}),
    ((2, 2, 3, 4, 5), (2, 3, 2, 2, 3), {"stride": (1, 2, 2), "pad": (0, 1, 0)}),
]
THEIR_NAMES = {"pad": "padding", "dilate": "dilation", "num_group": "groups", "adj": "output_padding"}


def compare_convolutions(ours, theirs, shape, weight_shape, filters, options):
    n, rng = len(shape) - 2, numpy.random.default_rng(7)
    given = {name: (value,) * n if isinstance(value, int) and name != "num_group" else value
             for name, value in options.items()}
    renamed = {THEIR_NAMES.get(name, name): value for name, value in given.items()}

    def run(library, x, weight, bias):
        if library is Ours:
            return ours(x, weight, bias, weight_shape[2:], num_filter=filters, **given)
        return getattr(F, f"{theirs}{n}d")(x, weight, bias, **renamed)

    compare(run, run, {"x": rng.standard_normal(shape), "weight": rng.standard_normal(weight_shape),
                       "bias": rng.standard_normal(filters)})


@pytest.mark.parametrize("shape, weight_shape, options", CONVOLUTIONS)
def test_convolution(shape, weight_shape, options):
    compare_convolutions(npx.convolution, "conv", shape, weight_shape, weight_shape[0], options)


@pytest.mark.parametrize("shape, weight_shape, options", TRANSPOSED)
def test_deconvolution(shape, weight_shape, options):
    filters = weight_shape[1] * options.get("num_group", 1)
    compare_convolutions(npx.deconvolution, "conv_transpose", shape, weight_shape, filters, options)


# Of arrays of one, two and three spatial axes.
POOLING = {
    "npx.pooling(d, 3)": "F.max_pool1d(d, 3, 1)",
    "npx.pooling(d, 3, 2, 1)": "F.max_pool1d(d, 3, 2, 1)",
    "npx.pooling(e, (2, 3), (2, 1))": "F.max_pool2d(e, (2, 3), (2, 1))",
    "npx.pooling(e, 3, 2, 1, pooling_convention='full')": "F.max_pool2d(e, 3, 2, 1, ceil_mode=True)",
    "npx.pooling(e, global_pool=True)": "F.adaptive_max_pool2d(e, 1)",
    "npx.pooling(f, (2, 2, 3), 2, (0, 1, 1))": "F.max_pool3d(f, (2, 2, 3), 2, (0, 1, 1))",
    "npx.pooling(d, 3, 2, pool_type='avg')": "F.avg_pool1d(d, 3, 2)",
    "npx.pooling(e, 3, 2, 1, 'avg')": "F.avg_pool2d(e, 3, 2, 1)",
    "npx.pooling(e, 3, 2, 1, 'avg', count_include_pad=False)": "F.avg_pool2d(e, 3, 2, 1, count_include_pad=False)",
    "npx.pooling(e, 2, 2, 0, 'avg', 'full')": "F.avg_pool2d(e, 2, 2, 0, True)",
    "npx.pooling(e, 3, 2, 1, 'avg', 'full', count_include_pad=False)": "F.avg_pool2d(e, 3, 2, 1, True, False)",
    "npx.pooling(e, pool_type='avg', global_pool=True)": "F.adaptive_avg_pool2d(e, 1)",
    "npx.pooling(f, 2, (1, 2, 2), (0, 1, 1), 'avg')": "F.avg_pool3d(f, 2, (1, 2, 2), (0, 1, 1))",
    "npx.pooling(e, 2, 2, pool_type='sum')": "F.avg_pool2d(e, 2, 2, divisor_override=1)",
    "npx.pooling(e * e, 2, 2, pool_type='lp', p_value=3)": "F.lp_pool2d(e * e, 3, 2)",
    "npx.pooling(np.tile(e, (1, 1, 3, 3)), (20, 18), 3)": "F.max_pool2d(torch.tile(e, (1, 1, 3, 3)), (20, 18), 3)",
    "npx.pooling(np.tile(e, (1, 1, 3, 3)), (20, 18), 3, 0, 'avg')":
        "F.avg_pool2d(torch.tile(e, (1, 1, 3, 3)), (20, 18), 3)",
}


@pytest.mark.parametrize("text", POOLING)
def test_pooling(text):
    compare_calls(text, POOLING[text])


# -- recurrent networks ----------------------------------------------------------------------------

# mode, layers, directions, projection, lengths of the sequences
RECURRENT = [
    ("rnn_relu", 1, 1, 0, None), ("rnn_tanh", 2, 2, 0, None), ("lstm", 1, 1, 0, None), ("lstm", 2, 2, 0, None),
    ("lstm", 2, 1, 2, None), ("gru", 1, 1, 0, None), ("gru", 2, 2, 0, None), ("rnn_tanh", 1, 1, 0, [2, 4]),
    ("lstm", 2, 2, 0, [1, 4]), ("gru", 2, 2, 0, [4, 3])]


def module_of(mode, layers, directions, projection):
    options = {"num_layers": layers, "bidirectional": directions == 2, "dtype": torch.float64}
    if mode == "lstm":
        return torch.nn.LSTM(2, 3, proj_size=projection, **options)
    if mode == "gru":
        return torch.nn.GRU(2, 3, **options)
    return torch.nn.RNN(2, 3, nonlinearity=mode.removeprefix("rnn_"), **options)


@pytest.mark.parametrize("mode, layers, directions, projection, lengths", RECURRENT)
def test_rnn(mode, layers, directions, projection, lengths):
    """Of one vector of weights: all layers' weights, then all their biases."""
    module = module_of(mode, layers, directions, projection)
    shapes = [(name, p.shape) for kind in ("weight", "bias") for name, p in module.named_parameters() if kind in name]
    rng, places = numpy.random.default_rng(7), layers * directions
    points = {"x": rng.standard_normal((4, 2, 2)), "weights": rng.standard_normal(sum(s.numel() for _, s in shapes)),
              "h": rng.standard_normal((places, 2, projection or 3))}
    if mode == "lstm":
        points["c"] = rng.standard_normal((places, 2, 3))

    def ours(library, x, weights, h, c=None):
        return npx.rnn(x, weights, h, c, None if lengths is None else np.array(lengths), mode, 3, layers,
                       directions == 2, True, use_sequence_length=lengths is not None,
                       projection_size=projection or None)

    def theirs(library, x, weights, h, c=None):
        parts = weights.split([shape.numel() for _, shape in shapes])
        named = {name: part.reshape(shape) for (name, shape), part in zip(shapes, parts)}
        x = x if lengths is None else sequences.pack_padded_sequence(x, lengths, enforce_sorted=False)
        y, ends = torch.func.functional_call(module, named, (x, h if c is None else (h, c)))
        return [y if lengths is None else sequences.pad_packed_sequence(y)[0], *listed(ends)]

    compare(ours, theirs, points)


# -- optimizers ------------------------------------------------------------------------------------

# Ours and PyTorch's, with what both are told. Where epsilon is 0, they put it into other places.
OPTIMIZERS = [
    ("sgd", {"learning_rate": 0.1}, "SGD", {"lr": 0.1}),
    ("sgd", {"learning_rate": 0.1, "wd": 0.2}, "SGD", {"lr": 0.1, "weight_decay": 0.2}),
    ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.2}, "SGD",
     {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.2}),
    ("nag", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.2}, "SGD",
     {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.2, "nesterov": True}),
    ("adam", {"learning_rate": 0.1, "epsilon": 0}, "Adam", {"lr": 0.1, "eps": 0}),
    ("adam", {"learning_rate": 0.1, "beta1": 0.8, "beta2": 0.95, "epsilon": 0, "wd": 0.2}, "Adam",
     {"lr": 0.1, "betas": (0.8, 0.95), "eps": 0, "weight_decay": 0.2}),
    ("adamw", {"learning_rate": 0.1, "epsilon": 0, "wd": 0.2}, "AdamW", {"lr": 0.1, "eps": 0, "weight_decay": 0.2}),
    ("rmsprop", {"learning_rate": 0.1, "rho": 0.8, "epsilon": 1e-3}, "RMSprop", {"lr": 0.1, "alpha": 0.8, "eps": 1e-3}),
    ("rmsprop", {"learning_rate": 0.1, "momentum": 0.7, "centered": True, "epsilon": 0, "wd": 0.2}, "RMSprop",
     {"lr": 0.1, "alpha": 0.9, "momentum": 0.7, "centered": True, "eps": 0, "weight_decay": 0.2}),
    ("adagrad", {"learning_rate": 0.1, "epsilon": 1e-3, "wd": 0.2}, "Adagrad",
     {"lr": 0.1, "eps": 1e-3, "weight_decay": 0.2}),
    ("adagrad", {"learning_rate": 0.1, "initial_accumulator_value": 0.5, "epsilon": 0}, "Adagrad",
     {"lr": 0.1, "initial_accumulator_value": 0.5, "eps": 0}),
    ("adadelta", {"learning_rate": 0.5, "rho": 0.8, "epsilon": 1e-3, "wd": 0.2}, "Adadelta",
     {"lr": 0.5, "rho": 0.8, "eps": 1e-3, "weight_decay": 0.2}),
]


@pytest.mark.parametrize("ours, own, theirs, options", OPTIMIZERS)
def test_optimizers(ours, own, theirs, options):
    starts = [POINTS["x"], POINTS["v"]]
    parameters = [gluon.Parameter(name, shape=x.shape, dtype="float64") for name, x in zip("xv", starts)]
    for p, x in zip(parameters, starts):
        p.initialize()
        p.set_data(np.array(x))
    trainer = gluon.Trainer(parameters, ours, own)
    tensors = [torch.tensor(x, requires_grad=True) for x in starts]
    optimizer = getattr(torch.optim, theirs)(tensors, **options)
    for step in range(5):
        with autograd.record():
            x, v = (p.data() for p in parameters)
            whole = (np.sin(x) * v + x * x).sum()
        whole.backward()
        trainer.step(1)
        optimizer.zero_grad()
        x, v = tensors
        (torch.sin(x) * v + x * x).sum().backward()
        optimizer.step()
        for p, x in zip(parameters, tensors):
            assert_close(p.data().asnumpy(), x.detach().numpy(), f"{p.name} after step {step}")


def test_training():
    """A network with the same first weights, hybridized, through ten steps."""
    nn = gluon.nn
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, padding=1, in_channels=2), nn.BatchNorm(in_channels=4), nn.Activation("relu"),
            nn.MaxPool2D(2), nn.Conv2D(6, 3, strides=2, in_channels=4, activation="sigmoid"), nn.AvgPool2D(2),
            nn.Dense(8, in_units=24, activation="tanh"), nn.LayerNorm(in_channels=8), nn.Dense(3, in_units=8))
    net.cast("float64")
    net.initialize()
    net.hybridize()
    nn = torch.nn
    other = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3, 2),
        nn.Sigmoid(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(24, 8), nn.Tanh(), nn.LayerNorm(8),
        nn.Linear(8, 3)).to(torch.float64)
    parameters = [p for name, p in net.collect_params().items() if "running" not in name]
    rng, tensors = numpy.random.default_rng(7), list(other.parameters())
    for p, tensor in zip(parameters, tensors, strict=True):
        tensor.data[...] = torch.tensor(rng.standard_normal(p.shape))
        p.set_data(np.array(tensor.detach().numpy()))
    trainer = gluon.Trainer(parameters, "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    optimizer, loss = torch.optim.SGD(tensors, 0.1, 0.9), gluon.loss.SoftmaxCELoss()
    for step in range(10):
        x, label = rng.standard_normal((5, 2, 20, 20)), rng.integers(0, 3, 5)
        with autograd.record():
            losses = loss(net(np.array(x)), np.array(label))
        losses.backward()
        trainer.step(5)
        optimizer.zero_grad()
        mean = F.cross_entropy(other(torch.tensor(x)), torch.tensor(label))
        mean.backward()
        optimizer.step()
        assert_close(losses.mean().asnumpy(), mean.detach().numpy(), f"loss of step {step}")
    for p, tensor in zip(parameters, tensors):
        assert_close(p.data().asnumpy(), tensor.detach().numpy(), p.name)
