"""What ran where and when, noted while a program watches.

A runner claims a place by an atomic counter, and writes `stop` there last: what is still being written when the list
is read is left out. The places are never freed, so a late runner writes into memory that is there.
"""

cdef int watched                                # atomic: how many do; changed with the GIL
cdef void note(const char* name, int members, int lane, int worker, long long start) noexcept nogil # it has just ended
