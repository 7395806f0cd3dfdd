"""An operand taken apart: registers, numbers, constants, addresses, labels.

Knows the notation of `nvdisasm` and `cuobjdump`; knows no opcode.
"""

from __future__ import annotations

import re
from typing import Final

from oneread.sass.decode.instruction import Named, Operand, OperandKind, Register

_NAME: Final = re.compile(r"(?<![\w.])(UR|UP|R|P|B)(\d+)(?!\w)((?:\.\w+)*)", re.ASCII)
_WHOLE: Final = re.compile(r"(UR|UP|R|P|B)(\d+|Z|T)((?:\.\w+)*)", re.ASCII)
_INTEGER: Final = re.compile(r"[-+]?0x[0-9a-f]+", re.ASCII)
_DECIMAL: Final = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|INF)", re.ASCII)
_NO_NUMBER: Final = re.compile(r"[-+]?[QS]NAN", re.ASCII)
_CONSTANT: Final = re.compile(r"cx?\[([^]]*)\]\[([^]]*)\]((?:\.\w+)*)", re.ASCII)
_ADDRESS: Final = re.compile(r"(\w*)(?:\[[^]]*\])?\[([^]]*)\]((?:\.\w+)*)", re.ASCII)
_OFFSET: Final = re.compile(r"(?:^|\+?)(-?0x[0-9a-f]+)$", re.ASCII)
_LABEL: Final = re.compile(r"`?\(.*\)", re.ASCII)


def split_operands(text: str) -> list[str]:
    """Return the operands of an instruction's text, split at the commas outside of brackets."""
    found: list[str] = []
    depth = start = 0
    for at, char in enumerate(text):
        depth += (char in "[{(") - (char in "]})")
        if char == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*found, last] if last or found else []


def parse_operand(text: str) -> Operand:
    """Take an operand apart.

    Parameters
    ----------
    text : str
        As it is printed.

    Returns
    -------
    Operand
        Its parts; of kind ``other`` where the notation is not known, its registers found all the
        same.
    """
    shown = text.replace(".reuse", "")
    body = shown
    negative = absolute = inverted = False
    while body[:1] in ("-", "+", "~", "!") and not _is_number(body):
        negative ^= body[0] == "-"
        inverted ^= body[0] in "~!"
        body = body[1:]
    if body[:1] == "|":
        body, absolute = body[1:].replace("|", "", 1), True
    kind, number, base = _kind(body)
    names = tuple(
        Named(Register(bank, int(digits)), tuple(suffixes.split(".")[1:]))
        for bank, digits, suffixes in _NAME.findall(body)
    )
    return Operand(shown, kind, names, negative, absolute, inverted, number, base)


def _is_number(text: str) -> bool:
    return any(form.fullmatch(text) for form in (_INTEGER, _DECIMAL, _NO_NUMBER))


def _kind(body: str) -> tuple[OperandKind, float | None, str]:
    """Return the kind of an operand, its number and its base."""
    if found := _WHOLE.fullmatch(body):
        if found[2] == "Z":
            return "zero", None, ""
        if found[2] == "T":
            return "true", None, ""
        return ("predicate" if found[1] in ("P", "UP") else "register"), None, ""
    if _INTEGER.fullmatch(body):
        return "number", int(body, 16), ""
    if _DECIMAL.fullmatch(body):
        return "number", float(body), ""
    if _NO_NUMBER.fullmatch(body):
        return "number", None, body
    if found := _CONSTANT.fullmatch(body):
        return "constant", _offset(found[2]), found[1]
    if found := _ADDRESS.fullmatch(body):
        return "address", _offset(found[2]), found[1]
    return ("label" if _LABEL.fullmatch(body) else "other"), None, ""


def _offset(text: str) -> int:
    """Return the number at the end of an address, 0 where there is none."""
    found = _OFFSET.search(text)
    return int(found[1], 16) if found else 0
