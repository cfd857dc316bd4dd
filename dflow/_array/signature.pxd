"""Signatures of generalized ufuncs."""

cdef object parse_signature(str text)
