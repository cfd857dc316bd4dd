"""scikit-learn over our arrays."""

import pytest
from libraries import assert_same, lines

pytest.importorskip("sklearn")

pytestmark = pytest.mark.once

SETUP = """
import pickle
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import ElasticNet, Lasso, LassoCV, LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.linear_model import SGDClassifier
from sklearn.cluster import AgglomerativeClustering, DBSCAN, KMeans
from sklearn.ensemble import BaggingRegressor, HistGradientBoostingRegressor, IsolationForest
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid, ParameterSampler, RandomizedSearchCV
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score, learning_curve
from sklearn.model_selection import train_test_split, validation_curve
from sklearn.neighbors import BallTree, KDTree, KNeighborsClassifier, KernelDensity, NearestNeighbors
from sklearn.decomposition import FastICA, NMF, PCA, TruncatedSVD
from sklearn.preprocessing import FunctionTransformer, LabelEncoder, MinMaxScaler, OneHotEncoder
from sklearn.preprocessing import PolynomialFeatures, QuantileTransformer, StandardScaler, label_binarize
from sklearn.metrics import accuracy_score, classification_report, confusion_matrix, f1_score, mean_squared_error
from sklearn.metrics import pairwise_distances, precision_recall_curve
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC, SVC
from sklearn.tree import DecisionTreeRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer, KNNImputer
from sklearn.datasets import make_blobs, make_classification, make_regression
from sklearn.inspection import permutation_importance
from sklearn.utils import check_random_state, check_array, shuffle, resample
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.class_weight import compute_class_weight
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.isotonic import IsotonicRegression
class_weight_dict = lambda c: LogisticRegression(class_weight={c[0]: 1., c[1]: 2.}).fit(X,c).predict(X)
_r = numpy.random.RandomState(0)
X = np.array(_r.randn(20,4)); y = np.array(_r.randn(20)); c = np.array(numpy.arange(20)%2)
a = np.array([.5,2.]); k = np.array([2,5])
"""

LINES = """
    LinearRegression().fit(X,y).coef_.round(6)
    LinearRegression().fit(X,y).predict(X).round(6)
    Ridge(alpha=a[0]).fit(X,y).coef_.round(6)
    Ridge(alpha=np.ones(1)).fit(X,y).coef_.round(6)
    LogisticRegression(C=a[1]).fit(X,c).predict(X)
    LogisticRegression().fit(X,c).score(X,c)
    KMeans(n_clusters=k[0], random_state=0, n_init=1).fit(X).labels_
    KMeans(n_clusters=3, init=X[:3], n_init=1).fit(X).labels_
    KMeans(n_clusters=2, random_state=k[0], n_init=1).fit(X).labels_
    RandomForestClassifier(n_estimators=k[1], random_state=np.random.RandomState(0), max_depth=k[0]).fit(X,c).predict(X)
    RandomForestClassifier(n_estimators=5, random_state=0, max_features=a[0]).fit(X,c).predict(X)
    GridSearchCV(Ridge(),{"alpha":np.logspace(-2,2,5)}).fit(X,y).best_params_
    GridSearchCV(Ridge(),{"alpha":np.logspace(-2,2,5)}).fit(X,y).cv_results_["param_alpha"].tolist()
    GridSearchCV(KNeighborsClassifier(),{"n_neighbors":np.arange(1,4)}, cv=k[0]).fit(X,c).best_params_
    list(ParameterGrid({"a":np.array([1,2])}))
    list(ParameterSampler({"a":np.arange(9)},2,random_state=np.random.RandomState(0)))
    PCA(n_components=k[0]).fit_transform(X).round(6)
    PCA(2, svd_solver="randomized", random_state=np.random.RandomState(0)).fit_transform(X).round(6)
    StandardScaler().fit_transform(X).round(6)
    MinMaxScaler().fit_transform(X).round(6)
    MinMaxScaler(feature_range=(a[0],a[1])).fit_transform(X).round(6)
    PolynomialFeatures(k[0]).fit_transform(X[:2,:2]).round(6)
    OneHotEncoder().fit_transform(c[:,None]).toarray()
    OneHotEncoder(categories=[np.array([0,1])]).fit_transform(c[:,None]).toarray()
    LabelEncoder().fit_transform(c)
    label_binarize(c, classes=np.array([0,1]))
    train_test_split(X,y,test_size=a[0],random_state=np.random.RandomState(0))[3]
    train_test_split(X,y,test_size=k[1],random_state=k[0])[3]
    [t.tolist() for t,_ in KFold(k[0],shuffle=True,random_state=np.random.RandomState(0)).split(X)]
    [t.tolist() for t,_ in StratifiedKFold(3,shuffle=True,random_state=0).split(X,c)]
    cross_val_score(Ridge(),X,y,cv=k[0]).round(6)
    cross_val_predict(Ridge(),X,y).round(6)
    shuffle(X, random_state=np.random.RandomState(0))
    resample(X, n_samples=k[1], random_state=np.random.RandomState(0))
    accuracy_score(c, c)
    confusion_matrix(c, 1-c)
    mean_squared_error(y, y+1)
    f1_score(c, 1-c, labels=np.array([0,1]))
    precision_recall_curve(c, X[:,0])[0].round(6)
    classification_report(c,c)
    pairwise_distances(X[:3]).round(6)
    pairwise_distances(X[:3], metric=lambda u,v: np.abs(u-v).sum()).round(6)
    rbf_kernel(X[:3], gamma=a[0]).round(6)
    SVC(C=a[1], gamma=a[0]).fit(X,c).predict(X)
    SVC(kernel="precomputed").fit(X@X.T,c).predict(X@X.T)
    SVC(kernel=lambda u,v: u@v.T).fit(X,c).predict(X)
    SVC(probability=False,random_state=np.random.RandomState(0)).fit(X,c,sample_weight=np.ones(20)).predict(X)
    LinearSVC(random_state=np.random.RandomState(0)).fit(X,c).predict(X)
    SGDClassifier(random_state=np.random.RandomState(0),alpha=a[0]/100).fit(X,c).predict(X)
    KNeighborsClassifier(k[0], weights=lambda d: 1/(d+1)).fit(X,c).predict(X)
    KNeighborsClassifier(3, metric=lambda u,v: np.abs(u-v).sum()).fit(X,c).predict(X)
    NearestNeighbors(n_neighbors=k[0]).fit(X).kneighbors(X[:2],k[0])[1]
    KDTree(X).query(X[:2],k=k[0])[1]
    BallTree(X).query_radius(X[:2],r=a[1])[0].size
    DecisionTreeRegressor(max_depth=k[0],random_state=0).fit(X,y).predict(X).round(6)
    HistGradientBoostingRegressor(max_iter=5,min_samples_leaf=2).fit(X,y).predict(X).round(6)
    MLPRegressor(hidden_layer_sizes=np.array([5,2]),random_state=0,max_iter=5).fit(X,y).predict(X).round(6)
    GaussianMixture(k[0],random_state=np.random.RandomState(0)).fit(X).predict(X)
    GaussianNB(priors=np.array([.5,.5])).fit(X,c).predict(X)
    GaussianProcessRegressor(RBF(a[0]),random_state=np.random.RandomState(0)).fit(X,y).predict(X).round(5)
    DBSCAN(eps=a[1],min_samples=k[0]).fit(X).labels_
    AgglomerativeClustering(k[0]).fit(X).labels_
    NMF(k[0],random_state=np.random.RandomState(0)).fit_transform(np.abs(X)).round(4)
    TruncatedSVD(2,random_state=np.random.RandomState(0)).fit_transform(X).round(4)
    FastICA(2,random_state=np.random.RandomState(0)).fit_transform(X).shape
    Lasso(alpha=a[0]).fit(X,y).coef_.round(6)
    LassoCV(alphas=np.array([.1,.2])).fit(X,y).alpha_
    RidgeCV(alphas=np.logspace(-2,2,5)).fit(X,y).alpha_
    ElasticNet(alpha=a[0],l1_ratio=a[0]).fit(X,y).coef_.round(6)
    make_pipeline(StandardScaler(),Ridge()).fit(X,y).predict(X).round(6)
    FunctionTransformer(np.log1p).fit_transform(np.abs(X)).round(6)
    ColumnTransformer([("s",StandardScaler(),[0,1])]).fit_transform(X).round(6)
    ColumnTransformer([("s",StandardScaler(),np.array([0,1]))]).fit_transform(X).round(6)
    SimpleImputer().fit_transform(np.where(X>1,np.nan,X)).round(6)
    KNNImputer(n_neighbors=k[0]).fit_transform(np.where(X>1,np.nan,X)).round(6)
    make_classification(n_samples=k[1]*10,random_state=np.random.RandomState(0))[1]
    make_blobs(centers=X[:3], random_state=np.random.RandomState(0), n_samples=10)[1]
    make_blobs(n_samples=k, random_state=0)[1]
    make_regression(n_samples=10,random_state=np.random.RandomState(0))[1].round(6)
    IsolationForest(random_state=np.random.RandomState(0),contamination=a[0]/2).fit(X).predict(X)
    permutation_importance(Ridge().fit(X,y),X,y,random_state=np.random.RandomState(0)).importances_mean.round(6)
    check_array(X).shape
    safe_sparse_dot(X,X.T).shape
    compute_class_weight("balanced",classes=np.array([0,1]),y=c)
    class_weight_dict(c)
    clone(KMeans(init=X[:3])).init
    Ridge(alpha=a[0]).get_params()["alpha"]
    repr(Ridge(alpha=a[0]))
    repr(KMeans(n_clusters=k[0]))
    pickle.loads(pickle.dumps(Ridge(alpha=a[0]).fit(X,y))).predict(X).round(6)
    VotingClassifier([("a",LogisticRegression()),("b",GaussianNB())],weights=a).fit(X,c).predict(X)
    BaggingRegressor(random_state=np.random.RandomState(0),n_estimators=k[0]).fit(X,y).predict(X).round(6)
    SelectKBest(k=k[0]).fit_transform(X,c).round(6)
    RFE(Ridge(),n_features_to_select=k[0]).fit(X,y).support_
    QuantileTransformer(n_quantiles=k[1]).fit_transform(X).round(6)
    IsotonicRegression().fit(X[:,0],y).predict(X[:,0]).round(6)
    KernelDensity(bandwidth=a[0]).fit(X).score(X).round(6)
    learning_curve(Ridge(),X,y,train_sizes=np.array([.5,1.]))[0]
    validation_curve(Ridge(),X,y,param_name="alpha",param_range=np.array([.5,1.]))[0].shape
    Ridge().fit(X,y,sample_weight=np.ones(20)).coef_.round(6)
    Ridge().fit(sp.csr_array(X),y).coef_.round(6)
"""


@pytest.mark.parametrize("line", lines(LINES))
def test_as_numpys(line):
    assert_same(line, SETUP)
