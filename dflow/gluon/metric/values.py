"""Metrics of predicted numbers and vectors."""

import math

from dflow import numpy
from dflow.gluon.metric.base import EvalMetric, alias, check_label_shapes, pairs, register, summed


def _means(x):
    """The sum of the samples' means, and how many samples there are."""
    return summed(x.reshape(len(x), math.prod(x.shape[1:])).mean(axis=-1)), len(x)


def _differences(label, pred):
    """label - pred, of numbers as of columns, as MXNet does: (n,) beside (n, 1) are n pairs, not n * n."""
    return (label.reshape(-1, 1) if label.ndim == 1 else label) - (pred.reshape(-1, 1) if pred.ndim == 1 else pred)


@register
class MAE(EvalMetric):
    """The mean absolute error: the mean, over samples, of each one's mean of |label - pred|.

    update() takes labels and predictions of one shape, whose first axis is that of samples. It does not wait; get()
    does.

    Parameters
    ----------
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.

    Raises
    ------
    ValueError
        By update(), for labels and predictions of different lengths.

    Examples
    --------
    >>> error = gluon.metric.MAE()
    >>> error.update(np.array([1.0, 2.0]), np.array([1.5, 4.0]))
    >>> error.get()
    ('mae', 1.25)
    """

    def __init__(self, name="mae", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def score(self, label, pred):
        return _means(abs(_differences(label, pred)))


@register
class MSE(EvalMetric):
    """The mean squared error: the mean, over samples, of each one's mean of (label - pred)^2.

    update() takes labels and predictions of one shape, whose first axis is that of samples. It does not wait; get()
    does.

    Parameters
    ----------
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.

    Raises
    ------
    ValueError
        By update(), for labels and predictions of different lengths.

    Examples
    --------
    >>> error = gluon.metric.MSE()
    >>> error.update(np.array([1.0, 2.0]), np.array([2.0, 4.0]))
    >>> error.get()
    ('mse', 2.5)
    """

    def __init__(self, name="mse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def score(self, label, pred):
        return _means(_differences(label, pred) ** 2)


@register
class RMSE(MSE):
    """The root of the mean squared error of all batches together.

    update() is as MSE's; get() waits, and takes the root of the mean. MXNet 1 has the mean of the batches' roots.

    Parameters
    ----------
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.

    Raises
    ------
    ValueError
        By update(), for labels and predictions of different lengths.

    Examples
    --------
    >>> error = gluon.metric.RMSE()
    >>> error.update(np.array([0.0, 0.0]), np.array([3.0, 3.0]))
    >>> error.update(np.array([0.0, 0.0]), np.array([4.0, 4.0]))
    >>> name, value = error.get()
    >>> round(value**2, 4)
    12.5
    """

    def __init__(self, name="rmse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def get(self):
        name, value = super().get()
        return name, math.sqrt(value)


@register
class MeanPairwiseDistance(EvalMetric):
    """The mean distance of predictions from labels, by the p-norm.

    update() takes labels and predictions of one shape: the first axis is that of samples, which are vectors.

    Parameters
    ----------
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.
    p : float
        Which norm: 2 is Euclid's, 1 the sum of absolute values.

    Raises
    ------
    ValueError
        By update(), for labels and predictions of different lengths.

    Examples
    --------
    >>> distance = gluon.metric.MeanPairwiseDistance()
    >>> distance.update(np.zeros((2, 2)), np.array([[3.0, 4.0], [0.0, 1.0]]))
    >>> distance.get()
    ('mpd', 3.0)
    """

    def __init__(self, name="mpd", output_names=None, label_names=None, p=2):
        super().__init__(name, output_names, label_names, p=p)
        self.p = p

    def score(self, label, pred):
        distance = abs(_differences(label, pred))
        distance = distance.reshape(len(label), math.prod(distance.shape[1:]))
        return summed((distance ** self.p).sum(axis=-1) ** (1 / self.p)), len(label)


@register
class MeanCosineSimilarity(EvalMetric):
    """The mean cosine of the angle between predictions and labels, vectors along the last axis.

    update() takes labels and predictions of one shape; an array of one axis is one vector.

    Parameters
    ----------
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.
    eps : float
        The least product of two lengths to divide by: the cosine with a vector of zeros is 0.

    Raises
    ------
    ValueError
        By update(), for labels and predictions of different lengths.

    Examples
    --------
    >>> cosine = gluon.metric.MeanCosineSimilarity()
    >>> cosine.update(np.array([[1.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 2.0], [6.0, 8.0]]))
    >>> cosine.get()
    ('cos_sim', 0.5)
    """

    def __init__(self, name="cos_sim", output_names=None, label_names=None, eps=1e-8):
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def score(self, label, pred):
        label, pred = numpy.atleast_2d(label), numpy.atleast_2d(pred)
        lengths = numpy.sqrt((label * label).sum(axis=-1) * (pred * pred).sum(axis=-1))
        cosines = (label * pred).sum(axis=-1) / numpy.maximum(lengths, self.eps)
        return summed(cosines), cosines.size


@alias("pearsonr")
@register
class PearsonCorrelation(EvalMetric):
    """Pearson's correlation of all predictions with all labels, of all batches together.

    update() takes labels and predictions of one shape. It does not wait; get() does. MXNet 1 has the mean of the
    batches' correlations.

    Parameters
    ----------
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.

    Raises
    ------
    ValueError
        By update(), for labels and predictions of different shapes.

    Examples
    --------
    >>> correlation = gluon.metric.PearsonCorrelation()
    >>> correlation.update(np.array([1.0, 2.0]), np.array([2.0, 1.0]))
    >>> correlation.update(np.array([3.0, 4.0]), np.array([4.0, 3.0]))
    >>> name, value = correlation.get()
    >>> round(value, 4)
    0.6
    """

    def __init__(self, name="pearsonr", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def reset(self):
        super().reset()
        self._means = 0.0, 0.0                  # of labels and predictions,
        self._moments = 0.0, 0.0, 0.0           # sums of squares and of products of what differs from the means

    def update(self, labels, preds):
        for label, pred in pairs(labels, preds):
            check_label_shapes(label, pred, shape=True)
            self.num_inst += label.size
            arrays = [x.reshape(-1).astype(numpy.float64) for x in (label, pred)]
            # A product of deviations, one from the mean before the batch, one from that after it, is what the batch
            # adds to the sum (Welford).
            before = [x - mean for x, mean in zip(arrays, self._means)]
            self._means = [mean + x.sum() / self.num_inst for mean, x in zip(self._means, before)]
            x, y = (x - mean for x, mean in zip(arrays, self._means))
            more = before[0] * x, before[1] * y, before[0] * y
            self._moments = [moment + m.sum() for moment, m in zip(self._moments, more)]

    def get(self):
        if not self.num_inst:
            return self.name, math.nan
        xx, yy, xy = self._moments
        return self.name, float(xy / numpy.sqrt(xx * yy))
