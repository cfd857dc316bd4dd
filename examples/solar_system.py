"""The Sun and its planets for some years: gravity between all pairs, leapfrog steps; do energy and orbits hold?"""

import numpy as np

SMALL, FULL = 0.2, 12.0

G = 4 * np.pi ** 2          # in astronomical units, years and masses of the Sun
#                      Sun  Mercury  Venus    Earth    Mars     Jupiter  Saturn   Uranus   Neptune
MASS = np.array([1.0, 1.66e-7, 2.448e-6, 3.003e-6, 3.227e-7, 9.545e-4, 2.858e-4, 4.366e-5, 5.151e-5])
RADIUS = np.array([0.0, 0.387, 0.723, 1.0, 1.524, 5.203, 9.537, 19.19, 30.07])


def acceleration(x):
    """Of each body, from the pull of all others."""
    apart = x[np.newaxis, :, :] - x[:, np.newaxis, :]
    squared = np.sum(apart ** 2, axis=2)
    np.fill_diagonal(squared, np.inf)
    return np.sum(G * MASS[:, np.newaxis] * apart * squared[:, :, np.newaxis] ** -1.5, axis=1)


def energy(x, v):
    apart = x[np.newaxis, :, :] - x[:, np.newaxis, :]
    distance = np.sqrt(np.sum(apart ** 2, axis=2))
    np.fill_diagonal(distance, np.inf)
    return np.sum(MASS * np.sum(v ** 2, axis=1)) / 2 - G * np.sum(np.outer(MASS, MASS) / distance) / 2


def main(years, dt=0.002):
    angle = 2.4 * np.arange(len(MASS))
    x = RADIUS[:, np.newaxis] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    v = np.zeros_like(x)
    v[1:] = np.sqrt(G / RADIUS[1:])[:, np.newaxis] * np.stack([-np.sin(angle), np.cos(angle)], axis=1)[1:]
    v[0] = -np.sum(MASS[1:, np.newaxis] * v[1:], axis=0)            # so that the centre of mass stays
    before = energy(x, v)
    earth = []
    a = acceleration(x)
    for _ in range(round(years / dt)):
        v += a * (dt / 2)
        x += v * dt
        a = acceleration(x)
        v += a * (dt / 2)
        earth.append(x[3] - x[0])
    return {"positions": x, "velocities": v, "path of the Earth": np.stack(earth),
            "change of energy": (energy(x, v) - before) / abs(before)}


if __name__ == "__main__":
    results = main(FULL)
    print("positions after", FULL, "years, in astronomical units:")
    print(results["positions"].round(3))
    distance = np.hypot(*results["path of the Earth"].T)
    print(f"the Earth was {distance.min():.4f} to {distance.max():.4f} away from the Sun")
    print(f"relative change of the energy: {results['change of energy']:.1e}")
