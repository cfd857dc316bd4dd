"""NumPy's own assertions, with arrays and elements of ours."""

import re
import subprocess
import sys

import numpy
import numpy.testing as theirs
import pytest

import dflow.numpy as np

pytestmark = pytest.mark.once            # see pyproject.toml

ASSERTIONS = """assert_equal assert_almost_equal assert_array_equal assert_array_almost_equal assert_allclose
    assert_approx_equal assert_array_less assert_array_compare assert_array_max_ulp
    assert_array_almost_equal_nulp""".split()
PAIRS = """x, x | x, x.tolist() | x.tolist(), x | x, numpy.arange(3.0) | numpy.arange(3.0), x | x, x + 1 | x, 1 |
    x * 0, 0 | x, x[:2] | x[1], 1.0 | 1.0, x[1] | x[1], x[1] | x[1], 2.0 | x.sum(), 3.0 | [x.sum()], [3.0] |
    {'a': x, 'b': (x[0], 1)}, {'a': x, 'b': (x[0], 1)} | {'a': x}, {'a': x + 1} | x * np.nan, x * np.nan |
    x[0] * np.nan, np.nan | x[0], -x[0] | x * 1j, x * 1j | x[1] * 1j, 1j | x[1] * 1j, 2j | x > 1, [0, 0, 1] |
    x, None | x[1], None | x[1], 'a' | np.array(1.0), 1.0 | np.array(1.0), x[1] |
    np.array(-0.0), 0 | -x[0], 0 | np.array(-0.0), x[0] | [np.array(1.0)], [x[1]] | x.astype('f4'), x |
    np.arange(9).reshape(3, 3), np.arange(9).reshape(3, 3).tolist() | x, x.astype(int)""".split("|")


def said(name, pair, module, assertions):
    """The error of an assertion, if any."""
    try:
        names = {"f": getattr(assertions, name), "np": module, "numpy": numpy, "x": module.arange(3.0)}
        eval(f"f({pair.strip()})", names)
    except Exception as error:
        return type(error), re.sub(r"Traceback .*?\n\n", "", str(error), flags=re.DOTALL)


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", ASSERTIONS)
def test_of_ours_it_says_what_it_says_of_numpys(name, pair):
    expected = said(name, pair, numpy, theirs)
    assert said(name, pair, np, theirs) == expected
    if hasattr(np.testing, name):
        assert said(name, pair, np, np.testing) == expected


@pytest.mark.parametrize("program", [
    "import numpy.testing; import dflow.numpy as np; from numpy.testing import assert_equal",
    "import dflow.numpy as np; from numpy.testing import assert_equal",
    "import dflow.numpy as np; from numpy.testing._private.utils import assert_equal",
    "from numpy import testing; import dflow.numpy as np; assert_equal = testing.assert_equal",
    "import dflow.numpy as np; import numpy; assert_equal = numpy.testing.assert_equal",
    "import dflow.numpy as np; from dflow.numpy.testing import assert_equal"])
def test_whichever_is_loaded_first(program):
    subprocess.run([sys.executable, "-c", program + """
x = np.arange(3)
assert_equal(x, [0, 1, 2])
assert_equal({"a": x[1]}, {"a": 1})
try:
    assert_equal(x, x + 1)
except AssertionError as error:
    assert "Mismatched elements: 3 / 3" in str(error)
else:
    raise SystemExit("nothing was said")
"""], check=True)
