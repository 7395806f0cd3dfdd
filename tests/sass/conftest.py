"""Machine code for tests: written by hand, or compiled from the gallery where the tools are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from oneread.pytest_plugin import AssertSass
from oneread.sass import SassAssertion
from oneread.sass.decode.decoding import decode
from oneread.sass.decode.instruction import Program
from oneread.sass.read.listing import ListedInstruction, Listing
from oneread.source.catalogue import read_catalogue


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


@pytest.fixture(scope="session")
def gallery_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the gallery as one source, so that a target takes one run of each tool.

    Each kernel is in a namespace of its own, with the macros that it is timed with.
    """
    catalogue = read_catalogue()
    pieces = []
    for key, entry in catalogue.kernels.items():
        macros = entry.bench_defines
        pieces += [f"#define {name} {value}" for name, value in macros.items()]
        text = catalogue.path(key).read_text("utf-8")
        includes = [line for line in text.splitlines() if line.startswith("#include")]
        rest = [line for line in text.splitlines() if not line.startswith("#include")]
        pieces += [*includes, f"namespace of_{key} {{", *rest, "}"]
        pieces += [f"#undef {name}" for name in macros]
    file = tmp_path_factory.mktemp("gallery") / "gallery.cu"
    file.write_text("\n".join(pieces), "utf-8")
    return file


@pytest.fixture(scope="session")
def of_gallery(gallery_file: Path, assert_sass: AssertSass) -> Callable[..., SassAssertion]:
    """Return a function that compiles a kernel of the gallery for a target and its maths."""

    def asserted(key: str, target: str, fast_math: bool) -> SassAssertion:
        return assert_sass(gallery_file, target, fast_math=fast_math, name=key)

    return asserted
