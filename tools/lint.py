"""The house rules that ruff cannot check: the length of files, lines of Cython and C, no .pxi, no hint from Cython.

`make lint` runs it.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["dflow", "tests", "bench", "examples", "tools"]
CODE = {".py", ".pyi", ".pyx", ".pxd", ".c", ".h", ".cuh"}
NOT_RUFFS = CODE - {".py", ".pyi"}
MAX_LINES = 1000
MAX_COLUMNS = 120           # as ruff's for .py, in pyproject.toml; here of bytes, as not every tool knows columns


def length_and_kind():
    """Files too long to read in one sitting, and included Cython, which is code without a module."""
    for path in [p for folder in FOLDERS for p in sorted((ROOT / folder).rglob("*"))]:
        name = path.relative_to(ROOT)
        if path.suffix == ".pxi":
            yield f"{name}: no .pxi files; make it a module with a .pxd"
        elif path.suffix in CODE and (lines := len(path.read_text().splitlines())) > MAX_LINES:
            yield f"{name}: {lines} lines, more than {MAX_LINES}"


def columns():
    """Lines of Cython and C that are too long: ruff does not read them."""
    for path in [p for folder in FOLDERS for p in sorted((ROOT / folder).rglob("*")) if p.suffix in NOT_RUFFS]:
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            if len(line) > MAX_COLUMNS:
                yield f"{path.relative_to(ROOT)}:{number}: {len(line)} bytes, more than {MAX_COLUMNS}"


def cython_hints():
    """Cython's performance hints: a nogil function that takes the GIL after all, to look for an exception.

    Cython gives them only for what it compiles, so everything is compiled again, into a folder thrown away.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", f"import setup; setup.extensions(build_dir={folder!r}, force=True)"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        yield f"Cython failed:\n{done.stdout}{done.stderr}"
    yield from (line for line in (done.stdout + done.stderr).splitlines() if "performance hint: dflow/" in line)


if __name__ == "__main__":
    problems = [*length_and_kind(), *columns(), *cython_hints()]
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(bool(problems))
