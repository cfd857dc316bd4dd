"""Recurrent layers, and the cells that make one step of them, as mxnet.gluon.rnn."""

from dflow.gluon._missing import missing
from dflow.gluon.rnn.rnn_cell import (
    BidirectionalCell,
    DropoutCell,
    GRUCell,
    HybridRecurrentCell,
    HybridSequentialRNNCell,
    LSTMCell,
    ModifierCell,
    RecurrentCell,
    ResidualCell,
    RNNCell,
    SequentialRNNCell,
    ZoneoutCell,
)
from dflow.gluon.rnn.rnn_layer import GRU, LSTM, RNN

__all__ = ["BidirectionalCell", "DropoutCell", "GRU", "GRUCell", "HybridRecurrentCell", "HybridSequentialRNNCell",
           "LSTM", "LSTMCell", "ModifierCell", "RNN", "RNNCell", "RecurrentCell", "ResidualCell", "SequentialRNNCell",
           "ZoneoutCell"]

__getattr__ = missing(__name__, """Conv1DGRUCell Conv1DLSTMCell Conv1DRNNCell Conv2DGRUCell Conv2DLSTMCell Conv2DRNNCell
    Conv3DGRUCell Conv3DLSTMCell Conv3DRNNCell LSTMPCell VariationalDropoutCell""")
