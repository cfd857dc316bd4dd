"""The table of operations: one row an operation.

`@op(...)` above a function makes its row. What follows from a row: the entry in `dflow.numpy` (or its submodule), the
method of ndarray, the comparison with NumPy in tests/test_namespace.py, and the line in docs/sync.md, where
tools/sync_table.py writes how its samples run; tests/test_sync_table.py checks that kind and docstring say the same.
MXNet's functions have the module "npx", which is dflow.npx, and their comparison in tests/test_npx.py.

`samples` are argument lists as text, each evaluated after the operation's name, once with NumPy and once with dflow;
tests/test_namespace.py says which arrays they may name. A sample that fails in NumPy must fail the same way here.

kinds   kernel    runs in the caller, when its input is there and the work is tiny, else as tasks of nogil kernels
        view      a view, at once; a copy (a kernel) where NumPy makes one
        host      a NumPy function as a task on a worker, for some arguments at least: the call does not wait
        blocking  waits for its arguments, as its result's shape (or type) depends on their values
"""

import sys
from types import BuiltinFunctionType, FunctionType

import numpy

from dflow._array.core import attach, ndarray
from dflow._base.documents import CLOSE, Later, composed
from dflow._functions.constructors import give_text
from dflow._functions.numpy_inline import as_method, builtin, public, small_first
from dflow._functions.ufunc import ufunc
from dflow.ops.fallback import into_numpys, or_numpys

KINDS = ("kernel", "view", "host", "blocking")
TABLE = {}                  # (module, name): Row


class Row:
    """One operation. `close`: its numbers may differ from NumPy's in the last bits; "largest": of the largest.

    `text`: what dflow says of it, without NumPy's text; None of ufuncs.
    """

    __slots__ = ("module", "name", "function", "kind", "method", "samples", "close", "text")

    def __init__(self, module, name, function, kind, method, samples, close):
        self.module = module
        self.name = name
        self.function = function
        self.kind = kind
        self.method = method
        self.samples = samples
        self.close = close
        self.text = None if type(function) is ufunc else function.__doc__

    def __repr__(self):
        return f"<Row {self.module}.{self.name}: {self.kind}>"


def add_row(name, function, samples=(), kind="kernel", method=False, module="numpy", close=False):
    """A row, and the method that goes with it: of the same name when `method` is True, or a function of its own."""
    name = sys.intern(name)     # a dictionary compares other names letter by letter
    TABLE[module, name] = Row(module, name, function, kind, bool(method), samples, close)
    if method is True:
        method = as_method(function)
    elif method:
        method.__name__ = method.__qualname__ = name
    if method:
        attach(name, method)


def recorded(function):
    """A function that has a gradient (dflow/gradients): while operations are recorded, its call is one of them."""
    return small_first(function, None, 0)


def op(*samples, name=None, aliases=(), kind="kernel", method=False, module="numpy", close=False,
       small=0, writes=False, foreign=False, gradient=False):
    """Decorates the function of an operation: see the top of this file.

    `small`: with up to so many elements in each array, all of them there, it is NumPy's function of that name;
    `writes`: into its first argument, also where that is NumPy's array. `foreign`: so it is without
    arrays of ours, others may hold texts. `gradient`: it has one itself, not only the functions that it calls.
    """

    def add(function):
        theirs = getattr(sys.modules.get(module), name or function.__name__, None)
        if foreign:
            function = or_numpys(function, theirs)
        if writes:
            function = into_numpys(function, theirs)
        if small:
            function = small_first(function, theirs, small, writes)
        elif gradient:
            function = recorded(function)
        add_row(name or function.__name__, function, samples, kind, method, module, close)
        for alias in aliases:
            add_row(alias, function, samples[:1], kind, False, module, close)
        return function

    return add


def method(name, small=0, writes=False):
    """Decorates a function that is a method of ndarray only, or whose arguments differ from the namespace's."""

    def add(function):
        function.__name__ = function.__qualname__ = name
        if small:
            function = small_first(function, getattr(numpy.ndarray, name), small, writes)
        attach(name, function)
        return function

    return add


def namespace(module):
    """Name: function, of the rows of one module, as a program sees it."""
    numpys = vars(sys.modules[module]) if module in sys.modules else {}
    shared, names, home = {}, {}, f"dflow.{module}"      # NumPy's aliases are one function: so are ours
    for row in TABLE.values():
        if row.module == module and row.name not in numpys:
            names[row.name] = row.function
        elif row.module == module:
            key = id(row.function), id(numpys[row.name])
            if key not in shared:
                shared[key] = public(row.function, numpys[row.name], home)
                describe(shared[key], row.text, row.kind, numpys[row.name], f"{module}.{row.name}", row.close)
            names[row.name] = shared[key]
    return names


def describe(function, text, kind, theirs, path, close=False):
    """Let a function have the docstring of one that NumPy has, too (see dflow/_base/documents.py).

    Ufuncs and the methods of streams do so themselves; types have their own.
    """
    notes = (CLOSE,) if close else ()
    if isinstance(function, builtin):
        function.__doc__ = Later(text, kind, theirs, path, *notes)
    elif isinstance(function, FunctionType):
        function.__doc__ = composed(text, kind, theirs.__doc__, path, *notes)
    elif isinstance(function, BuiltinFunctionType) and getattr(function, "__self__", None) is None:
        give_text(function, composed(text, kind, theirs.__doc__, path, *notes))


def describe_methods():
    """The same for the methods of ndarray. What waits says so in its text; the rest is done as the rows say."""
    kinds = {row.name: (row.kind, row.close) for row in TABLE.values() if row.module == "numpy" and row.method}
    shared = {row.function for row in TABLE.values()}
    for name, method in vars(ndarray).items():
        theirs = vars(numpy.ndarray).get(name)
        if name[0] == "_" or not callable(theirs) or not hasattr(method, "__doc__"):
            continue
        kind, close = kinds.get(name, ("reads" if "wait" in (method.__doc__ or "").lower() else "kernel", False))
        method.__doc__ = composed(method.__doc__, kind, theirs.__doc__, f"numpy.ndarray.{name}",
                                  *((CLOSE,) if close else ()))
        if isinstance(method, FunctionType) and method not in shared:
            method.__qualname__, method.__module__ = f"ndarray.{name}", "dflow"
