"""What ran where and when, noted while somebody looks."""

cdef int watched                                # atomic: whether somebody does
cdef void note(const char* name, int members, int lane, int worker, long long start) noexcept nogil     # it has just ended
