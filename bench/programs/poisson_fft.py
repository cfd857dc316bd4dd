"""Poisson's equation on a torus by FFT, the field of charges from its gradient, and a check by differences."""
import numpy as np

SMALL, BENCH = 16, 1536


def solve(density, length):
    n = len(density)
    k = 2 * np.pi * np.fft.fftfreq(n, length / n)
    k2 = k[:, None] ** 2 + k ** 2
    k2[0, 0] = 1.0
    potential = np.fft.fft2(density) / k2
    potential[0, 0] = 0
    ex = np.fft.ifft2(-1j * k[:, None] * potential).real
    ey = np.fft.ifft2(-1j * k * potential).real
    return np.fft.ifft2(potential).real, ex, ey


def main(size):
    length = 2.0
    x = np.arange(size) * length / size
    density = np.zeros((size, size))
    for px, py, charge in ((0.5, 0.5, 1.0), (1.5, 0.7, -1.0), (1.0, 1.4, 0.5)):
        density += charge * np.exp(-80 * ((x[:, None] - px) ** 2 + (x - py) ** 2))
    density -= density.mean()
    phi, ex, ey = solve(density, length)
    h = length / size
    divergence = (np.roll(ex, -1, 0) - np.roll(ex, 1, 0) + np.roll(ey, -1, 1) - np.roll(ey, 1, 1)) / (2 * h)
    return phi, ex, ey, np.abs(divergence - density).max(), 0.5 * (phi * density).sum() * h ** 2
