"""A kernel's analysis as a record: plain values for JSON, with a version of its layout.

Reports and pages are made from records and know nothing else. Draws no conclusions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from oneread.sass.analysis import Analysis
from oneread.sass.decode.instruction import Instruction, SourceLine
from oneread.sass.decode.opcodes import pipe
from oneread.sass.facts.accumulators import Accumulator
from oneread.sass.facts.loops import Work
from oneread.sass.read.opening import Code

#: Version of the layout. A field that is added does not change it.
SCHEMA: Final = 1


def describe(code: Code, analysis: Analysis) -> dict[str, Any]:
    """Return all that is known of a kernel as plain values.

    Parameters
    ----------
    code : Code
        Where it comes from.
    analysis : Analysis
        The facts about it.

    Returns
    -------
    dict
        Instructions by address everywhere; loops by number.
    """
    program = analysis.program
    return {
        "schema": SCHEMA,
        "name": code.name,
        "kernel": program.name,
        "arch": program.arch,
        "flags": list(code.build.flags) if code.build else [],
        "defines": dict(code.build.defines) if code.build else {},
        "resources": program.resources._asdict(),
        "unknown": dict(analysis.unknown),
        "instructions": [_instruction(one) for one in analysis.instructions],
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
    }


def dumps(records: Iterable[dict[str, Any]]) -> str:
    """Return records as JSON text, one a line."""
    return "".join(json.dumps(one, allow_nan=False) + "\n" for one in records)


def _facts(analysis: Analysis) -> dict[str, Any]:
    return {
        "exits": [
            {
                "at": one.instruction.address,
                "steps": _addresses(one.steps),
                "special": list(one.special),
                "parameters": list(one.parameters),
            }
            for one in analysis.exits
        ],
        "accumulators": [_accumulator(one) for one in analysis.accumulators],
        "maxima": [
            {"extreme": one.extreme, "form": one.form, "steps": _addresses(one.steps)}
            for one in analysis.choices
        ],
        "exponentials": [
            {"form": one.form, "at": one.power.address, "parts": _addresses(one.parts)}
            for one in analysis.exponentials
        ],
        "divisions": [
            {
                "form": one.form,
                "at": one.reciprocal.address,
                "checks": _addresses(one.checks),
                "products": _addresses(one.products),
            }
            for one in analysis.divisions
        ],
        "reductions": [
            {
                "form": one.form,
                "operations": list(one.operations),
                "distances": list(one.distances),
                "moves": _addresses(one.moves),
                "loop": one.loop.number if one.loop else None,
            }
            for one in analysis.reductions
        ],
        "accesses": [
            {
                "at": one.instruction.address,
                "space": one.space,
                "is_store": one.is_store,
                "lane_bytes": one.lane_bytes,
                "element_bytes": one.element_bytes,
                "parameter": one.parameter,
                "is_read_only": one.is_read_only,
            }
            for one in analysis.accesses
        ],
        "ladders": [
            {
                "line": one.line,
                "space": one.space,
                "is_store": one.is_store,
                "parameter": one.parameter,
                "rungs": [
                    {
                        "elements": rung.elements,
                        "loop": rung.loop.number if rung.loop else None,
                        "accesses": [access.instruction.address for access in rung.accesses],
                    }
                    for rung in one.rungs
                ],
            }
            for one in analysis.ladders
        ],
    }


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
    }


def _accumulator(one: Accumulator) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "loop": one.loop.number,
        "carriers": [str(register) for register in one.carriers],
        "is_shared": one.is_shared,
        "updates": _addresses(one.updates),
        "rescales": _addresses(one.rescales),
        "length": one.length,
        "initial": {"at": one.initial.instruction.address, "value": one.initial.text}
        if one.initial
        else None,
        "crosses_lanes": one.crosses_lanes,
    }


def _addresses(instructions: Iterable[Instruction]) -> list[int]:
    return [one.address for one in instructions]
