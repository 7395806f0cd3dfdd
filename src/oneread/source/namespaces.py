"""Namespaces of a file: what a function that stands in them is called from outside.

Knows no compiler.
"""

from __future__ import annotations

from oneread.source.host import split_directives
from oneread.source.outline import outline
from oneread.source.text import SourceText


def qualified(source: SourceText, name: str) -> str:
    """Return the name of a kernel, or of an instance of one, with the namespaces it stands in.

    Parameters
    ----------
    source : SourceText
        The file.
    name : str
        Such as ``softmax<256>``; what has a ``::`` of its own is left as it is.

    Returns
    -------
    str
        Such as ``ops::softmax<256>``.
    """
    tokens, _ = split_directives(source)
    plain = name.partition("<")[0]
    starts = [one.start for one in outline(tokens)[0] if one.kind == "kernel" and one.name == plain]
    if "::" in plain or not starts:
        return name
    open_: list[str] = []  # of each open brace the namespace, or an empty string
    for at in range(starts[0]):
        if tokens[at].text == "{":
            words = [token.text for token in tokens[max(0, at - 2) : at]]
            open_.append(words[1] if words[:1] == ["namespace"] else "")
        elif tokens[at].text == "}" and open_:
            open_.pop()
    return "::".join((*filter(None, open_), name))
