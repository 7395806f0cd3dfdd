"""The tracer: CUDA C executed on a CPU, warp by warp, every access counted.

Standard library only. Knows no CUDA, no NVRTC, no NumPy and no web.
"""
