"""Programs under memory that runs out: each request fails once, the n-th, for every n.

    python -m tests.allocations         # `--programs NAME ...`: some of them; `--first N`: so many requests of each
    python -m tests.allocations --python

The engine's requests on the debug build, which can refuse one (_base/allocator.pyx); Python's on any, by CPython's own
_testcapi. What must hold after each: the program raised a MemoryError or gave the right result; its operands are as
they were; the engine is idle; nothing is alive that was not before; and the program, run again, is right.
"""

import argparse
import contextlib
import gc
import sys
import warnings
from pathlib import Path

if __name__ == "__main__" and "--python" not in sys.argv:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "build/debug/lib"))

import numpy

import dflow
import dflow.numpy as np
from dflow import _engine, autograd, npx
from dflow._base import allocator

with contextlib.suppress(ImportError):      # a test module of CPython's, which some distributions leave out
    import _testcapi

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def pending(x):
    """A copy of x that a worker makes: what follows is tasks."""
    return dflow.engine.sleep(x, 1e-5)


@program
def chain(x, y):
    return pending(x) * 2 + y - 1


@program
def ready(x, y):
    return (x * 2 + y).sum()


@program
def broadcasting(x, y):
    return pending(x)[:, None] * y[None, :] + x


@program
def groups(x, y):
    z = pending(x)
    for _ in range(40):
        z = z + y * 0.5
    return z


@program
def softmax(x, y):
    z = np.exp(pending(x).reshape(-1, 10) - y[:10])
    return z / z.sum(axis=1, keepdims=True)


@program
def reductions(x, y):
    z = pending(np.concatenate([x] * 100).reshape(100, -1))
    return np.stack([z.sum(axis=0), z.max(axis=0), z.mean(axis=0), z.std(axis=0)])


@program
def long_sums(x, y):
    return pending(np.concatenate([x] * 3000)).sum()


@program
def products(x, y):
    z = pending(x)[:100].reshape(10, 10)
    return z @ z + np.dot(z, y[:10])


@program
def views(x, y):
    z = pending(x).reshape(-1, 10)
    return (z.T[::2] + z[:, ::-1].T[1::2]).swapaxes(0, 1) * 1


@program
def stores(x, y):
    z = pending(x)
    z[::2] = 1
    z[1:5] += y[:4]
    z[[7, 9]] = [3, 4]
    z[z > 90] = 0
    return z


@program
def many_writers(x, y):
    z = pending(x)
    for i in range(0, 90, 3):
        z[i:i + 3] = y[i:i + 3] + i
    return z + 1, z[::3] * 2


@program
def in_place(x, y):
    z = pending(x)
    z += y
    z *= z
    np.add(z, 1, out=z)
    return z


@program
def selections(x, y):
    z = pending(x)
    return z[z > 50], np.where(z > y, z, y), np.take(z, [1, 2, 5]), np.nonzero(z > 95)[0]


@program
def joins(x, y):
    return np.concatenate([pending(x), y, x]), np.stack([x, pending(y)]), np.split(pending(x), 4)[1]


@program
def sorts(x, y):
    z = pending(np.sin(x)).reshape(-1, 10)
    return np.sort(z, axis=0), np.argsort(z, axis=0), np.argmax(z, axis=1), np.unique(y)


@program
def linear_algebra(x, y):
    z = pending(x)[:64].reshape(8, 8) / 64 + 9 * np.eye(8)
    return np.linalg.inv(z), np.linalg.qr(z)[1], np.linalg.solve(z, y[:8]), np.linalg.eigvalsh(z + z.T)


@program
def transforms(x, y):
    return np.fft.fft(pending(x)), np.fft.irfft(np.fft.rfft(y))


@program
def random_numbers(x, y):
    np.random.seed(3)
    return pending(np.random.rand(100)) + np.random.normal(size=100)


@program
def submitted(x, y):
    def double(a):
        return a * 2

    return dflow.submit(double, pending(x), shape=x.shape, dtype=x.dtype) + 1


@program
def errors(x, y):
    def fail():
        raise ValueError("why")

    bad = dflow.submit(fail, shape=(2,), dtype=float)
    try:
        (bad + 1).asnumpy()
    except ValueError:
        return x + 1
    raise AssertionError("nothing was raised")


@program
def caught(x, y):
    """Raised at the call, as the program would catch it there."""
    try:
        pending(np.array([2, 3])) ** np.array([-1, -1])
    except ValueError:
        return x + 1
    raise AssertionError("nothing was raised")


@program
def warned(x, y):
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        z = y / (pending(x) - 5)
        z.wait_to_read()
        return z


@program
def gradients(x, y):
    z = x.copy()
    z.attach_grad()
    with autograd.record():
        loss = ((z * y).sum() + npx.relu(z - 50).sum()) ** 2
    loss.backward()
    return z.grad


@program
def graph(x, y):
    @dflow.graph
    def step(a, b):
        return (a * b + 1).sum() + a

    return [step(pending(x), y) for _ in range(4)]


@program
def devices(x, y):
    z = x.as_in_ctx(dflow.cpu(1))
    return (z * 2 + 1).as_in_ctx(dflow.cpu(0)) + pending(y)


def values(result):
    """Copies of what a program returned; it is read."""
    if isinstance(result, (tuple, list)):
        return [value for part in result for value in values(part)]
    return [numpy.array(result)]


def same(a, b):
    return len(a) == len(b) and all(numpy.allclose(x, y, equal_nan=True) for x, y in zip(a, b))


def settle():
    """Until nothing is pending; of errors, the refused request may have kept anybody from reading them."""
    try:
        dflow.waitall()
    except* (MemoryError, ValueError):
        pass


class Engines:
    """The engine's requests."""

    refuse = staticmethod(allocator.refuse)
    end = staticmethod(lambda n: allocator.refuse(0))
    leaks = False


class Pythons:
    """CPython's requests, in all its domains, by any thread."""

    # Until 3.13, CPython itself keeps what new functions, lists and tuples were to hold when these get no memory.
    leaks = sys.version_info < (3, 13)

    @staticmethod
    def refuse(n):
        if n:
            _testcapi.set_nomemory(n - 1, n)

    @staticmethod
    def end(n):
        """Whether there was an n-th: else it is among as many more."""
        try:
            for _ in range(n):
                bytearray(1)
            return True
        except MemoryError:
            return False
        finally:
            _testcapi.remove_mem_hooks()


def run(function, operands, requests, n):
    """What a program returns while its n-th request is refused, None for a MemoryError.

    function.refused: whether there was an n-th.
    """
    try:
        requests.refuse(n)
        try:
            return values(function(*operands))
        finally:
            settle()
            function.refused = requests.end(n)
    except MemoryError:
        return None
    except RuntimeError as error:           # so CPython says it of a lock
        if "can't allocate lock" not in str(error):
            raise
        return None


def alive_now():
    """What the engine has made and not given back."""
    gc.collect()
    _engine.waitall()
    return _engine.live(), allocator.requested()


def check(name, first=None, report=print, requests=Engines, every=1):
    """Every request of a program. How many there were, and how many of these failed to end well."""
    function = PROGRAMS[name]
    numbers = numpy.arange(100.0), numpy.arange(100.0)[::-1].copy() + 1
    operands = [np.array(x) for x in numbers]
    for _ in range(3):                              # what is made once, is
        want = run(function, operands, requests, 0)
    n, wrong = 0, 0
    alive = alive_now()
    while n != first:
        n += every
        got = run(function, operands, requests, n)
        refused = function.refused
        gc.collect()
        found = []
        if got is not None and not same(got, want):
            found.append("a wrong result")
        if got is None and not refused:
            found.append("a MemoryError of no request")
        if any(not numpy.array_equal(a, x) for a, x in zip(values(operands), numbers)):
            found.append("an operand is changed")
        _engine.check_idle()
        again = run(function, operands, requests, 0)
        if again is None or not same(again, want):
            found.append("wrong afterwards")
        now = alive_now()
        if now != alive and not requests.leaks:     # the way round makes things once: a leak grows again
            run(function, operands, requests, n)
            run(function, operands, requests, 0)
            alive, now = now, alive_now()
            if now != alive:
                found.append(f"alive: {now}, before: {alive}")
        alive = now
        for text in found:
            report(f"{name}: request {n}: {text}")
        wrong += bool(found)
        if not refused:
            break
    return n - 1, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="*", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--first", type=int)
    parser.add_argument("--python", action="store_true")
    parser.add_argument("--every", type=int, default=1, help="every so manieth request")
    arguments = parser.parse_args()
    if not arguments.python and allocator.refuse(0) is None:
        sys.exit("only the debug build can refuse a request: make debug")
    bad = 0
    for name in arguments.programs:
        kind = Pythons if arguments.python else Engines
        requests, wrong = check(name, arguments.first, requests=kind, every=arguments.every)
        print(f"{name:16} {requests:5} requests, {wrong} wrong", flush=True)
        bad += wrong
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
