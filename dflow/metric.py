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
    """The mean of -log(how likely the label was said to be): CrossEntropy, by another name that MXNet 1 has.

    update() takes labels, the numbers of classes, and predictions with one more axis; get() waits.

    Parameters
    ----------
    eps : float
        The least likelihood that counts: a smaller one is taken for this.
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.

    Raises
    ------
    ValueError
        By update(), for predictions that are not as many as labels times classes.

    Examples
    --------
    >>> loss = dflow.metric.NegativeLogLikelihood()
    >>> loss.update(np.array([0, 1]), np.array([[0.5, 0.5], [0.5, 0.5]]))
    >>> name, value = loss.get()
    >>> round(value, 4)
    0.6931
    """

    def __init__(self, eps=1e-12, name="nll-loss", output_names=None, label_names=None):
        super().__init__(eps, name=name, output_names=output_names, label_names=label_names)
