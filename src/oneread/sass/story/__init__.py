"""The story of a kernel's machine code: what is said, in which order, and in which language.

Knows facts; knows no disassembler.
"""
