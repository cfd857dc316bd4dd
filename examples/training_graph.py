"""Two spirals told apart by a small network, and what a training step costs: as written, and as a graph."""

import time

import dflow
from dflow import autograd, gluon, init, np, npx
from dflow.gluon import nn

SMALL, FULL = 400, 3000         # training steps
RATE, MOMENTUM = 0.1, 0.9

npx.set_np()


def spirals(points):
    """Points in a plane, of shape (points, 2), and which of two spirals each lies on."""
    side = np.arange(points) % 2
    angle = 2 * np.pi * np.random.uniform(0.05, 1, points) ** 0.5
    turned = angle + np.pi * side
    places = np.stack([np.cos(turned), np.sin(turned)], axis=1) * (angle / 3).reshape(-1, 1)
    return places + np.random.normal(0, 0.05, places.shape), side


def network():
    net = nn.HybridSequential()
    net.add(nn.Dense(32, activation="tanh"), nn.Dense(32, activation="tanh"), nn.Dense(2))
    net.initialize(init.Xavier())
    return net


def as_written(net):
    """Of a net whose parameters have values, a function of places and sides that changes them and gives the loss."""
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    moving = [(p.data(), np.zeros(p.shape)) for p in net.collect_params().values()]

    def step(places, sides):
        with autograd.record():
            error = loss(net(places), sides).mean()
        error.backward()
        for weight, velocity in moving:
            velocity[:] = MOMENTUM * velocity - RATE * weight.grad
            weight[:] += velocity
        return error

    return step


def hybridized(net):
    """The same by MXNet's means: forward, backward and update are replayed, each by itself."""
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    net.hybridize()
    loss.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": RATE, "momentum": MOMENTUM})

    def step(places, sides):
        with autograd.record():
            error = loss(net(places), sides).mean()
        error.backward()
        trainer.step(1)
        return error

    return step


def as_a_graph(net):
    """The same, all of it replayed at once."""
    return dflow.graph(as_written(net))


def main(steps, batch=20, seed=0):
    """Of each way the losses, the share of points that are told right in the end, and microseconds a step."""
    found = {}
    for way in (as_written, hybridized, as_a_graph):
        np.random.seed(seed)
        places, sides = spirals(20 * batch)
        batches = [(places[k:k + batch], sides[k:k + batch]) for k in range(0, len(places), batch)]
        net = network()
        net(places)
        step = way(net)
        losses = [step(*batches[0])]
        npx.waitall()                       # what the first step notes is not for the clock to show
        start = time.perf_counter()
        for k in range(1, steps):
            losses.append(step(*batches[k % len(batches)]))
        npx.waitall()
        microseconds = (time.perf_counter() - start) / (steps - 1) * 1e6
        found[way.__name__] = np.stack(losses), (net(places).argmax(axis=1) == sides).mean(), microseconds
    return found


if __name__ == "__main__":
    results = main(FULL)
    for way, (losses, right, microseconds) in results.items():
        print(f"{way}: loss {float(losses[-20:].mean()):.4f}, {float(right):.1%} right, {microseconds:.0f} us a step")
    written, *others = (losses for losses, _, _ in results.values())
    print("all losses are", "equal" if all(np.array_equal(written, other) for other in others) else "not equal")
