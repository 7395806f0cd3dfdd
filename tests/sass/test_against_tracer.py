"""What machine code has an element is what the tracer counts when it runs the source.

Neither knows the other: one counts instructions of a loop that was compiled, the other what
threads execute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from oneread.pytest_plugin import assert_kernel
from oneread.runtime import nvrtc
from oneread.sass import Analysis, SassAssertion
from oneread.sass.decode.instruction import Instruction
from oneread.sass.read import nvdisasm
from oneread.source.arithmetic import integer
from oneread.source.catalogue import read_catalogue
from oneread.trace import Run

pytestmark = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)

KERNELS = read_catalogue().kernels
#: Columns that every lane of every kernel gets the same number of.
VOCAB = 1024
#: A span as long as a row: merging spans adds nothing to an element.
WHOLE_ROW = 2 * VOCAB
#: Where the two count otherwise, and why: (kernel, what): (machine code, tracer).
LISTED = {
    # Of two exponentials behind a branch, a lane takes one for each column.
    ("online_softmax_lane", "exps"): (3, 2),
    # The third is lane 0's alone: one a tile.
    ("online_softmax_tiled_racy", "exps"): (3, 2 + 1 / 128),
    ("online_softmax_tiled", "exps"): (3, 2 + 1 / 128),
    # Two are for each partial result, of which there is one.
    ("online_merge", "exps"): (3, 1),
    # Partial results are stored once a block, behind the loops.
    ("online_partials", "stores"): (0, 2),
}


@cache
def executed(key: str, vocab: int, k: int = 1) -> Run:
    """Run one row of a kernel in the tracer, with the macros that it is compiled with here."""
    macros = dict(KERNELS[key].bench_defines)
    if "SPAN" in macros:
        macros["SPAN"] = WHOLE_ROW
    (run,) = assert_kernel(key, rows=1, vocab=vocab, k=k, defines=macros).runs
    return run


def traced_exps(key: str) -> float:
    """Return the exponentials that a column more, and one more of the k largest, takes."""
    few = executed(key, VOCAB).counts.lane_exps
    columns = (executed(key, 2 * VOCAB).counts.lane_exps - few) / VOCAB
    has_k = "k" in KERNELS[key].args
    return columns + (executed(key, VOCAB, 2).counts.lane_exps - few if has_k else 0)


def traced_accesses(key: str, kind: str) -> float:
    buffers = executed(key, VOCAB).counts.buffers.values()
    return sum(getattr(one, kind).mean for one in buffers)


def pieces(analysis: Analysis) -> Iterator[tuple[tuple[Instruction, ...], int]]:
    """Yield what goes over elements: for each line the widest loop; all where there is no loop."""
    loops = {
        max((rung for rung in one.rungs if rung.loop), key=lambda rung: rung.elements).loop
        for one in analysis.ladders
    }
    if not loops:
        yield analysis.warm, 1
    for work in analysis.works:
        if work.loop in loops:
            yield work.instructions, work.elements


def compiled(analysis: Analysis, what: str) -> float:
    """Return the loads, stores or exponentials an element, added up over the lines."""
    width = {
        one.instruction.index: one.lane_bytes / one.element_bytes
        for one in analysis.accesses
        if one.space == "global" and one.is_store == (what == "stores")
    }
    if what == "exps":
        width = {one.index: 1 for one in analysis.warm if one.opcode == "MUFU" and one.has("EX2")}
    return sum(
        width.get(one.index, 0) / elements
        for instructions, elements in pieces(analysis)
        for one in instructions
    )


@pytest.mark.parametrize("fast_math", [True, False])
@pytest.mark.parametrize("target", nvrtc.TARGETS)
class TestGallery:
    @pytest.mark.parametrize("what", ["loads", "stores", "exps"])
    def test_machine_code_has_an_element_what_runs(
        self,
        of_gallery: Callable[..., SassAssertion],
        target: str,
        fast_math: bool,
        what: str,
    ) -> None:
        for key in KERNELS:
            found = compiled(of_gallery(key, target, fast_math).analysis, what)
            ran = traced_exps(key) if what == "exps" else traced_accesses(key, what)
            assert (found, ran) == LISTED.get((key, what), (ran, ran)), key

    def test_barriers_are_those_that_a_row_of_one_tile_passes(
        self, of_gallery: Callable[..., SassAssertion], target: str, fast_math: bool
    ) -> None:
        for key, entry in KERNELS.items():
            lanes = integer(entry.block, {**entry.bench_defines})
            passed = executed(key, lanes).counts.barriers
            of_gallery(key, target, fast_math).barriers(passed)


def test_what_is_listed_differs() -> None:
    assert all(found != ran for found, ran in LISTED.values())
    assert {key for key, _ in LISTED} <= KERNELS.keys()
