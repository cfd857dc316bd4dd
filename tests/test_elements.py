"""Elements and sums of arrays as counts, shapes, axes and flags: of every function that takes one.

They are 0-d arrays here, which may be pending. What NumPy makes of its numbers is the measure.
"""

import itertools
import math
import struct

import numpy
import pytest
from engines import configured

import dflow.numpy as np

pytestmark = pytest.mark.once            # see pyproject.toml

# By kind; x has one axis and M two; I holds small integers, Q is a small matrix; n is 3, o 1, z 0, t true and f false.
CALLS = {
    "making": """
        np.arange(n) | np.arange(n,n+4) | np.arange(0,9,n) | np.arange(0,n*3,n,dtype=int) | np.empty(n).shape |
        np.empty((n,2)).shape | np.zeros(n) | np.zeros((2,n)) | np.zeros([n,n]) | np.ones(n) | np.ones((n,n)) |
        np.full(n,2.) | np.full((n,2),n) | np.full(3,n)""",
    "diagonals": """
        np.eye(n) | np.eye(n,n) | np.eye(5,k=n) | np.eye(n,4,n) | np.identity(n) | np.tri(n) | np.tri(n,n,n) |
        np.tril(M,n) | np.triu(M,n) | np.tril(M,k=n) | np.diag(x,n) | np.diag(M,n) | np.diag(M,k=n) |
        np.diagflat(x[:9],n) | np.diagonal(M,n) | M.diagonal(n) | np.trace(M,n) | M.trace(n) |
        np.vander(x[:9],n) | np.vander(x[:9],N=n,increasing=t)""",
    "ranges": """
        np.linspace(0,1,n) | np.linspace(0,1,num=n,endpoint=f) | np.linspace(0,1,n,retstep=t) |
        np.logspace(0,1,n) | np.geomspace(1,2,n) | np.linspace(x[0],x[1],n) | np.indices((n,2)) |
        np.indices([n,n]) | np.fromfunction(lambda i,j:i+j,(n,n)) | np.diag_indices(n) | np.diag_indices(n,n) |
        np.tril_indices(n) | np.tril_indices(n,k=n) | np.triu_indices(n,n) | np.mask_indices(n,np.triu) |
        np.mask_indices(n,np.triu,n)""",
    "repeating and reordering": """
        np.tile(x,n) | np.tile(M,(n,2)) | np.tile(x,[n,n]) | np.tile(1,n) | np.repeat(x,n) | np.repeat(M,n,o) |
        np.repeat(M,n,axis=o) | x.repeat(n) | M.repeat(n,o) | np.broadcast_to(1.,n) |
        np.broadcast_to(x,(n,x.size)) | np.broadcast_to(1.,(n,n)) | np.broadcast_to(1.,np.array(3)) |
        np.broadcast_shapes(n,(n,)) | np.resize(x,n) | np.resize(x,(n,n)) | np.reshape(x,(2,-1)).shape |
        x.reshape(o,-1) | x.reshape((o,-1)) | x.reshape(-1,o) | np.reshape(x,[o,-o]) |
        x.reshape(np.array([1,-1])) | np.roll(x,n) | np.roll(M,n,o) | np.roll(M,(n,n),(0,o)) |
        np.roll(M,n,axis=o) | np.rollaxis(M,o) | np.rollaxis(M,o,o) | np.moveaxis(M,o,0) |
        np.moveaxis(M,[o],[0]) | np.swapaxes(M,0,o) | M.swapaxes(0,o) | np.transpose(M,(o,0)) | M.transpose(o,0) |
        M.transpose((o,0)) | np.expand_dims(x,o) | np.expand_dims(x,(o,0)) | np.squeeze(M[None],z) |
        M[None].squeeze(z) | np.flip(M,o) | np.flip(M,(0,o)) | np.rot90(M,n) | np.rot90(M,k=n) |
        np.rot90(M,n,(o,0)) | np.fliplr(M) | np.atleast_1d(n) | np.array(x,ndmin=n) | np.array(n) |
        np.asarray(n) | np.array([n,n]) | np.array([n,1.5])""",
    "joining and splitting": """
        np.concatenate([M,M],o) | np.concatenate([M,M],axis=o) | np.stack([M,M],o) | np.stack([M,M],axis=n-1) |
        np.concat([M,M],axis=o) | np.unstack(M,axis=o)[0] | np.split(M,z+2) | np.split(M,[n]) |
        np.split(M,[n],o) | np.split(M,2,o)[0] | np.array_split(M,n) | np.array_split(M,n,o) |
        np.array_split(M,[n,n+1]) | np.hsplit(M,z+2) | np.hsplit(M,[n]) | np.vsplit(M,z+2) | np.vsplit(M,[n]) |
        np.dsplit(M[...,None],o) | np.pad(x,n) | np.pad(x,(n,o)) | np.pad(M,((n,o),(o,n))) | np.pad(M,n,'edge') |
        np.pad(x,n,constant_values=n) | np.pad(x,n,mode='linear_ramp',end_values=n) |
        np.pad(x,n,'maximum',stat_length=n) | np.pad(M,[(n,n),(0,o)],'wrap') | np.insert(x,n,5) |
        np.insert(x,[n,o],5) | np.insert(M,n,5,o) | np.insert(x,slice(n,n+2),5) | np.delete(x,n) |
        np.delete(x,[n,o]) | np.delete(M,n,o) | np.delete(M,slice(n),axis=o) | np.append(M,M,o) | np.append(x,n) |
        np.trim_zeros(x)""",
    "reducing": """
        np.sum(M,o) | np.sum(M,axis=o) | np.sum(M,(0,o)) | M.sum(o) | M.sum(axis=(0,o)) | np.prod(M/9e9,o) |
        np.mean(M,o) | M.mean(o) | np.std(M,o,ddof=o) | np.std(M,ddof=o) | M.std(ddof=o) |
        np.var(M,axis=o,ddof=o) | np.min(M,o) | M.max(o) | np.amax(M,o) | np.ptp(M,o) | np.all(M,o) | M.any(o) |
        np.argmax(M,o) | np.argmin(M,axis=o,keepdims=t) | M.argmax(o) | np.cumsum(M,o) |
        np.cumprod(M/1e9,axis=o) | M.cumsum(o) | np.cumulative_sum(M,axis=o,include_initial=t) | np.diff(x,n) |
        np.diff(M,n,o) | np.diff(M,n=o,axis=o) | np.diff(x,prepend=n) | np.ediff1d(x,n,n) | np.gradient(x,n) |
        np.gradient(M,axis=o) | np.gradient(M,n,n) | np.gradient(x,edge_order=n-1) | np.median(M,o) |
        np.median(M,axis=o,keepdims=t) | np.percentile(M,n,o) | np.percentile(x,n) |
        np.quantile(M,0.5,axis=o,keepdims=t) | np.average(M,o) | np.average(M,axis=o,weights=M) |
        np.count_nonzero(M,o) | np.nansum(M,o) | np.nanstd(M,o,ddof=o) | np.nanmax(M,o) | np.nanmedian(M,o) |
        np.nanpercentile(M,n,o) | np.nancumsum(M,o) | np.nanargmax(M,o) | np.logical_and.reduce(M,o) |
        np.add.reduce(M,o) | np.add.accumulate(M,o) | np.add.reduceat(x,[0,n]) | np.add.reduceat(M,[0,n],o) |
        np.sum(M,initial=n) | np.sum(M,where=t) | np.add(x,n,where=t) | np.max(M,initial=n)""",
    "choosing and sorting": """
        np.sort(M,o) | np.sort(M,axis=o) | np.argsort(M,o) | M.argsort(o) | np.sort(M,axis=o,stable=t) |
        np.partition(M,n) | np.partition(M,n,o) | np.partition(x,[n,o]) | np.argpartition(x,n) |
        np.argpartition(M,n,axis=o) | np.searchsorted(x,n) | np.searchsorted(x,[n,n]) | np.digitize(n,x) |
        np.digitize(x,x,right=t) | np.lexsort((x,x),z) | np.unique(M,axis=o) | np.unique(x,t) |
        np.unique(x,return_index=t,return_inverse=t,return_counts=t) | np.take(x,n) | np.take(M,n,o) |
        np.take(M,[n,o],axis=o) | x.take(n) | np.take_along_axis(M,np.argsort(M,o),o) |
        np.put_along_axis(M.copy(),np.argsort(M,1),n,o) | np.compress([t,f],M,o) | np.compress([1,0,1],M,axis=o) |
        np.choose(o,[x,x+1]) | np.select([x>n],[x],n) | np.where(x>n,x,n) | np.where(t,x,n) | np.extract(x>n,x) |
        np.place(x.copy(),x>n,[n]) | np.clip(x,o,n) | np.clip(x,n,None) | x.clip(o,n) | np.round(x,n) |
        np.round(x,decimals=o) | x.round(n) | np.around(x,n) | np.nan_to_num(x,t,n) |
        np.nan_to_num(x,copy=t,nan=n) | np.apply_along_axis(np.sum,o,M[:5]) | np.apply_over_axes(np.sum,M,[0,o]) |
        np.apply_over_axes(np.sum,M,o) | x[n] | x[n:n+3] | x[:n] | x[::n] | x[-n] | M[n,o] | M[:,o] | M[n:] |
        x[[n,o]] | M[(n,o)] | M[...,n]""",
    "numbers and shapes": """
        np.unravel_index(n,(n,n)) | np.unravel_index([n,n],(n+1,n+1)) | np.unravel_index(n,5) |
        np.ravel_multi_index((o,o),(n,n)) | np.ravel_multi_index(([o,o],[o,o]),(n,n)) |
        np.unpackbits(np.arange(4,dtype='u1'),count=n) | np.unpackbits(np.ones((3,3),'u1'),o) |
        np.packbits(M>n,o) | np.packbits(M>n,axis=o) | np.bincount(I,minlength=n) | np.bincount(I,None,n) |
        np.histogram(x,n) | np.histogram(x,bins=n,range=(0,n)) | np.histogram(x,n,density=t) |
        np.histogram2d(x,x,n) | np.histogram2d(x,x,[n,n]) | np.histogramdd(M[:,:2],n) |
        np.histogramdd(M[:,:2],(n,n)) | np.histogram_bin_edges(x,n) | np.bartlett(n) | np.blackman(n) |
        np.hamming(n) | np.hanning(n) | np.kaiser(n,n) | np.i0(n) | np.sinc(n) | np.unwrap(M,axis=o) |
        np.unwrap(x,n) | np.convolve(x[:9],x[:3],o) | np.correlate(x[:9],x[:3]) | np.interp(n,x,x) |
        np.interp(x,x,x,n,n) | np.interp(x,x,x,period=n) | np.trapezoid(M,dx=n,axis=o) | np.trapezoid(M,axis=o) |
        np.cross(M[:,:3],M[:,:3],axis=o) | np.cross(M[:,:3],M[:,:3],o,o,o) | np.tensordot(M,M,n-1) |
        np.tensordot(M,M,axes=(o,o)) | np.tensordot(M,M,([o],[o])) | np.tensordot(M,M,[o,o]) |
        np.kron(M[:2,:2],n) | np.outer(x[:5],n) | np.matmul(M,M.T,axes=[(0,o),(0,o),(0,o)]) |
        np.vecdot(M,M,axis=o) | np.cov(M[:5],rowvar=t) | np.cov(M[:5],ddof=o) | np.cov(M[:5],bias=t) |
        np.corrcoef(M[:5],rowvar=t) | np.poly(x[:4]) | np.polyfit(x[:9],x[:9],n) | np.polyfit(x[:9],x[:9],deg=n) |
        np.polyfit(x[:9],x[:9],n,full=f) | np.polyder(x[:6],n) | np.polyint(x[:6],n) | np.polyint(x[:6],m=n,k=n) |
        np.polyval(x[:6],n) | np.isclose(x,n,equal_nan=t) | np.allclose(x,x,equal_nan=t) |
        np.array_equal(x,x,equal_nan=t) | np.isin(x,[n,o],invert=t) | np.isin(n,x) |
        np.setdiff1d(x,[n],assume_unique=t) | np.intersect1d(x,[n,o],assume_unique=t,return_indices=t) |
        np.meshgrid(x[:4],x[:3],sparse=t) | np.meshgrid(x[:4],x[:3],copy=t) | np.ix_([n,o],[o]) |
        np.full_like(x,n) | np.full_like(x,n,shape=n) | np.zeros_like(x,shape=(n,n)) |
        np.empty_like(x,shape=n).shape | np.ones_like(x,shape=[n]) | np.fromiter(range(9),float,n) |
        np.fromiter(range(9),dtype=float,count=n) | np.frombuffer(b'12345678'*9,'i4',n) |
        np.frombuffer(b'12345678'*9,'i4',count=n,offset=4*o) | np.ndarray((n,n)).shape | np.ndarray(n).shape |
        np.fromstring('1 2 3 4',count=n,sep=' ') | np.nextafter(n,4) | np.binary_repr(n) |
        np.binary_repr(n,width=n+3) | np.base_repr(n,n) | np.array2string(x[:3],precision=n) |
        np.array_repr(x[:3],precision=n) | np.format_float_positional(1.2345678,precision=n) |
        np.format_float_positional(n*1.) | np.format_float_scientific(1.234567,precision=n) |
        np.issubdtype(n.dtype,np.integer) | np.isscalar(n) | np.ndim(n) | np.shape(n) | np.size(M,o) |
        np.size(M,axis=o) | np.shape(M)[n-2] | np.geomspace(o,n,n) | np.cumsum(n) | np.ravel(n) |
        np.nonzero(np.atleast_1d(n)) | np.copy(n) | np.astype(x,int,copy=t) | x.astype('f4',copy=t) |
        np.array(x,copy=t) | np.asarray(x,copy=t) | np.array(x,subok=t) | np.squeeze(n) |
        np.lib.stride_tricks.sliding_window_view(x,n) | np.lib.stride_tricks.sliding_window_view(M,(n,o)) |
        np.lib.stride_tricks.sliding_window_view(M,n,o) | np.lib.stride_tricks.as_strided(x,(n,),(8,)) |
        np.lib.stride_tricks.as_strided(x,(n,n),(8*o,8)) |
        np.lib.stride_tricks.as_strided(x,shape=[n,2],strides=[8*n,8])""",
    "fft": """
        np.fft.fftfreq(n) | np.fft.fftfreq(n,n) | np.fft.rfftfreq(n) | np.fft.fftfreq(n,d=n) | np.fft.fft(x,n) |
        np.fft.fft(M,n,o) | np.fft.fft(M,axis=o) | np.fft.ifft(x,n) | np.fft.rfft(x,n) | np.fft.irfft(x,n+4) |
        np.fft.hfft(x,n+4) | np.fft.ihfft(x,n) | np.fft.fft2(M,(n,n)) | np.fft.fftn(M,(n,n),(0,o)) |
        np.fft.fftn(M,axes=(o,)) | np.fft.rfftn(M,[n,n]) | np.fft.irfftn(M,(n,n+1)) | np.fft.ifftn(M,axes=[o]) |
        np.fft.rfft2(M,s=(n,n)) | np.fft.fftshift(M,o) | np.fft.fftshift(M,axes=(o,)) | np.fft.ifftshift(M,o)""",
    "linalg": """
        np.linalg.matrix_power(Q,n) | np.linalg.matrix_power(Q,z-1) | np.linalg.norm(M,n-1) |
        np.linalg.norm(M,o,o) | np.linalg.norm(x,n) | np.linalg.norm(M,axis=o) |
        np.linalg.norm(M,axis=(0,o),keepdims=t) | np.linalg.vector_norm(M,axis=o,keepdims=t) |
        np.linalg.vector_norm(x,ord=n) | np.linalg.matrix_norm(M,keepdims=t) | np.linalg.svd(Q,f)[1] |
        np.linalg.svd(Q,full_matrices=t)[1] | np.linalg.svd(Q,compute_uv=f) | np.linalg.pinv(Q,hermitian=f) |
        np.linalg.matrix_rank(Q,hermitian=f) | np.linalg.matrix_rank(Q,n) | np.linalg.cond(Q,o) |
        np.linalg.tensorinv(np.eye(4).reshape(2,2,2,2),n-1) | np.linalg.tensorinv(Q.reshape(3,3)[:1,:1]+1,o) |
        np.linalg.tensorsolve(np.eye(4).reshape(2,2,4),np.ones((2,2))) | np.linalg.cross(M[:,:3],M[:,:3],axis=o) |
        np.linalg.diagonal(M,offset=n) | np.linalg.trace(M,offset=n) | np.linalg.tensordot(M,M,axes=n-1) |
        np.linalg.vecdot(M,M,axis=o) | np.linalg.cholesky(Q,upper=t) | np.linalg.multi_dot([M,M.T,M])""",
    "random_state": """
        np.random.RandomState(n).rand(n) | np.random.RandomState(0).rand(n,n) |
        np.random.RandomState(0).randn(n) | np.random.RandomState(0).randint(n,size=n) |
        np.random.RandomState(0).randint(0,n,(n,n)) | np.random.RandomState(0).uniform(0,n,n) |
        np.random.RandomState(0).normal(size=(n,n)) | np.random.RandomState(0).choice(n) |
        np.random.RandomState(0).choice(n,n,replace=f) | np.random.RandomState(0).choice(x,n) |
        np.random.RandomState(0).permutation(n) | np.random.RandomState(0).binomial(n,.5,n) |
        np.random.RandomState(0).multinomial(n,[.5,.5],n) | np.random.RandomState(0).bytes(n) |
        np.random.RandomState(0).poisson(n,size=n)""",
    "random": """
        np.random.rand(n).shape | np.random.rand(n,2).shape | np.random.randn(n,n).shape |
        np.random.randint(n,size=n).shape | np.random.randint(0,n,(n,n)).shape | np.random.uniform(0,n,n).shape |
        np.random.normal(size=(n,n)).shape | np.random.normal(n,n,n).shape | np.random.choice(n,n).shape |
        np.random.choice(x,n,t).shape | np.random.choice(x,size=(n,n)).shape | np.random.permutation(n).shape |
        np.random.permutation(x).shape | np.random.random(n).shape | np.random.random_sample((n,n)).shape |
        np.random.binomial(n,.5,n).shape | np.random.poisson(n,(n,n)).shape | np.random.gamma(n,size=n).shape |
        np.random.multinomial(n,[.5,.5],n).shape | np.random.bytes(n).__len__() |
        np.random.dirichlet([n,n],n).shape | np.random.multivariate_normal([0,0],np.eye(2),n).shape |
        np.random.seed(n) | np.random.default_rng(n).random(n).shape |
        np.random.default_rng(0).random((n,n)).shape | np.random.default_rng(0).integers(n,size=n).shape |
        np.random.default_rng(0).integers(0,n,n,endpoint=t).shape | np.random.default_rng(0).choice(n,n).shape |
        np.random.default_rng(0).choice(M,n,axis=o).shape |
        np.random.default_rng(0).choice(M,n,replace=t,shuffle=f).shape |
        np.random.default_rng(0).permutation(n).shape | np.random.default_rng(0).permutation(M,o).shape |
        np.random.default_rng(0).permuted(M,axis=o).shape | np.random.default_rng(0).shuffle(M.copy(),o) |
        np.random.default_rng(0).standard_normal(n).shape | np.random.default_rng(0).bytes(n).__len__() |
        np.random.default_rng(0).spawn(n).__len__() |
        np.random.default_rng(0).multivariate_hypergeometric([n,n],n,n).shape | np.random.PCG64(n).random_raw() |
        np.random.SeedSequence(n).generate_state(n) | np.random.default_rng([n,n]).random(2).shape |
        np.random.standard_t(n,n).shape | np.random.zipf(n,n).shape | np.random.hypergeometric(n,n,n,n).shape""",
    "polynomial": """
        np.polynomial.polynomial.polyfit(x[:9],x[:9],n) | np.polynomial.polynomial.polyder(x[:6],n) |
        np.polynomial.polynomial.polyint(x[:6],n) | np.polynomial.polynomial.polyvander(x[:5],n) |
        np.polynomial.chebyshev.chebgauss(n) | np.polynomial.chebyshev.chebvander(x[:5],n) |
        np.polynomial.Polynomial([1,2,3])(n) | np.polynomial.Polynomial.fit(x[:9],x[:9],n).coef |
        np.polynomial.legendre.leggauss(n) | np.polynomial.polynomial.polypow([1,2],n) |
        np.polynomial.Polynomial.basis(n).coef | np.polynomial.chebyshev.chebinterpolate(np.sin,n) |
        np.polynomial.hermite.hermval(n,[1,2,3])""",
    "everything else": """
        np.emath.sqrt(n) | np.emath.logn(n,n) | np.ma.masked_equal(x,n) | np.ma.zeros(n) | np.r_[n,x[:2]] |
        np.r_[0:n] | np.r_[0:1:n*1j] | np.c_[x[:3],x[:3]] | np.mgrid[0:n] | np.mgrid[0:n,0:n] |
        np.ogrid[0:n,0:n] | np.s_[n] | np.ndindex(n,n).__next__() | np.ndindex((n,n)).__next__() |
        np.ndenumerate(M[:n]).__next__() | np.promote_types(n.dtype,'f4') | np.result_type(n,1.5) |
        np.min_scalar_type(n) | np.can_cast(n.dtype,'f4') | np.iterable(n) | np.block([n,x[:3]]) |
        np.block([[n,n],[o,o]]) | np.lib.stride_tricks.as_strided(x,(n,),(8*o,)) | np.vectorize(lambda a:a+1)(n) |
        np.frompyfunc(lambda a:a,1,1)(n) | np.piecewise(x,[x>n],[n,o]) | np.heaviside(x,n) | np.ldexp(x,n) |
        np.power(x,n) | np.left_shift(I,n) | np.float_power(x,n) | np.matrix_transpose(M) |
        np.lib.array_utils.normalize_axis_index(o,n) | np.lib.array_utils.normalize_axis_tuple(o,n) |
        np.finfo(x[0]).eps | np.iinfo(I[0]).max | np.finfo(x[0].dtype).eps | np.dtype((float,(n,))) |
        np.require(x,'f4') | np.copyto(x.copy(),n,where=t) | np.putmask(x.copy(),x>n,n) |
        np.fill_diagonal(M[:5,:5].copy(),n,t) | x.copy().fill(n) | np.put(x.copy(),n,n) | x.copy().put([n],[o]) |
        np.setbufsize(8192*o*0+8192) | M.flat[n] | x.item(n) | M.item(n,o) | M.item((n,o)) | x.searchsorted(n) |
        x.copy().partition(n) | x.copy().sort(z) | M.copy().sort(o) | x.byteswap(f) | x.flatten()[:n] |
        x.nonzero()[0][:n] | M.ravel()[n] | x.tolist()[n] | range(n)[-1:] | list(range(9))[n] | "abcdefg"[n] |
        [1]*n | "ab"*n | chr(n+60) | bytes(n) | np.round(2.34567,n) | hex(n) | bin(n) | np.divmod(7,n) |
        np.pow(2,n) | (1).__add__(int(n)) | math.factorial(n) | math.comb(5,n) | math.gcd(n,6) |
        itertools.islice(range(9),n).__next__() | f"{n:03d}" | "%d" % n | slice(n).indices(9) |
        int.to_bytes(int(n),n,'big') | struct.pack('i',n)""",
}


def arrays(module, size):
    """What the calls name; size: elements of the arrays."""
    grid, index = module.arange(size), module.arange(6)
    return {"x": grid + 1.0, "M": (grid * 7 % 11.0).reshape(-1, 10 if size < 100 else 100), "I": grid % 5,
            "Q": module.eye(3) * 2 + 0.5, "n": index[3], "o": index[1], "z": index[0], "t": (index > 0)[1],
            "f": (index > 0)[0], "np": module, "math": math, "struct": struct, "itertools": itertools}


def alike(a, b):
    """Whether ours and NumPy's are the same, but for the last bits."""
    if isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(alike, a, b))
    if not isinstance(b, (numpy.ndarray, numpy.generic)):
        return type(a) is type(b) and (a == b or repr(a) == repr(b))
    a = numpy.asarray(a)
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    return numpy.allclose(a, b, equal_nan=True) if b.dtype.kind in "fc" else bool(numpy.all(a == b))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("size", [40, 5000])        # which small-array paths take, and which they leave
@pytest.mark.parametrize("kind", CALLS)
def test_elements_as_counts_shapes_and_flags(kind, size):
    wrong = []
    for call in map(str.strip, CALLS[kind].split("|")):
        expected = eval(call, arrays(numpy, size))
        try:
            result = eval(call, arrays(np, size))
        except Exception as error:
            wrong.append(f"{call}: {error!r}")
            continue
        if not alike(result, expected):
            wrong.append(f"{call}: {result!r} instead of {expected!r}")
    assert not wrong


@pytest.mark.parametrize("call", ["np.tile(x, n)", "np.resize(x, n)", "np.broadcast_to(1.0, n)", "np.fft.fftfreq(n)",
                                  "np.tensordot(M, M, (o, o))", "np.fft.fftshift(M, o)", "np.r_[0:1:n * 1j]",
                                  "np.random.permutation(n).shape", "np.repeat(x, n)", "np.zeros((n, n))"])
def test_a_count_that_is_not_there_yet(call):
    """A sum that a worker computes."""
    with configured(limit=0):
        names = arrays(np, 5000)
        names |= {"n": (names["I"][:2] + 1).sum(), "o": (names["I"][:2]).sum()}
        result = eval(call, names)
    assert alike(result, eval(call, arrays(numpy, 5000)))
