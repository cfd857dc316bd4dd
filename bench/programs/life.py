"""The game of life on a torus: generations, the population over time."""
import numpy as np

SMALL, BENCH = 20, 600


def generation(cells):
    neighbours = sum(np.roll(np.roll(cells, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return ((neighbours == 3) | ((cells == 1) & (neighbours == 2))).astype(np.uint8)


def main(size):
    y, x = np.indices((size, size))
    cells = ((x * x + 3 * y * y + x * y) % 7 < 3).astype(np.uint8)
    population = []
    for _ in range(150):
        cells = generation(cells)
        population.append(int(cells.sum()))
    return cells, np.array(population)
