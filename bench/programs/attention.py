"""Two layers of a causal transformer: layer norm, multi-head attention, a feed-forward block with GELU."""
import numpy as np

SMALL, BENCH = 8, 512
WIDTH, HEADS = 64, 4


def weights(rows, columns, seed):
    i = np.arange(rows)[:, None] + rows * np.arange(columns)
    return (np.sin(i * 12.9898 + seed) / np.sqrt(rows)).astype(np.float32)


def normalize(x):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)


def split(x):
    return x.reshape(len(x), HEADS, -1).transpose(1, 0, 2)


def attend(x, seed):
    q, k, v = (split(x @ weights(WIDTH, WIDTH, seed + i)) for i in range(3))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]).astype(np.float32)
    future = np.triu(np.ones(scores.shape[1:], dtype=bool), 1)
    scores = np.where(future, np.float32(-1e9), scores)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    mixed = (scores @ v).transpose(1, 0, 2).reshape(len(x), WIDTH)
    return mixed @ weights(WIDTH, WIDTH, seed + 3)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.float32(0.7978846) * (x + 0.044715 * x ** 3)))


def main(length):
    position = np.arange(length)[:, None] / 10000 ** (np.arange(WIDTH // 2) / (WIDTH / 2))
    token = np.sin(np.arange(length) ** 2 % 31)[:, None]
    x = (np.concatenate([np.sin(position), np.cos(position)], axis=1) + token).astype(np.float32)
    for block in range(6):
        x = x + attend(normalize(x), 10.0 * block)
        x = x + gelu(normalize(x) @ weights(WIDTH, 4 * WIDTH, block + 0.4)) @ weights(4 * WIDTH, WIDTH, block + 0.5)
    return normalize(x), x.mean(axis=0)
