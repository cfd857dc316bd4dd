"""Estimator: training and evaluation as one call, with handlers of what happens on the way."""

from dflow.gluon.contrib.estimator import batch_processor, estimator, event_handler
from dflow.gluon.contrib.estimator.batch_processor import BatchProcessor
from dflow.gluon.contrib.estimator.estimator import Estimator
from dflow.gluon.contrib.estimator.event_handler import (
    BatchBegin,
    BatchEnd,
    CheckpointHandler,
    EarlyStoppingHandler,
    EpochBegin,
    EpochEnd,
    EventHandler,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
)

__all__ = ["BatchBegin", "BatchEnd", "BatchProcessor", "CheckpointHandler", "EarlyStoppingHandler", "EpochBegin",
           "EpochEnd", "Estimator", "EventHandler", "GradientUpdateHandler", "LoggingHandler", "MetricHandler",
           "StoppingHandler", "TrainBegin", "TrainEnd", "ValidationHandler", "batch_processor", "estimator",
           "event_handler"]


def __dir__():
    return sorted(__all__)
