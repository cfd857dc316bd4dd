"""Hooks, what a module calls of a floor above: each is a field of a table, set in one place, and missed at once."""

import ast
import ctypes
import importlib
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "dflow"

# Where the fields of each table are set: as _base/hooks.pxd says, by one module for a floor.
FILLED = {
    "memory_hooks": {"_array/core.pyx"},
    "storage_hooks": {"_runtime/disk.pyx"},
    "disk_hooks": {"_engine.pyx"},
    "running_hooks": {"_gpu/executor.pyx"},
    "record_hooks": {"_tracing/tape.pyx"},
    "noting_hooks": {"_tracing/trace.pyx"},
    "launch_hooks": {"_tracing/trace.pyx"},
    "capture_hooks": {"_tracing/cuda_graph.pyx"},
    "draw_hooks": {"_functions/random.pyx"},
    "array_hooks": {"_functions/wiring.pyx"},
    "selection_hooks": {"_functions/wiring.pyx"},
    "hooks": {"_functions/wiring.pyx", "ops/__init__.py"},
    "gradient_hooks": {"gradients/__init__.py"},
    "replay_hooks": {"_graph_decorator.py"},
}
SOURCES = {str(p.relative_to(PACKAGE)): p.read_text()
           for p in sorted(PACKAGE.rglob("*")) if p.suffix in (".py", ".pyx", ".pxd")}
KEPT = {"DTYPES", "INTP"}               # objects of Python's in headers, which their own modules set
OBJECTS = "object|dict|list|tuple|set|str|type"


def tables(sources):
    """{variable: (the file that has it, its fields)}, of those whose type is called ...Hooks."""
    found = {}
    for name, text in sources.items():
        kinds = {kind: re.findall(r"^    (?:cdef public )?\w+ (\w+)", body, re.M) for kind, body in re.findall(
            r"^cdef (?:struct|class) (\w*Hooks):.*\n((?:(?:    .*)?\n)+)", text, re.M)}
        for kind, variable in re.findall(r"^cdef (\w*Hooks) (\w+)", text, re.M):
            if kinds.get(kind):
                found[variable] = name, kinds[kind]
    return found


def settings(sources):
    """(table, field, file) of each place that sets one."""
    for name, text in sources.items():
        yield from ((table, field, name) for table, field in re.findall(r"^\s*(\w*hooks)\.(\w+) = ", text, re.M))


def strays(sources):
    """A line for each variable in a header that may hold a function and is in no table, and each reach past imports."""
    pointers = {found for text in sources.values() for found in re.findall(r"^ctypedef .*\(\*(\w+)\)\(", text, re.M)}
    for name, text in sources.items():
        if name.endswith(".pxd"):
            for kind, variable in re.findall(r"^cdef (\w+)\*? (\w+)(?:\[\w*\])?\s*(?:#.*)?$", text, re.M):
                if kind in pointers or kind in OBJECTS.split("|") and variable not in KEPT:
                    yield f"{name}: {variable} is a hook without a table"
            yield from (f"{name}: {variable} is a hook without a table"
                        for variable in re.findall(r"^cdef .*\(\*(\w+)\)\(", text, re.M))
        if re.search(r"sys\.modules(?:\.get\(|\[)f?[\"']dflow", text):
            yield f"{name}: looks a module up, as one that may not import it does"
        if name.endswith(".py"):
            yield from (f"{name}: sets {target}, of another module" for target in set_elsewhere(ast.parse(text)))


def set_elsewhere(tree):
    """The attributes of imported modules that a module assigns."""
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {(item.asname or item.name).partition(".")[0] for item in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "dflow":
            modules |= {item.asname or item.name for item in node.names if item.name.islower()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) in modules:
            yield ast.unparse(node)


def test_every_hook_is_in_a_table():
    assert list(strays(SOURCES)) == []
    assert tables(SOURCES).keys() == FILLED.keys()


def test_each_is_set_once_where_its_table_is():
    found = list(settings(SOURCES))
    assert len(found) == len(set(found)) == sum(len(fields) for _, fields in tables(SOURCES).values())
    for table, field, name in found:
        assert field in tables(SOURCES)[table][1]
        assert name in FILLED[table]


def test_each_is_called():
    for table, (_, fields) in tables(SOURCES).items():
        for field in fields:
            assert any(re.search(rf"\b{table}\.{field}\(", text) for text in SOURCES.values()), (table, field)


def module_of(name):
    path = name.rpartition(".")[0].replace("/", ".").removesuffix(".__init__")
    return importlib.import_module(f"dflow.{path}")


C_TABLES = [(table, name, number, field) for table, (name, fields) in sorted(tables(SOURCES).items())
            for number, field in enumerate(fields) if not table.startswith(("gradient", "hooks", "replay"))]


@pytest.mark.parametrize("table, name, number, field", C_TABLES, ids=[row[3] for row in C_TABLES])
def test_a_missing_function_is_named(table, name, number, field):
    filler = module_of(*FILLED[table])
    capsule = module_of(name).__pyx_capi__[table]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    pointer = ctypes.c_void_p.from_address(address + number * ctypes.sizeof(ctypes.c_void_p))
    before, message = pointer.value, None
    pointer.value = None                    # nothing calls it meanwhile: a pytest.raises() might
    try:
        filler.check()
    except ImportError as error:
        message = str(error)
    finally:
        pointer.value = before
    assert message is not None
    assert message.endswith(f"the hook {field} is missing")
    filler.check()


CALLABLES = [(table, name, field) for table, (name, fields) in sorted(tables(SOURCES).items())
             for field in fields if table.startswith(("gradient", "hooks", "replay"))]


@pytest.mark.parametrize("table, name, field", CALLABLES, ids=[f"{row[0]}-{row[2]}" for row in CALLABLES])
def test_a_missing_callable_is_named(table, name, field):
    for filler in FILLED[table]:
        module_of(filler)
    owner = module_of(name)
    hooks = owner.table()
    before = getattr(hooks, field)
    setattr(hooks, field, None)
    try:
        with pytest.raises(ImportError, match=f"the hook {field} is missing"):
            owner.check_table()
    finally:
        setattr(hooks, field, before)
    owner.check_table()
    with pytest.raises(AttributeError):
        hooks.no_hook = before


def test_strays_are_found():
    assert list(strays({
        "_base/low.pxd": "ctypedef void (*told)(int n) noexcept\ncdef told tell     # why\n"
                         "cdef int (*ask)(int)\ncdef dict called\ncdef int n\n"
                         "cdef struct LowHooks:\n    told tell\ncdef LowHooks low_hooks\n",
        "low.py": "import sys\nname = sys.modules['dflow.high']\n",
        "high.py": "from dflow import low\nfrom dflow._base import low as lower\nlow.tell = print\nlower.table()\n",
    })) == [
        "_base/low.pxd: tell is a hook without a table",
        "_base/low.pxd: called is a hook without a table",
        "_base/low.pxd: ask is a hook without a table",
        "low.py: looks a module up, as one that may not import it does",
        "high.py: sets low.tell, of another module",
    ]
