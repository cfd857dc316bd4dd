"""Submodules of NumPy's, by their names below dflow.numpy."""

import importlib
import subprocess
import sys

import numpy
import pytest

import dflow
import dflow.numpy as np

pytestmark = pytest.mark.once            # see pyproject.toml

THEIRS = """exceptions ma ma.core ma.extras ma.mrecords rec char strings dtypes ctypeslib matlib version f2py
    lib.array_utils lib.introspect lib.mixins lib.npyio lib.recfunctions lib.scimath lib.user_array
    random.bit_generator testing.overrides""".split()
MATLIB = pytest.mark.filterwarnings("ignore:Importing from numpy.matlib")


@MATLIB
@pytest.mark.parametrize("name", THEIRS)
def test_a_module_that_stays_numpys_has_one_home(name):
    ours = importlib.import_module(f"dflow.numpy.{name}")
    theirs = importlib.import_module(f"numpy.{name}")
    assert ours is theirs
    assert theirs.__spec__.name == theirs.__name__ == f"numpy.{name}"        # as if nobody had asked
    found = np
    for part in name.split("."):
        found = getattr(found, part)
    assert found is theirs


@pytest.mark.parametrize("name", ["linalg", "fft", "random", "testing", "polynomial", "polynomial.chebyshev", "lib",
                                  "lib.format", "lib.stride_tricks"])
def test_a_module_of_ours_stays_ours(name):
    assert importlib.import_module(f"dflow.numpy.{name}").__name__ == f"dflow.numpy.{name}"


def test_the_forms_of_import():
    import dflow.numpy.random.mtrand as mtrand
    from dflow.numpy.random.mtrand import RandomState

    import dflow.numpy.ma as ma
    from dflow.numpy.lib.stride_tricks import as_strided
    from dflow.numpy.ma import extras, masked_array

    assert ma is numpy.ma and masked_array is numpy.ma.masked_array and extras is numpy.ma.extras
    assert mtrand is np.random.mtrand is np.random and RandomState is np.random.RandomState
    assert type(as_strided(np.arange(4.0), (2, 2), (8, 8))) is dflow.ndarray


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", """core.numeric.asarray core.fromnumeric.sum core.umath.add core.multiarray.dot
    core.shape_base.vstack _core.numeric.ones _core.umath.exp linalg._linalg.inv""".split())
def test_modules_that_show_numpys_functions_once_more_have_ours(name):
    module, _, function = name.rpartition(".")
    shown = getattr(importlib.import_module(f"dflow.numpy.{module}"), function)
    home = np.linalg if module.startswith("linalg") else np
    assert shown is getattr(home, function)
    outer, _, inner = module.rpartition(".")
    assert getattr(getattr(importlib.import_module(f"dflow.numpy.{outer}"), inner), function) is shown


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_only_numpys_private_modules_have_is_numpys():
    from dflow.numpy._core import numerictypes
    from dflow.numpy.core import overrides

    assert numerictypes.obj2sctype is numpy._core.numerictypes.obj2sctype
    assert overrides.array_function_dispatch is numpy._core.overrides.array_function_dispatch


@pytest.mark.parametrize("name", ["nothing", "ma.nothing", "random.nothing", "core.nothing", "linalg.nothing"])
def test_what_numpy_has_not_is_not_here(name):
    with pytest.raises(ModuleNotFoundError, match=rf"No module named 'dflow\.numpy\.{name}'"):
        importlib.import_module(f"dflow.numpy.{name}")


def test_they_are_loaded_when_they_are_asked_for():
    program = """
import sys, dflow.numpy as np
early = [name for name in ("numpy.ma", "numpy.rec", "numpy.testing", "numpy.ctypeslib") if name in sys.modules]
import dflow.numpy.ma
assert "numpy.ma" in sys.modules and not early, early
"""
    subprocess.run([sys.executable, "-c", program], check=True)
