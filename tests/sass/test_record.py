"""A record holds every fact as plain values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from oneread.sass import Code, analyse
from oneread.sass.decode.instruction import Program
from oneread.sass.record import SCHEMA, describe, dumps
from oneread.source.text import SourceText

LOOP = """
MOV R5, RZ
MOV R6, 0xff800000
loop: LDG.E R4, [R2.64]
FMNMX R7, R6, R4, !PT
FADD R9, R4, -R7
FMUL R9, R9, 1.4426950216293334961
MUFU.EX2 R9, R9
FADD R5, R5, R9
MOV R6, R7
IADD3 R2, P2, R2, 0x4, RZ
ISETP.NE.AND P1, PT, R2, R11, PT
@P1 BRA `(loop)
MUFU.RCP R7, R5
STG.E [R2.64], R7
EXIT
"""


@pytest.fixture
def record(assemble: Callable[..., Program]) -> dict[str, Any]:
    program = assemble(LOOP)
    return describe(Code("text", (program,)), analyse(program))


def test_record_survives_json(record: dict[str, Any]) -> None:
    assert json.loads(dumps([record])) == record
    assert record["schema"] == SCHEMA


def test_facts_point_to_instructions_by_address(record: dict[str, Any]) -> None:
    addresses = {one["at"] for one in record["instructions"]}
    for accumulator in record["facts"]["accumulators"]:
        assert set(accumulator["updates"]) <= addresses
    (exponential,) = record["facts"]["exponentials"]
    assert exponential == {"form": "fast", "power": 0x60, "parts": [0x40, 0x50, 0x60]}


def test_accumulators_say_loop_place_and_beginning(record: dict[str, Any]) -> None:
    by_kind = {one["kind"]: one for one in record["facts"]["accumulators"]}
    assert by_kind["max"]["initial"] == {"instruction": 0x10, "value": "-INFINITY"}
    assert by_kind["sum"]["carriers"] == ["R5"]
    assert by_kind["sum"]["is_shared"] is False
    assert {one["loop"] for one in by_kind.values()} == {record["loops"][0]["number"]}


def test_loop_has_cost_and_limit(record: dict[str, Any]) -> None:
    (loop,) = record["loops"]
    assert loop["head"] == 0x20
    assert loop["elements"] == 1
    assert loop["pipes"]["mufu"] == 1
    assert loop["limit"] in loop["ceilings"]
    assert loop["stall_cycles"] is None


def test_instruction_says_which_registers_are_taken(record: dict[str, Any]) -> None:
    by_address = {one["at"]: one for one in record["instructions"]}
    assert {"R5", "R6", "R11"} <= set(by_address[0x20]["live"])
    assert by_address[0xE0]["live"] == []


def test_story_cites_instructions_by_address(record: dict[str, Any]) -> None:
    addresses = {one["at"] for one in record["instructions"]}
    sentences = [one for section in record["story"] for one in section["sentences"]]
    assert all(set(one["cites"]) <= addresses for one in sentences)
    assert any("MUFU.EX2" in one["text"] and 0x60 in one["cites"] for one in sentences)


def test_record_has_its_source_where_there_is_one(
    record: dict[str, Any], assemble: Callable[..., Program]
) -> None:
    assert record["source"] is None
    program = assemble("EXIT")
    code = Code("k.cu", (program,), SourceText("k.cu", "void f();"))
    found = describe(code, analyse(program))
    assert found["source"] == {"name": "k.cu", "text": "void f();"}
