"""``python -m examples``: each program with NumPy and with dflow: the same results, and in what time.

Those for MXNet run as they are, if they are named."""

import argparse
import sys
import time
from pathlib import Path

import numpy

import dflow  # noqa: F401  # before NumPy: see README.md
from bench import programs

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("[a-z]*.py") if programs.IMPORT in path.read_text())
NETWORKS = sorted({path.stem for path in FOLDER.glob("[a-z]*.py")} - {*NAMES})          # for MXNet
LIBRARIES = ("numpy", "dflow.numpy")


def timed(program, size):
    """Its results as NumPy's arrays, by name, and the seconds until all of them are there."""
    start = time.perf_counter()
    results = {name: numpy.asarray(x) for name, x in program.main(size).items()}
    return results, time.perf_counter() - start


def difference(ours, theirs):
    """Where the results differ, in words; empty when they are equal as far as they must be."""
    if ours.keys() != theirs.keys():
        return f"{sorted(ours)}, NumPy gives {sorted(theirs)}"
    for name in theirs:
        if found := programs.difference([ours[name]], [theirs[name]]):
            return f"{name}: {found}"
    return ""


def run(name, size, repeat):
    """Prints a line of the table; returns what differs. The first run of each is not timed; then they take turns."""
    loaded = {library: programs.load(name, library, FOLDER) for library in LIBRARIES}
    size = getattr(loaded["numpy"], size)
    results = {library: timed(program, size)[0] for library, program in loaded.items()}
    found = difference(results["dflow.numpy"], results["numpy"])
    times, order = {library: [] for library in LIBRARIES}, list(LIBRARIES)
    while len(times["numpy"]) < repeat or sum(times["numpy"]) < 0.5 * (repeat > 1):
        for library in order:
            times[library].append(timed(loaded[library], size)[1])
        order.reverse()
    theirs, ours = (min(times[library]) for library in LIBRARIES)
    print(f"{name:<14} {theirs * 1e3:8.0f} ms {ours * 1e3:8.0f} ms {theirs / ours:7.2f} x ", found or "same results",
          flush=True)
    return found


def show(name, size):
    """Runs a program for MXNet, which prints what it finds."""
    path = FOLDER / f"{name}.py"
    source = path.read_text().replace("main(FULL)", f"main({size})")
    exec(compile(source, str(path), "exec"), {"__name__": "__main__", "__file__": str(path)})


def main():
    parser = argparse.ArgumentParser(prog="python -m examples", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"some of {', '.join(NAMES)}; or of those for MXNet: "
                        f"{', '.join(NETWORKS)}")
    parser.add_argument("--small", action="store_true", help="the sizes of the tests, of which times say nothing")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="timed runs at least; the best counts")
    options = parser.parse_args()
    if unknown := set(options.names) - {*NAMES, *NETWORKS}:
        parser.error(f"no {', '.join(sorted(unknown))} among {', '.join(NAMES + NETWORKS)}")
    size = "SMALL" if options.small else "FULL"
    compared = [name for name in options.names or NAMES if name in NAMES]
    if compared:
        print(f"{'program':<14} {'NumPy':>11} {'dflow':>11} {'speed':>9}")
    found = [run(name, size, options.repeat) for name in compared]
    for name in options.names:
        if name in NETWORKS:            # after the others: they set what MXNet's defaults are
            show(name, size)
    return any(found)


if __name__ == "__main__":
    sys.exit(main())
