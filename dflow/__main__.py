"""python -m dflow: a program's profile; what dflow runs with."""

import argparse
import os
import runpy
import sys
from pathlib import Path

import dflow


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m dflow", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="what dflow runs with: versions, workers, BLAS")
    profile = commands.add_parser(
        "profile", help="run a program, and tell what took how long",
        description="Run a program, and write NAME.json, a trace for https://ui.perfetto.dev, and NAME.html, a page "
                    "with what took how long, by operation and by line, where the program waited and for what, and "
                    "what held its memory. A summary of that goes to standard error.")
    profile.add_argument("-o", metavar="NAME", help="of the two files, without its end; the program's name")
    profile.add_argument("--functions", action="store_true", help="Python's functions in the trace, too: slower")
    profile.add_argument("--stacks", action="store_true", help="who called the lines that submitted, too: slower")
    profile.add_argument("-m", action="store_true", help="PROGRAM is the name of a module")
    profile.add_argument("program", metavar="PROGRAM")
    profile.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    if options.command == "info":
        dflow.show_config()
        return 0
    return run_profiled(options)


def run_profiled(options):
    from dflow._profile import page, summary

    name = options.o or Path(options.program.rpartition(".")[2] if options.m else options.program).stem
    before = sys.argv[:], sys.path[0]
    sys.argv[:] = [options.program, *options.arguments]
    if not options.m:
        if not os.path.isfile(options.program):
            print(f"python -m dflow profile: there is no file {options.program!r}", file=sys.stderr)
            return 2
        if not sys.flags.safe_path:         # then it is no folder of the program's
            sys.path[0] = os.path.dirname(os.path.abspath(options.program))
    ended = None
    try:
        with dflow.profile(f"{name}.json", options.functions, options.stacks) as timeline:
            try:
                if options.m:
                    runpy.run_module(options.program, run_name="__main__", alter_sys=True)
                else:
                    runpy.run_path(options.program, run_name="__main__")
            except SystemExit as error:
                ended = error
    finally:
        sys.argv[:], sys.path[0] = before
        if timeline.record is not None:
            title = " ".join([options.program, *options.arguments])
            Path(f"{name}.html").write_text(page.page(timeline.record, title), encoding="utf-8")
            print(f"\n{summary.Summary(timeline.record).text()}\n\n{name}.html, {name}.json (for "
                  "https://ui.perfetto.dev)", file=sys.stderr)
    if ended is not None:
        raise ended
    return 0


if __name__ == "__main__":
    sys.exit(main())
