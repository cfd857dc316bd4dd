"""numpy.random over dflow arrays. The streams are dflow's own: see dflow/ops/random.py."""

import dflow.ops.random  # noqa: F401  (makes the rows)
from dflow.ops.table import namespace as _namespace

globals().update(_namespace("numpy.random"))
