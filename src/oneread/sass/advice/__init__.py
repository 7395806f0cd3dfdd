"""Advice with proof: what would change the machine code, compiled and compared.

Knows sources and facts; knows no view.
"""
