"""The catalogue of the gallery: `gallery.toml` as values, each checked when it is read.

Sizes stay expressions until someone gives rows, vocab, k and the defines. Knows what a kernel is
launched with; knows no one who launches it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from oneread.source.arithmetic import integer
from oneread.source.errors import quoted
from oneread.spec import OneReadError

#: Version of the format that is read.
SCHEMA: Final = 1

ROLES: Final = ("input", "output", "between")
_SCALARS: Final = ("rows", "vocab", "k")


class CatalogueError(OneReadError, ValueError):
    """A catalogue that does not say what it should."""


@dataclass(frozen=True, slots=True)
class BufferSpec:
    """A buffer of a kernel: `shape` is expressions, `role` input, output or between."""

    name: str
    role: str
    shape: tuple[str, ...]
    type: str = "float32"


@dataclass(frozen=True, slots=True)
class ExpectedFault:
    """A fault that a kernel is known for, and the smallest launch that shows it."""

    id: str
    rows: int | None = None
    vocab: int | None = None
    block: int | None = None
    input: str = ""
    defines: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers of one launch."""

    grid: int
    block: int
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """A kernel of the gallery.

    ``loads`` and ``stores`` are for each element of a buffer, ``exps`` for a row, ``barriers`` for
    a block, None where its threads do not agree; like ``grid``, ``block`` and ``shared_bytes``
    they are expressions. ``breaks`` names the clauses of the contract that a faulty kernel breaks,
    ``mended`` the kernel without them.
    """

    key: str
    title: str
    source: str
    args: tuple[str, ...]
    buffers: tuple[BufferSpec, ...]
    truth: Mapping[str, str]
    grid: str
    block: str
    shared_bytes: str
    passes: int
    loads: Mapping[str, str]
    stores: Mapping[str, str]
    exps: str
    barriers: str | None
    trace_defines: Mapping[str, int]
    bench_defines: Mapping[str, int]
    limits: Mapping[str, str]
    breaks: tuple[str, ...]
    mended: str
    faults: tuple[ExpectedFault, ...]

    def sizes(self, names: Mapping[str, int]) -> Sizes:
        """Return the launch for given rows, vocab, k and defines."""
        return Sizes(*(integer(text, names) for text in (self.grid, self.block, self.shared_bytes)))


@dataclass(frozen=True, slots=True)
class SequenceLaunch:
    """One kernel of a sequence; `buffers` leads from its names to those of the sequence."""

    kernel: str
    buffers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SequenceEntry:
    """Kernels that are launched one after another and share buffers."""

    key: str
    title: str
    source: str
    buffers: tuple[BufferSpec, ...]
    truth: Mapping[str, str]
    launches: tuple[SequenceLaunch, ...]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All entries of the gallery by their keys."""

    folder: Path
    kernels: Mapping[str, KernelEntry]
    sequences: Mapping[str, SequenceEntry]

    def path(self, kernel: str) -> Path:
        """Return the file of a kernel."""
        return self.folder / f"{kernel}.cu"


def gallery_folder() -> Path:
    """Return where the package keeps its gallery."""
    return Path(__file__).resolve().parents[1] / "kernels" / "gallery"


def read_catalogue(folder: Path | None = None) -> Catalogue:
    """Read the catalogue of a gallery.

    Parameters
    ----------
    folder : Path, optional
        Where `gallery.toml` lies; the package's own gallery if left out.

    Returns
    -------
    Catalogue
        Its entries.

    Raises
    ------
    CatalogueError
        When the file is not what it should be; the message names the entry and the field.
    OSError
        When there is none.
    """
    folder = folder or gallery_folder()
    try:
        table = tomllib.loads((folder / "gallery.toml").read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CatalogueError(f"gallery.toml: {error}") from None
    if table.get("schema") != SCHEMA:
        raise CatalogueError(f"gallery.toml: schema {table.get('schema')!r} is not {SCHEMA}")
    kernels = {key: _kernel(_Table(key, value)) for key, value in _tables(table, "kernels")}
    sequences = {
        key: _sequence(_Table(key, value), kernels) for key, value in _tables(table, "sequences")
    }
    for entry in kernels.values():
        if entry.mended and entry.mended not in kernels:
            raise CatalogueError(f"{entry.key}: mended names no kernel: {quoted(entry.mended)}")
    return Catalogue(folder, kernels, sequences)


def _tables(table: Mapping[str, Any], name: str) -> list[tuple[str, Any]]:
    found = table.get(name, {})
    if not isinstance(found, dict):
        raise CatalogueError(f"gallery.toml: {name} is no table")
    return list(found.items())


class _Table:
    """A table of the file whose fields are taken with their type, each once."""

    def __init__(self, key: str, table: Any) -> None:
        if not isinstance(table, dict):
            raise CatalogueError(f"{key}: no table")
        self.key = key
        self.table = dict(table)

    def wrong(self, field: str, why: str) -> CatalogueError:
        return CatalogueError(f"{self.key}: {field} {why}")

    def take(self, field: str, kind: type, default: Any = None) -> Any:
        value = self.table.pop(field, default)
        if value is None:
            raise self.wrong(field, "is missing")
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.wrong(field, f"is no {kind.__name__}")
        return value

    def words(self, field: str, default: Any = None) -> tuple[str, ...]:
        found = self.take(field, list, default)
        if not all(isinstance(one, str) for one in found):
            raise self.wrong(field, "is no list of words")
        return tuple(found)

    def mapping(self, field: str, kind: type, default: Any = None) -> dict[str, Any]:
        found = self.take(field, dict, default)
        if not all(isinstance(one, kind) for one in found.values()):
            raise self.wrong(field, f"is no table of {kind.__name__}")
        return dict(found)

    def optional(self, field: str) -> int | None:
        return self.take(field, int) if field in self.table else None

    def done(self) -> None:
        """Refuse fields that nobody took: a misspelt one would be lost."""
        if self.table:
            raise self.wrong(quoted(min(self.table)), "is not known")


def _kernel(table: _Table) -> KernelEntry:
    defines = _Table(f"{table.key}: defines", table.take("defines", dict))
    entry = KernelEntry(
        key=table.key,
        title=table.take("title", str),
        source=table.take("source", str),
        args=table.words("args"),
        buffers=_buffers(table),
        truth=table.mapping("truth", str),
        grid=table.take("grid", str),
        block=table.take("block", str),
        shared_bytes=table.take("shared_bytes", str),
        passes=table.take("passes", int),
        loads=table.mapping("loads", str),
        stores=table.mapping("stores", str),
        exps=table.take("exps", str),
        barriers=table.take("barriers", str) if "barriers" in table.table else None,
        trace_defines=defines.mapping("trace", int),
        bench_defines=defines.mapping("bench", int),
        limits=table.mapping("limits", str, {}),
        breaks=table.words("breaks", []),
        mended=table.take("mended", str, ""),
        faults=tuple(_fault(table.key, one) for one in table.take("faults", list)),
    )
    defines.done()
    table.done()
    _check(entry)
    return entry


def _check(entry: KernelEntry) -> None:
    """Raise unless names and expressions of an entry hang together."""
    buffers = {buffer.name for buffer in entry.buffers}
    for name in entry.args:
        if name not in buffers and name not in _SCALARS:
            raise CatalogueError(f"{entry.key}: argument {quoted(name)} is no buffer and no size")
    for field in (entry.loads, entry.stores, entry.truth):
        for name in field.keys() - buffers:
            raise CatalogueError(f"{entry.key}: {quoted(name)} is no buffer of it")
    # Any sizes will do to see that each expression can be read.
    names = {"rows": 4, "vocab": 64, "k": 2, **entry.trace_defines}
    texts = [entry.grid, entry.block, entry.shared_bytes, entry.exps, entry.barriers or "0"]
    texts += [*entry.loads.values(), *entry.stores.values(), *entry.limits.values()]
    texts += [side for buffer in entry.buffers for side in buffer.shape]
    for text in texts:
        try:
            integer(text, names)
        except OneReadError as error:
            raise CatalogueError(f"{entry.key}: {error}") from None


def _buffers(table: _Table) -> tuple[BufferSpec, ...]:
    found = []
    for one in table.take("buffers", list):
        buffer = _Table(f"{table.key}: buffers", one)
        name, role = buffer.take("name", str), buffer.take("role", str)
        if role not in ROLES:
            raise buffer.wrong("role", f"of {quoted(name)} is none of {', '.join(ROLES)}")
        kind = buffer.take("type", str, "float32")
        found.append(BufferSpec(name, role, buffer.words("shape"), kind))
        buffer.done()
    return tuple(found)


def _fault(key: str, value: Any) -> ExpectedFault:
    table = _Table(f"{key}: faults", value)
    fault = ExpectedFault(
        id=table.take("id", str),
        rows=table.optional("rows"),
        vocab=table.optional("vocab"),
        block=table.optional("block"),
        input=table.take("input", str, ""),
        defines=table.mapping("defines", int, {}),
    )
    table.done()
    return fault


def _sequence(table: _Table, kernels: Mapping[str, KernelEntry]) -> SequenceEntry:
    buffers = _buffers(table)
    names = {buffer.name for buffer in buffers}
    launches = []
    for one in table.take("launches", list):
        launch = _Table(f"{table.key}: launches", one)
        kernel = launch.take("kernel", str)
        bound = launch.mapping("buffers", str)
        launch.done()
        if kernel not in kernels:
            raise launch.wrong("kernel", f"is not in the catalogue: {quoted(kernel)}")
        if bound.keys() != {buffer.name for buffer in kernels[kernel].buffers}:
            raise launch.wrong("buffers", f"are not those of {quoted(kernel)}")
        if not set(bound.values()) <= names:
            raise launch.wrong("buffers", "name one that the sequence lacks")
        launches.append(SequenceLaunch(kernel, bound))
    entry = SequenceEntry(
        table.key,
        table.take("title", str),
        table.take("source", str),
        buffers,
        table.mapping("truth", str),
        tuple(launches),
    )
    table.done()
    return entry
