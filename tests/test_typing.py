"""The stubs: mypy over programs in tests/typing, which run too; stubtest, which compares them with the modules."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import dflow
import dflow.numpy
from dflow import nd

PROGRAMS = Path(__file__).resolve().parent / "typing"
PACKAGE = Path(dflow.__file__).resolve().parent
WRITTEN_FOR = "2.4"         # the NumPy whose signatures the stubs have, where it is NumPy's function that runs

# What stubtest finds and is so on purpose, each with a reason.
ACCEPTED = {
    r"dflow\._\w+\.\w+ failed to find stubs": "private",
    r"dflow\._notebook\.Timing@": "made where IPython is",
    r"dflow\.gradients\.draws\._nodes ": "private, and cached",
    r"dflow\._(ranks\.model\.way_for|remote\.as_at) ": "private, and cached",
    r"dflow\.ops\.": "nothing public: it is read as source, without annotations",
    r"dflow\._array\.(core\.(?!ndarray)|array_type)": "private, but for ndarray",
    r"dflow\._functions\.ufunc\.(?!ufunc)": "private, but for ufunc",
    r"dflow\._functions\.ufunc\.ufunc\.(at_(bytes|with_casts)|call_with_axes|core_axes|failure) is not present":
        "private",
    r"dflow\._functions\.ufunc\.ufunc\.(identity|ntypes|signature|types) is not present at runtime":
        "NumPy's, by __getattr__",
    r".* is a disjoint base at runtime": "its decorator is too new for most checkers",
    r".* has a default value of type numpy\._globals\._NoValueType": "NumPy's placeholder, which nobody passes",
    r"dflow\.numpy\.nditer( is|\.)": "what it makes are NumPy's iterators",
    r"dflow\.numpy\.random\.(Generator|RandomState) is inconsistent, metaclass differs": "it is for isinstance() alone",
    r"dflow\.numpy\.__all__ is not present in stub": "it is that of the NumPy at hand",
    r"dflow\.(nd|gluon\.model_zoo\.vision)\.": "it is made of tables",
    rf"dflow\._array\.core\.ndarray\.({'|'.join(nd.METHODS)}) is not present in stub":
        "MXNet 1's methods come with dflow.nd",
    r"dflow\.numpy\.typing\.NDArray\.": "ndarray, under another name",
    r"dflow\.npx\.__all__ is not present in stub": "it is made of the table's rows",
}


def mypy(*arguments, cwd):
    """The lines that a module of mypy's writes about the dflow that is tested."""
    paths = os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent), "PYTHONPATH": paths, "NO_COLOR": "1"}
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=cwd, env=environment, capture_output=True, text=True)
    return (done.stdout + done.stderr).splitlines()


def other_versions():
    """Regular expressions for what another NumPy than the one the stubs are written for says differently.

    Names that only one of the two has; signatures of its own functions, which dflow runs as they are; its own stub of
    numpy.testing.
    """
    if numpy.__version__.startswith(f"{WRITTEN_FOR}."):
        return []
    yield r"dflow\.numpy\.\w+ is not present (at runtime|in stub)"
    yield r"dflow\.numpy\.testing\."
    theirs = [name for name in numpy.__all__ if hasattr(getattr(dflow.numpy, name, None), "__wrapped__")]
    yield rf"dflow\.numpy\.({'|'.join(theirs)}) is inconsistent"


@pytest.mark.once
@pytest.mark.slow
def test_programs_are_typed(tmp_path):
    """Nothing is wrong in the programs, everything that is marked so in mistakes.py, and nothing in the stubs."""
    programs = sorted(map(str, PROGRAMS.glob("*.py")))
    assert len(programs) == 3
    lines = mypy("mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", *programs, cwd=tmp_path)
    assert lines == ["Success: no issues found in 3 source files"]


@pytest.mark.parametrize("name", ["programs", "results"])
def test_typed_programs_run(name):
    runpy.run_path(str(PROGRAMS / f"{name}.py"))


@pytest.mark.once
@pytest.mark.slow
def test_stubs_are_what_is_there(tmp_path):
    config = tmp_path / "mypy.ini"
    # overload-overlap depends on what an older NumPy's ArrayLike is: a number is one, and has an overload of its own.
    config.write_text("[mypy]\nstrict = True\ndisable_error_code = overload-overlap\n"
                      "[mypy-dflow.ops.*,dflow.gradients.*,dflow._gradient_methods,dflow._graph_decorator,dflow.gluon.*,"
                      "dflow.image,dflow.nd.*,dflow.kvstore,dflow.profiler,dflow._libraries.*,dflow._profile.*,"
                      "dflow.onnx.*,dflow.dask,dflow.distributed,dflow._ranks.*,dflow._remote]\n"
                      "ignore_errors = True\n")
    lines = mypy("mypy.stubtest", "--concise", "--mypy-config-file", str(config), "dflow", cwd=tmp_path)
    assert all(line.startswith("dflow.") for line in lines), lines          # else it did not get that far
    accepted = [*ACCEPTED, *other_versions()]
    assert [line for line in lines if not any(re.match(pattern, line) for pattern in accepted)] == []
    assert [pattern for pattern in ACCEPTED if not any(re.match(pattern, line) for line in lines)] == []


def test_the_package_has_the_stubs():
    names = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*") if path.suffix in (".pyi", ".typed")}
    modules = [f"{path.relative_to(PACKAGE)}i" for path in PACKAGE.glob("numpy/**/*.py")]
    numpys = "char ctypeslib dtypes exceptions ma rec strings".split()              # of modules that are NumPy's own
    numpys += [f"lib/{name}" for name in "array_utils format introspect mixins npyio scimath".split()]
    modules += [f"numpy/{name}.pyi" for name in numpys]
    assert {"py.typed", "__init__.pyi", "_array/array_type.pyi", "_array/core.pyi", "_functions/ufunc.pyi",
            "autograd.pyi", "devices.pyi", "engine.pyi", "npx/__init__.pyi", "npx/image.pyi", "npx/random.pyi",
            *modules} == names
