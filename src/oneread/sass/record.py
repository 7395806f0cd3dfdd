"""A kernel's analysis as a record: plain values for JSON, with a version of its layout.

Reports and pages are made from records and know nothing else. Draws no conclusions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Final

from oneread.sass.analysis import Analysis
from oneread.sass.decode.instruction import Instruction, Register, SourceLine
from oneread.sass.decode.opcodes import pipe
from oneread.sass.facts.initials import Initial
from oneread.sass.facts.loops import Work
from oneread.sass.facts.memory import traffic
from oneread.sass.flow.graph import Loop
from oneread.sass.read.opening import Code
from oneread.sass.story.statements import Section
from oneread.sass.story.telling import tell
from oneread.sass.story.words import catalogue, citation, sentence

#: Version of the layout. A field that is added does not change it.
SCHEMA: Final = 1


def describe(code: Code, analysis: Analysis, language: str = "en") -> dict[str, Any]:
    """Return all that is known of a kernel as plain values.

    Parameters
    ----------
    code : Code
        Where it comes from.
    analysis : Analysis
        The facts about it.
    language : str
        Of the story: ``en`` or ``ko``.

    Returns
    -------
    dict
        Instructions by address everywhere; loops by number.
    """
    program = analysis.program
    return {
        "schema": SCHEMA,
        "name": code.name,
        "kernel": program.short_name,
        "symbol": program.name,
        "arch": program.arch,
        "flags": list(code.build.flags) if code.build else [],
        "defines": dict(code.build.defines) if code.build else {},
        "resources": program.resources._asdict(),
        "unknown": dict(analysis.unknown),
        "source": {"name": code.source.name, "text": code.source.text} if code.source else None,
        "instructions": [
            {
                **_instruction(one),
                "role": analysis.roles.get(one.index, "cold"),
                "live": [str(register) for register in sorted(analysis.live[one.index])],
            }
            for one in analysis.instructions
        ],
        "blocks": [
            {
                "start": program.instructions[block.start].address,
                "instructions": len(block.indices),
                "is_cold": block.is_cold,
            }
            for block in sorted(analysis.graph.blocks.values(), key=lambda one: one.start)
        ],
        "loops": [_loop(analysis, work) for work in analysis.works],
        "facts": _facts(analysis),
        "language": language,
        "story": [_section(one, language) for one in tell(code, analysis)],
    }


def dumps(records: Iterable[dict[str, Any]]) -> str:
    """Return records as JSON text, one a line."""
    return "".join(json.dumps(one, allow_nan=False) + "\n" for one in records)


def _section(section: Section, language: str) -> dict[str, Any]:
    """Return a section of the story in words."""
    words, table = catalogue(language), section.table
    return {
        "id": section.id,
        "heading": words["headings"][section.id],
        "sentences": [
            {
                "text": sentence(one, language),
                "cited": citation(one.cites, language),
                "cites": _addresses(one.cites),
                "quotes": _addresses(one.quotes),
            }
            for one in section.statements
        ],
        "table": table
        and {
            "columns": [words["columns"][name] for name in table.columns],
            "rows": [list(row) for row in table.rows],
        },
    }


def _facts(analysis: Analysis) -> dict[str, Any]:
    return {
        "exits": _plain(analysis.exits),
        "accumulators": [
            {**_plain(one), "is_shared": one.is_shared} for one in analysis.accumulators
        ],
        "choices": _plain(analysis.choices),
        "exponentials": _plain(analysis.exponentials),
        "divisions": _plain(analysis.divisions),
        "reductions": _plain(analysis.reductions),
        "accesses": _plain(analysis.accesses),
        "transfers": _plain(analysis.transfers),
        "ladders": _plain(analysis.ladders),
    }


def _plain(value: Any) -> Any:
    """Return a fact as plain values: instructions are addresses, loops numbers."""
    if isinstance(value, Instruction):
        return value.address
    if isinstance(value, Loop):
        return value.number
    if isinstance(value, Register):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Initial):
        return {"instruction": value.instruction.address, "value": value.text}
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value


def _instruction(one: Instruction) -> dict[str, Any]:
    found: dict[str, Any] = {"at": one.address, "text": one.text, "pipe": pipe(one.opcode)}
    if one.line:
        found["lines"] = _lines(one.line)
    if one.control:
        found["control"] = {
            "stall": one.control.stall,
            "yields": one.control.yields,
            "write_barrier": one.control.write_barrier,
            "read_barrier": one.control.read_barrier,
            "waits": list(one.control.waits),
            "reuse": one.control.reuse,
        }
    return found


def _lines(line: SourceLine | None) -> list[dict[str, Any]]:
    """Return a line and those of the calls that it was inlined through, the innermost first."""
    found = []
    while line:
        found.append({"file": line.file, "line": line.line})
        line = line.call
    return found


def _loop(analysis: Analysis, work: Work) -> dict[str, Any]:
    loop, price = work.loop, work.cost
    moved = traffic(work.instructions, analysis.accesses, analysis.transfers, price.elements)
    start = analysis.graph.blocks[loop.head].start
    return {
        "number": loop.number,
        "parent": loop.parent,
        "head": analysis.program.instructions[start].address,
        "instructions": _addresses(work.instructions),
        "elements": work.elements or None,
        "pipes": price.pipes,
        "ceilings": price.ceilings,
        "limit": price.limit if price.ceilings else None,
        "stall_cycles": price.stall_cycles,
        "alone_cycles": work.alone_cycles,
        "bytes": asdict(moved) if moved else None,
    }


def _addresses(instructions: Iterable[Instruction]) -> list[int]:
    return [one.address for one in instructions]
