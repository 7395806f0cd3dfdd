"""Array libraries: one file each, from arrays to memory that a kernel takes and back.

Knows nothing of the maths of an op.
"""
