"""Sharing memory with code that knows nothing of the engine: see _functions/buffers.pyx."""

from cpython.buffer cimport Py_buffer
from dflow._array.core cimport ndarray

cdef int fill_buffer(ndarray a, Py_buffer* view, int flags) except -1      # a's memory, as the buffer protocol has it
cdef void end_buffer(Py_buffer* view) noexcept
cdef object borrow(object window)       # NumPy's array to be read by one operation, which is done when it returns
