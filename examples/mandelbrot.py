"""The Mandelbrot set as a picture: z = z * z + c for each point, and when |z| passes 2."""

import matplotlib.image
import numpy as np

SMALL, FULL = 30, 600


def main(size, limit=80):
    x = np.linspace(-2.1, 0.7, size * 4 // 3)
    y = np.linspace(-1.1, 1.1, size)
    c = x + 1j * y[:, np.newaxis]
    z = np.zeros_like(c)
    steps = np.zeros(c.shape, dtype=int)
    for _ in range(limit):
        inside = z.real ** 2 + z.imag ** 2 <= 4
        z = np.where(inside, z * z + c, z)
        steps += inside
    shade = np.log2(1 + steps) / np.log2(1 + limit)
    return {"steps": steps, "picture": shade, "area": (steps == limit).mean() * (2.8 * 2.2)}


if __name__ == "__main__":
    results = main(FULL)
    print(f"area of the set: about {results['area']:.3f}")
    matplotlib.image.imsave("mandelbrot.png", results["picture"], cmap="magma")
