"""What an Estimator does with one batch."""

from dflow import autograd
from dflow.gluon.utils import split_and_load

__all__ = ["BatchProcessor"]


def __dir__():
    return sorted(__all__)


class BatchProcessor:
    """Computes what an Estimator needs of each batch; a subclass may change how.

    fit_batch(estimator, train_batch, batch_axis) computes predictions, losses and gradients, which are not used yet;
    evaluate_batch(estimator, val_batch, batch_axis) predictions and losses. Both return (data, labels, predictions,
    losses), lists with a part for each device. Neither waits. It has no parameters.

    Examples
    --------
    >>> from dflow.gluon.contrib import estimator as es
    >>> net = gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> loader = gluon.data.DataLoader(gluon.data.ArrayDataset(np.ones((8, 2)), np.ones((8, 1))), batch_size=4)
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> est = es.Estimator(net, gluon.loss.L2Loss(), gluon.metric.MSE(), trainer=trainer)
    >>> est.logger.setLevel("WARNING")
    >>> data, label, pred, loss = es.BatchProcessor().fit_batch(est, next(iter(loader)))
    >>> print(pred[0].shape, loss[0].shape, net.weight.grad().shape)
    (4, 1) (4,) (1, 2)
    """

    def _get_data_and_label(self, batch, device, batch_axis=0):
        """The parts of data and labels, on their devices."""
        data, label = batch[0], batch[1]
        return tuple(split_and_load(x, device, batch_axis, even_split=False) for x in (data, label))

    def evaluate_batch(self, estimator, val_batch, batch_axis=0):
        """(data, labels, predictions, losses) of a batch, without training."""
        data, label = self._get_data_and_label(val_batch, estimator.device, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        return data, label, pred, [estimator.val_loss(y, t) for y, t in zip(pred, label)]

    def fit_batch(self, estimator, train_batch, batch_axis=0):
        """The same in training; the gradients are computed, and not used yet."""
        data, label = self._get_data_and_label(train_batch, estimator.device, batch_axis)
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(y, t) for y, t in zip(pred, label)]
        autograd.backward(loss)
        return data, label, pred, loss
