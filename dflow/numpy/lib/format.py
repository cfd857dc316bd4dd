"""numpy.lib.format; but open_memmap() gives arrays of ours over files."""

from numpy.lib import format as _format
from numpy.lib.format import __all__  # noqa: F401

from dflow._functions.mapped import before_mapping, over_file


def open_memmap(filename, mode="r+", dtype=None, shape=None, fortran_order=False, version=None, *,
                max_header_size=10_000):
    """The array of an .npy file, over the file: see memmap.

    Parameters
    ----------
    filename : str or path
        The file.
    mode : {'r+', 'r', 'w+', 'c'}
        As memmap's; 'w+' makes the file.
    dtype, shape, fortran_order, version
        Of a new file; `dtype` is float64 by default.
    max_header_size : int
        Of a file that is read: ValueError for a header of more bytes.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> m = np.lib.format.open_memmap(os.path.join(folder.name, "a.npy"), "w+", shape=(2, 3))
    >>> m[1] = 5
    >>> m.flush()
    >>> np.load(m.filename).tolist()
    [[0.0, 0.0, 0.0], [5.0, 5.0, 5.0]]
    """
    before_mapping(filename, mode)
    return over_file(_format.open_memmap(filename, mode, dtype, shape, fortran_order, version,
                                         max_header_size=max_header_size), filename)


def __getattr__(name):
    return getattr(_format, name)


def __dir__():
    return dir(_format)
