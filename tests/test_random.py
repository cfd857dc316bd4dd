"""Random numbers: from the seed and the order of the calls alone, of the right shape, type and distribution."""

import copy
import pickle
import threading

import numpy
import pytest
from compare import assert_same_outcome, outcome
from engines import HANG, configured

import dflow
import dflow.numpy as np
from dflow.ops.random import Shared

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
CASES += [(text, Shared) for text in DRAWS + OLDER if "'f4'" not in text]


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
        assert type(x) is np.ndarray and x.shape == shape and x.dtype == float
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


def test_seed_is_numpys_too():
    """Third parties draw from numpy.random, and programs seed that alone. MXNet's seed leaves it."""
    for seed in (0, [1, 2], np.arange(3), np.array(5), 2 ** 32 - 1):
        np.random.seed(seed)
        drawn = numpy.random.random(3).tolist()
        numpy.random.seed(numpy.asarray(seed))
        assert numpy.random.random(3).tolist() == drawn
        dflow.random.seed(4)
        after = numpy.random.random(3).tolist()
        numpy.random.seed(numpy.asarray(seed))
        assert numpy.random.random(6).tolist() == drawn + after
    np.random.seed(3)
    ours, theirs = np.random.random(), numpy.random.get_state()
    for wrong in (-1, 2 ** 32, "a", 2.5, []):
        with pytest.raises((TypeError, ValueError)):
            np.random.seed(wrong)
    assert str(numpy.random.get_state()) == str(theirs), "a seed that is refused changes nothing"
    np.random.seed()
    assert str(numpy.random.get_state()) != str(theirs)
    np.random.seed(3)
    assert np.random.random() == ours


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
    for draw in (np.random, np.random.default_rng(1), np.random.RandomState(1)):
        assert np.isscalar(draw.choice([1, 2])) and not np.isscalar(draw.choice([1, 2], ()))


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


@pytest.mark.parametrize("name", ["SeedSequence", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_our_arrays_are_seeds(name):
    ours, theirs = getattr(np.random, name), getattr(numpy.random, name)
    assert str(ours(np.arange(3)).state) == str(theirs(numpy.arange(3)).state)
    assert type(ours(5)) is theirs and isinstance(theirs(5), ours) and issubclass(theirs, ours)
    assert not isinstance(5, ours)

    class Own(ours):
        pass

    assert isinstance(Own(5), (Own, ours, theirs)) and not isinstance(ours(5), Own)
    assert str(Own(5).state) == str(ours(5).state).replace(f"'{name}'", "'Own'")        # which names the class


def test_what_older_programs_name():
    assert np.random.mtrand._rand.uniform(2, 3, size=4).shape == np.random.mtrand.rand(4).shape
    np.random.seed(5)
    expected = np.random.rand()
    assert isinstance(np.random.mtrand._rand, np.random.RandomState)            # as libraries ask
    assert isinstance(np.random.mtrand._rand, numpy.random.RandomState)
    np.random.mtrand._rand.seed(5)
    assert np.random.mtrand._rand.rand() == expected
    assert np.random.bit_generator is numpy.random.bit_generator


LEGACY = """rand(2, 3) | rand() | randn(N) | randint(0, 10, N) | randint(5) | randint(0, 200, (2, N), 'u1')
    random_sample(N) | random_sample() | normal(2, 3, N) | normal(np.zeros(4), [1, 2, 3, 4]) | normal(0, 1, size=(3, N))
    uniform(-1, 1, N) | standard_normal((2, 3)) | exponential(2.0, N) | standard_gamma(2, N) | gamma(2, size=N)
    poisson(3.0, N) | poisson(lam=3.0, size=N) | binomial(10, 0.5, N) | vonmises(0, 4, N) | zipf(3, N) | tomaxint(N)
    bytes(5) | choice(100, N) | choice(N, 5, False) | choice(np.arange(5) / 2, 3, p=[0.1, 0, 0.2, 0.3, 0.4])
    permutation(N) | permutation(np.arange(12).reshape(4, 3)) | multinomial(20, [0.2, 0.8], 3) | dirichlet([1, 2, 3], 2)
    multivariate_normal([0, 1], [[1, 0], [0, 2]], N) | hypergeometric(5, 6, 7, N) | triangular(0, 1, 2, N)
    normal(0, -1, N) | randint(5, 5, N) | choice(0, 3) | rand(-1) | normal(1, 2, N, 4) | poisson(lam=1, size=N, x=3)
    normal(0, 1, 2.5) | shuffle(3) | randint(0, 10, N, size=3)"""


def of_stream(stream, text, module, n):
    try:
        result = eval(f"g.{text}", {"g": stream, "N": n, "np": module})
    except Exception as error:
        return type(error), str(error)
    return (result.asnumpy() if hasattr(result, "asnumpy") else result), stream.get_state()[1:]


@pytest.mark.parametrize("n", [10, 5000])
@pytest.mark.parametrize("text", [text.strip() for line in LEGACY.splitlines() for text in line.split("|")])
def test_random_state_draws_numpys_numbers(text, n):
    expected, actual = (of_stream(m.random.RandomState(5), text, m, n) for m in (numpy, np))
    numpy.testing.assert_equal(actual, expected, strict=True)


def test_draws_of_a_random_state_follow_each_other():
    """Also when they are tasks, and beside a shuffle; pickles and copies go on from where it was."""
    theirs, ours = numpy.random.RandomState([1, 2]), np.random.RandomState(np.array([1, 2]))
    with configured(workers=4):
        rows, expected_rows = np.arange(20000).reshape(-1, 2), numpy.arange(20000).reshape(-1, 2)
        for n in (LARGE, 3, 7000, 5000, 1):
            pending = ours.normal(size=n), ours.shuffle(rows), ours.randint(9, size=n)
            expected = theirs.normal(size=n), theirs.shuffle(expected_rows), theirs.randint(9, size=n)
            assert (pending[2] == expected[2]).all() and (pending[0] == expected[0]).all()
        assert (rows == expected_rows).all()
    ours.normal(size=LARGE), theirs.normal(size=LARGE)
    copies = copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))
    assert len({g.rand() for g in (theirs, ours, *copies)}) == 1


def test_small_draws_of_a_random_state_are_no_tasks():
    theirs, ours = numpy.random.RandomState(3), np.random.RandomState(3)
    x, expected = np.arange(6).reshape(3, 2), numpy.arange(6).reshape(3, 2)
    queued = dflow.engine.statistics()["queued"]
    for n in range(1, 9):
        assert ours.shuffle(x) is theirs.shuffle(expected) is None
        assert ours.randint(np.array(n), n + 9, dtype=np.int32) == theirs.randint(n, n + 9, dtype=numpy.int32)
        assert ours.normal() == theirs.normal()
        assert ours.normal(size=n).tolist() == theirs.normal(size=n).tolist()
    assert dflow.engine.statistics()["queued"] == queued and x.tolist() == expected.tolist()


REFUSED = """g.normal(0, -0.0) | g.exponential(-0.0) | g.normal(0, [1, -1]) | g.normal(0, [1, -1]).sum()
    g.exponential([-1.0]) | g.uniform([0], [np.inf]) | g.uniform([1], [0])
    r.uniform([0], [np.inf]) | r.uniform(0, np.inf)
    g.choice(3.0, 3) | r.choice(3.0, 3) | g.choice('abc') | g.shuffle(np.array(3)) | r.shuffle(np.array(3))
    g.shuffle(np.ones((2, 3)), axis=2) | g.permutation(np.array(3.0)) | g.permutation(3.0)
    g.permutation(np.ones((2, 3)), axis=3) | g.permuted(np.ones((2, 3)), out=np.zeros((3, 2)))
    g.permuted(np.ones((2, 3)), axis=0, out=np.zeros((2, 3), 'i4')) | g.permuted(np.ones(3), out=[1])
    g.permuted(np.ones((2, 3)), axis=5) | g.multivariate_hypergeometric([1, 2], 5)"""


@pytest.mark.parametrize("text", [text.strip() for line in REFUSED.splitlines() for text in line.split("|")])
def test_what_numpy_refuses(text):
    told = []
    for module in (numpy, np):
        with pytest.raises(Exception) as error:
            eval(text, {"g": module.random.default_rng(1), "r": module.random, "np": module})
        told.append((error.type, str(error.value)))
    assert told[0] == told[1]


def test_scales_that_are_pending_are_refused_when_they_are_read():
    g = np.random.default_rng(1)
    with configured(workers=2):
        asked = threading.Event()
        scale = dflow.submit(lambda: asked.wait(HANG) and numpy.full(LARGE, -1.0), shape=(LARGE,))
        x = g.normal(0, scale)
        asked.set()
        with pytest.raises(ValueError, match="scale < 0"):
            x.sum().item()
        dflow.waitall()
    assert g.normal(np.zeros(3), [0, numpy.nan, 1]).shape == g.uniform([1, 2, 3], 4).shape == (3,)
    assert 0 <= np.random.uniform([1], [0])[0].item() <= 1              # the older interface takes these


def test_single_integers_have_the_type_asked_for():
    for module in (np, numpy):
        newer, older = module.random.default_rng(1), module.random
        assert type(newer.integers(3)) is numpy.int64 and type(older.randint(3)) is int
        assert type(newer.choice(3)) is type(newer.choice(3, p=[0.5, 0, 0.5])) is type(older.choice(3)) is int
        for draw in (newer.integers, older.randint):
            assert type(draw(3, dtype=int)) is int and type(draw(2, dtype=bool)) is bool
            for dtype in (np.int16, "u1", np.bool_, np.int64, np.dtype(int)):
                assert type(draw(2, dtype=dtype)) is type(draw(0, 2, None, dtype)) is numpy.dtype(dtype).type
            assert type(draw(0, 1 << 64, dtype="u8")) is numpy.uint64


KINDS = ("random()", "random(3)", "integers(1 << 40)", "choice(99, 9, p=np.full(99, 1 / 99))", "bytes(9)",
         "choice(99, 9, p=numpy.full(99, 1 / 99))", "zipf(1.01, 9)", "zipf(3, LARGE)", "poisson(np.full(9, 1e9))",
         "permutation(99)", "permutation(LARGE)", "permuted(np.eye(99), axis=1)", "bit_generator.random_raw()")


@pytest.mark.once
@pytest.mark.parametrize("first", KINDS)
def test_a_draw_changes_what_all_later_ones_give(first):
    """Whatever its kind and theirs: who copies a stream, and then draws from it, gets another copy the next time."""
    def drawn(g, text):
        x = eval("g." + text)
        return x if isinstance(x, (bytes, int)) else numpy.asarray(x).tobytes()

    def moved(draws):
        g = np.random.default_rng(5)
        for _ in range(draws):
            drawn(g, first)
        return copy.deepcopy(g)

    for text in KINDS[KINDS.index(first) % 2::2]:
        found = [drawn(moved(draws), text) for draws in range(3)]
        assert found[0] != found[1] != found[2] != found[0], text
        assert found[1] == drawn(moved(1), text)


def test_states_and_pickles_of_generators():
    g = np.random.default_rng(4)
    g.random(3), g.vonmises(0, 1, 3), g.zipf(3, LARGE)
    state = g.bit_generator.state
    copies = pickle.loads(pickle.dumps(g)), copy.deepcopy(g), np.random.default_rng(g.bit_generator.seed_seq)
    copies[2].bit_generator.state = state
    assert all(x.bit_generator.state == state for x in copies) and np.random.default_rng(5).bit_generator.state != state
    draws = [[x.random(3).tolist(), x.vonmises(0, 1, 3).tolist(), x.zipf(3, LARGE).sum().item()] for x in (g, *copies)]
    assert draws == draws[:1] * 4
    assert g.multivariate_hypergeometric([3, 4], 7, 2).tolist() == [[3, 4]] * 2


def test_functions_and_methods_are_pickled_by_their_names():
    """Also the function of a method alone, which cloudpickle and dill ask for."""
    kinds = np.random.Generator, np.random.RandomState, type(np.random.normal.__self__)
    for thing in (*(kind.normal for kind in kinds), np.random.set_bit_generator, np.random.get_bit_generator):
        assert pickle.loads(pickle.dumps(thing)) is thing and copy.deepcopy(thing) is thing
    g = np.random.default_rng(3)
    assert pickle.loads(pickle.dumps(g.normal))() == g.normal()


def test_random_integers_is_deprecated():
    for module in (numpy, np):
        stream = module.random.RandomState(3)
        with pytest.warns(DeprecationWarning, match=r"Please call randint\(1, 5 \+ 1\) instead") as told:
            drawn = stream.random_integers(5, size=100)
        assert told[0].filename == __file__ or module is numpy
        assert drawn.min() == 1 and drawn.max() == 5
        with pytest.warns(DeprecationWarning):
            assert 2 <= module.random.random_integers(2, 3) <= 3


def some_draws(g):
    return [g.random(), g.normal(size=3).tolist(), g.wald(1, 2, 9).tolist(), g.permutation(99).tolist(),
            g.zipf(3, LARGE).sum().item(), g.integers(0, 1 << 40, LARGE).sum().item(), g.spawn(1)[0].random()]


def test_jumped_streams():
    """Others each, the same for any number of workers; jumps add up."""
    make = np.random.Generator
    drawn = {}
    for workers in (1, 3):
        with configured(workers=workers):
            bits = np.random.default_rng(5).bit_generator
            for jumps in (-1, 0, 1, 2, 1 << 30):
                found = some_draws(make(bits.jumped(jumps)))
                assert drawn.setdefault(jumps, found) == found
            assert drawn[2] == some_draws(make(bits.jumped().jumped()))
            assert drawn[0] == some_draws(make(bits.jumped().jumped(-1))) == some_draws(np.random.default_rng(5))
    for parts in zip(*drawn.values()):
        assert len(set(map(str, parts))) == len(parts)


def test_advanced_streams():
    g, other = np.random.default_rng(5), np.random.default_rng(5)
    skipped = [g.normal(size=3).tolist() for _ in range(4)]
    bits = other.bit_generator
    assert bits.advance(3) is bits and other.normal(size=3).tolist() == skipped[3]
    bits.advance(-4)
    assert other.normal(size=3).tolist() == skipped[0]
    first, moved = (some_draws(np.random.Generator(np.random.default_rng(5).bit_generator.advance(n).advance(-3)))
                    for n in (3, 4))
    assert first == some_draws(np.random.default_rng(5)) and all(x != y for x, y in zip(first[:-1], moved))


@pytest.mark.parametrize("call", ["advance(2.5)", "advance('a')", "advance(None)", "advance([1])", "jumped(2.5)",
                                  "jumped(None)", "jumped([1])"])
def test_moves_that_are_refused(call):
    assert_same_outcome(*(outcome(lambda module=module: eval(f"bits.{call}", {
        "bits": module.random.Generator(module.random.Philox(5)).bit_generator})) for module in (np, numpy)))


def test_states_of_numpy_s_bit_generators():
    """One that was moved, set or made from a state is no longer its seed's."""
    def drawn(make):
        found = [np.random.default_rng(make()).random() for _ in range(2)]
        assert found[0] == found[1]
        return found[0]

    def used():
        bits = numpy.random.SFC64(5)
        bits.random_raw(3)
        return bits

    r = numpy.random
    makers = (lambda: r.PCG64(5), lambda: r.PCG64(5).jumped(), lambda: r.PCG64(5).advance(7), lambda: r.Philox(key=5),
              used, lambda: np.random.MT19937(5).jumped(2), lambda: np.random.RandomState(5), lambda: r.RandomState(6))
    assert len(set(map(drawn, makers))) == len(makers) and drawn(makers[0]) == np.random.default_rng(5).random()


def test_users_of_a_bit_generator_share_its_stream():
    g, start = np.random.default_rng(5), np.random.default_rng(5).bit_generator.state
    expected = [g.random(), g.random(), g.poisson(3), g.zipf(3)]
    g.bit_generator.state = start
    other = np.random.Generator(g.bit_generator)
    assert [other.random(), g.random(), np.random.default_rng(g.bit_generator).poisson(3), other.zipf(3)] == expected
    copies = copy.deepcopy(g.bit_generator), pickle.loads(pickle.dumps(g.bit_generator))
    assert copies[0].state == copies[1].state == g.bit_generator.state
    theirs = numpy.random.Generator(g.bit_generator)                # draws by code of NumPy's
    assert theirs.random() != theirs.random()


def test_the_module_s_bit_generator():
    before = np.random.get_bit_generator().state
    try:
        expected = some_draws(np.random.default_rng(5))[:2]
        for source in (np.random.default_rng(5).bit_generator, np.random.PCG64(5)):
            np.random.set_bit_generator(source)
            assert [np.random.random(), np.random.normal(size=3).tolist()] == expected
        np.random.seed(3)
        np.random.Generator(np.random.get_bit_generator()).random()
        after = np.random.random()
        np.random.seed(3)
        assert [np.random.random(), np.random.random()][1] == after
        for wrong in (5, None, numpy.random.default_rng(3)):    # NumPy forgets its own before it refuses these
            with pytest.raises(AttributeError, match="has no attribute 'capsule'"):
                np.random.set_bit_generator(wrong)
        with pytest.raises(ValueError, match="Invalid bit generator. The bit generator must be instantized."):
            np.random.set_bit_generator(numpy.random.PCG64)
    finally:
        np.random.set_bit_generator(np.random.default_rng(5).bit_generator)
        np.random.get_bit_generator().state = before


# ---- NumPy's interface ----------------------------------------------------------------------------------------------

def draws(module):
    return [module.rand(3).tolist(), module.normal(size=5000).tolist(), module.permutation(9).tolist(),
            module.binomial(9, 0.5, size=3).tolist(), module.gamma(np.array([1.0, 2.0])).tolist()]


@pytest.mark.parametrize("seed", [None, 3, [1, 2, 3], range(624)])
@pytest.mark.parametrize("legacy", [True, False])
def test_a_state_has_numpys_form(seed, legacy):
    np.random.seed(seed)
    draws(np.random)
    state, theirs = np.random.get_state(legacy), numpy.random.RandomState(0).get_state(legacy)
    assert type(state) is type(theirs) and len(state) == len(theirs)
    name, key, position = state[:3] if legacy else (state["bit_generator"], *state["state"].values())
    assert name == "MT19937" and key.shape == (624,) and key.dtype == "u4" and 0 <= position <= 624
    first = draws(np.random)
    np.random.set_state(state)
    assert draws(np.random) == first
    np.random.set_state(pickle.loads(pickle.dumps(state)))
    assert draws(np.random) == first != draws(np.random)


def test_states_of_a_random_state_and_of_the_module():
    """Either takes the other's; of the same state come the same numbers."""
    np.random.seed(5)
    given, results = np.random.get_state(), []
    for kind in (numpy.random.RandomState, np.random.RandomState):
        older = kind()
        older.set_state(numpy_state(given))
        results.append(older.rand(2000).tolist())
        assert abs(numpy.mean(results[-1]) - 0.5) < 0.05 and len(set(results[-1])) == 2000
    assert results[0] == results[1]
    older = np.random.RandomState(7)
    for _ in range(2):
        state, found = older.get_state(), []
        for form in (state, numpy_state(state), older.get_state(legacy=False)):
            np.random.set_state(form)
            found.append(draws(np.random))
        assert found[0] == found[1] == found[2]
        results.append(found[0])
        older.standard_normal()
    assert results[2] != results[3]


def numpy_state(state):
    return tuple(x.asnumpy() if hasattr(x, "asnumpy") else x for x in state)


@pytest.mark.parametrize("state", [(), ("PCG64", [1], 0), ("MT19937", [1, 2], 0), {"a": 1}, 5, ("MT19937", "a", 0)])
def test_a_state_that_is_none(state):
    before = np.random.get_state()[1].tolist()
    with pytest.raises((ValueError, TypeError, IndexError, KeyError)) as ours:
        np.random.set_state(state)
    with pytest.raises((ValueError, TypeError, IndexError, KeyError)) as theirs:
        numpy.random.set_state(state)
    assert (ours.type, str(ours.value)) == (theirs.type, str(theirs.value))
    assert np.random.get_state()[1].tolist() == before


def test_a_state_whose_words_were_changed():
    name, key, *rest = np.random.get_state()
    key[7] ^= 1
    with pytest.raises(ValueError, match="some were changed"):
        np.random.set_state((name, key, *rest))


@pytest.mark.parametrize("name, make", [
    ("Generator", lambda r: r.default_rng(0)), ("RandomState", lambda r: r.RandomState(0)),
    ("PCG64", lambda r: r.PCG64(0)), ("MT19937", lambda r: r.MT19937(0)), ("BitGenerator", lambda r: r.Philox(0)),
    ("SeedSequence", lambda r: r.SeedSequence(0)), ("BitGenerator", lambda r: r.default_rng(0).bit_generator)])
def test_numpys_objects_are_of_the_namespaces_classes(name, make):
    for module in (np.random, numpy.random):
        x = make(module)
        kind = getattr(np.random, name)
        assert isinstance(x, kind) and issubclass(type(x), kind)
        assert not isinstance(x, np.random.SFC64) and not isinstance(5, kind) and not isinstance(type(x), kind)
    assert not isinstance(numpy.random.RandomState(0), np.random.Generator)
    assert not isinstance(numpy.random.default_rng(0), np.random.RandomState)


def test_a_bit_generator_may_be_seeded_by_a_generator():
    for seed in (np.random.default_rng(3), numpy.random.default_rng(3), np.random.default_rng(3).bit_generator):
        assert np.random.PCG64(seed).state == numpy.random.PCG64(3).state
    made = np.random.default_rng(numpy.random.default_rng(3))
    assert type(made) is np.random.Generator and made.random() == np.random.default_rng(3).random()
