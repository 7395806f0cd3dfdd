"""Registers that are taken: by hand, and as many as `nvdisasm -plr` counts."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from oneread.runtime import nvrtc
from oneread.sass import Build, Program, analyse, open_code
from oneread.sass.decode.instruction import Register
from oneread.sass.flow.graph import build_graph
from oneread.sass.flow.liveness import live
from oneread.sass.read import nvdisasm
from oneread.source.catalogue import read_catalogue

Assemble = Callable[..., Program]


def names(program: Program) -> list[set[str]]:
    found = live(build_graph(program))
    return [set(map(str, found[index])) for index in range(len(program.instructions))]


def test_register_is_taken_from_its_writer_to_its_last_reader(assemble: Assemble) -> None:
    program = assemble(
        """
        MOV R2, 0x1
        MOV R3, 0x2
        IADD3 R4, R2, R3, RZ
        STG.E [R6.64], R4
        EXIT
        """
    )
    taken = [{"R2"}, {"R2", "R3"}, {"R2", "R3", "R4"}, {"R4"}, set()]
    assert [one - {"R6", "R7"} for one in names(program)] == taken


def test_what_the_next_trip_reads_is_taken_to_the_end_of_this_one(assemble: Assemble) -> None:
    program = assemble(
        """
        MOV R2, RZ
        MOV R3, RZ
        loop: FADD R2, R2, R3
        ISETP.GE.AND P0, PT, R5, R3, PT
        IADD3 R3, R3, 0x1, RZ
        @P0 BRA 0x20
        EXIT
        """
    )
    taken = names(program)
    assert {"R2", "R3", "R5"} <= taken[5]
    assert taken[6] == set()


def test_guarded_write_may_leave_the_old_value(assemble: Assemble) -> None:
    program = assemble(
        """
        MOV R2, RZ
        MOV R3, RZ
        @P0 MOV R2, 0x1
        STG.E [R6.64], R2
        EXIT
        """
    )
    assert "R2" in names(program)[1]


@pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)
@pytest.mark.parametrize("target", ["sm_75", "sm_86", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("key", ["online_softmax_single_thread", "online_softmax_tiled"])
def test_as_many_registers_are_taken_as_nvdisasm_counts(key: str, target: str) -> None:
    # Fast maths: a slow path of a division, which is not counted here, has none.
    analysis = analyse(open_code(key, Build(target, fast_math=True)).kernel())
    catalogue = read_catalogue()
    cubin = nvrtc.compile_cubin(
        catalogue.path(key).read_text("utf-8"),
        target,
        options=("--use_fast_math",),
        defines=catalogue.kernels[key].bench_defines,
    ).code
    counted = {
        int(address, 16): int(count)
        for address, count in re.findall(
            r"^\s+/\*([0-9a-f]{4,})\*/.*?// \|\s+(\d+) ",
            nvdisasm.run(cubin, ("-c", "-plr", "-lrm", "wide")),
            re.MULTILINE,
        )
    }
    ours = live(analysis.graph)
    stack = Register("R", 1)  # nvdisasm counts it from end to end
    for one in analysis.instructions:
        taken = {register for register in ours[one.index] if register.bank == "R"} - {stack}
        assert len(taken) + 1 == counted.get(one.address), one.text
