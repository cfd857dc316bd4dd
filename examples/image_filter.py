"""A photograph, filtered: blurred by a Gaussian, sharpened by what the blur takes away, and its edges by Sobel."""

import matplotlib.image
import numpy as np
from matplotlib import cbook

SMALL, FULL = (8, 1.0), (1, 3.0)        # of so many pixels one, and the width of the blur


def shifts(picture, reach, axis):
    """The picture moved by -reach, ..., reach pixels along an axis: views of one whose borders are repeated."""
    margin = [(0, 0)] * picture.ndim
    margin[axis] = (reach, reach)
    padded = np.moveaxis(np.pad(picture, margin, mode="edge"), axis, 0)
    return [np.moveaxis(padded[i:i + picture.shape[axis]], 0, axis) for i in range(2 * reach + 1)]


def blur(picture, sigma):
    reach = int(3 * sigma)
    weights = np.exp(-np.arange(-reach, reach + 1) ** 2 / (2 * sigma ** 2))
    weights /= weights.sum()
    for axis in (0, 1):
        picture = sum(weight * moved for weight, moved in zip(weights, shifts(picture, reach, axis)))
    return picture


def edges(grey):
    """How steep the picture is at each pixel."""
    left, _, right = shifts(grey, 1, 1)
    above, _, below = shifts(grey, 1, 0)
    up, here, down = shifts(right - left, 1, 0)
    before, there, after = shifts(below - above, 1, 1)
    return np.hypot(up + 2 * here + down, before + 2 * there + after)


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
