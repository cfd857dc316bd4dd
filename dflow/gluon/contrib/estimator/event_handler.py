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
    """Any handler."""


class TrainBegin(EventHandler):
    def train_begin(self, estimator, *args, **kwargs):
        """Called once, before all else."""


class TrainEnd(EventHandler):
    def train_end(self, estimator, *args, **kwargs):
        """Called once, at the end."""


class EpochBegin(EventHandler):
    def epoch_begin(self, estimator, *args, **kwargs):
        """Called before each epoch."""


class EpochEnd(EventHandler):
    def epoch_end(self, estimator, *args, **kwargs):
        """Called after each epoch; true ends the training."""
        return False


class BatchBegin(EventHandler):
    def batch_begin(self, estimator, *args, **kwargs):
        """Called before each batch, with batch=."""


class BatchEnd(EventHandler):
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
    """Ends the training after so many epochs, or batches: those that fit() was called for."""

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
    """Has the trainer change the parameters after each batch, before other handlers look at it."""

    def __init__(self, priority=-2000):
        self.priority = priority

    def batch_end(self, estimator, *args, **kwargs):
        loss = kwargs["loss"]
        estimator.trainer.step(sum(part.shape[0] for part in (loss if isinstance(loss, list) else [loss])))


class MetricHandler(EpochBegin, BatchEnd):
    """Begins metrics anew for each epoch, and updates them after each batch."""

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
    """Calls eval_fn(val_data=, batch_axis=, event_handlers=), as Estimator.evaluate, every so often."""

    def __init__(self, val_data, eval_fn, epoch_period=1, batch_period=None, priority=-1000, event_handlers=None):
        super().__init__(epoch_period, batch_period)
        self.val_data, self.eval_fn, self.event_handlers, self.priority = val_data, eval_fn, event_handlers, priority

    def due(self, estimator):
        self.eval_fn(val_data=self.val_data, batch_axis=estimator.batch_axis, event_handlers=self.event_handlers)


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Writes times and metrics to the estimator's logger: after each epoch, or every so many batches (log_interval)."""

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
    """Writes the net's parameters and the trainer's states every so often: PREFIX-epoch0batch4.params, .states, after
    four batches; within an epoch, by MXNet's count, after the batch of the number 4, the fifth.

    The last max_checkpoints are kept. save_best: also PREFIX-best, where `monitor` was the best. A hybridized net's
    program: PREFIX-symbol.json. resume_from_checkpoint: goes on from the last in the folder, for the epochs, or
    batches, that are left.
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
    """Ends the training when a metric has not got better, by more than min_delta, for `patience` epochs."""

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
