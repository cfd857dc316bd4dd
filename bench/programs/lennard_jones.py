"""A Lennard-Jones liquid in a periodic box: velocity Verlet with a cut-off, potential energy and pressure."""
import numpy as np

SMALL, BENCH = 3, 8


def forces(x, box):
    d = x[:, np.newaxis, :] - x[np.newaxis, :, :]
    d -= box * np.rint(d / box)
    r2 = np.sum(d * d, axis=2)
    np.fill_diagonal(r2, np.inf)
    near = r2 < 2.5 ** 2
    inverse6 = np.where(near, 1 / r2, 0) ** 3
    potential = 2 * np.sum(inverse6 ** 2 - inverse6)
    strength = np.where(near, 24 * (2 * inverse6 ** 2 - inverse6) / r2, 0)
    return np.sum(strength[:, :, np.newaxis] * d, axis=1), potential, 0.5 * np.sum(strength * np.where(near, r2, 0))


def main(size):
    spacing = 1.2
    box = size * spacing
    line = np.arange(size) * spacing
    x = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)
    n = len(x)
    v = np.sin(np.arange(3 * n) * 1.7).reshape(n, 3)
    v -= v.mean(axis=0)
    dt = 0.004
    f, potential, virial = forces(x, box)
    history = np.empty((20, 3))
    for step in range(20):
        v += 0.5 * dt * f
        x = (x + dt * v) % box
        f, potential, virial = forces(x, box)
        v += 0.5 * dt * f
        kinetic = 0.5 * np.sum(v ** 2)
        history[step] = kinetic, potential, (2 * kinetic + virial) / (3 * box ** 3)
    return x, v, history
