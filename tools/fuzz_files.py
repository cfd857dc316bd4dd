"""Hostile files, chosen by coverage: needs `pip install atheris`, which has wheels for CPython 3.11 to 3.13 on Linux.

    python -m tools.fuzz_files --minutes 10 [READER ...]
    python -m tools.fuzz_files --again FILE             what a find did: FILE is the one that it left

The readers, the samples that it begins with, and what must come of a file are those of tests/hostile.py.
"""

import argparse
import random
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
with atheris.instrument_imports(include=["dflow", "numpy.lib", "PIL", "gzip", "pickle", "tarfile", "zipfile"]):
    import hostile

LONGEST = 1 << 16           # bytes of a file


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--again", metavar="FILE")
    parser.add_argument("readers", nargs="*")
    arguments = parser.parse_args()
    readers = hostile.make()
    chosen = [(number, reader) for number, (name, reader) in enumerate(readers.items())
              if not arguments.readers or name in arguments.readers]
    numbers, every = [number for number, _ in chosen], list(readers.values())
    folder = tempfile.TemporaryDirectory()

    def one(data):                          # the first byte says which reader
        if data and data[0] < len(every):
            hostile.check(every[data[0]], data[1:], folder.name)

    def mutator(data, most, seed):
        choose = random.Random(seed)
        number = data[0] if data and data[0] in numbers else choose.choice(numbers)
        if choose.random() < 0.3:
            content = hostile.mutation(choose, every[number])
        elif choose.random() < 0.5:
            content = hostile.mutate(choose, data[1:], choose.choice(every[number].packed))
        else:
            content = atheris.Mutate(bytes(data[1:]) or b"0", most - 1)
        return bytes([number]) + content[:most - 1]

    warnings.simplefilter("ignore")
    hostile.watch()
    with tempfile.TemporaryDirectory() as corpus:
        for number, reader in chosen:
            for k, sample in enumerate(reader.packed):
                Path(corpus, f"{number}-{k}").write_bytes(bytes([number]) + sample)
        what = [arguments.again] if arguments.again else [
            f"-max_total_time={int(60 * arguments.minutes)}", f"-max_len={LONGEST}", "-rss_limit_mb=0", corpus]
        atheris.Setup([sys.argv[0], *what], one, custom_mutator=mutator)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
