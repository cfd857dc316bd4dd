"""Optimizers: how a parameter changes by its gradient, as mxnet.optimizer.

Arrays are changed in place, and nothing waits: a step is elementwise operations, which fuse.
"""

from dflow._base.missing import missing
from dflow.optimizer.base import (  # noqa: F401
    Optimizer,
    Updater,
    create,
    get_updater,
    load_states,
    register,
    save_states,
)
from dflow.optimizer.rules import (
    DCASGD,
    FTML,
    LAMB,
    LANS,
    LARS,
    NAG,
    SGD,
    SGLD,
    AdaBelief,
    AdaDelta,
    AdaGrad,
    Adam,
    Adamax,
    AdamW,
    Ftrl,
    Nadam,
    RMSProp,
    Signum,
)

__all__ = ["DCASGD", "FTML", "LAMB", "LANS", "LARS", "NAG", "SGD", "SGLD", "AdaBelief", "AdaDelta", "AdaGrad", "Adam",
           "AdamW", "Adamax", "Ftrl", "Nadam", "Optimizer", "RMSProp", "Signum", "Updater", "create",
           "get_updater", "register"]

__getattr__ = missing(__name__, "LBSGD Test ccSGD contrib")


def __dir__():
    return sorted(__all__)
