"""Build the CPU kernels wrong on purpose and demand that the C++ test program notices.

Each mutant is one replacement in one source, which holds where `MUTANT` is true. All of them are
compiled in, so that the test program is built once and runs once with each. A mutant that survives,
or a replacement that no longer fits the source, fails. Needs a C++ compiler and an x86-64 machine
with AVX2. Run: python tools/kill_mutants.py
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "src/oneread/kernels/cpu"
TESTS = ROOT / "tests/cpp"
FLAGS = ["-std=c++20", "-O1", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
QUIET = ["-w", "-Wno-psabi"]
COUNTED = ("gradient", "reduce", "softmax", "stage", "textbook")  # drivers built a second time
VECTORS = ("isa", "gradient_isa", "textbook_isa")  # built once for each instruction set
OTHERS = (*VECTORS, "module")  # and Python's
DRIVERS = tuple(sorted(path.stem for path in KERNELS.glob("*.cpp") if path.stem not in OTHERS))
ISAS = ("x86_64_v2", "x86_64_v3", "x86_64_v4", "scalar", "counting")
TESTED = "x86_64_v3"  # mutants of vector code are there for this one alone
SECONDS = 120

#: The number of the mutant that holds, 0 for none, asked of the environment.
CHOICE = """
#include <cstdlib>
int oneread_mutant = std::getenv("MUTANT") ? std::atoi(std::getenv("MUTANT")) : 0;
"""


class Mutant(NamedTuple):
    """A replacement in one source, `MUTANT` in it for whether the mutant holds."""

    name: str
    source: str
    old: str
    new: str


MUTANTS = (
    Mutant(
        "no rescale", "online.hpp", "    folded.multiply(factor);\n",
        "    if (!MUTANT) folded.multiply(factor);\n",
    ),
    Mutant(
        "lost tail", "online.hpp", "i < n; i += W, u++)",
        "MUTANT ? i + W <= n : i < n; i += W, u++)",
    ),
    Mutant(
        "no rescale in the textbook", "textbook.hpp", "d.lane[u], rescale, exp(v[u] - m)",
        "d.lane[u], MUTANT ? V::set(1) : rescale, exp(v[u] - m)",
    ),
    Mutant(
        "maxima counted once too often", "short.hpp", "V::counted(ties) - 1",
        "V::counted(ties) - (MUTANT ? 0 : 1)",
    ),
    Mutant(
        "lost tail of a short row", "short.hpp", "      if (i < stop) {",
        "      if (i < stop && !MUTANT) {",
    ),
    Mutant(
        "half a tile", "tile.hpp", "for (int i = 0; i < L; i++) {",
        "for (int i = 0; i < (MUTANT ? L / 2 : L); i++) {",
    ),
    Mutant(
        "a softcap that does not flatten", "gradient.hpp",
        "return kCapped ? d * steepness : d;", "return kCapped && !MUTANT ? d * steepness : d;",
    ),
    Mutant(
        "a gradient's sum without its last columns", "gradient.hpp",
        "if (i < n) add(kAtOnce - 1", "if (i < n && !MUTANT) add(kAtOnce - 1",
    ),
    Mutant(
        "rows without coefficients are computed", "gradient.cpp", "std::memset(dx, 0, n *",
        "std::memset(dx, 0, (MUTANT ? 0 : n) *",
    ),
    Mutant(
        "maximum in the sum", "online.hpp", "    x = smaller;\n",
        "    if (!MUTANT) x = smaller;\n",
    ),
    Mutant(
        "hidden NaN", "exp.hpp", "x = V::hi(scale.low, x);",
        "x = MUTANT ? V::hi(x, scale.low) : V::hi(scale.low, x);",
    ),
    Mutant(
        "early factor", "output.hpp", "small = factor.power < -half",
        "small = factor.power < -half && !MUTANT",
    ),
    Mutant(
        "maxima of the first vector", "scan.hpp", "    for (size_t i = 0; i < n; maxima += W) {",
        "    for (size_t i = 0, m = n; i < m; maxima += W) {\n      if (MUTANT) n = W < m ? W : m;",
    ),
    Mutant(
        "ties by the last column", "select.hpp", "column < other.column",
        "(MUTANT ? column > other.column : column < other.column)",
    ),
    Mutant(
        "merge without the lower maximum", "state.hpp", "moved = factor * (1 + low.r)",
        "moved = factor * ((MUTANT ? 0 : 1) + low.r)",
    ),
    Mutant(
        "columns beyond the length are read", "rows.hpp", "return request_.lengths ?",
        "return request_.lengths && !MUTANT ?",
    ),
    Mutant(
        "subnormal inputs for zero", "isa_pick.cpp", "constexpr unsigned masked = 0x1f80",
        "const unsigned masked = 0x1f80 | (MUTANT ? saved_ & 0x40 : 0)",
    ),
)  # fmt: skip


def compiler() -> list[str]:
    """Return the command that builds oneread."""
    asked = os.environ.get("CXX", "")
    if asked:
        return shlex.split(asked)
    finder = [sys.executable, str(ROOT / "tools/find_compiler.py")]
    return subprocess.run(finder, capture_output=True, text=True, check=True).stdout.split()


def mutated(to: Path) -> Path:
    """Copy the kernels with every mutant in them."""
    sources = to / "kernels"
    shutil.copytree(KERNELS, sources)
    for number, mutant in enumerate(MUTANTS, 1):
        path = sources / mutant.source
        text = path.read_text(encoding="utf-8")
        if text.count(mutant.old) != 1:
            raise SystemExit(f"mutant '{mutant.name}' no longer fits {mutant.source}")
        new = mutant.new.replace("MUTANT", f"MUTANT({number})")
        path.write_text(text.replace(mutant.old, new), encoding="utf-8")
    (sources / "mutant.hpp").write_text("extern int oneread_mutant;\n", encoding="utf-8")
    (sources / "mutant.cpp").write_text(CHOICE, encoding="utf-8")
    return sources


def compile_object(command: list[str], name: str, sources: Path, to: Path) -> Path:
    """Compile one object of the test program from the kernels in `sources`."""
    flags = [*FLAGS, *QUIET, f"-I{sources}", "-include", sources / "mutant.hpp"]
    stem, _, isa = name.partition("-")
    there = "false" if isa in ISAS and isa != TESTED else "(oneread_mutant == (number))"
    flags.append(f"-DMUTANT(number)={there}")
    if isa in ISAS:
        level = isa.replace("x86_64_", "x86-64-") if isa.startswith("x86") else "x86-64-v2"
        flags += [f"-DONEREAD_ISA={isa}", f"-march={level}"]
    if isa == "scalar":
        flags.append("-DONEREAD_SCALAR")
    if isa in ("counting", "counted"):
        flags.append("-DONEREAD_COUNTING")
    folder = TESTS if (TESTS / f"{stem}.cpp").exists() else sources
    source = folder / f"{stem}.cpp"
    subprocess.run([*command, *flags, "-c", source, "-o", to / f"{name}.o"], check=True)
    return to / f"{name}.o"


def build(command: list[str], scratch: Path, pool: ThreadPoolExecutor) -> Path:
    """Build the test program with all mutants in it."""
    again = [f"{driver}-counted" for driver in COUNTED]
    again += [f"{part}-{isa}" for part in VECTORS for isa in ISAS]
    names = [*again, *DRIVERS, *(path.stem for path in TESTS.glob("*.cpp")), "mutant"]
    sources = mutated(scratch)
    objects: Iterable[Path] = pool.map(
        lambda name: compile_object(command, name, sources, scratch), names
    )
    subprocess.run([*command, *objects, "-pthread", "-o", scratch / "tests"], check=True)
    return scratch / "tests"


def passes(program: Path, mutant: int) -> bool:
    """Say whether the tests pass with a mutant, 0 for none."""
    environment = os.environ | {"MUTANT": str(mutant)}
    try:
        done = subprocess.run(
            [program], capture_output=True, check=False, timeout=SECONDS, env=environment
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main() -> int:
    """Build once, run with each mutant; return how many survived."""
    command, start = compiler(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        program = build(command, Path(folder), pool)
        if not passes(program, 0):
            print("the kernels as they are fail their tests")
            return 1
        fates = pool.map(lambda number: passes(program, number), range(1, len(MUTANTS) + 1))
        alive = [m.name for m, fate in zip(MUTANTS, fates, strict=True) if fate]
    for name in alive:
        print(f"survived: {name}")
    print(f"{len(MUTANTS) - len(alive)} of {len(MUTANTS)} mutants were killed", end=" ")
    print(f"in {time.monotonic() - start:.0f} s")
    return len(alive)


if __name__ == "__main__":
    sys.exit(main())
