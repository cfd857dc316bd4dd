"""Handwriting of a kind: digits turned, sheared, shifted, blurred and noisy, read by three networks."""

import numpy
from scipy import ndimage

from dflow import autograd, gluon, init, np, npx
from dflow.gluon import nn

SMALL, FULL = (900, 5), (6000, 8)       # samples to learn from; times that they are read
GLYPHS = """
.###.  ..#..  .###.  .###.  ...#.  #####  ..##.  #####  .###.  .###.
#...#  .##..  #...#  #...#  ..##.  #....  .#...  ....#  #...#  #...#
#...#  ..#..  ....#  ....#  .#.#.  ####.  #....  ...#.  #...#  #...#
#...#  ..#..  ...#.  ..##.  #..#.  ....#  ####.  ...#.  .###.  .####
#...#  ..#..  ..#..  ....#  #####  ....#  #...#  ..#..  #...#  ....#
#...#  ..#..  .#...  #...#  ...#.  #...#  #...#  ..#..  #...#  ...#.
.###.  .###.  #####  .###.  ...#.  .###.  .###.  ..#..  .###.  .##..
"""
SIDE = 12               # pixels

npx.set_np()


def drawn(samples, rng):
    """Pictures of shape (samples, 1, SIDE, SIDE), and which digits they show."""
    rows = [line.split() for line in GLYPHS.split("\n")[1:-1]]
    glyphs = numpy.array([[list(row[k]) for row in rows] for k in range(10)]) == "#"
    digits = rng.integers(0, 10, samples)
    pictures = numpy.empty((samples, 1, SIDE, SIDE), "float32")
    middle, to = (numpy.array(glyphs.shape[1:]) - 1) / 2, numpy.full(2, (SIDE - 1) / 2)
    for picture, digit in zip(pictures, digits):
        turn, shear = rng.normal(0, 0.15, 2)
        turned = numpy.array([[numpy.cos(turn), -numpy.sin(turn)], [numpy.sin(turn), numpy.cos(turn)]])
        matrix = turned @ [[1, 0], [shear, 1]] * rng.uniform(0.6, 0.8, (2, 1))
        offset = middle - matrix @ (to + rng.uniform(-1, 1, 2))
        ndimage.affine_transform(glyphs[digit].astype("float32"), matrix, offset, output=picture[0], order=1,
                                 output_shape=(SIDE, SIDE))
        ndimage.gaussian_filter(picture[0], rng.uniform(0.2, 0.6), output=picture[0])
    return pictures + rng.normal(0, 0.1, pictures.shape).astype("float32"), digits


def linear():
    return nn.Dense(10)


def perceptron():
    net = nn.HybridSequential()
    net.add(nn.Dense(128, activation="relu"), nn.Dropout(0.2), nn.Dense(64, activation="relu"), nn.Dense(10))
    return net


def convolutional(norm=nn.BatchNorm):
    net = nn.HybridSequential()
    for channels in 16, 32:
        net.add(nn.Conv2D(channels, 3, padding=1), norm(), nn.Activation("relu"), nn.MaxPool2D(2))
    net.add(nn.Dense(64, activation="relu"), nn.Dense(10))
    return net


def learned(net, data, unseen, times):
    """The accuracy on unseen pictures after each time that the data were read."""
    net.initialize(init.Xavier())
    net.hybridize()
    loss, read = gluon.loss.SoftmaxCrossEntropyLoss(), []
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003})
    for _ in range(times):
        for pictures, digits in data:
            with autograd.record():
                error = loss(net(pictures), digits)
            error.backward()
            trainer.step(len(digits))
        accuracy = gluon.metric.Accuracy()
        for pictures, digits in unseen:
            accuracy.update(digits, net(pictures))
        read.append(accuracy.get()[1])
    return read


def main(size, seed=0):
    samples, times = size
    np.random.seed(seed)
    rng = numpy.random.default_rng(seed)
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(*drawn(samples, rng)), 50, shuffle=True)
    unseen = gluon.data.DataLoader(gluon.data.ArrayDataset(*drawn(samples // 3, rng)), 200)
    return {make.__name__: learned(make(), data, unseen, times) for make in (linear, perceptron, convolutional)}


if __name__ == "__main__":
    for name, accuracy in main(FULL).items():
        print(f"{name}:", *(f"{a:.3f}" for a in accuracy))
