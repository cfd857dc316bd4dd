"""What the source distribution and a wheel have: all that they need, nothing that builds leave. Nothing is compiled."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from engines import clean_environment

ROOT = Path(__file__).resolve().parent.parent
NOT_PACKED = {".ci/run", ".gitignore"}      # of the repository itself
LEFT = [                                    # by builds, tests, benchmarks and editors
    "dflow/_engine.c", "dflow/_runtime/graph.c", "dflow/_runtime/graph.html", "dflow/_kernels/c/conv.o",
    "dflow/_engine.cpython-311-x86_64-linux-gnu.so", "dflow/__pycache__/init.cpython-311.pyc", "dflow/init.py.orig",
    "tests/__pycache__/soak.cpython-311.pyc", "tests/schedule/preload.so", "docs/sync.md", "small.png",
    "build/c/dflow/_engine.c", "build/release/lib/dflow/init.py", "build/wheel/source/dflow/init.py",
    "dist/dflow-0.1.0.tar.gz", "bench/results/parity.png", "bench/results/notes.md",
]
INCLUDE = re.compile(r'\b(?:include|extern\s+from)\s+"(_\w+/[^"]+)"')      # a file of dflow's own, from dflow/ on

pytestmark = [pytest.mark.once, pytest.mark.slow]


def tracked():
    """The files of the repository. In a source distribution, all that it has: the first test then says little."""
    if not (ROOT / ".git").exists():
        known = (ROOT / "dflow.egg-info" / "SOURCES.txt").read_text().splitlines()
        return {os.path.normpath(name) for name in known if ".egg-info" not in name and name != "setup.cfg"}
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {name for name in names.split("\0") if name and (ROOT / name).exists()} - NOT_PACKED


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The files of a source distribution, and those that a wheel has but the extensions, of a tree in use.

    Of the list that an earlier one left, too: setuptools packs again what that names.
    """
    tree = tmp_path_factory.mktemp("tree")
    for name in tracked():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    for name in LEFT:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()
    (tree / "dflow.egg-info").mkdir()
    (tree / "dflow.egg-info" / "SOURCES.txt").write_text("build/c/dflow/_engine.c\n")
    command = [sys.executable, "setup.py", "-q", "sdist", "-d", "packed", "build_py", "--build-lib", "built"]
    env = clean_environment() | {"DFLOW_LINK": "1"}
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    path, = (tree / "packed").iterdir()
    with tarfile.open(path) as archive:
        names = sorted(member.name.partition("/")[2] for member in archive if member.isfile())
    assert len(names) == len(set(names))
    made = {name for name in names if name.startswith("dflow.egg-info/")} | {"PKG-INFO", "setup.cfg"}
    return set(names) - made, {str(file.relative_to(tree / "built")) for file in tree.glob("built/**/*.*")}


def test_the_source_distribution_has_what_the_repository_has(packed):
    assert packed[0] == tracked()


def test_the_source_distribution_has_every_source_of_an_extension(packed):
    """Those that setup.py names, and of dflow's own what C and Cython include."""
    sources = {name for name in packed[0] if Path(name).suffix in {".c", ".h", ".cuh", ".pxd", ".pyx"}}
    included = {f"dflow/{name}" for source in sources for name in INCLUDE.findall((ROOT / source).read_text())}
    assert len(included) > 30 and included <= sources
    spec = importlib.util.spec_from_file_location("dflow_setup", ROOT / "setup.py")
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    assert {name for names in setup.HELPERS.values() for name in names} == {
        name for name in sources if name.startswith("dflow/") and name.endswith(".c")}


def test_a_wheel_has_the_package_but_the_c(packed):
    """.pxd and .h for those who cimport dflow, .pyx for tracebacks, .cuh for GPUs, .pyi and py.typed; no tests."""
    assert packed[1] == {name for name in tracked() if name.startswith("dflow/") and not name.endswith(".c")}
    assert {Path(name).suffix for name in packed[1]} == {".py", ".pyi", ".pyx", ".pxd", ".h", ".cuh", ".typed"}
