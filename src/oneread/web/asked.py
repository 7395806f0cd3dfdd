"""What a page asks for, read from JSON and checked: kernels, a launch, numbers.

Knows no server and opens no file. What is not as it should be is an error that names the field.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from oneread.source.errors import quoted
from oneread.trace.case import Case, Extent, Size, parse_extent
from oneread.trace.errors import UsageError
from oneread.trace.limits import Limits

#: Kernels side by side.
MOST_KERNELS: Final = 3

#: Expressions that are followed besides m, d and the factor.
MOST_WATCHES: Final = 8

#: Macros, or parameters, of which something is said.
MOST_NAMES: Final = 64

#: Characters of any text but a source, which has a limit of its own.
TEXT_CHARACTERS: Final = 500

#: What a run may take. The engine's own clock runs out a little before the worker is ended, since
#: its error can say in which line.
LIMITS: Final = Limits(seconds=4.0, file_bytes=4_000_000)

#: Numbers that JSON lacks, as the trace file has them.
_WORDS: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


@dataclass(frozen=True)
class Kernel:
    """A kernel of the gallery, a text, or a kernel of the gallery with another text."""

    key: str
    """Of the gallery; empty if it is none of its kernels."""
    text: str | None
    name: str
    kernel: str | None
    """Which one of the text."""


@dataclass(frozen=True)
class Asked:
    """One request."""

    kernels: tuple[Kernel, ...]
    case: Case
    numbers: list[list[float]] | None
    """Rows of the input, where it follows no pattern."""
    part: int
    """Of a probe."""


def read(body: bytes) -> Asked:
    """Read a request.

    Raises
    ------
    UsageError
        When it is not what it should be.
    """
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise UsageError("the request is no JSON that can be read") from None
    fields = _Fields("the request", value)
    kernels = fields.take("kernels", list, [])
    if not 1 <= len(kernels) <= MOST_KERNELS:
        raise UsageError(f"{len(kernels)} kernels; from 1 to {MOST_KERNELS} are run")
    asked = Asked(
        tuple(_kernel(one) for one in kernels),
        _case(fields),
        _numbers(fields.take("numbers", list)),
        fields.whole("part", 0),
    )
    fields.done()
    return asked


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)  # NaN and the infinities are words here, as in the trace file


class _Fields:
    """An object of the request whose fields are taken with their kind, each once."""

    def __init__(self, where: str, value: Any) -> None:
        if not isinstance(value, dict):
            raise UsageError(f"{where} is no object")
        self._where, self._left = where, dict(value)

    def any(self, name: str) -> Any:
        return self._left.pop(name, None)

    def take(self, name: str, kind: type, default: Any = None) -> Any:
        value = self._left.pop(name, None)
        if value is None:
            return default
        if not isinstance(value, kind):
            raise UsageError(f"{name} is no {kind.__name__}")
        return value

    def whole(self, name: str, default: int) -> int:
        value = self.take(name, int, default)
        if isinstance(value, bool) or value < 0:
            raise UsageError(f"{name} is no size")
        return int(value)

    def text(self, name: str) -> str | None:
        value = self.take(name, str)
        return None if value is None else _text(name, value)

    def done(self) -> None:
        """Refuse fields that nobody took: a misspelt one would be lost."""
        if self._left:
            raise UsageError(f"{self._where} has no field '{quoted(min(self._left))}'")


def _text(name: str, text: str) -> str:
    if len(text) > TEXT_CHARACTERS:
        raise UsageError(f"{name} has more than {TEXT_CHARACTERS} characters")
    return _unicode(name, text)


def _unicode(name: str, text: str) -> str:
    # JSON can hold half of a surrogate pair, which is no text that anyone could write out again.
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"{name} is no text") from None
    return text


def _kernel(value: Any) -> Kernel:
    fields = _Fields("a kernel", value)
    text = fields.take("text", str)
    key, name, kernel = (fields.text(one) for one in ("key", "name", "kernel"))
    fields.done()
    if text is not None:
        _unicode("text", text)
    elif not key:
        raise UsageError("a kernel has neither a key nor a text")
    return Kernel(key or "", text, name or key or "kernel.cu", kernel or None)


def _case(fields: _Fields) -> Case:
    plain = Case()
    shared = fields.any("shared_bytes")
    return Case(
        fields.whole("rows", plain.rows),
        fields.whole("vocab", plain.vocab),
        fields.whole("k", plain.k),
        {name: str(one) for name, one in _said(fields, "defines", (str, int)).items()},
        _extent("grid", fields.any("grid")),
        _extent("block", fields.any("block")),
        None if shared is None else _size("shared_bytes", shared),
        _said(fields, "arguments", (str, int, float)),
        fields.text("input") or plain.input,
        schedule=fields.text("schedule") or plain.schedule,
        watch=_watch(fields.take("watch", list, [])),
        record=_record(fields.take("record", list)),
        limits=LIMITS,
    )


def _said(fields: _Fields, name: str, kinds: tuple[type, ...]) -> dict[str, Any]:
    """Return what is said of names: macros, or parameters of the kernel."""
    found: dict[str, Any] = fields.take(name, dict, {})
    if len(found) > MOST_NAMES:
        raise UsageError(f"{name} has {len(found):,} names; at most {MOST_NAMES} are taken")
    for key, value in found.items():
        if not re.fullmatch(r"[A-Za-z_]\w*", _text(name, key), re.ASCII):
            raise UsageError(f"{name}: '{quoted(key)}' is no name")
        is_finite = not isinstance(value, float) or math.isfinite(value)
        if not isinstance(value, kinds) or isinstance(value, bool) or not is_finite:
            raise UsageError(f"{name}: {quoted(key)} has no value that can be given")
        if isinstance(value, str):
            _text(f"{name}: {quoted(key)}", value)
    return found


def _size(name: str, value: Any) -> Size:
    if not isinstance(value, int | str) or isinstance(value, bool):
        raise UsageError(f"{name} is no size")
    return _text(name, value) if isinstance(value, str) else value


def _extent(name: str, value: Any) -> Extent | None:
    if isinstance(value, list):
        return tuple(_size(name, one) for one in value)
    if isinstance(value, str):
        return parse_extent(_text(name, value))
    return None if value is None else _size(name, value)


def _watch(values: list[Any]) -> tuple[str, ...]:
    if len(values) > MOST_WATCHES:
        raise UsageError(f"{len(values)} expressions to watch; at most {MOST_WATCHES} are followed")
    if not all(isinstance(one, str) for one in values):
        raise UsageError("watch is no list of expressions")
    return tuple(_text("watch", one) for one in values)


def _record(blocks: list[Any] | None) -> bool | list[int]:
    if blocks is None:
        return True  # all that fit
    if not all(type(one) is int for one in blocks):
        raise UsageError("record is no list of blocks")
    return blocks


def _numbers(rows: list[Any] | None) -> list[list[float]] | None:
    if rows is None:
        return None
    if not rows or not all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows):
        raise UsageError("numbers are rows of one length")
    return [[_number(one) for one in row] for row in rows]


def _number(value: Any) -> float:
    if isinstance(value, str) and value in _WORDS:
        return _WORDS[value]
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise UsageError(f"numbers: '{quoted(str(value)[:100])}' is no number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise UsageError("numbers: one is beyond what a double holds")
    return number
