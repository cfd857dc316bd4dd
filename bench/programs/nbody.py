"""Bodies under gravity: all pairs by broadcasting, kick-drift-kick steps, the total energy before and after."""
import numpy as np

SMALL, BENCH = 16, 300
SOFTENING = 0.05


def accelerations(x, mass):
    d = x[None, :, :] - x[:, None, :]
    inverse = ((d ** 2).sum(axis=-1) + SOFTENING ** 2) ** -1.5
    return (d * (mass * inverse)[:, :, None]).sum(axis=1)


def energy(x, v, mass):
    kinetic = 0.5 * (mass * (v ** 2).sum(axis=1)).sum()
    d = x[None, :, :] - x[:, None, :]
    inverse = 1 / np.sqrt((d ** 2).sum(axis=-1) + SOFTENING ** 2)
    upper = np.triu(np.outer(mass, mass) * inverse, 1)
    return kinetic - upper.sum()


def main(size):
    i = np.arange(size)
    angle = 2.39996 * i
    radius = np.sqrt((i + 0.5) / size)
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0.1 * np.sin(7.0 * i)], axis=1)
    v = np.stack([-x[:, 1], x[:, 0], np.zeros(size)], axis=1) * 0.7
    mass = (1 + 0.5 * np.cos(i)) / size
    before = energy(x, v, mass)
    dt = 0.01
    a = accelerations(x, mass)
    for _ in range(40):
        v += 0.5 * dt * a
        x += dt * v
        a = accelerations(x, mass)
        v += 0.5 * dt * a
    return x, v, before, energy(x, v, mass)
