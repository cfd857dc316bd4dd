"""MXNet's Gluon over dflow arrays: layers, recurrent ones, losses, trainers; data sets, loaders, metrics, networks."""

import importlib

from dflow.gluon import data, loss, metric, model_zoo, nn, parameter, rnn, utils
from dflow.gluon.block import Block, HybridBlock
from dflow.gluon.parameter import Constant, DeferredInitializationError, Parameter, ParameterDict
from dflow.gluon.symbol_block import SymbolBlock
from dflow.gluon.trainer import Trainer

__all__ = ["Block", "Constant", "DeferredInitializationError", "HybridBlock", "Parameter", "ParameterDict",
           "SymbolBlock", "Trainer", "data", "loss", "metric", "model_zoo", "nn", "parameter", "rnn", "utils"]


def __dir__():
    return sorted(__all__)


def __getattr__(name):
    """gluon.contrib, loaded when it is asked for."""
    if name == "contrib":
        return importlib.import_module("dflow.gluon.contrib")
    raise AttributeError(f"module 'dflow.gluon' has no attribute {name!r}")
