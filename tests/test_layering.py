"""Who may import whom inside dflow: only downwards, and each optional library in one file.

It reads the sources as text, so it needs no build, and a .pyx counts like a .py: `cimport` is an import.
"""

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "dflow"

# From top to bottom. A module imports from lines below its own only, never from its own line; a package is one module.
# A new module takes its place here.
LAYERS = [
    ["dflow"],  # dflow/__init__.py, which may import everything and is imported by nothing inside
    ["d2l", "image", "metric"],
    ["_differentiation", "gluon", "kvstore"],
    ["init", "lr_scheduler", "optimizer"],
    ["_graphs"],
    ["autograd", "random"],
    ["nd"],
    ["gradients", "npx"],
    ["context", "numpy"],
    ["devices"],
    ["ops", "engine", "profiler"],
    ["_index", "_make", "_operators", "_order"],
    ["_ufunc"],
    ["_quick", "_subscript", "_views", "_random", "_host", "_small", "_out", "_convolve"],
    ["_device", "_share", "_foreign", "_numbers"],
    ["_capture"],
    ["_program"],
    ["_gpu"],
    ["_tape"],
    ["_array"],
    ["_shape", "_signature"],
    ["_launch"],
    ["_kernels", "_engine", "_fork"],
    ["_threads"],
    ["_workers"],
    ["_gate", "_twin"],
    ["_group", "_lanes"],
    ["_fold", "_blas"],
    ["_lapack"],
    ["_fp"],
    ["_graph"],
    ["_timeline"],
    ["_cuda"],
    ["_translate"],
    ["_memory", "_missing", "_openblas", "_recording", "_scipy"],
]
DEPTH = {name: depth for depth, names in enumerate(LAYERS) for name in names}

# Each is imported in one file, inside a function: dflow works, and starts fast, without them.
OPTIONAL = {"cupy": r"cupyx?", "dask": r"dask|distributed", "pillow": r"PIL"}

IMPORT = re.compile(
    r"^(?P<indent>[ \t]*)(?:"
    r"from[ \t]+(?P<source>[\w.]+)[ \t]+c?import[ \t]+(?P<names>\([^)]*\)|[^\n;:]+)"
    r"|c?import[ \t]+(?P<modules>[^\n;:(]+)"
    r"|[^\n]*\bimport_module\([\"'](?P<dynamic>[\w.]+)[\"'])",
    re.MULTILINE,
)


def names_in(text):
    """The names in what follows `import`, without their `as`."""
    return [item.split()[0] for item in text.strip("() \n").split(",") if item.strip()]


def absolute(module, package):
    """A dotted module name in full: each dot in front goes up one from inside the package, the first one to it."""
    rest = module.lstrip(".")
    dots = len(module) - len(rest)
    if not dots:
        return module
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - dots + 1], *([rest] if rest else [])])


def imports(source, package):
    """Each import in Python or Cython source: the module, in full, and whether it is inside a block.

    `package` is the dotted name of the package that the source is in, for the relative ones. `from a import b` counts
    as `a.b`: whether b is a module or a name inside a, the import is allowed or not all the same.
    """
    source = re.sub(r"(\"\"\"|''').*?\1", "''", source, flags=re.DOTALL)  # docstrings, and C code inside Cython
    source = re.sub(r"#[^\n]*", "", source).replace("\\\n", " ")
    for match in IMPORT.finditer(source):
        inside = bool(match["indent"])
        if match["source"]:
            base = absolute(match["source"], package)
            yield from ((f"{base}.{name}", inside) for name in names_in(match["names"]))
        elif match["modules"]:
            yield from ((name, inside) for name in names_in(match["modules"]))
        else:
            yield absolute(match["dynamic"], package), True


def layer_of(module, package):
    """The name in LAYERS of a dotted module inside dflow. A name that is no module comes from dflow/__init__.py."""
    name = (module.split(".") + [""])[1]
    exists = any((package / f"{name}{end}").exists() for end in ("", ".py", ".pyx", ".pxd")) if name else False
    return name if name in DEPTH or exists else "dflow"


def sources(package):
    """The source files of a package: path, the name of its layer, and the dotted package it is in."""
    for path in sorted(p for p in package.rglob("*") if p.suffix in (".py", ".pyx", ".pxd")):
        parts = path.relative_to(package).with_suffix("").parts
        layer = "dflow" if parts[0] == "__init__" else parts[0]
        yield path, layer, ".".join(["dflow", *parts[:-1]])


def violations(package):
    """A line for each import that points up or sideways, and for each module without a place in LAYERS."""
    for path, layer, inside in sources(package):
        name = path.relative_to(package)
        if layer not in DEPTH:
            yield f"{name}: give `{layer}` a place in LAYERS"
            continue
        for module, _ in imports(path.read_text(), inside):
            if module.split(".")[0] != "dflow":
                continue
            target = layer_of(module, package)
            if target != layer and DEPTH.get(target, len(LAYERS)) <= DEPTH[layer]:
                yield f"{name}: imports {module}, which is not below it"


def optional_violations(package):
    """A line for each optional library imported in more than one file, or outside a function."""
    for library, pattern in OPTIONAL.items():
        found = [
            (str(path.relative_to(package)), inside_block)
            for path, _, inside in sources(package)
            for module, inside_block in imports(path.read_text(), inside)
            if re.fullmatch(pattern, module.split(".")[0])
        ]
        if len(files := sorted({name for name, _ in found})) > 1:
            yield f"{library} is imported in {', '.join(files)}"
        yield from (f"{name}: imports {library} outside a function" for name, lazy in found if not lazy)


def test_imports_point_down():
    assert list(violations(PACKAGE)) == []


def test_optional_libraries():
    assert list(optional_violations(PACKAGE)) == []


@pytest.mark.parametrize(
    "line, modules",
    [
        ("import dflow.ops as o, numpy\n", ["dflow.ops", "numpy"]),
        ("cimport dflow._engine  # why\n", ["dflow._engine"]),
        ("from ._engine cimport submit, wait as w\n", ["dflow.numpy._engine.submit", "dflow.numpy._engine.wait"]),
        ("from .. import (\n    ops,  # the table\n    nd,\n)\n", ["dflow.ops", "dflow.nd"]),
        ("from ..ops.table import row\n", ["dflow.ops.table.row"]),
        ("def f():\n    from dflow import nd; nd.g()\n", ["dflow.nd"]),
        ("x = importlib.import_module('dflow.gluon')\n", ["dflow.gluon"]),
        ("    return import_module('..npx', __package__)\n", ["dflow.npx"]),
        ('"""\nimport dflow.gluon\n"""\n# import dflow.nd\nimportant = 1\n', []),
    ],
)
def test_imports_are_found(line, modules):
    assert [module for module, _ in imports(line, "dflow.numpy")] == modules


def test_violations_are_found(tmp_path):
    files = {
        "__init__.py": "from . import gluon\nfrom .numpy import array\n",
        "_memory.pyx": "cimport numpy\nfrom ._engine cimport submit\n",
        "_kernels.pxd": "from dflow cimport _engine\n",
        "_array.pyx": "from . cimport _engine, _kernels\nimport cupy\n",
        "nd.py": "from dflow import waitall\nfrom . import ops\n",
        "numpy/__init__.py": "from . import random\nfrom ..ops import table\n",
        "numpy/random.py": "from .. import npx\ndef f():\n    import cupy\n",
        "stray.py": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert sorted(violations(tmp_path)) == [
        "_kernels.pxd: imports dflow._engine, which is not below it",
        "_memory.pyx: imports dflow._engine.submit, which is not below it",
        "nd.py: imports dflow.waitall, which is not below it",
        "numpy/random.py: imports dflow.npx, which is not below it",
        "stray.py: give `stray` a place in LAYERS",
    ]
    assert sorted(optional_violations(tmp_path)) == [
        "_array.pyx: imports cupy outside a function",
        "cupy is imported in _array.pyx, numpy/random.py",
    ]
