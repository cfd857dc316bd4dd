"""polars and pyarrow over our arrays."""

import pytest
from engines import Gate, configured
from libraries import assert_same, lines

import dflow.numpy as np

pytest.importorskip("polars")
pytest.importorskip("pyarrow")

pytestmark = pytest.mark.once

SETUP = """
import polars as pl, pyarrow as pa, pyarrow.compute
x = np.array([1.,2.,3.,4.])
k = np.array([1,2,3,0])
m = x>2
df = pl.DataFrame({"x":numpy.array([1.,2.,3.,4.]),"b":numpy.array([2.,1.,5.,4.])})
"""

LINES = """
    pl.Series(x).to_list()
    pl.Series("a", k).to_list()
    pl.Series("a", m).to_list()
    pl.Series("a", x[0:1])
    pl.Series([x[0],x[1]])
    pl.Series([k[0],k[1]])
    pl.Series("a", np.arange(6.).reshape(2,3))
    pl.DataFrame({"x":x,"k":k})
    pl.DataFrame({"x":x,"k":k[0]})
    pl.DataFrame(np.arange(6.).reshape(2,3))
    pl.DataFrame(np.arange(6.).reshape(2,3), schema=["a","b","c"])
    pl.DataFrame([x,k])
    pl.from_numpy(np.arange(6.).reshape(2,3))
    df.filter(x>2)
    df.filter(pl.col("x")>x[0])
    df.with_columns(y=x)
    df.with_columns(pl.Series("y",x))
    df.with_columns(pl.col("x")*x[1])
    df.with_columns(y=pl.lit(x))
    df.with_columns(y=pl.lit(x[0]))
    df["x"] + x
    x + df["x"]
    df["x"] * x[1]
    df["x"] == x
    df["x"][k]
    df[k]
    df.head(k[1])
    df["x"].filter(x>2)
    df["x"].is_in(x[:2])
    df["x"].gather(k)
    df.select(pl.col("x").is_in(x[:2]))
    df["x"].to_numpy() + x
    np.asarray(df["x"])
    np.array(df)
    np.sqrt(df["x"])
    np.where(df["x"]>2, df["x"], x)
    df["x"].scatter(k, x[:2])
    df["x"].search_sorted(x[1])
    df["x"].fill_null(x[0])
    df["x"].clip(x[0], x[2])
    df.sample(2, seed=k[0])
    pl.lit(x[0])
    pl.concat([pl.Series(x), pl.Series(x)])
    pl.Series("a", [np.array([1.,2.]), np.array([3.,4.])])
    pl.Series(x, dtype=pl.Float32)
    pl.Series(np.array([1,2],"i4")).dtype
    pl.Series(np.array([1.,np.nan])).to_list()
    pl.Series(np.array([1.,np.nan]), nan_to_null=True).to_list()
    pl.Series(np.arange(10.)[::2])
    pl.Series(x).map_batches(np.sqrt) if hasattr(pl.Series,'map_batches') else 0
    pa.array(x)
    pa.array(k)
    pa.array(m)
    pa.array(x, mask=x>2)
    pa.array(x, type=pa.float32())
    pa.array(x[0:0])
    pa.array([x[0],x[1]])
    pa.array([k[0]])
    pa.array(np.arange(10.)[::2])
    pa.array(np.array([1.,np.nan]), from_pandas=True)
    pa.scalar(x[0])
    pa.scalar(k[0])
    pa.table({"x":x,"k":k})
    pa.table([x,k], names=["x","k"])
    pa.RecordBatch.from_arrays([pa.array(x)],["x"])
    pa.record_batch({"x":x})
    pa.chunked_array([x,x])
    pa.py_buffer(x).size
    pa.compute.add(pa.array(x), 1.0)
    pa.compute.is_in(pa.array(x), pa.array(x[:2]))
    pa.compute.is_in(pa.array(x), value_set=pa.array(x[:2]))
    pa.array(x).filter(pa.array(x>2))
    pa.array(x).take(pa.array(k))
    pa.array(x).take(k)
    pa.array(x)[k[0]]
    pa.array(x)[k[0]].as_py()
    pa.array(x).filter(x>2)
    pa.table({"x":x}).filter(x>2)
    pa.table({"x":x}).append_column("y", pa.array(x))
    pa.table({"x":x}).slice(k[0])
    pa.table({"x":x}).take(k)
    np.asarray(pa.array(x))
    np.asarray(pa.chunked_array([x]))
    pa.FixedSizeListArray.from_arrays(pa.array(np.arange(6.)), k[1])
    pa.array(np.arange(6.).reshape(2,3).tolist())
    pa.array(list(np.arange(6.).reshape(2,3)))
    pa.DictionaryArray.from_arrays(np.array([0,1,0]), np.array([1.,2.]))
    pa.array(x, type=pa.int64())
    pa.array(np.array([1,2],'f2')).type
"""


@pytest.mark.parametrize("line", lines(LINES))
def test_as_numpys(line):
    assert_same(line, SETUP)


class Handed:
    """What has Arrow's interface, of an array, and nothing else."""

    def __init__(self, x):
        self.x = x

    def __arrow_c_schema__(self):
        return self.x.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema=None):
        return self.x.__arrow_c_array__(requested_schema)


@pytest.mark.parametrize("dtype", "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8".split())
def test_arrow_s_interface_has_the_types_of_numpys(dtype):
    import pyarrow as pa

    x = np.arange(11).astype(dtype)
    for part in (x, x[1:], x[::-2], x[:0]):
        assert pa.array(Handed(part)).equals(pa.array(part.asnumpy()))
        assert pa.field(Handed(part)).type == pa.array(part.asnumpy()).type


def test_axes_are_lists_of_fixed_size():
    import polars as pl
    import pyarrow as pa

    x = np.arange(24.0).reshape(2, 3, 4)
    assert pa.array(Handed(x)).to_pylist() == x.tolist()
    assert pa.array(Handed(x[:, ::2] > 3)).to_pylist() == (x[:, ::2] > 3).tolist()
    assert pl.Series(Handed(x[0])).to_list() == x[0].tolist()


def test_the_memory_is_the_array_s_own_until_arrow_lets_go():
    import pyarrow as pa

    with configured(workers=2), Gate() as gate:
        x = np.arange(3.0)
        seen = pa.array(Handed(x))
        x += 1
        assert seen.to_pylist() == [1, 2, 3]
        x = gate.hold(np.ones(3))
        del seen
        gate.open()
        assert pa.array(Handed(x + 1)).to_pylist() == [2, 2, 2]     # waits
    schema, array = np.ones(3).__arrow_c_array__()                  # which nobody takes
    assert "arrow_schema" in repr(schema) and "arrow_array" in repr(array)


@pytest.mark.parametrize("x, why", [(np.ones(2, complex), "type for complex128"), (np.ones(2)[0], "array without axes"),
                                    (np.ones(2, np.longdouble), "type for float128")])
def test_what_arrow_has_no_type_for(x, why):
    with pytest.raises(TypeError, match=f"Arrow has no {why}"):
        x.__arrow_c_array__()
    with pytest.raises(TypeError, match=f"Arrow has no {why}"):
        x.__arrow_c_schema__()


def test_an_error_is_raised_when_arrow_asks():
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.inv(np.zeros((40, 40))).__arrow_c_array__()
