"""From text to the typed tree: preprocessor, parser, type checker.

Knows C++ as far as the subset goes; knows nothing of who executes the tree.
"""
