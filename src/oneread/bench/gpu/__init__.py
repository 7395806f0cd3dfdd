"""The same harness on a GPU: launches in CUDA graphs, arrays that take turns, rates of the memory.

Knows the ops by their names in the table, never how one works, and prints nothing.
"""
