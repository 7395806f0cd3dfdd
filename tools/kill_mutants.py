"""Build the CPU kernels wrong on purpose and demand that the C++ test program notices.

Each mutant is one replacement in a copy of one source. A mutant that survives, or a replacement
that no longer fits the source, fails. Needs a C++ compiler and an x86-64 machine with AVX2.
Run: python tools/kill_mutants.py
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "src/oneread/kernels/cpu"
TESTS = ROOT / "tests/cpp"
FLAGS = ["-std=c++20", "-O1", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
QUIET = ["-w", "-Wno-psabi"]
COUNTED = ("reduce", "softmax", "stage", "textbook")  # drivers that have a second build
OTHERS = ("isa", "textbook_isa", "module")  # built once for each instruction set; Python's
DRIVERS = tuple(sorted(path.stem for path in KERNELS.glob("*.cpp") if path.stem not in OTHERS))
ISAS = ("x86_64_v2", "x86_64_v3", "x86_64_v4", "scalar", "counting")
TESTED = "x86_64_v3"  # mutants of vector code are compiled for this one alone
SECONDS = 120


class Mutant(NamedTuple):
    """A replacement in one source, and the objects that must be built again for it."""

    name: str
    source: str
    old: str
    new: str
    rebuilt: tuple[str, ...]


VECTOR = (f"isa-{TESTED}", f"textbook_isa-{TESTED}")
MUTANTS = (
    Mutant("no rescale", "online.hpp", "    folded.multiply(factor);\n", "", VECTOR),
    Mutant("lost tail", "online.hpp", "i < n; i += W, u++)", "i + W <= n; i += W, u++)", VECTOR),
    Mutant(
        "no rescale in the textbook", "textbook.hpp", "d.lane[u], rescale, exp(v[u] - m)",
        "d.lane[u], V::set(1), exp(v[u] - m)", VECTOR,
    ),
    Mutant(
        "maxima counted once too often", "short.hpp", "V::counted(ties) - 1", "V::counted(ties)",
        VECTOR,
    ),
    Mutant(
        "lost tail of a short row", "short.hpp", "      if (i < stop) {", "      if (false) {",
        VECTOR,
    ),
    Mutant(
        "half a tile", "tile.hpp", "for (int i = 0; i < L; i++) {",
        "for (int i = 0; i < L / 2; i++) {", VECTOR,
    ),
    Mutant("maximum in the sum", "online.hpp", "    x = smaller;\n", "", VECTOR),
    Mutant(
        "hidden NaN", "exp.hpp", "x = V::hi(scale.low, x);", "x = V::hi(x, scale.low);", VECTOR
    ),
    Mutant("early factor", "output.hpp", "small = factor.power < -half", "small = false", VECTOR),
    Mutant(
        "maxima of the first vector", "scan.hpp", "    for (size_t i = 0; i < n; maxima += W) {",
        "    for (size_t i = 0, m = n; i < m; maxima += W) {\n      n = W < m ? W : m;", VECTOR,
    ),
    Mutant(
        "ties by the last column", "select.hpp", "column < other.column", "column > other.column",
        ("reduce",),
    ),
    Mutant(
        "merge without the lower maximum", "state.hpp", "moved = factor * (1 + low.r)",
        "moved = factor * low.r",
        ("reduce", "softmax"),
    ),
    Mutant(
        "columns beyond the length are read", "rows.hpp",
        "return request_.lengths ? (size_t)request_.lengths[row] : layout_.vocab;",
        "return layout_.vocab;", ("reduce", "softmax"),
    ),
    Mutant(
        "subnormal inputs for zero", "isa_pick.cpp", "constexpr unsigned masked = 0x1f80",
        "const unsigned masked = 0x1f80 | (saved_ & 0x40)", ("isa_pick",),
    ),
)  # fmt: skip


def compiler() -> list[str]:
    """Return the command that builds oneread."""
    asked = os.environ.get("CXX", "")
    if asked:
        return shlex.split(asked)
    finder = [sys.executable, str(ROOT / "tools/find_compiler.py")]
    return subprocess.run(finder, capture_output=True, text=True, check=True).stdout.split()


def compile_object(command: list[str], name: str, sources: Path, to: Path) -> Path:
    """Compile one object of the test program from the kernels in `sources`."""
    flags = [*FLAGS, *QUIET, f"-I{sources}"]
    stem, _, isa = name.partition("-")
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


def passes(command: list[str], objects: dict[str, Path], program: Path) -> bool:
    """Link the test program and say whether its tests pass."""
    subprocess.run([*command, *objects.values(), "-pthread", "-o", program], check=True)
    try:
        done = subprocess.run([program], capture_output=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def survives(mutant: Mutant, command: list[str], objects: dict[str, Path], scratch: Path) -> bool:
    """Build a mutant and say whether the tests pass all the same."""
    folder = scratch / mutant.name.replace(" ", "_")
    shutil.copytree(KERNELS, folder)
    source = folder / mutant.source
    text = source.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise SystemExit(f"mutant '{mutant.name}' no longer fits {mutant.source}")
    source.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    rebuilt = {name: compile_object(command, name, folder, folder) for name in mutant.rebuilt}
    return passes(command, objects | rebuilt, folder / "tests")


def main() -> int:
    """Build everything once, then each mutant; return how many survived."""
    command, start = compiler(), time.monotonic()
    again = [f"{driver}-counted" for driver in COUNTED]
    again += [f"{part}-{isa}" for part in ("isa", "textbook_isa") for isa in ISAS]
    names = [*DRIVERS, *again, *(path.stem for path in TESTS.glob("*.cpp"))]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        scratch = Path(folder)
        built = pool.map(lambda name: compile_object(command, name, KERNELS, scratch), names)
        objects = dict(zip(names, built, strict=True))
        if not passes(command, objects, scratch / "tests"):
            print("the kernels as they are fail their tests")
            return 1
        fates = pool.map(lambda m: survives(m, command, objects, scratch), MUTANTS)
        alive = [m.name for m, fate in zip(MUTANTS, fates, strict=True) if fate]
    for name in alive:
        print(f"survived: {name}")
    print(f"{len(MUTANTS) - len(alive)} of {len(MUTANTS)} mutants were killed", end=" ")
    print(f"in {time.monotonic() - start:.0f} s")
    return len(alive)


if __name__ == "__main__":
    sys.exit(main())
