"""Timing the ops beside their peers: cases as data, timing, records, verdicts.

Knows the ops by their names in the table, never how one works, and prints nothing.
"""
