"""The statements of the sweep over the namespace: what is called, on how much, up to which size."""
import math

import numpy

# Two spaces or more part the statements of a line. A line may begin with the most elements that its statements make
# sense for, as those that do more than n log n work soon take seconds; else that is LARGEST.
LARGEST = 10 ** 7

# n elements: x: sorted floats; y, v: floats, v with NaNs; z: complex numbers; i: integers below 9; k: places;
# m: a mask; a: a matrix; y2: 2 n; w, c: to be written into. q: a matrix of side sqrt(n), well conditioned;
# h: Hermitian; r: its first column; f: a stack of 2 x 2 matrices.
MOST = """
        np.zeros(n)                 np.ones(n)                  np.empty(n)                 np.full(n, 2.5)
        np.zeros(a.shape)           np.zeros(n, int)            np.zeros_like(x)            np.ones_like(x)
        np.empty_like(x)            np.full_like(x, 2.5)        np.arange(n)                np.arange(0.0, n, 1.0)
        np.linspace(0, 1, n)        np.eye(len(q))              np.array(x)                 np.asarray(x)
10**6   np.array(values)            np.asarray(values)          x.tolist()
        np.copy(x)                  np.array([1, 2, 3])         x.copy()                    x.astype(int)
        np.concatenate([x, y])      np.stack([x, y])            np.vstack([x, y])           np.hstack([x, y])
        np.append(x, 1.0)           np.tile(x, 2)               np.repeat(x, 2)             np.split(y2, 2)
        np.reshape(x, (-1, 1))      np.ravel(a)                 np.transpose(a)             np.expand_dims(x, 0)
        np.squeeze(x2)              np.swapaxes(a, 0, 1)        np.moveaxis(a, 0, 1)        np.broadcast_to(x, (2, n))
        np.flip(x)                  np.roll(x, 1)               np.diag(r)                  np.diag(a)
        np.tril(a)                  np.meshgrid(r, r)           np.add(x, y)                np.multiply(x, 2.0)
        np.sqrt(x)                  np.exp(x)                   np.abs(x)                   np.maximum(x, y)
        np.power(x, 2)              np.where(m, x, y)           np.where(m, x, 0.0)         np.clip(x, 0.2, 0.8)
        x.clip(0.2, 0.8)            np.round(x)                 np.isnan(x)                 np.logical_and(m, m)
        np.isclose(x, y)            np.allclose(x, y)           np.array_equal(x, y)        np.add(x, y, out=w)
        np.sum(x)                   a.sum(axis=0)               np.mean(x)                  a.mean(axis=1)
        np.std(x)                   np.var(a, axis=0)           np.max(x)                   a.max(axis=1)
        np.min(x)                   np.prod(x)                  np.any(m)                   np.all(m)
        np.argmax(x)                x.argmin()                  np.argmax(a, axis=1)        np.cumsum(x)
        np.count_nonzero(m)         np.median(y)                np.percentile(y, 50)        np.average(x)
        np.nanmean(x)               np.nansum(x)                np.diff(x)                  np.ptp(x)
        np.sort(y)                  np.argsort(y)               w.sort()                    np.unique(i)
        np.searchsorted(x, 0.5)     np.searchsorted(x, y)       np.nonzero(m)               np.bincount(i)
        np.take(x, k)               x.take(k)                   x[k]                        x[m]
        a[0]                        a[:, 0]                     a[0, 0]                     x[1:]
        x[0]                        x[-1]                       float(x[0])                 x[0].item()
        x.item(0)                   w[0] = 1.0                  c[0, 0] = 1.0               c[0] = a[0]
        w[:] = x                    w[:] = 0.0                  w[k] = 1.0                  w[m] = 0.0
        w += 1.0                    w[0] += 1.0                 bool(x[0] < 0.5)            x.reshape(-1, 1)
        len(x)                      x.shape                     x.dtype                     a.T
        x < 0.5                     x == y                      (x < 0.5).any()             for e in a: pass
10**5   for e in x: pass
        np.dot(x, y)                np.outer(r, r)              np.inner(x, y)              x @ y
10**6   np.matmul(a, a.T)           np.dot(a, a.T)              a @ a.T
10**6   np.einsum('ij,kj->ik', a, a)
        np.einsum('i,i->', x, y)    np.matmul(x, y)             np.tensordot(a, a, 2)       np.vdot(x, y)
        np.linalg.norm(x)           np.random.random()          np.interp(x, x, y)          np.pad(x, 1)
10**6   np.linalg.inv(q)            np.linalg.solve(q, r)       np.linalg.det(q)
        np.random.rand(n)           np.random.randn(n)          np.random.normal(size=n)    np.random.uniform(size=n)
        np.random.randint(0, 9, n)  rng.random(n)               rng.normal(size=n)          rng.integers(0, 9, n)
        np.fft.fft(x)
"""

OTHERS = """
        np.asanyarray(x)            np.ascontiguousarray(a.T)   np.asfortranarray(a)        np.astype(x, 'f4')
        np.identity(len(q))         np.tri(len(q))              np.indices(a.shape)         np.logspace(0, 1, n)
        np.geomspace(1, 2, n)       np.frombuffer(b'12345678')  np.fft.fftfreq(n)           np.fft.rfftfreq(n)
10**5   np.fromiter(values, 'f8')   np.fromfunction(lambda i: i, (n,))                      np.vander(r, 3)
        np.sin(x)                   np.cos(x)                   np.tan(x)                   np.arcsin(x)
        np.arccos(x)                np.arctan(x)                np.sinh(x)                  np.cosh(x)
        np.tanh(x)                  np.arcsinh(x)               np.arccosh(x + 1.0)         np.arctanh(x)
        np.arctan2(x, y)            np.hypot(x, y)              np.degrees(x)               np.radians(x)
        np.deg2rad(x)               np.rad2deg(x)               np.log(y)                   np.log2(y)
        np.log10(y)                 np.log1p(y)                 np.exp2(x)                  np.expm1(x)
        np.logaddexp(x, y)          np.logaddexp2(x, y)         np.cbrt(x)                  np.square(x)
        np.reciprocal(y)            np.negative(x)              np.positive(x)              np.fabs(x)
        np.sign(x)                  np.signbit(x)               np.copysign(x, y)           np.nextafter(x, y)
        np.spacing(x)               np.frexp(x)                 np.ldexp(x, i)              np.modf(x)
        np.floor(x)                 np.ceil(x)                  np.trunc(x)                 np.rint(x)
        np.fix(x)                   np.around(x, 2)             np.subtract(x, y)           np.divide(x, y)
        np.floor_divide(x, y)       np.remainder(x, y)          np.fmod(x, y)               np.divmod(x, y)
        np.float_power(x, 2)        np.heaviside(x, 0.5)        np.minimum(x, y)            np.fmax(x, y)
        np.fmin(x, y)               np.equal(x, y)              np.not_equal(x, y)          np.less(x, y)
        np.less_equal(x, y)         np.greater(x, y)            np.greater_equal(x, y)      np.isfinite(v)
        np.isinf(v)                 np.logical_or(m, m)         np.logical_xor(m, m)        np.logical_not(m)
        np.bitwise_and(i, k)        np.bitwise_or(i, k)         np.bitwise_xor(i, k)        np.invert(i)
        np.left_shift(i, 2)         np.right_shift(k, 2)        np.bitwise_count(k)         np.gcd(i, k)
        np.lcm(i, 6)                np.conj(z)                  np.real(z)                  np.imag(z)
        np.angle(z)                 np.abs(z)                   np.exp(z)                   np.multiply(z, z)
        np.isreal(z)                np.iscomplex(z)             np.isrealobj(z)             np.iscomplexobj(z)
        np.nan_to_num(v)            np.sinc(x)                  np.isposinf(v)              np.isneginf(v)
        np.vecdot(a, a)             np.matvec(a, a[0])          np.vecmat(a[:, 0], a)       np.i0(x)
        np.add.reduce(x)            np.add.accumulate(x)        np.add.at(w, k, 1.0)        np.add.outer(r, r)
        np.add.reduceat(x, [0])     np.multiply.reduce(x)       np.maximum.reduce(x)        np.logical_and.reduce(m)
        np.sum(a, axis=1)           np.sum(i)                   np.prod(a, axis=0)          np.max(a, axis=0)
        np.min(a, axis=1)           np.mean(a, axis=0)          np.mean(i)                  np.std(a, axis=1)
        np.any(a, axis=0)           np.all(a, axis=1)           np.argmin(a, axis=0)        np.cumsum(a, axis=0)
        np.cumprod(x)               np.cumulative_sum(x)        np.cumulative_prod(x)       np.trapezoid(y, x)
        np.nanprod(v)               np.nanmax(v)                np.nanmin(v)                np.nancumsum(v)
        np.nancumprod(v)            np.nanvar(v)                np.nanstd(v)                np.nanargmax(v)
        np.nanargmin(v)             np.nanmedian(v)             np.nanpercentile(v, 50)     np.nanquantile(v, 0.5)
        np.quantile(y, [0.2, 0.8])  np.median(a, axis=0)        np.percentile(a, 50, axis=1)
        np.average(x, weights=y)    np.cov(x, y)                np.corrcoef(x, y)           np.histogram(y)
        np.histogram(y, 100)        np.histogram2d(x, y)        np.histogram_bin_edges(y)   np.digitize(y, [0.2, 0.8])
        np.bincount(i, y)           np.gradient(x)              np.gradient(a)              np.polyval([1, 2, 3], x)
        np.polyfit(x, y, 2)         np.convolve(x, r[:9])       np.correlate(x, r[:9])      np.ediff1d(x)
        np.diff(a, axis=0)          np.select([m], [x])         np.choose(i % 2, [x, y])    np.piecewise(x, [m], [1])
        np.put(w, k, 1.0)           np.place(w, m, [1.0])       np.putmask(w, m, 0.0)       np.copyto(w, x)
        np.copyto(w, x, where=m)    np.take_along_axis(x, k, 0)
        np.put_along_axis(w, k, 1.0, 0)                         np.fill_diagonal(q, 9.0)    np.delete(x, 0)
        np.insert(x, 0, 1.0)        np.compress(m, x)           np.extract(m, x)            np.argwhere(m)
        np.flatnonzero(m)           np.triu(a)                  np.diagflat(r)              np.diagonal(a)
        np.tril_indices(len(q))     np.triu_indices(len(q))     np.diag_indices(len(q))     np.trace(a)
        np.shape(x)                 np.ndim(x)                  np.size(x)                  np.may_share_memory(x, y)
        np.shares_memory(x, y)      np.isfortran(a)             np.result_type(x, y)        np.can_cast(x.dtype, 'f4')
        np.broadcast_arrays(x, x2)  np.atleast_1d(x)            np.atleast_2d(x)            np.atleast_3d(x)
        np.dstack([x, y])           np.column_stack([x, y])     np.block([x, y])            np.array_split(x, 3)
        np.hsplit(y2, 2)            np.vsplit(y2.reshape(2, -1), 2)                         np.unstack(x2)
        np.matrix_transpose(a)      np.rollaxis(a, 1)           np.fliplr(a)                np.flipud(a)
        np.rot90(a)                 np.resize(x, (2, n))        np.trim_zeros(x)            np.roll(a, 1, axis=0)
        np.pad(a, 1, 'edge')        np.pad(a, 1, 'reflect')     np.tile(a, (2, 2))          np.repeat(a, 2, axis=1)
        np.lib.stride_tricks.sliding_window_view(x2, 1, 1)      np.apply_along_axis(np.sum, 1, x2)
        np.sort(a, axis=0)          np.sort(i)                  np.argsort(i)               np.argsort(a, axis=1)
        np.partition(y, 0)          np.argpartition(y, 0)       np.lexsort((y, i))          np.sort_complex(z)
        np.searchsorted(x, y, 'right')                          np.unique(y)                np.unique_counts(i)
        np.unique(i, return_inverse=True)                       np.isin(i, [1, 2])          np.setdiff1d(i, [1, 2])
        np.intersect1d(i, k)        np.union1d(i, k)            np.setxor1d(i, k)           np.array_equiv(x, y)
        np.ix_(r, r)                np.unravel_index(k, (1, n))
        np.ravel_multi_index((k,), (n,))                        np.packbits(m)
        np.unpackbits(i.astype('u1'))                           np.einsum('ij->j', a)
        np.einsum('ij,ij->i', a, a)                             np.einsum('i,j->ij', r, r)  np.kron(r, r)
        np.cross(f[:, 0, [0, 1, 1]], f[:, 1, [0, 1, 1]])
10**6   np.linalg.cholesky(h)       np.linalg.slogdet(q)        np.linalg.qr(q)
10**6   np.linalg.multi_dot([a, a.T, a])                        np.linalg.matrix_power(q, 3)
10**6   np.linalg.lstsq(q, r)       np.linalg.tensorinv(q, 1)   np.linalg.tensorsolve(q, r)
10**5   np.linalg.eig(q)            np.linalg.eigvals(q)        np.linalg.eigh(h)           np.linalg.eigvalsh(h)
10**5   np.linalg.svd(q)            np.linalg.svdvals(q)        np.linalg.pinv(q)           np.linalg.cond(q)
10**5   np.linalg.matrix_rank(q)    np.linalg.norm(q, 2)
        np.linalg.inv(f)            np.linalg.det(f)            np.linalg.solve(f, f)       np.linalg.eigvalsh(f)
        np.linalg.norm(a)           np.linalg.norm(a, axis=1)   np.linalg.vector_norm(x)    np.linalg.matrix_norm(a)
        np.fft.ifft(z)              np.fft.rfft(x)              np.fft.irfft(z)             np.fft.hfft(z)
        np.fft.ihfft(x)             np.fft.fft2(a)              np.fft.ifft2(a)             np.fft.rfft2(a)
        np.fft.irfft2(a)            np.fft.fftn(a)              np.fft.ifftn(a)             np.fft.rfftn(a)
        np.fft.irfftn(a)            np.fft.fftshift(x)          np.fft.ifftshift(x)         np.fft.fft(a, axis=0)
        rng.standard_normal(n)      rng.uniform(0, 1, n)        rng.exponential(size=n)     rng.poisson(3.0, n)
        rng.binomial(9, 0.5, n)     rng.gamma(2.0, size=n)      rng.beta(2.0, 3.0, n)       rng.choice(x, n)
        rng.permutation(x)          rng.permuted(x)             rng.shuffle(w)              rng.choice(n)
        x.sum()                     x.mean()                    x.std()                     x.min()
        x.argsort()                 m.nonzero()                 m.any()                     m.all()
        x.flatten()                 x.ravel()                   x.view('i8')                x.tobytes()
        w.fill(2.0)                 x.repeat(2)                 x.cumsum()                  x.round(1)
        x.squeeze()                 a.diagonal()                a.trace()                   x.flat[0]
        x.real                      z.imag                      z.conj()                    x.nbytes
        x.searchsorted(y)           w.partition(0)              w.put(k, 1.0)               m.compress(m)
        i.choose([1.0] * 9)         x.dot(y)                    x.var()                     x.prod()
        x[::2]                      x[::-1]                     a[:, ::2]                   x[None]
        a[1:, :-1]                  a[k % len(a)]               a[:, [0]]                   w[1:] = x[:-1]
        w[::2] = 0.0                a[a > 0.5]                  w[k] = x                    w[m] += 1.0
        x + y                       x - 1.0                     x * y                       x / y
        x // 0.3                    x % 0.3                     x ** 2                      x ** 0.5
        -x                          abs(x)                      x > y                       ~m
        m & m                       i << 1                      i + 1                       i // 3
        i % 3                       x + i                       z * z                       w *= 1.0
        x @ x                       a @ a[0]                    a[0] @ a.T                  a + a[0]
        a - a.mean(axis=0)          a / a.sum(axis=1, keepdims=True)                        np.exp(a - a.max())
"""


def statements(text):
    """(statement, the most elements) of each in such a table."""
    for line in text.split("\n"):
        parts = line.split("  ")
        most = LARGEST
        if parts[0].startswith("10**"):
            most = 10 ** int(parts.pop(0)[4:])
        yield from ((part.strip(), most) for part in parts if part.strip())


def values(n):
    """What the statements are about, for n elements."""
    rng = numpy.random.default_rng(0)
    x, y = numpy.sort(rng.random(n)), rng.random(n)
    a = x.reshape(max(d for d in range(1, math.isqrt(n) + 1) if n % d == 0), -1)
    side = math.isqrt(n)
    q = rng.random((side, side)) + side * numpy.eye(side)
    return {"n": n, "x": x, "y": y, "x2": x.reshape(1, -1), "y2": numpy.concatenate([y, y]), "a": a, "c": a.copy(),
            "w": y.copy(), "m": y < 0.5, "i": rng.integers(0, 9, n), "k": rng.integers(0, n, n), "q": q, "h": q + q.T,
            "r": q[:, 0].copy(), "values": x.tolist() if n <= 10 ** 6 else [], "z": x + 1j * y,
            "v": numpy.where(y < 0.1, numpy.nan, x), "f": rng.random((-(-n // 4), 2, 2)) + 2 * numpy.eye(2)}
