"""Flow past a cylinder by the lattice Boltzmann method with nine velocities."""
import numpy as np

SMALL, BENCH = 12, 100


def main(size):
    ny, nx, tau = size, 3 * size, 0.6
    cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
    cy = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    weights = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    opposite = np.array([0, 3, 4, 1, 2, 7, 8, 5, 6])
    y, x = np.meshgrid(np.arange(ny), np.arange(nx), indexing="ij")
    f = np.ones((9, ny, nx)) * weights[:, None, None]
    f[1] *= 1.2 + 0.02 * np.sin(6 * np.pi * x / nx)
    solid = (x - nx / 4) ** 2 + (y - ny / 2) ** 2 < (ny / 6) ** 2
    for _ in range(100):
        for i in range(9):
            f[i] = np.roll(f[i], (int(cy[i]), int(cx[i])), axis=(0, 1))
        bounced = f[:, solid][opposite]
        density = f.sum(axis=0)
        ux = (f * cx[:, None, None]).sum(axis=0) / density
        uy = (f * cy[:, None, None]).sum(axis=0) / density
        square = ux ** 2 + uy ** 2
        for i in range(9):
            along = 3 * (cx[i] * ux + cy[i] * uy)
            equilibrium = density * weights[i] * (1 + along + along ** 2 / 2 - 1.5 * square)
            f[i] -= (f[i] - equilibrium) / tau
        f[:, solid] = bounced
    vorticity = np.gradient(uy, axis=1) - np.gradient(ux, axis=0)
    return f, np.where(solid, 0, vorticity), density.mean()
