"""Control flow and data flow of a kernel's machine code.

Knows registers and branches; knows no algorithm.
"""
