"""Programs as people write them, with every function annotated: `mypy --strict` finds nothing in them, and they run."""

import asyncio
import math

import dflow
import dflow.numpy as np
import dflow.numpy.typing as npt
from dflow.numpy.random import Generator


def kmeans(points: np.ndarray, k: int, steps: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    """Centers, and the number of the nearest one to each point."""
    centers = points[rng.choice(len(points), k, replace=False)]
    labels = np.zeros(len(points), np.intp)
    for _ in range(steps):
        distances = np.linalg.norm(points[:, np.newaxis] - centers, axis=2)
        labels = distances.argmin(axis=1)
        for i in range(k):
            if np.any(labels == i):
                centers[i] = points[labels == i].mean(axis=0)
    return centers, labels


def heat(u: npt.NDArray[np.float64], steps: int, rate: float = 0.1) -> npt.NDArray[np.float64]:
    """Explicit steps of the heat equation on a grid, in place."""
    for _ in range(steps):
        u[1:-1, 1:-1] += rate * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


def spectrum(signal: npt.ArrayLike, rate: float) -> list[float]:
    """The three strongest frequencies."""
    power = np.abs(np.fft.rfft(signal, norm="ortho")) ** 2
    order = np.argsort(power)[::-1][:3]
    return [float(f) for f in np.fft.rfftfreq(np.size(signal), d=1 / rate)[order]]


def principal_components(x: np.ndarray[tuple[int, int], np.dtype[np.float64]], n: int) -> np.ndarray:
    centered = x - np.mean(x, axis=0, keepdims=True)
    _, s, vh = np.linalg.svd(centered, full_matrices=False)
    values, vectors = np.linalg.eigh(centered.T @ centered)
    assert np.allclose(values[::-1], s**2) and vectors.shape == vh.shape
    return vh[:n]


def mandelbrot(n: int) -> npt.NDArray[np.int32]:
    x, y = np.meshgrid(np.linspace(-2, 1, n), np.linspace(-1, 1, n))
    c, z = x + 1j * y, np.zeros((n, n), complex)
    counts = np.zeros((n, n), np.int32)
    with np.errstate(all="ignore"):
        for _ in range(20):
            inside = np.abs(z) <= 2
            z = np.where(inside, z * z + c, z)
            counts += inside.astype(np.int32)
    return counts


def total(array: np.ndarray, /) -> float:
    return float(array.sum())


async def waits(array: np.ndarray) -> float:
    (await array).sort()
    return float(await dflow.submit(total, array))


def main() -> None:
    rng = np.random.default_rng(7)
    centers, labels = kmeans(rng.normal(size=(60, 2)), 3, 4, rng)
    assert centers.shape == (3, 2) and np.bincount(labels, minlength=3).sum() == 60
    assert heat(np.ones((8, 8)), 3).max() == 1.0
    tones = np.sin(2 * np.pi * 5 * np.arange(0, 1, 0.01))
    assert spectrum(tones, 100.0)[0] == 5.0 and math.isclose(spectrum(tones.tolist(), 100)[0], 5)
    assert principal_components(rng.random((9, 4)), 2).shape == (2, 4)
    assert mandelbrot(12).max() == 20
    assert asyncio.run(waits(np.array([3, 1, 2]))) == 6
    doubled = dflow.submit(lambda x: 2 * x, np.arange(3), shape=3, dtype=int)
    assert doubled[range(2)].tolist() == [0, 2] and [1, 2][np.array(1)] == 2
    np.testing.assert_array_equal(doubled, [0, 2, 4])
    dflow.engine.set_num_workers(dflow.engine.num_workers())
    dflow.waitall()


main()
