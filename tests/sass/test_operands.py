"""Operands are taken apart as both disassemblers print them."""

from __future__ import annotations

import pytest

from oneread.sass.decode.instruction import Named, Register
from oneread.sass.decode.operands import parse_operand, split_operands


@pytest.mark.parametrize(
    ("text", "kind", "number"),
    [
        ("R12", "register", None),
        ("UR4", "register", None),
        ("B0", "register", None),
        ("RZ", "zero", None),
        ("URZ", "zero", None),
        ("P3", "predicate", None),
        ("!UPT", "true", None),
        ("0x3c", "number", 60),
        ("-0x800001", "number", -0x800001),
        ("1.4426950216293334961", "number", 1.4426950216293335),
        ("1.925963033500011079e-08", "number", 1.925963033500011e-08),
        ("-INF", "number", float("-inf")),
        ("+QNAN", "number", None),
        ("c[0x0][0x160]", "constant", 0x160),
        ("[R2.64+0x3c]", "address", 0x3C),
        ("desc[UR10][R2.64+-0x10]", "address", -0x10),
        ("[UR4]", "address", 0),
        ("[0x10]", "address", 0x10),
        ("`(.L_x_3)", "label", None),
        ("SR_TID.X", "other", None),
        ("PR", "other", None),
    ],
)
def test_kind_and_number(text: str, kind: str, number: float | None) -> None:
    operand = parse_operand(text)
    assert (operand.kind, operand.number) == (kind, number)
    assert operand.text == text


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("-R4", (True, False, False)),
        ("|R4|", (False, True, False)),
        ("-|R4|", (True, True, False)),
        ("~R4", (False, False, True)),
        ("!P0", (False, False, True)),
        ("-c[0x0][0x28]", (True, False, False)),
        ("R4", (False, False, False)),
    ],
)
def test_signs(text: str, signs: tuple[bool, bool, bool]) -> None:
    operand = parse_operand(text)
    assert (operand.negative, operand.absolute, operand.inverted) == signs
    assert operand.is_plain == (not any(signs))


def test_every_register_of_an_address_is_named() -> None:
    operand = parse_operand("desc[UR6][R2.64+UR4+0x8]")
    assert operand.names == (
        Named(Register("UR", 6)),
        Named(Register("R", 2), ("64",)),
        Named(Register("UR", 4)),
    )
    assert operand.base == "desc"


def test_reuse_is_no_part_of_an_operand() -> None:
    assert parse_operand("R4.reuse") == parse_operand("R4")
    assert parse_operand("-R4.reuse.H1_H1").names == (Named(Register("R", 4), ("H1_H1",)),)


def test_operands_are_split_outside_of_brackets() -> None:
    text = "P0, R2, desc[UR4][R2.64], c[0x0][0x160], `(.L_x_1)"
    assert split_operands(text) == text.split(", ")
    assert split_operands("") == []
