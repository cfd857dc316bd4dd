"""Estimator: a net, its loss, metrics and trainer, and the loops of training and evaluation."""

import copy
import logging
import numbers
import re
import sys
import warnings

from dflow import init
from dflow import numpy as np
from dflow.devices import Device, current_device
from dflow.gluon import metric as metrics_of
from dflow.gluon.contrib.estimator.batch_processor import BatchProcessor
from dflow.gluon.contrib.estimator.event_handler import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
    as_metrics,
)
from dflow.gluon.data import DataLoader
from dflow.gluon.loss import Loss, SoftmaxCrossEntropyLoss
from dflow.gluon.trainer import Trainer

__all__ = ["Estimator"]


def __dir__():
    return sorted(__all__)


EVENTS = {"train_begin": TrainBegin, "epoch_begin": EpochBegin, "batch_begin": BatchBegin, "batch_end": BatchEnd,
          "epoch_end": EpochEnd, "train_end": TrainEnd}


class Estimator:
    """Trains and evaluates a net: fit(), evaluate().

    fit(train_data, val_data, epochs or batches, event_handlers) goes over the batches of a DataLoader, trains with
    each, and calls handlers of what happens on the way. Those that it always has, unless others of the kind are given,
    count epochs (StoppingHandler), change the parameters (GradientUpdateHandler), update metrics (MetricHandler),
    evaluate after each epoch (ValidationHandler, where there is val_data) and write to `logger`, which is standard
    output (LoggingHandler). evaluate(val_data) computes `val_metrics`.

    Parameters
    ----------
    net : Block
        What is trained.
    loss : Loss
        One of gluon.loss.
    train_metrics : EvalMetric or list of EvalMetric, optional
        The metrics of training: by default Accuracy for SoftmaxCrossEntropyLoss, else none; the loss is one besides.
    val_metrics : EvalMetric or list of EvalMetric, optional
        Those of evaluation: by default copies of the former.
    initializer : Initializer, optional
        For parameters without values: init.Uniform() by default.
    trainer : Trainer, optional
        By default SGD with a learning rate of 0.001, with a warning.
    context : Device or list of Device, optional
        The older name of `device`.
    device : Device or list of Device, optional
        Where the batches are computed, a part of each on each device: the current device by default.
    val_net : Block, optional
        For evaluation, if it is another net.
    val_loss : Loss, optional
        For evaluation, if it is another loss.
    batch_processor : BatchProcessor, optional
        Has fit_batch() and evaluate_batch(): what is computed of each batch.

    Raises
    ------
    ValueError
        For a loss, metric, device, trainer or batch_processor that is none. By fit(), for data that are no DataLoader,
        unless either epochs or batches are given, 1 at least, and for handlers that are none or look at a metric that
        nobody updates.

    Examples
    --------
    >>> from dflow.gluon.contrib.estimator import Estimator
    >>> net, x = gluon.nn.Dense(1, use_bias=False), np.arange(8.0).reshape(8, 1)
    >>> net.initialize(init.Zero())
    >>> loader = gluon.data.DataLoader(gluon.data.ArrayDataset(x, 3 * x), batch_size=4)
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.02})
    >>> est = Estimator(net, gluon.loss.L2Loss(), gluon.metric.MSE(), trainer=trainer)
    >>> est.logger.setLevel("WARNING")
    >>> est.fit(loader, epochs=20)
    >>> print(net.weight.data().round(3), est.train_metrics[0].get()[0])
    [[3.]] training mse
    """

    def __init__(self, net, loss, train_metrics=None, val_metrics=None, initializer=None, trainer=None, context=None,
                 device=None, val_net=None, val_loss=None, batch_processor=None):
        self.net, self.loss = net, self._check_loss(loss)
        self.val_net = net if val_net is None else val_net
        self.val_loss = self.loss if val_loss is None else self._check_loss(val_loss)
        self.device = self.context = self._check_devices(context if device is None else device)
        self._train_metrics, self._val_metrics = as_metrics(train_metrics), as_metrics(val_metrics)
        self.logger = logging.Logger("Estimator", logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.batch_processor = BatchProcessor() if batch_processor is None else batch_processor
        for name in ("fit_batch", "evaluate_batch"):
            if not callable(getattr(self.batch_processor, name, None)):
                raise ValueError(f"batch_processor must have the method {name}()")
        self._add_metrics()
        self._initialize(initializer)
        self.trainer = self._check_trainer(trainer)
        self.max_epoch = self.max_batch = None
        self.batch_axis = 0

    # -- what it is made of --------------------------------------------------------------------

    @staticmethod
    def _check_loss(loss):
        if not isinstance(loss, Loss):
            raise ValueError(f"loss must be one of gluon.loss, not {loss!r}")
        return loss

    @staticmethod
    def _check_devices(device):
        found = [current_device()] if device is None else device
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        if not found or not all(isinstance(each, Device) for each in found):
            raise ValueError(f"device must be a device or a list of them, not {device!r}")
        for each in found:
            np.empty(0).as_in_ctx(each)             # its error
        return found

    def _add_metrics(self):
        """Losses as metrics, too; copies of the metrics of training for validation. Names say which they are."""
        if not self._train_metrics and isinstance(self.loss, SoftmaxCrossEntropyLoss):
            self._train_metrics = [metrics_of.Accuracy()]
        own = [metric for metric in self._train_metrics if not isinstance(metric, metrics_of.Loss)]
        for kind, metrics, loss in (("training", self._train_metrics, self.loss),
                                    ("validation", self._val_metrics, self.val_loss)):
            if kind == "validation" and not metrics:
                metrics += map(copy.deepcopy, own)
            if not any(isinstance(metric, metrics_of.Loss) for metric in metrics):
                metrics.append(metrics_of.Loss(re.sub(r"\d+$", "", loss.name)))
            for metric in metrics:
                metric.name = f"{kind} {metric.name.removeprefix('training ').removeprefix('validation ')}"

    def _initialize(self, initializer):
        """Values for parameters that have none."""
        parameters = self.net.collect_params()
        if all(p._data is not None or p._pending is not None for p in parameters.values()):
            if initializer is not None:
                warnings.warn("Network already fully initialized: the initializer is not used. "
                              "net.initialize(init, force_reinit=True) does it again", stacklevel=3)
            return
        for p in parameters.unique():
            if p._data is None and p._pending is None:
                p.initialize(None, self.device, init.Uniform() if initializer is None else initializer)

    def _check_trainer(self, trainer):
        if trainer is None:
            warnings.warn("No trainer specified: it is SGD with a learning rate of 0.001", stacklevel=3)
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ValueError(f"trainer must be a gluon.Trainer, not {trainer!r}")
        return trainer

    @property
    def train_metrics(self):
        """The metrics of training, the loss behind them."""
        return self._train_metrics

    @property
    def val_metrics(self):
        """Those of evaluation."""
        return self._val_metrics

    # -- loops ---------------------------------------------------------------------------------

    @staticmethod
    def _check_data(name, data):
        if not isinstance(data, DataLoader):
            raise ValueError(f"{name} must be a gluon.data.DataLoader, not {type(data).__name__}")

    def evaluate(self, val_data, batch_axis=0, event_handlers=None):
        """Compute the metrics of validation over a DataLoader: estimator.val_metrics have them afterwards."""
        self._check_data("val_data", val_data)
        handlers = _listed(event_handlers)
        for kind in (MetricHandler, LoggingHandler):
            if not any(isinstance(each, kind) for each in handlers):
                handlers.append(kind(metrics=self.val_metrics))
        events = dict(zip(EVENTS, self._categorize_handlers(_ordered(handlers))))
        _tell(events, "epoch_begin", self)
        for batch in val_data:
            _tell(events, "batch_begin", self, batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            _tell(events, "batch_end", self, batch=batch, label=label, pred=pred, loss=loss)
        _tell(events, "epoch_end", self)

    def fit(self, train_data, val_data=None, epochs=None, event_handlers=None, batches=None, batch_axis=0):
        """Train with the batches of a DataLoader, for so many epochs or batches, one of which must be given."""
        self._check_data("train_data", train_data)
        if val_data is not None:
            self._check_data("val_data", val_data)
        if (epochs is None) == (batches is None):
            raise ValueError("fit() needs a number of epochs or of batches, and not both")
        limit = batches if epochs is None else epochs
        if not isinstance(limit, numbers.Integral) or limit < 1:
            raise ValueError(f"the number of epochs or batches must be a whole one, 1 at least, not {limit!r}")
        self.max_epoch, self.max_batch, self.batch_axis = epochs, batches, batch_axis
        handlers = self._prepare_default_handlers(val_data, event_handlers)
        events = dict(zip(EVENTS, self._categorize_handlers(handlers)))
        _tell(events, "train_begin", self)
        stop = False
        while not stop:
            _tell(events, "epoch_begin", self)
            for batch in train_data:
                _tell(events, "batch_begin", self, batch=batch)
                _, label, pred, loss = self.batch_processor.fit_batch(self, batch, batch_axis)
                stop = _tell(events, "batch_end", self, batch=batch, label=label, pred=pred, loss=loss)
                if stop:
                    break
            stop |= _tell(events, "epoch_end", self)
        _tell(events, "train_end", self)

    def _prepare_default_handlers(self, val_data, event_handlers):
        """The handlers that fit() was given, and those that it always has, in their order."""
        handlers = _listed(event_handlers)
        self._check_handlers(handlers)
        defaults = [StoppingHandler(self.max_epoch, self.max_batch)]
        for kind, make in ((GradientUpdateHandler, GradientUpdateHandler),
                           (MetricHandler, lambda: MetricHandler(metrics=self.train_metrics)),
                           (ValidationHandler, lambda: ValidationHandler(val_data, self.evaluate)),
                           (LoggingHandler, lambda: LoggingHandler(metrics=self.train_metrics))):
            if not any(isinstance(each, kind) for each in handlers) and (
                    kind is not ValidationHandler or val_data is not None):
                defaults.append(make())
        return _ordered([*handlers, *defaults])       # one that goes on says how many epochs are left

    def _check_handlers(self, handlers):
        """ValueError for a handler that looks at a metric that nobody updates."""
        known = [*self.train_metrics, *self.val_metrics]
        known += [metric for each in handlers if isinstance(each, MetricHandler) for metric in each.metrics]
        for each in handlers:
            watched = [*getattr(each, "metrics", ()), getattr(each, "monitor", None)]
            for metric in watched:
                if isinstance(metric, metrics_of.EvalMetric) and not any(metric is other for other in known):
                    raise ValueError(f"{type(each).__name__} looks at {metric.name!r}, which is no metric of the "
                                     "estimator's, nor of a MetricHandler")

    def _categorize_handlers(self, event_handlers):
        """For each event the handlers that have it."""
        return tuple([each for each in event_handlers if isinstance(each, kind)] for kind in EVENTS.values())


def _listed(handlers):
    found = [] if handlers is None else handlers
    found = list(found) if isinstance(found, (list, tuple)) else [found]
    for each in found:
        if not isinstance(each, tuple(EVENTS.values())):
            raise ValueError(f"event_handlers must be handlers, not {each!r}")
    return found


def _ordered(handlers):
    return sorted(handlers, key=lambda each: getattr(each, "priority", 0))


def _tell(events, name, estimator, **what):
    """Call the handlers of an event; whether one of them ends the training."""
    return any([bool(getattr(handler, name)(estimator, **what)) for handler in events[name]])
