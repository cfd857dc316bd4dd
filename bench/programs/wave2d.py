"""The wave equation on a square drum: leapfrog steps, fixed edges, a damped rim, the energy now and then."""
import numpy as np

SMALL, BENCH = 20, 500


def laplacian(u):
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]


def main(size):
    x = np.linspace(-1, 1, size)
    old = np.exp(-50 * ((x[:, None] - 0.2) ** 2 + x ** 2))
    old[0] = old[-1] = 0
    old[:, 0] = old[:, -1] = 0
    now = old.copy()
    rim = np.maximum(np.abs(x)[:, None], np.abs(x))
    damping = np.where(rim > 0.8, 1 - 0.5 * (rim - 0.8), 1.0)
    energies = []
    for step in range(150):
        new = np.zeros_like(now)
        new[1:-1, 1:-1] = 2 * now[1:-1, 1:-1] - old[1:-1, 1:-1] + 0.25 * laplacian(now)
        new *= damping
        old, now = now, new
        if step % 25 == 0:
            energies.append(float(((now - old) ** 2).sum() + 0.25 * (np.diff(now, axis=0) ** 2).sum()))
    return now, np.array(energies)
