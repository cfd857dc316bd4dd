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
)

core.fill_hooks(
    descending=sorting.descending,
    expand_dims=shape.expand_dims,
    moveaxis=shape.moveaxis,
    repr=defaults.shown,
    round=elementwise.round,
    same_value=fallback.same_value,
    to_device=placement.moved,
    unwrap=fallback.unwrap,
    wait_async=host.wait_async,
    wrap=fallback.wrap,
)
core.check()
