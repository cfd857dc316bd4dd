"""Weights found again behind noise, by stochastic gradient descent: from scratch, then with gluon."""

from dflow import autograd, gluon, init, np, npx
from dflow.gluon import nn

SMALL, FULL = 1000, 10000       # samples
W, B = [2, -3.4, 1.7], 4.2
NOISE = 0.01

npx.set_np()


def synthetic(samples):
    """Features, and labels that depend on them linearly but for noise."""
    x = np.random.normal(0, 1, (samples, len(W)))
    y = x @ np.array(W) + B
    return x, y + np.random.normal(0, NOISE, y.shape)


def batches(x, y, size):
    order = np.random.permutation(len(x))
    for k in range(0, len(x), size):
        chosen = order[k:k + size]
        yield x[chosen], y[chosen]


def from_scratch(x, y, times, size, rate):
    """Weights, bias and the loss after each time that the data were read."""
    w, b = np.random.normal(0, 0.01, len(W)), np.zeros(1)
    for parameter in (w, b):
        parameter.attach_grad()
    losses = []
    for _ in range(times):
        for features, labels in batches(x, y, size):
            with autograd.record():
                loss = (features @ w + b - labels) ** 2 / 2
            loss.backward()
            for parameter in (w, b):
                parameter[:] -= rate / len(labels) * parameter.grad
        losses.append(((x @ w + b - y) ** 2 / 2).mean())
    return w, b, losses


def with_gluon(x, y, times, size, rate):
    net, l2 = nn.Dense(1), gluon.loss.L2Loss()
    net.initialize(init.Normal(0.01))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rate})
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(x, y), size, shuffle=True)
    losses = []
    for _ in range(times):
        for features, labels in data:
            with autograd.record():
                loss = l2(net(features), labels)
            loss.backward()
            trainer.step(len(labels))
        losses.append(l2(net(x), y).mean())
    return net.weight.data()[0], net.bias.data(), losses


def main(samples, times=3, size=10, rate=0.03, seed=0):
    """Of each way the losses, and how far the weights and the bias are from those that made the data."""
    np.random.seed(seed)
    x, y = synthetic(samples)
    found = {}
    for learn in (from_scratch, with_gluon):
        w, b, losses = learn(x, y, times, size, rate)
        found[learn.__name__] = np.stack(losses), w - np.array(W), b - B       # pending
    return found


if __name__ == "__main__":
    for name, (losses, w, b) in main(FULL).items():
        print(f"{name}: loss", *(f"{float(loss):.6f}" for loss in losses))
        print("errors of the weights", *(f"{float(e):.0e}" for e in w), "and of the bias", f"{float(b[0]):.0e}")
