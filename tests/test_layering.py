"""Who may import whom inside dflow: only downwards, and each optional library in one file.

It reads the sources as text, so it needs no build, and a .pyx counts like a .py: `cimport` is an import.
"""

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "dflow"

# From top to bottom. A module imports from lines below its own only, never from its own line. The folders between
# _functions and _base are floors; any other package is one module. A new module takes its place here, and in the
# architecture too.
LAYERS = [
    ["__main__"],
    ["dflow"],  # dflow/__init__.py, which may import everything and is imported by nothing inside
    ["_libraries", "_notebook"],
    ["d2l", "dask", "distributed", "image", "metric", "onnx", "profiler", "util"],
    ["_gradient_methods", "gluon", "_remote"],
    ["_ranks"],
    ["kvstore"],
    ["init", "lr_scheduler", "optimizer"],
    ["_graph_decorator"],
    ["autograd", "random"],
    ["nd"],
    ["gradients", "npx"],
    ["context", "numpy"],
    ["devices"],
    ["ops", "engine"],
    ["_profile.memory", "_profile.progress", "_profile.session", "_profile.timeline"],
    ["_profile.graph", "_profile.page", "_profile.steps", "_profile.trace"],
    ["_profile.layered", "_profile.pictures", "_profile.summary", "_profile.totals"],
    ["_profile.forecast", "_profile.functions"],
    ["_profile.record", "_profile.timing"],
    ["_functions.wiring"],
    ["_functions.advanced_indexing", "_functions.convolve", "_functions.counting", "_functions.joining",
     "_functions.operators", "_functions.sorting"],
    ["_functions.ufunc"],
    ["_functions.gufunc"],
    ["_functions.constructors", "_functions.host_task", "_functions.numpy_inline", "_functions.out"],
    ["_functions.placement"],
    ["_functions.arrow", "_functions.basic_indexing", "_functions.given", "_functions.plans", "_functions.scalars"],
    ["_functions.masks", "_functions.points"],
    ["_functions.fastpath", "_functions.interp", "_functions.mapped", "_functions.random", "_functions.views"],
    ["_functions.buffers", "_functions.by_vector", "_functions.elements", "_functions.interop", "_functions.numbers",
     "_functions.sequences"],
    ["_tracing.cuda_graph"],
    ["_tracing.trace"],
    ["_tracing.tape"],
    ["_array.core"],
    ["_array.array_type", "_array.shape", "_array.signature"],
    ["_array.dispatch", "_array.in_caller"],
    ["_engine"],
    ["_gpu.executor"],
    ["_gpu.mirror"],
    ["_gpu.cuda"],
    ["_gpu.codegen"],
    ["_runtime.fork", "_runtime.waiting"],
    ["_runtime.cancelling", "_runtime.story", "_runtime.threads"],
    ["_runtime.survey"],
    ["_runtime.executor"],
    ["_runtime.disk", "_runtime.gate", "_runtime.parking"],
    ["_runtime.fusion_run", "_runtime.open_group", "_runtime.runners", "_runtime.splits"],
    ["_runtime.cancel"],
    ["_runtime.fusion_native"],
    ["_runtime.fusion_plan"],
    ["_runtime.fp_errors", "_runtime.fusion_rules", "_runtime.queues"],
    ["_runtime.fusion_space"],
    ["_runtime.graph"],
    ["_runtime.events"],
    ["_runtime.errors", "_runtime.region", "_runtime.tuning"],
    ["_kernels.bins", "_kernels.sorting", "_kernels.wrapped"],
    ["_kernels.casts"],
    ["_kernels.registry"],
    ["_kernels.matmul", "_kernels.trig"],
    ["_kernels.qr"],
    ["_kernels.lu"],
    ["_kernels.blas_library", "_kernels.native", "_kernels.outer_loop", "_kernels.reduce"],
    ["_kernels.dtypes", "_kernels.kernel", "_kernels.openblas", "_kernels.scipy_loader"],
    ["_base.allocator"],
    ["_base.locks"],
    ["_base.thread_state"],
    ["_base.atomics", "_base.documents", "_base.fpflags", "_base.hooks", "_base.missing", "_base.nested",
     "_base.renamed", "_base.threads"],
]
DEPTH = {name: depth for depth, names in enumerate(LAYERS) for name in names}
FLOORS = list(dict.fromkeys(name.partition(".")[0] for name in DEPTH if "." in name))

# Each is imported in one file, inside a function: dflow works, and starts fast, without them. A module of a library's
# name is imported when that has been.
OPTIONAL = {"cupy": r"cupyx?", "numba": r"numba", "dask": r"dask|distributed", "mpi": r"mpi4py", "onnx": r"onnx",
            "pillow": r"PIL", "tqdm": r"tqdm", "ipython": r"IPython"}

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
    first, second = (module.split(".") + ["", ""])[1:3]
    name = f"{first}.{second}" if first in FLOORS else first
    path = name.replace(".", "/")
    exists = any((package / f"{path}{end}").exists() for end in ("", ".py", ".pyx", ".pxd")) if name else False
    return name if name in DEPTH or exists else "dflow"


def sources(package):
    """The source files of a package: path, the name of its layer, and the dotted package it is in."""
    for path in sorted(p for p in package.rglob("*") if p.suffix in (".py", ".pyx", ".pxd")):
        parts = path.relative_to(package).with_suffix("").parts
        layer = "dflow" if parts[0] == "__init__" else ".".join(parts[:2]) if parts[0] in FLOORS else parts[0]
        yield path, layer, ".".join(["dflow", *parts[:-1]])


def violations(package):
    """A line for each import that points up or sideways, and for each module without a place in LAYERS."""
    for path, layer, inside in sources(package):
        name = path.relative_to(package)
        found = [module for module, _ in imports(path.read_text(), inside) if module.split(".")[0] == "dflow"]
        if path.name == "__init__.py" and layer.partition(".")[0] in FLOORS:
            layer = layer.partition(".")[0]
            found = [module for module in found if module.split(".")[1] != layer]       # its own floor's
            depth = min(depth for known, depth in DEPTH.items() if known.startswith(f"{layer}."))
        elif layer in DEPTH:
            depth = DEPTH[layer]
        else:
            yield f"{name}: give `{layer}` a place in LAYERS"
            continue
        for module in found:
            target = layer_of(module, package)
            if target != layer and DEPTH.get(target, len(LAYERS)) <= depth:
                yield f"{name}: imports {module}, which is not below it"


def include_violations(package):
    """A line for each header that a C file, or a declaration of Cython's, includes from a floor above its own."""
    for path in sorted(p for p in package.rglob("*") if p.suffix in (".c", ".h", ".cuh", ".pyx", ".pxd")):
        floor = path.relative_to(package).parts[0]
        if floor not in FLOORS:
            continue
        for header in re.findall(r"(?:#include|extern from) \"(\w+)/", path.read_text()):
            if header in FLOORS and FLOORS.index(header) < FLOORS.index(floor):
                yield f"{path.relative_to(package)}: includes from {header}, which is not below it"


def table_differences(text):
    """A line for each module that the table of layers has otherwise than LAYERS, and each row out of order."""
    table = text.partition("| module |")[2].partition("\n\n")[0]
    rows = [re.findall(r"`([\w./]+)`", line.split("|")[1]) for line in table.split("\n")[2:]]
    rows = [row for row in rows if row]  # others are headings
    rows = [[name.strip("/").replace("dflow/__init__.py", "dflow").replace("/", ".") for name in row] for row in rows]
    names = [name for row in rows for name in row]
    yield from (f"{name} is not in the table" for name in DEPTH if name not in names)
    yield from (f"{name} is in the table, and not in LAYERS" for name in names if name not in DEPTH)
    tops = [min(DEPTH.get(name, 0) for name in row) for row in rows]
    for row, above, top in zip(rows[1:], tops, tops[1:]):
        if top < above:
            yield f"the row of {row[0]} stands too low"


def optional_violations(package):
    """A line for each optional library imported in more than one file, or outside a function."""
    for library, pattern in OPTIONAL.items():
        found = [
            (str(path.relative_to(package)), inside_block)
            for path, _, inside in sources(package)
            for module, inside_block in imports(path.read_text(), inside)
            if re.fullmatch(pattern, module.split(".")[0]) and not re.fullmatch(pattern, path.stem)
        ]
        if len(files := sorted({name for name, _ in found})) > 1:
            yield f"{library} is imported in {', '.join(files)}"
        yield from (f"{name}: imports {library} outside a function" for name, lazy in found if not lazy)


def test_imports_point_down():
    assert list(violations(PACKAGE)) == []


def test_includes_point_down():
    assert list(include_violations(PACKAGE)) == []


def test_the_table_in_the_architecture():
    assert list(table_differences((PACKAGE.parent / "ARCHITECTURE.md").read_text())) == []


@pytest.mark.once
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
        "_base/allocator.pyx": "cimport numpy\nfrom .._engine cimport submit\n",
        "_base/stray.pyx": "",
        "_kernels/__init__.py": "from dflow._kernels import qr\nfrom dflow._runtime import graph\n",
        "_kernels/registry.pxd": "from dflow cimport _engine\n",
        "_array/core.pyx": "from dflow cimport _engine\nfrom .._kernels cimport registry\nimport cupy\n",
        "_array/dispatch.pxd": "from . cimport shape\nfrom dflow._runtime.graph cimport Task\n",
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
        "_array/dispatch.pxd: imports dflow._array.shape, which is not below it",
        "_base/allocator.pyx: imports dflow._engine.submit, which is not below it",
        "_base/stray.pyx: give `_base.stray` a place in LAYERS",
        "_kernels/__init__.py: imports dflow._runtime.graph, which is not below it",
        "_kernels/registry.pxd: imports dflow._engine, which is not below it",
        "nd.py: imports dflow.waitall, which is not below it",
        "numpy/random.py: imports dflow.npx, which is not below it",
        "stray.py: give `stray` a place in LAYERS",
    ]
    assert sorted(optional_violations(tmp_path)) == [
        "_array/core.pyx: imports cupy outside a function",
        "cupy is imported in _array/core.pyx, numpy/random.py",
    ]
