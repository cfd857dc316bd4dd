"""Parts of batches, norms of gradients, files that are fetched."""

import math
import os
import warnings
from pathlib import Path

from dflow import numpy as np
from dflow._array.core import is_array
from dflow.gluon._missing import missing

__all__ = ["check_sha1", "clip_global_norm", "download", "split_and_load", "split_data"]

__getattr__ = missing(__name__, "replace_file HookHandle shape_is_known")


def __dir__():
    return sorted(__all__)


def split_data(data, num_slice, batch_axis=0, even_split=True):
    """An array as a list of views of about the same length along an axis; of the very same if `even_split`."""
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
    """One part of the data for each device."""
    devices = ctx_list if ctx is None else ctx
    if not devices:
        raise ValueError("ctx_list must name at least one device")
    data = data if is_array(data) else np.array(data)
    return [part.as_in_ctx(device) for part, device in zip(
        split_data(data, len(devices), batch_axis, even_split), devices)]


def clip_global_norm(arrays, max_norm, check_isfinite=True):
    """Scale arrays, in place, so that the norm of all of them together is at most max_norm. Returns the norm before.

    check_isfinite: waits for the norm, which is a number, and warns if it is not finite; else it is an array.
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
    """Whether a file has this SHA-1, as hexadecimal digits; of shortened ones, as many as there are."""
    import hashlib  # slow to load, as are those of _fetch()

    with open(filename, "rb") as file:
        return hashlib.file_digest(file, "sha1").hexdigest().startswith(sha1_hash.lower())


def download(url, path=None, overwrite=False, sha1_hash=None, retries=5, verify_ssl=True):
    """Fetch a file into `path`, a file or a folder, unless it is there; returns where it is.

    sha1_hash: what the file must have; one that has it not is fetched again. retries: how often, after an error.
    verify_ssl=False: whoever the server is.
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
