"""Time the ops beside what a user would pick instead, and count what they read.

Knows the ops by their names in the table, never how one works, and prints nothing.
"""
