"""pytest's approx() of our arrays and their elements, on either side."""

import pytest
from libraries import assert_same, lines

pytestmark = pytest.mark.once

SETUP = """
import pytest
x = np.array([1.,2.,3.,4.]); k = np.array([1,2,3]); z = np.array([1j, 2.])
"""

LINES = """
    pytest.approx(x.sum()) == 10.0
    10.0 == pytest.approx(x.sum())
    x.sum() == pytest.approx(10)
    x.sum() == pytest.approx(x.sum() + 1e-9)
    x[0] == pytest.approx(x[1])
    z[0] == pytest.approx(z[0])
    k[0] == pytest.approx(k.min())
    x == pytest.approx(x)
    x == pytest.approx([1., 2., 3., 4.])
    [1., 2.] == pytest.approx(x[:2])
    pytest.approx([x[0], x[1]]) == [x[0], 2.0]
    {"a": x[0]} == pytest.approx({"a": x[0]})
    x[1] == pytest.approx(1.0, rel=x[0])
    str(pytest.approx(x[0]))
    2 * x == pytest.approx(x)
"""


@pytest.mark.parametrize("line", lines(LINES))
def test_as_numpys(line):
    assert_same(line, SETUP)
