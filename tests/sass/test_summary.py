"""A summary says in few words what a build is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oneread.runtime import nvrtc
from oneread.sass import Build, analyse, open_code
from oneread.sass.decode.instruction import Program
from oneread.sass.facts.roles import ROLES
from oneread.sass.read import nvdisasm
from oneread.sass.summary import Summary, roles_each, summarise

needs_tools = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)


def summary(kernel: str, arch: str, fast_math: bool) -> Summary:
    return summarise(analyse(open_code(kernel, Build(arch, fast_math)).programs[0]))


def test_kernel_without_loops_has_no_main_loop(assemble: Callable[..., Program]) -> None:
    found = summarise(analyse(assemble("LDG.E R0, [R2.64]\nSTG.E [R2.64], R0\nEXIT")))
    assert (found.instructions, found.load_bytes, found.ladders) == (3, 4, ())
    assert (found.instructions_each, found.ceiling, found.limit) == (None, None, None)


@needs_tools
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_two_exponentials_an_element_limit_the_fast_online_loop(arch: str) -> None:
    found = summary("online_softmax_single_thread", arch, fast_math=True)
    assert found.accumulators == ("max", "sum*")
    assert (found.mufu_each, found.ceiling, found.limit) == (2.0, 8.0, "mufu")
    assert found.instructions_each is not None
    assert 10 < found.instructions_each < 11


@needs_tools
@pytest.mark.parametrize(
    ("arch", "limit", "ceiling"),
    [
        ("sm_75", "fma", 4.1),
        ("sm_80", "fma", 4.1),
        ("sm_90", "issue", 5.2),
        ("sm_120", "issue", 5.4),
    ],
)
def test_default_maths_takes_more_than_exponentials(arch: str, limit: str, ceiling: float) -> None:
    found = summary("online_softmax_single_thread", arch, fast_math=False)
    assert (found.limit, round(found.ceiling or 0, 1)) == (limit, ceiling)


@needs_tools
def test_one_rescaling_for_four_columns_saves_exponentials() -> None:
    found = summary("online_softmax_warp", "sm_86", fast_math=True)
    assert (found.mufu_each, found.load_bytes) == (1.25, 16)
    assert found.reductions == ("shuffle max+sum",)


LOOP = """
loop: LDG.E R4, [R2.64]
FMNMX R8, R4, R8, !PT
FADD R9, R4, -R8
FMUL R9, R9, 1.4426950216293334961
MUFU.EX2 R9, R9
FADD R10, R10, R9
IADD3 R2, P2, R2, 0x4, RZ
ISETP.NE.AND P0, PT, R2, RZ, PT
@P0 BRA `(loop)
STG.E [R20.64], R10
EXIT
"""


def test_every_instruction_of_a_loop_has_one_role(assemble: Callable[..., Program]) -> None:
    analysis = analyse(assemble(LOOP))
    assert analysis.roles.keys() == {one.index for one in analysis.warm}
    each = {role: count for role, count in roles_each(analysis).items() if count}
    assert each == {"load": 1, "max": 1, "exp": 3, "sum": 1, "control": 1, "other": 2}
    (work,) = analysis.works
    assert sum(each.values()) == work.cost.instructions


def test_roles_have_their_order(assemble: Callable[..., Program]) -> None:
    assert tuple(roles_each(analyse(assemble(LOOP)))) == ROLES
    assert roles_each(analyse(assemble("EXIT"))) == {}
