"""gluon.contrib.estimator: the loops of training and evaluation, and the handlers of what happens on the way."""

import io
import math
import os
import re

import numpy
import pytest

import dflow.numpy as np
from dflow import autograd, gluon, init, npx
from dflow.gluon.contrib import estimator as es
from dflow.gluon.contrib.estimator import Estimator

pytestmark = pytest.mark.once            # see pyproject.toml


def loader(samples=32, size=8):
    rng = numpy.random.default_rng(1)
    x = rng.standard_normal((samples, 5)).astype("f4")
    return gluon.data.DataLoader(gluon.data.ArrayDataset(np.array(x), np.array((x.sum(1) > 0).astype("f4"))), size)


def network():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(8, activation="tanh", in_units=5), gluon.nn.Dense(2, in_units=8))
    np.random.seed(3)
    net.initialize(init.Xavier())
    return net


def made(net=None, rate=0.5, **keywords):
    """An estimator whose log is kept."""
    net = network() if net is None else net
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rate, "momentum": 0.9})
    est = Estimator(net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer, **keywords)
    est.logger.handlers[0].setStream(io.StringIO())
    return est


def log_of(est):
    return est.logger.handlers[0].stream.getvalue()


def test_training_as_a_loop_by_hand():
    est, net, data = made(), network(), loader()
    est.fit(data, epochs=3)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5, "momentum": 0.9})
    loss, right, total = gluon.loss.SoftmaxCrossEntropyLoss(), 0, 0
    for epoch in range(3):
        for x, y in data:
            with autograd.record():
                out = net(x)
                each = loss(out, y)
            each.backward()
            trainer.step(len(x))
            if epoch == 2:
                right, total = right + (out.argmax(1) == y).sum().item(), total + len(x)
    for ours, theirs in zip(est.net.collect_params().values(), net.collect_params().values(), strict=True):
        assert (ours.data() == theirs.data()).all()
    accuracy, mean = est.train_metrics
    assert accuracy.get() == ("training accuracy", right / total) and mean.get()[0].startswith("training softmax")
    assert re.search(r"\[Epoch 2\] Finished in \d+\.\d+s, training accuracy: \d\.\d{4}, training softmax", log_of(est))


def test_evaluation():
    est, data = made(), loader(20)
    est.fit(loader(), val_data=data, epochs=2)
    (name, value), (_, loss) = (metric.get() for metric in est.val_metrics)
    with autograd.predict_mode():
        right = sum((est.net(x).argmax(1) == y).sum().item() for x, y in data)
    assert name == "validation accuracy" and value == right / 20 and loss > 0
    before = [p.data().copy() for p in est.net.collect_params().values()]
    est.evaluate(data)
    assert est.val_metrics[0].get() == (name, value)
    assert all((p.data() == old).all() for p, old in zip(est.net.collect_params().values(), before))


@pytest.mark.parametrize("limit, batches, epochs", [
    ({"epochs": 2}, 8, 2), ({"batches": 6}, 6, 2), ({"batches": 4}, 4, 1)])
def test_limits(limit, batches, epochs):
    est, stop = made(), es.StoppingHandler()
    est.fit(loader(), event_handlers=[stop], **limit)
    assert (stop.current_batch, stop.current_epoch) == (batches, epochs)
    est.fit(loader(), event_handlers=stop, **limit)
    assert (stop.current_batch, stop.current_epoch) == (batches, epochs)


def test_handlers_of_ones_own_in_their_order():
    calls = []

    class Noting(es.TrainBegin, es.TrainEnd, es.EpochBegin, es.EpochEnd, es.BatchBegin, es.BatchEnd):
        def __init__(self, name, priority, stop=None):
            self.name, self.priority, self.stop = name, priority, stop

        def batch_end(self, estimator, *, batch, label, pred, loss):
            calls.append((self.name, "batch_end", len(label), pred[0].shape, loss[0].shape))
            return len(calls) == self.stop

    for event in ("train_begin", "epoch_begin", "batch_begin", "epoch_end", "train_end"):
        setattr(Noting, event, lambda self, estimator, event=event, **what: calls.append((self.name, event)))
    made().fit(loader(8, 4), event_handlers=[Noting("late", 5), Noting("early", -5, 19)], epochs=5)
    order = [call[:2] for call in calls]
    assert order[:8] == [(name, event) for event in ("train_begin", "epoch_begin", "batch_begin", "batch_end")
                         for name in ("early", "late")]
    assert calls[6] == ("early", "batch_end", 1, (4, 2), (4,))
    assert order[18:] == [(name, event) for event in ("batch_end", "epoch_end", "train_end")
                          for name in ("early", "late")]


@pytest.mark.parametrize("metric, mode, epochs", [("accuracy", "min", 2), ("loss", "max", 2), ("loss", "min", 4),
                                                  ("accuracy", "auto", None)])
def test_stopping_early(metric, mode, epochs):
    est = made(rate=0.01)
    watched = est.train_metrics[0 if metric == "accuracy" else 1]
    handler = es.EarlyStoppingHandler(watched, mode=mode)
    est.fit(loader(), event_handlers=[handler], epochs=4)
    if epochs is not None:
        assert handler.current_epoch == epochs and handler.stop_training == (epochs < 4)
        assert ("early stopping due to" in log_of(est)) == (epochs < 4)
    patient = es.EarlyStoppingHandler(watched, mode="min" if metric == "accuracy" else "max", patience=3, baseline=None)
    est.fit(loader(), event_handlers=[patient], epochs=9)
    assert 3 <= patient.current_epoch <= 9
    never = es.EarlyStoppingHandler(watched, min_delta=1e9, patience=2, baseline=0.0)
    est.fit(loader(), event_handlers=[never], epochs=9)
    assert never.current_epoch == 2 and never.best == 0


def test_checkpoints(tmp_path):
    est, data = made(), loader()
    handler = es.CheckpointHandler(tmp_path / "new", "net", monitor=est.train_metrics[0], save_best=True,
                                   max_checkpoints=2)
    est.fit(data, event_handlers=[handler], epochs=4)
    names = {"net-epoch2batch12", "net-epoch3batch16", "net-best"}
    assert set(os.listdir(tmp_path / "new")) == {f"{name}.{end}" for name in names for end in ("params", "states")}
    other = network()
    other.load_parameters(tmp_path / "new" / "net-epoch3batch16.params")
    assert (other[0].weight.data() == est.net[0].weight.data()).all() and 0 < handler.best <= 1
    with pytest.warns(UserWarning, match="has checkpoints of 'net', which may be written over"):
        est.fit(data, event_handlers=[es.CheckpointHandler(tmp_path / "new", "net")], epochs=1)


def test_checkpoints_within_epochs_and_the_program(tmp_path):
    net = network()
    net.hybridize()
    est = made(net)
    handler = es.CheckpointHandler(tmp_path, "net", epoch_period=None, batch_period=2, max_checkpoints=2)
    est.fit(loader(), event_handlers=[handler], batches=10)
    assert {f"net-{name}.params" for name in ("epoch1batch7", "epoch2batch9")} == {
        name for name in os.listdir(tmp_path) if name.endswith(".params")}
    block = gluon.SymbolBlock.imports(tmp_path / "net-symbol.json", "data", tmp_path / "net-epoch2batch9.params")
    x = np.ones((3, 5), dtype="float32")
    assert (block(x) == net(x)).all()


@pytest.mark.parametrize("limits, more", [({"epochs": 2}, {"epochs": 5}), ({"batches": 6}, {"batches": 10})])
@pytest.mark.parametrize("set_np", [False, True])
def test_going_on_from_a_checkpoint(tmp_path, limits, more, set_np):
    """The same as without a break, with the momentum that there was."""
    if set_np:
        npx.set_np()
    try:
        periods = {} if "epochs" in limits else {"epoch_period": None, "batch_period": 2}
        whole, first, second = made(), made(), made()
        data = loader(8, 8) if "batches" in limits else loader()            # an epoch begins with its first batch
        whole.fit(data, **more)
        first.fit(data, event_handlers=[es.CheckpointHandler(tmp_path, **periods)], **limits)
        handler = es.CheckpointHandler(tmp_path, resume_from_checkpoint=True, **periods)
        second.fit(data, event_handlers=[handler], **more)
        assert (second.max_epoch or second.max_batch) == (3 if "epochs" in limits else 4)
        assert (second.net[0].weight.data() == whole.net[0].weight.data()).all()
        with pytest.raises(ValueError, match="has been trained as long as is asked for"):
            second.fit(data, event_handlers=[handler], **limits)
    finally:
        npx.reset_np()
    with pytest.warns(UserWarning, match="has no checkpoint of 'other': training begins anew"):
        handler = es.CheckpointHandler(tmp_path, "other", resume_from_checkpoint=True)
        made().fit(data, event_handlers=[handler], epochs=1)


def test_logs_within_epochs():
    est = made()
    est.fit(loader(32, 4), event_handlers=[es.LoggingHandler(3, est.train_metrics[:1])], epochs=2)
    lines = re.findall(r"\[Epoch (\d)\]\[Batch (\d)\]\[Samples (\d+)\] time/interval: \d+\.\d+s training accuracy: ",
                       log_of(est))
    assert lines == [(str(e), str(b), str(32 * e + 4 * b + 4)) for e in range(2) for b in (0, 3, 6)]


def test_several_devices_and_another_net_for_validation():
    net = network()
    net.reset_ctx([npx.cpu(1), npx.cpu(2)])
    est = made(net, device=[npx.cpu(1), npx.cpu(2)])
    est.fit(loader(), val_data=loader(7, 7), epochs=1)
    alone = made()
    alone.fit(loader(), epochs=1)
    ours, theirs = (each.net[0].weight.data(device).asnumpy() for each, device in ((est, npx.cpu(1)), (alone, None)))
    numpy.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
    twin = network().share_parameters(alone.net.collect_params())
    other = made(alone.net, val_net=twin, val_loss=gluon.loss.SoftmaxCrossEntropyLoss(weight=2.0))
    other.evaluate(loader())
    alone.evaluate(loader())
    assert math.isclose(other.val_metrics[1].get()[1], 2 * alone.val_metrics[1].get()[1], rel_tol=1e-5)


def test_what_is_given_where_nothing_is():
    net = gluon.nn.Dense(2)
    with pytest.warns(UserWarning, match="No trainer specified"):
        est = Estimator(net, gluon.loss.L2Loss(), initializer=init.Constant(3))
    est.logger.handlers[0].setStream(io.StringIO())
    net(np.ones((1, 5), dtype="float32"))
    assert (net.weight.data() == 3).all() and est.trainer.learning_rate == 0.001
    assert [metric.name for metric in est.train_metrics] == ["training l2loss"]
    with pytest.warns(UserWarning, match="Network already fully initialized"):
        made(initializer=init.Zero())


BAD = {
    "loss must be one of gluon.loss, not 'mse'": lambda: Estimator(network(), "mse"),
    "metrics must be metrics of gluon.metric, not 'acc'": lambda: made(train_metrics="acc"),
    "device must be a device or a list of them, not 'cpu'": lambda: made(device="cpu"),
    r"gpu\(100\) does not exist": lambda: made(device=[npx.gpu(100)]),
    "batch_processor must have the method fit_batch": lambda: made(batch_processor=3),
    "trainer must be a gluon.Trainer, not 'sgd'":
        lambda: Estimator(network(), gluon.loss.L2Loss(), trainer="sgd"),
    "train_data must be a gluon.data.DataLoader, not list": lambda: made().fit([1], epochs=1),
    "val_data must be a gluon.data.DataLoader, not list": lambda: made().fit(loader(), [1], epochs=1),
    "needs a number of epochs or of batches, and not both": lambda: made().fit(loader()),
    "event_handlers must be handlers, not 3": lambda: made().fit(loader(), epochs=1, event_handlers=3),
    "LoggingHandler looks at 'rmse', which is no metric of the estimator's": lambda: made().fit(
        loader(), epochs=1, event_handlers=es.LoggingHandler(metrics=gluon.metric.RMSE())),
    "log_interval must be 'epoch' or a number of batches, not 0": lambda: es.LoggingHandler(0),
    "batch_period must be None or at least 1, not 0": lambda: es.CheckpointHandler("x", batch_period=0),
    "save_best needs a metric as monitor": lambda: es.CheckpointHandler("x", save_best=True),
    "mode must be 'min', 'max' or 'auto', not 'up'":
        lambda: es.EarlyStoppingHandler(gluon.metric.RMSE(), mode="up"),
    "monitor must be a metric, one that the estimator has, not 'acc'": lambda: es.EarlyStoppingHandler("acc"),
}


@pytest.mark.parametrize("text", BAD)
def test_refused(text):
    with pytest.raises(ValueError, match=text):
        BAD[text]()


@pytest.mark.parametrize("limit", [{"epochs": 0}, {"batches": 0}, {"epochs": 1.5}, {"epochs": -1}])
def test_limits_that_are_none(limit):
    with pytest.raises(ValueError, match=f"must be a whole one, 1 at least, not {next(iter(limit.values()))}"):
        made().fit(loader(), **limit)
