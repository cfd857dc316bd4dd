"""A differential fuzzer: random programs, run by NumPy and by dflow, must give the same bits or the same errors.

`python -m tests.fuzz` runs it. A program is a list of Python statements over arrays v0, v1, ... in which `np` is one
library or the other (`programs` makes them, out of the families of `statements` and the values of `values`). `running`
runs and compares; `rules` has what may differ, each with its reason; `shrinking` makes a find smaller; `finds` has
those that were mended, which are tests, and those that are not yet.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))  # tests/, for `compare`
