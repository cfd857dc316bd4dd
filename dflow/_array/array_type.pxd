"""The type of ndarray itself."""

cdef void be_type_of(type cls) noexcept         # once; ArrayType is from then on
