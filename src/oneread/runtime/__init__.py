"""What runs kernels: the native CPU module, loaded once.

Knows no array library but what the native module takes.
"""
