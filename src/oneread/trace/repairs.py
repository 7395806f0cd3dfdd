"""Known repairs of faults, as edits of the source text.

Knows the text and the faults; runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from oneread.source.text import split_lines
from oneread.trace.atomics import Change
from oneread.trace.faults import Fault, Repair
from oneread.trace.machine.values import WARP

_CLOSING = {"[": "]", "(": ")"}

#: Names of exponentials in the source, for a guard around them.
_EXPONENTIAL = re.compile(r"\b(__expf|expf|exp2f|exp2|exp)\s*$")

#: What may be looked at a second time: a name, with members and elements.
_PLACE = re.compile(r"[A-Za-z_][\w.\[\]>-]*")

#: A loop that starts at a macro, or at half of it, and halves.
_HALVING = re.compile(
    r"^(?P<margin>[ \t]*)for\s*\([^;=]*=\s*(?P<macro>\w+)\s*(?:/\s*2|>>\s*1)?\s*;[^;]*;"
    r"[^;{]*(?:/=?\s*2|>>=?\s*1)\b",
    re.MULTILINE,
)


def add_repairs(
    faults: Sequence[Fault],
    text: str,
    bound: str | None,
    beyond: Callable[[int, int], str | None],
    spanning: AbstractSet[tuple[int, int]],
    names: Mapping[str, int],
    threads: int,
    changes: Mapping[tuple[int, int], Change],
) -> None:
    """Give faults the repairs that are known for them.

    Parameters
    ----------
    faults : sequence of Fault
        Changed in place.
    text : str
        The source.
    bound : str or None
        The parameter that holds the length of a row.
    beyond : callable
        Says what a read at a line and column may give beyond it, if anything.
    spanning : set
        Line and column of the indices that count from a buffer's start and have no such bound.
    names : mapping
        Macros that are whole numbers.
    threads : int
        Of a block.
    changes : mapping
        Statements that an atomic could do, by line and column of the place that they change.
    """
    lines = split_lines(text)
    barriers = {_places(one): one.repair for one in faults if one.id == "race-warps"}
    for fault in faults:
        change = changes.get((fault.line, fault.column)) if _within_one(fault) else None
        if change is not None and _use_atomic(fault, lines[fault.line - 1], change):
            continue
        if fault.id == "race-warp" and barriers.get(_places(fault)):
            # Between warps too these lines need a barrier, and it is one for lanes as well.
            fault.repair = barriers[_places(fault)]
        elif fault.id == "race-warp" and threads <= WARP and "__syncthreads" in text:
            # The block is one warp today; the other barriers of the kernel are for more.
            _use_syncthreads(fault)
        elif fault.id == "wrong-result":
            fault.repair = _power_of_two(fault, text, names)
        elif fault.repair is None:
            inside = (fault.line, fault.column) not in spanning
            fault.repair = _repair(fault, lines, bound if inside else None, beyond)


def _places(fault: Fault) -> frozenset[int | None]:
    return frozenset([fault.line, fault.with_line])


def _within_one(fault: Fault) -> bool:
    """Say whether threads race with each other at one place of the source."""
    with_column = fault.parameters.get("with_column")
    return (fault.with_line, with_column) == (fault.line, fault.column)


def _use_atomic(fault: Fault, line: str, change: Change) -> bool:
    """Say that an atomic does at once what threads do in steps here; False if they do not."""
    new = change.atomic(line)
    if new is None and change.second:
        return False  # stored is something else than what was read
    fault.parameters["atomic"] = change.name
    fault.repair = None
    if new is not None:
        fault.repair = _replace(fault, change.column - 1, change.span(line), new)
    return True


def _use_syncthreads(fault: Fault) -> None:
    if fault.repair is not None:
        fault.repair = replace(fault.repair, parameters={"text": "__syncthreads();"})


def _power_of_two(fault: Fault, text: str, names: Mapping[str, int]) -> Repair | None:
    """Return an assertion before the last loop above that halves what is no power of two."""
    found = None
    for match in _HALVING.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        name, value = match["macro"], names.get(match["macro"], 1)
        # Where a statement may stand, not as the body of an if.
        before = re.sub(r"//.*", "", text[: match.start()]).rstrip()
        if line <= fault.line and value & (value - 1) and before[-1:] in {"{", "}", ";"}:
            what = f'static_assert(({name} & ({name} - 1)) == 0, "halving needs a power of two");'
            found = Repair("insert", line, 1, {"text": f"{match['margin']}{what}\n"})
    return found


def _repair(
    fault: Fault,
    lines: Sequence[str],
    bound: str | None,
    beyond: Callable[[int, int], str | None],
) -> Repair | None:
    line = lines[fault.line - 1] if 0 < fault.line <= len(lines) else ""
    if fault.id in {"stray-row", "out-of-bounds"} and bound and fault.parameters.get("load"):
        value = beyond(fault.line, fault.column)
        return None if value is None else _guard(fault, line, bound, value)
    if fault.id == "nan-made" and fault.parameters.get("operator") == "-":
        return _skip(fault, line)
    return None


def _guard(fault: Fault, line: str, bound: str, value: str) -> Repair | None:
    """Return ``a[i]`` as ``(i < bound ? a[i] : -INFINITY)``, or with another value."""
    start = fault.column - 1
    match = re.match(r"\w+\s*(?=\[)", line[start:])
    end = closed(line, start + match.end()) if match else -1
    if match is None or end < 0:
        return None
    access = line[start:end]
    index = line[start + match.end() + 1 : end - 1].strip()
    return _replace(fault, start, access, f"({index} < {bound} ? {access} : {value})")


def _skip(fault: Fault, line: str) -> Repair | None:
    """Return ``expf(x - m)`` as ``(x == -INFINITY ? 0.0f : expf(x - m))``.

    That is what it gives for any other m, and NaN in x stays, which a guard by a maximum that
    passes over NaN would make 0. Where x is an expression, m is what is looked at.
    """
    at = fault.column - 1
    depth = 0
    for place in range(at - 1, -1, -1):
        if line[place] in ")]":
            depth += 1
        elif line[place] in "([":
            if depth == 0:
                break
            depth -= 1
    else:
        return None
    name = _EXPONENTIAL.search(line[:place])
    end = closed(line, place)
    if name is None or line[place] != "(" or end < 0:
        return None
    call, sides = line[name.start() : end], (line[place + 1 : at], line[at + 1 : end - 1])
    looked_at = next((one.strip() for one in sides if _PLACE.fullmatch(one.strip())), None)
    if looked_at is None:
        return None
    guarded = f"({looked_at} == -INFINITY ? 0.0f : {call})"
    return _replace(fault, name.start(), call, guarded)


def _replace(fault: Fault, start: int, old: str, new: str) -> Repair:
    return Repair("replace", fault.line, start + 1, {"old": old, "new": new})


def closed(line: str, start: int) -> int:
    """Return where the bracket that opens at `start` has been closed, -1 if not in this line."""
    stack: list[str] = []
    for place in range(start, len(line)):
        if line[place] in _CLOSING:
            stack.append(_CLOSING[line[place]])
        elif stack and line[place] == stack[-1]:
            stack.pop()
            if not stack:
                return place + 1
    return -1


def apply(text: str, repairs: Sequence[Repair]) -> str:
    """Return the source with repairs made.

    Parameters
    ----------
    text : str
        The source.
    repairs : sequence of Repair
        Each is made once, whatever its place in the sequence; those of lower lines first, so that
        the places of the others stay right.

    Returns
    -------
    str
        The changed source.
    """
    lines = split_lines(text)
    distinct: dict[tuple[Any, ...], Repair] = {
        (one.kind, one.line, one.column, *map(str, one.parameters.values())): one for one in repairs
    }
    for one in sorted(distinct.values(), key=lambda r: (r.line, r.column), reverse=True):
        line = lines[one.line - 1]
        start = one.column - 1
        if one.kind == "insert-after":
            _insert_after(lines, one)
        elif one.kind == "insert":
            lines[one.line - 1] = line[:start] + one.parameters["text"] + line[start:]
        elif line.startswith(one.parameters["old"], start):
            rest = line[start + len(one.parameters["old"]) :]
            lines[one.line - 1] = line[:start] + one.parameters["new"] + rest
    return "".join(lines)


def _insert_after(lines: list[str], repair: Repair) -> None:
    """Put a line behind the statement that starts at the repair's place."""
    number, column = repair.line - 1, repair.column - 1
    indent = re.match(r"\s*", lines[number])
    margin = indent.group() if indent else ""
    depth = 0
    while number < len(lines):
        code = lines[number].split("//")[0]
        for place in range(column, len(code)):
            depth += (code[place] in "{(") - (code[place] in "})")
            if depth == 0 and code[place] in ";}" and not _goes_on(lines, number, place):
                lines.insert(number + 1, f"{margin}{repair.parameters['text']}\n")
                return
        number, column = number + 1, 0


def _goes_on(lines: Sequence[str], number: int, place: int) -> bool:
    """Say whether an `else` follows."""
    rest = "".join([lines[number][place + 1 :], *lines[number + 1 : number + 3]]).lstrip()
    return rest.startswith("else")


__all__ = ["add_repairs", "apply"]
