"""A photograph, filtered: blurred by a Gaussian, sharpened by what the blur takes away, and its edges by Sobel."""

import matplotlib.image
import numpy as np
from matplotlib import cbook

SMALL, FULL = (8, 1.0), (1, 3.0)        # of so many pixels one, and the width of the blur


def shifted(picture, offset, axis):
    """The picture moved along an axis; its border is repeated."""
    margin = [(0, 0)] * picture.ndim
    margin[axis] = (abs(offset), abs(offset))
    padded = np.pad(picture, margin, mode="edge")
    start = abs(offset) + offset
    return padded[(slice(None),) * axis + (slice(start, start + picture.shape[axis]),)]


def blur(picture, sigma):
    reach = np.arange(-int(3 * sigma), int(3 * sigma) + 1)
    weights = np.exp(-reach ** 2 / (2 * sigma ** 2))
    weights /= weights.sum()
    for axis in (0, 1):
        picture = sum(w * shifted(picture, int(offset), axis) for offset, w in zip(reach, weights))
    return picture


def edges(grey):
    """How steep the picture is at each pixel."""
    across = shifted(grey, 1, 1) - shifted(grey, -1, 1)
    down = shifted(grey, 1, 0) - shifted(grey, -1, 0)
    across = shifted(across, -1, 0) + 2 * across + shifted(across, 1, 0)
    down = shifted(down, -1, 1) + 2 * down + shifted(down, 1, 1)
    return np.hypot(across, down)


def main(size):
    step, sigma = size
    photograph = matplotlib.image.imread(cbook.get_sample_data("grace_hopper.jpg", asfileobj=False))
    picture = np.asarray(photograph)[::step, ::step] / 255
    blurred = blur(picture, sigma)
    sharp = np.clip(picture + 1.5 * (picture - blurred), 0, 1)
    steepness = edges(sharp @ [0.299, 0.587, 0.114])
    return {"picture": sharp, "blurred": blurred, "edges": steepness / steepness.max(),
            "histogram": np.histogram(steepness, bins=20)[0]}


if __name__ == "__main__":
    results = main(FULL)
    print("pixels by steepness:", results["histogram"])
    matplotlib.image.imsave("image_filter.png", results["picture"])
    matplotlib.image.imsave("edges.png", results["edges"], cmap="gray")
