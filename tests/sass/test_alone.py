"""A warp alone waits as long as the control bits say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from oneread.sass.decode.instruction import Control, Program
from oneread.sass.facts.alone import cycles_alone

Assemble = Callable[..., Program]


def controlled(program: Program, *controls: Control) -> Program:
    pairs = zip(program.instructions, controls, strict=True)
    return replace(program, instructions=tuple(replace(one, control=bits) for one, bits in pairs))


def bits(stall: int, sets: int | None = None, waits: tuple[int, ...] = ()) -> Control:
    return Control(stall, False, sets, None, waits, 0)


def test_stalls_add_up(assemble: Assemble) -> None:
    program = controlled(assemble("FADD R0, R1, R2\nFADD R3, R0, R2"), bits(4), bits(5))
    assert cycles_alone(program.instructions, 86) == 9


def test_reader_waits_for_the_barrier_of_what_it_reads(assemble: Assemble) -> None:
    text = "MUFU.EX2 R0, R1\nFADD R3, R0, R2"
    fast = controlled(assemble(text), bits(1, sets=0), bits(1))
    slow = controlled(assemble(text), bits(1, sets=0), bits(1, waits=(0,)))
    without, waiting = (cycles_alone(one.instructions, 86) for one in (fast, slow))
    assert without is not None
    assert waiting is not None
    assert waiting > without + 10


def test_pipe_takes_its_turns(assemble: Assemble) -> None:
    program = controlled(assemble("MUFU.EX2 R0, R1\n" * 4), *[bits(1)] * 4)
    # 4 of 16 lanes a clock are in a part of the SM: 8 cycles for a warp.
    assert cycles_alone(program.instructions, 86) == 32


def test_pipe_that_the_parts_share_is_a_warp_s_alone(assemble: Assemble) -> None:
    program = controlled(assemble("LDG.E R0, [R2.64]\n" * 4), *[bits(1)] * 4)
    assert cycles_alone(program.instructions, 86) == 4
    assert cycles_alone(program.instructions, 75) == 8


def test_nothing_is_said_without_control_bits(assemble: Assemble) -> None:
    assert cycles_alone(assemble("FADD R0, R1, R2").instructions, 86) is None
