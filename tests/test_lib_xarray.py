"""xarray over our arrays."""

import pytest
from engines import Gate, configured
from libraries import assert_same, lines

import dflow.numpy as np

xarray = pytest.importorskip("xarray")
pytest.importorskip("dask.array")       # which xarray imports later: dflow.dask, which comes then, keeps an array

pytestmark = pytest.mark.once

SETUP = """
import xarray as xr
x = np.array([1.,2.,3.,4.]); k = np.array([1,2,3]); g = np.arange(6.).reshape(2,3)
da = xr.DataArray(numpy.arange(6.).reshape(2,3), dims=["a","b"], coords={"a":[0,1],"b":[0,1,2]})
"""

LINES = """
    xr.DataArray(x).values
    xr.DataArray(g, dims=["a","b"], coords={"a":np.arange(2),"b":np.arange(3)}).sum("a").values
    xr.DataArray(g, dims=["a","b"], coords={"a":np.arange(2),"b":np.arange(3)})
    da * x[:3]
    da + x[0]
    x[0] * da
    da.sel(b=k[0]).values
    da.isel(b=k[0]).values
    da[k[0]-1].values
    da.where(da>x[0]).values
    da.where(g>2).values
    da.interp(b=x[0]/2).values
    da.interp(b=np.array([.5,1.5])).values
    da.fillna(x[0]).values
    np.sqrt(da).values
    np.sum(da).values
    da.groupby("b").mean().values
    da.groupby_bins("b", np.array([-1.,0.,2.])).sum().values
    da.rolling(b=k[1]-1).mean().values
    da.coarsen(a=k[1]-1).mean().values
    da.assign_coords(b=x[:3]).b.values
    da.to_pandas()
    da.to_dataset(name="q").q.values
    xr.Dataset({"u":("t",x)},coords={"t":x}).u.values
    xr.Dataset({"u":("t",x)}).mean().u.values
    xr.Dataset({"u":("t",x)}, attrs={"a":x[0]}).attrs["a"]
    xr.concat([da,da],"a").values
    xr.merge([da.to_dataset(name="q")]).q.values
    xr.apply_ufunc(np.sqrt, da).values
    xr.apply_ufunc(lambda v: np.mean(v,axis=-1), da, input_core_dims=[["b"]]).values
    xr.dot(da,da).values
    xr.where(da>x[0],da,x[1]).values
    xr.full_like(da, x[0]).values
    xr.zeros_like(da).values
    da.values[:] = x[:3]; da.values
    da[0] = x[:3]; da.values
    da.loc[dict(b=k[0])] = x[0]; da.values
    da.quantile(x[0]/2).values
    da.quantile(np.array([.25,.5]),dim="b").values
    da.polyfit("b",k[0]).polyfit_coefficients.values.round(5)
    da.data @ np.ones(3)
    da.copy(data=g*2).values
    da.reduce(np.sum,"b").values
    da.map_blocks(lambda b: b+x[0]).values
    da.clip(x[0],x[1]).values
    da.round(k[0]).values
    da.isin(x).values
    da.equals(xr.DataArray(g, dims=["a","b"], coords={"a":np.arange(2),"b":np.arange(3)}))
    xr.Variable("t",x).mean().values
"""


@pytest.mark.parametrize("line", lines(LINES))
def test_as_numpys(line):
    assert_same(line, SETUP)


def test_xarray_keeps_our_arrays_and_does_not_wait():
    with configured(workers=2), Gate() as gate:
        held = xarray.DataArray(gate.hold(np.ones((2, 3))), dims=["a", "b"])
        result = np.sqrt(held) * 2 + held
        assert type(result.data) is type(held.data) and not result.data.is_ready()
        gate.open()
        assert result.sum("b").values.tolist() == [9, 9]
