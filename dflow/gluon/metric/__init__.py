"""Metrics of predictions, summed up over batches, as mxnet.gluon.metric.

`update` submits its work and returns: it does not wait for the arrays that it is given. `get` waits. So what is wrong
with the values of labels, unlike with shapes, is said by `get`.
"""

from dflow.gluon._missing import missing
from dflow.gluon.metric.base import (  # noqa: F401
    CompositeEvalMetric,
    CustomMetric,
    EvalMetric,
    Loss,
    _registry,
    alias,
    check_label_shapes,
    create,
    np,
    register,
)
from dflow.gluon.metric.classes import (
    F1,
    MCC,
    PCC,
    Accuracy,
    BinaryAccuracy,
    CrossEntropy,
    Fbeta,
    Perplexity,
    TopKAccuracy,
)
from dflow.gluon.metric.values import MAE, MSE, RMSE, MeanCosineSimilarity, MeanPairwiseDistance, PearsonCorrelation

__all__ = ["Accuracy", "BinaryAccuracy", "CompositeEvalMetric", "CrossEntropy", "CustomMetric", "EvalMetric", "F1",
           "Fbeta", "Loss", "MAE", "MCC", "MSE", "MeanCosineSimilarity", "MeanPairwiseDistance", "PCC",
           "PearsonCorrelation", "Perplexity", "RMSE", "TopKAccuracy", "alias", "check_label_shapes", "create", "np",
           "register"]

__getattr__ = missing(__name__, "Torch")


def __dir__():
    return sorted(__all__)
