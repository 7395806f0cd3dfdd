"""CUDA C executed without a GPU."""
