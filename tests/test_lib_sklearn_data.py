"""scikit-learn leaves what it is given as it leaves NumPy's arrays, and finds the same in it."""

import numpy
import pytest

import dflow.numpy as np

pytest.importorskip("sklearn")
discovery = pytest.importorskip("sklearn.utils.discovery")

pytestmark = pytest.mark.once            # see pyproject.toml

RNG = numpy.random.default_rng(0)
X = abs(RNG.normal(size=(60, 5))) + 0.1
Y = (X[:, 0] > X[:, 1]).astype(int)
SLOW = {"BernoulliRBM", "GaussianProcessClassifier", "HDBSCAN", "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor", "LassoLarsCV", "LogisticRegressionCV", "MLPClassifier", "MLPRegressor",
        "SpectralBiclustering", "TSNE"}


def estimators():
    """What can be made without arguments."""
    for name, kind in discovery.all_estimators():
        try:
            kind()
        except Exception:
            continue
        if name not in SLOW:
            yield pytest.param(kind, id=name)


def fitted(kind, x, y):
    """What fitting, predicting and transforming give, as numbers; and what fails."""
    estimator = kind()
    given = estimator.get_params()
    estimator.set_params(**{name: 0 for name in given if name == "random_state"},
                         **{name: 5 for name in given if name == "n_estimators"})
    results = []
    try:
        estimator.fit(x, y)
        for name in ("predict", "transform"):
            if hasattr(estimator, name):
                result = getattr(estimator, name)(x)
                results.append(numpy.asarray(result.todense() if hasattr(result, "todense") else result))
    except Exception as error:
        results.append(type(error).__name__)
    return results


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", estimators())
def test_input_stays(kind):
    for order in "CF":
        ours, theirs = np.array(X, order=order), numpy.array(X, order=order)
        labels, theirs_labels = np.array(Y), numpy.array(Y)
        found, expected = fitted(kind, ours, labels), fitted(kind, theirs, theirs_labels)
        assert (ours == theirs).all() and (labels == theirs_labels).all()
        assert len(found) == len(expected)
        for a, b in zip(found, expected):
            assert a == b if isinstance(b, str) else numpy.allclose(a, b, equal_nan=True), kind
