"""The same work in NumExpr, JAX (jitted) and PyTorch (eager), those that are installed.

A function here takes NumPy's values and returns {library: call}; a call does the work once, to its end. What a library
can not do, or has no such thing for, is left out.
"""
from functools import cache
from importlib import import_module

import numpy


@cache
def _module(name):
    try:
        module = import_module(name)
    except ImportError:
        return None
    if name == "jax":
        module.config.update("jax_enable_x64", True)    # or its float64 would be float32
    return module


class _Calls(dict):
    """Filled with what the installed libraries can do. A maker gets its library, and the values as its arrays."""

    def numexpr(self, text, out=None, **values):
        numexpr = _module("numexpr")
        if numexpr:
            self["numexpr"] = lambda: numexpr.evaluate(text, local_dict=values, global_dict={}, out=out)
        return self

    def jax(self, make, *values, donated=False):
        """make(jax, jax.numpy) gives the function to jit. donated: its first argument becomes its result, in place."""
        jax = _module("jax")
        if not jax:
            return self
        function = jax.jit(make(jax, jax.numpy), donate_argnums=(0,) if donated else ())
        arrays = [jax.numpy.array(value) for value in values]

        def call():
            result = jax.block_until_ready(function(*arrays))
            if donated:
                arrays[0] = result
            return result
        self["jax"] = call
        return self

    def torch(self, make, *values):
        """make(torch, *tensors) gives the call."""
        torch = _module("torch")
        if torch:
            self["torch"] = make(torch, *(torch.tensor(value) for value in values))
        return self


def chain(x, y):
    calls = _Calls().numexpr("x*y + 2*x - y/3", x=x, y=y)
    calls.jax(lambda jax, np: lambda x, y: x * y + 2 * x - y / 3, x, y)
    return calls.torch(lambda torch, x, y: lambda: x * y + 2 * x - y / 3, x, y)


def sine_chain(x, y):
    calls = _Calls().numexpr("sin(x)*y + 2*x - y/3", x=x, y=y)
    calls.jax(lambda jax, np: lambda x, y: np.sin(x) * y + 2 * x - y / 3, x, y)
    return calls.torch(lambda torch, x, y: lambda: torch.sin(x) * y + 2 * x - y / 3, x, y)


def increment(x):
    calls = _Calls().numexpr("x + 1", x=x)
    calls.jax(lambda jax, np: lambda x: x + 1, x)
    return calls.torch(lambda torch, x: lambda: x + 1, x)


def inplace(x, y):
    x = x.copy()
    calls = _Calls().numexpr("(x + y)*0.5", out=x, x=x, y=y)
    calls.jax(lambda jax, np: lambda x, y: (x + y) * 0.5, x, y, donated=True)
    return calls.torch(lambda torch, x, y: lambda: x.add_(y).mul_(0.5), x, y)


def stencil(x, out):
    def five(x):
        return (x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) * 0.2

    def assign(torch, out, x):
        def call():
            out[1:-1, 1:-1] = five(x)
            return out
        return call

    mine = out.copy()
    views = {"a": x[1:-1, 1:-1], "b": x[:-2, 1:-1], "c": x[2:, 1:-1], "d": x[1:-1, :-2], "e": x[1:-1, 2:]}
    calls = _Calls().numexpr("(a + b + c + d + e)*0.2", out=mine[1:-1, 1:-1], **views)
    calls.jax(lambda jax, np: lambda out, x: out.at[1:-1, 1:-1].set(five(x)), out, x, donated=True)
    return calls.torch(assign, out, x)


def dot(x, y):
    # Not NumExpr: it adds in one chain, and ten million single precision numbers are too many for that.
    calls = _Calls().jax(lambda jax, np: lambda x, y: (x * y).sum(), x, y)
    return calls.torch(lambda torch, x, y: lambda: (x * y).sum(), x, y)


def mean(x, axis):
    calls = _Calls().numexpr(f"sum(x, axis={axis})", x=x)
    if total := calls.get("numexpr"):
        calls["numexpr"] = lambda: total() / x.shape[axis]
    calls.jax(lambda jax, np: lambda x: x.mean(axis=axis), x)
    return calls.torch(lambda torch, x: lambda: x.mean(dim=axis), x)


def softmax(x):
    calls = _Calls().jax(lambda jax, np: lambda x: jax.nn.softmax(x, axis=1), x)
    return calls.torch(lambda torch, x: lambda: torch.softmax(x, 1), x)


def logsumexp(x):
    calls = _Calls().jax(lambda jax, np: lambda x: jax.nn.logsumexp(x, axis=1, keepdims=True), x)
    return calls.torch(lambda torch, x: lambda: torch.logsumexp(x, 1, keepdim=True), x)


def product(a, b):
    calls = _Calls().jax(lambda jax, np: lambda a, b: a @ b, a, b)
    return calls.torch(lambda torch, a, b: lambda: a @ b, a, b)


def products(*matrices):
    calls = _Calls().jax(lambda jax, np: lambda *matrices: [a @ a for a in matrices], *matrices)
    return calls.torch(lambda torch, *matrices: lambda: [a @ a for a in matrices], *matrices)


# JAX gets the key of its random numbers as a value, or it would draw once, when it compiles.
_KEYS = numpy.arange(20, dtype="uint32").reshape(10, 2)


def normal(n, dtype):
    calls = _Calls().jax(lambda jax, np: lambda key: jax.random.normal(key, (n,), dtype), _KEYS[0])
    return calls.torch(lambda torch: lambda: torch.randn(n, dtype=getattr(torch, dtype)))


def uniform(n, dtype):
    calls = _Calls().jax(lambda jax, np: lambda key: jax.random.uniform(key, (n,), dtype), _KEYS[0])
    return calls.torch(lambda torch: lambda: torch.rand(n, dtype=getattr(torch, dtype)))


def draws_and_products(n):
    """The seed's experiment: ten times a matrix of normals, multiplied by itself."""
    def with_jax(jax, np):
        def one(key):
            a = jax.random.normal(key, (n, n), "float64")
            return a @ a
        return lambda *keys: [one(key) for key in keys]

    def with_torch(torch):
        def call():
            for _ in _KEYS:
                a = torch.randn(n, n, dtype=torch.float64)
                b = a @ a
            return b
        return call
    return _Calls().jax(with_jax, *_KEYS).torch(with_torch)
