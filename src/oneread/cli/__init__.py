"""The `oneread` command: one file a command, and the only place that prints.

Loads typer and the standard library; arrays and ops only when a command needs them.
"""
