"""The paper's measurements, made on this machine, and those that it left out.

Knows what the paper measured, never how an op works, and prints nothing.
"""
