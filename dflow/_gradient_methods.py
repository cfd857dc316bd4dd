"""The methods of ndarray for gradients. dflow.autograd is loaded when the first of them is called."""

import sys

from dflow._array.core import attach
from dflow._functions.constructors import zeros_like
from dflow._tracing import tape


def attach_grad(self, grad_req="write", stype=None):
    """Let the array have a gradient, zeros at first. backward() writes it ("write"), adds ("add") or not ("null").

    What was computed while recording keeps its part in the record: backward() goes on from it, and keeps its gradient
    on the way. Gradients of whole numbers and booleans, and by what is computed from these alone, are zero;
    after npx.set_np() those of whole numbers are of their own type, through what keeps them whole.
    """
    from dflow import autograd

    if stype not in (None, "default"):
        raise ValueError(f"stype must be None or 'default', not {stype!r}")
    autograd.mark_variables([self], [zeros_like(self)], grad_req)


_MXNETS = ("dflow.autograd", "dflow.npx")       # loaded where a program uses MXNet's face, or attach_grad()


def grad(self):
    """The array of the gradient; None where there is none.

    AttributeError, as for NumPy's arrays, until the program has used dflow.autograd, npx or attach_grad(): other code
    asks for `grad` to tell arrays of another kind.
    """
    leaf = tape.leaf_of(self)
    if leaf is None and not any(name in sys.modules for name in _MXNETS):
        raise AttributeError("'ndarray' object has no attribute 'grad': attach_grad() gives it one")
    return None if leaf is None or leaf.request == "null" else leaf.grad


def drop_grad(self):
    """Keep the gradient no more: x.grad is None from now on."""
    tape.drop_leaf(self)


def zero_grad(self):
    """Set the gradient to zero."""
    gradient = getattr(self, "grad", None)
    if gradient is not None:
        gradient[...] = 0


def backward(self, out_grad=None, retain_graph=False, train_mode=True):
    """autograd.backward() of this array; `out_grad` is its own gradient, ones unless given."""
    from dflow import autograd

    autograd.backward([self], None if out_grad is None else [out_grad], retain_graph, train_mode)


def detach(self):
    """The same memory, without what was recorded of it."""
    return tape.detach(self)


for _method in (attach_grad, drop_grad, zero_grad, backward, detach):
    attach(_method.__name__, _method)
attach("grad", property(grad))
