"""Losses: of predictions and labels, one number for each sample."""

import math

import numpy

from dflow import npx
from dflow import numpy as np
from dflow.gluon.block import HybridBlock

__all__ = ["CTCLoss", "CosineEmbeddingLoss", "HingeLoss", "HuberLoss", "KLDivLoss", "L1Loss", "L2Loss", "LogisticLoss",
           "Loss", "PoissonNLLLoss", "SDMLLoss", "SigmoidBCELoss", "SigmoidBinaryCrossEntropyLoss", "SoftmaxCELoss",
           "SoftmaxCrossEntropyLoss", "SquaredHingeLoss", "TripletLoss"]


def __dir__():
    return sorted(__all__)


def _softrelu(x):
    return npx.activation(x, "softrelu")


class Loss(HybridBlock):
    """Base class of losses: a subclass writes forward(), of predictions and labels.

    It may multiply by self._weight; the classes here multiply by sample_weight, an argument of each call, too.

    Parameters
    ----------
    weight : float, optional
        What losses are multiplied by. None: they stay as they are.
    batch_axis : int
        The axis of samples.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    *args
        What forward() takes: predictions, labels and, in the classes here, weights of samples.

    Outputs
    -------
    ndarray
        Of shape (batch,): one loss a sample.

    Raises
    ------
    NotImplementedError
        When it is called, without a forward().

    Examples
    --------
    >>> class Off(gluon.loss.Loss):
    ...     def forward(self, pred, label):
    ...         return abs(pred - label).mean(axis=1) * self._weight
    >>> print(Off(2.0, 0)(np.zeros((1, 2)), np.ones((1, 2))))
    [2.]
    """

    def __init__(self, weight, batch_axis, **kwargs):
        super().__init__(**kwargs)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self):
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _weighted(self, loss, sample_weight):
        if sample_weight is not None:
            loss = loss * sample_weight
        if self._weight is None:
            return loss
        if not isinstance(self._weight, (int, float, numpy.number)):
            raise TypeError(f"weight must be a number, not {self._weight!r}")
        return loss if self._weight == 1 else loss * self._weight

    def _of_samples(self, how, loss):
        """Its mean, or sum, over all axes but that of samples."""
        n = loss.ndim
        batch = self._batch_axis % n if n else 0
        axes = (*range(batch), *range(batch + 1, n))
        return getattr(loss, how)(axes) if axes else loss

    def _mean(self, loss, sample_weight):
        return self._of_samples("mean", self._weighted(loss, sample_weight))


class L2Loss(Loss):
    """Half of weight * (label - pred)^2, its mean of each sample.

    Parameters
    ----------
    weight : float, optional
        What losses are multiplied by, besides 1/2.
    batch_axis : int
        The axis of samples, which the result keeps; losses are averaged over all others.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    pred : ndarray
        Predictions, of any shape (batch, ...).
    label : ndarray
        Of as many elements; it takes pred's shape.
    sample_weight : ndarray, optional
        What losses are multiplied by, before the mean: broadcast, as of shape (batch, 1).

    Outputs
    -------
    ndarray
        Of shape (batch,): one loss a sample.

    Raises
    ------
    ValueError
        When it is called, for a label of another number of elements than pred.
    TypeError
        When it is called, for a weight that is no number.

    Examples
    --------
    >>> pred, label = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> print(gluon.loss.L2Loss()(pred, label))
    [1.   3.25]
    """

    def __init__(self, weight=1.0, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def forward(self, pred, label, sample_weight=None):
        return self._mean(0.5 * np.square(label.reshape(pred.shape) - pred), sample_weight)


class L1Loss(Loss):
    """|label - pred|, its mean of each sample.

    Parameters
    ----------
    weight : float, optional
        What losses are multiplied by. None: they stay as they are.
    batch_axis : int
        The axis of samples, which the result keeps; losses are averaged over all others.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    pred : ndarray
        Predictions, of any shape (batch, ...).
    label : ndarray
        Of as many elements; it takes pred's shape.
    sample_weight : ndarray, optional
        What losses are multiplied by, before the mean: broadcast, as of shape (batch, 1).

    Outputs
    -------
    ndarray
        Of shape (batch,): one loss a sample.

    Raises
    ------
    ValueError
        When it is called, for a label of another number of elements than pred.
    TypeError
        When it is called, for a weight that is no number.

    Examples
    --------
    >>> pred, label = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> print(gluon.loss.L1Loss()(pred, label))
    [1.  2.5]
    """

    def __init__(self, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def forward(self, pred, label, sample_weight=None):
        return self._mean(np.abs(label.reshape(pred.shape) - pred), sample_weight)


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Cross-entropy of labels 0 and 1, of probabilities sigmoid(pred): its mean of each sample.

    It is log(1 + exp(pred)) - pred * label; with from_sigmoid, -(log(pred) * label + log(1 - pred) * (1 -
    label)). Labels may also be probabilities. SigmoidBCELoss is another name of it.

    Parameters
    ----------
    from_sigmoid : bool
        Predictions are probabilities already.
    weight : float, optional
        What losses are multiplied by. None: they stay as they are.
    batch_axis : int
        The axis of samples, which the result keeps; losses are averaged over all others.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    pred : ndarray
        Predictions, of any shape (batch, ...).
    label : ndarray
        Of as many elements; it takes pred's shape.
    sample_weight : ndarray, optional
        What losses are multiplied by, before the mean: broadcast, as of shape (batch, 1).
    pos_weight : ndarray or float, optional
        What the losses of labels 1 are multiplied by; broadcast.

    Outputs
    -------
    ndarray
        Of shape (batch,): one loss a sample.

    Raises
    ------
    ValueError
        When it is called, for a label of another number of elements than pred.
    TypeError
        When it is called, for a weight that is no number.

    Examples
    --------
    >>> pred, label = np.array([[0.0, 0.0], [0.0, 50.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> print(gluon.loss.SigmoidBinaryCrossEntropyLoss()(pred, label))
    [0.69314718 0.34657359]
    >>> print(gluon.loss.SigmoidBCELoss()(pred, label, None, np.array([3.0, 1.0])))
    [1.38629436 1.03972077]
    """

    def __init__(self, from_sigmoid=False, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def forward(self, pred, label, sample_weight=None, pos_weight=None):
        label = label.reshape(pred.shape)
        if self._from_sigmoid:
            ones, eps = np.log(pred + 1e-12) * label, 1e-12
            ones = ones if pos_weight is None else ones * pos_weight
            loss = -(ones + np.log(1 - pred + eps) * (1 - label))
        elif pos_weight is None:
            loss = _softrelu(pred) - pred * label
        else:
            loss = pred * (1 - label) + (1 + (pos_weight - 1) * label) * _softrelu(-pred)
        return self._mean(loss, sample_weight)


class SoftmaxCrossEntropyLoss(Loss):
    """Minus the logarithm of softmax(pred) at each label: cross-entropy of classes.

    With sparse_label=False it is minus the sum of all logarithms times each class's share. The mean of each
    sample, where it has several labels. SoftmaxCELoss is another name of it.

    Parameters
    ----------
    axis : int
        The axis of classes.
    sparse_label : bool
        Labels are numbers of classes. False: they are shares of each class.
    from_logits : bool
        Predictions are logarithms of probabilities already, as of npx.log_softmax().
    weight : float, optional
        What losses are multiplied by. None: they stay as they are.
    batch_axis : int
        The axis of samples, which the result keeps; losses are averaged over all others.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    pred : ndarray
        Of shape (batch, ..., classes), with classes along `axis`.
    label : ndarray
        Of pred's shape without that axis, or with a length of 1: numbers of classes, those out of bounds being
        the nearest. With sparse_label=False of as many elements as pred.
    sample_weight : ndarray, optional
        What losses are multiplied by, before the mean: broadcast, as of shape (batch, 1).

    Outputs
    -------
    ndarray
        Of shape (batch,): one loss a sample.

    Raises
    ------
    ValueError
        When it is called, for a label of another shape.
    TypeError
        When it is called, for a weight that is no number.

    Examples
    --------
    >>> pred = np.array([[2.0, 0.0], [0.0, 0.0]])
    >>> print(gluon.loss.SoftmaxCrossEntropyLoss()(pred, np.array([0, 1])))
    [0.12692801 0.69314718]
    >>> shares = np.array([[1.0, 0.0], [0.5, 0.5]])
    >>> print(gluon.loss.SoftmaxCELoss(sparse_label=False)(pred, shares))
    [0.12692801 0.69314718]
    """

    def __init__(self, axis=-1, sparse_label=True, from_logits=False, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def forward(self, pred, label, sample_weight=None):
        if not self._from_logits:
            pred = npx.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -npx.pick(pred, label, axis=self._axis, keepdims=True)
        else:
            loss = -(pred * label.reshape(pred.shape)).sum(axis=self._axis, keepdims=True)
        return self._mean(loss, sample_weight)


class KLDivLoss(Loss):
    """The sum of label * (log(label) - pred), of each sample: how far the distribution pred is from label.

    Parameters
    ----------
    from_logits : bool
        Predictions are logarithms of probabilities, as of npx.log_softmax(), which is called if not.
    axis : int
        The axis of the distributions, for log_softmax().
    weight : float, optional
        What losses are multiplied by. None: they stay as they are.
    batch_axis : int
        The axis of samples, which the result keeps; losses are summed over all others, of which MXNet 1.x takes
        the mean.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    pred : ndarray
        Of any shape (batch, ...).
    label : ndarray
        Probabilities, of a shape that broadcasts with pred's.
    sample_weight : ndarray, optional
        What losses are multiplied by, before the mean: broadcast, as of shape (batch, 1).

    Outputs
    -------
    ndarray
        Of shape (batch,): one loss a sample.

    Raises
    ------
    TypeError
        When it is called, for a weight that is no number.

    Examples
    --------
    >>> print(gluon.loss.KLDivLoss(from_logits=False)(np.zeros((1, 2)), np.array([[0.25, 0.75]])))
    [0.13081204]
    """

    def __init__(self, from_logits=True, axis=-1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    def forward(self, pred, label, sample_weight=None):
        if not self._from_logits:
            pred = npx.log_softmax(pred, axis=self._axis)
        return self._of_samples("sum", self._weighted(label * (np.log(label + 1e-12) - pred), sample_weight))


class SDMLLoss(KLDivLoss):
    """Of pairs x1[i], x2[i] that belong together: which x2 is the nearest of each x1 (Bonadiman et al., 2019).

    KLDivLoss of softmax(-|x1 - x2|^2), over all x2, and labels that give smoothing_parameter to the others.

    Parameters
    ----------
    smoothing_parameter : float
        The share of each label that goes to the others, in equal parts; 0 to 1.
    weight : float, optional
        What losses are multiplied by. None: they stay as they are.
    batch_axis : int
        The axis of samples: 0.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    x1 : ndarray
        Of shape (batch, size), of two samples or more.
    x2 : ndarray
        Of the same shape: what belongs to each row of x1.

    Outputs
    -------
    ndarray
        Of shape (batch,): one loss a sample.

    Raises
    ------
    ZeroDivisionError
        When it is called, for one sample.
    TypeError
        When it is called, for a weight that is no number.

    Examples
    --------
    >>> x = np.array([[0.0, 9.0], [9.0, 0.0]])
    >>> loss = gluon.loss.SDMLLoss(smoothing_parameter=0.0)
    >>> print(loss(x, x).round(6), (loss(x, x[::-1]) > 100).tolist())
    [0. 0.] [True, True]
    """

    def __init__(self, smoothing_parameter=0.3, weight=1.0, batch_axis=0, **kwargs):
        super().__init__(weight=weight, batch_axis=batch_axis, **kwargs)
        self.smoothing_parameter = smoothing_parameter

    def forward(self, x1, x2):
        n = len(x1)
        distance = np.sum(np.square(x1[:, None] - x2), axis=2)
        other = self.smoothing_parameter / (n - 1)
        label = other + (1 - self.smoothing_parameter - other) * np.eye(n, dtype=x1.dtype)
        return super().forward(npx.log_softmax(-distance), label)


class HuberLoss(Loss):
    """Half of (label - pred)^2 / rho where they differ by at most rho, else the difference less rho / 2.

    The mean of each sample.

    Parameters
    ----------
    rho : float
        The difference from which on the loss is linear.
    weight : float, optional
        What losses are multiplied by. None: they stay as they are.
    batch_axis : int
        The axis of samples, which the result keeps; losses are averaged over all others.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    pred : ndarray
        Predictions, of any shape (batch, ...).
    label : ndarray
        Of as many elements; it takes pred's shape.
    sample_weight : ndarray, optional
        What losses are multiplied by, before the mean: broadcast, as of shape (batch, 1).

    Outputs
    -------
    ndarray
        Of shape (batch,): one loss a sample.

    Raises
    ------
    ValueError
        When it is called, for a label of another number of elements than pred.
    TypeError
        When it is called, for a weight that is no number.

    Examples
    --------
    >>> pred, label = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> print(gluon.loss.HuberLoss()(pred, label))
    [0.75 2.  ]
    """

    def __init__(self, rho=1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def forward(self, pred, label, sample_weight=None):
        far = np.abs(label.reshape(pred.shape) - pred)
        loss = np.where(far > self._rho, far - 0.5 * self._rho, (0.5 / self._rho) * np.square(far))
        return self._mean(loss, sample_weight)


class HingeLoss(Loss):
    """max(0, margin - pred * label), of labels -1 and 1: its mean of each sample.

    Parameters
    ----------
    margin : float
        From which product pred * label on there is no loss.
    weight : float, optional
        What losses are multiplied by. None: they stay as they are.
    batch_axis : int
        The axis of samples, which the result keeps; losses are averaged over all others.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    pred : ndarray
        Predictions, of any shape (batch, ...).
    label : ndarray
        Numbers -1 and 1, as many as pred has; it takes pred's shape.
    sample_weight : ndarray, optional
        What losses are multiplied by, before the mean: broadcast, as of shape (batch, 1).

    Outputs
    -------
    ndarray
        Of shape (batch,): one loss a sample.

    Raises
    ------
    ValueError
        When it is called, for a label of another number of elements than pred.
    TypeError
        When it is called, for a weight that is no number.

    Examples
    --------
    >>> pred, label = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, -1.0], [1.0, 1.0]])
    >>> print(gluon.loss.HingeLoss()(pred, label))
    [1.5 0. ]
    """

    def __init__(self, margin=1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def forward(self, pred, label, sample_weight=None):
        return self._mean(npx.relu(self._margin - pred * label.reshape(pred.shape)), sample_weight)


class SquaredHingeLoss(HingeLoss):
    """max(0, margin - pred * label)^2, of labels -1 and 1: its mean of each sample.

    Parameters
    ----------
    margin : float
        From which product pred * label on there is no loss.
    weight : float, optional
        What losses are multiplied by. None: they stay as they are.
    batch_axis : int
        The axis of samples, which the result keeps; losses are averaged over all others.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    pred : ndarray
        Predictions, of any shape (batch, ...).
    label : ndarray
        Numbers -1 and 1, as many as pred has; it takes pred's shape.
    sample_weight : ndarray, optional
        What losses are multiplied by, before the mean: broadcast, as of shape (batch, 1).

    Outputs
    -------
    ndarray
        Of shape (batch,): one loss a sample.

    Raises
    ------
    ValueError
        When it is called, for a label of another number of elements than pred.
    TypeError
        When it is called, for a weight that is no number.

    Examples
    --------
    >>> pred, label = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, -1.0], [1.0, 1.0]])
    >>> print(gluon.loss.SquaredHingeLoss()(pred, label))
    [4.5 0. ]
    """

    def forward(self, pred, label, sample_weight=None):
        return self._mean(np.square(npx.relu(self._margin - pred * label.reshape(pred.shape))), sample_weight)


class LogisticLoss(Loss):
    """log(1 + exp(-pred * label)), of labels -1 and 1: its mean of each sample.

    Parameters
    ----------
    weight : float, optional
        What losses are multiplied by. None: they stay as they are.
    batch_axis : int
        The axis of samples, which the result keeps; losses are averaged over all others.
    label_format : str
        "signed", for labels -1 and 1, or "binary", for labels 0 and 1.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    pred : ndarray
        Predictions, of any shape (batch, ...).
    label : ndarray
        As label_format says, as many as pred has; it takes pred's shape.
    sample_weight : ndarray, optional
        What losses are multiplied by, before the mean: broadcast, as of shape (batch, 1).

    Outputs
    -------
    ndarray
        Of shape (batch,): one loss a sample.

    Raises
    ------
    ValueError
        For another label_format; and when it is called, for a label of another number of elements than pred.
    TypeError
        When it is called, for a weight that is no number.

    Examples
    --------
    >>> pred, label = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, -1.0], [1.0, 1.0]])
    >>> print(gluon.loss.LogisticLoss()(pred, label))
    [1.22009485 0.03336864]
    """

    def __init__(self, weight=None, batch_axis=0, label_format="signed", **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ValueError(f"label_format must be 'signed' or 'binary', not {label_format!r}")
        self._label_format = label_format

    def forward(self, pred, label, sample_weight=None):
        label = label.reshape(pred.shape)
        share = (label + 1) * 0.5 if self._label_format == "signed" else label
        return self._mean(_softrelu(pred) - pred * share, sample_weight)


class TripletLoss(Loss):
    """max(0, |pred - positive|^2 - |pred - negative|^2 + margin), of each sample.

    Parameters
    ----------
    margin : float
        How much farther than the positive the negative ought to be.
    weight : float, optional
        What losses are multiplied by. None: they stay as they are.
    batch_axis : int
        The axis of samples, which the result keeps; squares are summed over all others.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    pred : ndarray
        Of any shape (batch, ...).
    positive : ndarray
        What ought to be near, of as many elements.
    negative : ndarray
        What ought to be far, of as many elements.
    sample_weight : ndarray, optional
        What losses are multiplied by: of shape (batch,).

    Outputs
    -------
    ndarray
        Of shape (batch,): one loss a sample.

    Raises
    ------
    ValueError
        When it is called, for a positive or negative of another number of elements than pred.
    TypeError
        When it is called, for a weight that is no number.

    Examples
    --------
    >>> x, near, far = np.zeros((1, 2)), np.zeros((1, 2)), np.ones((1, 2))
    >>> loss = gluon.loss.TripletLoss()
    >>> print(loss(x, near, far), loss(x, far, near))
    [0.] [3.]
    """

    def __init__(self, margin=1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def forward(self, pred, positive, negative, sample_weight=None):
        positive, negative = positive.reshape(pred.shape), negative.reshape(pred.shape)
        nearer = self._of_samples("sum", np.square(positive - pred) - np.square(negative - pred))
        return self._weighted(npx.relu(nearer + self._margin), sample_weight)


class PoissonNLLLoss(Loss):
    """Minus the logarithm of the probability of counts, under Poisson's distribution of mean exp(pred).

    It is exp(pred) - target * pred, or with from_logits=False pred - target * log(pred + epsilon): without the
    term of the target alone, unless compute_full. The mean of each sample: the result keeps the axis of samples,
    unlike that of MXNet 1.x, which is one number.

    Parameters
    ----------
    weight : float, optional
        What losses are multiplied by. None: they stay as they are.
    from_logits : bool
        Predictions are logarithms of the mean. False: they are the mean.
    batch_axis : int
        The axis of samples, which the result keeps; losses are averaged over all others.
    compute_full : bool
        Add the term of the target alone, by Stirling's formula, for targets over 1.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    pred : ndarray
        Predictions, of any shape (batch, ...).
    target : ndarray
        Counts, as many as pred has; it takes pred's shape.
    sample_weight : ndarray, optional
        What losses are multiplied by, before the mean: broadcast, as of shape (batch, 1).
    epsilon : float
        What keeps log(pred) finite; 1e-8 unless given.

    Outputs
    -------
    ndarray
        Of shape (batch,): one loss a sample.

    Raises
    ------
    ValueError
        When it is called, for a target of another number of elements than pred.
    TypeError
        When it is called, for a weight that is no number.

    Examples
    --------
    >>> pred, target = np.zeros((1, 2)), np.array([[1.0, 3.0]])
    >>> print(gluon.loss.PoissonNLLLoss()(pred, target))
    [1.]
    >>> print(gluon.loss.PoissonNLLLoss(compute_full=True)(pred, target))
    [1.88204077]
    """

    def __init__(self, weight=None, from_logits=True, batch_axis=0, compute_full=False, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def forward(self, pred, target, sample_weight=None, epsilon=1e-08):
        target = target.reshape(pred.shape)
        loss = np.exp(pred) - target * pred if self._from_logits else pred - target * np.log(pred + epsilon)
        if self._compute_full:
            n = np.maximum(target, 1)
            loss = loss + np.where(target > 1, n * np.log(n) - n + 0.5 * np.log(2 * math.pi * n), 0)
        return self._mean(loss, sample_weight)


class CosineEmbeddingLoss(Loss):
    """1 - the cosine of the angle between two vectors where the label is 1; max(0, cosine - margin) where it is -1.

    Parameters
    ----------
    weight : float, optional
        What losses are multiplied by. None: they stay as they are.
    batch_axis : int
        The axis of samples, which the result keeps; losses are averaged over all others.
    margin : float
        The cosine up to which vectors of a label -1 give no loss.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    input1 : ndarray
        Vectors along the last axis: of shape (batch, size), say; it takes input2's shape.
    input2 : ndarray
        As many others.
    label : ndarray
        1 or -1 for each pair: of shape (batch,).
    sample_weight : ndarray, optional
        What losses are multiplied by: of shape (batch,).

    Outputs
    -------
    ndarray
        Of shape (batch,): one loss a sample.

    Raises
    ------
    ValueError
        When it is called, for inputs of other numbers of elements, or labels that are not as many as vectors.
    TypeError
        When it is called, for a weight that is no number.

    Examples
    --------
    >>> x, y = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [2.0, 0.0]])
    >>> print(gluon.loss.CosineEmbeddingLoss()(x, y, np.array([1, -1])))
    [1. 1.]
    """

    def __init__(self, weight=None, batch_axis=0, margin=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def forward(self, input1, input2, label, sample_weight=None):
        input1 = input1.reshape(input2.shape)

        def length(x):
            return np.sqrt(np.sum(np.square(x), axis=-1))

        cosine = np.sum(input1 * input2, axis=-1) / np.maximum(length(input1) * length(input2), 1e-12)
        loss = np.where(label.reshape(cosine.shape) == 1, 1 - cosine, npx.relu(cosine - self._margin))
        return self._mean(loss, sample_weight)


class CTCLoss(Loss):
    """Connectionist temporal classification: minus the logarithm of the probability of each sequence's labels.

    npx.ctc_loss() of predictions before their softmax, the last class being the blank. Labels end before the
    first -1, or after so many as `label_lengths` says.

    Parameters
    ----------
    layout : str
        Of pred: "NTC", with the samples along the first axis, or "TNC".
    label_layout : str
        Of label: "NT" or "TN".
    weight : float, optional
        What losses are multiplied by. None: they stay as they are.
    **kwargs
        Of Block: `prefix` and `params`, as MXNet has them.

    Inputs
    ------
    pred : ndarray
        Of shape (batch, time, classes), or as the layout says.
    label : ndarray
        Of shape (batch, labels), or as the layout says: numbers of classes, at most as many as there are steps.
    pred_lengths : ndarray, optional
        Of shape (batch,): how many steps each sample has.
    label_lengths : ndarray, optional
        Of shape (batch,): how many labels each sample has.
    sample_weight : ndarray, optional
        What losses are multiplied by: of shape (batch,).

    Outputs
    -------
    ndarray
        Of shape (batch,): one loss a sample; 0, without a gradient, where the steps are too few for the labels.

    Raises
    ------
    ValueError
        For other layouts; and when it is called, for labels or lengths of other shapes.
    TypeError
        When it is called, for a weight that is no number.

    Examples
    --------
    >>> print(gluon.loss.CTCLoss()(np.zeros((1, 3, 2)), np.array([[0]])))
    [0.28768207]
    """

    def __init__(self, layout="NTC", label_layout="NT", weight=None, **kwargs):
        for name, value, choices in (("layout", layout, ("NTC", "TNC")), ("label_layout", label_layout, ("NT", "TN"))):
            if value not in choices:
                raise ValueError(f"{name} must be {choices[0]!r} or {choices[1]!r}, not {value!r}")
        super().__init__(weight, label_layout.find("N"), **kwargs)
        self._layout = layout

    def forward(self, pred, label, pred_lengths=None, label_lengths=None, sample_weight=None):
        pred = pred.swapaxes(0, 1) if self._layout == "NTC" else pred
        loss = npx.ctc_loss(pred, label if self._batch_axis == 0 else label.T, pred_lengths, label_lengths,
                            pred_lengths is not None, label_lengths is not None, "last")
        return self._weighted(loss, sample_weight)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss
SoftmaxCELoss = SoftmaxCrossEntropyLoss
