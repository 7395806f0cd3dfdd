"""The SASS explainer: what the compiler made of a kernel, without a GPU.

Standard library only; compiles with NVRTC and disassembles with `nvdisasm` where those are
installed. Knows nothing of a GPU at run time. Names are loaded when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneread._lazy import lazy

if TYPE_CHECKING:
    from oneread.sass.analysis import Analysis, analyse
    from oneread.sass.asserting import SassAssertion, assert_sass
    from oneread.sass.decode.instruction import Instruction, Program
    from oneread.sass.errors import MachineCodeError
    from oneread.sass.read.opening import Build, Code, compile_source, open_code, read_code

_HOMES = {
    "oneread.sass.analysis": ("Analysis", "analyse"),
    "oneread.sass.asserting": ("SassAssertion", "assert_sass"),
    "oneread.sass.decode.instruction": ("Instruction", "Program"),
    "oneread.sass.errors": ("MachineCodeError",),
    "oneread.sass.read.opening": ("Build", "Code", "compile_source", "open_code", "read_code"),
}

__all__ = [
    "Analysis",
    "Build",
    "Code",
    "Instruction",
    "MachineCodeError",
    "Program",
    "SassAssertion",
    "analyse",
    "assert_sass",
    "compile_source",
    "open_code",
    "read_code",
]


__getattr__, __dir__ = lazy(__name__, _HOMES)
