"""Where arrays are."""

from dflow._array.core cimport ndarray
from dflow._base.thread_state cimport many_devices

cpdef int device_number(object device) except -2
cpdef ndarray put(ndarray a, int number)
cdef inline ndarray put_new(ndarray a, int number):
    return put(a, number) if a is not None and (number >= 0 or many_devices) else a
