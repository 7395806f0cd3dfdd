"""Machine code from where it may be: sources, cubins, text that a disassembler wrote.

Knows formats and the disassembler; knows no instruction.
"""
