"""Two processes train a network that reads the digits of digits.py, each with its part of each batch: what comes out is
what one process makes of the whole batches, but for the order of sums."""

import sys
from pathlib import Path

import numpy

import dflow
from dflow import autograd, gluon, init, np, npx
from dflow.gluon import nn

sys.path.append(str(Path(__file__).resolve().parent.parent))    # for `python examples/digits_on_ranks.py`
from examples import digits  # noqa: E402

SMALL, FULL = (300, 2), (1000, 3)       # samples to learn from; times that they are read
RANKS, BATCH = 2, 50                    # processes; samples that they read before a step, together

npx.set_np()


def network():
    """GroupNorm's means are those of a sample. BatchNorm's would be those of a rank's part of the batch, and Dropout
    would draw on each rank for itself: that trains as well, but is not what one process does.

    In doubles: of single precision a few hundred steps make another network of another last bit.
    """
    net = digits.convolutional(nn.GroupNorm)
    net.cast("float64")
    net.initialize(init.Xavier())
    net.hybridize()
    return net


def trained(data, unseen, times, ranks=1, kvstore=None):
    """The parameters in the end, and the accuracy on unseen pictures: what each rank runs, and one process alone."""
    np.random.seed(0)
    net, loss, accuracy = network(), gluon.loss.SoftmaxCrossEntropyLoss(), gluon.metric.Accuracy()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003}, kvstore=kvstore)
    own = gluon.data.SplitSampler(len(data))            # a rank's part of each epoch; alone, all of it
    for _ in range(times):
        for pictures, shown in gluon.data.DataLoader(data, BATCH // ranks, sampler=own):
            with autograd.record():
                error = loss(net(pictures), shown)
            error.backward()
            trainer.step(ranks * len(shown))            # gradients are sums over the whole batch
    for pictures, shown in gluon.data.DataLoader(unseen, 200):
        accuracy.update(shown, net(pictures))
    return {name: p.data().asnumpy() for name, p in net.collect_params().items()}, accuracy.get()[1]


def on_ranks(*args):
    """What trained() gives, of each of the processes."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        sys.exit("digits_on_ranks needs Dask's distributed: pip install 'dflow[distributed]'")
    with (LocalCluster(n_workers=RANKS, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
          Client(cluster) as client):
        dflow.distributed.setup(client)
        return dflow.distributed.run(client, trained, *args, RANKS, "dist_sync")


def samples(count, rng):
    pictures, shown = digits.drawn(count, rng)
    return gluon.data.ArrayDataset(pictures.astype("float64"), shown)


def main(size):
    """How much of the unseen is read right, by each rank and by the one process; whether the ranks' parameters have the
    same bits; how far the one's are from these, as a share of the greatest of each array."""
    count, times = size
    rng = numpy.random.default_rng(0)
    data, unseen = samples(count, rng), samples(count // 3, rng)
    ranks = on_ranks(data, unseen, times)
    alone, right = trained(data, unseen, times)
    first = ranks[0][0]
    equal = all(first[name].tobytes() == x.tobytes() for parameters, _ in ranks for name, x in parameters.items())
    apart = max(abs(first[name] - x).max() / abs(x).max() for name, x in alone.items())
    return [accuracy for _, accuracy in ranks], right, equal, apart


if __name__ == "__main__":
    ranks, alone, equal, apart = main(FULL)
    for rank, accuracy in enumerate(ranks):
        print(f"rank {rank}: {accuracy:.1%} right")
    print(f"one process: {alone:.1%} right")
    print("the ranks' parameters have", "the same bits" if equal else "other bits")
    print(f"those of one process differ from them by {apart:.0e} of the greatest one at most")
