"""Machine code for tests: written by hand, or compiled from the gallery where the tools are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oneread.sass.decode.decoding import decode
from oneread.sass.decode.instruction import Program
from oneread.sass.read.listing import ListedInstruction, Listing


@pytest.fixture
def assemble() -> Callable[..., Program]:
    """Return a function that makes a program of lines such as ``loop: @P0 BRA `(loop)``."""

    def program(text: str, arch: str = "sm_86") -> Program:
        labels: dict[str, int] = {}
        instructions = []
        for line in filter(None, map(str.strip, text.splitlines())):
            label, colon, rest = line.partition(": ")
            if colon:
                labels[label] = 16 * len(instructions)
            instructions.append(ListedInstruction(16 * len(instructions), rest if colon else line))
        return decode(Listing("kernel", arch, instructions, labels))

    return program
