"""The shallow water equations by the Lax-Friedrichs scheme: a column of water collapses in a closed basin."""
import numpy as np

SMALL, BENCH = 16, 300
G = 9.81


def fluxes(q):
    h, hu, hv = q
    u, v = hu / h, hv / h
    pressure = 0.5 * G * h ** 2
    return np.stack([hu, hu * u + pressure, hu * v]), np.stack([hv, hu * v, hv * v + pressure])


def reflect(q):
    q[:, 0], q[:, -1] = q[:, 1], q[:, -2]
    q[:, :, 0], q[:, :, -1] = q[:, :, 1], q[:, :, -2]
    q[1, 0] *= -1
    q[1, -1] *= -1
    q[2, :, 0] *= -1
    q[2, :, -1] *= -1


def main(size):
    dx = 1 / size
    x = (np.arange(size + 2) - 0.5) * dx
    q = np.zeros((3, size + 2, size + 2))
    q[0] = 1 + 0.4 * np.exp(-100 * ((x[:, None] - 0.4) ** 2 + (x - 0.5) ** 2))
    time = 0.0
    for _ in range(60):
        reflect(q)
        speed = np.max(np.sqrt((q[1] ** 2 + q[2] ** 2) / q[0] ** 2) + np.sqrt(G * q[0]))
        dt = 0.4 * dx / float(speed)
        f, g = fluxes(q)
        mean = 0.25 * (q[:, 2:, 1:-1] + q[:, :-2, 1:-1] + q[:, 1:-1, 2:] + q[:, 1:-1, :-2])
        q[:, 1:-1, 1:-1] = mean - dt / (2 * dx) * (
            f[:, 2:, 1:-1] - f[:, :-2, 1:-1] + g[:, 1:-1, 2:] - g[:, 1:-1, :-2])
        time += dt
    return q, time, q[0, 1:-1, 1:-1].sum()
