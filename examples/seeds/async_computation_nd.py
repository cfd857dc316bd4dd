"""异步计算 (asynchronous computation), from the book's first edition: `python -m examples.seeds.async_computation_nd`.

Smaller: n, the rows of matrices; loops, rounds; batches and their size: `... async_computation_nd 100 100 6 32`.
"""

import os
import subprocess
import sys
import time

from dflow import autograd, gluon, nd
from dflow.gluon import loss as gloss
from dflow.gluon import nn


class Benchmark:
    def __init__(self, prefix=None):
        self.prefix = prefix + ' ' if prefix else ''

    def __enter__(self):
        self.start = time.time()

    def __exit__(self, *args):
        print('%stime: %.4f sec' % (self.prefix, time.time() - self.start))


def asynchrony(n):
    a = nd.ones((1, 2))
    b = nd.ones((1, 2))
    c = a * b + 2
    print(c)

    with Benchmark('Workloads are queued.'):
        x = nd.random.uniform(shape=(n, n))
        y = nd.dot(x, x).sum()

    with Benchmark('Workloads are finished.'):
        print('sum =', y)
    return x


def barriers(x):
    with Benchmark():
        y = nd.dot(x, x)
        y.wait_to_read()

    with Benchmark():
        y = nd.dot(x, x)
        z = nd.dot(x, x)
        nd.waitall()

    with Benchmark():
        y = nd.dot(x, x)
        y.asnumpy()

    with Benchmark():
        y = nd.dot(x, x)
        y.norm().asscalar()
    return z


def improving_computation(x, loops):
    with Benchmark('synchronous.'):
        for _ in range(loops):
            y = x + 1
            y.wait_to_read()

    with Benchmark('asynchronous.'):
        for _ in range(loops):
            y = x + 1
        nd.waitall()


def data_iter(num_batches, batch_size):
    start = time.time()
    for i in range(num_batches):
        X = nd.random.normal(shape=(batch_size, 512))
        y = nd.ones((batch_size,))
        yield X, y
        if (i + 1) % max(num_batches // 2, 1) == 0:
            print('batch %d, time %f sec' % (i + 1, time.time() - start))


def get_mem():
    res = subprocess.check_output(['ps', 'u', '-p', str(os.getpid())])
    return int(str(res).split()[15]) / 1e3


def memory(num_batches, batch_size):
    net = nn.Sequential()
    net.add(nn.Dense(2048, activation='relu'),
            nn.Dense(512, activation='relu'),
            nn.Dense(1))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), 'sgd', {'learning_rate': 0.005})
    loss = gloss.L2Loss()

    for X, y in data_iter(num_batches, batch_size):
        break
    loss(y, net(X)).wait_to_read()

    l_sum, mem = 0, get_mem()
    for X, y in data_iter(num_batches, batch_size):
        with autograd.record():
            l = loss(y, net(X))
        l_sum += l.mean().asscalar()    # a function that waits
        l.backward()
        trainer.step(X.shape[0])
    nd.waitall()
    print('increased memory: %f MB' % (get_mem() - mem))

    mem = get_mem()
    for X, y in data_iter(num_batches, batch_size):
        with autograd.record():
            l = loss(y, net(X))
        l.backward()
        trainer.step(X.shape[0])
    nd.waitall()
    print('increased memory: %f MB' % (get_mem() - mem))
    return l_sum


def main(n=2000, loops=1000, num_batches=100, batch_size=1024):
    x = asynchrony(n)
    barriers(x)
    improving_computation(x, loops)
    memory(num_batches, batch_size)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
