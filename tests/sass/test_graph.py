"""Blocks, dominators and loops of small programs."""

from __future__ import annotations

from collections.abc import Callable

from oneread.sass.decode.instruction import Program
from oneread.sass.flow.graph import build_graph

Assemble = Callable[..., Program]


def test_straight_line_is_one_block(assemble: Assemble) -> None:
    graph = build_graph(assemble("MOV R0, RZ\nEXIT"))
    assert [list(block.indices) for block in graph.blocks.values()] == [[0, 1]]
    assert graph.loops == ()


def test_padding_behind_the_last_branch_is_left_out(assemble: Assemble) -> None:
    graph = build_graph(assemble("EXIT\nself: BRA `(self)\nNOP\nNOP"))
    assert [list(block.indices) for block in graph.blocks.values()] == [[0]]


def test_guarded_exit_falls_through_where_its_guard_is_false(assemble: Assemble) -> None:
    graph = build_graph(assemble("@P0 EXIT\nEXIT"))
    (edge,) = graph.edges
    assert (edge.source, edge.target, str(edge.holds)) == (0, 1, "@!P0")


def test_branch_on_an_operand_has_two_ways(assemble: Assemble) -> None:
    graph = build_graph(assemble("BRA P1, `(end)\nMOV R0, RZ\nend: EXIT"))
    assert {(edge.target, str(edge.holds)) for edge in graph.edges if edge.source == 0} == {
        (2, "@P1"),
        (1, "@!P1"),
    }


NESTED = """
MOV R0, RZ
outer: MOV R1, RZ
inner: IADD3 R1, R1, 0x1, RZ
ISETP.GE.AND P0, PT, R1, R2, PT
@!P0 BRA `(inner)
IADD3 R0, R0, 0x1, RZ
ISETP.GE.AND P1, PT, R0, R2, PT
@!P1 BRA `(outer)
EXIT
"""


def test_inner_loop_knows_the_outer(assemble: Assemble) -> None:
    graph = build_graph(assemble(NESTED))
    outer, inner = graph.loops
    assert (outer.parent, inner.parent) == (None, outer.number)
    assert inner.blocks < outer.blocks
    assert graph.own_blocks(outer) == outer.blocks - inner.blocks
    assert graph.loop_of(inner.head) == inner


def test_head_dominates_the_loop(assemble: Assemble) -> None:
    graph = build_graph(assemble(NESTED))
    for loop in graph.loops:
        assert all(loop.head in graph.dominators[block] for block in loop.blocks)


def test_way_of_diverged_lanes_is_cold(assemble: Assemble) -> None:
    graph = build_graph(
        assemble("BRA.DIV UR4, `(slow)\nMOV R0, RZ\nback: EXIT\nslow: MOV R1, RZ\nBRA `(back)")
    )
    assert [block.start for block in graph.blocks.values() if block.is_cold] == [3]


def test_jump_by_a_table_that_is_not_shown_may_lead_to_what_nothing_else_leads_to(
    assemble: Assemble,
) -> None:
    graph = build_graph(
        assemble("BRX R2 -0x10\nMOV R0, RZ\nEXIT\nMOV R1, RZ\nEXIT\nself: BRA `(self)\nNOP")
    )
    assert [block.start for block in graph.blocks.values()] == [0, 3, 1]


def test_call_that_never_comes_back_is_a_jump(assemble: Assemble) -> None:
    graph = build_graph(assemble("@P0 CALL.REL.NOINC `(end)\nMOV R0, RZ\nend: EXIT"))
    assert graph.entries == (0,)
    assert {(edge.target, str(edge.holds)) for edge in graph.edges if edge.source == 0} == {
        (2, "@P0"),
        (1, "@!P0"),
    }


def test_branch_that_is_never_taken_leads_to_what_is_cold(assemble: Assemble) -> None:
    graph = build_graph(assemble("@!PT BRA `(slow)\nEXIT\nslow: MOV R0, RZ\nEXIT"))
    assert [block.start for block in graph.blocks.values() if block.is_cold] == [2]


def test_block_hangs_on_the_branch_before_it(assemble: Assemble) -> None:
    graph = build_graph(assemble("@P0 BRA `(end)\nMOV R0, RZ\nBRA `(end)\nend: EXIT"))
    control = graph.control_of(1)
    assert control is not None
    assert (control[0].index, str(control[1])) == (0, "@!P0")
    assert graph.control_of(2) is None
    assert graph.control_of(0) is None


def test_loop_that_begins_with_the_kernel_hangs_on_nothing(assemble: Assemble) -> None:
    graph = build_graph(assemble("self: MOV R0, RZ\nBRA `(self)\nEXIT"))
    assert graph.control_of(0) is None


def test_what_is_called_is_an_entry(assemble: Assemble) -> None:
    graph = build_graph(assemble("CALL.REL.NOINC `(f)\nEXIT\nf: MOV R0, RZ\nRET.REL.NODEC R2"))
    assert [graph.blocks[one].start for one in graph.entries] == [0, 2]
