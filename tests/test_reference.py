"""The reference: which names are public, what their docstrings have, and that their examples do what they show."""

import doctest
import importlib
import inspect
import re
from types import ModuleType

import numpy
import pytest
from test_process import run  # noqa: F401  # the fixture

import dflow
import dflow.numpy as np
from dflow import autograd, engine, gluon, init, nd, npx, optimizer
from dflow.gluon import nn, rnn

pytestmark = pytest.mark.once

NUMPYS = ("numpy", "numpy.linalg", "numpy.fft", "numpy.random")
# Every name of these has all sections, and an example.
WHOLE = """dflow dflow.d2l dflow.engine dflow.autograd dflow.devices dflow.image dflow.init dflow.kvstore
    dflow.lr_scheduler dflow.metric dflow.nd dflow.nd.contrib dflow.nd.linalg dflow.nd.random dflow.npx dflow.npx.image
    dflow.npx.random dflow.onnx dflow.optimizer dflow.profiler dflow.random dflow.util dflow.gluon dflow.gluon.nn
    dflow.gluon.rnn dflow.gluon.loss dflow.gluon.metric dflow.gluon.utils dflow.gluon.data dflow.gluon.data.batchify
    dflow.gluon.data.vision dflow.gluon.data.vision.transforms dflow.gluon.model_zoo.vision
    dflow.gluon.contrib.estimator dflow.gluon.contrib.nn""".split()
OTHERS = "dflow.context dflow.gluon.contrib dflow.gluon.model_zoo".split()
MXNETS = {"boolean_dtypes", "floating_dtypes", "integer_dtypes", "numeric_dtypes"}
NAMES = {"autograd": autograd, "dflow": dflow, "engine": engine, "gluon": gluon, "init": init, "nd": nd, "nn": nn,
         "np": np, "npx": npx, "numpy": numpy, "optimizer": optimizer, "rnn": rnn}


def public(path):
    """(name, what it is) of the public names that are no modules."""
    module = importlib.import_module(path)
    found = ((name, getattr(module, name)) for name in dir(module))
    return [(name, thing) for name, thing in found if name[0] != "_" and not isinstance(thing, ModuleType)]


def ours(path):
    """(name, ours, NumPy's) of the names in a module of NumPy's that are not NumPy's own objects."""
    theirs = importlib.import_module(path)
    for name, thing in public(f"dflow.{path}"):
        numpys = getattr(theirs, name, None)
        if callable(thing) and numpys is not None and thing is not numpys:
            yield name, thing, numpys


# -- names -----------------------------------------------------------------------------------------

def test_names_of_the_package():
    assert set(dir(dflow)) == {*dflow.__all__, *dflow._MODULES, *dflow._UTIL, *dflow._DEVICES, "__version__"}
    assert {"numpy", "np", "npx", "nd", "gluon", "autograd", "engine", "graph", "cpu"} <= set(dir(dflow))
    assert all(hasattr(dflow, name) for name in dir(dflow))


def test_names_of_numpys_namespace():
    names = {name for name in numpy.__all__ if name[0] != "_"}
    assert set(dir(np)) == names | MXNETS | {"__version__", "lib", "typing", "testing"}
    assert all(hasattr(np, name) for name in dir(np))


@pytest.mark.parametrize("path", [*WHOLE[1:], *OTHERS, *(f"dflow.{path}" for path in NUMPYS[1:])])
def test_names_of_modules(path):
    """Those that are told, no more: neither helpers nor what a module imports for itself."""
    module = importlib.import_module(path)
    assert dir(module) == sorted(set(dir(module))) == sorted(module.__all__)
    assert all(hasattr(module, name) for name in dir(module))
    assert not {"os", "sys", "math", "importlib", "dflow", "numpy", "missing"} & set(dir(module))


def test_names_of_modules_when_something_is_imported_besides():
    """Whatever lies in the module: dir() does not tell of it."""
    for module in (dflow, np, engine, npx, nd, autograd):
        before = dir(module)
        module._something = module.something = None
        try:
            assert dir(module) == before
        finally:
            del module._something, module.something


# -- docstrings of what NumPy has, too -------------------------------------------------------------

def own(text):
    """What dflow says, without NumPy's text."""
    return text.partition("NumPy's documentation of")[0]


@pytest.mark.parametrize("path", NUMPYS)
def test_docstrings_say_how_it_runs(path):
    """A summary, how it runs, and NumPy's text, of the NumPy at hand, parameters, results and examples in it."""
    count = 0
    for name, thing, numpys in ours(path):
        if isinstance(thing, type) or not hasattr(thing, "__name__"):
            assert thing.__doc__, name
            continue
        text, theirs = inspect.getdoc(thing), inspect.getdoc(numpys)
        assert "Runs: " in text and len(own(text)) < 2000, name
        assert text.count("Runs: ") == 1 and ("NumPy's documentation of `" in text or theirs.count("\n\n") < 2), name
        for line in theirs.partition("\n\n")[2].split("\n")[-5:]:
            assert line.strip() in text, (name, line)
        count += 1
    assert count > {"numpy": 330, "numpy.linalg": 30, "numpy.fft": 17, "numpy.random": 45}[path]


@pytest.mark.parametrize("path", NUMPYS)
def test_functions_have_their_own_name_and_signature(path):
    theirs = importlib.import_module(path)
    for name, thing, numpys in ours(path):
        if hasattr(thing, "__name__"):
            known = thing.__name__
            assert known == numpys.__name__ and known in (name, getattr(theirs, known, numpys) and known), name
            assert thing.__module__.split(".")[0] in ("dflow", "numpy"), name
        if callable(thing) and name != "fromstring":        # whose text says it, as NumPy's does
            assert str(inspect.signature(thing)), name


def test_help_shows_name_and_signature(capsys):
    def shown(thing):
        """The text, and the same without spaces: Python 3.13 may have a line for each parameter."""
        help(thing)
        text = capsys.readouterr().out
        return text, "".join(text.split())

    text, close = shown(np.sum)
    assert "inmoduledflow.numpy:sum(a,axis=None,dtype=None,out=None,keepdims=False,initial=" in close
    assert "The sum along axes." in text and "Runs: returns at once." in text and "Parameters" in text
    assert "add(x1,x2,/,out=None" in shown(np.add)[1]
    text, close = shown(np.unique)
    assert "unique(ar,return_index=False" in close and "Runs: waits" in text


def test_methods_are_documented():
    for name, numpys in vars(numpy.ndarray).items():
        method = vars(dflow.ndarray).get(name)
        if name[0] == "_" or not callable(numpys) or method is None:
            continue
        text = inspect.getdoc(method)
        assert text.count("Runs: ") == 1, name
        assert f"NumPy's documentation of `numpy.ndarray.{name}`" in text or numpys.__doc__.count("\n\n") < 2, name
    assert (dflow.ndarray.sum.__name__, dflow.ndarray.sum.__qualname__) == ("sum", "ndarray.sum")
    assert "waits for the array" in dflow.ndarray.tolist.__doc__
    for name in ("T", "shape", "dtype", "grad", "device", "as_in_ctx", "wait_to_read", "is_ready", "asnumpy"):
        assert inspect.getdoc(inspect.getattr_static(dflow.ndarray, name)), name


def test_docstrings_are_made_when_they_are_asked_for():
    from dflow._base.documents import composed

    assert composed("", "copies", "f(x)\n\n    First.\n\n    More.\n    ", "numpy.f").split("\n\n") == [
        "First.", "Runs: waits for its arguments, then calls NumPy's function on copies of them.",
        "NumPy's documentation of `numpy.f`:", "More.\n"]
    assert "but where it waits for what is named above" in composed("Waits for x.", "kernel", "", "numpy.f")
    assert np.cumsum.__doc__ is np.cumsum.__doc__                 # kept
    function = np.cumsum
    before, function.__doc__ = function.__doc__, "Another."
    assert function.__doc__ == "Another."
    function.__doc__ = before


# -- docstrings of dflow's own ---------------------------------------------------------------------

def sections(text):
    return set(re.findall(r"^(\w+)\n-{3,}$", text, re.MULTILINE))


@pytest.mark.parametrize("path", WHOLE)
def test_docstrings_have_all_sections(path):
    for name, thing in public(path):
        if not callable(thing) or thing is dflow.ndarray or path == "dflow" and name in dflow._UTIL:
            continue
        text = inspect.getdoc(thing)
        assert text and text.partition("\n")[0].rstrip().endswith((".", ":")) or "\n\n" in text, name
        found = sections(text)
        assert "Examples" in found, name
        try:
            parameters = [p for p in inspect.signature(thing).parameters if p not in ("kwargs", "args")]
        except ValueError:
            continue
        if isinstance(thing, type) and (issubclass(thing, Exception) or parameters == ["prefix", "params"]):
            continue
        assert not parameters or "Parameters" in found or issubclass(type(thing), type), name
        if "Parameters" in found:
            told = text.partition("Parameters\n")[2].partition("\n\n")[0]
            assert [p for p in parameters if not re.search(rf"\b{p}\b", told)] == [], name


@pytest.mark.parametrize("path", OTHERS)
def test_every_public_name_has_a_docstring(path):
    assert [name for name, thing in public(path) if callable(thing) and not inspect.getdoc(thing)] == []


EXAMPLES = [(f"{path}.{name}", thing) for path in (*WHOLE, *OTHERS) for name, thing in public(path)
            if callable(thing) and thing is not dflow.ndarray and ">>> " in (inspect.getdoc(thing) or "")]


@pytest.mark.parametrize("path, thing", EXAMPLES, ids=[path for path, _ in EXAMPLES])
def test_examples(path, thing):
    names = dict(public(path.rpartition(".")[0])) | NAMES
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(thing), names, path, None, 0)
    np.random.seed(0)
    said = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    found = doctest.DocTestRunner(optionflags=flags).run(test, out=said.append)
    assert found.failed == 0, "".join(said)


def test_without_docstrings(run):                          # noqa: F811
    """python -OO: what is made of them is not there, and everything else is."""
    text = """
        import dflow, dflow.numpy as np
        from dflow import gluon, image, nd, npx, onnx, optimizer, profiler
        from dflow.gluon.model_zoo import vision
        print(np.ones(3).sum(), np.add.__doc__ is None or "Runs: " in np.add.__doc__)
        """
    assert run(text, before="", options=["-OO"]) == (0, "3.0 True\n", "")
