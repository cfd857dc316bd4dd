"""numpy.random over dflow arrays. The streams are dflow's own: see dflow/ops/random.py."""

from dflow.ops import random as _random
from dflow.ops.table import namespace as _namespace

globals().update(_namespace("numpy.random"))
