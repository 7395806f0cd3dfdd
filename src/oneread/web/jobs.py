"""What a worker does with a request: run, mend, probe, export; and how it says what went wrong.

Knows the tracer; knows no server and no process.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from oneread.source.catalogue import Catalogue, KernelEntry, read_catalogue
from oneread.source.errors import Diagnostic, SourceError, quoted
from oneread.source.text import split_lines
from oneread.spec.errors import OneReadError
from oneread.trace import tracefile
from oneread.trace.case import Case
from oneread.trace.errors import LimitError, UsageError
from oneread.trace.exploring import ORDERS
from oneread.trace.fixing import fix
from oneread.trace.messages import MESSAGES
from oneread.trace.opening import ALL_ORDERS, Opened, arguments_of_each, command, refuse_unused
from oneread.trace.planning import plan
from oneread.trace.probing import probe
from oneread.trace.sources import Launched
from oneread.trace.subject import Subject
from oneread.web import export
from oneread.web.asked import Asked, Kernel, read

#: Launches of a probe in one part, besides the one that it starts from.
PART_LAUNCHES: Final = 3


class Answer(NamedTuple):
    """What is sent back."""

    status: int
    kind: str
    """``json`` or ``html``."""
    body: str


def answer(name: str, body: bytes) -> Answer:
    """Do one job.

    Parameters
    ----------
    name : str
        Which, a key of `JOBS`.
    body : bytes
        The request.

    Returns
    -------
    Answer
        What came of it; an error is an answer, too.
    """
    job = Job()
    try:
        job.open(read(body))
        return JOBS[name](job)
    except SourceError as error:
        return _refusal("source", str(error), _diagnostics(error, job.place))
    except LimitError as error:
        return _refusal("limit", str(error), _stopped(error, job))
    except OneReadError as error:
        about = f"{job.at}: " if job.at else ""
        return _refusal("usage", f"{about}{_worded(error)}")
    except MemoryError:
        return _refusal("limit", "the run needs more memory than it may have")


class Job:
    """A request at work."""

    asked: Asked

    def __init__(self) -> None:
        self.place = 0
        """The kernel that it is at, by its place in the request."""
        self.at = ""
        """The name of the one of several that is launched."""
        self.opened: list[Opened] = []
        self.cases: list[Case] = []

    def open(self, asked: Asked) -> None:
        """Find what is to be launched, and with what."""
        self.asked = asked
        for place, kernel in enumerate(asked.kernels):
            self.place = place
            one, case = open_kernel(kernel, asked.case), asked.case
            self.opened.append(one)
            self.cases.append(case if asked.numbers is None else one.with_rows(case, asked.numbers))
        refuse_unused(self.opened, asked.case)
        each = arguments_of_each(self.opened, asked.case)
        self.cases = [
            replace(case, arguments=its) for case, its in zip(self.cases, each, strict=True)
        ]

    def trace(self) -> Answer:
        """Run the kernels."""
        return Answer(200, "json", self._traced())

    def export(self) -> Answer:
        """Run the kernels and return a page with the recording."""
        keys = {kernel.key for kernel in self.asked.kernels}
        case = replace(self.cases[0], arguments=self.asked.case.arguments)
        made_by = self._of_files(command(self.opened, case))
        return Answer(200, "html", export.page(self._traced(), keys, made_by))

    def fix(self) -> Answer:
        """Mend a kernel as far as repairs are known."""
        subject, case = self._only()
        orders = ORDERS if case.schedule == ALL_ORDERS else (case.schedule,)
        fixed = fix(subject, [replace(case, schedule=order, record=False) for order in orders])
        return _json(
            {
                "text": fixed.subject.text,
                "diff": fixed.diff,
                "mended": [tracefile.describe_fault(one) for one in fixed.mended],
                "remaining": [tracefile.describe_fault(one) for one in fixed.remaining],
                "exclusions": [
                    {
                        "fault": tracefile.describe_fault(one.fault),
                        "diff": one.diff,
                        "why": one.why,
                    }
                    for one in fixed.exclusions
                ],
            }
        )

    def probe(self) -> Answer:
        """Run a part of a probe; what orders nothing is not told, since a part cannot know it."""
        subject, case = self._only()
        if case.schedule == ALL_ORDERS:
            case = replace(case, schedule="in-order")
        others = len(plan(subject, case).choices) - 1
        parts = max(1, -(-others // PART_LAUNCHES))
        if self.asked.part >= parts:
            raise UsageError(f"part {self.asked.part}; there are {parts}")
        first = self.asked.part * PART_LAUNCHES
        probed = probe(subject, case, slice(first, first + PART_LAUNCHES))
        found = [
            {
                "fault": tracefile.describe_fault(one.fault),
                "launch": _launch(one.case),
                "command": self._of_files(one.command),
            }
            for one in probed.findings
            if one.fault.severity != "note"
        ]
        said = {"part": self.asked.part, "parts": parts, "launches": probed.tried}
        return _json({**said, "stopped": len(probed.stopped), "findings": found})

    def _traced(self) -> str:
        return tracefile.record(self._launched, self.asked.case)

    def _launched(self, case: Case) -> list[Launched]:
        """Launch the kernels, which share the time that the case leaves them."""
        found: list[Launched] = []
        end = time.monotonic() + case.limits.seconds
        for place, (one, its) in enumerate(zip(self.opened, self.cases, strict=True)):
            self.place, self.at = place, one.name if len(self.opened) > 1 else ""
            left = round(max(0.0, end - time.monotonic()), 2)
            limits = replace(its.limits, seconds=left)
            launches = one.launch(replace(its, record=case.record, limits=limits))
            # The file says what was allowed, not what was left.
            found += [
                each._replace(case=replace(each.case, limits=its.limits)) for each in launches
            ]
        return found

    def _of_files(self, made_by: str) -> str:
        """Return a command line that says which files it needs: texts are on the page only."""
        names = [
            one.subject.called
            for one, kernel in zip(self.opened, self.asked.kernels, strict=True)
            if kernel.text is not None and one.subject is not None
        ]
        files = " and ".join(map(_in_one_line, names))
        return f"{made_by}  # save the source as {files}" if names else made_by

    def _only(self) -> tuple[Subject, Case]:
        if len(self.opened) != 1:
            raise UsageError(f"this is for one kernel, not {len(self.opened)}")
        return self.opened[0].kernel(), self.cases[0]


#: What can be asked for.
JOBS: Final[dict[str, Callable[[Job], Answer]]] = {
    "trace": Job.trace,
    "fix": Job.fix,
    "probe": Job.probe,
    "export": Job.export,
}


# ---- kernels


@lru_cache(maxsize=1)
def gallery() -> Catalogue:
    """Return the package's own catalogue, read once."""
    return read_catalogue()


def open_kernel(kernel: Kernel, case: Case) -> Opened:
    """Return what can be launched. The only files are those of the gallery, by its keys."""
    catalogue = gallery()
    if kernel.text is None and kernel.key in catalogue.sequences:
        return Opened(kernel.key, None)
    if not kernel.key:
        return Opened(kernel.name, _of_text(kernel))
    if kernel.key not in catalogue.kernels:
        raise UsageError(f"'{quoted(kernel.key)}' is no key of the gallery")
    entry = catalogue.kernels[kernel.key]
    subject = Subject(catalogue.path(kernel.key), kernel.kernel, entry=entry)
    if kernel.text is None:
        return Opened(kernel.key, subject)
    edited = subject.with_text(kernel.text)
    edited.called = f"{kernel.key}.cu"
    if _is_another(edited, entry, case):
        return Opened(kernel.name, _of_text(kernel))
    return Opened(kernel.key, edited)


def _of_text(kernel: Kernel) -> Subject:
    text = kernel.text or ""
    # A text of one line could be taken for the name of a file.
    subject = Subject(text if "\n" in text else f"{text}\n", kernel.kernel)
    subject.name = subject.called = kernel.name
    return subject


def _is_another(edited: Subject, entry: KernelEntry, case: Case) -> bool:
    """Say whether a text has become a kernel that the catalogue cannot launch."""
    try:
        program = edited.source(edited.complete(case)).loaded.program
    except SourceError:
        return False  # told when it is launched
    return tuple(one.name for one in program.kernel.parameters) != entry.args


def _launch(case: Case) -> dict[str, Any]:
    names = ("rows", "vocab", "k", "defines", "grid", "block", "input", "schedule")
    return {name: getattr(case, name) for name in names}


# ---- what went wrong

#: What the page calls the fields of a launch.
BOXES: Final = {"arguments": "Arguments", "block": "Block", "grid": "Grid"}


def _worded(error: OneReadError) -> str:
    """Return a message with the boxes of the page in which what would help is written."""
    return error.worded(_in_boxes) if isinstance(error, UsageError) else str(error)


def _in_boxes(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{_in_box(value)} in “{BOXES[name]}”" for name, value in settings.items())


def _in_box(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name}={one}" for name, one in value.items())
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _diagnostics(error: SourceError, place: int) -> list[dict[str, Any]]:
    parts = [part for one in error.diagnostics for part in (one, *one.notes)]
    return [_diagnostic(one, place) for one in parts]


def _diagnostic(one: Diagnostic, place: int) -> dict[str, Any]:
    at = one.position
    return {
        "line": at.line,
        "column": at.column,
        "end_column": at.column + at.length,
        "severity": one.severity,
        "message": replace(one, hint="").text(MESSAGES),
        "hint": replace(one, id=one.hint, hint="").text(MESSAGES) if one.hint else None,
        "source": place,
    }


def _stopped(error: LimitError, job: Job) -> list[dict[str, Any]]:
    """Return where a run was stopped, if that is a line of a text that the page shows."""
    subject = job.opened[job.place].subject if error.line else None
    if subject is None:
        return []
    text = split_lines(subject.text)[error.line - 1].rstrip()
    return [
        {
            "line": error.line,
            "column": len(text) - len(text.lstrip()) + 1,
            "end_column": len(text) + 1,
            "severity": "error",
            "message": str(error).removeprefix(f"line {error.line}: "),
            "hint": None,
            "source": job.place,
        }
    ]


def _refusal(kind: str, message: str, diagnostics: Sequence[dict[str, Any]] = ()) -> Answer:
    error = {"kind": kind, "message": message, "diagnostics": list(diagnostics)}
    return _json({"error": error}, 422)


def _in_one_line(name: str) -> str:
    """Return a name fit for a comment, which a line break would end."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name)


def _json(value: dict[str, Any], status: int = 200) -> Answer:
    return Answer(status, "json", json.dumps(value, separators=(",", ":"), allow_nan=False))
