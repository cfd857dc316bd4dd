"""Optimizers against plain NumPy, the trainer, gluon's utilities."""

import math

import numpy
import pytest
from test_gluon import close, numbers

from dflow import autograd, gluon, init, kvstore, lr_scheduler, npx, optimizer
from dflow import numpy as np
from dflow.gluon import nn


def by_gradient(step, wd=0.0):
    """The values that a rule gives a weight, whose gradient is 2 * w + 1."""
    w, state, found = numpy.array([1.0, -2, 0.5]), {}, []
    for t in range(1, 6):
        w = w + step(2 * w + 1 + wd * w, w, state, t)
        found.append(w)
    return found


def momentum(lr, mu, nesterov=False):
    def step(g, w, state, t):
        v = state["v"] = mu * state.get("v", 0) - lr * g
        return mu * v - lr * g if nesterov else v

    return step


def adam(lr, b1=0.9, b2=0.999, eps=1e-8, correct=True, decay=0.0):
    def step(g, w, state, t):
        m = state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
        v = state["v"] = b2 * state.get("v", 0) + (1 - b2) * g**2
        rate = lr * math.sqrt(1 - b2**t) / (1 - b1**t) if correct else lr
        return -rate * m / (numpy.sqrt(v) + eps) - lr * decay * w

    return step


def adagrad(lr, eps=1e-6):
    def step(g, w, state, t):
        h = state["h"] = state.get("h", 0) + g**2
        return -lr * g / (numpy.sqrt(h) + eps)

    return step


def rmsprop(lr, rho, mu=0.9, eps=1e-8, centered=False):
    def step(g, w, state, t):
        n = state["n"] = rho * state.get("n", 0) + (1 - rho) * g**2
        if not centered:
            return -lr * g / (numpy.sqrt(n) + eps)
        m = state["m"] = rho * state.get("m", 0) + (1 - rho) * g
        v = state["v"] = mu * state.get("v", 0) - lr * g / numpy.sqrt(n - m**2 + eps)
        return v

    return step


def adadelta(rho, eps=1e-6):
    def step(g, w, state, t):
        n = state["n"] = rho * state.get("n", 0) + (1 - rho) * g**2
        d = numpy.sqrt((state.get("d", 0) + eps) / (n + eps)) * g
        state["d"] = rho * state.get("d", 0) + (1 - rho) * d**2
        return -d

    return step


def ftrl(lr, l1, beta=1.0, wd=0.0):
    def step(g, w, state, t):
        n = state.get("n", 0)
        state["n"] = n + g**2
        z = state["z"] = state.get("z", 0) + g - (numpy.sqrt(n + g**2) - numpy.sqrt(n)) / lr * w
        return -numpy.sign(z) * numpy.maximum(abs(z) - l1, 0) / ((beta + numpy.sqrt(n + g**2)) / lr + wd) - w

    return step


def adamax(lr, b1=0.9, b2=0.999):
    def step(g, w, state, t):
        m = state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
        u = state["u"] = numpy.maximum(b2 * state.get("u", 0), abs(g))
        return -lr / (1 - b1**t) * m / u

    return step


def nadam(lr, b1=0.9, b2=0.999, eps=1e-8, schedule_decay=0.004):
    def step(g, w, state, t):
        m = state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
        v = state["v"] = b2 * state.get("v", 0) + (1 - b2) * g**2
        mus = [b1 * (1 - 0.96 ** (k * schedule_decay) / 2) for k in range(1, t + 2)]
        ahead = (1 - mus[t - 1]) * g / (1 - math.prod(mus[:t])) + mus[t] * m / (1 - math.prod(mus))
        return -lr * ahead / (numpy.sqrt(v / (1 - b2**t)) + eps)

    return step


def lamb(lr, wd, b1=0.9, b2=0.999, eps=1e-6, correct=True, bounds=(0, 99)):
    def step(g, w, state, t):
        m = state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
        v = state["v"] = b2 * state.get("v", 0) + (1 - b2) * g**2
        if correct:
            m, v = m / (1 - b1**t), v / (1 - b2**t)
        d = m / (numpy.sqrt(v) + eps) + wd * w
        return -lr * numpy.clip(numpy.linalg.norm(w), *bounds) / numpy.linalg.norm(d) * d

    return step


def signum(lr, mu=0.9, apart=0.0):
    def step(g, w, state, t):
        m = state["m"] = mu * state.get("m", 0) + (1 - mu) * g
        return -lr * apart * w - lr * numpy.sign(m)

    return step


def lans(lr, wd, b1=0.9, b2=0.999, eps=1e-6, clip=99):
    def step(g, w, state, t):
        g = numpy.clip(g / numpy.linalg.norm(g), -clip, clip)
        m = state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
        v = state["v"] = b2 * state.get("v", 0) + (1 - b2) * g**2
        size, now = numpy.linalg.norm(w), w
        for share, x in ((b1, m / (1 - b1**t)), (1 - b1, g)):
            d = x / (numpy.sqrt(v / (1 - b2**t)) + eps) + wd * now
            now = now - lr * share * size / numpy.linalg.norm(d) * d
        return now - w

    return step


def ftml(lr, b1=0.6, b2=0.999, eps=1e-8):
    def step(g, w, state, t):
        v = state["v"] = b2 * state.get("v", 0) + (1 - b2) * g**2
        d = (numpy.sqrt(v / (1 - b2**t)) + eps) * (1 - b1**t) / lr
        z = state["z"] = b1 * state.get("z", 0) + (1 - b1) * g - (d - b1 * state.get("d", 0)) * w
        state["d"] = d
        return -z / d - w

    return step


def adabelief(lr, wd=0, b1=0.9, b2=0.999, eps=1e-6, correct=True, clip=99):
    def step(g, w, state, t):
        g = numpy.clip(g + wd * w, -clip, clip)
        m = state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
        v = state["v"] = b2 * state.get("v", 0) + (1 - b2) * (g - m) ** 2 + eps
        rate = lr * math.sqrt(1 - b2**t) / (1 - b1**t) if correct else lr
        return -rate * m / (numpy.sqrt(v) + eps)

    return step


def lars(lr, mu, wd, eta=0.001, clip=99, eps=1e-8):
    def step(g, w, state, t):
        size = numpy.linalg.norm(w)
        rate = lr * eta * size / (numpy.linalg.norm(g) + wd * size + eps)
        v = state["v"] = mu * state.get("v", 0) - rate * (numpy.clip(g, -clip, clip) + wd * w)
        return v

    return step


def dcasgd(lr, mu=0.0, lamda=0.04):
    def step(g, w, state, t):
        v = state["v"] = mu * state.get("v", 0) - lr * (g + lamda * g * g * (w - state.get("w", w)))
        state["w"] = w
        return v

    return step


OPTIMIZERS = [
    ("sgd", {"learning_rate": 0.05}, by_gradient(momentum(0.05, 0))),
    ("sgd", {"learning_rate": 0.05, "wd": 0.3, "momentum": 0.9}, by_gradient(momentum(0.05, 0.9), 0.3)),
    ("nag", {"learning_rate": 0.05, "momentum": 0.9}, by_gradient(momentum(0.05, 0.9, True))),
    ("sgd", {"learning_rate": 0.05, "clip_gradient": 2},
     by_gradient(lambda g, *_: -0.05 * numpy.clip(g, -2, 2))),
    ("adam", {"learning_rate": 0.1, "wd": 0.3}, by_gradient(adam(0.1), 0.3)),
    ("adamw", {"learning_rate": 0.1, "wd": 0.3}, by_gradient(adam(0.1, eps=1e-6, decay=0.3))),
    ("adamw", {"correct_bias": False}, by_gradient(adam(0.001, eps=1e-6, correct=False))),
    ("adagrad", {"learning_rate": 0.1}, by_gradient(adagrad(0.1))),
    ("rmsprop", {"learning_rate": 0.1, "rho": 0.8}, by_gradient(rmsprop(0.1, 0.8))),
    ("rmsprop", {"learning_rate": 0.1, "gamma1": 0.8, "gamma2": 0.7, "centered": True},
     by_gradient(rmsprop(0.1, 0.8, 0.7, centered=True))),
    ("adadelta", {"rho": 0.8}, by_gradient(adadelta(0.8))),
    ("ftrl", {"learning_rate": 0.5, "lamda1": 0.3, "wd": 0.2}, by_gradient(ftrl(0.5, 0.3, wd=0.2))),
    ("adamax", {"learning_rate": 0.1, "wd": 0.3}, by_gradient(adamax(0.1), 0.3)),
    ("nadam", {"learning_rate": 0.1, "wd": 0.3}, by_gradient(nadam(0.1), 0.3)),
    ("nadam", {"learning_rate": 0.1, "schedule_decay": 9.0}, by_gradient(nadam(0.1, schedule_decay=9.0))),
    ("lamb", {"learning_rate": 0.1, "wd": 0.3}, by_gradient(lamb(0.1, 0.3))),
    ("lamb", {"learning_rate": 0.1, "bias_correction": False, "lower_bound": 2.1, "upper_bound": 2.2},
     by_gradient(lamb(0.1, 0, correct=False, bounds=(2.1, 2.2)))),
    ("signum", {"learning_rate": 0.4, "wd": 0.3}, by_gradient(signum(0.4), 0.3)),
    ("signum", {"learning_rate": 0.4, "wd_lh": 0.3, "momentum": 0.5}, by_gradient(signum(0.4, 0.5, 0.3))),
    ("signum", {"learning_rate": 0.4, "wd": 0.3, "momentum": 0.0}, by_gradient(signum(0.4, 0, 0.3))),
    ("lans", {"learning_rate": 0.1, "wd": 0.3, "clip_gradient": 0.5}, by_gradient(lans(0.1, 0.3, clip=0.5))),
    ("ftml", {"learning_rate": 0.1, "wd": 0.3}, by_gradient(ftml(0.1), 0.3)),
    ("adabelief", {"learning_rate": 0.1, "wd": 0.3, "clip_gradient": 2}, by_gradient(adabelief(0.1, 0.3, clip=2))),
    ("adabelief", {"correct_bias": False}, by_gradient(adabelief(0.001, correct=False))),
    ("lars", {"learning_rate": 9, "wd": 0.3, "momentum": 0.5, "clip_gradient": 2},
     by_gradient(lars(9, 0.5, 0.3, clip=2))),
    ("lars", {"learning_rate": 0.05, "param_idx2name": {0: "bias"}}, by_gradient(momentum(0.05, 0))),
    ("dcasgd", {"learning_rate": 0.05, "momentum": 0.5, "wd": 0.3}, by_gradient(dcasgd(0.05, 0.5), 0.3)),
    ("dcasgd", {"learning_rate": 0.05, "lamda": 0.5}, by_gradient(dcasgd(0.05, lamda=0.5))),
]


def parameter(value=(1.0, -2, 0.5)):
    p = gluon.Parameter("w", shape=(len(value),), dtype="float64")
    p.initialize(init.Constant(numpy.array(value)))
    return p


def back(p):
    """Gradients 2 * w + 1."""
    with autograd.record():
        y = (p.data() * (p.data() + 1)).sum()
    y.backward()


@pytest.mark.parametrize("name, arguments, expected", OPTIMIZERS)
def test_optimizers(name, arguments, expected, tmp_path):
    p = parameter()
    trainer = gluon.Trainer([p], name, arguments)
    for values in expected[:3]:
        back(p)
        trainer.step(1)
        close(p.data(), values, 1e-9)
    trainer.save_states(tmp_path / "states")
    trainer = gluon.Trainer([p], optimizer.create(name, **arguments))
    trainer.load_states(tmp_path / "states")
    for values in expected[3:]:
        back(p)
        trainer.step(1)
        close(p.data(), values, 1e-9)


def test_rates_by_norms_after_set_np():
    """What says whether a rate is scaled is no float32 then."""
    npx.set_np()
    try:
        p = parameter((1.0, -2, 0.5))
        back(p)
        gluon.Trainer([p], "lars", {"learning_rate": 9}).step(1)
    finally:
        npx.reset_np()
    w, g = numpy.array([1.0, -2, 0.5]), numpy.array([3.0, -3, 2])
    close(p.data(), w - 9 * 0.001 * numpy.linalg.norm(w) / (numpy.linalg.norm(g) + 1e-8) * g)


def test_langevin_dynamics():
    p = gluon.Parameter("w", shape=(4000,), dtype="float64")
    p.initialize(init.Constant(3))
    trainer = gluon.Trainer([p], "sgld", {"learning_rate": 0.04, "wd": 1})
    back(p)
    trainer.step(1)
    w = p.data().asnumpy()
    assert abs(w.mean() - (3 - 0.02 * (7 + 3))) < 0.02 and abs(w.std() - 0.2) < 0.02


def test_states_of_something_else(tmp_path):
    p = parameter()
    trainer = gluon.Trainer([p], "adam")
    back(p)
    trainer.step(1)
    trainer.save_states(tmp_path / "states")
    for other, name in ((gluon.Trainer([p], "sgd"), "SGD"), (gluon.Trainer([parameter((1.0, 2))], "adam"), "Adam")):
        with pytest.raises(ValueError, match=f"does not have the states of {name}"):
            other.load_states(tmp_path / "states")


@pytest.mark.parametrize("precise", [False, True])
def test_half_precision_adds_up_small_steps(precise, tmp_path):
    p = parameter((1.0, -2, 0.5))
    p.cast("float16")
    for _ in range(2):                          # the second goes on where the first has ended
        trainer = gluon.Trainer([p], "sgd", {"learning_rate": 1e-4, "momentum": 0.0, "multi_precision": precise})
        if (tmp_path / "states").exists():
            trainer.load_states(tmp_path / "states")
        for _ in range(20):
            back(p)
            p.grad()[:] = -1
            trainer.step(1)
        trainer.save_states(tmp_path / "states")
    assert p.data().dtype == "float16"
    close(p.data()[0], 1.004 if precise else 1.0, 1e-3 / 2)


def test_rates():
    p, q = parameter(), parameter()
    p.lr_mult, p.wd_mult = 0.5, 0
    trainer = gluon.Trainer({"p": p, "q": q}, "sgd", {"learning_rate": 0.1, "wd": 1.0})
    trainer.set_learning_rate(0.2)
    assert trainer.learning_rate == 0.2
    for each in (p, q):
        back(each)
    trainer.step(2)
    w = numpy.array([1, -2, 0.5])
    close(p.data(), w - 0.1 * (w + 0.5))
    close(q.data(), w - 0.2 * (w + 0.5 + w))
    rates = lr_scheduler.FactorScheduler(1, 0.5, base_lr=0.8)
    trainer = gluon.Trainer([p], "sgd", {"lr_scheduler": rates})
    found = []
    for _ in range(3):
        back(p)
        trainer.step(1)
        found.append(trainer.learning_rate)
    assert found == [0.8, 0.4, 0.2]
    with pytest.raises(UserWarning, match="has already been defined"):
        trainer.set_learning_rate(1)


def test_stale_gradients():
    p, q = parameter(), parameter()
    trainer = gluon.Trainer([p, q], "sgd", {"learning_rate": 0.5})
    back(p)
    with pytest.raises(UserWarning, match=r"the gradient of w, of shape \(3,\), has not been updated"):
        trainer.step(1)
    trainer.step(1, ignore_stale_grad=True)
    assert p.data().tolist() == [-0.5] * 3 and q.data().tolist() == [1, -2, 0.5]
    with pytest.raises(UserWarning):
        trainer.step(1)
    q.grad_req = "null"
    back(p)
    trainer.allreduce_grads()
    trainer.update(1)


def test_added_gradients():
    p = parameter()
    p.grad_req = "add"
    back(p)
    back(p)
    assert p.grad().tolist() == [6, -6, 4]
    gluon.Trainer([p], "sgd", {"learning_rate": 0.5}).step(2)
    assert p.data().tolist() == [-0.5, -0.5, -0.5] and p.grad().tolist() == [6, -6, 4]
    p.zero_grad()
    assert p.grad().tolist() == [0] * 3


def test_several_devices():
    x, y = np.array(numbers(7, 4)), np.array(numbers(7))
    loss, found = gluon.loss.L2Loss(), []
    for devices in ([npx.cpu()], [npx.cpu(0), npx.cpu(1)]):
        net = nn.Dense(1)
        net.initialize(init.One(), ctx=devices)
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        for _ in range(3):
            with autograd.record():
                parts = zip(gluon.utils.split_and_load(x, devices, even_split=False),
                            gluon.utils.split_and_load(y, devices, even_split=False))
                losses = [loss(net(a), b) for a, b in parts]
            for each in losses:
                each.backward()
            trainer.step(7)
        found.append(net.weight.data().asnumpy())
        assert net.weight.list_ctx() == devices and len(net.weight.list_grad()) == len(devices)
    close(*found)
    with pytest.raises(ValueError):
        net.reset_ctx(npx.gpu())


# -- stores ----------------------------------------------------------------------------------------


class Telling(kvstore.KVStoreBase):
    """A store that notes what it is asked, and has `factor` times the sum for an answer."""

    type, rank, num_workers = "telling", 0, 1

    def __init__(self, factor=1.0):
        self.factor, self.calls, self.optimizer = factor, [], None

    def is_capable(self, capability):
        return capability == "optimizer" and self.factor is None

    def set_optimizer(self, optimizer):
        self.optimizer = optimizer

    def broadcast(self, key, value, out, priority=0):
        self.calls.append(("broadcast", key))
        for x in out:
            value.copyto(x)

    def pushpull(self, key, value, out=None, priority=0):
        self.calls.append(("pushpull", key, priority))
        total = sum(x.as_in_ctx(value[0].ctx) for x in value)
        if self.factor is None:                     # it changes parameters: by the sum itself
            for x in out:
                x -= total.as_in_ctx(x.ctx) * self.optimizer.rescale_grad
        else:
            for x in value if out is None else out:
                (total * self.factor).copyto(x)


def two_parameters(devices):
    found = [gluon.Parameter(name, shape=(2,)) for name in "vw"]
    for p in found:
        p.initialize(init.One(), ctx=devices)
    found[1].grad_req = "null"
    return found


def back_everywhere(p):
    with autograd.record():
        losses = [(x * (k + 1)).sum() for k, x in enumerate(p.list_data())]
    autograd.backward(losses)


@pytest.mark.parametrize("devices", [[npx.cpu(0)], [npx.cpu(1), npx.cpu(2)]])
def test_a_store_of_a_programs_own_sums(devices):
    v, w = two_parameters(devices)
    store = Telling(10.0)
    trainer = gluon.Trainer([v, w], "sgd", {"learning_rate": 0.5}, kvstore=store)
    assert store.calls == []
    total = 3 if len(devices) == 2 else 1
    for k in range(2):
        back_everywhere(v)
        trainer.step(2)
        assert [x.tolist() for x in v.list_grad()] == [[10 * total] * 2] * len(devices)
        assert [x.tolist() for x in v.list_data()] == [[1 - 2.5 * (k + 1) * total] * 2] * len(devices)
    assert store.calls == [("broadcast", 0), ("broadcast", 1), ("pushpull", 0, 0), ("pushpull", 0, 0)]
    assert store.optimizer is None
    w.set_data(np.zeros(2))                         # which the store is told
    back_everywhere(v)
    trainer.allreduce_grads()
    trainer.update(2)
    assert store.calls[4:] == [("broadcast", 1), ("pushpull", 0, 0)]
    with pytest.raises(UserWarning, match="the gradient of v"):
        trainer.step(2)


@pytest.mark.parametrize("devices", [[npx.cpu(0)], [npx.cpu(1), npx.cpu(2)]])
def test_a_store_with_an_optimizer_changes_parameters(devices, tmp_path):
    v, w = two_parameters(devices)
    store = Telling(None)
    trainer = gluon.Trainer([v, w], "sgd", kvstore=store)
    back_everywhere(v)
    trainer.step(2)
    assert store.optimizer is trainer.optimizer
    total = 3 if len(devices) == 2 else 1
    assert [x.tolist() for x in v.list_data()] == [[1 - total / 2] * 2] * len(devices)
    with pytest.raises(UserWarning, match="the gradient of v"):
        trainer.step(2)
    trainer.step(2, ignore_stale_grad=True)
    for call in (trainer.allreduce_grads, lambda: trainer.update(1)):
        with pytest.raises(RuntimeError, match="update_on_kvstore=False"):
            call()
    with pytest.raises(NotImplementedError, match=r"Telling has no save_optimizer_states\(\)"):
        trainer.save_states(tmp_path / "states")
    kept = gluon.Trainer([v, w], "sgd", {"learning_rate": 1}, kvstore=store, update_on_kvstore=False)
    store.factor = 1.0
    back_everywhere(v)
    kept.step(1)
    assert v.data(devices[-1]).tolist() == [1 - total - total] * 2


@pytest.mark.parametrize("on_store", [False, True])
def test_our_store_trains_as_the_trainer_does(on_store, tmp_path):
    found = []
    for store in (None, kvstore.create("device")):
        p = parameter((1.0, -2, 0.5))
        for _ in range(2):                          # the second goes on where the first has ended
            trainer = gluon.Trainer([p], "adam", {"learning_rate": 0.1}, kvstore=store,
                                    update_on_kvstore=on_store if store is not None else None)
            if (tmp_path / f"{store}").exists():
                trainer.load_states(tmp_path / f"{store}")
            for _ in range(3):
                back(p)
                trainer.step(1)
            trainer.save_states(tmp_path / f"{store}")
        found.append(p.data().tolist())
        p.set_data(np.zeros(3))                     # also where the store has the last word
        back(p)
        trainer.step(1)
        found.append(p.data().tolist())
    assert found[:2] == found[2:]


def test_parameters_that_a_store_learns_of_later():
    net, store = nn.Dense(1), Telling()
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", kvstore=store)
    with pytest.raises(gluon.parameter.DeferredInitializationError):
        trainer.step(1)
    assert store.calls == [("broadcast", 1)]                # the bias
    with autograd.record():
        y = net(np.ones((1, 3), "float32")).sum()
    y.backward()
    trainer.step(1)
    assert store.calls[1:] == [("broadcast", 0), ("pushpull", 0, 0), ("pushpull", 1, -1)]


def test_stores_by_name():
    @kvstore.KVStoreBase.register
    class OwnStore(kvstore.TestStore):
        pass

    try:
        assert type(kvstore.create("ownSTORE")) is OwnStore
        v, w = two_parameters([npx.cpu(0), npx.cpu(1)])
        back_everywhere(v)
        gluon.Trainer([v, w], "sgd", {"learning_rate": 1}, kvstore="ownstore").step(1)
        assert [x.tolist() for x in v.list_data()] == [[-2, -2]] * 2
        with pytest.warns(UserWarning, match="'ownstore' already"):
            assert kvstore.KVStoreBase.register(OwnStore) is OwnStore
    finally:
        del kvstore.KVStoreBase.kv_registry["ownstore"]
    with pytest.raises(ValueError, match="'ownstore'; there are 'local', .* 'teststore'"):
        kvstore.create("OwnStore")
    with pytest.raises(TypeError, match="a string"):
        kvstore.create(7)


def test_what_stores_lack():
    store = kvstore.create("teststore")
    assert (store.type, store.rank, store.num_workers) == ("teststore", 0, 1)
    assert not type(store).is_capable("optimizer")
    with pytest.raises(ValueError, match="capability"):
        store.is_capable("compression")
    for call in (lambda: store.set_optimizer(optimizer.SGD()), lambda: store.save_optimizer_states("x"),
                 lambda: store.load_optimizer_states("x"), lambda: kvstore.KVStoreBase().rank,
                 lambda: kvstore.KVStoreBase().type, lambda: kvstore.KVStoreBase().num_workers,
                 lambda: kvstore.KVStoreBase().pushpull(1, 2), lambda: kvstore.KVStoreBase().broadcast(1, 2, 3),
                 lambda: kvstore.KVStoreBase().is_capable("optimizer")):
        with pytest.raises(NotImplementedError, match="has no"):
            call()
    with pytest.raises(ValueError, match="the store has no optimizer"):
        kvstore.create().save_optimizer_states("x")
    trainer = gluon.Trainer([parameter()], "sgd", kvstore=store, update_on_kvstore=True)
    with pytest.raises(ValueError, match="TestStore runs no optimizer"):
        trainer.step(1)


def test_updaters_of_lists():
    update = optimizer.get_updater(optimizer.SGD(learning_rate=0.5, momentum=0.9))
    v, w = np.ones(2), np.ones(3)
    update([0, 1], [np.ones(2), np.ones(3)], [v, w])
    update(1, np.ones(3), w)
    assert v.tolist() == [0.5] * 2 and sorted(update.states) == [0, 1]
    close(w, numpy.full(3, 0.5 - 0.5 - 0.45))


def test_arguments_of_trainers():
    p = parameter()
    for arguments, text in (((p.data(), "sgd"), "params must be parameters"), (([p], "gsd"), "no optimizer is called"),
                            (([p], "sgd", {}, "dist"), "no key-value store is called 'dist'"),
                            (([p], "sgd", {}, 7), "kvstore must be a name or"),
                            (([p], optimizer.SGD(), {"wd": 1}), "optimizer_params must be None")):
        with pytest.raises((TypeError, ValueError), match=text):
            gluon.Trainer(*arguments)

    @optimizer.register
    class Mine(optimizer.Optimizer):
        def rates(self, lr, wd, t):
            return lr, t

        def change(self, weight, grad, state, wd, lr, t):
            weight[:] = t

    @optimizer.register
    class Older(optimizer.Optimizer):
        def update(self, index, weight, grad, state):
            weight[:] = 10 + index

    @optimizer.register
    class Stepping(optimizer.Optimizer):
        """As MXNet 2's: it does all itself."""

        def step(self, indices, weights, grads, states):
            for index, weight, grad in zip(indices, weights, grads):
                self._update_count(index)
                lr, wd, t = self._get_lr(index), self._get_wd(index), self._index_update_count[index]
                weight[:] = lr * 100 * t + wd + 0 * grad * self.rescale_grad

    for name, expected in (("mine", [1, 2, 3]), ("older", [10, 10, 10]), ("stepping", [1, 2, 3])):
        trainer = gluon.Trainer([p], name)
        for value in expected:
            back(p)
            trainer.step(1)
            assert p.data().tolist() == [value] * 3 and trainer.learning_rate == 0.01


def test_utils():
    x = np.arange(10).reshape(5, 2)
    assert [part.shape for part in gluon.utils.split_data(x, 2, even_split=False)] == [(3, 2), (2, 2)]
    for count, text in ((2, "even_split=False"), (6, "cannot be cut into 6")):
        with pytest.raises(ValueError, match=text):
            gluon.utils.split_data(x, count, even_split=count == 2)
    arrays = [np.array([3.0, 0]), np.array([[4.0]], np.float32)]
    assert gluon.utils.clip_global_norm(arrays, 10) == 5.0
    assert gluon.utils.clip_global_norm(arrays, 1, check_isfinite=False).tolist() == 5
    close(arrays[0], [0.6, 0])
    close(arrays[1], [[0.8]])
    with pytest.warns(UserWarning, match="nan or inf"):
        gluon.utils.clip_global_norm([np.array([numpy.nan])], 1)


def test_files_that_are_fetched(tmp_path, monkeypatch):
    (tmp_path / "source").mkdir()
    source, target = tmp_path / "source" / "a.txt", tmp_path / "other" / "b.txt"
    source.write_bytes(b"abc")
    sha1 = "a9993e364706816aba3e25717850c26c9cd0d89d"
    assert gluon.utils.check_sha1(source, sha1) and not gluon.utils.check_sha1(source, sha1[::-1])
    assert gluon.utils.download(source.as_uri(), str(target), sha1_hash=sha1) == str(target)
    monkeypatch.chdir(tmp_path)
    assert gluon.utils.download(source.as_uri()) == "a.txt"
    source.write_bytes(b"new")
    for arguments, text in (({}, b"abc"), ({"sha1_hash": sha1}, b"abc"), ({"overwrite": True}, b"new")):
        assert gluon.utils.download(source.as_uri(), tmp_path, **arguments) == str(tmp_path / "a.txt")
        assert (tmp_path / "a.txt").read_bytes() == text
    with pytest.raises(OSError, match="has not the SHA-1"):
        gluon.utils.download(source.as_uri(), tmp_path, sha1_hash=sha1, retries=1)
    with pytest.raises(OSError, match="nothing"):
        gluon.utils.download((tmp_path / "nothing").as_uri(), retries=0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "other", "source"]
