"""pandas over our arrays."""

import pytest
from libraries import assert_same, lines

pytest.importorskip("pandas")

pytestmark = pytest.mark.once

SETUP = """
import pandas as pd
x = np.array([1.,2.,3.,4.])
k = np.array([1,2])
df = pd.DataFrame({"a":numpy.array([1.,2.,3.,4.]),"b":numpy.array([2.,1.,5.,4.])})
s = pd.Series(numpy.array([1.,2.,3.,4.]))
"""

LINES = """
    df[x>2]
    df.loc[x>2]
    df.loc[x>2,"a"]
    df.loc[np.array([0,2])]
    df.iloc[np.array([0,2])]
    df.iloc[x>2]
    df.iloc[k[0]]
    df.loc[k[0]]
    s[x>2]
    s[~(x>2)]
    s.iloc[x>2]
    s.loc[x>2]
    s[k[0]]
    s[k]
    s.iloc[k]
    s.iloc[k[0]]
    s[k[0]] = 7.; s
    s[x>2] = 0.; s
    df.loc[x>2,"a"] = 0.; df
    df[x>2] = 0.; df
    df["c"] = x; df
    df["c"] = x[0]; df
    df.groupby(np.array([0,1,0,1])).sum()
    s.groupby(np.array([0,1,0,1])).mean()
    s.where(s>2).fillna(x.mean())
    df.where(df>2).fillna(x.mean())
    s.clip(x[1],x[2])
    s.clip(x.min()+1, x.max()-1)
    s.clip(np.array([2.,2.,2.,2.]))
    df.clip(x[1],x[2])
    s.replace(x[0], 9.)
    s.replace(x[0], x[1])
    s.replace(x, x+1)
    df.replace(x[0], x[1])
    pd.unique(x)
    pd.unique(np.array([3,1,3]))
    pd.factorize(x)
    pd.factorize(np.array([3,1,3]))
    pd.cut(x, 3)
    pd.cut(x, np.array([0.,2.,5.]))
    pd.cut(s, np.array([0.,2.,5.]))
    pd.qcut(x, 2)
    pd.Series(x)
    pd.Series(x, index=np.array([4,3,2,1]))
    pd.Series({"a":x[0],"b":x[1]})
    pd.Index(x)
    pd.DataFrame(np.arange(6.).reshape(2,3))
    pd.DataFrame({"x":x,"y":x*2})
    pd.DataFrame({"x":x,"y":x[0]})
    pd.DataFrame(np.arange(6.).reshape(2,3), columns=list("abc"), index=np.array([1,2]))
    s.isin(x[:2])
    s.map(lambda v: v*x[0])
    s.apply(lambda v: v+x[1])
    df.apply(lambda c: np.sum(c.to_numpy()))
    df.apply(np.sum)
    df.apply(np.mean, axis=1)
    df.agg(np.mean)
    df.transform(np.sqrt)
    s.rolling(2).apply(np.mean)
    s.rolling(2).apply(np.mean, raw=True)
    np.sqrt(s)
    np.log(df)
    np.where(s>2, s, x)
    np.where(s>2, 1, 0)
    s + x
    x + s
    s * x[0]
    x[0] * s
    s == x
    s > x[0]
    x[0] < s
    df + x[:2]
    df * x[0]
    x[:, None] * df
    df.to_numpy() @ x[:2]
    df @ x[:2]
    s.dot(x)
    np.dot(s, x)
    np.asarray(s)
    np.array(df)
    np.array(s) + 1
    s.take(k)
    s.reindex(k)
    s.shift(k[0])
    s.head(k[1])
    df.sample(k[1], random_state=0)
    df.sample(2, random_state=np.random.RandomState(0))
    df.sample(2, random_state=np.random.RandomState(0).randint(5))
    s.searchsorted(x[1])
    s.searchsorted(x)
    s.quantile(np.array([.25,.5]))
    s.quantile(x[0]/4)
    s.round(k[0])
    df.round(k[0])
    df.loc[k[0],"a"] = x[3]; df
    df.iloc[0, 0] = x[3]; df
    df.at[k[0],"a"] = x[3]; df
    df.iat[0,0] = x[3]; df
    df.at[k[0],"a"]
    df.iat[k[0],k[0]]
    df.insert(0,"z",x); df
    df.assign(z=x)
    df.assign(z=x.sum())
    df.eval("a + @y", local_dict={"y":x})
    df.query("a > @y", local_dict={"y":x[1]})
    pd.concat([s, pd.Series(x)])
    pd.merge(df, pd.DataFrame({"a":x,"q":x*3}))
    pd.crosstab(np.array([0,1,0]), np.array([1,1,0]))
    pd.pivot_table(pd.DataFrame({"g":np.array([0,1,0,1]),"v":x}), index="g", values="v", aggfunc=np.sum)
    pd.get_dummies(np.array([0,1,0]))
    pd.to_numeric(x)
    pd.to_datetime(np.array([0,1]), unit="s")
    pd.to_timedelta(np.array([0,1]), unit="s")
    pd.date_range("2020", periods=k[1])
    pd.isna(x)
    pd.isna(x[0])
    pd.notna(x[0])
    pd.Categorical(np.array([1,2,1]))
    pd.Categorical.from_codes(np.array([0,1]), ["a","b"])
    pd.MultiIndex.from_arrays([np.array([1,2]),np.array([3,4])])
    pd.MultiIndex.from_product([np.array([1,2]),np.array([3,4])])
    pd.IntervalIndex.from_breaks(x)
    pd.interval_range(start=x[0], end=x[3])
    pd.RangeIndex(k[1])
    pd.array(x)
    pd.api.types.is_float(x[0])
    pd.api.types.is_list_like(x)
    pd.api.types.is_scalar(x[0])
    pd.api.types.is_integer(k[0])
    s.astype(x.dtype)
    s.interpolate()
    s.corr(pd.Series(x**2))
    s.drop(k)
    s.drop(k[0])
    s.pct_change(k[0])
    s.nlargest(k[1])
    s.sum() == x.sum()
    s.mask(x>2)
    s.where(x>2)
    s.where(x>2, x*10)
    df.where((x>2)[:,None] & np.array([True,False]))
    df.set_index(x)
    df.iloc[:, k[:1]]
    df[df.columns[np.array([True,False])]]
    df.values[x>2]
    df.rename(columns={"a":x[0]})
    df.to_dict("list")
    df.groupby("a").apply(lambda g: np.mean(g["b"].values))
    df.groupby(pd.cut(df.a, np.array([0.,2.,5.]), right=False), observed=True).b.sum()
    s.ewm(alpha=x[0]/2).mean()
    s.diff(k[0])
    s.rank().values + x
    s.between(x[0],x[2])
    s.add(x)
    s.repeat(k[1])
    s.repeat(np.array([1,2,0,1]))
    s.index.get_loc(k[0])
    s.index.get_indexer(k)
    s.index[k]
    s.index[x>2]
    s.array[x>2]
    s.compare(pd.Series(x+np.array([0,1,0,0])))
    list(df.itertuples())[0].a + x[0]
    df.loc[:, np.array([True,False])]
    df.loc[x>2, np.array([True,False])]
    df.drop(np.array([0,1]))
    df.nlargest(k[1],"a")
    df.a.tolist() == x.tolist()
    df.xs(k[0])
    df.stack().loc[k[0]]
    pd.Series(x).rolling(k[1]).sum()
    pd.DataFrame({"a": [x[0], x[1]], "b": [k[0], k[1]]})
    pd.Series([x[0],x[1]])
    pd.DataFrame([{"a":x.mean()}])
    pd.Series(x, dtype="category")
    pd.Series(x).astype("Int64", errors="ignore")
    pd.Series(np.array([1,2])).astype("Float64") + x[:2]
    pd.Series(np.array([1,2]), dtype="Int64")
    pd.eval("x+1", local_dict={"x":x})
    pd.Series(x).plot
    pd.json_normalize([{"a":x[0]}])
    pd.Series(x).to_json()
    pd.DataFrame({"a":x}).to_csv()
    pd.DataFrame(x, columns=["q"]).describe()
    pd.DataFrame(index=x, columns=np.arange(2))
    pd.Series(x[0], index=np.arange(3))
    pd.Series(0, index=x)
    pd.Series(np.random.RandomState(0).rand(3))
"""


@pytest.mark.parametrize("line", lines(LINES))
def test_as_numpys(line):
    assert_same(line, SETUP)
