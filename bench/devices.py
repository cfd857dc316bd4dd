"""Automatic parallelism, of the seed documents: two devices at once, copies under products, a training step over both.

Devices of the CPU have workers of their own here: one each for cpu(0) and cpu(1), and two for cpu(2), which trains
alone. Where there is a GPU, it takes its turn. What the device layer costs small operations shows in `increment`,
`small` and `views`. bench/results/devices.png has what ran on which lane, and when.
"""
import dflow
import dflow.numpy
from dflow import autograd, cpu, gluon

from .limits import workers
from .registry import Row, experiment, row_of
from .timing import Side, interleaved

ALONE = cpu(2)
POOLS = {cpu(1): 1, ALONE: 2}
WIDTHS = (784, 512, 512, 10)


def pairs():
    """Devices to compute on at once. The seed copies from the first one to the second."""
    yield cpu(0), cpu(1)
    if dflow.num_gpus():
        yield dflow.gpu(0), cpu(0)


def matrix(size, device):
    size *= 3 if device.device_type == "gpu" else 1     # as in the seed
    return dflow.numpy.random.uniform(size=(size, size)).as_in_ctx(device)


def products(x):
    """The seed's run()."""
    return [x.dot(x) for _ in range(10)]


def copies(arrays, device):
    return [y.copyto(device) for y in arrays]


def computation(run, size):
    for first, second in pairs():
        yield from at_once(run, size, 1.1, f"10 dots of {size} x {size}", {
            f"{first}": "products(x)",
            f"{second}": "products(y)",
            f"{first} and {second}": "products(x), products(y)",
        }, x=matrix(size, first), y=matrix(size, second), products=products)


def communication(run, size):
    for first, second in pairs():
        x = matrix(size, first)
        yield from at_once(run, size, 1.15, f"10 dots of {size} x {size}", {
            f"computed on {first}": "products(x)",
            f"copied to {second}": "copies(done, second)",
            "computed and copied": "(made := products(x)), copies(made, second)",
        }, x=x, done=products(x), second=second, products=products, copies=copies)


def at_once(run, size, limit, label, works, finish="waitall()", **names):
    """Rows of two works, and of both without a wait in between, which should take no longer than the longer one."""
    sides = {work: Side(f"kept = {stmt}", finish, waitall=dflow.waitall, **names) for work, stmt in works.items()}
    timings = interleaved(sides, run.repeat(7), 1)
    *alone, both = works
    for work in alone:
        timing = timings[work]
        yield Row(f"{label}, {work}", timing.total * 1e3, "ms", dflow=timing.total, submit=timing.submit,
                  wait=timing.wait, size=size)
    longer = max(alone, key=lambda work: timings[work].total)
    yield row_of(f"{label}, {both}", timings[both], timings[longer], limit=limit, note=f"base: {longer}", size=size,
                 events=_events(sides[both]))


def _events(side):
    """What ran where in one more run, from the first start on."""
    with dflow.engine.timeline() as events:
        side.run(1)
    first = min(event.start for event in events)
    return sorted(event._replace(start=event.start - first, stop=event.stop - first) for event in events)


class Learner:
    """A network and its trainer, whose batches are shared out over devices."""

    def __init__(self, devices):
        self.devices = devices
        self.net = gluon.nn.Sequential()
        for width in WIDTHS[1:-1]:
            self.net.add(gluon.nn.Dense(width, activation="relu"))
        self.net.add(gluon.nn.Dense(WIDTHS[-1]))
        self.net.initialize(ctx=devices)
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss()
        self.trainer = gluon.Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.1})

    def step(self, x, y):
        parts = [gluon.utils.split_and_load(values, self.devices) for values in (x, y)]
        with autograd.record():
            losses = [self.loss(self.net(some), labels) for some, labels in zip(*parts, strict=True)]
        for loss in losses:
            loss.backward()
        self.trainer.step(len(x))


def training(run, size):
    batch = size // 2 * 2
    x = dflow.numpy.random.uniform(size=(batch, WIDTHS[0])).astype("float32")
    y = dflow.numpy.random.randint(0, WIDTHS[-1], size=batch)
    sides = {words: Side("learner.step(x, y)", "waitall()", learner=Learner(devices), x=x, y=y, waitall=dflow.waitall)
             for words, devices in (("one", [ALONE]), ("two", [cpu(0), cpu(1)]))}
    timings = interleaved(sides, run.repeat(9), 5)
    yield row_of(f"training {'-'.join(map(str, WIDTHS))}, batch {batch}, {cpu(0)} and {cpu(1)}", timings["two"],
                 timings["one"], limit=1.15, note="base: one device with two workers", size=size,
                 events=_events(sides["two"]))


PARTS = {"computation": computation, "communication": communication, "training": training}


@experiment("devices", "two devices at once, copies under products, training over both: against one alone",
            limit="1.1, 1.15, 1.15 x", sizes=(1000,), size_is="rows of matrices and of a batch (the seed has 2,000)",
            parts=PARTS)
def devices(run):
    with workers(1, POOLS):
        for size in run.sizes:
            for name in run.only or PARTS:
                yield from PARTS[name](run, size)
