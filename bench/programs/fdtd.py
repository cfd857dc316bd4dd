"""Maxwell's equations in the plane by Yee's scheme: a pulsed source before a dielectric slab."""
import numpy as np

SMALL, BENCH = 24, 400


def main(size):
    ez = np.zeros((size, size))
    hx = np.zeros((size, size - 1))
    hy = np.zeros((size - 1, size))
    courant = 0.5
    permittivity = np.ones((size, size))
    permittivity[:, size // 2:size // 2 + size // 6] = 4.0
    gain = courant / permittivity[1:-1, 1:-1]
    probe = []
    for t in range(400):
        hx -= courant * (ez[:, 1:] - ez[:, :-1])
        hy += courant * (ez[1:, :] - ez[:-1, :])
        ez[1:-1, 1:-1] += gain * (hy[1:, 1:-1] - hy[:-1, 1:-1] - hx[1:-1, 1:] + hx[1:-1, :-1])
        ez[size // 2, size // 4] += np.exp(-((t - 40) / 12) ** 2)
        probe.append(ez[size // 2, 3 * size // 4])
    return ez, np.array(probe)
