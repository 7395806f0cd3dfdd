"""The paper's claims beside what runs measured: verdicts, figures, one report.

Knows the files of runs, not who produced them; measures nothing. Matplotlib draws the figures, the
rest needs the standard library alone.
"""
