"""Inference of a three-layer perceptron in single precision, batch by batch: probabilities, the most voted class."""
import numpy as np

SMALL, BENCH = 4, 250


def layer(inputs, outputs, seed):
    i = np.arange(inputs * outputs, dtype=np.float64).reshape(inputs, outputs)
    weight = (np.sin(i * 12.9898 + seed) * np.sqrt(2 / inputs)).astype(np.float32)
    return weight, np.zeros(outputs, dtype=np.float32)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def forward(x, layers):
    for weight, bias in layers[:-1]:
        x = np.maximum(x @ weight + bias, 0)
    weight, bias = layers[-1]
    return softmax(x @ weight + bias)


def main(batches):
    layers = [layer(256, 200, 0.1), layer(200, 100, 0.2), layer(100, 10, 0.3)]
    pixels = np.arange(128 * 256).reshape(128, 256)
    votes, certainty = np.zeros(10, dtype=np.float32), np.zeros(batches, dtype=np.float32)
    for k in range(batches):
        x = np.cos(pixels * (0.01 + 0.001 * k)).astype(np.float32)
        p = forward((x - x.mean()) / x.std(), layers)
        votes += p.sum(axis=0)
        certainty[k] = p.max(axis=1).mean()
    entropy = -(p * np.log(p + 1e-9)).sum(axis=1)
    return votes, votes.argmax(), certainty, p, entropy
