"""What a name stands for: a file, a kernel of the gallery, or a sequence of them; and its launches.

Knows how each is launched; prints nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from oneread.source.catalogue import read_catalogue
from oneread.source.errors import SourceError
from oneread.trace.case import Case
from oneread.trace.errors import UsageError
from oneread.trace.exploring import explore
from oneread.trace.faults import order
from oneread.trace.front.program import Loaded
from oneread.trace.front.report import guess
from oneread.trace.gallery import launch_sequence
from oneread.trace.sources import SUFFIXES, Launched, unused_macro
from oneread.trace.subject import Subject, command_line
from oneread.trace.types import Pointer, Scalar

#: The schedule that stands for several, whose outputs are compared.
ALL_ORDERS = "all"


@dataclass(frozen=True)
class Opened:
    """What can be launched under a name."""

    name: str
    subject: Subject | None
    """None for a sequence of the gallery."""

    def launch(self, case: Case) -> list[Launched]:
        """Launch it, a sequence in order; with schedule ``all`` in several orders."""
        if self.subject is None:
            if case.schedule == ALL_ORDERS:
                raise UsageError(f"{self.name} is a sequence: name one schedule")
            return launch_sequence(self.name, case)
        full = self.subject.complete(case)
        source = self.subject.source(full)
        if case.schedule != ALL_ORDERS:
            return [Launched(self.name, source, full, source.launch(full))]
        first = replace(full, schedule="in-order")
        run = source.launch(first)
        fault = explore(source.launch, first).fault
        if fault is not None:
            run.faults.append(fault)
            run.faults.sort(key=order)
        return [Launched(self.name, source, first, run)]

    def kernel(self) -> Subject:
        """Return the kernel that it is.

        Raises
        ------
        UsageError
            When it is a sequence.
        """
        if self.subject is None:
            raise UsageError(f"{self.name} is a sequence: name one of its kernels")
        return self.subject

    def texts(self, case: Case) -> list[Loaded]:
        """Return what was read of each text of it."""
        subjects = [self.subject] if self.subject is not None else _kernels(self.name)
        return [one.source(one.complete(case)).loaded for one in subjects]

    def with_rows(self, case: Case, rows: Sequence[Sequence[float]]) -> Case:
        """Return the launch with these rows as the kernel's input.

        Raises
        ------
        UsageError
            When it does not have one input.
        """
        case = replace(case, rows=len(rows), vocab=len(rows[0]) if rows else 0)
        subject = self.kernel()
        parameters = subject.source(subject.complete(case)).loaded.program.kernel.parameters
        names = [
            one.name
            for one in parameters
            if isinstance(one.type, Pointer)
            and one.type.const
            and isinstance(one.type.target, Scalar)
            and one.type.target.kind == "float"
        ]
        if len(names) != 1:
            raise UsageError(
                f"{self.name} has {len(names)} const pointers to floats; numbers are for one"
            )
        return replace(case, data={names[0]: [value for row in rows for value in row]})


def is_file(name: str) -> bool:
    """Say whether a name stands for a file rather than a key of the gallery."""
    return name.endswith(SUFFIXES) or os.sep in name or os.path.isfile(name)


def open_kernel(
    name: str | os.PathLike[str], kernel: str | None = None, folders: Iterable[Path] = ()
) -> Opened:
    """Find what a name stands for.

    Parameters
    ----------
    name : str or path
        A file, or a key of the gallery.
    kernel : str, optional
        Which kernel of the file.
    folders : iterable of Path
        Where ``#include "file"`` is looked for.

    Returns
    -------
    Opened
        What can be launched.

    Raises
    ------
    UsageError
        When there is nothing of that name, or a kernel or folders are named for a key.
    """
    text, folders = os.fspath(name), tuple(folders)
    if is_file(text):
        return Opened(text, Subject(Path(text), kernel, folders))
    catalogue = read_catalogue()
    if (kernel or folders) and text in {*catalogue.sequences, *catalogue.kernels}:
        raise UsageError(f"{text} is a key of the gallery: a kernel and folders are for files")
    if text in catalogue.sequences:
        return Opened(text, None)
    if text in catalogue.kernels:
        return Opened(text, Subject.of_gallery(text))
    close = guess(text, [*catalogue.kernels, *catalogue.sequences])
    hint = f"; did you mean {close}?" if close else "; `oneread trace --list` shows the keys"
    raise UsageError(f"{text!r} is no file and no key of the gallery{hint}")


def refuse_unused(opened: Sequence[Opened], case: Case) -> None:
    """Refuse a macro that none of the texts names: it would change nothing, without a word.

    A text that cannot be read is not judged; that is told where it is launched.

    Raises
    ------
    UsageError
        When there is one; the message has a near name that a text does use.
    """
    if not case.defines:
        return
    with suppress(SourceError):
        texts = [text for one in opened for text in one.texts(case)]
        for macro in case.defines:
            near = [text.unused[macro] for text in texts if macro in text.unused]
            if len(near) == len(texts):
                names = [one.name for one in opened]
                raise unused_macro(names, macro, next(filter(None, near), ""))


def arguments_of_each(
    opened: Sequence[Opened], case: Case
) -> list[Mapping[str, str | int | float]]:
    """Return what each of several kernels is given: the arguments that are parameters of its own.

    One that is a parameter of none is left to all, and they refuse it.
    """
    if len(opened) == 1:
        return [case.arguments]
    theirs = [_parameters(one, case) for one in opened]
    known = frozenset[str]().union(*theirs)
    return [
        {name: said for name, said in case.arguments.items() if name in own or name not in known}
        for own in theirs
    ]


def _parameters(one: Opened, case: Case) -> set[str]:
    with suppress(SourceError):  # which is told where it is launched
        return {
            parameter.name
            for text in one.texts(case)
            for parameter in text.program.kernel.parameters
        }
    return set(case.arguments)


def _kernels(sequence: str) -> list[Subject]:
    launches = read_catalogue().sequences[sequence].launches
    return [Subject.of_gallery(kernel) for kernel in {one.kernel for one in launches}]


def command(opened: Sequence[Opened], case: Case) -> str:
    """Return the command line that makes the launches of some names."""
    if len(opened) == 1 and opened[0].subject is not None:
        return opened[0].subject.command(case)
    subjects = [one.subject for one in opened if one.subject is not None]
    names = [one.name if one.subject is None else one.subject.called for one in opened]
    kernel = next((one.kernel for one in subjects if one.kernel), None)
    folders = dict.fromkeys(folder for one in subjects for folder in one.folders)
    return command_line(names, case, kernel, folders)
