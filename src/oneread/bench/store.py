"""The records of a run: one JSON object a line, written as they come.

Knows no clock and no library. A file holds a header, one record for each contestant of each case,
facts that are no times, and a last line that says whether the run was complete.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from oneread.spec import OneReadError

#: Changes when a reader of older files would misread newer ones.
SCHEMA: Final = 1

OK: Final = "ok"
WRONG: Final = "wrong"
ABSENT: Final = "absent"
NOT_YET: Final = "not yet"


class ResultFileError(OneReadError, ValueError):
    """A file that does not hold the records of a run."""


@dataclass(frozen=True, slots=True)
class Record:
    """One contestant in one case.

    `status` is ``ok``; ``wrong`` (the result is not the truth, nothing was timed), ``absent`` (it
    could not take part) or ``not yet`` (of ours: not on this device), with the `reason`. Times are
    seconds a call. `bytes` is what must be read and written at least, `rates` what was measured for
    plain traffic of that size in 1e9 bytes a second, `share` the part of the best fitting rate that
    the contestant reached. `sets` of the arrays took turns.
    """

    case: str
    contestant: str
    group: str
    op: str
    shape: tuple[int, ...]
    rows: int
    vocab: int
    axis: int
    dtype: str
    k: int | None
    order: str
    memory: str
    arrays: str
    environment: dict[str, str]
    isa: str
    library: str
    version: str | None
    status: str
    reason: str | None = None
    threads: int | None = None
    kernel: dict[str, Any] | None = None
    cache: str | None = None
    n: int = 0
    dropped: int = 0
    median_s: float | None = None
    p25_s: float | None = None
    p75_s: float | None = None
    bytes: int = 0
    rates: dict[str, float] = field(default_factory=dict)
    share: float | None = None
    checked_rows: int = 0
    ulp: dict[str, float] = field(default_factory=dict)
    max_ulp: float | None = None
    device: str = "cpu"
    timed: str = "call"
    sets: int = 1

    def as_json(self) -> dict[str, Any]:
        """Return what stands in the file: an infinite error, which JSON has not, as a string."""
        plain = dataclasses.asdict(self)
        plain["ulp"] = {name: _finite(value) for name, value in self.ulp.items()}
        plain["max_ulp"] = _finite(self.max_ulp)
        return plain

    @classmethod
    def of_json(cls, plain: dict[str, Any]) -> Record:
        """Return the record of a line; TypeError when it is none."""
        plain = dict(plain)
        plain["shape"] = tuple(plain["shape"])
        plain["ulp"] = {name: float(value) for name, value in plain["ulp"].items()}
        if plain["max_ulp"] is not None:
            plain["max_ulp"] = float(plain["max_ulp"])
        return cls(**plain)


def _finite(value: float | None) -> float | str | None:
    return "Infinity" if value is not None and math.isinf(value) else value


@dataclass(frozen=True, slots=True)
class Run:
    """What a file holds."""

    header: dict[str, Any]
    records: list[Record]
    complete: bool
    facts: list[dict[str, Any]] = field(default_factory=list)
    """What else was found out, each with a `key` of its own."""

    def by_case(self) -> dict[str, list[Record]]:
        """Return the records of each case, in the order of the run."""
        found: dict[str, list[Record]] = {}
        for record in self.records:
            found.setdefault(record.case, []).append(record)
        return found


class Writer:
    """Write a run line by line under a temporary name, and rename it at the end.

    What was written before an error or Ctrl-C is kept, under the final name; a run without a
    single record leaves no file.

    Parameters
    ----------
    path : Path
        The final name; its folder is made where it is missing.
    header : dict
        Facts of the run.
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, self._temporary = tempfile.mkstemp(
            prefix=f".{path.name}.", suffix=".part", dir=path.parent
        )
        self._file = os.fdopen(handle, "w", encoding="utf-8")
        self._count = 0
        self._line({"record": "header", "schema": SCHEMA, **header})

    def __enter__(self) -> Self:
        return self

    def add(self, record: Record) -> None:
        """Write a record; it is in the file when this returns."""
        self._line({"record": "result", **record.as_json()})
        self._count += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._line({"record": "end", "complete": kind is None})
            self._file.close()
            if self._count:
                os.chmod(self._temporary, 0o644)
                os.replace(self._temporary, self.path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._temporary)

    def _line(self, content: dict[str, Any]) -> None:
        self._file.write(json.dumps(content, allow_nan=False) + "\n")
        self._file.flush()


def load(path: Path) -> Run:
    """Read the file of a run.

    Parameters
    ----------
    path : Path
        Its name.

    Returns
    -------
    Run
        Its header and records. A last line that was cut short is left out: such a run is not
        complete.

    Raises
    ------
    ResultFileError
        When it is not such a file, or of another schema.
    OSError
        When it cannot be read.
    """
    header: dict[str, Any] | None = None
    records, facts, complete = [], [], False
    for number, line in enumerate(_lines(path), 1):
        try:
            content = json.loads(line)
            kind = content.pop("record")
            if header is None and (kind != "header" or content["schema"] != SCHEMA):
                raise ResultFileError(f"{path}: schema {content.get('schema')}, not {SCHEMA}")
            if kind == "header":
                header = content
            elif kind == "result":
                records.append(Record.of_json(content))
            elif kind == "fact":
                facts.append(content)
            else:
                complete = bool(content["complete"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if isinstance(error, ResultFileError):
                raise
            if header is not None and _cut_short(line, error):
                break
            raise ResultFileError(f"{path}: line {number} is not one of a run") from None
    if header is None:
        raise ResultFileError(f"{path}: an empty file")
    return Run(header, records, complete, facts)


def merge(runs: Sequence[Run], base: str) -> Run:
    """Return one run of several: medians of ratios, since a machine drifts between runs.

    Of the contestant `base` it has the record in the middle. The time of another is that one's,
    times the median over the runs of their ratio; shares are medians of shares.

    Parameters
    ----------
    runs : sequence of Run
        At least one; all of one machine.
    base : str
        The contestant that ratios are taken to.

    Returns
    -------
    Run
        The header of the first. Of an even number the larger of the two in the middle.
    """
    found: dict[tuple[str, str], list[Record]] = {}
    for run in runs:
        for record in run.records:
            found.setdefault((record.case, record.contestant), []).append(record)
    merged = []
    for (case, contestant), records in found.items():
        one = _middle(records, key=lambda record: record.median_s or math.inf)
        share = _middle([record.share for record in records if record.share is not None])
        one = dataclasses.replace(one, share=share)
        bases = found.get((case, base), [])
        if contestant != base and len(bases) == len(records):
            pairs = [(a.median_s, b.median_s) for a, b in zip(records, bases, strict=True)]
            ratio = _middle([a / b for a, b in pairs if a and b])
            unit = _middle([b for _, b in pairs if b])
            if ratio is not None and unit is not None:
                one = dataclasses.replace(one, median_s=ratio * unit)
        merged.append(one)
    facts = [fact for run in runs for fact in run.facts]
    return Run(runs[0].header, merged, all(run.complete for run in runs), facts)


def _middle(values: Sequence[Any], key: Callable[[Any], float] | None = None) -> Any:
    """Return the value in the middle, None of none."""
    return sorted(values, key=key)[len(values) // 2] if values else None


def _cut_short(line: str, error: Exception) -> bool:
    return isinstance(error, json.JSONDecodeError) and not line.endswith("\n")


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as lines:
            yield from lines
    except UnicodeDecodeError:
        raise ResultFileError(f"{path}: not text") from None
