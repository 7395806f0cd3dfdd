"""What a kernel's machine code does: accumulators, exponentials, reductions, accesses, ceilings.

Each fact names the instructions that show it. Knows no words for a reader.
"""
