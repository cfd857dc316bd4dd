"""Automatic parallelism (12.3 of Dive into Deep Learning): `python -m examples.seeds.auto_parallelism`.

Without a GPU, both halves are the CPU's. Smaller: the rows of both matrices: `... auto_parallelism 100 200`.
"""

import sys

from dflow import d2l, np, npx


def run(x):
    return [x.dot(x) for _ in range(10)]


def copy_to_cpu(x):
    return [y.copyto(npx.cpu()) for y in x]


def main(cpu_rows=2000, gpu_rows=6000):
    npx.set_np()
    x_cpu = np.random.uniform(size=(cpu_rows, cpu_rows))
    x_gpu = np.random.uniform(size=(gpu_rows, gpu_rows), ctx=d2l.try_gpu())

    run(x_cpu)                          # Warm-up both devices
    run(x_gpu)
    npx.waitall()

    with d2l.Benchmark('CPU time'):
        run(x_cpu)
        npx.waitall()

    with d2l.Benchmark('GPU time'):
        run(x_gpu)
        npx.waitall()

    with d2l.Benchmark('CPU & GPU'):
        run(x_cpu)
        run(x_gpu)
        npx.waitall()

    with d2l.Benchmark('Run on GPU'):
        y = run(x_gpu)
        npx.waitall()

    with d2l.Benchmark('Copy to CPU'):
        y_cpu = copy_to_cpu(y)
        npx.waitall()

    with d2l.Benchmark('Run on GPU and copy to CPU'):
        y = run(x_gpu)
        y_cpu = copy_to_cpu(y)
        npx.waitall()
    return y_cpu


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
