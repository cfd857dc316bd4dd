"""gluon.metric: each metric over several batches against NumPy's value over all of them, and without waiting."""

import functools
import math

import numpy
import pytest
from engines import Gate
from test_pending import behind

import dflow.numpy as np
from dflow.gluon import metric

pytestmark = pytest.mark.once

RNG = numpy.random.default_rng(0)
N, CLASSES = 24, 5
SCORES = RNG.random((N, CLASSES)).astype(numpy.float32)
LIKELIHOODS = SCORES / SCORES.sum(axis=1, keepdims=True)
LABELS = RNG.integers(0, CLASSES, N)
CHANCES = RNG.random(N).astype(numpy.float32)
YES = RNG.integers(0, 2, N)
TAGS = RNG.integers(0, 2, (N, CLASSES))
POINTS, TARGETS = RNG.normal(size=(2, N, 3))


def fbeta(label, pred, beta=1.0):
    hits = (label & pred).sum()
    precision, recall = hits / max(pred.sum(), 1), hits / max(label.sum(), 1)
    return (1 + beta**2) * precision * recall / max(beta**2 * precision + recall, 1e-12)


def by_class(score, label, pred):
    return [score(label == c, pred == c) for c in range(CLASSES)]


def cross_entropy(label, likelihoods, ignored=None):
    picked = likelihoods[numpy.arange(len(label)), label]
    return -numpy.log(picked[label != ignored] if ignored is not None else picked).mean()


def softmax(x):
    return numpy.exp(x) / numpy.exp(x).sum(axis=1, keepdims=True)


def classes_correlation(labels, preds):
    x, y = (numpy.eye(CLASSES)[classes] - numpy.eye(CLASSES)[classes].mean(axis=0) for classes in (labels, preds))
    return (x * y).sum() / math.sqrt((x * x).sum() * (y * y).sum())


# How it is made, labels, predictions, and its name and value by NumPy.
CASES = {
    "accuracy": (metric.Accuracy, LABELS, SCORES, (SCORES.argmax(1) == LABELS).mean()),
    "accuracy of classes": (metric.Accuracy, YES, CHANCES.round(), (CHANCES.round() == YES).mean()),
    "accuracy along an axis": (lambda: metric.Accuracy(axis=2), TAGS[:, :3], numpy.stack([POINTS, TARGETS], axis=2),
                               ((TARGETS > POINTS) == TAGS[:, :3]).mean()),
    "binary accuracy": (metric.BinaryAccuracy, YES, CHANCES, ((CHANCES > 0.5) == YES).mean()),
    "thresholds": (lambda: metric.BinaryAccuracy(threshold=numpy.linspace(0.1, 0.9, CLASSES)), TAGS, SCORES,
                   ((numpy.linspace(0.1, 0.9, CLASSES) < SCORES) == TAGS).mean()),
    "top k": (lambda: metric.TopKAccuracy(3), LABELS, SCORES,
              (SCORES.argsort(axis=1)[:, -3:] == LABELS[:, None]).any(axis=1).mean()),
    "more than all": (lambda: metric.TopKAccuracy(CLASSES + 1), LABELS, SCORES, 1),
    "f1": (metric.F1, YES, CHANCES, fbeta(YES == 1, CHANCES > 0.5)),
    "f1 of two columns": (metric.F1, YES, numpy.stack([1 - CHANCES, CHANCES], axis=1), fbeta(YES == 1, CHANCES > 0.5)),
    "f1 of none": (metric.F1, YES * 0, CHANCES * 0, 0),
    "f1 micro": (lambda: metric.F1(class_type="multiclass"), LABELS, SCORES, (SCORES.argmax(1) == LABELS).mean()),
    "f1 macro": (lambda: metric.F1(class_type="multiclass", average="macro"), LABELS, SCORES,
                 numpy.mean(by_class(fbeta, LABELS, SCORES.argmax(1)))),
    "f1 of each": (lambda: metric.F1(class_type="multiclass", average=None), LABELS, SCORES,
                   by_class(fbeta, LABELS, SCORES.argmax(1))),
    "fbeta": (lambda: metric.Fbeta(beta=2, threshold=0.3), YES, CHANCES, fbeta(YES == 1, CHANCES > 0.3, 2)),
    "fbeta of tags": (lambda: metric.Fbeta(class_type="multilabel", beta=0.5), TAGS, SCORES,
                      fbeta(TAGS == 1, SCORES > 0.5, 0.5)),
    "mcc": (metric.MCC, YES, CHANCES, numpy.corrcoef(YES, CHANCES > 0.5)[0, 1]),
    "mcc of one side": (metric.MCC, YES * 0, CHANCES, 0),
    "pcc": (metric.PCC, LABELS, SCORES, classes_correlation(LABELS, SCORES.argmax(1))),
    "pcc of two": (metric.PCC, YES, CHANCES > 0.5, numpy.corrcoef(YES, CHANCES > 0.5)[0, 1]),
    "mae": (metric.MAE, TARGETS, POINTS, abs(TARGETS - POINTS).mean()),
    "mse": (metric.MSE, TARGETS, POINTS, ((TARGETS - POINTS) ** 2).mean()),
    "rmse": (metric.RMSE, TARGETS, POINTS, math.sqrt(((TARGETS - POINTS) ** 2).mean())),
    "distance": (metric.MeanPairwiseDistance, TARGETS, POINTS, numpy.linalg.norm(TARGETS - POINTS, axis=1).mean()),
    "distance by the 1-norm": (lambda: metric.MeanPairwiseDistance(p=1), TARGETS, POINTS,
                               abs(TARGETS - POINTS).sum(axis=1).mean()),
    "cosine": (metric.MeanCosineSimilarity, TARGETS, POINTS,
               numpy.mean([x @ y / numpy.linalg.norm(x) / numpy.linalg.norm(y) for x, y in zip(TARGETS, POINTS)])),
    "cross entropy": (metric.CrossEntropy, LABELS, LIKELIHOODS, cross_entropy(LABELS, LIKELIHOODS)),
    "of impossible labels": (metric.CrossEntropy, LABELS * 0, LIKELIHOODS * [0, 1, 1, 1, 1], -math.log(1e-12)),
    "logits": (lambda: metric.CrossEntropy(from_logits=True), LABELS, SCORES * 9,
               cross_entropy(LABELS, softmax(SCORES * 9))),
    "ignored": (lambda: metric.CrossEntropy(ignore_label=2), LABELS, LIKELIHOODS,
                cross_entropy(LABELS, LIKELIHOODS, 2)),
    "ignored, no class": (lambda: metric.CrossEntropy(ignore_label=99), numpy.where(LABELS == 2, 99, LABELS),
                          LIKELIHOODS, cross_entropy(LABELS, LIKELIHOODS, 2)),
    "classes first": (lambda: metric.CrossEntropy(axis=1), TAGS[:, :3],
                      numpy.stack([LIKELIHOODS[:, :3], LIKELIHOODS[:, 1:4]], axis=1),
                      -numpy.log(numpy.where(TAGS[:, :3], LIKELIHOODS[:, 1:4], LIKELIHOODS[:, :3])).mean()),
    "perplexity": (metric.Perplexity, LABELS, LIKELIHOODS, math.exp(cross_entropy(LABELS, LIKELIHOODS))),
    "pearson": (metric.PearsonCorrelation, TARGETS, POINTS + 1000, numpy.corrcoef(TARGETS.flat, POINTS.flat)[0, 1]),
    "loss": (metric.Loss, YES, POINTS, POINTS.mean()),
    "custom": (lambda: metric.create(lambda label, pred: (abs(label - pred).sum(), label.size)), TARGETS, POINTS,
               abs(TARGETS - POINTS).mean()),
    "custom mean": (lambda: metric.create(lambda label, pred: (label - pred).mean()), TARGETS, POINTS,
                    (TARGETS - POINTS).mean()),
}


def parts(array, number=3):
    return numpy.split(array, number)


@pytest.mark.parametrize("case", CASES)
def test_values(case):
    make, labels, preds, expected = CASES[case]
    whole, batches = make(), make()
    assert math.isnan(batches.get()[1])
    whole.update(np.array(labels), np.array(preds))
    for label, pred in zip(parts(labels), parts(preds)):
        batches.update([np.array(label)], [np.array(pred)])
    for found in (whole, batches):
        numpy.testing.assert_allclose(numpy.asarray(found.get()[1]), expected, rtol=2e-6)
    batches.reset()
    assert math.isnan(batches.get()[1])
    batches.update(parts(labels), parts(preds))             # NumPy's arrays, in lists
    numpy.testing.assert_allclose(numpy.asarray(batches.get()[1]), expected, rtol=2e-6)


@pytest.mark.parametrize("case", CASES)
def test_update_does_not_wait(case):
    make, labels, preds, expected = CASES[case]
    found = make()
    with Gate() as gate:
        start = gate.hold()
        for label, pred in zip(parts(labels), parts(preds)):
            found.update([behind(start, np.array(label))], [behind(start, np.array(pred))])
        assert not gate.opened.is_set()
        gate.open()
        numpy.testing.assert_allclose(numpy.asarray(found.get()[1]), expected, rtol=2e-6)


def test_numpy_functions():
    found = metric.np(lambda label, pred: numpy.linalg.norm(label - pred), name="norm")
    found.update([np.array(TARGETS)], [np.array(POINTS)])
    assert found.get() == ("norm", float(numpy.linalg.norm(TARGETS - POINTS)))


def test_custom_metrics_leave_out_what_has_no_label():
    found = metric.CustomMetric(lambda label, pred: (label == pred).sum(), "same", allow_extra_outputs=True)
    found.update([np.arange(3)], [np.arange(3), np.zeros(5)])
    assert found.get() == ("same", 3.0)
    with pytest.raises(NotImplementedError):
        found.get_config()


def test_create():
    assert isinstance(metric.create("acc"), metric.Accuracy) and isinstance(metric.create("RMSE"), metric.RMSE)
    assert metric.create("top_k_acc", top_k=2).name == "top_k_accuracy_2"
    several = metric.create(["mae", metric.MSE(name="squares")])
    several.add("rmse")
    several.update([np.zeros(4)], [np.full(4, 3.0)])
    assert several.get() == (["mae", "squares", "rmse"], [3.0, 9.0, 3.0])
    assert several.get_name_value() == [("mae", 3.0), ("squares", 9.0), ("rmse", 3.0)]
    assert str(several.get_metric(1)) == "EvalMetric: {'squares': 9.0}"
    with pytest.raises(ValueError, match="no metric is called 'nonsense'; there are acc, accuracy"):
        metric.create("nonsense")
    with pytest.raises(TypeError):
        metric.create(3)


@pytest.mark.parametrize("made", [
    metric.Accuracy(axis=2, name="a", label_names=["y"]), metric.TopKAccuracy(3), metric.F1(average=None),
    metric.Fbeta(beta=3), metric.Perplexity(ignore_label=1), metric.create(["acc", metric.MeanPairwiseDistance(p=3)]),
])
def test_configurations(made):
    again = metric.create(**made.get_config())
    assert type(again) is type(made) and again.get_config() == made.get_config() and again.name == made.name


def test_dictionaries():
    labels, preds = {"x": np.zeros(2), "y": np.ones(2)}, {"a": np.zeros(2), "b": np.full(2, 3.0)}
    found = metric.MAE(output_names=["b"], label_names=["y"])
    found.update_dict(labels, preds)
    assert found.get() == ("mae", 2.0)
    every = metric.CompositeEvalMetric(["mae"], output_names=["b"], label_names=["x"])
    every.update_dict(labels, preds)
    assert every.get() == (["mae"], [3.0])


def test_metrics_of_ones_own():
    @metric.alias("biggest_error")
    @metric.register
    class Biggest(metric.EvalMetric):
        def __init__(self):
            super().__init__("biggest")

        def update(self, labels, preds):
            for label, pred in zip(labels, preds):
                self.sum_metric = np.maximum(self.sum_metric, abs(label - pred).max())
            self.num_inst = 1

    try:
        found = metric.create("biggest_error")
        found.update([np.array([1, 5.0])], [np.array([3, 4.0])])
        assert found.get() == ("biggest", 2.0) and type(metric.create("biggest")) is Biggest
    finally:
        del metric._registry["biggest"], metric._registry["biggest_error"]


@pytest.mark.parametrize("made, label, pred", [
    (metric.Accuracy(), [1, 2, 3], SCORES), (metric.TopKAccuracy(2), YES, CHANCES), (metric.F1(), LABELS, SCORES),
    (metric.CrossEntropy(), LABELS[1:], SCORES), (metric.PearsonCorrelation(), CHANCES, SCORES),
    (metric.F1(class_type="multilabel"), YES, SCORES), (metric.BinaryAccuracy(threshold=[0.1, 0.2]), TAGS, SCORES),
])
def test_shapes_that_do_not_match(made, label, pred):
    with pytest.raises(ValueError):
        made.update([np.array(label)], [np.array(pred)])


def test_arguments_that_make_no_sense():
    with pytest.raises(ValueError, match="top_k"):
        metric.TopKAccuracy(1)
    with pytest.raises(ValueError, match="class_type"):
        metric.F1(class_type="none")
    with pytest.raises(ValueError, match="does not match"):
        metric.MAE().update([np.zeros(2)], [])


def test_labels_that_no_class_has_are_told_by_get():
    found = metric.F1()
    found.update([np.array([0, 2])], [np.array([0.1, 0.9])])
    with pytest.raises(ValueError, match="Wrong label"):
        found.get()
    found = metric.F1(class_type="multiclass")
    found.update([np.array([0, 5])], [np.array(SCORES[:2])])
    with pytest.raises(ValueError, match="fewer classes"):
        found.get()
    with pytest.raises(ValueError, match="changed from 5 to 3"):
        found.update([np.array([0, 1])], [np.array(SCORES[:2, :3])])


@pytest.mark.parametrize("kind, expected", [("MAE", 0.5), ("MSE", 0.25), ("RMSE", 0.5), ("MeanPairwiseDistance", 0.5)])
def test_numbers_beside_columns_are_pairs(kind, expected):
    for shape, other in ((3,), (3, 1)), ((3, 1), (3,)), ((3,), (3,)), ((3, 1), (3, 1)):
        made = getattr(metric, kind)()
        made.update(np.array([1.0, 2, 3]).reshape(shape), np.array([1.5, 2.5, 3.5]).reshape(other))
        assert made.get()[1] == pytest.approx(expected)


def test_a_custom_metric_of_what_has_no_name():
    made = metric.CustomMetric(functools.partial(lambda k, label, pred: k, 3))
    made.update(np.ones(2), np.ones(2))
    assert made.get() == ("partial", 3)


def test_bad_averages():
    with pytest.raises(ValueError, match="average must be 'micro', 'macro' or None, not 'most'"):
        metric.F1(average="most")


@pytest.mark.parametrize("kind", ["MAE", "MSE", "MeanPairwiseDistance"])
def test_a_batch_of_nothing_counts_as_nothing(kind):
    made = getattr(metric, kind)()
    made.update(np.zeros((0, 2)), np.zeros((0, 2)))
    made.update(np.zeros((2, 2)), np.ones((2, 2)))
    assert made.get()[1] == pytest.approx({"MAE": 1, "MSE": 1, "MeanPairwiseDistance": math.sqrt(2)}[kind])
