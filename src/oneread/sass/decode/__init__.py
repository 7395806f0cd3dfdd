"""Machine instructions as values: operands, control bits, registers read and written.

Knows no disassembler and draws no conclusions.
"""
