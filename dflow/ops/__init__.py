"""The operations, by family. Importing them makes the table, and gives ndarray its methods."""

from dflow._array import core
from dflow.ops import (
    creation,
    curves,
    defaults,
    einsum,
    elementwise,
    export,
    fallback,
    files,
    histograms,
    host,
    linear,
    methods,
    placement,
    reductions,
    selection,
    shape,
    sorting,
    statistics,
    table,
)

hooks = core.table()
hooks.call_numpys = fallback.call
hooks.descending = sorting.descending
hooks.expand_dims = shape.expand_dims
hooks.moveaxis = shape.moveaxis
hooks.repr = defaults.shown
hooks.round = elementwise.round
hooks.same_value = fallback.same_value
hooks.to_device = placement.moved
hooks.unwrap = fallback.unwrap
hooks.wait_async = host.wait_async
hooks.wrap = fallback.wrap
core.check_table()
table.describe_methods()
