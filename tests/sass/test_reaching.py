"""Values are followed to their readers, guards included."""

from __future__ import annotations

from collections.abc import Callable

from oneread.sass.decode.instruction import Program, Register
from oneread.sass.flow.graph import build_graph
from oneread.sass.flow.reaching import ENTRY, reach

Assemble = Callable[..., Program]

R5 = Register("R", 5)


def sources(program: Program, index: int) -> set[int]:
    return set(reach(build_graph(program)).of(index, R5))


def test_last_write_is_read(assemble: Assemble) -> None:
    program = assemble("MOV R5, RZ\nMOV R5, 0x1\nMOV R0, R5\nEXIT")
    assert sources(program, 2) == {1}


def test_what_nobody_wrote_comes_from_before(assemble: Assemble) -> None:
    assert sources(assemble("MOV R0, R5\nEXIT"), 0) == {ENTRY}


def test_guarded_write_leaves_the_older_value(assemble: Assemble) -> None:
    program = assemble("MOV R5, RZ\n@P0 MOV R5, 0x1\nMOV R0, R5\nEXIT")
    assert sources(program, 2) == {0, 1}


def test_reader_under_the_same_guard_sees_the_guarded_write_alone(assemble: Assemble) -> None:
    program = assemble("MOV R5, RZ\n@P0 MOV R5, 0x1\n@P0 MOV R0, R5\nEXIT")
    assert sources(program, 2) == {1}


def test_reader_under_the_opposite_guard_sees_the_older_value_alone(assemble: Assemble) -> None:
    program = assemble("MOV R5, RZ\n@P0 MOV R5, 0x1\n@!P0 MOV R0, R5\nEXIT")
    assert sources(program, 2) == {0}


def test_two_opposite_guards_leave_nothing_older(assemble: Assemble) -> None:
    program = assemble("MOV R5, RZ\n@P0 MOV R5, 0x1\n@!P0 MOV R5, 0x2\nMOV R0, R5\nEXIT")
    assert sources(program, 3) == {1, 2}


def test_guard_that_is_written_anew_tells_nothing(assemble: Assemble) -> None:
    program = assemble(
        "MOV R5, RZ\n@P0 MOV R5, 0x1\nISETP.GE.AND P0, PT, R1, R2, PT\n@P0 MOV R0, R5\nEXIT"
    )
    assert sources(program, 3) == {0, 1}


def test_branch_tells_what_its_guard_is(assemble: Assemble) -> None:
    program = assemble(
        "MOV R5, RZ\n@P0 MOV R5, 0x1\n@P0 BRA `(end)\nMOV R0, R5\nend: MOV R1, R5\nEXIT"
    )
    assert sources(program, 3) == {0}
    assert sources(program, 4) == {0, 1}


def test_values_go_around_a_loop(assemble: Assemble) -> None:
    program = assemble("MOV R5, RZ\nloop: IADD3 R5, R5, 0x1, RZ\n@P0 BRA `(loop)\nEXIT")
    assert sources(program, 1) == {0, 1}


def test_one_trip_of_a_loop_begins_with_what_its_head_found(assemble: Assemble) -> None:
    program = assemble("MOV R5, RZ\nloop: IADD3 R5, R5, 0x1, RZ\n@P0 BRA `(loop)\nEXIT")
    graph = build_graph(program)
    reaching = reach(graph, graph.loops[0])
    assert reaching.of(1, R5) == {ENTRY}
    assert [set(end[R5]) for end in reaching.ends] == [{1}]
