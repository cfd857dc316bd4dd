"""Random numbers: from the seed and the order of the calls alone, of the right shape, type and distribution."""

import numpy
import pytest
from engines import configured

import dflow.numpy as np

LARGE = 300_000             # more than one block

DRAWS = [
    "random(N)", "normal(size=N)", "normal(2, 3, N)", "uniform(-1, 1, N)", "exponential(2.0, N)",
    "standard_normal(N, dtype='f4')",
    "random(N, dtype='f4')", "choice(100, N)", "choice(N, N, replace=False)", "choice(3, N, p=[0.2, 0.3, 0.5])",
    "permutation(N)",
    "gamma(2.0, size=N)", "poisson(3.0, N)", "uniform(np.zeros(4), 1.0, (N, 4))"]
OLDER = ["rand(N)", "randn(N)", "randint(0, 10, N)", "random_sample(N)"]
NEWER = ["integers(0, 10, N)", "integers(10, size=N, endpoint=True)", "permuted(np.arange(N))"]


def draw(text, n, seed=5, make=np.random.default_rng):
    stream = make(seed)
    names = {"g": stream, "N": n, "np": np}
    first = eval(f"g.{text}", names)
    return numpy.concatenate([first.asnumpy().ravel(), eval(f"g.{text}", names).asnumpy().ravel()])


CASES = [(text, np.random.default_rng) for text in DRAWS + NEWER]
CASES += [(text, np.random.RandomState) for text in DRAWS + OLDER]


@pytest.mark.parametrize("n", [10, LARGE])
@pytest.mark.parametrize("text, make", CASES)
def test_the_same_for_any_number_of_workers(text, make, n):
    expected = draw(text, n, make=make)
    for keywords in ({"workers": 1}, {"workers": 4}, {"naive": True}, {"limit": 0}):
        with configured(**keywords):
            assert (draw(text, n, make=make) == expected).all()
    assert (draw(text, n, seed=6, make=make) != expected).any()
    half = expected.size // 2
    assert (expected[:half] != expected[half:]).any()       # the second draw is another one


@pytest.mark.parametrize("size, shape", [(3, (3,)), ((2, 3), (2, 3)), ((), ()), (0, (0,)), ((300, 1000), (300, 1000))])
def test_shapes_and_types(size, shape):
    r = np.random
    for draw in (r.normal, r.uniform, r.random, r.exponential, r.standard_cauchy):
        x = draw(size=size)
        assert isinstance(x, np.ndarray) and x.shape == shape and x.dtype == float
    assert r.randint(5, size=size).dtype == int and r.randint(5, size=size, dtype="u1").dtype == "u1"
    assert r.normal(size=size, dtype="f4").dtype == "f4"


def test_no_size_gives_numbers():
    r = np.random
    assert type(r.rand()) is type(r.normal()) is type(r.uniform(1, 2)) is float
    assert type(r.randint(5)) is type(r.choice(5)) is int


@pytest.mark.parametrize("text, mean, deviation", [
    ("normal(2, 3, N)", 2, 3), ("uniform(1, 3, N)", 2, 3 ** -0.5), ("exponential(2, N)", 2, 2),
    ("rand(N)", 0.5, (1 / 12) ** 0.5),
    ("randint(0, 2, N)", 0.5, 0.5), ("normal(np.full(N, 2.0), 3)", 2, 3), ("poisson(4.0, N)", 4, 2)])
def test_distributions(text, mean, deviation):
    for n in (4000, LARGE):
        np.random.seed(3)
        x = eval(f"np.random.{text}", {"np": np, "N": n})
        assert abs(x.mean().item() - mean) < 5 * deviation / n ** 0.5
        assert abs(x.std().item() / deviation - 1) < 10 / n ** 0.5


def test_blocks_and_draws_do_not_repeat():
    np.random.seed(1)
    x = np.concatenate([np.random.rand(LARGE), np.random.rand(LARGE), np.random.rand(1000)]).asnumpy()
    assert len(numpy.unique(x)) > len(x) - 10


def test_seed_and_state():
    np.random.seed(7)
    first = [np.random.rand(3).tolist(), np.random.rand(LARGE).tolist()]
    state = np.random.get_state()
    then = [np.random.rand(3).tolist(), np.random.rand(LARGE).tolist()]
    np.random.set_state(state)
    assert then == [np.random.rand(3).tolist(), np.random.rand(LARGE).tolist()]
    np.random.seed(7)
    assert first == [np.random.rand(3).tolist(), np.random.rand(LARGE).tolist()]


def test_shuffle_in_place():
    for n in (10, LARGE):
        x = np.arange(n)
        np.random.shuffle(x)
        assert (x != np.arange(n)).any() and (np.sort(x) == np.arange(n)).all()
    rows = np.arange(12).reshape(6, 2)
    np.random.shuffle(rows)
    assert (rows[:, 1] - rows[:, 0] == 1).all()
    plain = list(range(10))
    np.random.shuffle(plain)
    assert sorted(plain) == list(range(10))


def test_choice_of_rows_and_permutations():
    a = np.arange(12).reshape(6, 2)
    assert np.random.default_rng(1).choice(a, 4).shape == (4, 2)
    assert sorted(np.random.permutation(a)[:, 0].tolist()) == a[:, 0].tolist()
    assert len(set(np.random.choice(50, 50, replace=False).tolist())) == 50


@pytest.mark.parametrize("text", [
    "normal(0, -1, N)", "exponential(-1, N)", "randint(5, 5, N)", "randint(0, 300, N, 'u1')", "choice(0, 3)",
    "choice(3, N, p=[1, 1, 1])", "choice(3, 5, replace=False)", "poisson(-1, N)", "gamma(-1, 1, N)", "rand(-1)"])
def test_errors_at_the_call(text):
    for n in (3, LARGE):
        with pytest.raises(ValueError):
            eval(f"np.random.{text}", {"np": np, "N": n})


def test_seeds_of_numpy():
    """A bit generator of NumPy's, or a generator, stands for its seed."""
    expected = np.random.default_rng(5).random(3).tolist()
    for seed in (np.random.SeedSequence(5), np.random.PCG64(5), numpy.random.default_rng(5)):
        assert np.random.default_rng(seed).random(3).tolist() == expected
    assert np.random.Generator(np.random.Philox(5)).random(3).tolist() == expected
    children = [np.random.default_rng(child) for child in np.random.SeedSequence(1).spawn(2)]
    assert children[0].random() != children[1].random()


def test_the_rest_of_numpys_methods():
    rng, older = np.random.Generator(bit_generator=np.random.PCG64(5)), np.random.RandomState(5)
    sample = rng.multivariate_hypergeometric([3, 4, 5], 6, size=2000, method="count")
    assert sample.shape == (2000, 3) and (sample.sum(1) == 6).all() and abs(sample.mean(0) - [1.5, 2, 2.5]).max() < 0.2
    with pytest.raises(ValueError):
        rng.multivariate_hypergeometric([3, -4], 2)
    most = older.tomaxint(2000)
    assert most.dtype == int and most.min() >= 0 and 0.4 < most.mean() / numpy.iinfo(int).max < 0.6
    with pytest.warns(DeprecationWarning, match=r"call randint\(2, 4 \+ 1\) instead"):
        assert set(np.random.random_integers(2, 4, 300).tolist()) == {2, 3, 4}
    with pytest.warns(DeprecationWarning, match=r"call randint\(1, 2 \+ 1\) instead"):
        assert set(np.random.random_integers(2, size=300).tolist()) == {1, 2}
    older.set_state(older.get_state(legacy=False))
