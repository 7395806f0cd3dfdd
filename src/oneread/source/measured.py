"""What the gallery did on a GPU: the records that the package carries, read.

Knows the records, no one who makes them. Standard library only.
"""

from __future__ import annotations

import array
import base64
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from oneread.source.catalogue import gallery_folder
from oneread.spec import OneReadError

Record = dict[str, Any]

#: Version of the records that is read.
SCHEMA: Final = 1


class RecordsError(OneReadError, ValueError):
    """A file that does not hold the records of a run."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How fast one entry of the gallery was at one shape."""

    entry: str
    shape: str
    """``cached``, ``memory`` or ``few-rows``."""
    rows: int
    vocab: int
    microseconds: float
    gigabytes_a_second: float
    """Each input and output counted once."""
    share_of_copy: float
    device: str
    target: str
    """What it was compiled for, such as ``sm_90``, with default maths and ``defines.bench``."""
    date: str


@dataclass(frozen=True, slots=True)
class Result:
    """What the buffers of one run held, by name: numbers row by row, as the GPU gave them."""

    entry: str
    rows: int
    vocab: int
    k: int
    inputs: dict[str, list[float]]
    outputs: dict[str, list[float]]


def measured_folder() -> Path:
    """Return where the package keeps the records of runs."""
    return gallery_folder() / "measured"


def newest(kind: str = "gallery", folder: Path | None = None) -> Path | None:
    """Return the newest file of records, or None where there is none.

    Parameters
    ----------
    kind : str
        ``gallery`` for what was measured, ``outputs`` for what the kernels gave.
    folder : Path, optional
        Where to look; the package's own records if left out.
    """
    files = sorted((folder or measured_folder()).glob(f"{kind}-*.jsonl"))
    return files[-1] if files else None


def load(path: Path) -> list[Record]:
    """Return the records of a file, the header first.

    Raises
    ------
    RecordsError
        When it holds none of this version.
    """
    try:
        records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    except ValueError as error:
        raise RecordsError(f"{path.name}: {error}") from None
    if not records or records[0].get("record") != "header" or records[0].get("schema") != SCHEMA:
        raise RecordsError(f"{path.name}: no header of schema {SCHEMA}")
    return records


def of(records: Sequence[Record], kind: str) -> list[Record]:
    """Return the records of one kind."""
    return [record for record in records if record["record"] == kind]


def rates(entry: str | None = None, folder: Path | None = None) -> list[Rate]:
    """Return how fast the gallery was on the GPU of the newest run.

    Parameters
    ----------
    entry : str, optional
        Key of one kernel or sequence; all of them if left out.
    folder : Path, optional
        Where the records lie; the package's own if left out.

    Returns
    -------
    list of Rate
        One for each entry and shape, empty where none was timed.

    Examples
    --------
    >>> from oneread.source.measured import rates
    >>> [(one.rows, one.vocab) for one in rates("online_softmax")]
    [(1024, 2048), (16384, 8192), (16, 1048576)]
    """
    path = newest(folder=folder)
    if path is None:
        return []
    header, *records = load(path)
    return [
        Rate(
            one["entry"],
            one["shape"],
            one["rows"],
            one["vocab"],
            one["median_us"],
            one["gbs"],
            one["share"],
            header["device"],
            header["target"],
            header["date"],
        )
        for one in of(records, "timing")
        if entry in {None, one["entry"]}
    ]


def results(folder: Path | None = None) -> Iterator[Result]:
    """Yield what each entry gave in the newest run, at shapes that the tracer runs too.

    Parameters
    ----------
    folder : Path, optional
        Where the records lie; the package's own if left out.
    """
    path = newest("outputs", folder)
    if path is None:
        return
    records = load(path)
    arrays = {one["number"]: _numbers(one) for one in of(records, "array")}
    for one in of(records, "outputs"):
        inputs, outputs = (
            {name: arrays[number] for name, number in one[field].items()}
            for field in ("inputs", "outputs")
        )
        yield Result(one["entry"], one["rows"], one["vocab"], one["k"], inputs, outputs)


def _numbers(record: Record) -> list[float]:
    numbers: array.array[Any] = array.array({"float32": "f", "int32": "i"}[record["type"]])
    numbers.frombytes(base64.b64decode(record["data"]))
    if sys.byteorder == "big":  # the records are little-endian
        numbers.byteswap()
    return numbers.tolist()
