"""Metrics of predictions, summed up over batches, as mxnet.gluon.metric.

`update` submits its work and returns: it does not wait for the arrays that it is given. `get` waits. So what is wrong
with the values of labels, unlike with shapes, is said by `get`.
"""

import json
import math

import numpy as plain

from dflow import numpy
from dflow.gluon._missing import missing
from dflow.ops.host import submit

__all__ = ["Accuracy", "BinaryAccuracy", "CompositeEvalMetric", "CrossEntropy", "CustomMetric", "EvalMetric", "F1",
           "Fbeta", "Loss", "MAE", "MCC", "MSE", "MeanCosineSimilarity", "MeanPairwiseDistance", "PCC",
           "PearsonCorrelation", "Perplexity", "RMSE", "TopKAccuracy", "alias", "check_label_shapes", "create", "np",
           "register"]

__getattr__ = missing(__name__, "Torch")


def __dir__():
    return sorted(__all__)


_registry: dict[str, type] = {}


def register(kind):
    """A class of metrics that create() knows by its name, in small letters."""
    _registry[kind.__name__.lower()] = kind
    return kind


def alias(*names):
    """Further names by which create() knows a class."""
    def decorate(kind):
        _registry.update(dict.fromkeys(names, kind))
        return kind

    return decorate


def create(metric, *args, **kwargs):
    """A metric of a name ('acc', 'rmse'), a function (CustomMetric), a list (CompositeEvalMetric), or a configuration.

    A configuration may be JSON. The further arguments are the constructor's. A metric is returned as it is.
    """
    if isinstance(metric, EvalMetric):
        return metric
    if isinstance(metric, dict):
        return create(**metric)
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    if isinstance(metric, (list, tuple)):
        return CompositeEvalMetric([create(child, *args, **kwargs) for child in metric])
    if not isinstance(metric, str):
        raise TypeError(f"a metric, or its name, is expected, not {metric!r}")
    if metric[:1] == "{":
        return create(**json.loads(metric))
    if metric.lower() not in _registry:
        raise ValueError(f"no metric is called {metric!r}; there are {', '.join(sorted(_registry))}")
    return _registry[metric.lower()](*args, **kwargs)


def check_label_shapes(labels, preds, wrap=False, shape=False):
    """Both, in lists if `wrap` and they are single arrays; ValueError unless their lengths, or shapes, are the same."""
    ours, theirs = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if ours != theirs:
        raise ValueError(f"Shape of labels {ours} does not match shape of predictions {theirs}")
    if wrap:
        labels, preds = ([x] if hasattr(x, "shape") else x for x in (labels, preds))
    return labels, preds


def _pairs(labels, preds):
    """Each array of labels with its predictions."""
    labels, preds = check_label_shapes(labels, preds, True)
    return [(numpy.asarray(label), numpy.asarray(pred)) for label, pred in zip(labels, preds)]


def _sum(x):
    return x.sum(dtype=numpy.float64)


class EvalMetric:
    """Base class: a sum over all that update() was given, and a number of instances; get() divides them.

    A subclass has an update(), or a score(label, pred) that gives one pair's share of both.
    output_names, label_names: what update_dict() picks from its dictionaries, in this order; by default all.
    """

    def __init__(self, name, output_names=None, label_names=None, **kwargs):
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._kwargs = kwargs
        self.reset()

    def __str__(self):
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self):
        """What create(**config) makes such a metric of."""
        return {**self._kwargs, "metric": type(self).__name__, "name": self.name, "output_names": self.output_names,
                "label_names": self.label_names}

    def update_dict(self, label, pred):
        """update() with the values of two dictionaries."""
        def chosen(arrays, names):
            return list(arrays.values()) if names is None else [arrays[name] for name in names]

        self.update(chosen(label, self.label_names), chosen(pred, self.output_names))

    def update(self, labels, preds):
        """Take another batch into account: arrays of labels and of predictions, in two lists, or one of each."""
        for label, pred in _pairs(labels, preds):
            self._add(*self.score(label, pred))

    def score(self, label, pred):
        """(sum, number of instances) of one array of labels and its predictions."""
        raise NotImplementedError

    def _add(self, total, instances):
        total, instances = (x.to_device("cpu") if hasattr(x, "to_device") else x for x in (total, instances))
        self.sum_metric = self.sum_metric + total
        self.num_inst = self.num_inst + instances

    def reset(self):
        """Forget all batches."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def get(self):
        """(name, value), once all batches are computed; nan without any."""
        return self.name, float(self.sum_metric / self.num_inst) if self.num_inst else math.nan

    def get_name_value(self):
        """A list of pairs (name, value)."""
        name, value = self.get()
        return list(zip(name, value)) if isinstance(name, list) else [(name, value)]


@alias("composite")
@register
class CompositeEvalMetric(EvalMetric):
    """Several metrics of the same batches; get() gives a list of names and one of values."""

    def __init__(self, metrics=None, name="composite", output_names=None, label_names=None):
        self.metrics = [create(metric) for metric in metrics or ()]
        super().__init__(name, output_names, label_names)

    def add(self, metric):
        """One more, or its name."""
        self.metrics.append(create(metric))

    def get_metric(self, index):
        """The metric with this number."""
        return self.metrics[index]

    def update_dict(self, labels, preds):
        def chosen(arrays, names):
            return arrays if names is None else {name: x for name, x in arrays.items() if name in names}

        for metric in self.metrics:
            metric.update_dict(chosen(labels, self.label_names), chosen(preds, self.output_names))

    def update(self, labels, preds):
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self):
        for metric in self.metrics:
            metric.reset()

    def get(self):
        pairs = [pair for metric in self.metrics for pair in metric.get_name_value()]
        return [name for name, _ in pairs], [value for _, value in pairs]

    def get_config(self):
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


# ---- classes


def _share_of_equal(label, pred):
    """How many predicted classes are the labels, and of how many."""
    label, pred = (x.astype(numpy.int32).reshape(-1) for x in (label, pred))
    check_label_shapes(label, pred)
    return _sum(label == pred), label.size


def _above(pred, threshold):
    """Which predictions count as positive; the threshold is a number, or one for each class."""
    if numpy.ndim(threshold) and len(threshold) != pred.shape[-1]:
        raise ValueError(f"{len(threshold)} thresholds for {pred.shape[-1]} classes")
    return pred > threshold


@alias("acc")
@register
class Accuracy(EvalMetric):
    """The share of right predictions: classes, or the likelihoods of all classes along `axis`."""

    def __init__(self, axis=1, name="accuracy", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, axis=axis)
        self.axis = axis

    def score(self, label, pred):
        return _share_of_equal(label, pred if pred.shape == label.shape else pred.argmax(axis=self.axis))


@register
class BinaryAccuracy(EvalMetric):
    """The share of right predictions of yes or no: of one class or of several, by their likelihoods."""

    def __init__(self, name="binary_accuracy", output_names=None, label_names=None, threshold=0.5):
        super().__init__(name, output_names, label_names, threshold=threshold)
        self.threshold = threshold

    def score(self, label, pred):
        return _share_of_equal(label, _above(pred, self.threshold))


@alias("top_k_accuracy", "top_k_acc")
@register
class TopKAccuracy(EvalMetric):
    """The share of labels among the `top_k` likeliest classes; `top_k` goes into the name."""

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
        return _sum(likeliest == label.astype(numpy.int32).reshape(-1, 1)), len(pred)


class _Positives(EvalMetric):
    """What counts how often each class was predicted, was the label, and both."""

    class_type, threshold = "binary", 0.5

    def reset(self):
        super().reset()
        self._classes = None
        self._hits = self._predicted = self._actual = 0.0
        self._beyond = False        # whether a label was greater than the classes allow

    def update(self, labels, preds):
        for label, pred in _pairs(labels, preds):
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
    """(1 + beta^2) precision * recall / (beta^2 precision + recall).

    class_type: 'binary', of labels 0 and 1; 'multiclass', of classes' numbers; 'multilabel', of a 0 or 1 for each
    class. threshold: from where on a likelihood is a yes. average: 'micro' counts all classes together, 'macro'
    averages the classes' scores, None gives them all.
    """

    def __init__(self, name="fbeta", output_names=None, label_names=None, class_type="binary", beta=1, threshold=0.5,
                 average="micro"):
        if class_type not in ("binary", "multiclass", "multilabel"):
            raise ValueError(f"Wrong class_type {class_type}! Only supports ['binary', 'multiclass', 'multilabel']")
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
    """The harmonic mean of precision and recall; see Fbeta."""

    def __init__(self, name="f1", output_names=None, label_names=None, class_type="binary", threshold=0.5,
                 average="micro"):
        super().__init__(name, output_names, label_names, class_type, 1, threshold, average)
        del self._kwargs["beta"]


@register
class MCC(_Positives):
    """Matthews' correlation coefficient of yes and no: 1 for all right, -1 for all wrong, 0 for chance."""

    def __init__(self, name="mcc", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def _value(self):
        hits, predicted, actual = (x.item() for x in (self._hits, self._predicted, self._actual))
        total = self.num_inst
        sides = [side for side in (predicted, actual, total - predicted, total - actual) if side]
        return (hits * total - predicted * actual) / math.sqrt(math.prod(sides))


@register
class PCC(EvalMetric):
    """Pearson's correlation of classes, told by 0 and 1 for each: of two classes it is MCC."""

    def __init__(self, name="pcc", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def reset(self):
        super().reset()
        self._pending = []          # futures of what _confusion() says of batches: values decide how many classes are
        self._counts = numpy.zeros((0, 0))

    def update(self, labels, preds):
        for label, pred in _pairs(labels, preds):
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


# ---- numbers


def _means(x):
    """The sum of the samples' means, and how many samples there are."""
    return _sum(x.reshape(len(x), -1).mean(axis=-1)), len(x)


@register
class MAE(EvalMetric):
    """The mean absolute error."""

    def __init__(self, name="mae", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def score(self, label, pred):
        return _means(abs(label - pred))


@register
class MSE(EvalMetric):
    """The mean squared error."""

    def __init__(self, name="mse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def score(self, label, pred):
        return _means((label - pred) ** 2)


@register
class RMSE(MSE):
    """The root of the mean squared error."""

    def __init__(self, name="rmse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def get(self):
        name, value = super().get()
        return name, math.sqrt(value)


@register
class MeanPairwiseDistance(EvalMetric):
    """The mean distance of predictions from labels, by the p-norm."""

    def __init__(self, name="mpd", output_names=None, label_names=None, p=2):
        super().__init__(name, output_names, label_names, p=p)
        self.p = p

    def score(self, label, pred):
        distance = abs(label - pred).reshape(len(label), -1)
        return _sum((distance ** self.p).sum(axis=-1) ** (1 / self.p)), len(label)


@register
class MeanCosineSimilarity(EvalMetric):
    """The mean cosine of the angle between predictions and labels, vectors along the last axis."""

    def __init__(self, name="cos_sim", output_names=None, label_names=None, eps=1e-8):
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def score(self, label, pred):
        label, pred = numpy.atleast_2d(label), numpy.atleast_2d(pred)
        lengths = numpy.sqrt((label * label).sum(axis=-1) * (pred * pred).sum(axis=-1))
        cosines = (label * pred).sum(axis=-1) / numpy.maximum(lengths, self.eps)
        return _sum(cosines), cosines.size


@alias("ce")
@register
class CrossEntropy(EvalMetric):
    """The mean of -log(likelihood of the label); a label that is no class has likelihood 0.

    eps: the least likelihood that counts. ignore_label: labels that do not count. axis: the classes'. from_logits:
    predictions are not likelihoods yet, but what a softmax makes them of.
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
            return _sum(losses), label.size
        counts = label != self.ignore_label
        return _sum(losses * counts), counts.sum()


@register
class Perplexity(CrossEntropy):
    """exp() of the cross entropy; the same parameters."""

    def __init__(self, eps=1e-12, ignore_label=None, axis=-1, from_logits=False, name="perplexity",
                 output_names=None, label_names=None):
        super().__init__(eps, ignore_label, axis, from_logits, name, output_names, label_names)

    def get(self):
        name, value = super().get()
        return name, math.exp(value)


@alias("pearsonr")
@register
class PearsonCorrelation(EvalMetric):
    """Pearson's correlation of all predictions with all labels."""

    def __init__(self, name="pearsonr", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def reset(self):
        super().reset()
        self._means = 0.0, 0.0                  # of labels and predictions,
        self._moments = 0.0, 0.0, 0.0           # sums of squares and of products of what differs from the means

    def update(self, labels, preds):
        for label, pred in _pairs(labels, preds):
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


@register
class Loss(EvalMetric):
    """The mean of the predictions, which are losses; labels are not looked at."""

    def __init__(self, name="loss", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def update(self, _, preds):
        for pred in [preds] if hasattr(preds, "shape") else preds:
            pred = numpy.asarray(pred)
            self._add(_sum(pred), pred.size)


@register
class CustomMetric(EvalMetric):
    """The mean of feval(label, pred), or, where it returns a tuple, of (sum, number of instances).

    allow_extra_outputs: there may be more predictions than labels; they are left out.
    """

    def __init__(self, feval, name=None, allow_extra_outputs=False, output_names=None, label_names=None):
        if name is None:
            name = f"custom({feval.__name__})" if "<" in feval.__name__ else feval.__name__
        super().__init__(name, output_names, label_names)
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels, preds):
        if self._allow_extra_outputs:
            preds = preds[:len(labels)]
        super().update(labels, preds)

    def score(self, label, pred):
        value = self._feval(label, pred)
        return value if isinstance(value, tuple) else (value, 1)

    def get_config(self):
        raise NotImplementedError("CustomMetric cannot be serialized")


def np(numpy_feval, name=None, allow_extra_outputs=False):
    """A CustomMetric of a function of NumPy arrays; its update() waits for them."""
    def feval(label, pred):
        return numpy_feval(label.asnumpy(), pred.asnumpy())

    feval.__name__ = numpy_feval.__name__
    return CustomMetric(feval, name, allow_extra_outputs)
