"""The file of a run that can be taken up again: it grows by each piece of work that is done.

Knows no op and no clock. `store.load` reads it at any time, also after a crash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from oneread.bench.store import SCHEMA, Record, Run, load
from oneread.spec import OneReadError

#: Facts of a header that may differ between the parts of one run.
_VARYING: Final = ("date", "command", "machine.load_average")


class OtherRunError(OneReadError, ValueError):
    """A file that holds another run than the one to be taken up."""


class Journal:
    """What a run has done so far, on disk.

    Parameters
    ----------
    path : Path
        The file; taken up where it is there, else made with its folder.
    header : dict
        Facts of the run.
    beside : sequence of Path
        Files of earlier runs on such a machine, whose pieces of work are not to be done again.

    Raises
    ------
    OtherRunError
        When the file is of another machine, of other libraries or of another kind of run, or one
        beside it of another machine or kind.
    """

    def __init__(self, path: Path, header: Mapping[str, Any], beside: Sequence[Path] = ()) -> None:
        self.path = path
        self._done: set[str] = set()
        for other in beside:
            run = load(other)
            _check_same(other, run.header, header, _of_machine(header))
            self._done |= _keys(run)
        self.complete = False
        if path.exists():
            _mend(path)
            run = load(path)
            _check_same(path, run.header, header)
            self.complete = run.complete
            self._done |= _keys(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = not path.exists()
        self._file = path.open("a", encoding="utf-8")
        if new:
            self._write([{"record": "header", "schema": SCHEMA, **header}])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def __contains__(self, key: str) -> bool:
        return key in self._done

    def add_case(self, records: Sequence[Record]) -> None:
        """Keep the records of a case; they are in the file when this returns."""
        self._write([{"record": "result", **record.as_json()} for record in records])
        self._done |= {record.case for record in records}

    def add_fact(self, fact: Mapping[str, Any]) -> None:
        """Keep a fact by its key."""
        self._write([{"record": "fact", **fact}])
        self._done.add(fact["key"])

    def end(self) -> None:
        """Say that nothing is left to do."""
        if not self.complete:
            self._write([{"record": "end", "complete": True}])
            self.complete = True

    def _write(self, lines: Sequence[Mapping[str, Any]]) -> None:
        self._file.write("".join(json.dumps(line, allow_nan=False) + "\n" for line in lines))
        self._file.flush()


def _mend(path: Path) -> None:
    """Take off a piece of work whose writing was cut short: of a case, all of its records."""
    text = path.read_text("utf-8")
    if text.endswith("\n") or "\n" not in text:
        return
    *kept, rest = text.splitlines(keepends=True)
    start = json.dumps({"record": "result", "case": json.loads(kept[-1]).get("case")})[:-1]
    if rest.startswith(start) or start.startswith(rest):  # or too little is left to tell
        kept = [line for line in kept if not line.startswith(start)]
    path.write_text("".join(kept), "utf-8")


def _keys(run: Run) -> set[str]:
    """Return the keys of the pieces of work that a run has."""
    return {record.case for record in run.records} | {fact["key"] for fact in run.facts}


def _of_machine(header: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the facts by which runs are of one machine, and of one kind."""
    processor = "gpu" if "gpu" in header.get("machine", {}) else "cpu"
    return "kind", "device", "quick", "threads", f"machine.{processor}", "machine.isa"


def _check_same(
    path: Path, before: Mapping[str, Any], now: Mapping[str, Any], names: Sequence[str] = ()
) -> None:
    """Raise when two headers differ in what they are asked for, else in what may not vary."""
    first, second = _flat(before), _flat({**now, "schema": SCHEMA})
    for name in names or dict.fromkeys((*first, *second)):
        if name not in _VARYING and first.get(name) != second.get(name):
            raise OtherRunError(
                f"{path} is of another run: its {name} is {first.get(name)}, now it is "
                f"{second.get(name)}; name another folder, or begin anew with --again"
            )


def _flat(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a header by their dotted names, as JSON has them."""
    found: dict[str, Any] = {}
    for name, value in json.loads(json.dumps(header)).items():
        if isinstance(value, dict):
            found |= {f"{name}.{inner}": one for inner, one in _flat(value).items()}
        else:
            found[name] = value
    return found
