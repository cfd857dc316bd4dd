"""MXNet's Gluon over dflow arrays: data sets and loaders, metrics."""

from dflow.gluon import data, metric
from dflow.gluon._missing import missing

__all__ = ["data", "metric"]

__getattr__ = missing(__name__, """Block Constant HybridBlock Parameter ParameterDict SymbolBlock Trainer contrib loss
    model_zoo nn rnn utils""")
