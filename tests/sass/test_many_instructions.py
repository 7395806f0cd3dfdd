"""Every instruction of a source that has as many as possible is known, and its kernels are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneread.runtime import nvrtc
from oneread.sass import Build, analyse, compile_source
from oneread.sass.read import nvdisasm
from oneread.sass.story.telling import tell
from oneread.source.text import SourceText

pytestmark = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)

SOURCE = SourceText(
    "instructions.cu", Path(__file__).with_name("instructions.cu").read_text("utf-8")
)


@pytest.mark.parametrize("target", nvrtc.TARGETS)
def test_every_opcode_is_known_and_every_kernel_is_told(target: str) -> None:
    code = compile_source(SOURCE, Build(target))
    assert len(code.programs) >= 9
    for program in code.programs:
        analysis = analyse(program)
        assert analysis.unknown == {}
        assert all(section.statements for section in tell(code, analysis))


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
def test_jumps_lead_to_every_case_of_a_switch(target: str) -> None:
    program = compile_source(SOURCE, Build(target)).kernel("flow")
    tables = [one for one in program.instructions if one.opcode in ("BRX", "BRXU")]
    assert not tables or sum(len(one.targets) for one in tables) >= 7
    reached = {one.opcode for one in analyse(program).warm}
    assert {"MUFU", "LDG", "STG", "LDL", "STL"} <= reached


def test_function_that_is_called_is_no_slow_path() -> None:
    analysis = analyse(compile_source(SOURCE, Build("sm_86")).kernel("flow"))
    (sums,) = {one.kind for one in analysis.accumulators}
    assert sums == "sum"
    assert any(one.opcode == "CALL" for one in analysis.warm)
