"""gluon.metric as MXNet 1 has it, with the name that CrossEntropy had then."""

from dflow._base.missing import missing
from dflow.gluon.metric import (
    F1,
    MAE,
    MCC,
    MSE,
    PCC,
    RMSE,
    Accuracy,
    CompositeEvalMetric,
    CrossEntropy,
    CustomMetric,
    EvalMetric,
    Loss,
    PearsonCorrelation,
    Perplexity,
    TopKAccuracy,
    alias,
    create,
    np,
    register,
)

__all__ = ["Accuracy", "CompositeEvalMetric", "CrossEntropy", "CustomMetric", "EvalMetric", "F1", "Loss", "MAE", "MCC",
           "MSE", "NegativeLogLikelihood", "PCC", "PearsonCorrelation", "Perplexity", "RMSE", "TopKAccuracy", "alias",
           "create", "np", "register"]

__getattr__ = missing(__name__, "Caffe Torch")


def __dir__():
    return sorted(__all__)


class NegativeLogLikelihood(CrossEntropy):
    """The mean of -log(likelihood of the label)."""

    def __init__(self, eps=1e-12, name="nll-loss", output_names=None, label_names=None):
        super().__init__(eps, name=name, output_names=output_names, label_names=label_names)
