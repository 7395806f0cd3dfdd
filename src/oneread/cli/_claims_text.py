"""The verdicts on the paper's claims as lines for a terminal."""

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneread.cli._console import Steps, say, styled

if TYPE_CHECKING:
    from oneread.report.paper.tables import Line

_STYLES = {"holds": "green", "fails": "red"}
_WIDTH = 100


def show(machines: Sequence[Any]) -> None:
    """Print what each claim came to, machine by machine."""
    from oneread.report.paper import tables

    for sentence in tables.answers(machines):
        say(textwrap.fill(sentence, _WIDTH, subsequent_indent="  "))
    for machine in tables.judged(machines):
        say()
        say(styled(machine.name, "bold"))
        for text in _lines(tables.timed(machines), machine.short):
            say(text)
        say(f"DRAM bytes by hardware counters: {tables.dram_remark(machine)}")
        for line in tables.dram_table(machine)[1:]:
            say(f"  {line[0]} {line[1]}: read {line[3]}, written {line[4]} of the input")
    say()
    say(styled("Claims that need no clock", "bold"))
    for text in _lines(tables.counted(machines), tables.EVERYWHERE):
        say(text)


def _lines(lines: "Sequence[Line]", place: str) -> Iterator[str]:
    for line in lines:
        finding = line.found[place]
        verdict = styled(f"{finding.verdict:<18}", _STYLES.get(finding.verdict, "dim"))
        yield f"{verdict}{line.said}: {line.figure} in the paper, here {finding.measured}"


def write(machines: Sequence[Any], folder: Path, command: str) -> Path:
    """Write the report with a bar for its parts, and return its page."""
    from oneread.report.paper import build

    bar = Steps(build.parts())
    try:
        for part in build.build(machines, folder, command):
            bar.add(f"drawing {part}")
    finally:
        bar.clear()
    return folder / build.PAGE
