"""pandas and the memory of arrays: what it copies of NumPy's it copies of ours; and the types that it infers."""

import subprocess
import sys

import numpy
import pytest

import dflow.numpy as np

pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.once            # see pyproject.toml

MADE = """pd.Series(x) | pd.Series(x, dtype=float) | pd.Series(x, index=list('abcd')) | pd.Series(x, dtype='f4')
    pd.Series(x[1:], name='s') | pd.Series(x[::2]) | pd.Index(x) | pd.Index(x, dtype='f4') | pd.Index(x[::-1])
    pd.DataFrame(x) | pd.DataFrame(x.reshape(2, 2)) | pd.DataFrame(x.reshape(2, 2).T)
    pd.DataFrame(x, dtype=float)
    pd.DataFrame({'a': x}) | pd.DataFrame([x, x]) | pd.DataFrame({'a': pd.Series(x)}) | pd.DataFrame().assign(a=x)
    pd.concat([pd.Series(x), pd.Series(x)]) | pd.array(x) | pd.Categorical(x) | pd.MultiIndex.from_arrays([x, x])
    pd.Series(x).to_frame() | pd.Series(dict(zip('abcd', x))) | pd.DataFrame({'a': [1, 2, 3, 4]}).assign(b=x)
    pd.Series(x.reshape(2, 2)[0]) | pd.Series(x, copy=True) | pd.DataFrame(x, copy=True) | pd.Index(x, copy=True)
    pd.Series(np.broadcast_to(x[1], 3)) | pd.arrays.SparseArray(x)
    pd.DataFrame({'a': x, 'b': x}).set_index('a') | pd.Series(x > 1).astype(int) | pd.Series(x + 1j)
    pd.Series(x.astype(int))
    pd.Index(x.astype(int)) | pd.Series([0.0] * 4).add(x)"""


@pytest.mark.parametrize("made", [text.strip() for line in MADE.splitlines() for text in line.split("|")])
def test_copies(made):
    """As of NumPy's: neither sees what the other writes, and types are the same."""
    seen = []
    for module in (np, numpy):
        x = module.arange(4.0)
        result = eval(made, {"pd": pd, "np": module, "x": x})
        before = str(result), str(getattr(result, "dtypes", None))
        x += 10
        assert str(result) == before[0], "a write to the array is seen in what was made of it"
        if isinstance(result, (pd.Series, pd.DataFrame)) and len(result):
            result.iloc[0] = 99
            result.iloc[-1:] = 77
        assert x.tolist() == [10, 11, 12, 13], "a write is seen in the array"
        seen.append(before)
    assert seen[0] == seen[1]


def test_what_is_made_of_a_pending_array():
    x = np.arange(300000.0)
    for k in range(3):
        x = np.sin(x) + k
    series, index = pd.Series(x), pd.Index(x)
    before = x.copy()
    x[:] = -1
    assert (series.to_numpy() == before).all() and (index.to_numpy() == before).all()


def test_other_libraries_see_the_memory():
    x = np.arange(4.0)
    seen = numpy.asarray(x)
    x += 1
    assert seen.tolist() == [1, 2, 3, 4] and numpy.shares_memory(seen, x)


INFERRED = """pd.Series([x[0], x[1]]) | pd.Series([x[0], None]) | pd.Series([x[0], 2]) | pd.Series((x[0], x.mean()))
    pd.Series([x[0], 'a']) | pd.Series([k[0], k[1]]) | pd.Series([k[0], x[1]]) | pd.Series([b[0], b[1]])
    pd.Series([x[0], 1j * x[1]]) | pd.Series([k[0], None]) | pd.Series([b[0], 'a']) | pd.Index([x[0], x[1]])
    pd.Index([k[0], 5]) | pd.DataFrame([{'a': x.mean()}]) | pd.DataFrame([{'a': x.mean(), 'b': 's', 'c': k[0]}])
    pd.DataFrame([[x[0], k[0]], [x[1], 2]]) | pd.DataFrame({'a': [x[0], x[1]]}) | pd.DataFrame([(x[0], b[1])])
    pd.DataFrame.from_records([(x[0], x[1])]) | pd.DataFrame.from_dict({'a': [x[0]]})
    pd.DataFrame({'a': {'m': x.mean()}})
    pd.Series(x[i] for i in range(3)) | pd.Series({'a': x.mean(), 'b': x.std()}) | pd.Series(x[0], index=[1, 2])
    pd.Series(k[0], index=[1, 2]) | pd.DataFrame({'a': x[0]}, index=[0, 1])
    pd.DataFrame(x[1], index=[0], columns=['a'])
    pd.Series([1, 2]).map(lambda v: x[v]) | pd.DataFrame({'a': [1, 2]}).apply(lambda v: x.sum() + v.iloc[0])
    pd.Series(x[1].astype('f4'), index=[0]) | pd.Series([x[1].astype('f4')]) | pd.Series([k[0].astype('u1')] * 2)
    pd.DataFrame([{'a': x.mean()}, {'b': x.max()}])"""


@pytest.mark.parametrize("made", [text.strip() for line in INFERRED.splitlines() for text in line.split("|")])
def test_types_that_are_inferred(made):
    seen = []
    for module in (np, numpy):
        names = {"x": module.arange(4.0), "k": module.arange(3), "b": module.array([True, False])}
        result = eval(made, {"pd": pd, **names})
        seen.append((str(result), str(getattr(result, "dtypes", None))))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("order", ["import pandas as pd, dflow.numpy as np", "import dflow.numpy as np, pandas as pd"])
def test_either_may_be_imported_first(order):
    program = f"""{order}
x = np.arange(3.0)
print(pd.Series([x[0], x[1]]).dtype, pd.DataFrame([{{'a': x.mean()}}]).dtypes.iloc[0], pd.Series(x[0], index=[0]).dtype,
      pd.DataFrame(x[0], index=[0], columns=[0]).dtypes.iloc[0], pd.Series(['a', 1]).dtype)"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.split() == ["float64"] * 4 + ["object"], run.stderr
