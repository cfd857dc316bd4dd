"""SciPy over our arrays."""

import pytest
from libraries import assert_same, lines

pytest.importorskip("scipy")

pytestmark = pytest.mark.once

SETUP = """
import io
import scipy.optimize as so, scipy.sparse as sp, scipy.sparse.linalg as spl, scipy.sparse.csgraph as csg
import scipy.spatial as ss
import scipy.stats as st, scipy.integrate as sint, scipy.interpolate as si, scipy.signal as sig
import scipy.ndimage as nd, scipy.linalg as sl
import scipy.linalg.interpolative
import scipy.fft as sf, scipy.special as spc, scipy.cluster as sc, scipy.io as sio
import scipy.io.wavfile as wav, scipy.odr as odr
b = io.BytesIO()
_r = numpy.random.RandomState(0)
P = np.array(_r.rand(12,2))
x0 = np.array([-1.2,1.])
k = np.array([2,3])
def rosen(x): x = np.asarray(x); return np.sum(100.*(x[1:]-x[:-1]**2)**2+(1-x[:-1])**2)
def rosen_der(x): x = np.array(x); return np.array([-400*x[0]*(x[1]-x[0]**2)-2*(1-x[0]), 200*(x[1]-x[0]**2)])
def hess(x): return np.array([[1200*x[0]**2-400*x[1]+2,-400*x[0]],[-400*x[0],200.]])
def fg(x): return rosen(x), rosen_der(x)
def res(x): return np.array([10*(x[1]-x[0]**2),1-x[0]])
def resj(x): return np.array([[-20*x[0],10.],[-1.,0.]])
t = np.linspace(0,1,10)
v = 2.*np.exp(-1.3*t)+.01*np.sin(40*t)
def model(t,a,b): return a*np.exp(-b*t)
def modelj(t,a,b): return np.stack([np.exp(-b*t),-a*t*np.exp(-b*t)],axis=1)
M = np.array([[4.,1,0,0],[1,5,2,0],[0,2,6,1],[0,0,1,7]])
vv = np.array([1.,2,3,4])
S = sp.csr_array(numpy.array([[4.,1,0,0],[1,5,2,0],[0,2,6,1],[0,0,1,7]]))
Sm = sp.csr_matrix(numpy.array([[4.,1,0,0],[1,5,2,0],[0,2,6,1],[0,0,1,7]]))
"""

LINES = """
    so.minimize(rosen,x0,jac=rosen_der,method="L-BFGS-B").x.round(4)
    so.minimize(rosen,x0,jac=rosen_der,method="BFGS").x.round(4)
    so.minimize(rosen,x0,jac=rosen_der,method="SLSQP").x.round(4)
    so.minimize(rosen,x0,jac=rosen_der,method="CG").x.round(3)
    so.minimize(rosen,x0,jac=rosen_der,method="TNC").x.round(2)
    so.minimize(rosen,x0,jac=rosen_der,method="Newton-CG").x.round(3)
    so.minimize(rosen,x0,jac=rosen_der,hess=so.rosen_hess,method="trust-ncg").x.round(3)
    so.minimize(rosen,x0,jac=rosen_der,hess=hess,method="trust-exact").x.round(3)
    so.minimize(rosen,x0,jac=rosen_der,hess=hess,method="trust-constr").x.round(3)
    so.minimize(rosen,x0,jac=rosen_der,hess=hess,method="dogleg").x.round(3)
    so.minimize(rosen,x0,method="Nelder-Mead").x.round(3)
    so.minimize(rosen,x0,method="Powell").x.round(3)
    so.minimize(rosen,x0,method="L-BFGS-B").x.round(3)
    so.minimize(rosen,x0,method="SLSQP").x.round(3)
    so.minimize(rosen,x0,method="L-BFGS-B",bounds=np.array([[-2.,.5],[-2,.5]]),jac=rosen_der).x.round(3)
    so.minimize(rosen,x0,method="SLSQP",constraints={"type":"eq","fun":lambda x: x[:1]-x[1:]}).x.round(3)
    so.minimize(fg,x0,jac=True,method="L-BFGS-B").x.round(3)
    so.minimize(fg,x0,jac=True,method="SLSQP").x.round(3)
    so.minimize(fg,x0,jac=True,method="BFGS").x.round(3)
    so.minimize(rosen,x0,jac=rosen_der,method="L-BFGS-B",callback=lambda xk: None,tol=x0[1]*1e-8).nit
    so.fmin_l_bfgs_b(rosen,x0,fprime=rosen_der)[0].round(3)
    so.fmin_bfgs(rosen,x0,fprime=rosen_der,disp=0).round(3)
    so.fmin_slsqp(rosen,x0,fprime=rosen_der,disp=0).round(3)
    so.fmin(rosen,x0,disp=0).round(3)
    so.minimize_scalar(lambda t: (t-2)**2).x.round(4)
    so.minimize_scalar(lambda t: np.sum((np.array([t,t])-2)**2)).x.round(4)
    so.minimize_scalar(lambda t: (t-2)**2,bounds=(x0[1],x0[1]*9),method="bounded").x.round(4)
    so.least_squares(res,x0).x.round(4)
    so.least_squares(res,x0,jac=resj).x.round(4)
    so.least_squares(res,x0,jac=resj,method="lm").x.round(4)
    so.least_squares(res,x0,jac=resj,method="dogbox").x.round(4)
    so.least_squares(res,x0,jac=resj,loss="soft_l1",x_scale=np.ones(2)).x.round(3)
    so.least_squares(res,x0,jac=lambda x: sp.csr_matrix(resj(x))).x.round(4)
    so.leastsq(res,x0)[0].round(4)
    so.leastsq(res,x0,Dfun=resj)[0].round(4)
    so.curve_fit(model,t,v,p0=np.ones(2))[0].round(4)
    so.curve_fit(model,t,v,p0=np.ones(2),jac=modelj)[0].round(4)
    so.curve_fit(model,t,v,p0=np.ones(2),jac=modelj,method="trf")[0].round(4)
    so.curve_fit(model,t,v,sigma=np.ones(10),bounds=(0,[3.,3.]),jac=modelj)[0].round(4)
    so.curve_fit(model,t,v,sigma=np.eye(10),jac=modelj,absolute_sigma=True)[1].round(4)
    so.curve_fit(model,t,v)[1].round(4)
    so.root(lambda x: x**2-2,np.ones(2)).x.round(5)
    so.root(lambda x: x**2-2,np.ones(2),jac=lambda x: np.diag(2*x)).x.round(5)
    so.root(lambda x: x**2-2,np.ones(2),jac=lambda x: np.diag(2*x),method="lm").x.round(5)
    so.root(lambda x: x**2-2,np.ones(2),method="krylov").x.round(3)
    so.root(lambda x: x**2-2,np.ones(2),method="broyden1").x.round(3)
    so.fsolve(lambda x: x**2-2,np.ones(2),fprime=lambda x: np.diag(2*x)).round(5)
    so.brentq(lambda x: x**2-2,x0[1],x0[1]*3)
    so.brentq(lambda x: np.sum(np.array([x,x])**2)-2,0.,3.)
    so.newton(lambda x: x**2-2,x0[1]).round(6)
    so.newton(lambda x: x**2-2,np.ones(3)).round(6)
    so.newton(lambda x: x**2-2,1.,fprime=lambda x: 2*x).round(6)
    so.root_scalar(lambda x: x**2-2,bracket=[x0[1],x0[1]*3]).root
    so.root_scalar(lambda x: x**2-2,x0=x0[1],fprime=lambda x: 2*x).root
    so.fixed_point(lambda x: np.sqrt(x+1),np.ones(2)).round(5)
    so.linprog(np.array([-1.,1.]),A_ub=np.array([[1.,1.]]),b_ub=np.array([1.])).x
    so.milp(np.array([-1.,1.]),integrality=np.array([1,1]),bounds=so.Bounds(np.zeros(2),np.ones(2))).x
    so.linear_sum_assignment(np.array([[1.,2.],[2.,1.]]))
    so.nnls(np.eye(2),np.ones(2))[0]
    so.lsq_linear(np.eye(2),np.ones(2)).x.round(5)
    so.differential_evolution(rosen,[(-2,2)]*2,rng=np.random.default_rng(0),maxiter=3).x.shape
    so.differential_evolution(rosen,np.array([[-2.,2.]]*2),seed=np.random.RandomState(0),maxiter=3).x.shape
    so.basinhopping(rosen,x0,niter=2,rng=np.random.default_rng(0)).x.shape
    so.shgo(rosen,[(-2,2)]*2).x.round(3)
    so.direct(rosen,[(-2,2)]*2).x.shape
    so.brute(rosen,((-2,2),(-2,2)),Ns=k[0]+2).round(3)
    so.approx_fprime(x0,rosen,1e-8).round(3)
    so.check_grad(rosen,rosen_der,x0) < 1e-3
    spl.aslinearoperator(M) @ vv
    spl.aslinearoperator(M).matmat(M)
    spl.LinearOperator((4,4),matvec=lambda v: M@v) @ vv
    spl.LinearOperator((4,4),matvec=lambda v: M@v,dtype=M.dtype).matmat(np.eye(4))
    spl.svds(M,k=2,random_state=0)[1].round(5)
    spl.svds(M,k=k[0],rng=np.random.default_rng(0))[1].round(5)
    spl.svds(M,k=2,v0=np.ones(4))[1].round(5)
    spl.svds(M,k=2,solver="lobpcg",rng=np.random.default_rng(0))[1].shape
    spl.eigsh(M,k=2,v0=np.ones(4))[0].round(5)
    spl.eigsh(M,k=k[0],v0=np.ones(4))[0].round(5)
    spl.eigsh(M,k=2,sigma=x0[1],v0=np.ones(4))[0].round(5)
    spl.eigs(M,k=2,v0=np.ones(4))[0].round(5)
    spl.lobpcg(M+np.zeros((4,4)),np.eye(4)[:,:1],maxiter=2)[0].shape
    spl.cg(M,vv)[0].round(4)
    spl.cg(M,vv,x0=np.ones(4),rtol=x0[1]*1e-8,maxiter=k[1]*10)[0].round(4)
    spl.cg(M,vv,M=np.eye(4))[0].round(4)
    spl.cg(spl.LinearOperator((4,4),matvec=lambda v: M@v),vv)[0].round(4)
    spl.gmres(M,vv)[0].round(4)
    spl.gmres(M,vv,restart=k[1])[0].round(4)
    spl.bicgstab(M,vv)[0].round(4)
    spl.minres(M,vv)[0].round(3)
    spl.lsqr(M,vv)[0].round(3)
    spl.lsmr(M,vv)[0].round(3)
    spl.spsolve(sp.csc_array(M),vv).round(4)
    spl.expm_multiply(sp.csr_array(M),vv).round(3)
    spl.expm(sp.csc_array(M)).toarray().round(3)
    spl.norm(sp.csr_array(M)).round(4)
    spl.onenormest(sp.csr_array(M)).round(4)
    sp.csr_array(M).toarray()
    sp.csr_matrix(M).toarray()
    sp.csr_matrix((vv,(np.arange(4),np.arange(4))),shape=(4,4)).toarray()
    sp.csr_matrix((vv,np.arange(4),np.arange(5))).toarray()
    sp.coo_array((vv,(np.arange(4),np.arange(4)))).toarray()
    sp.diags(vv).toarray()
    sp.diags([vv,vv[:3]],[0,1]).toarray()
    sp.diags_array(vv).toarray()
    sp.dia_array((np.ones((1,4)),np.array([0])),shape=(4,4)).toarray()
    sp.eye(k[0]).toarray()
    sp.identity(k[0]).toarray()
    sp.random(4,4,density=.5,random_state=np.random.RandomState(0)).toarray()
    sp.random_array((4,4),density=.5,rng=np.random.default_rng(0)).shape
    S @ vv
    S @ M
    vv @ S
    M @ S
    S.dot(vv)
    S * x0[0]
    (S * x0[0]).toarray()
    (S * k[0]).toarray()
    (x0[0] * S).toarray()
    (S / x0[0]).toarray()
    (Sm * x0[0]).toarray()
    (x0[0] * Sm).toarray()
    Sm * vv
    vv * Sm
    (Sm / x0[0]).toarray()
    (Sm * vv.sum()).toarray()
    (S * vv).toarray()
    (S.multiply(vv)).toarray()
    (S.multiply(x0[0])).toarray()
    S + M
    M + S
    S - M
    M - S
    (S > x0[1]).toarray()
    (S ** k[0]).toarray()
    (S == x0[0]).toarray()
    S[k[0]].toarray()
    S[k[0],k[1]]
    S[k].toarray()
    S[:,k].toarray()
    S[vv>2].toarray()
    S[k[0]:].toarray()
    Sl = S.tolil(); Sl[0,k[0]] = x0[0]; Sl.toarray()
    Sl = S.tolil(); Sl[0] = vv; Sl.toarray()
    Sl = S.copy(); Sl.data[:] = np.ones(Sl.data.size); Sl.toarray()
    Sl = S.copy(); Sl.data = np.ones(Sl.data.size); Sl.toarray()
    Sl = S.copy(); Sl *= x0[0]; Sl.toarray()
    Sl = S.copy(); Sl /= x0[1]; Sl.toarray()
    Sl = S.copy(); Sl.setdiag(vv); Sl.toarray()
    S.sum(axis=k[0]-1)
    S.mean()
    S.astype(M.dtype).dtype
    np.sum(S)
    np.asarray(S.todense())
    np.sqrt(S).toarray()
    np.abs(S).toarray()
    sp.hstack([S,M]).toarray()
    sp.vstack([S,S]).toarray()
    sp.kron(M[:2,:2],M[:2,:2]).toarray()
    sp.block_array([[M,None],[None,M]]).toarray()
    sp.block_diag([M,M]).toarray()
    sp.tril(M).toarray()
    sp.find(M)
    sp.issparse(M)
    csg.dijkstra(M,indices=k[0])
    csg.dijkstra(M,indices=k)
    csg.shortest_path(M)
    csg.connected_components(M)
    csg.minimum_spanning_tree(M).toarray()
    csg.laplacian(M)
    ss.cKDTree(P).query(P[:2],k=k[0])[1]
    ss.KDTree(P).query(P[:2],k=k[0])[1]
    ss.KDTree(P).query(P[0],k=np.array([1,2]))[1]
    ss.KDTree(P).query(P[0])
    ss.KDTree(P).query_ball_point(P[0],r=x0[1])
    ss.KDTree(P).query_ball_point(P[:2],r=np.array([.1,.2]))
    ss.KDTree(P).query_pairs(x0[1]/5)
    ss.KDTree(P).query_pairs(x0[1]/5,output_type="ndarray")
    ss.KDTree(P).count_neighbors(ss.KDTree(P),r=np.array([.1,.5]))
    ss.KDTree(P,leafsize=k[0]).n
    ss.ConvexHull(P).vertices
    ss.Delaunay(P).simplices.shape
    ss.Delaunay(P).find_simplex(P[:2])
    ss.Voronoi(P).vertices.shape
    ss.distance.cdist(P[:2],P[:2])
    ss.distance.cdist(P[:2],P[:2],metric=lambda u,v: np.sum(np.abs(u-v)))
    ss.distance.pdist(P[:3],"minkowski",p=x0[1])
    ss.distance.squareform(ss.distance.pdist(P[:3]))
    ss.distance.euclidean(P[0],P[1])
    ss.distance.directed_hausdorff(P,P)[0]
    ss.transform.Rotation.from_rotvec(np.array([0,0,1.])).apply(np.eye(3)).round(5)
    ss.transform.Rotation.from_euler("z",x0[1]).as_matrix().round(5)
    ss.transform.Rotation.random(2,rng=np.random.default_rng(0)).as_quat().shape
    ss.transform.Slerp(np.array([0.,1.]),ss.transform.Rotation.from_rotvec(np.eye(3)[:2]))(x0[1]/2).as_quat().round(4)
    st.norm.pdf(vv)
    st.norm.pdf(vv[0])
    st.norm(loc=x0[1],scale=x0[1]).cdf(vv)
    st.norm.rvs(size=3,random_state=np.random.RandomState(0))
    st.norm.rvs(size=k[0],random_state=np.random.RandomState(0))
    st.norm.rvs(size=3,random_state=np.random.default_rng(0)).shape
    st.multivariate_normal(np.zeros(2),np.eye(2)).pdf(P[:2])
    st.multivariate_normal.rvs(np.zeros(2),np.eye(2),size=2,random_state=np.random.RandomState(0))
    st.gaussian_kde(P.T).evaluate(P[:2].T).round(5)
    st.gaussian_kde(P.T).resample(3,seed=np.random.RandomState(0))
    st.linregress(t,v)
    st.pearsonr(t,v)
    st.spearmanr(t,v)
    st.ttest_ind(t,v)
    st.ks_2samp(t,v)
    st.kstest(t,"norm")
    st.chi2_contingency(np.array([[10,20],[20,10]])).pvalue
    st.mode(np.array([1,1,2]))
    st.zscore(t)
    st.entropy(t+1)
    st.rankdata(t)
    st.describe(t)
    st.binned_statistic(t,v,bins=3).statistic
    st.binned_statistic(t,v,bins=np.array([0.,.5,1.]),statistic=np.mean).statistic
    st.bootstrap((t,),np.mean,n_resamples=9,rng=np.random.default_rng(0)).confidence_interval[0] > 0
    st.qmc.LatinHypercube(2,seed=np.random.RandomState(0).randint(9)).random(4).shape
    st.rv_discrete(values=(np.array([0,1]),np.array([.5,.5]))).pmf(np.array([0,1]))
    st.rv_histogram(np.histogram(t,3)).pdf(t[:2])
    st.truncnorm(x0[0],x0[1]).ppf(.3).round(5)
    sint.quad_vec(lambda x: np.array([x,x**2]),0.,1.)[0].round(6)
    sint.solve_ivp(lambda t,y: -y,(0.,x0[1]),np.ones(2)).y[:,-1].round(5)
    sint.solve_ivp(lambda t,y: -M[:2,:2]@y,(0.,1.),np.ones(2),method="LSODA",jac=lambda t,y: -M[:2,:2]).y[:,-1].round(3)
    sint.solve_ivp(lambda t,y: -M[:2,:2]@y,(0.,1.),np.ones(2),method="Radau",rtol=x0[1]*1e-5).y[:,-1].round(3)
    sint.solve_ivp(lambda t,y: -y,(0,5),np.ones(1),events=lambda t,y: y[0]-.5).t_events[0].round(4)
    sint.odeint(lambda y,t: -y,np.ones(2),np.linspace(0,1,3)).round(5)
    sint.odeint(lambda y,t: -y,np.ones(2),np.linspace(0,1,3),Dfun=lambda y,t: -np.eye(2)).round(5)
    sint.odeint(lambda y,t: -y[0],x0[1],np.linspace(0,1,3)).round(5)
    sint.trapezoid(v,t)
    sint.simpson(v,x=t)
    sint.cumulative_trapezoid(v,t)
    si.interp1d(t,v)(t[:3]+.01).round(5)
    si.interp1d(t,v,kind="cubic")(x0[1]/3).round(5)
    si.CubicSpline(t,v)(t[:3]).round(5)
    si.UnivariateSpline(t,v,s=x0[1])(t[:3]).round(5)
    si.RegularGridInterpolator((np.arange(3.),np.arange(3.)),np.arange(9.).reshape(3,3))(np.array([[.5,.5]]))
    si.griddata(P,P[:,0],np.array([[.5,.5]])).round(5)
    si.RBFInterpolator(P,P[:,0])(P[:2]).round(5)
    si.make_interp_spline(t,v,k=k[1])(t[:2]).round(5)
    si.splrep(t,v)[0].round(5)
    si.splev(t[:2],si.splrep(t,v)).round(5)
    si.BarycentricInterpolator(t,v)(x0[1]/3).round(5)
    si.PchipInterpolator(t,v)(x0[1]/3).round(5)
    si.LinearNDInterpolator(P,P[:,0])(P[0,0],P[0,1]).round(5)
    sig.butter(k[0],x0[1]/4)
    sig.lfilter(*sig.butter(k[0],.25),v).round(5)
    sig.filtfilt(np.ones(2)/2,np.array([1.]),v).round(5)
    sig.convolve(v,t).round(4)
    sig.fftconvolve(v,t,mode="same").round(4)
    sig.find_peaks(np.array([0.,1,0,2,0]),height=x0[1])[0]
    sig.welch(v,nperseg=k[1]*2)[1].round(5)
    sig.spectrogram(v,nperseg=8)[2].round(5)
    sig.stft(v,nperseg=4)[2].round(4)
    sig.savgol_filter(v,5,k[0]).round(5)
    sig.medfilt(v,k[1]).round(5)
    sig.resample(v,k[1]).round(5)
    sig.decimate(np.arange(40.),k[0]).round(4)
    sig.hilbert(v).round(4)
    sig.get_window("hann",k[1]).round(4)
    sig.sosfilt(sig.butter(2,.25,output="sos"),v).round(5)
    sig.correlate2d(M,M).round(3)
    sig.detrend(v).round(5)
    sig.lsim((np.array([1.]),np.array([1.,1.])),v,t)[1].round(5)
    sig.argrelmax(v)[0]
    nd.gaussian_filter(M,x0[1]).round(5)
    nd.gaussian_filter(M,sigma=np.array([1.,2.])).round(5)
    nd.convolve(M,np.ones((2,2)))
    nd.label(M>2)
    nd.label(M>2, structure=np.ones((3,3)))[0]
    nd.center_of_mass(M)
    nd.zoom(M,x0[1]*2).shape
    nd.zoom(M,k[0]).shape
    nd.rotate(M,x0[1]*45).shape
    nd.map_coordinates(M,np.array([[.5],[.5]]),order=k[0])
    nd.shift(M,vv[:2]).round(3)
    nd.generic_filter(M,np.mean,size=k[0]).round(5)
    nd.generic_filter(M,lambda b: np.sum(b),size=2).round(5)
    nd.binary_dilation(M>3)
    nd.distance_transform_edt(M>2).round(5)
    nd.maximum_filter(M,size=k[0])
    nd.sum_labels(M,nd.label(M>2)[0],index=np.array([1]))
    nd.affine_transform(M,np.eye(2)).round(5)
    o = np.zeros((4,4)); nd.gaussian_filter(M,1.,output=o); o.round(5)
    sl.solve(M,vv).round(5)
    sl.lu_factor(M)[1]
    sl.lu_solve(sl.lu_factor(M),vv).round(5)
    sl.cho_factor(M)[0].round(4)
    sl.cho_solve(sl.cho_factor(M),vv).round(5)
    sl.expm(M/10).round(5)
    sl.sqrtm(M).round(5)
    sl.logm(M).round(4)
    sl.eigh(M,subset_by_index=(0,k[0]))[0].round(4)
    sl.svd(M)[1].round(4)
    sl.qr(M)[1].round(4)
    sl.schur(M)[0].shape
    sl.toeplitz(vv)
    sl.block_diag(M,M).shape
    sl.solve_triangular(M,vv).round(4)
    sl.solve_banded((1,1),np.ones((3,4)),vv).round(4)
    sl.null_space(np.ones((2,2))).shape
    sl.blas.dgemm(x0[1],M,M).round(3)
    sl.lapack.dpotrf(M)[0].round(3)
    sl.solve(M,vv,assume_a="pos").round(5)
    sl.solve_continuous_lyapunov(M,M).round(4)
    sf.fft(v).round(4)
    sf.rfft(v,n=k[1]*2).round(4)
    sf.dct(v).round(4)
    sf.fftfreq(k[1],x0[1])
    sf.next_fast_len(k[1])
    spc.gamma(vv)
    spc.erf(x0)
    spc.logsumexp(vv)
    spc.logsumexp(vv,b=np.ones(4))
    spc.softmax(vv)
    spc.comb(k[1],k[0])
    spc.comb(k[1],k[0],exact=True)
    spc.factorial(k)
    spc.binom(k[1],k[0])
    spc.jv(k[0],vv)
    spc.jn_zeros(k[0],k[1])
    spc.roots_legendre(k[1])
    spc.legendre(k[0])(vv)
    spc.eval_legendre(k[0],vv/5)
    spc.expit(vv,out=np.zeros(4))
    sc.vq.kmeans2(P,k[0],seed=np.random.RandomState(0))[0].shape
    sc.vq.kmeans2(P,P[:2])[1]
    sc.vq.kmeans(P,P[:2])[0].round(4)
    sc.vq.kmeans(P,k[0],rng=np.random.default_rng(0))[0].shape
    sc.hierarchy.fcluster(sc.hierarchy.linkage(P),t=k[0],criterion="maxclust")
    sc.hierarchy.linkage(ss.distance.pdist(P),"ward").shape
    sc.hierarchy.fclusterdata(P,x0[1])
    sc.hierarchy.cut_tree(sc.hierarchy.linkage(P),n_clusters=k)[:,0]
    sio.savemat(b,{"x":M,"y":x0[0]}); b.seek(0); sio.loadmat(b)["x"]
    wav.write(b,8000,np.array([1,2,3],"i2")); b.seek(0); wav.read(b)[1]
    wav.write(b,k[1]*1000,np.array([1,2,3],"i2")); b.seek(0); wav.read(b)[1]
    sio.mmwrite(b,M); b.seek(0); sio.mmread(b)
    sp.save_npz(b,sp.csr_array(M)); b.seek(0); sp.load_npz(b).toarray()
    odr.ODR(odr.Data(t,v),odr.Model(lambda B,x: B[0]*x+B[1]),beta0=np.ones(2)).run().beta.round(3)
"""


@pytest.mark.parametrize("line", lines(LINES))
def test_as_numpys(line):
    assert_same(line, SETUP)
