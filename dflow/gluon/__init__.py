"""MXNet's Gluon over dflow arrays: layers, recurrent ones, losses, trainers; data sets, loaders, metrics, networks."""

from dflow.gluon import data, loss, metric, model_zoo, nn, parameter, rnn, utils
from dflow.gluon._missing import missing
from dflow.gluon.block import Block, HybridBlock
from dflow.gluon.parameter import Constant, DeferredInitializationError, Parameter, ParameterDict
from dflow.gluon.trainer import Trainer

__all__ = ["Block", "Constant", "DeferredInitializationError", "HybridBlock", "Parameter", "ParameterDict", "Trainer",
           "data", "loss", "metric", "model_zoo", "nn", "parameter", "rnn", "utils"]

__getattr__ = missing(__name__, "SymbolBlock contrib")
