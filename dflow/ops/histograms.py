"""Counting in bins."""

from functools import wraps

import numpy

from dflow._array.core import array as as_array
from dflow._array.core import is_array
from dflow._functions import counting
from dflow._functions.numpy_inline import LATER, SMALL, at_once, few
from dflow._functions.placement import follow
from dflow._kernels.bins import count_in_bins
from dflow._tracing.tape import note_lost
from dflow.ops.fallback import any_of_ours, call, plain, seen, stand_in, tasks, window_of
from dflow.ops.table import op


def _counted(function, data, bins, span, weights, flat=tuple, **keywords):
    """function(*data, bins, span, weights=weights), whose result flat() makes a list of arrays: as a task.

    NumPy's answer to no data tells the shapes; bins that are counts are waited for.
    """
    bins = seen(bins, lambda x: x if x.ndim else plain(x))
    nothing = seen(data, lambda x: numpy.zeros((0, *x.shape[1:]), x.dtype if x.dtype.kind != "b" else "u1"))
    with numpy.errstate(all="ignore"):
        like = function(*nothing, *stand_in((bins, span)), **keywords,
                        weights=weights if weights is None else numpy.zeros(0, weights.dtype))
    return tasks(function, *data, bins, span, weights=weights, like=flat(like), flat=flat, **keywords)


def _weighed(function, a, bins, span, weights, **options):
    """histogram() or histogram_bin_edges(): one variable, of any shape."""
    a, given = as_array(a), (a, bins, span)
    weights = weights if weights is None else as_array(weights)
    if isinstance(bins, str) or weights is not None and weights.shape != a.shape:
        options.pop("flat", None)
        return call(function, given, {"weights": weights, **options})
    bins = as_array(bins) if any_of_ours(bins) else bins
    return tuple(_counted(function, [a.reshape(-1)], bins, span, weights if weights is None else weights.reshape(-1),
                          **options))


FEW = 1000                  # elements that NumPy counts as quickly
EXACT = 1 << 53             # integers up to it are numbers of float64


@wraps(numpy.histogram)
def _histogram(a, bins=10, range=None, density=None, weights=None):
    """numpy.histogram(), that counts real numbers in bins of one width in one pass."""
    if (type(bins) is not int or a.size < FEW or a.dtype.kind not in "iuf" or a.dtype.itemsize not in (1, 2, 4, 8)
            or a.dtype.char == "e" or weights is not None and weights.shape != a.shape
            or weights is not None and not numpy.can_cast(weights.dtype, numpy.double)):
        return numpy.histogram(a, bins, range, density, weights)
    a, weights = a.reshape(-1), None if weights is None else weights.reshape(-1)
    edges = numpy.histogram_bin_edges(a, bins, range, weights)
    integers = a.dtype.kind != "f" and a.dtype.itemsize == 8
    exact = not integers or -EXACT <= edges[0] <= edges[-1] <= EXACT
    counts = count_in_bins(a, edges, weights) if exact else None
    if counts is None:
        return numpy.histogram(a, bins, range, density, weights)
    if density:
        counts = counts / numpy.diff(edges).astype(float) / counts.sum()
    return counts, edges


@op("v", "a, 3", "a, 4, (0, 1)", "v, [0, 0.5, 1]", "v, 2, weights=v", "v, 2, weights=v[:2]", "v, np.sort(v)", "v, v",
    "v, 3, density=True", "i", "b", "f, 3", "n", "v, 'auto'", "v, 3, (v.min(), v.max())", "v, [[1]]", "v, 0", "v, 2.5",
    "v, 3, (2, 1)", "v, 2, weights=c[0]", "v, 2, weights=j", "v, j", "e", "s", "v, s", "h, 2", kind="host", small=FEW)
def histogram(a, bins=10, range=None, density=None, weights=None):
    """Counts in bins, and the edges of the bins. Waits where data decide how many there are: with a rule's name."""
    if is_array(a) and FEW <= a.size <= 4 * SMALL and type(bins) is int and a.dtype.kind in "iuf":
        result = at_once(_histogram, (a, bins, range, density, weights), small=8 * SMALL)
        if result is not LATER:
            return follow([a, weights], note_lost(numpy.histogram, [a, weights], result), numpy.histogram)
    return _weighed(_histogram, a, bins, range, weights, density=density)


@op("v", "a, 3", "a, 4, (0, 1)", "v, [0, 0.5, 1]", "v, 2, weights=v", "v, 'auto'", "v, [1, 0]", "i, 3", "v, 0",
    "a, 3, (0, 1)", "b, 3, (0, 1)", "v, 3, (2, 1)", "e, 3, (0, 1)", "c, 3, (0, 1)", kind="host", small=few(0.25))
def histogram_bin_edges(a, bins=10, range=None, weights=None):
    """The edges of the bins of histogram(). Waits where data decide how many there are: with a rule's name."""
    if type(bins) is int and type(range) is tuple and weights is None and not any_of_ours(range):
        return follow([a], call(numpy.histogram_bin_edges, (numpy.zeros(1, as_array(a).dtype), bins, range), {}))
    result = _weighed(numpy.histogram_bin_edges, a, bins, range, weights, flat=lambda edges: [edges])
    return result[0] if type(result) is tuple else result


@op("v, v", "v, v, 3", "v, j, [2, 3]", "v, v, [[0, 1, 2], [0, 2]]", "v, v, v[:2]", "v, v[:2]",
    "v, v, 2, [[0, 1], [0, 1]]",
    "v, v, 3, density=True", "v, v, 2, weights=v", "v, v, [0, 1, 2, 3]", "v, v, j[2:]", "v, v, [1, 2, 3, [4]]",
    "a, a", kind="host",
    small=few(8))
def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    """Counts (nx, ny) in bins of two variables, and the edges of both. Waits for numbers of bins that are in arrays."""
    x, y = as_array(x), as_array(y)
    if x.ndim != 1 or x.shape != y.shape:
        return call(numpy.histogram2d, (x, y, bins, range, density, weights), {})
    bins = list(bins) if is_array(bins) and bins.ndim and len(bins) < 3 else bins    # numbers, not edges
    return tuple(_counted(numpy.histogram2d, [x, y], bins, range, weights, density=density))


@op("a", "a, 3", "a, [1, 2, 3, 4]", "v", "[v, v], 2", "a, [1, 2]", "a, 2, [[0, 1]] * 4", "a, 2, density=True",
    "a[:, :2], [v, [0, 1]]", "a, 2, weights=v[:3]", "a, j", "a, j + 1", "a[:, :2], 3, None, None, v",
    "f", kind="host", small=SMALL)
def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    """Counts in bins of D variables, (n, D) or D arrays of n, and the edges of each.

    Waits for numbers of bins that are in arrays.
    """
    sample = as_array(sample) if hasattr(sample, "shape") else [as_array(x) for x in sample]
    if is_array(sample) and sample.ndim > 2 or len({x.shape for x in sample}) > 1:
        return call(numpy.histogramdd, (sample, bins, range, density, weights), {})

    bins = list(bins) if is_array(bins) and bins.ndim else bins

    def flat(result):
        return [result[0], *result[1]]

    counts, *edges = _counted(numpy.histogramdd, [sample], bins, range, weights, flat, density=density)
    return counts, edges


@op("j", "[0, 1, 1, 3]", "[0, 1, 1], [0.5, 1, 2]", "[0], minlength=4", "[-1]", "[0.5]", "[]", "j, v", "j, v, 20",
    "j, v[:2]", "j, minlength=-1", "i.ravel()", "j[::2]", "j, None, 2.5", "np.arange(37) % 5", "np.arange(3001) % 1500",
    "np.array([3, -1, 2, 0, 5])", kind="blocking")
def bincount(x, /, weights=None, minlength=0):
    """How often each small non-negative integer occurs, or the sum of its weights. Waits."""
    if is_array(x) and type(minlength) is int:
        counts = counting.count_each(x, weights, minlength)
        if counts is not None:
            return follow([x, weights], counts)
    elif type(x) is list:
        counts = at_once(numpy.bincount, (x, weights, minlength))
        if counts is not LATER:
            return counts
    return follow([x, weights], as_array(numpy.bincount(window_of(x), window_of(weights), minlength)), numpy.bincount)
