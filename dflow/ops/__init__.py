"""The operations, by family. Importing them makes the table, and gives ndarray its methods."""

from dflow.ops import (
    creation,
    einsum,
    elementwise,
    export,
    host,
    linear,
    methods,
    reductions,
    selection,
    shape,
    sorting,
    statistics,
)
