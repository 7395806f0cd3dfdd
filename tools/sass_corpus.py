"""Read the machine code of kernels that are no softmax, for all targets and both kinds of maths.

``python tools/sass_corpus.py`` prints for each file and build how many kernels and instructions it
has, and the opcodes that are not known with their share. Ends with an exception where one cannot
be read. Needs NVRTC, nvdisasm and the headers of nvidia-cuda-cccl.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

from oneread.runtime import nvrtc
from oneread.sass import Build, analyse, open_code, record
from oneread.sass.story.telling import tell

CORPUS = Path(__file__).resolve().parents[1] / "tests/sass/corpus"


def read(path: Path, build: Build) -> tuple[int, int, Counter[str]]:
    """Return how many kernels and instructions a file has, and its unknown opcodes."""
    code = open_code(path, build)
    instructions, unknown = 0, Counter[str]()
    for program in code.programs:
        analysis = analyse(program)
        instructions += len(analysis.instructions)
        unknown += analysis.unknown
        tell(code, analysis)
        record.describe(code, analysis)
    return len(code.programs), instructions, unknown


def main() -> int:
    """Read all files for all builds; 1 where an opcode is not known."""
    kernels, instructions, unknown = 0, 0, Counter[str]()
    for path in sorted(CORPUS.glob("*.cu")):
        for target in nvrtc.TARGETS:
            for fast_math in (True, False):
                start = time.monotonic()
                found = read(path, Build(target, fast_math))
                took = time.monotonic() - start
                maths = "fast" if fast_math else "default"
                print(
                    f"{path.name:14} {target:7} {maths:8} {found[0]:4} kernels "
                    f"{found[1]:7,} instructions  {dict(found[2])}  {took:.1f} s",
                    flush=True,
                )
                kernels += found[0]
                instructions += found[1]
                unknown += found[2]
    share = 100 * unknown.total() / instructions
    print(
        f"{kernels:,} kernels, {instructions:,} instructions, unknown {share:.3f} % {dict(unknown)}"
    )
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
