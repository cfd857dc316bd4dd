"""What all metrics have, those of several, of losses and of functions of yours."""

import json
import math

from dflow import numpy

_registry: dict[str, type] = {}


def register(kind):
    """Makes create() know a class of metrics by its name, in small letters: a decorator.

    Parameters
    ----------
    kind : type
        A subclass of EvalMetric.

    Returns
    -------
    type
        The class itself.

    Examples
    --------
    >>> @gluon.metric.register
    ... class Off(gluon.metric.EvalMetric):
    ...     def score(self, label, pred):
    ...         return abs(label - pred).sum(), label.size
    >>> off = gluon.metric.create("off", name="how far off")
    >>> off.update(np.array([1.0, 2.0]), np.array([2.0, 4.0]))
    >>> off.get()
    ('how far off', 1.5)
    """
    _registry[kind.__name__.lower()] = kind
    return kind


def alias(*names):
    """Gives a class of metrics further names by which create() knows it: a decorator.

    Parameters
    ----------
    *names : str
        The names, as create() is given them, in small letters.

    Returns
    -------
    function
        It takes the class, and returns it.

    Examples
    --------
    >>> @gluon.metric.alias("off_by", "distance")
    ... @gluon.metric.register
    ... class OffBy(gluon.metric.MAE):
    ...     pass
    >>> type(gluon.metric.create("distance")) is OffBy
    True
    """
    def decorate(kind):
        _registry.update(dict.fromkeys(names, kind))
        return kind

    return decorate


def create(metric, *args, **kwargs):
    """Makes a metric of a name, of a function, of a list of such, or of a configuration.

    Parameters
    ----------
    metric : str, callable, list, tuple, dict or EvalMetric
        A name as 'acc' or 'rmse', that of a class or one of its aliases, in small or capital letters; a function, of
        which CustomMetric is made; a list, of which CompositeEvalMetric is made; a configuration, which get_config()
        gives, as it is or as JSON. A metric is returned as it is.
    *args
        What the class is made with.
    **kwargs
        The same, by name. Each metric of a list gets them all.

    Returns
    -------
    EvalMetric
        The metric.

    Raises
    ------
    ValueError
        For a name that no metric has.
    TypeError
        For anything else than the above, or for arguments that the class does not take.

    Examples
    --------
    >>> gluon.metric.create("top_k_acc", top_k=3).name
    'top_k_accuracy_3'
    >>> both = gluon.metric.create(["mse", lambda label, pred: abs(label - pred).max()])
    >>> both.update(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    >>> both.get()
    (['mse', 'custom(<lambda>)'], [2.0, 2.0])
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
    """Checks that labels and predictions are as many: their lengths, or their shapes.

    Parameters
    ----------
    labels : ndarray or list of ndarray
        Labels.
    preds : ndarray or list of ndarray
        Predictions.
    wrap : bool
        Put a single array into a list.
    shape : bool
        Compare the shapes of two arrays, and not their lengths alone.

    Returns
    -------
    tuple
        (labels, preds), in lists if `wrap` and they are single arrays.

    Raises
    ------
    ValueError
        Where they differ.

    Examples
    --------
    >>> gluon.metric.check_label_shapes(np.zeros(3), np.zeros((3, 2)), wrap=True)
    ([array([0., 0., 0.])], [array([[0., 0.],
           [0., 0.],
           [0., 0.]])])
    >>> gluon.metric.check_label_shapes(np.zeros(3), np.zeros((3, 2)), shape=True)
    Traceback (most recent call last):
        ...
    ValueError: Shape of labels (3,) does not match shape of predictions (3, 2)
    """
    ours, theirs = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if ours != theirs:
        raise ValueError(f"Shape of labels {ours} does not match shape of predictions {theirs}")
    if wrap:
        labels, preds = ([x] if hasattr(x, "shape") else x for x in (labels, preds))
    return labels, preds


def pairs(labels, preds):
    """Each array of labels with its predictions."""
    labels, preds = check_label_shapes(labels, preds, True)
    return [(numpy.asarray(label), numpy.asarray(pred)) for label, pred in zip(labels, preds)]


def summed(x):
    return x.sum(dtype=numpy.float64)


class EvalMetric:
    """Base class of metrics: a sum over all that update() was given, and a number of instances, which get() divides.

    A subclass has an update(), or a score(label, pred) that gives one pair's share of both. update() submits its work
    and returns; get() waits for it. reset() forgets all batches.

    Parameters
    ----------
    name : str
        What get() calls it.
    output_names : list of str, optional
        Which predictions update_dict() takes from its dictionary, in this order. None: all.
    label_names : list of str, optional
        Which labels it takes. None: all.
    **kwargs
        What get_config() has besides: arguments of the subclass.

    Raises
    ------
    NotImplementedError
        By update(), of a class that has neither an update() nor a score() of its own.
    ValueError
        By update(), for lists of labels and predictions, or arrays, of different lengths.

    Examples
    --------
    >>> class Biggest(gluon.metric.EvalMetric):
    ...     def score(self, label, pred):
    ...         return abs(label - pred).max(), 1
    >>> biggest = Biggest("biggest")
    >>> biggest.update(np.array([1.0, 2.0]), np.array([2.0, 5.0]))
    >>> biggest.update([np.array([0.0])], [np.array([1.0])])
    >>> biggest.get()
    ('biggest', 2.0)
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
        for label, pred in pairs(labels, preds):
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
    """Several metrics of the same batches; get() gives a list of names and one of values.

    Parameters
    ----------
    metrics : list, optional
        Metrics, or what create() makes metrics of. add() takes one more.
    name, output_names, label_names : optional
        See EvalMetric: of update_dict()'s dictionaries, all the metrics are given what these names choose.

    Raises
    ------
    ValueError
        For a name that no metric has.

    Examples
    --------
    >>> both = gluon.metric.CompositeEvalMetric(["acc", gluon.metric.TopKAccuracy(2)])
    >>> both.update(np.array([0, 2]), np.array([[0.5, 0.3, 0.2], [0.1, 0.5, 0.4]]))
    >>> both.get()
    (['accuracy', 'top_k_accuracy_2'], [0.5, 1.0])
    >>> both.get_metric(0).get()
    ('accuracy', 0.5)
    """

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


@register
class Loss(EvalMetric):
    """The mean of the predictions, which are losses, over all of their elements; labels are not looked at.

    Parameters
    ----------
    name, output_names, label_names : optional
        What get() calls it, and what update_dict() takes: see EvalMetric.

    Examples
    --------
    >>> mean = gluon.metric.Loss()
    >>> mean.update(None, np.array([1.0, 2.0]))
    >>> mean.update(None, [np.array([6.0])])
    >>> mean.get()
    ('loss', 3.0)
    """

    def __init__(self, name="loss", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def update(self, _, preds):
        for pred in [preds] if hasattr(preds, "shape") else preds:
            pred = numpy.asarray(pred)
            self._add(summed(pred), pred.size)


@register
class CustomMetric(EvalMetric):
    """The mean of what a function says of each array of labels and its predictions.

    The function is called by update(), of arrays of dflow: what it computes of them is not waited for. MXNet 1
    gives it NumPy's arrays; for these there is np().

    Parameters
    ----------
    feval : callable
        feval(label, pred) gives a value, or a tuple of a sum and the number of instances in it.
    name : str, optional
        What get() calls it: the name of the function by default, 'custom(<lambda>)' where it has none.
    allow_extra_outputs : bool
        There may be more predictions than labels; they are left out.
    output_names, label_names : list of str, optional
        What update_dict() takes: see EvalMetric.

    Raises
    ------
    NotImplementedError
        By get_config(): a function is no configuration.

    Examples
    --------
    >>> def furthest(label, pred):
    ...     return abs(label - pred).max()
    >>> metric = gluon.metric.CustomMetric(furthest)
    >>> metric.update(np.array([1.0, 2.0]), np.array([1.5, 4.0]))
    >>> metric.get()
    ('furthest', 2.0)
    """

    def __init__(self, feval, name=None, allow_extra_outputs=False, output_names=None, label_names=None):
        if name is None:
            name = getattr(feval, "__name__", type(feval).__name__)
            name = f"custom({name})" if "<" in name else name
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
    """Makes a metric of a function of NumPy's arrays; its update() waits for labels and predictions.

    Parameters
    ----------
    numpy_feval : callable
        numpy_feval(label, pred) gives a value, or a tuple of a sum and the number of instances in it.
    name : str, optional
        What get() calls it: the name of the function by default.
    allow_extra_outputs : bool
        There may be more predictions than labels; they are left out.

    Returns
    -------
    CustomMetric
        The metric.

    Examples
    --------
    >>> def median(label, pred):
    ...     return float(numpy.median(abs(label - pred)))
    >>> metric = gluon.metric.np(median)
    >>> metric.update(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.5, 9.0]))
    >>> metric.get()
    ('median', 0.5)
    """
    def feval(label, pred):
        return numpy_feval(label.asnumpy(), pred.asnumpy())

    feval.__name__ = getattr(numpy_feval, "__name__", type(numpy_feval).__name__)
    return CustomMetric(feval, name, allow_extra_outputs)
