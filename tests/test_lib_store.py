"""zarr and h5py over our arrays."""

import pytest
from libraries import assert_same, lines

pytest.importorskip("zarr")
pytest.importorskip("h5py")

pytestmark = pytest.mark.once

SETUP = """
import zarr, h5py, io
x = np.array([1.,2.,3.,4.])
g = np.arange(6.).reshape(2,3)
k = np.array([1,2])
f = h5py.File(io.BytesIO(), "w")
"""

LINES = """
    zarr.array(x)[:]
    zarr.array(g, chunks=(1,3))[:]
    zarr.create_array(store={}, data=x)[:]
    z = zarr.create_array(store={}, shape=(4,), dtype="f8"); z[:] = x; z[:]
    z = zarr.create_array(store={}, shape=(4,), dtype=x.dtype); z[1:3] = x[:2]; z[:]
    z = zarr.zeros((4,), dtype="f8"); z[...] = x; z[...]
    z = zarr.zeros((4,), dtype="f8"); z[2] = x[3]; z[:]
    z = zarr.zeros((4,), dtype="f8"); z[:] = x[3]; z[:]
    z = zarr.zeros((4,), dtype="f8"); z.set_basic_selection(slice(None), x); z[:]
    z = zarr.array(numpy.arange(6.)); z[np.array([0,3])]
    z = zarr.array(numpy.arange(6.)); z[k[0]]
    z = zarr.array(numpy.arange(6.)); z[k[0]:k[1]]
    z = zarr.array(numpy.arange(6.)); z[np.arange(6)>2]
    z = zarr.array(numpy.arange(6.)); z.oindex[np.array([0,3])]
    z = zarr.array(numpy.arange(6.)); z.vindex[np.array([0,3])]
    z = zarr.array(numpy.arange(6.)); z.get_coordinate_selection(np.array([0,3]))
    z = zarr.array(numpy.arange(6.)); z.get_mask_selection(np.arange(6)>2)
    z = zarr.array(numpy.arange(6.)); z.vindex[np.array([0,3])] = np.array([7.,8.]); z[:]
    z = zarr.array(numpy.arange(6.)); z.oindex[np.array([0,3])] = np.array([7.,8.]); z[:]
    z = zarr.array(numpy.arange(6.)); z.set_mask_selection(np.arange(6)>3, x[:2]); z[:]
    z = zarr.array(numpy.arange(6.)); z.append(x); z[:]
    z = zarr.array(numpy.arange(6.)); z.resize(k[1]); z[:]
    z = zarr.array(numpy.arange(6.)); np.sum(z)
    z = zarr.array(numpy.arange(6.)); np.asarray(z)
    z = zarr.array(numpy.arange(6.)); np.array(z[:]) + 1
    z = zarr.array(numpy.arange(6.)); x + z[:4]
    zarr.full(shape=(2,), fill_value=x[1])[:]
    zarr.full(shape=k[1], fill_value=1.)[:]
    zarr.create_array(store={}, shape=k[:1], dtype="f8").shape
    zarr.create_array(store={}, shape=(k[1],), chunks=(k[0],), dtype="f8").shape
    g0 = zarr.group(); g0.create_array("a", data=x)[:]
    g0 = zarr.group(); g0.attrs["a"] = x[0].item(); g0.attrs["a"]
    g0 = zarr.group(); g0.attrs["a"] = x.tolist(); g0.attrs["a"]
    zarr.ones_like(x)[:]
    zarr.zeros_like(x)[:]
    zarr.empty_like(x).shape
    f["d"] = x; f["d"][:]
    f.create_dataset("d", data=x)[:]
    f.create_dataset("d", data=g, compression="gzip")[:]
    f.create_dataset("d", data=g, chunks=(k[0],k[0]))[:]
    f.create_dataset("d", shape=g.shape, dtype=g.dtype).shape
    f.create_dataset("d", shape=(k[1],), dtype="f4").shape
    f.create_dataset("d", data=x[0])[()]
    f.create_dataset("d", data=x.sum())[()]
    d = f.create_dataset("d", (4,), "f8"); d[:] = x; d[:]
    d = f.create_dataset("d", (4,), "f8"); d[1:3] = x[:2]; d[:]
    d = f.create_dataset("d", (4,), "f8"); d[...] = x[1]; d[:]
    d = f.create_dataset("d", (4,), "f8"); d[k[0]] = x[1]; d[:]
    d = f.create_dataset("d", (4,), "f8"); d[x>2] = x[:2]; d[:]
    d = f.create_dataset("d", (4,), "f8"); d[k] = x[:2]; d[:]
    d = f.create_dataset("d", data=numpy.arange(6.)); d[np.arange(6)>2]
    d = f.create_dataset("d", data=numpy.arange(6.)); d[k]
    d = f.create_dataset("d", data=numpy.arange(6.)); d[k[0]]
    d = f.create_dataset("d", data=numpy.arange(6.)); d[k[0]:k[1]]
    d = f.create_dataset("d", data=numpy.arange(6.)); d[k.tolist()]
    d = f.create_dataset("d", data=numpy.arange(6.)); o = np.zeros(6); d.read_direct(o); o
    d = f.create_dataset("d", data=numpy.arange(6.)); o = np.zeros((2,6)); d.read_direct(o, np.s_[1:3], np.s_[0,2:4]); o
    d = f.create_dataset("d", data=numpy.arange(6.)); o = np.zeros(6,"f4"); d.read_direct(o); o
    d = f.create_dataset("d", (4,), "f8"); d.write_direct(x); d[:]
    d = f.create_dataset("d", (4,), "f8"); d.write_direct(x[::-1].copy()); d[:]
    d = f.create_dataset("d", data=numpy.arange(6.)); d.attrs["a"] = x; d.attrs["a"]
    d = f.create_dataset("d", data=numpy.arange(6.)); d.attrs["a"] = x[0]; d.attrs["a"]
    d = f.create_dataset("d", data=numpy.arange(6.)); d.attrs["a"] = k[0]; d.attrs["a"]
    d = f.create_dataset("d", data=numpy.arange(6.)); d.attrs.create("a", x, dtype="f4"); d.attrs["a"]
    d = f.create_dataset("d", data=numpy.arange(6.), maxshape=(None,)); d.resize((k[1],)); d[:]
    d = f.create_dataset("d", data=numpy.arange(6.), maxshape=(None,)); d.resize(k[1], axis=0); d[:]
    d = f.create_dataset("d", data=numpy.arange(6.)); np.asarray(d)
    d = f.create_dataset("d", data=numpy.arange(6.)); np.array(d)
    d = f.create_dataset("d", data=numpy.arange(6.)); np.sum(d)
    d = f.create_dataset("d", data=numpy.arange(6.)); np.mean(d)
    d = f.create_dataset("d", data=numpy.arange(6.)); d + np.ones(6)
    d = f.create_dataset("d", data=numpy.arange(6.)); np.sqrt(d)
    d = f.create_dataset("d", data=numpy.arange(6.)); d == np.ones(6)
    d = f.create_dataset("d", data=numpy.arange(6.)); x * d[:4]
    d = f.create_dataset("d", data=numpy.arange(6.)); d.astype("f4")[:]
    d = f.create_dataset("d", (4,), "f8", fillvalue=x[1]); d[:]
    f.create_dataset("d", data=np.array([1+2j]))[:]
    f.create_dataset("d", data=np.array([True,False]))[:]
    f.create_dataset("d", data=np.array([1.],"f2"))[:]
    f.create_dataset("d", data=[x, x])[:]
    f.create_dataset("d", data=g.T)[:]
    f.create_dataset("d", data=g[:, ::2])[:]
    f.require_dataset("d", shape=x.shape, dtype=x.dtype).shape
"""


@pytest.mark.parametrize("line", lines(LINES))
def test_as_numpys(line):
    assert_same(line, SETUP)
