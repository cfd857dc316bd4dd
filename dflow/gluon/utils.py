"""Parts of batches, norms of gradients, files that are fetched."""

import math
import os
import warnings
from pathlib import Path

from dflow import numpy as np
from dflow._array.core import is_array
from dflow._ranks.place import place
from dflow.gluon._missing import missing

__all__ = ["check_sha1", "clip_global_norm", "download", "split_and_load", "split_by_rank", "split_data"]

__getattr__ = missing(__name__, "replace_file HookHandle shape_is_known")


def __dir__():
    return sorted(__all__)


def split_data(data, num_slice, batch_axis=0, even_split=True):
    """Cuts an array into parts of about the same length along an axis.

    Parameters
    ----------
    data : ndarray
        What is cut.
    num_slice : int
        How many parts.
    batch_axis : int
        Along which axis.
    even_split : bool
        Whether they must be of the very same length; else the first ones may have one more.

    Returns
    -------
    list of ndarray
        Views of it.

    Raises
    ------
    ValueError
        For a num_slice of less than 1, or of more than there is; with even_split, for one that does not divide it.

    Examples
    --------
    >>> gluon.utils.split_data(np.arange(5), 2, even_split=False)
    [array([0, 1, 2]), array([3, 4])]
    >>> [part.shape for part in gluon.utils.split_data(np.zeros((2, 6)), 3, batch_axis=1)]
    [(2, 2), (2, 2), (2, 2)]
    """
    size = data.shape[batch_axis]
    if num_slice < 1:
        raise ValueError(f"num_slice must be at least 1, not {num_slice}")
    if even_split and size % num_slice:
        raise ValueError(f"data of shape {data.shape} cannot be cut into {num_slice} equal parts along axis "
                         f"{batch_axis}: even_split=False makes unequal ones")
    if size < num_slice:
        raise ValueError(f"data of shape {data.shape} cannot be cut into {num_slice} parts along axis {batch_axis}")
    return np.array_split(data, num_slice, batch_axis)


def split_and_load(data, ctx_list=None, batch_axis=0, even_split=True, ctx=None):
    """Puts one part of the data on each device.

    Of several processes each gives its own data: split_by_rank(), or a data.SplitSampler, finds what is its own.

    Parameters
    ----------
    data : array_like
        What is cut, as by split_data().
    ctx_list : list of Device
        The devices; with one, the data are not cut.
    batch_axis : int
        Along which axis.
    even_split : bool
        Whether parts must be of the same length.
    ctx : list of Device, optional
        Another name of ctx_list.

    Returns
    -------
    list of ndarray
        A part for each device: views, where it is on that device already.

    Raises
    ------
    ValueError
        Without a device, and as split_data().

    Examples
    --------
    >>> gluon.utils.split_and_load(np.arange(4), [dflow.cpu(), dflow.cpu()])
    [array([0, 1]), array([2, 3])]
    """
    devices = ctx_list if ctx is None else ctx
    if not devices:
        raise ValueError("ctx_list must name at least one device")
    data = data if is_array(data) else np.array(data)
    return [part.as_in_ctx(device) for part, device in zip(
        split_data(data, len(devices), batch_axis, even_split), devices)]


def split_by_rank(data, batch_axis=0, even_split=True):
    """This rank's part of an array that all ranks of a group have, cut as by split_data(); without a group, all of it.

    In a function that dflow.distributed.run() has run, and in the thread that it runs there. Gradients are summed over
    the ranks: trainer.step() is told how many samples the whole batch has.

    Parameters
    ----------
    data : array_like
        What is cut: a batch.
    batch_axis : int
        Along which axis.
    even_split : bool
        Whether all parts must be of the very same length; else the first ranks may have one more.

    Returns
    -------
    ndarray
        A view of it, or itself.

    Raises
    ------
    ValueError
        For fewer elements along the axis than ranks; with even_split, for such as cannot be cut evenly. On all ranks.

    Examples
    --------
    >>> gluon.utils.split_by_rank(np.arange(4))                         # one process
    array([0, 1, 2, 3])
    >>> def own(batch):                                                 # doctest: +SKIP
    ...     return gluon.utils.split_by_rank(batch)
    >>> dflow.distributed.run(client, own, np.arange(4))                # doctest: +SKIP
    [array([0, 1]), array([2, 3])]
    """
    data = data if is_array(data) else np.array(data)
    rank, size = place()
    return data if size == 1 else split_data(data, size, batch_axis, even_split)[rank]


def clip_global_norm(arrays, max_norm, check_isfinite=True):
    """Scales arrays, in place, so that the norm of all of them together is at most some number.

    It waits for the norm, unless check_isfinite is False.

    Parameters
    ----------
    arrays : list of ndarray
        Gradients mostly: their elements, of all arrays, are taken for one vector.
    max_norm : float
        The greatest norm; arrays of a smaller one stay as they are.
    check_isfinite : bool
        Warn if the norm is not finite.

    Returns
    -------
    float or ndarray
        The norm before: a number, or without check_isfinite an array of no axes.

    Raises
    ------
    ValueError
        Without arrays.

    Examples
    --------
    >>> x, y = np.array([3.0, 0.0]), np.array([4.0])
    >>> gluon.utils.clip_global_norm([x, y], max_norm=1.0)
    5.0
    >>> print(x.round(3), y.round(3))
    [0.6 0. ] [0.8]
    """
    if not arrays:
        raise ValueError("arrays must have at least one")
    norm = np.sqrt(sum(np.sum(np.square(x)).as_in_ctx(arrays[0].ctx) for x in arrays))
    scale = np.minimum(max_norm / (norm + 1e-8), 1)
    for x in arrays:
        x *= scale.astype(x.dtype, copy=False).as_in_ctx(x.ctx)
    if not check_isfinite:
        return norm
    norm = float(norm)
    if not math.isfinite(norm):
        warnings.warn("nan or inf is detected. Clipping results will be undefined.", stacklevel=2)
    return norm


def check_sha1(filename, sha1_hash):
    """Says whether a file has this SHA-1.

    Parameters
    ----------
    filename : str or path
        The file.
    sha1_hash : str
        Hexadecimal digits; of shortened ones, as many as there are count.

    Returns
    -------
    bool
        Whether it has.

    Raises
    ------
    FileNotFoundError
        For a file that is not there.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(os.path.join(folder, "file"), "wb") as file:
    ...         _ = file.write(b"abc")
    ...     gluon.utils.check_sha1(file.name, "a9993e364706816aba3e25717850c26c9cd0d89d")
    True
    """
    import hashlib  # slow to load, as are those of _fetch()

    with open(filename, "rb") as file:
        return hashlib.file_digest(file, "sha1").hexdigest().startswith(sha1_hash.lower())


def download(url, path=None, overwrite=False, sha1_hash=None, retries=5, verify_ssl=True):
    """Fetches a file, unless it is there.

    Parameters
    ----------
    url : str
        Where from.
    path : str or path, optional
        A file, or a folder, where it takes the name that the URL has: the current folder by default.
    overwrite : bool
        Fetch it even if it is there.
    sha1_hash : str, optional
        The SHA-1 that it must have: one that is there and has another is fetched again.
    retries : int
        How often it tries again after an error.
    verify_ssl : bool
        False: whoever the server is.

    Returns
    -------
    str
        Where the file is.

    Raises
    ------
    ValueError
        For a URL without the name of a file, or without a scheme.
    OSError
        For what cannot be fetched, or has another SHA-1: after all retries.

    Examples
    --------
    >>> import os, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = pathlib.Path(folder, "source.txt")
    ...     _ = source.write_text("abc")
    ...     copy = gluon.utils.download(source.as_uri(), os.path.join(folder, "copy.txt"))
    ...     print(os.path.basename(copy), pathlib.Path(copy).read_text())
    copy.txt abc
    """
    name = url.split("?")[0].rsplit("/", 1)[-1]
    path = Path(os.path.expanduser(path or "."))
    path = path / name if path.is_dir() else path
    if not overwrite and path.exists() and (not sha1_hash or check_sha1(path, sha1_hash)):
        return str(path)
    if not name:
        raise ValueError(f"url must name a file, not {url!r}")
    path.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(retries + 1):
        try:
            _fetch(url, path, sha1_hash, verify_ssl)
            return str(path)
        except OSError:
            if attempt == retries:
                raise


def _fetch(url, path, sha1_hash, verify_ssl):
    """A file beside `path` takes what comes, and its name when it is whole."""
    import shutil
    import ssl
    import tempfile
    from urllib import request

    context = None if verify_ssl else ssl._create_unverified_context()
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        part = Path(folder, path.name)
        with request.urlopen(url, context=context) as response, open(part, "wb") as file:
            shutil.copyfileobj(response, file)
        if sha1_hash and not check_sha1(part, sha1_hash):
            raise OSError(f"what came from {url} has not the SHA-1 {sha1_hash}")
        os.replace(part, path)
