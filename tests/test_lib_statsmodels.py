"""statsmodels over our arrays."""

import pytest
from libraries import assert_same, lines

pytest.importorskip("statsmodels")

pytestmark = pytest.mark.once

SETUP = """
import statsmodels.api as sm
t = np.arange(40.); R = np.stack([np.sin(t), np.cos(t*t), np.sin(t**3)], 1); y = np.sin(3*t)+t/9; c = np.arange(40)*7%5
b = (np.arange(40)*13%7>3)*1
"""

LINES = """
    sm.OLS(y,sm.add_constant(R)).fit().params.round(6)
    sm.OLS(y,R).fit().get_prediction(R[:3]).summary_frame().values.round(6)
    str(sm.OLS(y,R).fit().t_test(np.eye(3)))
    sm.WLS(y,R,weights=np.abs(y)+1).fit().bse.round(6)
    sm.GLM(c,sm.add_constant(R),family=sm.families.Poisson()).fit().params.round(6)
    sm.Logit(b,R).fit(disp=0).params.round(5)
    sm.QuantReg(y,R).fit(.5).params.round(4)
    sm.OLS.from_formula("y~a+b",{"y":y,"a":R[:,0],"b":R[:,1]}).fit().params.values.round(6)
    sm.tsa.VAR(R).fit(1).params.round(6)
    sm.tsa.ExponentialSmoothing(y+2,trend="add").fit().forecast(3).round(3)
    sm.tsa.ARIMA(y,order=(1,0,0)).fit().params.round(2)
    sm.tsa.acf(y).round(6)
    sm.nonparametric.lowess(y,R[:,0]).round(6)
    sm.stats.multipletests(np.array([.01,.02,.03,.5]))[1].round(6)
    sm.stats.durbin_watson(y).round(6)
"""


@pytest.mark.parametrize("line", lines(LINES))
def test_as_numpys(line):
    assert_same(line, SETUP)
