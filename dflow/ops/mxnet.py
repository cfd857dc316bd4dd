"""What programs of MXNet's call beside mathematics: control flow, files, the seed."""

import contextlib
import importlib
import math
import struct
import zipfile

import numpy

from dflow import _order
from dflow._array import array as as_array
from dflow._array import attach, ndarray
from dflow._make import zeros
from dflow.ops.table import TABLE

# -- control flow ----------------------------------------------------------------------------------

def _listed(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _stacked(steps):
    """The outputs of steps, each one array or a list of them, joined along a new first axis."""
    if isinstance(steps[0], (list, tuple)):
        return [_order.stack(parts) for parts in zip(*steps, strict=True)]
    return _order.stack(steps)


def foreach(body, data, init_states):
    """body(part, states) -> (output, states) for each part along the first axis of one or more arrays.

    Returns the outputs, stacked, and the last states.
    """
    arrays = [as_array(x) for x in _listed(data)]
    lengths = {len(x) for x in arrays}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(f"data must have one length along the first axis, at least 1, not {sorted(lengths)}")
    states, outputs = init_states, []
    for parts in zip(*arrays):
        output, states = body(list(parts) if isinstance(data, (list, tuple)) else parts[0], states)
        outputs.append(output)
    return _stacked(outputs), states


def while_loop(cond, func, loop_vars, max_iterations=None):
    """func(*loop_vars) -> (output, loop_vars) while cond(*loop_vars), which is waited for, at most so many times.

    Returns the outputs, stacked and with zeros up to max_iterations, and the last variables.
    """
    if max_iterations is None or max_iterations < 0:
        raise ValueError(f"max_iterations must be a number of at least 0, not {max_iterations}")
    variables, outputs = _listed(loop_vars), []
    while len(outputs) < max_iterations and bool(cond(*variables)):
        output, variables = func(*variables)
        variables = _listed(variables)
        outputs.append(output)
    if not outputs:
        return [], variables
    stacked, missing = _stacked(outputs), max_iterations - len(outputs)
    if isinstance(stacked, list):
        return [_lengthened(x, missing) for x in stacked], variables
    return _lengthened(stacked, missing), variables


def _lengthened(x, missing):
    return _order.concatenate([x, zeros((missing, *x.shape[1:]), x.dtype)]) if missing else x


def cond(pred, then_func, else_func, inputs=()):
    """then_func(*inputs) if pred, or what pred(*inputs) returns, is true, else else_func(*inputs). Waits for it."""
    inputs = _listed(inputs)
    return (then_func if bool(pred(*inputs) if callable(pred) else pred) else else_func)(*inputs)


# -- one class of arrays ---------------------------------------------------------------------------

def _itself(self):
    """The array itself: there is one class of arrays."""
    return self


attach("as_nd_ndarray", _itself)
attach("as_np_ndarray", _itself)

# -- files, the seed -------------------------------------------------------------------------------

LIST = b"list"              # the comment of an archive that was a list


def save(file, arr):
    """Write an array, a list of them or a dictionary to a file, in NumPy's .npz format: waits for them."""
    named = arr if isinstance(arr, dict) else {str(i): x for i, x in enumerate(_listed(arr))}
    for name, x in named.items():
        if not isinstance(name, str) or not isinstance(x, (ndarray, numpy.ndarray)):
            raise TypeError(f"arr must be arrays, with names that are texts, not {name!r}: {type(x).__name__}")
    named = {name: numpy.asarray(x) for name, x in named.items()}       # what has failed raises before there is a file
    with zipfile.ZipFile(file, "w") as archive:
        archive.comment = b"" if isinstance(arr, dict) else LIST
        for name, x in named.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                numpy.lib.format.write_array(part, x, allow_pickle=False)


def load(file):
    """What save() wrote: a dictionary, or a list (of one, for an array). Also numpy.savez's files, and MXNet's own."""
    with contextlib.nullcontext(file) if hasattr(file, "read") else open(file, "rb") as stream:
        begin = stream.tell()
        if stream.read(len(MXNETS)) == MXNETS:
            return _mxnets(stream)
        stream.seek(begin)
        return _archived(stream)


MXNETS = struct.pack("<2Q", 0x112, 0)           # how its files begin
DENSE = 0xF993FAC9, 0xF993FACA                  # how its arrays do; the later ones may have no axes
TYPES = "f4 f8 f2 u1 i4 i1 i8 ?".split()        # by MXNet's numbers


def _mxnets(stream):
    """The rest of a file of MXNet's: how many arrays, the arrays, how many names, the names."""
    def read(length):
        found = stream.read(length)
        if len(found) < length:
            raise ValueError("the file ends too early")
        return found

    def numbers(kinds):
        return struct.unpack(f"<{kinds}", read(struct.calcsize(f"<{kinds}")))

    def array():
        magic, storage, ndim = numbers("I2i")
        if magic not in DENSE or storage or ndim < (magic == DENSE[0]):
            raise ValueError("the file has arrays that are sparse, or of another version")
        shape = numbers(f"{ndim}q")
        *_, kind = numbers("3i")                # behind a device
        if not 0 <= kind < len(TYPES):
            raise ValueError(f"the file has arrays of the type {kind}")
        dtype = numpy.dtype(TYPES[kind]).newbyteorder("<")
        x = numpy.frombuffer(read(math.prod(shape) * dtype.itemsize), dtype)
        return as_array(x.reshape(shape).astype(dtype.newbyteorder("=")))

    arrays = [array() for _ in range(*numbers("Q"))]
    names = [read(*numbers("Q")).decode() for _ in range(*numbers("Q"))]
    return dict(zip(names, arrays, strict=True)) if names else arrays


def _archived(stream):
    with zipfile.ZipFile(stream) as archive:
        named = {}
        for name in archive.namelist():
            with archive.open(name) as part:
                named[name.removesuffix(".npy")] = as_array(numpy.lib.format.read_array(part, allow_pickle=False))
        return list(named.values()) if archive.comment == LIST else named


def seed(seed, ctx="all"):
    """Start the numbers of dflow.numpy.random from a seed; there is one stream for all devices."""
    importlib.import_module("dflow.ops.random")                 # makes its rows, when first used
    TABLE["numpy.random", "seed"].function(seed)
