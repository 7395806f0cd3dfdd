"""The public functions: check the arguments, choose a backend, call a kernel.

Knows nothing of pointers, streams or instruction sets.
"""
