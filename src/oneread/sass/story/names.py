"""What the story calls things: parameters by the names of the source, loops by their addresses.

Knows no language.
"""

from __future__ import annotations

from oneread.sass.analysis import Analysis
from oneread.sass.facts.accesses import parameter_base
from oneread.sass.facts.accumulators import Accumulator
from oneread.sass.flow.graph import Loop
from oneread.sass.read.opening import Code
from oneread.source.host import find_kernels


class Names:
    """The names in one kernel."""

    def __init__(self, code: Code, analysis: Analysis) -> None:
        self.code = code
        self.analysis = analysis

    def loop(self, loop: Loop) -> str:
        """Return the address of a loop's head."""
        start = self.analysis.graph.blocks[loop.head].start
        return f"{self.analysis.program.instructions[start].address:#06x}"

    def carriers(self, one: Accumulator) -> str:
        """Return the registers of an accumulator, or its words' offsets."""
        if not one.is_shared:
            return ", ".join(map(str, one.carriers))
        offsets = [self.analysis.words.addresses[word].offset for word in one.carriers]
        return ", ".join(f"+{offset:#x}" for offset in offsets)

    def parameter(self, offset: int | None) -> str:
        """Return the name of the parameter at an offset, or where it is."""
        if offset is None:
            return "global memory"
        return self._names().get(
            offset, f"c[0x0][{parameter_base(self.analysis.program.target) + offset:#x}]"
        )

    def _names(self) -> dict[int, str]:
        """Return the names of the parameters by their offsets, if the source is known."""
        if self.code.source is None:
            return {}
        name = self.analysis.program.short_name
        for one in find_kernels(self.code.source):
            if one.name == name:
                found: dict[int, str] = {}
                at = 0
                for parameter in one.parameters:
                    size = _size(parameter.type, is_pointer=parameter.is_pointer)
                    if size is None:
                        return found
                    at = -(-at // size) * size
                    found[at] = parameter.name
                    at += size
                return found
        return {}


def _size(type_: str, *, is_pointer: bool) -> int | None:
    """Return the bytes of a parameter, None of a type that is not built in."""
    if is_pointer:
        return 8
    words = set(type_.replace("const", "").split())
    if words & {"long", "double", "size_t", "int64_t", "uint64_t"}:
        return 8
    return 4 if words & {"int", "unsigned", "float", "int32_t", "uint32_t"} else None
