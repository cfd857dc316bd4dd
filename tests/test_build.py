"""What the build does beside building."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from engines import clean_environment


@pytest.mark.once
@pytest.mark.slow
def test_the_build_removes_extensions_without_a_source(tmp_path):
    """What was built before a module moved would be imported beside the new one, or in its place."""
    root, end = Path(__file__).resolve().parent.parent, sysconfig.get_config_var("EXT_SUFFIX")
    shutil.copy(root / "setup.py", tmp_path)
    (tmp_path / "dflow" / "_base").mkdir(parents=True)
    for folder in "dflow", "dflow/_base":
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "dflow" / "_base" / "number.pyx").write_text("number = 3\n")
    for stale in "dflow/_memory", "dflow/_base/gone":
        (tmp_path / f"{stale}{end}").write_bytes(b"")
    (tmp_path / f"dflow/_base/gone{end}.txt").touch()
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.glob("dflow/**/*.*") if path.suffix != ".py"} == {
        "dflow/_base/number.pyx", f"dflow/_base/number{end}", f"dflow/_base/gone{end}.txt"}
