"""Recurrent layers, and the cells that make one step of them, as mxnet.gluon.rnn."""

from dflow.gluon.rnn.conv_rnn_cell import (
    Conv1DGRUCell,
    Conv1DLSTMCell,
    Conv1DRNNCell,
    Conv2DGRUCell,
    Conv2DLSTMCell,
    Conv2DRNNCell,
    Conv3DGRUCell,
    Conv3DLSTMCell,
    Conv3DRNNCell,
)
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

__all__ = ["BidirectionalCell", "Conv1DGRUCell", "Conv1DLSTMCell", "Conv1DRNNCell", "Conv2DGRUCell", "Conv2DLSTMCell",
           "Conv2DRNNCell", "Conv3DGRUCell", "Conv3DLSTMCell", "Conv3DRNNCell", "DropoutCell", "GRU", "GRUCell",
           "HybridRecurrentCell", "HybridSequentialRNNCell", "LSTM", "LSTMCell", "LSTMPCell", "ModifierCell", "RNN",
           "RNNCell", "RecurrentCell", "ResidualCell", "SequentialRNNCell", "VariationalDropoutCell", "ZoneoutCell",
           "dynamic_unroll"]


def __dir__():
    return sorted(__all__)
