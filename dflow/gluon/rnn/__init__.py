"""Recurrent layers, and the cells that make one step of them, as mxnet.gluon.rnn."""

from dflow.gluon.rnn import conv_rnn_cell
from dflow.gluon.rnn.conv_rnn_cell import *  # noqa: F403
from dflow.gluon.rnn.rnn_cell import (
    BidirectionalCell,
    DropoutCell,
    GRUCell,
    HybridRecurrentCell,
    HybridSequentialRNNCell,
    LSTMCell,
    LSTMPCell,
    ModifierCell,
    RecurrentCell,
    ResidualCell,
    RNNCell,
    SequentialRNNCell,
    VariationalDropoutCell,
    ZoneoutCell,
    dynamic_unroll,
)
from dflow.gluon.rnn.rnn_layer import GRU, LSTM, RNN

__all__ = ["BidirectionalCell", "DropoutCell", "GRU", "GRUCell", "HybridRecurrentCell", "HybridSequentialRNNCell",
           "LSTM", "LSTMCell", "LSTMPCell", "ModifierCell", "RNN", "RNNCell", "RecurrentCell", "ResidualCell",
           "SequentialRNNCell", "VariationalDropoutCell", "ZoneoutCell", "dynamic_unroll"]
__all__ += conv_rnn_cell.__all__
