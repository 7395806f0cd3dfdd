"""Result files, `.jsonl` and `.npz`: written beside their final name, then renamed.

Knows no op and prints nothing.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from oneread.files.errors import FileFormatError, printable
from oneread.files.stream import RowBlock

#: Suffixes of the files that `write_npz` and `write_jsonl` make.
SUFFIXES: Final = (".npz", ".jsonl")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file in the folder of `path` that takes its place at the end.

    On any exception, the keyboard's included, the temporary file is removed and what stood at
    `path` before stays as it was.

    Parameters
    ----------
    path : Path
        Final name; a symbolic link is followed. An existing file keeps its permissions.

    Yields
    ------
    file object
        Binary and seekable.

    Raises
    ------
    FileFormatError
        When `path` exists and is no regular file.
    OSError
        When the folder cannot be written.
    """
    target = Path(os.path.realpath(path))
    mode = _mode(target)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(target.parent))
    descriptor, name = tempfile.mkstemp(prefix=".oneread-", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _mode(target: Path) -> int:
    """Return the permissions that the file at `target` has or would be made with."""
    try:
        found = os.stat(target).st_mode
    except FileNotFoundError:
        mask = os.umask(0o077)
        os.umask(mask)
        return 0o666 & ~mask
    if not stat.S_ISREG(found):
        raise FileFormatError(f"{printable(target, 200)}: not a regular file, so not replaced")
    return stat.S_IMODE(found)


def row_objects(block: RowBlock) -> Iterator[dict[str, Any]]:
    """Yield one JSON-ready object a row: its place, and `Read`'s fields that were asked for.

    Parameters
    ----------
    block : RowBlock
        Rows with their results.

    Yields
    ------
    dict
        ``row``, for arrays of more than two axes ``index`` (its place on each of the other axes),
        and the fields. Numbers are exact (a float32 is written as the float64 of the same value);
        NaN and the infinities are the strings ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``.
    """
    fields = {name: _plain(array) for name, array in block.fields().items()}
    for i in range(block.n_rows):
        row = block.first_row + i
        place: dict[str, Any] = {"row": row}
        if len(block.lead) > 1:
            place["index"] = [int(at) for at in np.unravel_index(row, block.lead)]
        yield place | {name: values[i] for name, values in fields.items()}


def _plain(array: NDArray[Any]) -> list[Any]:
    """Return the array as nested lists that standard JSON can hold."""
    values: list[Any] = array.tolist()
    if array.dtype.kind != "f" or bool(np.isfinite(array).all()):
        return values
    return [_named(value) for value in values]


def _named(value: Any) -> Any:
    if isinstance(value, list):
        return [_named(item) for item in value]
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def json_line(row: dict[str, Any]) -> str:
    """Return one row's object as a line of standard JSON."""
    return json.dumps(row, allow_nan=False) + "\n"


def write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    """Write one object a line and return how many."""
    n_rows = 0
    with replacing(path) as file:
        for row in rows:
            file.write(json_line(row).encode())
            n_rows += 1
    return n_rows


def write_npz(path: Path, blocks: Iterable[RowBlock]) -> int:
    """Write `Read`'s fields as arrays of a `.npz` file and return how many rows they have.

    Each array has the shape of the rows, with k or s as last axis; for two axes that is the shape
    that `oneread.read` gives. The rows pass through temporary files, so that memory stays bounded.
    """
    folder = Path(os.path.realpath(path)).parent
    n_rows = 0
    lead: tuple[int, ...] = ()
    kinds: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(replacing(path))
        spools: dict[str, IO[bytes]] = {}
        for block in blocks:
            lead = block.lead
            n_rows += block.n_rows
            for name, array in block.fields().items():
                if name not in spools:
                    spools[name] = stack.enter_context(tempfile.TemporaryFile(dir=folder))
                    kinds[name] = (array.dtype, array.shape[1:])
                spools[name].write(np.ascontiguousarray(array).data)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, spool in spools.items():
                dtype, tail = kinds[name]
                _add_array(archive, name, spool, dtype, lead + tail)
    return n_rows


def _add_array(
    archive: zipfile.ZipFile,
    name: str,
    data: IO[bytes],
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
) -> None:
    """Add one `.npy` member whose data stand in a file."""
    header = {
        "descr": np.lib.format.dtype_to_descr(dtype),
        "fortran_order": False,
        "shape": shape,
    }
    # A fixed date, so that the same input gives the same bytes.
    member = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
    data.seek(0)
    with archive.open(member, "w", force_zip64=True) as out:
        np.lib.format.write_array_header_1_0(out, header)
        shutil.copyfileobj(data, out, 1 << 20)
