"""Gradients against differences, of every row of the table of operations; and the record that they come from.

Each sample of tests/test_namespace.py whose result is of floating point numbers is computed in float64, from sources
moved a little, so that none are equal. L is the sum of its elements, each times a random number. The derivative of L
along a random direction is compared with what differences of NumPy's results say, and so is the second one, for which
the gradient is differentiated again.
"""

import gc
import math
import re
import threading
import warnings

import numpy
import pytest
from test_namespace import CASES, SOURCES, call_of

import dflow.numpy as np
from dflow import autograd, npx
from dflow.engine import sleep
from dflow.ops.fallback import call, task

# By what a sample begins with: why it has no gradient, or another one than differences have. It must fail.
COUNTS = "an error: counts are constant, but for jumps, and the edges come from the outermost elements"
MASKED = "nan where the mask is false: the gradient of what is computed there is nan, and 0 times that"
NO_GRADIENT = {
    "np.histogram": COUNTS,
    "np.float_power(a, a, where=": MASKED,
    "np.pow(a, a, where=": MASKED,
    "np.power(a, a, where=": MASKED,
    "np.sqrt(a, where=": MASKED,
    "np.sign(c)": "of real numbers it is constant; there is no rule for complex ones",
    "np.std(f, axis=())": "a square root at 0",
    "np.std(s)": "a square root at 0",
    "np.std(a, axis=0, where=b)": "a square root at 0: one element of a column",
    "np.pad(a, 1, lambda": "the function writes into the array of NumPy's that it gets",
    "np.linalg.qr(a.T, 'complete')": "the vectors beyond the rank are any that fit",
    "np.linalg.svd(m * 1j, hermitian=True)": "not Hermitian, and of a Hermitian matrix one triangle is read",
    "np.lib.stride_tricks.as_strided(a[1], (2, 2), (-32, 8))": "beyond the array that it is a view of",
    "np.lib.stride_tricks.as_strided(v[1:], (2,), (-8,)": "beyond the array that it is a view of",
}


def _moved(x, rng):
    shift = (rng.random(x.shape) - 0.5) * 0.2
    if x.dtype.kind == "c":
        return numpy.asarray(x.astype(complex) + shift * (1 - 2j))
    return numpy.asarray(x.astype(float) + shift)


def _symmetric(x):
    return (x + x.T) / 2


def _sources():
    rng = numpy.random.default_rng(3)
    moved = {name: _moved(x, rng) if x.dtype.kind in "fc" and name not in "en" else x for name, x in SOURCES.items()}
    return {**moved, "m": _symmetric(moved["m"])}


# Samples that are no row's.
METHODS = ["np.logaddexp.reduce(a)", "np.logaddexp2.reduce(a, axis=1, keepdims=True, initial=0.5)",
           "np.logaddexp.reduce(a, axis=(0, 1), where=b, initial=-1)", "np.maximum.accumulate(a)",
           "np.minimum.accumulate(a, axis=-1)", "np.fmax.accumulate(v)",
           "np.add.reduceat(a, [0, 2, 1], axis=1)", "np.add.reduceat(a, [1])", "divmod(a, 0.7)"]

POINTS = _sources()
VARIABLES = [name for name, x in POINTS.items() if x.dtype.kind in "fc" and name not in "en"]


def inexact(result):
    """The arrays of floating point numbers in a result."""
    if isinstance(result, (tuple, list)):
        return [x for item in result for x in inexact(item)]
    return [result] if getattr(result, "dtype", numpy.dtype(bool)).kind in "fc" else []


def evaluate(text, arrays, module):
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return inexact(eval(text, {"np": module, **arrays}))


def total(parts, weights):
    """The sum of the elements, each times a number."""
    return sum((x * w).real.sum() for x, w in zip(parts, weights))


def random_like(x, rng):
    imaginary = 1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else 0
    return numpy.asarray(rng.standard_normal(x.shape) + imaginary)


class Sample:
    """A call, where it is computed, and the direction."""

    def __init__(self, text):
        self.text = text
        self.points = {name: x for name, x in POINTS.items() if re.search(rf"\b{name}\b", text)}
        rng = numpy.random.default_rng(5)
        self.ways = {name: random_like(x, rng) for name, x in self.points.items() if name in VARIABLES}
        if "m" in self.ways:
            self.ways["m"] = _symmetric(self.ways["m"])
        self.results = self.at(0)
        self.weights = [random_like(x, rng) for x in self.results]

    def at(self, step):
        """NumPy's results, so many steps in the direction."""
        arrays = {name: numpy.asarray(x + step * self.ways[name]) if name in self.ways else x.copy()
                  for name, x in self.points.items()}
        before = {name: x.copy() for name, x in arrays.items()}
        results = evaluate(self.text, arrays, numpy)
        for name, x in before.items():
            if not numpy.array_equal(x, arrays[name], equal_nan=True):
                raise ValueError("it writes into its argument")
        return results

    def total(self, step):
        return float(total(self.at(step), self.weights))

    def slope(self):
        step = 1e-6
        return (self.total(step) - self.total(-step)) / (2 * step)

    def curvature(self):
        step, weights = 2e-4, {-2: -1, -1: 16, 0: -30, 1: 16, 2: -1}
        return sum(w * self.total(k * step) for k, w in weights.items()) / (12 * step * step)

    def along(self, gradients):
        """The derivative in the direction."""
        return total([np.conjugate(g) for g in gradients], [np.array(way) for way in self.ways.values()])

    def recorded(self):
        """(the variables, the results, L) of ours, recorded. Each variable is part of L."""
        arrays = {name: np.array(x) for name, x in self.points.items()}
        variables = [arrays[name] for name in self.ways]
        for x in variables:
            x.attach_grad()
        results = evaluate(self.text, arrays, np)
        nothing = sum((0 * x).real.sum() for x in variables)
        return variables, results, total(results, map(np.array, self.weights)) + nothing


def _samples():
    """Those with a derivative."""
    found = {}
    rows = [call_of(row, sample) for row, sample in CASES if row.module != "numpy.random"]
    for text in [*rows, *METHODS]:
        text = re.sub(r"(['\"])f[24]\1", "'f8'", text)
        if text in found or "c8" in text or "complex64" in text:
            continue
        try:
            with numpy.errstate(all="ignore"):
                found[text] = sample = Sample(text)
                if not sample.ways or not sample.results or not numpy.isfinite(sample.slope()):
                    del found[text]
        except Exception:
            found.pop(text, None)
    return list(found.values())


def _marked(samples):
    """As parameters; those that are in the table must fail."""
    for sample in samples:
        reason = next((reason for key, reason in NO_GRADIENT.items() if sample.text.startswith(key)), None)
        marks = [] if reason is None else [pytest.mark.xfail(strict=True, reason=reason)]
        yield pytest.param(sample, id=sample.text, marks=marks)


SAMPLES = _samples()


def close(actual, expected, tolerance):
    return abs(actual - expected) <= tolerance * (1 + abs(expected))


@pytest.mark.parametrize("sample", list(_marked(SAMPLES)))
def test_first_order(sample):
    with autograd.record():
        variables, results, whole = sample.recorded()
    for ours, theirs in zip(results, sample.results, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        numpy.testing.assert_allclose(numpy.asarray(ours), theirs, rtol=1e-6, atol=1e-9)
    whole.backward()
    assert close(sample.along([x.grad for x in variables]).item(), sample.slope(), 1e-5)


@pytest.mark.once
@pytest.mark.parametrize("sample", list(_marked(SAMPLES)))
def test_second_order(sample):
    with autograd.record():
        variables, _, whole = sample.recorded()
        first = sample.along(autograd.grad(whole, variables, create_graph=True))
        (first + sum((0 * x).real.sum() for x in variables)).backward()
    assert close(sample.along([x.grad for x in variables]).item(), sample.curvature(), 1e-4)


def test_the_table_names_samples():
    assert len(SAMPLES) > 1000 and {sample.text for sample in SAMPLES} > set(METHODS)
    for key in NO_GRADIENT:
        assert any(sample.text.startswith(key) for sample in SAMPLES), key


# -- over complex numbers --------------------------------------------------------------------------

def test_the_gradient_by_a_complex_number():
    """Its parts are the derivatives by the real and the imaginary part."""
    z = np.array([1 + 2j, -3j])
    z.attach_grad()
    with autograd.record():
        loss = (z * np.conj(z)).real.sum() + (z.imag ** 3).sum()
    loss.backward()
    assert z.grad.dtype == complex and z.grad.tolist() == [2 + 4j + 12j, -6j + 27j]


# -- the record ------------------------------------------------------------------------------------

def tracked(*values):
    arrays = [np.array(x, dtype=float) for x in values]
    for x in arrays:
        x.attach_grad()
    return arrays if len(arrays) > 1 else arrays[0]


def gradient(function, *values):
    """The gradients of the sum of function's result."""
    arrays = [tracked(x) for x in values]
    with autograd.record():
        function(*arrays).sum().backward()
    found = [x.grad.tolist() for x in arrays]
    return found if len(found) > 1 else found[0]


def test_a_long_chain():
    """It is gone back through, and freed, without recursion."""
    x = tracked(1.0)
    with autograd.record():
        y = x
        for _ in range(100_000):
            y = y * 1.0
    y.backward()
    assert x.grad == 1
    with autograd.record():
        y = x
        for _ in range(100_000):
            y = y * 1.0
    del y


def test_what_is_recorded_and_left_is_freed():
    """There are no cycles: the fixture of all tests looks."""
    x = tracked([1.0, 2])
    with autograd.record():
        y = np.exp(x) * x
        z = np.zeros(4)
        z[1:3] = y
        z[:2] = z[1:3] * z[2:]
    assert z.shape == (4,)


def test_written_to_since():
    x, y = tracked([1.0, 2], [3.0, 4])
    c = np.array([5.0, 6])
    with autograd.record():
        loss = (x * c).sum()
    c[0] = 7
    with pytest.raises(ValueError, match="an array that the gradient of multiply, at .* needs was written to since"):
        loss.backward()
    with autograd.record():
        z = x * y
    z += 1
    with autograd.record():
        with pytest.raises(ValueError, match="was written to since it was recorded, at .* not the recorded one"):
            z * 2
        with pytest.raises(ValueError, match="an array with a gradient cannot be written to while autograd.record"):
            x[0] = 1


def test_a_view_of_an_array_with_a_gradient_cannot_be_written_to():
    x = tracked([1.0, 2])
    with autograd.record(), pytest.raises(ValueError, match="cannot be written to"):
        x[1:] *= 2
    with autograd.record(), pytest.raises(ValueError, match="cannot be written to"):
        np.sin(x, out=x)
    x[0] = 5                # not recorded
    assert gradient(lambda x: x * x, x) == [10, 4]


def test_the_record_is_freed():
    x = tracked([1.0, 2])
    with autograd.record():
        loss = (x * x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert x.grad.tolist() == [2, 4]
    with pytest.raises(ValueError, match="the record of this value, at .* was freed by an earlier backward"):
        loss.backward()


def test_not_recorded():
    x = tracked([1.0, 2])
    y = x * 2
    with pytest.raises(ValueError, match="was not computed from arrays with gradients while autograd.record"):
        y.backward()
    with autograd.record():
        y = np.array([1.0]) * 2
        z = x * 2
    with pytest.raises(ValueError, match="was not computed from"):
        y.backward()
    with pytest.raises(ValueError, match=r"the heads do not depend on one of the variables, of shape \(3,\)"):
        autograd.grad(z, [tracked([1.0, 2, 3])])


def test_what_has_no_gradient():
    x = tracked([1.0, 2, 4])
    with autograd.record():
        y = np.histogram(x, 2)[1].sum()
        z = x.sum() + np.multiply.reduceat(x, [0, 2]).sum()
        w = x.sum() + np.vectorize(math.sqrt)(x).sum()
    with pytest.raises(NotImplementedError, match="histogram, at .* has no gradient"):
        y.backward()
    with pytest.raises(NotImplementedError, match="reduceat of multiply, at .* has no gradient"):
        z.backward()
    with pytest.raises(NotImplementedError, match="sqrt, at .* has no gradient"):
        w.backward()


def test_second_order_of_sinc_at_0():
    x = tracked([0.0, 0.5])
    with autograd.record():
        autograd.grad(np.sinc(x), x, create_graph=True)[0].backward()
    assert numpy.allclose(x.grad.asnumpy(), [-math.pi ** 2 / 3, 16 / math.pi - 2 * math.pi])


def test_what_is_computed_out_of_sight():
    """It has no gradient, and says so, though part of the whole has one."""
    x = tracked([1.0, 2, 4])
    with autograd.record():
        y = (call(numpy.sqrt, (x,), {}) + x).sum()
        z = (task(numpy.sqrt, x, shape=(3,), dtype=float) + x).sum()
    for lost in (y, z):
        with pytest.raises(NotImplementedError, match="sqrt, at .* has no gradient"):
            lost.backward()


def test_checked_when_there():
    x = tracked([1.0, 2, 4])
    with autograd.record():
        y = np.average(np.array([1.0, 2, 3]), weights=x * sleep(np.ones(3), 0.02))
    y.backward()
    assert numpy.allclose(x.grad.asnumpy(), (numpy.array([1.0, 2, 3]) - 17 / 7) / 7)


def test_running_product_with_zeros():
    assert gradient(np.cumprod, [2.0, 0.0, 3.0, 4.0]) == [1, 2 + 6 + 24, 0, 0]
    assert gradient(np.prod, [2.0, 0.0, 3.0]) == [0, 6, 0]


def test_requests():
    x, y, z = (np.array([1.0, 2]) for _ in range(3))
    x.attach_grad("add")
    y.attach_grad("null")
    z.attach_grad()
    for _ in range(2):
        with autograd.record():
            loss = (x * y * z).sum()
        loss.backward()
    assert x.grad.tolist() == [2, 8] and y.grad is None and z.grad.tolist() == [1, 4]
    x.zero_grad()
    assert x.grad.tolist() == [0, 0]
    with pytest.raises(ValueError, match="grad_req must be one of 'write', 'add', 'null', not 'wrote'"):
        x.attach_grad("wrote")


@pytest.mark.parametrize("dtype", [int, "i1", bool])
def test_whole_numbers_have_zero_gradients(dtype):
    i = np.array([1, 0, 1], dtype)
    i.attach_grad()
    assert i.grad.dtype == i.dtype and i.grad.tolist() == [0, 0, 0]
    x = tracked([1.0, 2, 3])
    i.grad[...], x.grad[...] = 1, 7
    with autograd.record():
        y = (i * 2).sum() + i[1:].astype(float).sum()
        z = (x * i).sum()
    y.backward()
    assert i.grad.tolist() == [0, 0, 0] and x.grad.tolist() == [7, 7, 7]
    z.backward()
    assert i.grad.tolist() == [0, 0, 0] and x.grad.tolist() == [1, 0, 1]


@pytest.mark.parametrize("function", [
    lambda x: x > 1, np.argmax, np.isnan, np.floor, np.sign, lambda x: (x * x).astype(int), lambda x: (x > 1) + 0.5,
    lambda x: np.ones_like(x) * 3, lambda x: np.floor(x)[1:], lambda x: np.modf(x * 0.5)[1],
    lambda x: divmod(x, 2)[0], lambda x: np.argsort(x)[::-1], lambda x: npx.one_hot(x.astype(int), 8)])
def test_what_is_constant_has_zero_gradients(function):
    x = tracked([1.0, 2, 3])
    for create_graph in (False, True):
        x.grad[...] = 7
        with autograd.record():
            y = function(x * 2)
        assert autograd.grad(y, x, create_graph=create_graph)[0].tolist() == [0, 0, 0]
        with autograd.record():
            y = function(x * 2)
        y.backward()
        assert x.grad.tolist() == [0, 0, 0]
    x.attach_grad("add")
    with autograd.record():
        y, z = function(x * 2), (x * 2).sum()
    autograd.backward([y, z])
    assert x.grad.tolist() == [2, 2, 2]


def test_constants_beside_what_has_gradients():
    """Neither what is chosen nor what is counted with them makes an error, or is refused a place to be written to."""
    x, counts, hits = tracked([3.0, 1, 2]), np.zeros(3, int), np.array(0)
    with autograd.record():
        order = np.argsort(x)
        np.add.at(counts, order, 1)
        mask = x > 1
        mask[0] = False
        for _ in range(3):
            hits = hits + (mask == (x > 2)).sum()
        loss = (x[order] * np.array([1.0, 10, 100]) + np.where(mask, x, 0)).sum()
    loss.backward()
    assert counts.tolist() == [1, 1, 1] and hits.item() == 3 and x.grad.tolist() == [100, 1, 11]
    with autograd.record():
        hits = (x > 1).sum()
        (x * x).sum().backward()
    with pytest.raises(ValueError, match="was freed by an earlier backward"):
        with autograd.record():
            y = x * 2
            hits = (y > 1).sum()
            y.backward()
        hits.backward()


def test_counting_for_ever_holds_no_record():
    x, hits, nodes = tracked([3.0, 1, 2]), np.array(0), []
    for _ in range(3):
        with autograd.record():
            hits = hits + (x > 1).sum()
        nodes.append(sum(type(each).__name__ == "Node" for each in gc.get_objects()))
    assert nodes[1] == nodes[2]


def parts_of(x):
    """What is in tuples and lists."""
    return [part for item in x for part in parts_of(item)] if isinstance(x, (tuple, list)) else [x]


WHOLE = {text: row for row, sample in CASES if row.module != "numpy.random" and not sample.startswith("?")
         and re.search(r"\b[bij]\b", text := call_of(row, sample))}


@pytest.mark.parametrize("text", WHOLE)
def test_values_do_not_depend_on_whether_whole_numbers_are_recorded(text):
    """Functions that are recorded as something else are so with whole numbers, too."""
    def called(leaf):
        arrays = {name: np.array(x) for name, x in SOURCES.items() if re.search(rf"\b{name}\b", text)}
        with autograd.record(), warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for name in arrays.keys() & set("bij"):
                if leaf:
                    arrays[name].attach_grad()
                arrays[name] = arrays[name].copy()
            try:
                return list(parts_of(eval(text, {"np": np, **arrays})))
            except Exception as error:
                return [type(error), str(error)]

    recorded, plain = called(True), called(False)
    assert len(recorded) == len(plain)
    for ours, expected in zip(recorded, plain):
        if not hasattr(ours, "asnumpy"):
            assert type(ours) is type(expected)
            assert ours == expected or type(ours) not in (str, type)
        else:
            assert (ours.shape, ours.dtype) == (expected.shape, expected.dtype)
            numpy.testing.assert_allclose(ours.asnumpy(), expected.asnumpy(), rtol=1e-12)


def test_what_was_computed_keeps_its_gradient():
    x, y = tracked([1.0, 2], [3.0, 4])
    with autograd.record():
        u = x * y
        v = u[1:]
        z = u * x
        z[...] += v
    for each in (u, v, z):
        each.attach_grad()
    assert u.grad.tolist() == [0, 0]
    z.backward(np.array([10.0, 1]), retain_graph=True)
    assert u.grad.tolist() == [10, 13] and v.grad.tolist() == [11] and z.grad.tolist() == [10, 1]
    assert x.grad.tolist() == [60, 60] and y.grad.tolist() == [10, 26]
    for each in (u, v, z, y):
        each.drop_grad()
        each.drop_grad()
    z.backward()
    assert u.grad is v.grad is z.grad is y.grad is None and x.grad.tolist() == [6, 24]


def test_dropped_gradients_can_be_had_again():
    x = tracked([1.0, 2])
    x.drop_grad()
    with autograd.record():
        y = x * x
    y.backward()
    assert x.grad is None
    x.attach_grad()
    with autograd.record():
        y = x * x
        y.backward()
        y.attach_grad()                 # whose record is gone: so it begins one
        z = y * 3
    z.backward()
    assert x.grad.tolist() == [2, 4] and y.grad.tolist() == [3, 3]


def test_a_gradient_is_no_alias():
    """Neither of the result's memory, nor of what the rule returned to others."""
    x, y = tracked([1.0, 2], [3.0, 4])
    with autograd.record():
        z = x + y
    z.backward(np.array([1.0, 1]))
    x.grad[0] = 9
    assert y.grad.tolist() == [1, 1] and z.tolist() == [4, 6]


def test_head_gradients():
    x = tracked([1.0, 2])
    with autograd.record():
        y, z = x * 2, x * x
    autograd.backward([y, z], [np.array([1.0, 10]), None])
    assert x.grad.tolist() == [2 + 2, 20 + 4]
    with autograd.record():
        y = x * 2
    with pytest.raises(ValueError, match=r"head_grads: one has the shape \(3,\), its head \(2,\)"):
        y.backward(np.ones(3))
    with pytest.raises(ValueError, match="head_grads: 2 for 1 heads"):
        autograd.backward([y], [None, None])


def test_pause_and_modes():
    x = tracked(3.0)
    with autograd.record():
        assert autograd.is_recording() and autograd.is_training()
        with autograd.pause():
            assert not autograd.is_recording() and not autograd.is_training()
            y = x * x
        with autograd.predict_mode():
            assert autograd.is_recording() and not autograd.is_training()
        z = x * y
    assert not autograd.is_recording() and not autograd.is_training()
    z.backward()
    assert x.grad == 9
    with autograd.record(train_mode=False):
        assert not autograd.is_training()


def test_threads_record_for_themselves():
    x, seen = tracked(3.0), []

    def work():
        seen.append(autograd.is_recording())
        seen.append((x * x).item())
        with autograd.record():
            y = x * x
        seen.append(y)

    with autograd.record():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert autograd.is_recording()
    assert seen[:2] == [False, 9]
    seen.pop().backward()
    assert x.grad == 6


def test_detach():
    x = tracked([1.0, 2])
    with autograd.record():
        y = x * x
        loss = (y.detach() * x).sum()
    loss.backward()
    assert x.grad.tolist() == [1, 4]


def test_pending_values():
    """Nothing waits: neither recording, nor the way back."""
    x = tracked([1.0, 2])
    c = sleep(np.array([3.0, 4]), 0.05)
    with autograd.record():
        loss = (x * c).sum()
    loss.backward()
    assert not c.is_ready() and x.grad.tolist() == [3, 4]


def _in_place(x, y):
    z = x * 1
    z += y
    z *= z
    z[1:] += y[:-1]
    z[0] = x[1] * 5
    z[x > 2] = y[x > 2] * 7
    z[[0, 1]] -= x[:2]
    return z


@pytest.mark.parametrize("text", ["np.mean(x, axis=0, where=x > 2)", "np.nanmax(x, 0)", "np.nanmean(x)"])
def test_what_a_host_task_looks_at_is_not_written_to(text):
    """Whether to warn of a mean of nothing shows once the elements are there; before they are, the mean is recorded."""
    gradients = []
    for hold in (lambda x: x, lambda x: sleep(x, 0.05)):
        x = hold(np.arange(6.0).reshape(2, 3) + 1)
        x.attach_grad()
        with autograd.record():
            y = eval(text, {"np": np, "x": x})
        y.backward()
        gradients.append(x.grad.tolist())
    assert gradients[0] == gradients[1]


def test_in_place():
    x, y = [1.0, 2, 3, 4], [0.5, 0.25, 2, -1]
    assert gradient(_in_place, x, y) == [[-1, 5 + 4.5 - 1, 0, 0], [1, 4.5, 7, 7]]


def _into_out(x, y):
    z = np.zeros(3)
    np.multiply(x, y, out=z)
    np.add(z, x, out=z, where=np.array([True, False, True]))
    return np.concatenate([z, np.sum(np.stack([x, y]), 0, out=np.zeros(3))])


def test_into_out():
    assert gradient(_into_out, [1.0, 2, 3], [4.0, 5, 6]) == [[6, 6, 8], [2, 3, 4]]


@pytest.mark.parametrize("view, expected", [
    (lambda x: x[1:, ::-1], [[0, 0, 0], [3, 2, 1]]),
    (lambda x: x.T[[0, 0, 2]], [[4, 0, 5], [6, 0, 6]]),
    (lambda x: np.broadcast_to(x[0], (2, 3)), [[5, 7, 9], [0, 0, 0]]),
    (lambda x: np.broadcast_to(x[0], (2, 3))[1], [[1, 2, 3], [0, 0, 0]]),
    (lambda x: x.reshape(3, 2).T.ravel(), [[1, 4, 2], [5, 3, 6]]),
    (lambda x: x.reshape(-1)[::2][1:], [[0, 0, 1], [0, 2, 0]]),
    (lambda x: x[:, None].swapaxes(0, 2)[::-1], [[5, 3, 1], [6, 4, 2]]),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x[0], 2), [[1, 5, 4], [0, 0, 0]]),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x[0], 2)[1], [[0, 1, 2], [0, 0, 0]]),
    (lambda x: x.diagonal(), [[1, 0, 0], [0, 2, 0]]),
    (lambda x: x[1, 2], [[0, 0, 0], [0, 0, 1]]),
    (lambda x: x[:, :0], [[0, 0, 0], [0, 0, 0]])])
def test_views(view, expected):
    """Each element of the view times its number."""
    def numbered(x):
        part = view(x)
        return part * np.arange(1.0, part.size + 1).reshape(part.shape)

    assert gradient(numbered, numpy.arange(6.0).reshape(2, 3)) == expected


class Cube(autograd.Function):
    """x ** 3, y + x; with a gradient that says that it was asked."""

    def forward(self, x, y):
        self.save_for_backward(x)
        return x ** 3, y + x

    def backward(self, g, h):
        x, = self.saved_tensors
        return 3 * x * x * g + h, 100 * h


def test_functions_of_ones_own():
    x, y = tracked([1.0, 2], [3.0, 4])
    with autograd.record():
        cube, total = Cube()(x, y)
        cube.backward(retain_graph=True)
        assert (x.grad.tolist(), y.grad.tolist()) == ([3, 12], [0, 0])
        (cube + total).backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([4, 13], [100, 100])


def test_functions_of_ones_own_with_too_few_gradients():
    class Wrong(Cube):
        def backward(self, g, h):
            return g

    x, y = tracked([1.0, 2], [3.0, 4])
    with autograd.record():
        cube, _ = Wrong()(x, y)
    with pytest.raises(ValueError, match=r"Wrong.backward\(\) returned 1 gradients, forward\(\) took 2 arguments"):
        cube.backward()


def test_third_order():
    x = tracked(2.0)
    with autograd.record():
        y = x ** 5
        for _ in range(2):
            y = autograd.grad(y, x, create_graph=True)[0]
        y.backward()
    assert x.grad == 60 * 4


def test_second_order_through_several_results():
    """A rule's own results lead back to what they were computed from."""
    m = np.array(POINTS["m"])
    m.attach_grad()
    way = np.array(_symmetric(numpy.arange(9.0).reshape(3, 3)))
    with autograd.record():
        vectors = np.linalg.eigh(m)[1] ** 2
        first = (autograd.grad((vectors * way).sum(), m, create_graph=True)[0] * way).sum()
        first.backward()
    step = 1e-4
    points = [POINTS["m"] + k * step * way.asnumpy() for k in (-1, 0, 1)]
    values = [(numpy.linalg.eigh(point)[1] ** 2 * way.asnumpy()).sum() for point in points]
    assert close((m.grad * way).sum().item(), (values[0] - 2 * values[1] + values[2]) / step ** 2, 1e-4)


def test_gradients_of_two_arrays_are_two():
    """What arrives at two leaves is one array; each has its own from then on, also the gradient that is given."""
    x, y = tracked([1.0, 2]), tracked([3.0, 4])
    with autograd.record():
        z = x + y
    given = np.array([5.0, 6])
    z.backward(given)
    x.grad[...] = 7
    given[...] = 8
    assert (x.grad.tolist(), y.grad.tolist()) == ([7, 7], [5, 6])


def test_who_shares_a_gradients_memory_sees_the_next():
    x = tracked([1.0, 2])
    for kept in (lambda: x.grad.detach(), lambda: x.grad[:], lambda: numpy.asarray(x.grad)):
        for factor in (2.0, 5.0):
            with autograd.record():
                y = x * factor
            shared = kept()
            y.backward()
            assert shared.tolist() == [factor] * 2


@pytest.mark.parametrize("shape, axis", [((3, 3), None), ((2, 4), None), ((4, 2), None), ((5, 2, 3), (1, 2)),
                                         ((2, 5, 3), (2, 0))])
@pytest.mark.parametrize("keepdims", [False, True])
def test_the_gradient_of_the_nuclear_norm(shape, axis, keepdims):
    rng = numpy.random.default_rng(1)
    start, way = rng.standard_normal((2, *shape))
    x = tracked(start)
    with autograd.record():
        y = np.linalg.norm(x, ord="nuc", axis=axis, keepdims=keepdims)
        y.sum().backward()
    up, down = (numpy.linalg.norm(start + step * way, "nuc", axis, keepdims) for step in (1e-6, -1e-6))
    assert close((x.grad * np.array(way)).sum().item(), (up - down).sum() / 2e-6, 1e-6)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 4, 2), (4, 3), (1, 3)])
@pytest.mark.parametrize("dtype", [float, complex])
def test_full_svd_of_what_is_not_square(shape, dtype):
    """First and second order, of what depends on the space of the vectors beyond the rank, not on which these are."""
    rng = numpy.random.default_rng(2)
    k, (rows, columns) = min(shape[-2:]), shape[-2:]
    start, way = (random_like(numpy.zeros(shape, dtype), rng) for _ in range(2))
    weights = [random_like(numpy.zeros(n, dtype), rng) for n in ((rows, rows), (columns, columns), (rows, columns))]

    def function(a, module):
        u, s, vh = module.linalg.svd(a)
        left, right = u[..., k:] @ u[..., k:].conj().mT, vh[..., k:, :].conj().mT @ vh[..., k:, :]
        product = (u[..., :k] * s[..., None, :] ** 2) @ vh[..., :k, :]
        return sum((x * module.array(w)).real.sum() for x, w in zip((left, right, product), weights))

    x = np.array(start)
    x.attach_grad()
    with autograd.record():
        gradient, = autograd.grad(function(x, np), x, create_graph=True)
        slope = (np.conjugate(gradient) * np.array(way)).real.sum()
        slope.backward()
    step = 1e-4
    below, here, above = (function(start + n * step * way, numpy) for n in (-1, 0, 1))
    assert close(slope.item(), (above - below) / (2 * step), 1e-5)
    curvature = (np.conjugate(x.grad) * np.array(way)).real.sum().item()
    assert close(curvature, (above - 2 * here + below) / step ** 2, 1e-4)


@pytest.mark.parametrize("function", [np.radians, lambda x: 3 * x, lambda x: x, np.sum, lambda x: x[::-1]])
def test_gradients_of_what_is_linear_have_gradients_of_zero(function):
    x, way = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        first, = autograd.grad(function(x), x, create_graph=True)
        second, = autograd.grad(first, x, way, create_graph=True)
        total = (first * way).sum() + (x * x).sum()
    assert second.tolist() == [0, 0, 0] and autograd.grad(second, x)[0].tolist() == [0, 0, 0]
    total.backward()
    assert x.grad.tolist() == [2, 4, 6]


def test_the_gradient_of_relu_passes_nan_on():
    x = tracked([-1.0, 0.0, 2.0, np.nan, np.inf])
    with autograd.record():
        y = npx.relu(x) * 3
    y.backward()
    numpy.testing.assert_array_equal(x.grad.asnumpy(), [0, 0, 3, numpy.nan, 3])
