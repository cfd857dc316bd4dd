"""``python -m bench``: runs experiments, prints their table, writes JSON and a picture under bench/results."""
import argparse
import sys
import textwrap
import time
import traceback
from datetime import datetime
from importlib import import_module
from pathlib import Path

from . import picture, report
from .machine import machine
from .registry import EXPERIMENTS, Row, Run

# The modules that register experiments, in the order of the table.
for module in ("fast", "seed", "limits", "namespace", "samples", "whole", "parity", "sweep", "scheduling", "training",
               "observing", "devices", "cluster", "gpu"):
    import_module(f".{module}", __package__)


def main():
    options = parse()
    if options.list:
        for one in EXPERIMENTS.values():
            print(f"{one.name:<12} {one.about}" + (f"; at most {one.limit}" if one.limit else ""))
            if one.sizes:
                print(f"{'':<12} --size: {one.size_is}; default {' '.join(map(str, one.sizes))}")
            if one.parts:
                print(textwrap.fill(f"--only: some of {' '.join(one.parts)}", 120, initial_indent=" " * 13,
                                    subsequent_indent=" " * 21))
        return 0
    # The machine is looked at before experiments change the number of workers.
    about = machine()
    start = time.perf_counter()
    print(", ".join(f"{key} {value}" for key, value in about.items()), end="\n\n")
    chosen = options.experiments or EXPERIMENTS
    print(report.heading(max((EXPERIMENTS[name].beside for name in chosen), key=len)), flush=True)
    rows = [row for name in chosen for row in measure(EXPERIMENTS[name], options)]
    print(f"\n{report.summary(rows)}\n{time.perf_counter() - start:.0f} s")
    write(rows, about, options.json)
    return any(row.error for row in rows)


def parse():
    parser = argparse.ArgumentParser(prog="python -m bench", description="dflow side by side with NumPy")
    parser.add_argument("experiments", nargs="*", metavar="experiment", help="names from --list; all by default")
    parser.add_argument("--size", type=int, nargs="+", metavar="N", help="sizes in place of the experiments' own")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some parts of one experiment, as --list names them")
    parser.add_argument("--repeat", type=int, metavar="N", help="rounds in place of the experiments' own")
    parser.add_argument("--full", action="store_true", help="long measurements too: 10 million pending ops")
    parser.add_argument("--quick", action="store_true",
                        help="namespace: only the most used names, at three sizes, as where no experiment is named")
    parser.add_argument("--instructions", action="store_true",
                        help="namespace, parity: count these, by valgrind (small sizes)")
    parser.add_argument("--wait", action="store_true",
                        help="namespace: each result is waited for, not all of them at last")
    parser.add_argument("--seed", type=int, metavar="N", help="parity: the first program; what is slower is told")
    parser.add_argument("--seconds", type=float, metavar="S", help="parity: for how long, not a thousand programs")
    parser.add_argument("--list", action="store_true", help="name the experiments and stop")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the JSON here too")
    options = parser.parse_args()
    unknown = [name for name in options.experiments if name not in EXPERIMENTS]
    if options.size and not options.experiments:
        parser.error("--size means another thing to each experiment: name one")
    if unknown:
        parser.error(f"no experiment {', '.join(unknown)}; there are {', '.join(EXPERIMENTS)}")
    if options.only:
        if len(options.experiments) != 1:
            parser.error("--only means the parts of one experiment: name it")
        if missing := set(options.only) - set(EXPERIMENTS[options.experiments[0]].parts):
            parser.error(f"no {', '.join(sorted(missing))} in {options.experiments[0]}: see --list")
    return options


def _run(one, options):
    sizes = tuple(options.size or one.sizes) if one.sizes else ()
    quick = options.quick or not (options.experiments or options.full)
    return Run(sizes, options.repeat, options.full, options.only or (), quick, options.instructions, options.seed,
               options.seconds, options.wait)


def measure(one, options):
    """The rows of one experiment, printed as they come. One that raises gives a row with the error: the others run."""
    try:
        for row in one.measure(_run(one, options)):
            row.experiment = one.name
            print(report.line(row, one.beside), flush=True)
            yield row
    except Exception as error:
        row = Row(one.name, error=f"{type(error).__name__}: {error}".splitlines()[0], experiment=one.name)
        print(report.line(row), flush=True)
        traceback.print_exc()
        yield row


def write(rows, about, also):
    report.RESULTS.mkdir(exist_ok=True)
    stamp = datetime.now().strftime("%Y-%m-%d-%H%M%S")
    paths = [report.RESULTS / f"{stamp}.json", report.RESULTS / "latest.json"]
    report.write_json(rows, about, paths + ([also] if also else []))
    print(f"bench/results/{stamp}.json, bench/results/latest.json", end="")
    drawn = picture.draw(rows, about, report.RESULTS)
    print("".join(f", bench/results/{name}" for name in drawn) or "; no picture, without matplotlib or rows")


if __name__ == "__main__":
    sys.exit(main())
