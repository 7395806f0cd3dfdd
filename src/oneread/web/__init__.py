"""The page of the tracer: a server on this machine, and recordings in one file.

Knows kernels only by their names. `jobs`, `export` and what they need are standard library; the
server needs starlette and uvicorn, and is loaded by who starts it.
"""
