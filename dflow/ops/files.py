"""Files of arrays: NumPy's, our own, MXNet's. What a file says of its size is compared with its size before memory is
taken; each error names the file.

A file that is no good raises a ValueError; from NumPy's own readers perhaps one of the others that NumPy has: EOFError,
zipfile.BadZipFile, OSError. Nothing is ever unpickled, unless NumPy's `allow_pickle` asks for it.
"""

import contextlib
import functools
import math
import os
import struct

import numpy
from numpy.lib import format as npy

from dflow._array.core import array as as_array
from dflow._array.core import is_array
from dflow._functions.mapped import before_mapping, over_file
from dflow.ops import fallback
from dflow.ops.table import add_row

CHUNK = 1 << 20                     # bytes that are read at once where nobody knows how many there are
VERSIONS = {(1, 0): 2, (2, 0): 4, (3, 0): 4}                    # of .npy files: bytes that say how long the header is
RATIOS = {0: 1, 8: 1032}            # how many bytes one may become in an archive, at most: stored, deflated

# -- errors ----------------------------------------------------------------------------------------


def name_of(file):
    """The name of a file, by name or open, for people."""
    name = getattr(file, "name", None) if hasattr(file, "read") else file
    return os.fsdecode(name) if isinstance(name, (str, bytes, os.PathLike)) else "the file"


def numpys():
    """The types of what NumPy's readers raise for what they cannot read."""
    import zipfile  # slow to load
    return ValueError, EOFError, OSError, zipfile.BadZipFile


@contextlib.contextmanager
def reading(file, kept=tuple, converts=True):
    """Errors within name the file. Those of the types that kept() gives, and the system's, stay what they are, others
    become ValueErrors; or, if not `converts`, pass: they may be of the caller's own functions.
    """
    try:
        yield
    except (MemoryError, Warning):
        raise
    except Exception as error:
        import errno

        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise                               # of the system; but a part of an archive may lie before its begin
        if type(error) is ValueError or isinstance(error, kept()):
            _name(error, name_of(file))
            raise
        if converts:
            raise ValueError(f"{name_of(file)}: {_text(error)}") from error
        raise


def _text(error):
    return str(error) or ("the file ends too early" if isinstance(error, EOFError) else type(error).__name__)


def _name(error, name):
    """Put the name before the text of an error, unless it is there."""
    if name in str(error):
        return
    if isinstance(error, OSError) and error.errno is not None:
        error.filename = name
    elif isinstance(error, UnicodeError) and hasattr(error, "reason"):
        error.reason = f"{error.reason}, in {name}"
    elif len(error.args) < 2:
        error.args = (f"{name}: {_text(error)}",)


def opened(file):
    """A context with the file open, to read: closed at its end, unless it was open."""
    return contextlib.nullcontext(file) if hasattr(file, "read") else open(file, "rb")


# -- sizes -----------------------------------------------------------------------------------------


def size_left(stream):
    """The bytes from the place of an open file to its end; infinite where only reading tells, as in a gzip.GzipFile."""
    try:
        begin = stream.tell()
        end = stream.seek(0, os.SEEK_END)
        stream.seek(begin)
        return end - begin
    except (AttributeError, OSError, TypeError, ValueError):
        return math.inf


def up_to(stream, length):
    """So many bytes of an open file, or those that are there: no more memory is taken than for these."""
    found = bytearray()
    while part := stream.read(min(length - len(found), CHUNK)):
        found += part
    return found


def exactly(stream, length):
    """So many bytes of an open file. ValueError if there are fewer."""
    found = up_to(stream, length)
    if len(found) < length:
        raise ValueError("the file ends too early")
    return found


def check_array(stream, size, max_header_size=10_000):
    """ValueError if an .npy file, `size` bytes from here on, says that it has more. Its place stays."""
    begin = stream.tell()
    width = VERSIONS.get(npy.read_magic(stream))
    if width is not None:
        length = int.from_bytes(stream.read(width), "little")
        if length > size:
            raise ValueError(f"a header of {length} bytes is more than the file has")
        stream.seek(begin + npy.MAGIC_LEN)
        header = npy.read_array_header_1_0 if width == 2 else npy.read_array_header_2_0
        shape, _, dtype = header(stream, max_header_size)
        there, wanted = size - (stream.tell() - begin), math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or not dtype.hasobject and wanted > there:
            raise ValueError(f"an array of {dtype} and the shape {shape} is not in a file that has {there} bytes of it")
    stream.seek(begin)


def check_archive(archive, size):
    """ValueError if the members of a zip file say that they are more than `size` bytes: some of them twice."""
    if sum(info.compress_size for info in archive.infolist()) > size:
        raise ValueError("the members of the archive are larger than the file")


def check_member(archive, info, max_header_size=10_000):
    """ValueError if a member of a zip file says that it is more than its bytes can be, or is an array that is."""
    if info.compress_type not in RATIOS:
        raise ValueError(f"{info.filename} is compressed in another way than arrays are")
    if info.file_size > info.compress_size * RATIOS[info.compress_type]:
        raise ValueError(f"{info.filename} cannot be {info.file_size} bytes, of {info.compress_size} in the archive")
    with archive.open(info) as part:
        is_array = part.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX
        part.seek(0)
        if is_array:
            check_array(part, info.file_size, max_header_size)
    return is_array


# -- NumPy's ---------------------------------------------------------------------------------------


class NpzFile(numpy.lib.npyio.NpzFile):
    """numpy.lib.npyio.NpzFile, which reads each array when it is asked for; then it is one of ours."""

    def __getitem__(self, key):
        if self.zip is None or key not in self:
            return super().__getitem__(key)             # its error
        with reading(self.zip.fp, (lambda: Exception) if self.allow_pickle else numpys):
            check_member(self.zip, self.zip.getinfo(self._files[key]),
                         2 ** 64 if self.allow_pickle else self.max_header_size)
            return fallback.wrap(super().__getitem__(key))


def _row(theirs, function):
    """The row of a function that calls NumPy's, which does not know our arrays."""
    functools.update_wrapper(function, theirs)
    function.__module__ = "dflow.numpy"
    function.__doc__ = f"numpy.{theirs.__name__}; errors name the file. Waits for its arguments."
    add_row(theirs.__name__, function, kind="blocking")


def _load(file, mmap_mode=None, allow_pickle=False, fix_imports=True, encoding="ASCII", *, max_header_size=10_000):
    file = fallback.unwrap(file)
    file = file if hasattr(file, "read") else os.fspath(file)
    with reading(file, (lambda: Exception) if allow_pickle else numpys):
        with opened(file) as stream:
            size = size_left(stream)
            if hasattr(stream, "tell"):             # NumPy asks for read() and seek() alone
                begin = stream.tell()
                is_array = stream.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX
                stream.seek(begin)
                if is_array:
                    check_array(stream, size, 2 ** 64 if allow_pickle else max_header_size)
        if mmap_mode is not None:
            before_mapping(file, mmap_mode)
        loaded = fallback.call(numpy.load, (file, mmap_mode, allow_pickle, fix_imports, encoding),
                               {"max_header_size": max_header_size})
        if mmap_mode is not None and isinstance(loaded, numpy.memmap):
            return over_file(loaded, file)
        if type(loaded) is numpy.lib.npyio.NpzFile:
            loaded.__class__ = NpzFile
            check_archive(loaded.zip, size)
        return loaded


def _naming(function):
    """A reader of NumPy's whose errors name the file."""
    def wrapper(*args, **keywords):
        file = args[0] if args else keywords.get("file", keywords.get("fname"))
        with reading(file, numpys, converts=False):
            return fallback.call(function, args, keywords)

    return wrapper


_row(numpy.load, _load)
for _function in (numpy.fromfile, numpy.fromregex, numpy.genfromtxt, numpy.loadtxt):
    _row(_function, _naming(_function))


# -- ours, MXNet's ---------------------------------------------------------------------------------

LIST = b"list"                                  # the comment of an archive that was a list
MXNETS = struct.pack("<2Q", 0x112, 0)           # how MXNet's files begin
DENSE = 0xF993FAC9, 0xF993FACA                  # how its arrays do; the later ones may have no axes
TYPES = "f4 f8 f2 u1 i4 i1 i8 ?".split()        # by MXNet's numbers


def save(file, arr):
    """Write an array to a file, in NumPy's .npy format, or a list of them or a dictionary as .npz: waits for them.

    Parameters
    ----------
    file : str, path or file
        Where the file is.
    arr : ndarray, list or dict of ndarray
        What is written.

    Examples
    --------
    >>> import io
    >>> npx.save(io.BytesIO(), np.arange(3))
    """
    single = not isinstance(arr, (list, tuple, dict))
    named = arr if isinstance(arr, dict) else {str(i): x for i, x in enumerate([arr] if single else arr)}
    for name, x in named.items():
        if not isinstance(name, str) or not (is_array(x) or isinstance(x, numpy.ndarray)):
            raise TypeError(f"arr must be arrays, with names that are texts, not {name!r}: {type(x).__name__}")
    named = {name: numpy.asarray(x) for name, x in named.items()}       # what has failed raises before there is a file
    if single:
        with contextlib.nullcontext(file) if hasattr(file, "write") else open(file, "wb") as stream:
            npy.write_array(stream, named["0"], allow_pickle=False)
        return
    import zipfile  # slow to load

    with zipfile.ZipFile(file, "w") as archive:
        archive.comment = b"" if isinstance(arr, dict) else LIST
        for name, x in named.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                npy.write_array(part, x, allow_pickle=False)


def savez(file, *args, **kwds):
    """Write several arrays to a file, in NumPy's .npz format: by name, or as arr_0, arr_1, ...: waits for them.

    Parameters
    ----------
    file : str, path or file
        Where the file is.
    *args
        Arrays, arr_0 and so on in the file.
    **kwds
        Arrays by their names in the file.

    Examples
    --------
    >>> import io
    >>> npx.savez(io.BytesIO(), x=np.arange(3))
    """
    named = {f"arr_{i}": x for i, x in enumerate(args)}
    if both := named.keys() & kwds.keys():
        raise ValueError(f"{', '.join(sorted(both))}: names of arrays that are given by place, too")
    save(file, named | kwds)


def load(file):
    """What save() wrote: an array, a list of them or a dictionary. Also NumPy's files of these, and MXNet's own.

    ValueError for any other file, or one that is damaged.

    Parameters
    ----------
    file : str, path or file
        Where the file is.

    Returns
    -------
    ndarray, list or dict of ndarray

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> npx.save(file, np.arange(3))
    >>> _ = file.seek(0)
    >>> print(npx.load(file))
    [0 1 2]
    """
    with opened(file) as stream, reading(file):
        begin = stream.tell()
        head = stream.read(len(MXNETS))
        if head == MXNETS:
            return _mxnets(stream)
        stream.seek(begin)
        if head.startswith(npy.MAGIC_PREFIX):
            check_array(stream, size_left(stream))
            return _in_rows(npy.read_array(stream, allow_pickle=False))
        if not head.startswith((b"PK\3\4", b"PK\5\6")):
            found = f"begins with {head[:8]!r}" if head else "is empty"
            raise ValueError(f"an array (.npy), an archive of them (.npz) or a file of MXNet's is expected, and "
                             f"the file {found}")
        return _archived(stream)


def _in_rows(x):
    """An array whose last index is the fastest, as all of MXNet's are."""
    return as_array(numpy.asarray(x, order="C"))


def _mxnets(stream):
    """The rest of a file of MXNet's: how many arrays, the arrays, how many names, the names."""
    def numbers(kinds):
        return struct.unpack(f"<{kinds}", exactly(stream, struct.calcsize(f"<{kinds}")))

    def shape_of():
        magic, = numbers("I")
        if 0 < magic <= 64:                     # the first version's: it is the number of axes
            return numbers(f"{magic}I")
        storage, ndim = numbers("2i") if magic in DENSE else (None, 0)
        if storage != 0 or ndim < (magic == DENSE[0]):
            raise ValueError("the file has arrays that are sparse, or of another version")
        if ndim > 64:
            raise ValueError(f"the file has arrays of {ndim} axes")
        return numbers(f"{ndim}q")

    def array():
        shape = shape_of()
        *_, kind = numbers("3i")                # behind a device
        if not 0 <= kind < len(TYPES):
            raise ValueError(f"the file has arrays of the type {kind}")
        if min(shape, default=0) < 0:
            raise ValueError(f"the file has arrays of the shape {shape}")
        dtype = numpy.dtype(TYPES[kind]).newbyteorder("<")
        x = numpy.frombuffer(exactly(stream, math.prod(shape) * dtype.itemsize), dtype)
        return as_array(x.reshape(shape).astype(dtype.newbyteorder("=")))

    arrays = [array() for _ in range(*numbers("Q"))]
    names = [exactly(stream, *numbers("Q")).decode() for _ in range(*numbers("Q"))]
    return dict(zip(names, arrays, strict=True)) if names else arrays


def _archived(stream):
    import zipfile  # slow to load

    size = size_left(stream)
    with zipfile.ZipFile(stream) as archive:
        check_archive(archive, size)
        named = {}
        for info in archive.infolist():
            if not check_member(archive, info):
                raise ValueError(f"{info.filename} in it is no array")
            with archive.open(info) as part:
                named[info.filename.removesuffix(".npy")] = _in_rows(npy.read_array(part, allow_pickle=False))
        return list(named.values()) if archive.comment == LIST else named
