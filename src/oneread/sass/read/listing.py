"""Text that `nvdisasm` or `cuobjdump -sass` wrote, as lines with addresses and encodings.

Both forms, and what Triton keeps, are one format with different heads. Line numbers and encodings
are taken where they are; a line within a kernel that is none of the known ones is refused, so that
nothing is lost. Knows the layout of a listing; knows no instruction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from oneread.sass.decode.instruction import NOTHING_SAID, Resources, SourceLine
from oneread.sass.errors import MachineCodeError
from oneread.source.errors import quoted


class ListedInstruction(NamedTuple):
    """An instruction as it is printed; ``encoding`` is its 128 bits."""

    address: int
    text: str
    encoding: int | None = None
    line: SourceLine | None = None


@dataclass(frozen=True)
class Listing:
    """A kernel's listing; ``labels`` leads from names to addresses."""

    name: str
    arch: str
    instructions: Sequence[ListedInstruction]
    labels: dict[str, int] = field(default_factory=dict)
    resources: Resources = NOTHING_SAID


_ARCH: Final = re.compile(r"\bsm_(\d+[af]?)\b|EF_CUDA_SM(\d+)\b")
_KERNEL: Final = re.compile(r"\s*Function ?: ?(\S+)\s*$|\.text\.([^\s:]+):\s*$")
_SECTION: Final = re.compile(r"\s*\.section\s+([^\s,]+)|//-+\s+(\S+)\s+-+$")
_LABEL: Final = re.compile(r"\s*([.$\w][^\s:]*):\s*$")
_ENCODING: Final = r"/\*\s*0x([0-9a-f]{16})\s*\*/"
_INSTRUCTION: Final = re.compile(
    rf"\s*/\*([0-9a-f]{{4,16}})\*/\s+(.*?)\s*;\s*(?:{_ENCODING})?\s*(?://.*)?$"
)
_HIGH_HALF: Final = re.compile(rf"\s*{_ENCODING}\s*$")
_LINE: Final = re.compile(r'\s*//## File "(.*?)", line (\d+)(?: inlined at "(.*?)", line (\d+))?')
_REGISTERS: Final = re.compile(r"SHI_REGISTERS=(\d+)")
_BARRIERS: Final = re.compile(r"SHF_BARRIERS=(\d+)")
#: Directives, comments, rules between kernels, and what cuobjdump says about a file.
_IGNORED: Final = re.compile(
    r"\s*$|\s*\.(?!L_)\w[^:]*$|\s*//|\s*[=.]+\s*$|Fatbin |[\w ]+ = |\s*code for |\s*\{|\s*\}"
    r"|\s*_\S+:$"
)


def is_listing(text: str) -> bool:
    """Say whether a text has at least one instruction as disassemblers print it."""
    return any(_INSTRUCTION.match(line) for line in text.splitlines())


def read_listing(text: str, name: str = "listing", arch: str = "") -> list[Listing]:
    """Read what a disassembler wrote.

    Parameters
    ----------
    text : str
        Output of ``nvdisasm``, of ``cuobjdump -sass``, or a ``.sass`` file of Triton.
    name : str
        What to call it where it is refused.
    arch : str, optional
        The target, such as ``sm_86``, if the text does not say it.

    Returns
    -------
    list of Listing
        A listing for each kernel, in the order of the text.

    Raises
    ------
    MachineCodeError
        When it holds no kernel, a line that cannot be read, or does not say its target.
    """
    return _Reader(name, arch).run(text)


class _Reader:
    """One run over a text."""

    def __init__(self, name: str, arch: str) -> None:
        self.name = name
        self.arch = ""
        self.given_arch = arch
        self.kernel = ""
        self.found: list[Listing] = []
        self.lines: list[ListedInstruction] = []
        self.labels: dict[str, int] = {}
        self.waiting: list[str] = []
        self.frames: list[tuple[str, int]] = []
        self.line: SourceLine | None = None
        self.registers: int | None = None
        self.barriers: int | None = None

    def run(self, text: str) -> list[Listing]:
        for number, line in enumerate(text.splitlines(), 1):
            is_known = self.head(line) or self.code(line) or _IGNORED.match(line)
            if self.kernel and not is_known:
                raise MachineCodeError(
                    f"{self.name}:{number}: no line of a listing: {quoted(line.strip())!r}"
                )
        self.finish()
        if not self.found:
            raise MachineCodeError(
                f"{self.name}: no machine code in it: neither a cubin nor the text of nvdisasm or "
                "cuobjdump -sass"
            )
        return self.found

    def head(self, line: str) -> bool:
        """Take what a line says about the file or the kernel to come; say whether it names one."""
        if found := _KERNEL.match(line):
            name = found[1] or found[2]
            # nvdisasm names the section and cuobjdump the function; a label may say it again.
            if name != self.kernel or self.lines:
                self.finish()
            self.kernel = name
            return True
        if found := _SECTION.match(line):
            self.finish()
        if ("EF_CUDA" in line or "sm_" in line) and (found := _ARCH.search(line)):
            self.arch = f"sm_{found[1] or found[2]}"
        if found := _REGISTERS.search(line):
            self.registers = int(found[1])
        if found := _BARRIERS.search(line):
            self.barriers = int(found[1])
        return False

    def code(self, line: str) -> bool:
        """Take a line of code; return whether it is one."""
        if found := _LINE.match(line):
            self.source(found)
        elif found := _INSTRUCTION.match(line):
            self.instruction(found)
        elif found := _HIGH_HALF.match(line):
            self.high_half(int(found[1], 16))
        elif found := _LABEL.match(line):
            self.waiting.append(found[1])
        else:
            return False
        return True

    def source(self, found: re.Match[str]) -> None:
        if found[1].startswith(".nv_debug"):
            return
        self.frames.append((found[1], int(found[2])))
        self.line = None

    def instruction(self, found: re.Match[str]) -> None:
        address = int(found[1], 16)
        if self.frames:
            # The innermost call comes first.
            line = None
            for file, number in reversed(self.frames):
                line = SourceLine(file, number, line)
            self.line, self.frames = line, []
        self.labels.update(dict.fromkeys(self.waiting, address))
        self.waiting = []
        encoding = int(found[3], 16) if found[3] else None
        self.lines.append(ListedInstruction(address, found[2], encoding, self.line))

    def high_half(self, bits: int) -> None:
        if self.lines and self.lines[-1].encoding is not None:
            last = self.lines[-1]
            self.lines[-1] = last._replace(encoding=(last.encoding or 0) | bits << 64)

    def finish(self) -> None:
        """End a kernel."""
        if self.lines:
            arch = self.arch or self.given_arch
            if not arch:
                raise MachineCodeError(
                    f"{self.name}: the text does not say its target: give it, for example sm_86"
                )
            resources = Resources(registers=self.registers, barriers=self.barriers)
            kernel = self.kernel or "kernel"
            self.found.append(Listing(kernel, arch, self.lines, self.labels, resources))
        if self.lines or self.kernel:
            self.registers = self.barriers = None
        self.kernel, self.lines, self.labels, self.waiting = "", [], {}, []
        self.frames, self.line = [], None
