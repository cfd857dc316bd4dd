"""What all recurrent cells have: states to begin with, and unroll(), which makes a step of each part of sequences."""

from dflow import npx
from dflow import numpy as np
from dflow.gluon.block import HybridBlock
from dflow.gluon.rnn.rnn_layer import LAYOUTS, begin
from dflow.ops import recurrent
from dflow.ops.nn import check_choice

__all__ = ["HybridRecurrentCell", "RecurrentCell", "dynamic_unroll"]


def __dir__():
    return sorted(__all__)


def parts_of(length, inputs, layout):
    """What each of the steps gets."""
    check_choice("layout", layout, LAYOUTS)
    parts = list(inputs if isinstance(inputs, (list, tuple)) else inputs.swapaxes(0, layout.index("T")))
    if length not in (None, len(parts)) or not parts:
        raise ValueError(f"inputs: {len(parts)} steps, where length is {length}")
    return parts


def joined(outputs, layout, merge, length):
    """Outputs of steps, a list of them or an array: as a list, or an array, with 0 beyond the sequences' lengths."""
    if not merge and length is None:
        return list(outputs)
    axis = layout.index("T")
    y = np.stack(outputs, axis) if isinstance(outputs, (list, tuple)) else outputs.swapaxes(0, axis)
    y = y if length is None else npx.sequence_mask(y, length, True, axis=axis)
    return list(y.swapaxes(0, axis)) if merge is False else y


def dynamic_unroll(cell, inputs, begin_state, drop_inputs=0, drop_outputs=0, layout="TNC", valid_length=None):
    """cell.unroll() of an array, with elements of inputs and outputs set to zero in training, the same in each step.

    Parameters
    ----------
    cell : RecurrentCell
        What runs.
    inputs : ndarray
        Of shape (time, batch, size), or as the layout says.
    begin_state : list of ndarray
        The first states.
    drop_inputs : float
        The probability, of inputs; below 1.
    drop_outputs : float
        The probability, of outputs; below 1.
    layout : str
        "TNC" or "NTC".
    valid_length : ndarray, optional
        Of shape (batch,): how many steps each sequence has.

    Returns
    -------
    tuple
        The outputs, an array of that layout, and the list of the last states.

    Raises
    ------
    ValueError
        For another layout or probability, or a valid_length of another shape.

    Examples
    --------
    >>> cell = rnn.RNNCell(4)
    >>> cell.initialize()
    >>> outputs, states = rnn.dynamic_unroll(cell, np.ones((5, 2, 3)), cell.begin_state(2))
    >>> outputs.shape, states[0].shape
    ((5, 2, 4), (2, 4))
    """
    axis = layout.index("T")
    inputs = npx.dropout(inputs, drop_inputs, axes=(axis,)) if drop_inputs else inputs
    outputs, states = cell.unroll(inputs.shape[axis], inputs, begin_state, layout, True, valid_length)
    return npx.dropout(outputs, drop_outputs, axes=(axis,)) if drop_outputs else outputs, states


class RecurrentCell(HybridBlock):
    """Base class of cells: cell(input, states) gives the output of one step, and a list of the next states.

    A subclass writes forward() and state_info(); unroll() makes all steps.

    Parameters
    ----------
    prefix, params
        Of Block, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (batch, size).
    states : list of ndarray
        The states after the step before, as begin_state() makes the first ones.

    Outputs
    -------
    output : ndarray
        Of shape (batch, ...).
    states : list of ndarray
        The next states, of the shapes of those before.

    Examples
    --------
    >>> class Sum(rnn.RecurrentCell):
    ...     def state_info(self, batch_size=0):
    ...         return [{"shape": (batch_size, 1), "__layout__": "NC"}]
    ...     def forward(self, inputs, states):
    ...         return states[0] + inputs, [states[0] + inputs]
    >>> outputs, states = Sum().unroll(3, np.ones((1, 3, 1)), merge_outputs=True)
    >>> print(outputs.ravel())
    [1. 2. 3.]
    """

    def reset(self):
        """Forget what is left of earlier steps, here and below; unroll() does it."""
        for cell in self._children.values():
            if isinstance(cell, RecurrentCell):
                cell.reset()

    def infer_shape(self, i, x, is_bidirect):
        """Set the shapes of parameters that depend on the input, as the first call does.

        Parameters
        ----------
        i : int
            The place of the cell among several on top of each other; others than the first find out from their
            first input.
        x : ndarray
            The first input.
        is_bidirect : bool
            MXNet's; it changes nothing.
        """
        for cell in self._children.values():
            if isinstance(cell, RecurrentCell):
                cell.infer_shape(i, x, is_bidirect)

    def _infer(self, inputs, states):
        self.infer_shape(0, inputs, False)

    def state_info(self, batch_size=0):
        """Of each state the shape, the meaning of its axes, and the type.

        Parameters
        ----------
        batch_size : int
            How many sequences there are.

        Returns
        -------
        list of dict
            With "shape", "dtype" and "__layout__", letters for the axes.

        Raises
        ------
        NotImplementedError
            For a subclass that has none.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a state_info()")

    def begin_state(self, batch_size=0, func=np.zeros, ctx=None, **kwargs):
        """The states before the first step: zeros, or what a function makes.

        Parameters
        ----------
        batch_size : int
            How many sequences there are.
        func : callable
            Called with shape, dtype and kwargs by name, for each state.
        ctx : Device, optional
            Where they go. None: where func makes them.
        **kwargs
            Further arguments of func; those that are None are left out.

        Returns
        -------
        list of ndarray
        """
        infos = [{"dtype": np.dtype("float32"), **info} for info in self.state_info(batch_size)]
        return begin(infos, func, ctx, kwargs)

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """All steps: the outputs, and the last states.

        Parameters
        ----------
        length : int, optional
            How many steps there are. None: as many as the inputs have.
        inputs : ndarray or list of ndarray
            Of shape (batch, length, size), or as the layout says; or for each step one of shape (batch, size).
        begin_state : list of ndarray, optional
            The states before the first step. None: those of begin_state().
        layout : str
            "NTC" or "TNC".
        merge_outputs : bool, optional
            Outputs are one array, of that layout. False: a list with one for each step. None: a list, or with
            valid_length an array.
        valid_length : ndarray, optional
            Of shape (batch,): how many steps each sequence has. Outputs beyond are 0, and the last states are those
            after so many.

        Returns
        -------
        tuple
            The outputs, an array or a list, and the list of the last states.

        Raises
        ------
        ValueError
            For another layout, a length that is not that of the inputs, none at all, or a valid_length of another
            shape.

        Examples
        --------
        >>> cell = rnn.RNNCell(4)
        >>> cell.initialize()
        >>> outputs, states = cell.unroll(5, np.ones((2, 5, 3)))
        >>> len(outputs), outputs[0].shape
        (5, (2, 4))
        """
        self.reset()
        parts = parts_of(length, inputs, layout)
        first = self.begin_state(len(parts[0])) if begin_state is None else begin_state
        valid, states, outputs, history = recurrent.lengths_of(valid_length, len(parts[0])), first, [], []
        for x in parts:
            y, states = self(x, states)
            outputs.append(y)
            history.append(states)
        if valid is not None:
            states = [recurrent.last(s, np.stack(after), valid) for s, after in zip(first, zip(*history))]
        return joined(outputs, layout, merge_outputs, valid), states


class HybridRecurrentCell(RecurrentCell):
    """A RecurrentCell, which is a HybridBlock here.

    MXNet 1's hybrid_forward() is called where there is no forward().

    Parameters
    ----------
    prefix, params
        Of Block, as MXNet has them.

    Inputs
    ------
    inputs : ndarray
        Of shape (batch, size).
    states : list of ndarray
        The states after the step before, as begin_state() makes the first ones.

    Outputs
    -------
    output : ndarray
        Of shape (batch, ...).
    states : list of ndarray
        The next states, of the shapes of those before.

    Examples
    --------
    >>> isinstance(rnn.RNNCell(3), rnn.HybridRecurrentCell)
    True
    """
