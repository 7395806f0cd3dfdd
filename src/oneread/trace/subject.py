"""A kernel that is launched again and again, under many macros: each set of them is read once.

Knows sources and the catalogue; knows no fault.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from oneread.source.catalogue import KernelEntry, read_catalogue
from oneread.trace.case import Case, Extent
from oneread.trace.gallery import case_of, entry_of
from oneread.trace.limits import Limits
from oneread.trace.running import Run
from oneread.trace.sources import Source, beside, read_source


class Subject:
    """A kernel, and how it is called on the command line.

    Parameters
    ----------
    source : str or Path
        A text, or the name of a file that holds it.
    kernel : str, optional
        Name of the kernel; may be left out where there is one.
    folders : iterable of Path
        Where ``#include "file"`` is looked for.
    entry : KernelEntry, optional
        What the catalogue says, if it is a kernel of the gallery.
    """

    def __init__(
        self,
        source: str | Path,
        kernel: str | None = None,
        folders: Iterable[Path] = (),
        entry: KernelEntry | None = None,
    ) -> None:
        self.name, self.text = read_source(source)
        self.called = entry.key if entry else str(source) if self.name != "<text>" else "FILE"
        self.kernel, self.folders, self.entry = kernel, tuple(folders), entry
        self._beside = beside(source)
        self._sources: dict[tuple[tuple[tuple[str, str], ...], Limits], Source] = {}

    @classmethod
    def of_gallery(cls, key: str) -> Subject:
        """Return a kernel of the gallery by its key."""
        catalogue = read_catalogue()
        return cls(catalogue.path(key), entry=entry_of(catalogue, key))

    def with_text(self, text: str) -> Subject:
        """Return the same kernel with another text."""
        other = Subject(f"{text}\n" if "\n" not in text else text, self.kernel, self.folders)
        other.name, other.called, other.entry = self.name, self.called, self.entry
        other._beside = self._beside
        return other

    def complete(self, case: Case) -> Case:
        """Return the launch with what the catalogue says of it."""
        return case if self.entry is None else case_of(self.entry, case)

    def source(self, case: Case) -> Source:
        """Return the text as it is read with the macros of a launch."""
        # A text is the same however long it may run: several runs that share a time read it once.
        key = tuple(sorted(case.defines.items())), replace(case.limits, seconds=0.0)
        if key not in self._sources:
            folders = (*self._beside, *self.folders)
            self._sources[key] = Source(
                self.text, self.kernel, case.defines, folders, self.name, case.limits
            )
        return self._sources[key]

    def launch(self, case: Case) -> Run:
        """Run the kernel once."""
        case = self.complete(case)
        return self.source(case).launch(case)

    def command(self, case: Case) -> str:
        """Return the command line that makes a launch; of limits it says those that were raised.

        For a text that stands in for a kernel of the gallery it says what the catalogue does.
        """
        case = case if self.entry is None or self.called == self.entry.key else self.complete(case)
        return command_line([self.called], case, self.kernel, self.folders)


def command_line(
    names: Iterable[str], case: Case, kernel: str | None = None, folders: Iterable[Path] = ()
) -> str:
    """Return the command line that makes the launch of some kernels; FILE holds given numbers."""
    plain = Case()
    words = ["oneread", "trace", *names]
    words += ["--kernel", kernel] if kernel else []
    for folder in folders:
        words += ["-I", str(folder)]
    given = ("rows", "vocab") if case.data else ()
    usual = ("rows", "vocab", "k", "grid", "block", "shared_bytes", "input", "schedule")
    words += options(
        {
            name: getattr(case, name)
            for name in usual
            if getattr(case, name) != getattr(plain, name) and name not in given
        }
    )
    words += ["--input", case.file or "FILE"] if case.data else []
    words += options({"defines": case.defines, "arguments": case.arguments})
    words += options({"truth": case.truth or "none"} if case.truth is not None else {})
    for expression in case.watch:
        words += ["--watch", expression]
    for name, value in asdict(case.limits).items():
        if value > getattr(plain.limits, name):
            words += ["--limit", f"{name}={value}"]
    return shlex.join(words)


def options(settings: Mapping[str, Any]) -> list[str]:
    """Return fields of a launch as the command line has them."""
    words: list[str] = []
    for name, value in settings.items():
        option = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
        if isinstance(value, Mapping):
            words += [word for one in value.items() for word in (option, "{}={}".format(*one))]
        else:
            words += [option, _extent(value)]
    return words


#: What fields are called there that have another name.
_OPTIONS: Final = {"defines": "--define", "arguments": "--arg"}


def _extent(value: Extent) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
