"""What the build does beside building."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from engines import clean_environment

ROOT, END = Path(__file__).resolve().parent.parent, sysconfig.get_config_var("EXT_SUFFIX")
FOREIGN = ".cpython-310-elsewhere" + Path(END).suffix     # another Python's

pytestmark = [pytest.mark.once, pytest.mark.slow]


def build(folder, lib, *arguments):
    """Builds a package with one extension, dflow._base.number, where others lie in `lib`; what lies there then."""
    shutil.copy(ROOT / "setup.py", folder)
    for package in folder / "dflow" / "_base", lib / "dflow" / "_base":
        package.mkdir(parents=True, exist_ok=True)
    for package in "dflow", "dflow/_base":
        (folder / package / "__init__.py").touch()
    (folder / "dflow" / "_base" / "number.pyx").write_text("number = 3\n")
    for stale in f"_memory{END}", f"_base/gone{END}", f"_base/gone{END}.txt", f"_base/number{FOREIGN}":
        (lib / "dflow" / stale).touch()
    command = [sys.executable, "setup.py", "-q", "build_ext", *arguments]
    done = subprocess.run(command, cwd=folder, env=clean_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {str(path.relative_to(lib)) for path in lib.glob("dflow/**/*.*") if path.suffix != ".py"}


def test_the_build_removes_extensions_without_a_source(tmp_path):
    """What was built before a module moved would be imported beside the new one, or in its place."""
    assert build(tmp_path, tmp_path, "--inplace") == {
        "dflow/_base/number.pyx", f"dflow/_base/number{END}", f"dflow/_base/number{FOREIGN}",
        f"dflow/_base/gone{END}.txt"}


def test_what_becomes_a_wheel_has_extensions_of_one_python(tmp_path):
    """`pip install .` with one Python after another, in one clone."""
    assert build(tmp_path, tmp_path / "build" / "release" / "lib") == {
        f"dflow/_base/number{END}", f"dflow/_base/gone{END}.txt"}
