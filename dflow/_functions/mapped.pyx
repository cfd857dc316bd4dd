"""Arrays over files: memmap, which NumPy has, too; and arrays that the budget has no room for, beside these.

What a map shows is the file's, and comes and goes as the system needs the room: so it is not counted against the
budget. Nobody else has its memory here, and so operations on it are tasks like others; see _functions/buffers.pyx.
"""

import mmap
import operator
import os
import tempfile

import numpy as np
cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject, PyTypeObject, newfunc
from cpython.ref cimport Py_INCREF
from dflow._array.array_type import set_map_class
from dflow._array.core cimport is_ours, map_type, ndarray, Py_SET_TYPE, viewed
from dflow._array cimport core
from dflow._functions.buffers import adopt_file, any_files, give_memory, leave_file, settle_file
from dflow._kernels.dtypes cimport code_of_num
from dflow._runtime.executor cimport inside_host_task
from dflow._runtime.graph cimport readable
from dflow._runtime.runners cimport this_runner
from dflow._runtime.threads cimport over
from dflow._runtime.waiting cimport wait_storage, wait_until

cnp.import_array()

cdef extern from "Python.h":
    ctypedef struct Slots "PyTypeObject":
        const char* tp_name
        newfunc tp_new

cdef long long FOR_EVER = <long long>1 << 62

cdef dict MODES = {"readonly": "r", "copyonwrite": "c", "readwrite": "r+", "write": "w+"}      # NumPy's longer names
cdef tuple WRITING = ("r+", "w+")

cdef object folder = None               # of the file that was mapped last

cdef object numpys_map(ndarray m):
    """NumPy's array over the file."""
    return <object>(m.base if viewed(m) == NULL else (<ndarray>viewed(m)).base)

@cython.auto_pickle(False)
cdef class memmap(ndarray):
    """memmap(filename, dtype='uint8', mode='r+', offset=0, shape=None, order='C')
--

    An array whose memory is a file's.

    Operations on it return at once and are fused like others; writes reach the file in their order. It is not counted
    against the memory budget, and while there is one, results that the budget has no room for lie in a temporary file
    without a name beside it. The end of the last view of it waits for the writes, as flush() does. Results of
    operations are plain arrays.

    What dflow does not hold (records, texts, another byte order, numbers at odd places) is NumPy's own memmap, which is
    an instance, too. Two maps of the same bytes, of which one writes, have their operations done at their calls.

    Parameters
    ----------
    filename : str, path or file
        The file; an open one as it is.
    dtype : dtype
        Of the elements.
    mode : {'r', 'r+', 'w+', 'c'}
        To read, to read and write, to make the file or make it anew; or to write to a copy in memory, which the file
        does not see.
    offset : int
        Bytes of the file before the first element.
    shape : int or tuple of int
        By default all that is there, along one axis; 'w+' needs it.
    order : {'C', 'F'}
        How the elements lie.

    Examples
    --------
    >>> import tempfile
    >>> file = tempfile.NamedTemporaryFile()
    >>> m = np.memmap(file.name, "f4", "w+", shape=(2, 3))
    >>> m[:] = np.arange(6).reshape(2, 3)
    >>> m.flush()
    >>> np.fromfile(file.name, "f4").tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    """

    __array_priority__ = -100.0

    def __dealloc__(self):
        if viewed(self) != NULL or self.base == NULL or self.st == NULL or over():
            return
        leave_file(<size_t>self.st.data)
        if readable(self.st) or inside_host_task() or this_runner() != NULL:    # these might be waited for themselves
            return
        try:
            if self.mode in WRITING:
                wait_until(self.st, NULL, FOR_EVER)     # what failed waits for who asks: this raises nothing of it
        except KeyboardInterrupt:
            import _thread
            _thread.interrupt_main()                    # the writes go on

    @property
    def filename(self):
        """The path of the file, as NumPy has it; None of an open one without a name."""
        return numpys_map(self).filename

    @property
    def offset(self):
        """Bytes of the file before the first element of the map."""
        return numpys_map(self).offset

    @property
    def mode(self):
        """How the file was opened: 'r', 'r+', 'w+' or 'c'."""
        return numpys_map(self).mode

    @property
    def _mmap(self):
        return numpys_map(self)._mmap           # which cannot be closed while it is used

    def flush(self):
        """Wait for the writes to the map that were submitted, and have the system write them to the disk.

        Raises their error. Of a view, it is all of the map.

        Examples
        --------
        >>> import tempfile
        >>> m = np.memmap(tempfile.TemporaryFile(), "i8", "w+", shape=3)
        >>> m += 1
        >>> m.flush()
        """
        wait_storage(self.st, NULL, False, False)
        numpys_map(self).flush()

def file_of(file):
    """What tells a file, by name or open, from others; () where it is not there."""
    try:
        found = os.fstat(file.fileno()) if hasattr(file, "fileno") else os.stat(file)
    except (OSError, TypeError, ValueError):
        return ()
    return found.st_dev, found.st_ino

def before_mapping(file, mode):
    """To be called before NumPy maps a file: what is pending on other maps of it is waited for."""
    settle_file(file_of(file), MODES.get(mode, mode) in WRITING)

def over_file(window, file):
    """The array of ours over NumPy's new memmap of a file, by name or open; that itself where ours cannot be."""
    global folder
    cdef ndarray m
    if (type(window) is not np.memmap or code_of_num(cnp.PyArray_TYPE(window)) < 0
            or not cnp.PyArray_ISNOTSWAPPED(window) or not cnp.PyArray_ISALIGNED(window)):
        return window
    m = adopt_file(window, file_of(file), window.offset, window.mode in WRITING)
    if window.filename is not None:
        folder = os.path.dirname(window.filename)
    Py_SET_TYPE(m, map_type)
    return m

def open_map(filename, dtype=np.uint8, mode="r+", offset=0, shape=None, order="C"):
    """memmap()."""
    if is_ours(shape):
        shape = shape.tolist()
    if is_ours(offset):
        offset = operator.index(offset)
    try:
        before_mapping(filename, mode)
        window = np.memmap(filename, dtype, mode, offset, shape, order)
    except (OverflowError, ValueError) as error:
        name = filename if isinstance(filename, (str, bytes, os.PathLike)) else getattr(filename, "name", None)
        if isinstance(name, (str, bytes, os.PathLike)) and len(error.args) == 1:
            error.args = (f"{os.fsdecode(name)}: {error}",)
        raise
    return over_file(window, filename)

cdef object new_map(type cls, PyObject* args, PyObject* keywords):
    """tp_new of memmap, which has no subclasses: see _array/array_type.pyx."""
    return open_map(*<tuple>args) if keywords == NULL else open_map(*<tuple>args, **<dict>keywords)

(<Slots*>memmap).tp_name = b"dflow.numpy.memmap"        # as programs find it
(<Slots*>memmap).tp_new = <newfunc>new_map
core.map_type = <PyTypeObject*>memmap
set_map_class(memmap)

def in_file(ndarray a, nbytes):
    """Give a new array memory in a temporary file, if there are arrays over files, and room beside them: it is taken at
    once, as writing to a full disk later would end the process. What is fused away is never written."""
    if not any_files():
        return False
    for place in (folder, None):
        try:
            with tempfile.TemporaryFile(dir=place) as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, nbytes)
                else:
                    os.truncate(file.fileno(), nbytes)
                give_memory(a, np.frombuffer(mmap.mmap(file.fileno(), nbytes), np.uint8))
                return True
        except OSError:
            continue
    return False
