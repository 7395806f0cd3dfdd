"""Pages and tables that are made from records.

Knows records as plain values, not who produced them; runs and measures nothing. Matplotlib draws
the figures of `paper`; all else needs the standard library only.
"""
