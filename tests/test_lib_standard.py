"""Python's own library over our arrays and their elements."""

import json
import statistics

import pytest
from libraries import assert_same, lines

import dflow.numpy as np

pytestmark = pytest.mark.once

SETUP = """
import array, ast, base64, bisect, cmath, collections, copy, csv, ctypes, dataclasses, functools, hashlib, heapq, io
import itertools, json, math, operator, pickle, random, sqlite3, statistics, struct, threading, time, uuid, zlib
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
@dataclasses.dataclass
class DC: x: object
x = np.array([1.,2.,3.,4.]); k = np.array([1,2,3]); g = np.arange(6.).reshape(2,3)
"""

LINES = """
    json.dumps(x[0].item())
    json.dumps(x.tolist())
    json.dumps({"a":x.mean().item()})
    json.dumps(k[0], default=int)
    json.dumps(x, default=lambda o: o.tolist())
    statistics.mean(x)
    statistics.fmean(x)
    statistics.stdev(x)
    statistics.median(x)
    statistics.variance(x)
    statistics.quantiles(x)
    statistics.mode(k)
    statistics.linear_regression(x,x)
    statistics.correlation(x,x)
    statistics.NormalDist(x[0],x[1]).mean
    statistics.mean([x[0],x[1]])
    statistics.harmonic_mean(x)
    statistics.geometric_mean(x)
    Fraction(x[0])
    Fraction(k[0])
    Fraction(k[0],k[1])
    Fraction(k[0],3)
    Fraction(x[0].item()) + 1
    Fraction(1,2) + x[0]
    Fraction(1,2) * k[0]
    x[0] * Fraction(1,2)
    k[0] + Fraction(1,2)
    Fraction(1,2) < x[0]
    Fraction(1,2) == x[0]
    Fraction(1,2) ** k[0]
    Decimal(x[0].item())
    Decimal(2) * k[0]
    k[0] * Decimal(2)
    Decimal(2) == x[1]
    Decimal(2) > x[0]
    timedelta(1) * k[0]
    timedelta(1) * x[0]
    k[0] * timedelta(1)
    x[0] * timedelta(1)
    timedelta(1) / x[0]
    timedelta(1) / k[0]
    timedelta(1) // k[0]
    datetime(2020, k[0], k[0])
    date.fromordinal(k[0])
    date(2020,1,1) + timedelta(days=k[0].item())
    math.sqrt(x[0])
    math.fsum(x)
    math.gcd(k[0],6)
    math.isclose(x[0],1.)
    math.comb(k[1],k[0])
    math.factorial(k[1])
    math.prod(x)
    math.dist(x,x)
    math.floor(x[0])
    math.hypot(*x)
    sum(x)
    max(x)
    min(x, key=lambda v: -v)
    sorted(x)
    round(x[0])
    round(x[0], 1)
    round(x[0], k[0])
    divmod(k[1],k[0])
    pow(k[0],2)
    bin(k[0])
    hex(k[0])
    chr(k[0]+60)
    "a"*k[0]
    [1]*k[0]
    [1,2,3,4][k[0]]
    [1,2,3,4][k[0]:k[1]]
    list(range(k[0]))
    random.Random(k[0].item()).random()
    random.Random(0).sample(range(9),k[0])
    random.Random(0).choice(x)
    random.Random(0).choices([1,2],weights=x[:2],k=k[1])
    random.Random(0).sample(list(x),2)
    random.Random(0).uniform(x[0],x[1])
    random.Random(0).gauss(x[0],x[1])
    random.Random(0).randint(k[0],k[1])
    random.Random(0).randrange(k[1])
    itertools.islice(x,k[0]).__class__
    list(itertools.repeat(1,k[0]))
    list(itertools.accumulate(x))
    list(itertools.combinations(x,2))
    list(itertools.islice(x,k[0]))
    heapq.nsmallest(k[0],x)
    bisect.bisect(x,x[1])
    bisect.bisect_left(list(x),2.)
    collections.Counter(k)
    collections.Counter(k.tolist())
    array.array("d",x)
    array.array("d",x.tolist())
    struct.pack("d",x[0])
    struct.pack("i",k[0])
    struct.pack("4d",*x)
    bytes(k)
    bytes(k[0])
    bytearray(k)
    str.format("{:.3f} {:d}",x[0],k[0])
    "%d %.2f %s"%(k[0],x[0],x[0])
    "%d"%k[0]
    f"{x[0]}"
    f"{x[0]!r}"
    str(x[0])
    copy.deepcopy(x)
    pickle.loads(pickle.dumps(x))
    functools.reduce(operator.add,x)
    operator.index(k[0])
    ast.literal_eval(str(x.tolist()))
    csv.writer(io.StringIO()).writerow(x)
    w = io.StringIO(); csv.writer(w).writerow(x); w.getvalue()
    print(x[0], file=io.StringIO())
    ctypes.c_double(x[0]).value
    ctypes.c_int(k[0]).value
    complex(x[0],x[1])
    float(x[0])
    int(x[0])
    cmath.phase(x[0])
    isinstance(k[0].item(), int)
    dataclasses.asdict(DC(x)).keys()
    uuid.UUID(int=k[0].item())
    zlib.crc32(x)
    hashlib.md5(x).hexdigest()
    base64.b64encode(x)
    io.BytesIO(x).read()
    sqlite3.connect(":memory:").execute("select ?",(x[0].item(),)).fetchone()
"""


# C code that takes Python's own numbers only: float() and item() give them.
INSISTING = """
    timedelta(seconds=x[0].item()); timedelta(seconds=float(x.sum())); timedelta(days=int(k[0]))
    Decimal(x[0].item()); Decimal(int(k[0]))
    datetime.fromtimestamp(float(x[0])).second
    threading.Event().wait(float(x[0]) / 1000)
    json.dumps([x[0].item(), k[0].item(), x.tolist()])
    json.dumps({"x": x, "k": k[0]}, default=lambda o: o.tolist())
"""


@pytest.mark.parametrize("line", lines(INSISTING))
def test_what_insists_on_python_s_numbers(line):
    assert_same(line, SETUP)


@pytest.mark.parametrize("x", [np.ones(2)[0], np.arange(2)[1], np.ones(2).sum()])
def test_json_s_error_names_item(x):
    with pytest.raises(TypeError, match=r"item\(\)"):
        json.dumps({"x": x})


def test_statistics_of_integers_are_not_cut():
    """NumPy's are, as its integers take a fraction for an integer: statistics asks the type of the elements."""
    assert statistics.mean(np.array([1, 2])) == 1.5


@pytest.mark.parametrize("line", lines(LINES))
def test_as_numpys(line):
    assert_same(line, SETUP)
