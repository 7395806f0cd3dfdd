"""CUDA C text: positions, tokens, includes, kernels and signatures, the gallery's catalogue.

Standard library only. Knows no compiler and no tracer.
"""
