"""The bilateral filter, which smooths but keeps edges: a weighted sum over the offsets of a window."""
import numpy as np

SMALL, BENCH = 24, 900


def bilateral(image, radius, near, alike):
    n, m = image.shape
    padded = np.pad(image, radius, mode="reflect")
    total = np.zeros_like(image)
    weights = np.zeros_like(image)
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            other = padded[radius + dy:radius + dy + n, radius + dx:radius + dx + m]
            w = np.exp(-(dy ** 2 + dx ** 2) / (2 * near ** 2) - (other - image) ** 2 / (2 * alike ** 2))
            total += w * other
            weights += w
    return total / weights


def main(size):
    y, x = np.mgrid[:size, :size]
    clean = np.where(x + y > size, 0.8, 0.2)
    noisy = np.clip(clean + 0.1 * np.sin(12.9898 * x + 78.233 * y + x * y), 0, 1)
    smooth = bilateral(noisy, 3, 2.0, 0.2)
    return smooth, np.abs(noisy - clean).mean(), np.abs(smooth - clean).mean()
