"""The typed tree made into closures that a warp runs.

Knows every node of the tree; knows no token and no text.
"""
