"""The floating point flags of this thread."""

cdef extern from "_base/fpflags.h" nogil:
    int fp_flags()
    void fp_clear()
    void fp_collect(int* all)       # moves those that are up into *all, which threads may share
    void fp_raise(int)
    int FP_DIVIDE, FP_OVER, FP_UNDER, FP_INVALID
