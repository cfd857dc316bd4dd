"""numpy.polynomial over our arrays: evaluation, without waiting; the rest by NumPy's functions; the classes."""

import pickle

import numpy
import pytest
from compare import assert_same_outcome, outcome
from dflow.numpy.polynomial.chebyshev import chebval
from engines import Gate

import dflow.numpy as np

MODULES = {"polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "laguerre": "lag", "hermite": "herm",
           "hermite_e": "herme"}
CALLS = [
    "{m}.{p}val(np.arange(3.), np.arange(8.).reshape(4, 2))",
    "{m}.{p}val(np.arange(5.).reshape(5, 1), np.arange(4).reshape(2, 2))",
    "{m}.{p}val(np.arange(2.), np.arange(6).reshape(3, 2), tensor=False)",
    "{m}.{p}val([1, 2], np.arange(6).reshape(3, 2))",
    "{m}.{p}val(2, np.array([1, 2, 3]))",
    "{m}.{p}val2d(np.arange(3.), [1, 2, 3], np.arange(8.).reshape(2, 2, 2))",
    "{m}.{p}val3d(np.arange(3), np.arange(3.), np.arange(3.), np.arange(8.).reshape(2, 2, 2))",
    "{m}.{p}val2d(np.arange(3.), np.arange(4.), np.arange(8.).reshape(2, 2, 2))",
    "{m}.{p}grid2d(np.arange(5.), np.arange(3.), np.arange(4.).reshape(2, 2))",
    "{m}.{p}grid3d(np.arange(3.), np.arange(3), [2, 3.], np.arange(8.).reshape(2, 2, 2))",
    "{m}.{p}vander2d(np.arange(3.), np.arange(3.), [1, 2])",
    "{m}.{p}add(np.array([1, 2, 3]), [1])",
    "{m}.{p}der(np.array([1., 2, 3]))",
    "{m}.{C}([1, 2, 3])(np.arange(4.).reshape(2, 2))",
    "{m}.{C}(np.array([1, 2, 3]), domain=[0, 3])(np.arange(4.))",
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("module", MODULES)
def test_as_numpys(module, call):
    name = "HermiteE" if module == "hermite_e" else module.capitalize()
    call = call.format(m=f"np.polynomial.{module}", p=MODULES[module], C=name)
    assert_same_outcome(outcome(lambda: eval(call, {"np": np})), outcome(lambda: eval(call, {"np": numpy})))


@pytest.mark.parametrize("call", [
    "np.polynomial.polynomial.polyvalfromroots(np.linspace(-1, 1, 4), np.arange(3.))",
    "np.polynomial.polynomial.polyvalfromroots(np.zeros((2, 2)), [1, 0])",
    "np.polynomial.polynomial.polyvalfromroots(np.linspace(-1, 1, 4), np.arange(3.), tensor=False)",
    "np.polynomial.polyutils.mapdomain(np.arange(3.), [0, 2], np.array([-1, 1]))",
])
def test_roots_and_domains(call):
    assert_same_outcome(outcome(lambda: eval(call, {"np": np})), outcome(lambda: eval(call, {"np": numpy})))


def test_classes_are_numpys_too():
    p = np.polynomial.Polynomial(np.array([1, 2, 3]))
    assert isinstance(p, numpy.polynomial.Polynomial) and type(p) is np.polynomial.polynomial.Polynomial
    assert type(p * p) is type(p) and pickle.loads(pickle.dumps(p)) == p and str(p).isprintable()
    assert p(p).coef.tolist() == numpy.polynomial.Polynomial([1, 2, 3])(p).coef.tolist()
    assert type(p.convert(kind=np.polynomial.Chebyshev)) is np.polynomial.Chebyshev


def test_results_are_ours_and_evaluation_does_not_wait():
    line = np.polynomial.Polynomial([1, 2])
    fit = np.polynomial.polynomial.polyfit(np.arange(4.), np.arange(4.), 1)
    for x in (fit, line.roots(), line([1, 2]), *line.linspace(3)):
        assert type(x) is np.ndarray
    with Gate() as gate:
        x = gate.hold(np.arange(3.))
        y, z = chebval(x, np.arange(4.).reshape(2, 2)), np.polynomial.Chebyshev([1, 2, 3])(x)
        assert not y.is_ready() and not z.is_ready()
    assert y.tolist() == [[0, 2, 4], [1, 4, 7]] and z.tolist() == [-2, 6, 26]
