"""Whether operations are recorded, for gradients. Most programs record nothing: the first test of each hook is one of a number."""

cdef int recorders                              # GIL: threads that record now
cdef bint recording() noexcept                  # whether this thread does
cdef bint set_recording(bint on) noexcept       # whether it did before
