"""Metrics of predicted classes, or of how likely each is."""

import math

import numpy as plain

from dflow import numpy
from dflow.gluon.metric.base import EvalMetric, alias, check_label_shapes, pairs, register, summed
from dflow.ops.host import submit


def _share_of_equal(label, pred):
    """How many predicted classes are the labels, and of how many."""
    label, pred = (x.astype(numpy.int32).reshape(-1) for x in (label, pred))
    check_label_shapes(label, pred)
    return summed(label == pred), label.size


def _above(pred, threshold):
    """Which predictions count as positive; the threshold is a number, or one for each class."""
    if numpy.ndim(threshold) and len(threshold) != pred.shape[-1]:
        raise ValueError(f"{len(threshold)} thresholds for {pred.shape[-1]} classes")
    return pred > threshold


@alias("acc")
@register
class Accuracy(EvalMetric):
    """The share of predictions that are right.

    update() takes labels, the numbers of classes, and predictions: numbers of classes too, of the same shape, or how
    likely each class is, with one more axis. It does not wait; get() does.

    Parameters
    ----------
    axis : int
        The axis of classes, of predictions that say how likely each is.
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.

    Raises
    ------
    ValueError
        By update(), for labels and predictions of different numbers.

    Examples
    --------
    >>> accuracy = gluon.metric.Accuracy()
    >>> accuracy.update(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]))
    >>> accuracy.update(np.array([1]), np.array([1]))
    >>> accuracy.get()
    ('accuracy', 0.75)
    """

    def __init__(self, axis=1, name="accuracy", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, axis=axis)
        self.axis = axis

    def score(self, label, pred):
        return _share_of_equal(label, pred if pred.shape == label.shape else pred.argmax(axis=self.axis))


@register
class BinaryAccuracy(EvalMetric):
    """The share of right predictions of yes or no, of one class or of several, by how likely a yes is.

    update() takes labels of 0 and 1, and predictions of as many elements.

    Parameters
    ----------
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.
    threshold : float or array_like
        What is likelier than this is a yes: a number, or one for each class, along the last axis of predictions.

    Raises
    ------
    ValueError
        By update(), for labels and predictions of different numbers, or for thresholds of another number than classes.

    Examples
    --------
    >>> accuracy = gluon.metric.BinaryAccuracy(threshold=0.6)
    >>> accuracy.update(np.array([0, 1, 0, 1]), np.array([0.7, 1.0, 0.55, 0.4]))
    >>> accuracy.get()
    ('binary_accuracy', 0.5)
    """

    def __init__(self, name="binary_accuracy", output_names=None, label_names=None, threshold=0.5):
        super().__init__(name, output_names, label_names, threshold=threshold)
        self.threshold = threshold

    def score(self, label, pred):
        return _share_of_equal(label, _above(pred, self.threshold))


@alias("top_k_accuracy", "top_k_acc")
@register
class TopKAccuracy(EvalMetric):
    """The share of labels that are among the likeliest classes.

    update() takes labels, the numbers of classes, of shape (batch,), and predictions of shape (batch, classes).

    Parameters
    ----------
    top_k : int
        Among how many classes, two at least; it goes into the name. Where there are fewer classes, among all of them.
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.

    Raises
    ------
    ValueError
        For a top_k of less than 2: Accuracy is for 1, so the default is an error, as in MXNet. By update(), for
        predictions without two axes, or labels of another number.

    Examples
    --------
    >>> top = gluon.metric.TopKAccuracy(2)
    >>> top.update(np.array([2, 0]), np.array([[0.1, 0.5, 0.4], [0.1, 0.5, 0.4]]))
    >>> top.get()
    ('top_k_accuracy_2', 0.5)
    """

    def __init__(self, top_k=1, name="top_k_accuracy", output_names=None, label_names=None):
        if top_k <= 1:
            raise ValueError("Please use Accuracy if top_k is no more than 1")
        super().__init__(name, output_names, label_names, top_k=top_k)
        self.top_k = top_k
        self.name += f"_{top_k}"

    def get_config(self):
        return {**super().get_config(), "name": self.name.removesuffix(f"_{self.top_k}")}

    def score(self, label, pred):
        if pred.ndim != 2:
            raise ValueError(f"predictions are likelihoods of classes, with 2 axes; the shape is {pred.shape}")
        check_label_shapes(label, pred)
        top = min(self.top_k, pred.shape[1])
        likeliest = numpy.argpartition(pred, -top, axis=1)[:, -top:]
        return summed(likeliest == label.astype(numpy.int32).reshape(-1, 1)), len(pred)


class _Positives(EvalMetric):
    """What counts how often each class was predicted, was the label, and both."""

    class_type, threshold = "binary", 0.5

    def reset(self):
        super().reset()
        self._classes = None
        self._hits = self._predicted = self._actual = 0.0
        self._beyond = False        # whether a label was greater than the classes allow

    def update(self, labels, preds):
        for label, pred in pairs(labels, preds):
            classes, beyond, label, pred = getattr(self, "_" + self.class_type)(label, pred)
            check_label_shapes(label, pred)
            if self._classes not in (None, classes):
                raise ValueError(f"Input number of classes has changed from {self._classes} to {classes}")
            self._classes = classes
            self._beyond = beyond | self._beyond
            self._hits = self._hits + (label & pred).sum(axis=0)
            self._predicted = self._predicted + pred.sum(axis=0)
            self._actual = self._actual + label.sum(axis=0)
            self.num_inst += len(label)

    def _binary(self, label, pred):
        if pred.shape != label.shape:
            if pred.shape[-1] > 2:
                raise ValueError(f"The shape of prediction {pred.shape} is wrong for binary classification.")
            if pred.shape[-1] == 2:
                pred = pred[..., 1]
        label = label.astype(numpy.int32).reshape(-1, 1)
        return 1, (label > 1).any(), label == 1, _above(pred, self.threshold).reshape(-1, 1)

    def _multiclass(self, label, pred):
        classes = numpy.arange(pred.shape[-1])
        label = label.astype(numpy.int32).reshape(-1, 1)
        return len(classes), (label >= len(classes)).any(), label == classes, pred.argmax(-1).reshape(-1, 1) == classes

    def _multilabel(self, label, pred):
        check_label_shapes(label, pred, shape=True)
        classes = pred.shape[-1]
        return classes, False, label.reshape(-1, classes) == 1, _above(pred, self.threshold).reshape(-1, classes)

    def get(self):
        if not self.num_inst:
            return self.name, math.nan
        if self._beyond:
            raise ValueError("Wrong label for binary classification." if self.class_type == "binary" else
                             "pred contains fewer classes than label!")
        return self.name, self._value()


@register
class Fbeta(_Positives):
    """(1 + beta^2) precision * recall / (beta^2 precision + recall), of all batches together.

    update() takes labels and predictions as class_type says. It does not wait; get() does, and says what is wrong with
    labels.

    Parameters
    ----------
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.
    class_type : {'binary', 'multiclass', 'multilabel'}
        Labels of 0 and 1, with predictions of how likely a yes is, or of two columns for no and yes; numbers of
        classes, with predictions of how likely each is; or a 0 or 1 for each class, with predictions of the same shape.
    beta : float
        How many times as much recall weighs as precision.
    threshold : float or array_like
        What is likelier than this is a yes: a number, or one for each class. Of no effect with 'multiclass'.
    average : {'micro', 'macro', None}
        'micro' counts all classes together; 'macro' is the mean of the classes' scores; None gives them all, as an
        array.

    Raises
    ------
    ValueError
        For another class_type. By update(), for shapes that do not fit it, or another number of classes than before. By
        get(), for labels that are no classes.

    Examples
    --------
    >>> score = gluon.metric.Fbeta(beta=2)
    >>> score.update(np.array([1, 1, 0, 0]), np.array([0.9, 0.2, 0.8, 0.1]))
    >>> score.get()
    ('fbeta', 0.5)
    """

    def __init__(self, name="fbeta", output_names=None, label_names=None, class_type="binary", beta=1, threshold=0.5,
                 average="micro"):
        if class_type not in ("binary", "multiclass", "multilabel"):
            raise ValueError(f"Wrong class_type {class_type}! Only supports ['binary', 'multiclass', 'multilabel']")
        if average not in ("micro", "macro", None):
            raise ValueError(f"average must be 'micro', 'macro' or None, not {average!r}")
        self.class_type, self.beta, self.threshold, self.average = class_type, beta, threshold, average
        super().__init__(name, output_names, label_names, class_type=class_type, beta=beta, threshold=threshold,
                         average=average)

    def _value(self):
        hits, predicted, actual = self._hits, self._predicted, self._actual
        if self.average == "micro":
            hits, predicted, actual = hits.sum(), predicted.sum(), actual.sum()
        scores = (1 + self.beta**2) * hits / numpy.maximum(self.beta**2 * actual + predicted, 1e-12)
        return scores if self.average is None else float(scores.mean())


@register
class F1(Fbeta):
    """The harmonic mean of precision and recall: Fbeta with beta = 1.

    update() and get() are as Fbeta's. They sum up counts over all batches, where MXNet 1 has the mean of the batches'
    scores for average='macro'.

    Parameters
    ----------
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.
    class_type, threshold, average : optional
        What labels and predictions are, and how classes are averaged: see Fbeta.

    Raises
    ------
    ValueError
        As Fbeta.

    Examples
    --------
    >>> score = gluon.metric.F1(class_type="multiclass", average=None)
    >>> score.update(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]))
    >>> name, scores = score.get()
    >>> print(scores.round(4))
    [0.6667 0.6667]
    """

    def __init__(self, name="f1", output_names=None, label_names=None, class_type="binary", threshold=0.5,
                 average="micro"):
        super().__init__(name, output_names, label_names, class_type, 1, threshold, average)
        del self._kwargs["beta"]


@register
class MCC(_Positives):
    """Matthews' correlation coefficient of yes and no: 1 for all right, -1 for all wrong, 0 for chance.

    update() takes labels of 0 and 1, and predictions of how likely a yes is (more than 0.5 counts as one), or of two
    columns for no and yes. It does not wait; get() does.

    Parameters
    ----------
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.

    Raises
    ------
    ValueError
        By update(), for predictions of more than two columns. By get(), for labels greater than 1.

    Examples
    --------
    >>> score = gluon.metric.MCC()
    >>> score.update(np.array([1, 1, 0, 0]), np.array([[0.1, 0.9], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]]))
    >>> name, value = score.get()
    >>> round(value, 4)
    0.5774
    """

    def __init__(self, name="mcc", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def _value(self):
        hits, predicted, actual = (x.item() for x in (self._hits, self._predicted, self._actual))
        total = self.num_inst
        sides = [side for side in (predicted, actual, total - predicted, total - actual) if side]
        return (hits * total - predicted * actual) / math.sqrt(math.prod(sides))


@register
class PCC(EvalMetric):
    """Pearson's correlation of labels and predictions, told by 0 and 1 for each class: of two classes it is MCC.

    update() takes labels, the numbers of classes, and predictions: numbers too, of the same shape, or how likely each
    class is, along axis 1. It does not wait; get() does. There may be more classes in later batches.

    Parameters
    ----------
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.

    Raises
    ------
    ValueError
        By update(), for labels and predictions of different numbers.

    Examples
    --------
    >>> score = gluon.metric.PCC()
    >>> score.update(np.array([0, 1, 2, 2]), np.array([0, 1, 2, 1]))
    >>> name, value = score.get()
    >>> round(value, 4)
    0.7
    """

    def __init__(self, name="pcc", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def reset(self):
        super().reset()
        self._pending = []          # futures of what _confusion() says of batches: values decide how many classes are
        self._counts = numpy.zeros((0, 0))

    def update(self, labels, preds):
        for label, pred in pairs(labels, preds):
            pred = pred if pred.shape == label.shape else pred.argmax(axis=1)
            check_label_shapes(label, pred)
            self._pending.append(submit(_confusion, label, pred))
            self.num_inst += label.size
        self._gather(lambda future: future.done())

    def _gather(self, which):
        while self._pending and which(self._pending[0]):
            self._counts = _padded_sum(self._counts, numpy.array(self._pending.pop(0).result()))

    def get(self):
        self._gather(lambda future: True)
        counts, n = self._counts, self.num_inst
        actual, predicted = counts.sum(axis=1), counts.sum(axis=0)
        spread = (actual * (n - actual)).sum().item() * (predicted * (n - predicted)).sum().item()
        covered = (counts.diagonal() * n - actual * predicted).sum().item()
        return self.name, covered / math.sqrt(spread) if spread else math.nan


def _confusion(label, pred):
    """How many samples have each label and prediction, of NumPy's arrays of classes."""
    label, pred = (x.astype("int64").reshape(-1) for x in (label, pred))
    classes = max(label.max(initial=-1), pred.max(initial=-1)) + 1
    return plain.bincount(label * classes + pred, minlength=classes**2).reshape(classes, classes)


def _padded_sum(*arrays):
    size = max(map(len, arrays))
    return sum(numpy.pad(x, (0, size - len(x))) for x in arrays)


@alias("ce")
@register
class CrossEntropy(EvalMetric):
    """The mean of -log(how likely the label was said to be); a label that is no class has likelihood 0.

    update() takes labels, the numbers of classes, and predictions with one more axis: how likely each class is. It does
    not wait; get() does.

    Parameters
    ----------
    eps : float
        The least likelihood that counts: a smaller one is taken for this.
    ignore_label : int, optional
        A label that does not count.
    axis : int
        The axis of classes.
    from_logits : bool
        Predictions are not likelihoods yet, but what a softmax makes them of.
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.

    Raises
    ------
    ValueError
        By update(), for predictions that are not as many as labels times classes.

    Examples
    --------
    >>> loss = gluon.metric.CrossEntropy(ignore_label=-1)
    >>> loss.update(np.array([0, 1, -1]), np.array([[0.5, 0.5], [0.5, 0.5], [0.9, 0.1]]))
    >>> name, value = loss.get()
    >>> round(value, 4)
    0.6931
    """

    def __init__(self, eps=1e-12, ignore_label=None, axis=-1, from_logits=False, name="cross-entropy",
                 output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, eps=eps, ignore_label=ignore_label, axis=axis,
                         from_logits=from_logits)
        self.eps, self.ignore_label, self.axis, self.from_logits = eps, ignore_label, axis, from_logits

    def score(self, label, pred):
        pred = numpy.moveaxis(pred, self.axis, -1)
        if label.size * pred.shape[-1] != pred.size:
            raise ValueError(f"shape mismatch: {label.shape} vs. {pred.shape}")
        label, pred = label.reshape(-1, 1).astype(numpy.int64), pred.reshape(-1, pred.shape[-1])
        if self.from_logits:
            pred = numpy.exp(pred - pred.max(axis=-1, keepdims=True))
            pred = pred / pred.sum(axis=-1, keepdims=True)
        # A mask, where an index would have to be waited for.
        likelihoods = numpy.where(label == numpy.arange(pred.shape[-1]), pred, 0).sum(axis=-1, keepdims=True)
        losses = -numpy.log(numpy.maximum(likelihoods, self.eps))
        if self.ignore_label is None:
            return summed(losses), label.size
        counts = label != self.ignore_label
        return summed(losses * counts), counts.sum()


@register
class Perplexity(CrossEntropy):
    """exp() of the cross entropy: among how many classes, all as likely, one might as well have guessed.

    update() is as CrossEntropy's; get() waits.

    Parameters
    ----------
    eps, ignore_label, axis, from_logits : optional
        What counts, and what predictions are: see CrossEntropy.
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.

    Raises
    ------
    ValueError
        As CrossEntropy.

    Examples
    --------
    >>> perplexity = gluon.metric.Perplexity()
    >>> perplexity.update(np.array([0, 3]), np.full((2, 4), 0.25))
    >>> perplexity.get()
    ('perplexity', 4.0)
    """

    def __init__(self, eps=1e-12, ignore_label=None, axis=-1, from_logits=False, name="perplexity",
                 output_names=None, label_names=None):
        super().__init__(eps, ignore_label, axis, from_logits, name, output_names, label_names)

    def get(self):
        name, value = super().get()
        return name, math.exp(value)
