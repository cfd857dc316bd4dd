"""Handlers: objects with methods that an Estimator calls when something happens, those of low `priority` first."""

import math
import os
import re
import time
import warnings

from dflow.gluon.block import HybridBlock
from dflow.gluon.metric import CompositeEvalMetric, EvalMetric, Loss

__all__ = ["BatchBegin", "BatchEnd", "CheckpointHandler", "EarlyStoppingHandler", "EpochBegin", "EpochEnd",
           "EventHandler", "GradientUpdateHandler", "LoggingHandler", "MetricHandler", "StoppingHandler", "TrainBegin",
           "TrainEnd", "ValidationHandler"]


def __dir__():
    return sorted(__all__)


class EventHandler:
    """Base class of handlers: of what happens in the loops of an Estimator.

    A handler is of those classes whose events it wants: TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd,
    TrainEnd. Its methods are called with the estimator, and batches with what was computed of them. Those of low
    `priority`, an attribute, 0 where there is none, come first. It has no parameters.

    Examples
    --------
    >>> from dflow.gluon.contrib import estimator as es
    >>> class Count(es.EpochEnd, es.BatchEnd):
    ...     batches = 0
    ...     def batch_end(self, estimator, *args, **kwargs):
    ...         self.batches += 1
    ...     def epoch_end(self, estimator, *args, **kwargs):
    ...         return self.batches >= 6
    >>> isinstance(Count(), es.EventHandler)
    True
    """


_EVENT = """A handler with {method}(estimator, *args, **kwargs): it is called {when}.

It has no parameters. See EventHandler.

Examples
--------
>>> from dflow.gluon.contrib import estimator as es
>>> net = gluon.nn.Dense(1, in_units=2)
>>> net.initialize()
>>> loader = gluon.data.DataLoader(gluon.data.ArrayDataset(np.ones((8, 2)), np.ones((8, 1))), batch_size=4)
>>> trainer = gluon.Trainer(net.collect_params(), "sgd", {{"learning_rate": 0.1}})
>>> est = es.Estimator(net, gluon.loss.L2Loss(), gluon.metric.MSE(), trainer=trainer)
>>> est.logger.setLevel("WARNING")
>>> class Own(es.{kind}):
...     def {method}(self, estimator, *args, **kwargs):
...         print({says})
>>> est.fit(loader, batches=2, event_handlers=Own())
{said}
"""


class TrainBegin(EventHandler):
    __doc__ = _EVENT.format(
        kind="TrainBegin", method="train_begin", when="once, before all else", says='"we begin"', said="we begin")

    def train_begin(self, estimator, *args, **kwargs):
        """Called once, before all else."""


class TrainEnd(EventHandler):
    __doc__ = _EVENT.format(
        kind="TrainEnd", method="train_end", when="once, at the end", says='"that is all"', said="that is all")

    def train_end(self, estimator, *args, **kwargs):
        """Called once, at the end."""


class EpochBegin(EventHandler):
    __doc__ = _EVENT.format(
        kind="EpochBegin", method="epoch_begin", when="before each epoch", says='"an epoch"', said="an epoch")

    def epoch_begin(self, estimator, *args, **kwargs):
        """Called before each epoch."""


class EpochEnd(EventHandler):
    __doc__ = _EVENT.format(
        kind="EpochEnd", method="epoch_end", when="after each epoch; true ends the training",
        says="estimator.train_metrics[0].num_inst", said="8")

    def epoch_end(self, estimator, *args, **kwargs):
        """Called after each epoch; true ends the training."""
        return False


class BatchBegin(EventHandler):
    __doc__ = _EVENT.format(
        kind="BatchBegin", method="batch_begin", when="before each batch, with batch=",
        says='kwargs["batch"][0].shape', said="(4, 2)\n(4, 2)")

    def batch_begin(self, estimator, *args, **kwargs):
        """Called before each batch, with batch=."""


class BatchEnd(EventHandler):
    __doc__ = _EVENT.format(
        kind="BatchEnd", method="batch_end", says='kwargs["loss"][0].shape', said="(4,)\n(4,)",
        when="after each batch, with batch=, label=, pred=, loss=; true ends the training")

    def batch_end(self, estimator, *args, **kwargs):
        """Called after each batch, with batch=, label=, pred=, loss=; true ends the training."""
        return False


def as_metrics(metrics):
    """A metric, several or None, as a list. ValueError for anything else."""
    found = [] if metrics is None else metrics
    found = found.metrics if isinstance(found, CompositeEvalMetric) else found
    found = list(found) if isinstance(found, (list, tuple)) else [found]
    for metric in found:
        if not isinstance(metric, EvalMetric):
            raise ValueError(f"metrics must be metrics of gluon.metric, not {metric!r}")
    return found


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Ends the training after so many epochs, or batches: those that fit() was called for.

    fit() makes one of its own.

    Parameters
    ----------
    max_epoch : int, optional
        How many epochs. When the training begins, it becomes what fit() was called for.
    max_batch : int, optional
        How many batches; the same.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from dflow.gluon.contrib import estimator as es
    >>> handler = es.StoppingHandler()
    >>> handler.train_begin(SimpleNamespace(max_epoch=2, max_batch=None))
    >>> handler.epoch_end(None), handler.epoch_end(None)
    (False, True)
    """

    def __init__(self, max_epoch=None, max_batch=None):
        self.max_epoch, self.max_batch = max_epoch, max_batch
        self.current_epoch = self.current_batch = 0
        self.stop_training = False

    def train_begin(self, estimator, *args, **kwargs):
        self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch
        self.current_epoch = self.current_batch = 0
        self.stop_training = False

    def batch_end(self, estimator, *args, **kwargs):
        self.current_batch += 1
        self.stop_training |= self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator, *args, **kwargs):
        self.current_epoch += 1
        self.stop_training |= self.current_epoch == self.max_epoch
        return self.stop_training


class GradientUpdateHandler(BatchEnd):
    """Has the trainer change the parameters after each batch, by gradients over as many samples as there are losses.

    fit() makes one of its own, unless it is given one: a subclass may do it less often.

    Parameters
    ----------
    priority : int
        Handlers of a lower one are called before: by default most come after it.

    Examples
    --------
    >>> from dflow.gluon.contrib import estimator as es
    >>> net = gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> loader = gluon.data.DataLoader(gluon.data.ArrayDataset(np.ones((8, 2)), np.ones((8, 1))), batch_size=4)
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> est = es.Estimator(net, gluon.loss.L2Loss(), gluon.metric.MSE(), trainer=trainer)
    >>> est.logger.setLevel("WARNING")
    >>> class EverySecond(es.GradientUpdateHandler):
    ...     batch = 0
    ...     def batch_end(self, estimator, *args, **kwargs):
    ...         self.batch += 1
    ...         if self.batch % 2 == 0:
    ...             super().batch_end(estimator, *args, **kwargs)
    >>> est.fit(loader, batches=4, event_handlers=EverySecond())
    >>> est.trainer.optimizer.num_update
    2
    """

    def __init__(self, priority=-2000):
        self.priority = priority

    def batch_end(self, estimator, *args, **kwargs):
        loss = kwargs["loss"]
        estimator.trainer.step(sum(part.shape[0] for part in (loss if isinstance(loss, list) else [loss])))


class MetricHandler(EpochBegin, BatchEnd):
    """Begins metrics anew for each epoch, and updates them after each batch.

    fit() and evaluate() make one of their own, of the estimator's metrics, unless they are given one.

    Parameters
    ----------
    metrics : EvalMetric or list of EvalMetric
        The metrics. gluon.metric.Loss is given the losses, others labels and predictions.
    priority : int
        Handlers of a lower one are called before.

    Raises
    ------
    ValueError
        For what is no metric.

    Examples
    --------
    >>> from dflow.gluon.contrib import estimator as es
    >>> net = gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> loader = gluon.data.DataLoader(gluon.data.ArrayDataset(np.ones((8, 2)), np.ones((8, 1))), batch_size=4)
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> est = es.Estimator(net, gluon.loss.L2Loss(), gluon.metric.MSE(), trainer=trainer)
    >>> est.logger.setLevel("WARNING")
    >>> error = gluon.metric.MAE()
    >>> est.fit(loader, epochs=2, event_handlers=es.MetricHandler(error))
    >>> error.num_inst, error.get()[1] < 2
    (8, True)
    """

    def __init__(self, metrics, priority=-1000):
        self.metrics, self.priority = as_metrics(metrics), priority

    def epoch_begin(self, estimator, *args, **kwargs):
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator, *args, **kwargs):
        for metric in self.metrics:
            if isinstance(metric, Loss):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class _Periods(TrainBegin, BatchEnd, EpochEnd):
    """What is done every so many epochs, batches, or both; None: never."""

    def __init__(self, epoch_period, batch_period):
        for name, period in (("epoch_period", epoch_period), ("batch_period", batch_period)):
            if period is not None and (not isinstance(period, int) or period < 1):
                raise ValueError(f"{name} must be None or at least 1, not {period!r}")
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.current_epoch = self.current_batch = 0

    def train_begin(self, estimator, *args, **kwargs):
        self.current_epoch = self.current_batch = 0

    def batch_end(self, estimator, *args, **kwargs):
        self.current_batch += 1
        if self.batch_period and self.current_batch % self.batch_period == 0:
            self.due(estimator)

    def epoch_end(self, estimator, *args, **kwargs):
        self.current_epoch += 1
        if self.epoch_period and self.current_epoch % self.epoch_period == 0:
            self.due(estimator)


class ValidationHandler(_Periods):
    """Evaluates every so many epochs or batches.

    fit() makes one of its own, for its val_data, unless it is given one.

    Parameters
    ----------
    val_data : DataLoader
        What eval_fn is given.
    eval_fn : callable
        eval_fn(val_data=, batch_axis=, event_handlers=), as Estimator.evaluate.
    epoch_period : int, optional
        After how many epochs. None: not after epochs.
    batch_period : int, optional
        After how many batches. None: not after batches.
    priority : int
        Handlers of a lower one are called before.
    event_handlers : handler or list of handlers, optional
        What eval_fn is given.

    Raises
    ------
    ValueError
        For a period that is neither None nor at least 1.

    Examples
    --------
    >>> from dflow.gluon.contrib import estimator as es
    >>> net = gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> loader = gluon.data.DataLoader(gluon.data.ArrayDataset(np.ones((8, 2)), np.ones((8, 1))), batch_size=4)
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> est = es.Estimator(net, gluon.loss.L2Loss(), gluon.metric.MSE(), trainer=trainer)
    >>> est.logger.setLevel("WARNING")
    >>> est.fit(loader, epochs=2, event_handlers=es.ValidationHandler(loader, est.evaluate, batch_period=1))
    >>> est.val_metrics[0].name, est.val_metrics[0].num_inst
    ('validation mse', 8)
    """

    def __init__(self, val_data, eval_fn, epoch_period=1, batch_period=None, priority=-1000, event_handlers=None):
        super().__init__(epoch_period, batch_period)
        self.val_data, self.eval_fn, self.event_handlers, self.priority = val_data, eval_fn, event_handlers, priority

    def due(self, estimator):
        self.eval_fn(val_data=self.val_data, batch_axis=estimator.batch_axis, event_handlers=self.event_handlers)


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Writes times and metrics to the estimator's logger: after each epoch, or every so many batches.

    What it writes of metrics waits for them. fit() and evaluate() make one of their own, unless they are given one.

    Parameters
    ----------
    log_interval : int or 'epoch'
        After how many batches.
    metrics : EvalMetric or list of EvalMetric, optional
        Which are written.
    priority : float
        Handlers of a lower one are called before: by default all are.

    Raises
    ------
    ValueError
        For another log_interval, or for what is no metric.

    Examples
    --------
    >>> from dflow.gluon.contrib import estimator as es
    >>> net = gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> loader = gluon.data.DataLoader(gluon.data.ArrayDataset(np.ones((8, 2)), np.ones((8, 1))), batch_size=4)
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> est = es.Estimator(net, gluon.loss.L2Loss(), gluon.metric.MSE(), trainer=trainer)
    >>> est.fit(loader, epochs=1)
    Training begin: using optimizer SGD with current learning rate 0.1000
    Train for 1 epochs.
    [Epoch 0] Begin, current learning rate: 0.1000
    [Epoch 0] Finished in ...s, training mse: ..., training ...
    Train finished using total ...s with 1 epochs. training mse: ...
    """

    def __init__(self, log_interval="epoch", metrics=None, priority=math.inf):
        if log_interval != "epoch" and (not isinstance(log_interval, int) or log_interval < 1):
            raise ValueError(f"log_interval must be 'epoch' or a number of batches, not {log_interval!r}")
        self.metrics, self.priority, self.log_interval = as_metrics(metrics), priority, log_interval
        self._restart()

    def _restart(self):
        self.current_epoch = self.batch_index = self.processed_samples = 0
        self.log_interval_time = 0.0
        self._train_start = self._epoch_start = self._batch_start = time.perf_counter()

    def _metrics(self):
        return ", ".join(f"{name}: {value:.4f}" for name, value in (metric.get() for metric in self.metrics))

    def train_begin(self, estimator, *args, **kwargs):
        self._restart()
        estimator.logger.info("Training begin: using optimizer %s with current learning rate %.4f",
                              type(estimator.trainer.optimizer).__name__, estimator.trainer.learning_rate)
        if estimator.max_epoch is not None:
            estimator.logger.info("Train for %d epochs.", estimator.max_epoch)
        elif estimator.max_batch is not None:
            estimator.logger.info("Train for %d batches.", estimator.max_batch)

    def train_end(self, estimator, *args, **kwargs):
        estimator.logger.info("Train finished using total %ds with %d epochs. %s",
                              time.perf_counter() - self._train_start, self.current_epoch, self._metrics())

    def epoch_begin(self, estimator, *args, **kwargs):
        self._epoch_start = time.perf_counter()
        training = any("training" in metric.name for metric in self.metrics)
        estimator.logger.info("[Epoch %d] Begin, current learning rate: %.4f" if training or not self.metrics
                              else "Validation Begin", *([self.current_epoch, estimator.trainer.learning_rate]
                                                         if training or not self.metrics else []))

    def epoch_end(self, estimator, *args, **kwargs):
        estimator.logger.info("[Epoch %d] Finished in %.3fs, %s", self.current_epoch,
                              time.perf_counter() - self._epoch_start, self._metrics())
        self.current_epoch += 1
        self.batch_index = 0

    def batch_begin(self, estimator, *args, **kwargs):
        self._batch_start = time.perf_counter()

    def batch_end(self, estimator, *args, **kwargs):
        if self.log_interval == "epoch":
            return
        self.log_interval_time += time.perf_counter() - self._batch_start
        self.processed_samples += kwargs["batch"][0].shape[estimator.batch_axis]
        if self.batch_index % self.log_interval == 0:
            estimator.logger.info("[Epoch %d][Batch %d][Samples %d] time/interval: %.3fs %s", self.current_epoch,
                                  self.batch_index, self.processed_samples, self.log_interval_time, self._metrics())
            self.log_interval_time = 0.0
        self.batch_index += 1


class _Monitor:
    """Whether a metric is better than it was. mode: "min", "max", or "auto": "max" for what is called like accuracy."""

    def __init__(self, metric, mode, least=0.0):
        if not isinstance(metric, EvalMetric):
            raise ValueError(f"monitor must be a metric, one that the estimator has, not {metric!r}")
        if mode not in ("min", "max", "auto"):
            raise ValueError(f"mode must be 'min', 'max' or 'auto', not {mode!r}")
        name = metric.name.lower()
        rising = mode == "max" or mode == "auto" and any(word in name for word in ("acc", "f1", "mcc", "pearson"))
        self.metric, self.sign, self.least = metric, 1 if rising else -1, abs(least)
        self.best = -self.sign * math.inf

    def improved(self):
        """Whether it is the best so far: which it is from then on."""
        value = self.metric.get()[1]
        if self.sign * (value - self.best) <= self.least or math.isnan(value):
            return False
        self.best = value
        return True


class CheckpointHandler(_Periods):
    """Writes the net's parameters and the trainer's states every so many epochs or batches.

    The files are PREFIX-epoch0batch4.params and .states, after four batches; within an epoch, by MXNet's count, after
    the batch of the number 4, the fifth. A hybridized net's program is PREFIX-symbol.json. Each is there as a whole or
    not at all. Writing waits for the parameters.

    Parameters
    ----------
    model_dir : str or path
        The folder, which is made.
    model_prefix : str
        What the names of the files begin with.
    monitor : EvalMetric, optional
        The metric that says which is the best.
    verbose : int
        Other than 0: the estimator's logger is told of the best.
    save_best : bool
        Write PREFIX-best, too, where `monitor` was the best so far.
    mode : {'auto', 'min', 'max'}
        Whether less or more is better; 'auto' takes 'max' for what is called like accuracy, F1 or a correlation.
    epoch_period : int, optional
        After how many epochs. None: not after epochs.
    batch_period : int, optional
        After how many batches. None: not after batches.
    max_checkpoints : int
        How many are kept, the last ones.
    resume_from_checkpoint : bool
        Go on from the last in the folder, for the epochs, or batches, that are left.

    Raises
    ------
    ValueError
        For a period that is neither None nor at least 1, for save_best without a metric, and for another mode with it.
        When the training begins, where the checkpoint has been trained as long as is asked for.

    Examples
    --------
    >>> from dflow.gluon.contrib import estimator as es
    >>> net = gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> loader = gluon.data.DataLoader(gluon.data.ArrayDataset(np.ones((8, 2)), np.ones((8, 1))), batch_size=4)
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> est = es.Estimator(net, gluon.loss.L2Loss(), gluon.metric.MSE(), trainer=trainer)
    >>> est.logger.setLevel("WARNING")
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     est.fit(loader, epochs=2, event_handlers=es.CheckpointHandler(folder, "net"))
    ...     sorted(os.listdir(folder))
    ['net-epoch0batch2.params', 'net-epoch0batch2.states', 'net-epoch1batch4.params', 'net-epoch1batch4.states']
    """

    def __init__(self, model_dir, model_prefix="model", monitor=None, verbose=0, save_best=False, mode="auto",
                 epoch_period=1, batch_period=None, max_checkpoints=5, resume_from_checkpoint=False):
        super().__init__(epoch_period, batch_period)
        if save_best and monitor is None:
            raise ValueError("save_best needs a metric as monitor")
        self.model_dir, self.model_prefix = os.fspath(model_dir), model_prefix
        self.monitor, self.save_best, self.mode, self.verbose = monitor, save_best, mode, verbose
        self.max_checkpoints, self.resume_from_checkpoint = max_checkpoints, resume_from_checkpoint
        self.saved_checkpoints = []
        self._watch = _Monitor(monitor, mode) if save_best else None

    @property
    def best(self):
        return None if self._watch is None else self._watch.best

    def train_begin(self, estimator, *args, **kwargs):
        super().train_begin(estimator)
        os.makedirs(self.model_dir, exist_ok=True)
        self.saved_checkpoints = []
        self._watch = _Monitor(self.monitor, self.mode) if self.save_best else None
        if self.resume_from_checkpoint:
            self._resume(estimator)
        elif self._found():
            warnings.warn(f"{self.model_dir} has checkpoints of {self.model_prefix!r}, which may be written over",
                          stacklevel=3)

    def _path(self, ending):
        return os.path.join(self.model_dir, f"{self.model_prefix}-{ending}")

    def _found(self):
        """(epoch, batch) of the checkpoints in the folder, in their order."""
        pattern = re.compile(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)\.params")
        names = [pattern.fullmatch(name) for name in os.listdir(self.model_dir)]
        return sorted((int(match[1]), int(match[2])) for match in names if match)

    def _resume(self, estimator):
        found = self._found()
        if not found:
            warnings.warn(f"{self.model_dir} has no checkpoint of {self.model_prefix!r}: training begins anew",
                          stacklevel=4)
            return
        epoch, batch = found[-1]
        name = f"epoch{epoch}batch{batch}"
        whole = self.epoch_period is not None
        done, limit = (epoch + 1, "max_epoch") if whole else (batch + 1, "max_batch")
        asked = getattr(estimator, limit)
        if asked is not None:
            if asked <= done:
                raise ValueError(f"the checkpoint {name} in {self.model_dir} has been trained as long as is asked for: "
                                 f"{asked} {limit.removeprefix('max_')}s")
            setattr(estimator, limit, asked - done)
        estimator.net.load_parameters(self._path(f"{name}.params"), estimator.device)
        estimator.trainer.load_states(self._path(f"{name}.states"))
        self.current_epoch, self.current_batch = epoch + whole, batch + (not whole)
        self.saved_checkpoints = [f"epoch{e}batch{b}" for e, b in found]

    def due(self, estimator):
        if isinstance(estimator.net, HybridBlock) and "_run" in estimator.net.__dict__ and not os.path.exists(
                self._path("symbol.json")):
            os.remove(estimator.net.export(os.path.join(self.model_dir, self.model_prefix))[1])
        ended = self.current_epoch - self._at_epoch_end
        name = f"epoch{ended}batch{self.current_batch - (not self._at_epoch_end)}"
        self._save(estimator, name)
        self.saved_checkpoints = [each for each in self.saved_checkpoints if each != name] + [name]
        while len(self.saved_checkpoints) > self.max_checkpoints:
            old = self.saved_checkpoints.pop(0)
            for ending in ("params", "states"):
                if os.path.exists(path := self._path(f"{old}.{ending}")):
                    os.remove(path)
        if self._watch is not None and self._watch.improved():
            self._save(estimator, "best")
            if self.verbose:
                estimator.logger.info("[Epoch %d] %s is %.5f, the best so far", ended, self.monitor.name, self.best)

    _at_epoch_end = False

    def epoch_end(self, estimator, *args, **kwargs):
        self._at_epoch_end = True
        super().epoch_end(estimator)
        self._at_epoch_end = False

    def _save(self, estimator, name):
        """Write a checkpoint: each file is there as a whole or not at all."""
        for save, ending in ((estimator.net.save_parameters, "params"), (estimator.trainer.save_states, "states")):
            path = self._path(f"{name}.{ending}")
            save(path + ".part")
            os.replace(path + ".part", path)


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Ends the training when a metric has not got better for some epochs.

    It waits for the metric at the end of each epoch.

    Parameters
    ----------
    monitor : EvalMetric
        The metric: one of the estimator's, or of a MetricHandler.
    min_delta : float
        By how much more it has to be better.
    patience : int
        For how many epochs it may be no better: with 0 or 1, the first such ends the training.
    mode : {'auto', 'min', 'max'}
        Whether less or more is better; 'auto' takes 'max' for what is called like accuracy, F1 or a correlation.
    baseline : float, optional
        What the first epoch has to be better than.

    Raises
    ------
    ValueError
        For what is no metric, or another mode.

    Examples
    --------
    >>> from dflow.gluon.contrib import estimator as es
    >>> net = gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> loader = gluon.data.DataLoader(gluon.data.ArrayDataset(np.ones((8, 2)), np.ones((8, 1))), batch_size=4)
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> est = es.Estimator(net, gluon.loss.L2Loss(), gluon.metric.MSE(), trainer=trainer)
    >>> est.logger.setLevel("WARNING")
    >>> handler = es.EarlyStoppingHandler(est.train_metrics[0], min_delta=100, patience=2, baseline=0)
    >>> est.fit(loader, epochs=50, event_handlers=handler)
    >>> handler.current_epoch, handler.best
    (2, 0)
    """

    def __init__(self, monitor, min_delta=0, patience=0, mode="auto", baseline=None):
        self.monitor, self.min_delta, self.patience, self.mode, self.baseline = (
            monitor, min_delta, patience, mode, baseline)
        self.train_begin(None)

    @property
    def best(self):
        return self._watch.best

    def train_begin(self, estimator, *args, **kwargs):
        self._watch = _Monitor(self.monitor, self.mode, self.min_delta)
        if self.baseline is not None:
            self._watch.best = self.baseline
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False

    def epoch_end(self, estimator, *args, **kwargs):
        if self._watch.improved():
            self.wait = 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch = self.current_epoch
                self.stop_training = True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator, *args, **kwargs):
        if self.stop_training:
            estimator.logger.info("[Epoch %d] EarlyStoppingHandler: early stopping due to %s not improving",
                                  self.stopped_epoch, self.monitor.name)
