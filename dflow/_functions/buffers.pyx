"""Sharing memory with code that knows nothing of the engine: buffers, NumPy arrays, DLPack; ours with it, its with us.

What is shared is pinned: from then on until the last of those who see it lets go, each operation on that memory is done
when its call returns, as in NumPy. So both sides see what the other has written, in the order of the program.

Invariant: no two storages have a byte in common, as operations compare storages to see whether operands overlap. So
what is adopted is all that its exporter has, found again when another view of it comes, and memory of ours is ours.
What is borrowed, for one operation, is nobody else's meanwhile.
"""

from bisect import bisect_left, bisect_right, insort

import numpy as np
cimport numpy as cnp
from cpython.buffer cimport (
    Py_buffer, PyBUF_F_CONTIGUOUS, PyBUF_FORMAT, PyBUF_ND, PyBUF_SIMPLE, PyBUF_STRIDED, PyBUF_STRIDES, PyBuffer_Release,
    PyObject_GetBuffer)
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport uint8_t
from dflow._array.core cimport (
    C_CONTIGUOUS, READONLY, SCALAR, as_array, bare_view, close_view, copy_of, data_of, is_ours, ndarray, numpy_window,
    shape_tuple, viewed, wait_read)
from dflow._array.shape cimport sees_twice
from dflow._base.atomics cimport add_int, load_ptr
from dflow._base.allocator cimport memory_free, memory_new
from dflow._kernels.dtypes cimport code_of_num, DTYPES
from dflow._kernels.kernel cimport intp
from dflow._runtime.graph cimport (
    abroad, BORROWED, drain, OURS_ALONE, Storage, storage_end_foreign, storage_foreign, storage_revive, storage_unref)
from dflow._runtime.waiting cimport wait_storage, wait_until

cdef extern from "Python.h":
    PyObject* PyEval_GetGlobals()

cdef enum:
    NOWHERE = 1 << 12           # an address

# Where pandas makes series and indices of arrays. NumPy's it copies; of others it asks for NumPy's, and keeps these.
cdef frozenset KEEPERS = frozenset({"pandas.core.construction", "pandas.core.indexes.base"})

cdef PyObject* first_pin = NULL         # of all that live

cdef class Pin:
    """While it lives, somebody outside sees the memory of an array."""
    cdef Storage* st            # owned reference
    cdef PyObject* before       # neighbours in the list; borrowed
    cdef PyObject* after

    def __cinit__(self, ndarray a):
        global first_pin
        self.st = a.st
        add_int(&a.st.refs, 1)
        a.st.pins += 1
        self.after = first_pin
        if first_pin != NULL:
            (<Pin>first_pin).before = <PyObject*>self
        first_pin = <PyObject*>self

    def __dealloc__(self):
        global first_pin
        if self.before != NULL:
            (<Pin>self.before).after = self.after
        else:
            first_pin = self.after
        if self.after != NULL:
            (<Pin>self.after).before = self.before
        self.st.pins -= 1
        storage_unref(self.st)

def share(ndarray a):
    """A NumPy array over the memory of a. Waits for all that is pending on it; raises its error.

    What NumPy has as a scalar is a value: then it is a copy, and so is what is on a GPU.
    """
    if abroad(a.st):
        return a.asnumpy()
    if a.flags & SCALAR:
        a = copy_of(a)
    pin = Pin(a)                                # first: it is not to leave memory once it is there
    wait_storage(a.st, NULL, True, False)       # those who read it, too: the other side may write
    return numpy_window(wait_read(a), not a.flags & READONLY, pin)

cdef struct Lent:               # what a buffer holds until it is released
    PyObject* pin               # or NULL: it is a buffer of
    Py_buffer theirs            # NumPy's
    intp dims[1]                # and so many more: the shape, the strides

cdef list formats = [memoryview(np.zeros(1, dtype)).format.encode() for dtype in DTYPES]

cdef int fill_buffer(ndarray a, Py_buffer* view, int flags) except -1:
    """share() for a buffer; a copy for one who keeps it as his own."""
    cdef PyObject* names = PyEval_GetGlobals()          # of the function in Python that asked NumPy
    cdef bint keeps = names != NULL and (<dict>names).get("__name__") in KEEPERS
    cdef Lent* lent = <Lent*>memory_new(sizeof(Lent) + 2 * a.ndim * sizeof(intp))
    cdef int i
    if lent == NULL:
        raise MemoryError("no memory for a buffer")
    try:
        if (keeps or a.flags & SCALAR or abroad(a.st) or not a.flags & C_CONTIGUOUS or a.flags & READONLY
                or flags & PyBUF_F_CONTIGUOUS & ~PyBUF_STRIDES):
            fill_by_numpy(a.asnumpy() if keeps else share(a), lent, view, flags)
        else:
            pin = Pin(a)
            wait_storage(a.st, NULL, True, False)
            view.buf, view.len, view.itemsize, view.readonly = data_of(wait_read(a)), a.size * a.itemsize, a.itemsize, 0
            view.ndim, view.suboffsets = a.ndim, NULL
            for i in range(2 * a.ndim):
                lent.dims[i] = a.shape[i]
            view.shape = <Py_ssize_t*>lent.dims if flags & PyBUF_ND == PyBUF_ND else NULL
            view.strides = <Py_ssize_t*>lent.dims + a.ndim if flags & PyBUF_STRIDES == PyBUF_STRIDES else NULL
            view.format = <char*>(<bytes>formats[a.code]) if flags & PyBUF_FORMAT == PyBUF_FORMAT else NULL
            Py_INCREF(pin)
            lent.pin = <PyObject*>pin
    except BaseException:
        memory_free(lent)
        raise
    view.internal = lent
    view.obj = a                                        # not the NumPy array: memoryview(x).obj is x
    return 0

cdef int fill_by_numpy(object window, Lent* lent, Py_buffer* view, int flags) except -1:
    cdef Py_buffer* theirs = &lent.theirs
    lent.pin = NULL
    PyObject_GetBuffer(window, theirs, flags)
    view.buf, view.len, view.itemsize, view.readonly = theirs.buf, theirs.len, theirs.itemsize, theirs.readonly
    view.format, view.ndim, view.shape, view.strides = theirs.format, theirs.ndim, theirs.shape, theirs.strides
    view.suboffsets = theirs.suboffsets
    return 0

cdef void end_buffer(Py_buffer* view) noexcept:
    cdef Lent* lent = <Lent*>view.internal
    if lent.pin != NULL:
        Py_DECREF(<object>lent.pin)
    else:
        PyBuffer_Release(&lent.theirs)
    memory_free(lent)

def share_for_good(ndarray a):
    """The same, when nobody will say that he no longer looks: for addresses. ValueError for what is on a GPU."""
    if abroad(a.st):
        raise ValueError("an array on a GPU has no address here: as_in_ctx(cpu()) brings it")
    window = share(a)
    if not a.flags & SCALAR:                    # whose copy the window keeps
        a.st.pins += 1
    return window

def apart(ndarray a, ndarray b):
    """Whether two arrays are views of different memory; what NumPy has as a scalar is a value, nobody's view."""
    return a.st != b.st or (a.flags | b.flags) & SCALAR != 0

cdef class Place:
    """What NumPy takes for an array at an address."""
    cdef readonly dict __array_interface__

cdef object at_nowhere(ndarray a):
    cdef Place p = Place()
    p.__array_interface__ = {"version": 3, "shape": shape_tuple(a), "strides": a.strides, "typestr": a.dtype.str,
                             "data": (NOWHERE + a.offset, True)}
    return np.asarray(p)

def placed(ndarray a, ndarray b):
    """NumPy arrays that lie to each other as these views of one memory do; nobody may look into them.

    The memory may not be there yet, and come at any time: then both lie where nothing is.
    """
    if load_ptr(&a.st.data) == NULL:
        return at_nowhere(a), at_nowhere(b)
    return numpy_window(a, False), numpy_window(b, False)


# ---- memory of others ------------------------------------------------------------------------------------------------

cdef class Owner:
    """Keeps alive what a storage has of somebody else, and ends with it."""
    cdef Storage* st            # borrowed: whose last reference gives this away
    cdef size_t start, end      # of its memory
    cdef object window          # a NumPy array over it, or a part
    cdef object file            # whose memory it is, by device and number; () for one without a name; None: no file's
    cdef long long place        # of its first byte in the file
    cdef bint writes            # to the file
    cdef bint left              # the array over it is gone, with its views

    def __dealloc__(self):
        global owned_by_files
        if self.file is not None:
            owned_by_files -= 1
        forget(self.start, <size_t><PyObject*>self)
        if self.st != NULL:
            storage_end_foreign(self.st)

cdef int owned_by_files = 0     # owners of files' memory
cdef list starts = []           # of the memory of all owners, in order: no two have a byte in common
cdef dict owner_at = {}         # start: the owner's address
cdef object place_of = bisect_left      # kept until the last owner ends, maybe after this module's names

cdef void forget(size_t start, size_t owner):
    if owner_at.get(start) == owner:
        del owner_at[start]
        del starts[place_of(starts, start)]

cdef void bounds(object window, size_t* start, size_t* end):
    """The bytes that a NumPy array sees, from the first to behind the last."""
    cdef intp low = 0, high = cnp.PyArray_ITEMSIZE(window), reach
    cdef int i
    for i in range(cnp.PyArray_NDIM(window)):
        reach = (cnp.PyArray_DIMS(window)[i] - 1) * cnp.PyArray_STRIDES(window)[i]
        if reach < 0:
            low += reach
        else:
            high += reach
    start[0] = <size_t>cnp.PyArray_DATA(window) + low
    end[0] = <size_t>cnp.PyArray_DATA(window) + high

cdef object exporter(object window):
    """Who has the memory that a NumPy array sees, as far as that is known."""
    cdef object x = window, behind = window
    while behind is not None and not is_ours(x):
        x = behind
        behind = x.base if isinstance(x, cnp.ndarray) else x.obj if isinstance(x, memoryview) else None
    return x

cdef void widen(object x, size_t* start, size_t* end):
    """The bytes of all that an exporter has, where it says so and these are among them."""
    cdef Py_buffer whole
    cdef size_t first = 0, last = 0
    if isinstance(x, cnp.ndarray):
        bounds(x, &first, &last)
    else:
        try:
            PyObject_GetBuffer(x, &whole, PyBUF_SIMPLE)
        except (BufferError, TypeError, ValueError):
            return
        first = <size_t>whole.buf
        last = first + whole.len
        PyBuffer_Release(&whole)
    if first <= start[0] and end[0] <= last:
        start[0], end[0] = first, last

cdef bint lies_in(Storage* s, size_t start, size_t end) noexcept:
    return load_ptr(&s.data) != NULL and <size_t>s.data <= start and end <= <size_t>s.data + s.nbytes

cdef Storage* of_ours(object x, size_t start, size_t end) noexcept:
    """The storage of ours that has these bytes (a reference), or NULL."""
    cdef PyObject* pin = first_pin
    cdef Storage* s = NULL
    if is_ours(x) and lies_in((<ndarray>x).st, start, end):
        s = (<ndarray>x).st
    while s == NULL and pin != NULL:
        if lies_in((<Pin>pin).st, start, end):
            s = (<Pin>pin).st
        pin = (<Pin>pin).after
    if s != NULL:
        add_int(&s.refs, 1)
    return s

cdef Storage* of_others(object window, object x, size_t start, size_t end, bint alone) except? NULL:
    """The storage of memory of others that has these bytes, maybe a new one (a reference); NULL where only a part is in
    one that there is: it cannot grow."""
    cdef Owner found, owner = Owner()
    cdef Py_ssize_t i
    widen(x, &start, &end)
    drain()             # owners whose storages have ended. From here on nothing runs Python, or lets go of the GIL
    i = bisect_right(starts, start)
    if i:
        found = <Owner><PyObject*><size_t>owner_at[starts[i - 1]]
        if found.end > start and storage_revive(found.st):
            if end <= found.end:
                return found.st
            storage_unref(found.st)
            return NULL
    if i < len(starts) and <size_t>starts[i] < end:
        return NULL
    enter(owner, window, start, end)
    if not alone and type(x) is not bytes:                  # which nobody changes
        owner.st.pins = 1
    return owner.st

cdef int enter(Owner owner, object window, size_t start, size_t end) except -1:
    """Make the owner's storage, and let it be found."""
    owner.window, owner.start, owner.end = window, start, end
    owner.st = storage_foreign(<char*>start, end - start, <PyObject*>owner)
    if owner.st == NULL:
        raise MemoryError
    if start in owner_at:
        del starts[place_of(starts, start)]              # of one that is about to end
    insort(starts, start)
    owner_at[start] = <size_t><PyObject*>owner
    return 0

cdef ndarray view_of(Storage* s, object window):
    """An array with a storage, of which it takes over a reference: what a NumPy array over its memory sees of it."""
    cdef ndarray v = bare_view(s, cnp.PyArray_NDIM(window))
    cdef int i
    base = window if cnp.PyArray_BASE(window) == NULL else <object>cnp.PyArray_BASE(window)
    if is_ours(base) and viewed(<ndarray>base) != NULL:
        base = <object>viewed(<ndarray>base)
    v.base = <PyObject*>base
    Py_INCREF(base)
    for i in range(v.ndim):
        v.shape[i] = cnp.PyArray_DIMS(window)[i]
        v.shape[v.ndim + i] = cnp.PyArray_STRIDES(window)[i]
    v.code = <uint8_t>code_of_num(cnp.PyArray_TYPE(window))
    v.itemsize = <uint8_t>cnp.PyArray_ITEMSIZE(window)
    v.offset = <char*>cnp.PyArray_DATA(window) - s.data
    v.flags = 0
    if not cnp.PyArray_ISWRITEABLE(window) or sees_twice(v.ndim, v.shape, v.shape + v.ndim, v.itemsize):
        v.flags = READONLY
    return close_view(v)

def adopt(window, bint alone=False):
    """An array of ours over the memory of a NumPy array: either side sees what the other writes. Read-only where the
    array is, and where it may show an element twice.

    alone: nobody else looks at it, or ever will, so operations need not be done when they are called.

    A copy of what is in another byte order. The NumPy array itself where ours cannot be: for what is no numbers, where
    these are not aligned, and for memory that is in part an array's of ours.
    """
    cdef size_t start = 0, end = 0
    cdef Storage* s
    if code_of_num(cnp.PyArray_TYPE(window)) < 0:
        return window
    if cnp.PyArray_SIZE(window) == 0 or not cnp.PyArray_ISNOTSWAPPED(window):
        return as_array(window)
    if not cnp.PyArray_ISALIGNED(window):
        return window
    bounds(window, &start, &end)
    x = exporter(window)
    s = of_ours(x, start, end)
    if s == NULL:
        s = of_others(window, x, start, end, alone)
    return window if s == NULL else view_of(s, window)

cdef object borrow(object window):
    """adopt() for an operation that is done when it returns: nobody finds that storage, nor needs to, as nothing is
    ever pending on it, and nobody has the memory in another one."""
    cdef size_t start = 0, end = 0
    cdef Py_ssize_t i = 0
    cdef Storage* s
    cdef object root = window
    while type(root) is cnp.ndarray and cnp.PyArray_BASE(root) != NULL:
        root = <object>cnp.PyArray_BASE(root)
    if type(root) is not cnp.ndarray or code_of_num(cnp.PyArray_TYPE(window)) < 0 or not (
            cnp.PyArray_SIZE(window) and cnp.PyArray_ISALIGNED(window) and cnp.PyArray_ISNOTSWAPPED(window)):
        return adopt(window)
    bounds(window, &start, &end)
    if starts:
        i = bisect_right(starts, start)
        if i and (<Owner><PyObject*><size_t>owner_at[starts[i - 1]]).end > start or (
                i < len(starts) and <size_t>starts[i] < end):
            return adopt(window)
    s = storage_foreign(<char*>start, end - start, <PyObject*>window)
    if s == NULL:
        raise MemoryError("no memory for an array")
    s.foreign = BORROWED
    s.pins = 1
    return view_of(s, window)

def writable_memory(x):
    """Whether an object, whose memory an array was made of, lets it be written to."""
    cdef Py_buffer whole
    try:
        PyObject_GetBuffer(x, &whole, PyBUF_STRIDED)
    except (BufferError, TypeError, ValueError):
        return False
    PyBuffer_Release(&whole)
    return True


# ---- memory of files -------------------------------------------------------------------------------------------------
# Nobody is told of who else looks at a file, and so nobody waits: operations on its memory are tasks. But two maps of
# ours of the same bytes, of which one writes, are two storages that show the same: these are pinned.

cdef list others_of(object file, bint writes):
    """Owners of a file's memory that its maps, one of which is to write, must not run ahead of."""
    cdef Owner owner
    drain()
    found = [<object><PyObject*><size_t>address for address in owner_at.values()]
    return [owner for owner in found if file and owner.file == file and (writes or owner.writes)]

cdef int settle(Owner owner, bint pin) except -1:
    """Wait for what is pending on its memory; pin: from then on, all that is done there is done at once."""
    if storage_revive(owner.st):
        try:
            wait_storage(owner.st, NULL, True, False)
            owner.st.pins += pin
        finally:
            storage_unref(owner.st)
    return 0

def settle_file(file, bint writes):
    """Wait for what is pending on maps of a file that is about to be opened: it may be cut, or seen by another one."""
    for owner in others_of(file, writes):
        settle(owner, False)

def end_writes():
    """Wait for what is to be written to files, at exit."""
    cdef Owner owner
    drain()
    for owner in [<object><PyObject*><size_t>address for address in owner_at.values()]:
        if owner.writes and storage_revive(owner.st):
            try:
                wait_until(owner.st, NULL, <long long>1 << 62)
            finally:
                storage_unref(owner.st)

def adopt_file(window, tuple file, long long place, bint writes):
    """An array of ours over the memory of one of NumPy's that nobody else has, which shows a file from `place` on."""
    global owned_by_files
    cdef Owner owner = Owner(), other
    cdef size_t start = <size_t>cnp.PyArray_DATA(window), end = start
    cdef ndarray v
    cdef bint twice = False
    if cnp.PyArray_SIZE(window):
        bounds(window, &start, &end)
    for other in others_of(file, writes):
        if (other.place < place + <long long>(end - start)
                and place < other.place + <long long>(other.end - other.start)):
            settle(other, not other.left)
            twice = twice or not other.left or other.st.pins
    owner.file, owner.place, owner.writes = file, place, writes
    owned_by_files += 1
    enter(owner, memoryview(window._mmap), start, end)      # so nobody closes it
    owner.st.pins = twice
    v = view_of(owner.st, window)
    Py_DECREF(<object>v.base)
    v.base = <PyObject*>window
    Py_INCREF(window)
    return v

def leave_file(size_t start):
    """The array over a file's memory ends; what is pending may go on."""
    cdef size_t owner = owner_at.get(start, 0)
    if owner:
        (<Owner><PyObject*>owner).left = True

def any_files():
    """Whether some array has its memory of a file."""
    drain()
    return owned_by_files > 0

def give_memory(ndarray a, window):
    """To a new array, that of a NumPy array over a file without a name."""
    global owned_by_files
    cdef Owner owner = Owner()
    cdef size_t start = 0, end = 0
    bounds(window, &start, &end)
    owner.file = ()
    owned_by_files += 1
    enter(owner, window, start, end)
    owner.st.foreign = OURS_ALONE
    a.st = owner.st
