"""The kernels of the gallery on a GPU: checked, soaked, timed, and put before NVIDIA's tools.

Knows the kernels by their catalogue, never how one works, and prints nothing.
"""
