"""Assertions about machine code, for tests: properties, never registers or addresses.

Needs neither a GPU nor pytest. What fails shows the instructions that it fails for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from oneread.sass.analysis import Analysis, analyse
from oneread.sass.decode.instruction import Instruction
from oneread.sass.facts.exponentials import ExponentialForm
from oneread.sass.facts.occupancy import occupancy
from oneread.sass.read.opening import Build, instance_of, open_code

__all__ = ["SassAssertion", "assert_sass"]

#: Instructions that a failure shows.
_SHOWN = 12


def assert_sass(
    kernel: str | os.PathLike[str],
    arch: str | None = None,
    *,
    fast_math: bool = False,
    options: Sequence[str] = (),
    defines: Mapping[str, int] | None = None,
    name: str | None = None,
) -> SassAssertion:
    """Compile a kernel, if it is a source, and return what can be asserted of its machine code.

    Parameters
    ----------
    kernel : str or path
        A key of the gallery, a ``.cu`` file, a cubin, or a disassembler's text.
    arch : str
        The target that a source is compiled for, sm_86 if left out.
    fast_math : bool
        Compile with ``--use_fast_math``.
    options : sequence of str
        More of the compiler's options.
    defines : mapping of str to int, optional
        Macros.
    name : str, optional
        Which kernel of a file with several.

    Returns
    -------
    SassAssertion
        Its methods raise AssertionError, and return it again.

    Raises
    ------
    MachineCodeError
        When there is nothing of that name, or it is damaged.
    BackendUnavailableError
        When NVRTC or ``nvdisasm`` is missing, or the target is not known.
    KernelCompileError
        When the compiler refuses the source.

    Examples
    --------
    >>> checked = assert_sass("online_softmax_warp", "sm_90", fast_math=True)
    >>> checked.no_spills().no_shared().vector_load(16).exp("fast").no_slow_division()
    <SassAssertion of online_softmax_warp for sm_90>
    """
    macros = defines or {}
    build = Build(arch, fast_math, tuple(options), macros, instance=instance_of(name))
    return SassAssertion(analyse(open_code(kernel, build).kernel(name)))


class SassAssertion:
    """What can be asserted of a kernel's machine code.

    Parameters
    ----------
    analysis : Analysis
        The facts about it.
    """

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis

    def __repr__(self) -> str:
        program = self.analysis.program
        return f"<SassAssertion of {program.short_name} for {program.arch}>"

    def no_spills(self) -> SassAssertion:
        """Assert that no register is spilled; an array in local memory is no spill.

        Code that does not mark its spills, as saved text may be, must not use local memory at all.
        """
        spills = self.analysis.spills
        what = "registers are spilled" if self.analysis.marks_spills else "local memory is used"
        return self._require(not spills, what, spills)

    def no_shared(self) -> SassAssertion:
        """Assert that shared memory is not used."""
        shared = self.analysis.shared
        return self._require(not shared, "shared memory is used", shared)

    def barriers(self, count: int) -> SassAssertion:
        """Assert how many barriers of the block stand in the code, slow paths left out."""
        found = self._of("BAR")
        return self._require(len(found) == count, f"{len(found)} barriers, not {count}", found)

    def vector_load(self, lane_bytes: int) -> SassAssertion:
        """Assert that the widest load of global memory brings a lane at least so many bytes."""
        loads = [
            one for one in self.analysis.accesses if one.space == "global" and not one.is_store
        ]
        widest = max((one.lane_bytes for one in loads), default=0)
        return self._require(
            widest >= lane_bytes,
            f"the widest load brings {widest} bytes, not {lane_bytes}",
            [one.instruction for one in loads],
        )

    def exp(self, form: str) -> SassAssertion:
        """Assert that there are exponentials, all of a form: fast, guarded, libm, fused or exp2."""
        if form not in get_args(ExponentialForm):
            raise ValueError(f"got {form!r}; forms are {', '.join(get_args(ExponentialForm))}")
        found = self.analysis.exponentials
        self._require(bool(found), "there is no exponential", ())
        other = [one for one in found if one.form != form]
        kinds = ", ".join(sorted({one.form for one in other}))
        lines = [part for one in other for part in one.parts]
        return self._require(not other, f"{len(other)} exponentials are {kinds}, not {form}", lines)

    def no_slow_division(self) -> SassAssertion:
        """Assert that no division or reciprocal is corrected to the last bit."""
        slow = [one for one in self.analysis.divisions if one.form in ("division", "reciprocal")]
        lines = [line for one in slow for line in (one.reciprocal, *one.checks)]
        return self._require(not slow, f"{len(slow)} divisions have a slow path", lines)

    def max_op(self, *forms: str) -> SassAssertion:
        """Assert that there are maxima and all are of these forms: FMNMX, FSETP+FSEL, ..."""
        found = [one for one in self.analysis.choices if one.extreme == "max" and one.is_float]
        self._require(bool(found), "there is no maximum", ())
        other = [one for one in found if one.form not in forms]
        kinds = ", ".join(sorted({one.form for one in other}))
        lines = [step for one in other for step in one.steps]
        wanted = " or ".join(forms)
        return self._require(not other, f"{len(other)} maxima are {kinds}, not {wanted}", lines)

    def mufu_per_element(self, at_most: float) -> SassAssertion:
        """Assert that no loop over elements takes more MUFU instructions an element."""
        for work in self.analysis.works:
            if work.elements:
                mufu = [one for one in work.instructions if one.opcode == "MUFU"]
                each = len(mufu) / work.elements
                self._require(each <= at_most, f"{each:g} MUFU an element, not {at_most:g}", mufu)
        return self

    def registers(self, at_most: int) -> SassAssertion:
        """Assert how many registers a thread takes at most."""
        found = self.analysis.program.resources.registers
        if found is None:
            raise AssertionError(f"{self!r}: the input does not say how many registers it takes")
        return self._require(found <= at_most, f"{found} registers, more than {at_most}", ())

    def blocks_per_sm(self, at_least: int, block: int, dynamic_bytes: int = 0) -> SassAssertion:
        """Assert how many blocks of so many threads fit on an SM at least."""
        program = self.analysis.program
        self.registers(255)
        found = occupancy(program.target, program.resources, block, dynamic_bytes)
        return self._require(
            found.blocks >= at_least,
            f"{found.blocks} blocks an SM, not {at_least}; what limits is {found.limit}",
            (),
        )

    def _of(self, *opcodes: str) -> list[Instruction]:
        return [one for one in self.analysis.warm if one.opcode in opcodes]

    def _require(self, holds: bool, what: str, lines: Iterable[Instruction]) -> SassAssertion:
        if holds:
            return self
        shown = [f"  {one.address:#06x}  {one.text}{_place(one)}" for one in lines]
        if len(shown) > _SHOWN:
            shown[_SHOWN:] = [f"  ... and {len(shown) - _SHOWN} more"]
        program = self.analysis.program
        raise AssertionError(
            "\n".join([f"{program.short_name} for {program.arch}: {what}", *shown])
        )


def _place(one: Instruction) -> str:
    return f"  ({one.line.file}:{one.line.line})" if one.line else ""
