"""Heat in a plate: hot on one side, cold on the others, with a disc kept at its own temperature. Steps in place."""

import matplotlib.image
import numpy as np

SMALL, FULL = (24, 60), (400, 1500)


def main(size):
    cells, steps = size
    y, x = np.mgrid[:cells, :cells] / (cells - 1)
    disc = (x - 0.6) ** 2 + (y - 0.4) ** 2 < 0.15 ** 2
    plate = np.zeros((cells, cells))
    plate[0] = 100.0
    warmth = []
    for step in range(steps):
        middle = plate[1:-1, 1:-1]
        middle += 0.24 * (plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:] - 4 * middle)
        plate[disc] = 60.0
        if step % 50 == 0:
            warmth.append(plate.mean())
    return {"picture": plate, "mean": np.array(warmth), "through the middle": plate[:, cells // 2]}


if __name__ == "__main__":
    results = main(FULL)
    print("mean temperature, every fiftieth step:", results["mean"].round(2))
    matplotlib.image.imsave("heat.png", results["picture"], cmap="inferno")
