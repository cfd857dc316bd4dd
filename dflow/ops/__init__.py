"""The operations, by family. Importing them makes the table, and gives ndarray its methods."""

from dflow.ops import (
    creation,
    curves,
    einsum,
    elementwise,
    export,
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
