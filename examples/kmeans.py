"""A photograph in a few colours: k-means on its pixels, each then painted in the colour of its cluster."""

import matplotlib.image
import numpy as np
from matplotlib import cbook

SMALL, FULL = 16, 1         # of so many pixels, one


def nearest(pixels, colours):
    """The number of the nearest colour, and how far it is, for each pixel."""
    distance = np.stack([np.sum((pixels - colour) ** 2, axis=1) for colour in colours], axis=1)
    return np.argmin(distance, axis=1), np.min(distance, axis=1)


def main(step, k=8, rounds=10):
    photograph = matplotlib.image.imread(cbook.get_sample_data("grace_hopper.jpg", asfileobj=False))
    picture = np.asarray(photograph)[::step, ::step] / 255
    pixels = picture.reshape(-1, 3)
    order = np.argsort(pixels.sum(axis=1), kind="stable")
    colours = pixels[order[np.linspace(0, len(pixels) - 1, 2 * k + 1).astype(int)[1::2]]]      # from dark to bright
    error = []
    for _ in range(rounds):
        label, distance = nearest(pixels, colours)
        error.append(distance.mean())
        colours = np.stack([np.sum(pixels * (label == i)[:, np.newaxis], axis=0) / np.maximum(np.sum(label == i), 1)
                            for i in range(k)])
    label, distance = nearest(pixels, colours)
    return {"picture": colours[label].reshape(picture.shape), "colours": colours, "pixels of each": np.bincount(label),
            "error": np.array(error)}


if __name__ == "__main__":
    results = main(FULL)
    for colour, count in zip(results["colours"], results["pixels of each"]):
        print("#" + "".join(f"{round(float(part) * 255):02x}" for part in colour), count, "pixels")
    matplotlib.image.imsave("kmeans.png", results["picture"])
