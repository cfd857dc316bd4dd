"""A flock: each bird steers to its neighbours' centre and heading, and away from those too close."""
import numpy as np

SMALL, BENCH = 20, 300


def main(size):
    i = np.arange(size)
    place = np.column_stack((np.cos(1.9 * i), np.sin(2.3 * i + 1))) * 30 * np.sqrt((i[:, None] % 17 + 1) / 17)
    speed = np.column_stack((np.sin(0.7 * i), np.cos(1.1 * i)))
    for _ in range(30):
        offset = place[None, :] - place[:, None]
        distance = np.sqrt((offset ** 2).sum(axis=2))
        np.fill_diagonal(distance, np.inf)
        seen = distance < 10
        close = distance < 2
        count = np.maximum(seen.sum(axis=1), 1)[:, None]
        cohesion = (offset * seen[:, :, None]).sum(axis=1) / count
        alignment = (seen @ speed) / count - speed * seen.any(axis=1)[:, None]
        separation = -(offset * close[:, :, None]).sum(axis=1)
        speed = speed + 0.01 * cohesion + 0.1 * alignment + 0.1 * separation
        length = np.linalg.norm(speed, axis=1, keepdims=True)
        speed = speed * np.minimum(1, 2 / np.maximum(length, 1e-12))
        place = place + speed
    order = np.linalg.norm((speed / np.linalg.norm(speed, axis=1, keepdims=True)).mean(axis=0))
    return place, speed, order
