"""The SASS explainer: what the compiler made of a kernel, without a GPU.

Standard library only; compiles with NVRTC and disassembles with `nvdisasm` where those are
installed. Knows nothing of a GPU at run time. Names are loaded when they are used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oneread.sass.analysis import Analysis, analyse
    from oneread.sass.asserting import SassAssertion, assert_sass
    from oneread.sass.decode.instruction import Instruction, Program
    from oneread.sass.errors import MachineCodeError
    from oneread.sass.read.opening import Build, Code, compile_source, open_code, read_code

_HOMES = {
    "analysis": ("Analysis", "analyse"),
    "asserting": ("SassAssertion", "assert_sass"),
    "decode.instruction": ("Instruction", "Program"),
    "errors": ("MachineCodeError",),
    "read.opening": ("Build", "Code", "compile_source", "open_code", "read_code"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

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


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"oneread.sass.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
