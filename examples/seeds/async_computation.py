"""Asynchronous computation (12.2 of Dive into Deep Learning): `python -m examples.seeds.async_computation`.

Smaller: n, the rows of matrices; loops, rounds; batches and their size: `... async_computation 100 100 6 32`.
"""

import os
import subprocess
import sys

import numpy

from dflow import autograd, d2l, gluon, np, npx
from dflow.gluon import nn


def with_numpy(n):
    for _ in range(10):
        a = numpy.random.normal(size=(n, n))
        b = numpy.dot(a, a)
    return b


def with_dflow(n):
    for _ in range(10):
        a = np.random.normal(size=(n, n))
        b = np.dot(a, a)
    return b


def asynchrony(n):
    with d2l.Benchmark('numpy'):
        with_numpy(n)

    with d2l.Benchmark('dflow.np'):
        with_dflow(n)

    with d2l.Benchmark():
        with_dflow(n)
        npx.waitall()


def dependencies(x, y):
    z = x * y + 2
    return z


def barriers(n):
    a = np.random.normal(size=(n, n))
    with d2l.Benchmark('waitall'):
        b = np.dot(a, a)
        npx.waitall()

    with d2l.Benchmark('wait_to_read'):
        b = np.dot(a, a)
        b.wait_to_read()

    with d2l.Benchmark('numpy conversion'):
        b = np.dot(a, a)
        b.asnumpy()

    with d2l.Benchmark('scalar conversion'):
        b = np.dot(a, a)
        b.sum().item()


def synchronous(x, loops):
    for _ in range(loops):
        y = x + 1
        y.wait_to_read()
    return y


def asynchronous(x, loops):
    for _ in range(loops):
        y = x + 1
    return y


def improving_computation(loops):
    x = np.ones((1, 2))
    with d2l.Benchmark('synchronous'):
        synchronous(x, loops)

    with d2l.Benchmark('asynchronous'):
        asynchronous(x, loops)
        npx.waitall()


def data_iter(num_batches, batch_size):
    timer = d2l.Timer()
    for i in range(num_batches):
        X = np.random.normal(size=(batch_size, 512))
        y = np.ones((batch_size,))
        yield X, y
        if (i + 1) % max(num_batches // 3, 1) == 0:
            print(f'batch {i + 1}, time {timer.stop():.4f} sec')


def network():
    net = nn.Sequential()
    net.add(nn.Dense(2048, activation='relu'),
            nn.Dense(512, activation='relu'), nn.Dense(1))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), 'sgd')
    loss = gluon.loss.L2Loss()
    return net, trainer, loss


def get_mem():
    res = subprocess.check_output(['ps', 'u', '-p', str(os.getpid())])
    return int(str(res).split()[15]) / 1e3


def train(net, trainer, loss, batches, barrier):
    for X, y in batches:
        with autograd.record():
            l = loss(y, net(X))
        l.backward()
        trainer.step(X.shape[0])
        if barrier:
            l.wait_to_read()            # Barrier before a new batch
    return l


def improving_memory_footprint(num_batches, batch_size):
    net, trainer, loss = network()
    for X, y in data_iter(num_batches, batch_size):
        break
    loss(y, net(X)).wait_to_read()
    for barrier in (True, False):
        mem = get_mem()
        with d2l.Benchmark('time per epoch'):
            train(net, trainer, loss, data_iter(num_batches, batch_size), barrier)
            npx.waitall()
        print(f'increased memory: {get_mem() - mem:f} MB')


def main(n=1000, loops=1000, num_batches=150, batch_size=1024):
    npx.set_np()
    asynchrony(n)
    print(repr(dependencies(np.ones((1, 2)), np.ones((1, 2)))))
    barriers(n)
    improving_computation(loops)
    improving_memory_footprint(num_batches, batch_size)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
