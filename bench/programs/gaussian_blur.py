"""A separable Gaussian blur of a colour picture in single precision, and an unsharp mask made with it."""
import numpy as np

SMALL, BENCH = 24, 1500


def kernel(sigma):
    radius = int(3 * sigma + 0.5)
    x = np.arange(-radius, radius + 1)
    weights = np.exp(-x ** 2 / (2 * sigma ** 2))
    return (weights / weights.sum()).astype(np.float32)


def blur(image, sigma):
    weights = kernel(sigma)
    radius = len(weights) // 2
    for axis in (0, 1):
        n = image.shape[axis]
        pad = [(0, 0)] * image.ndim
        pad[axis] = (radius, radius)
        padded = np.pad(image, pad, mode="edge")
        result = np.zeros_like(image)
        for k, weight in enumerate(weights):
            window = padded[k:k + n] if axis == 0 else padded[:, k:k + n]
            result += weight * window
        image = result
    return image


def main(size):
    y, x = np.meshgrid(np.linspace(0, 1, size), np.linspace(0, 1, size), indexing="ij")
    image = np.stack([np.sin(40 * x * y), np.cos(30 * x), (x > y) * 1.0], axis=-1).astype(np.float32)
    soft = blur(image, 2.0)
    sharp = np.clip(image + 0.8 * (image - soft), -1, 1)
    return soft, sharp, sharp.mean(axis=(0, 1))
