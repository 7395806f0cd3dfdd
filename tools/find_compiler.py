"""Print the path of a C++ compiler that can build oneread, or say in one line what is missing.

Usage: ``find_compiler.py [CXX]``. With an argument only that one is looked at. Standard library
only: it runs before anything is installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MINIMUM = {"GCC": 12, "Clang": 15}
NEEDED = "oneread needs GCC >= 12 or Clang >= 15"
VERSIONS = range(20, 11, -1)
CANDIDATES = (
    "g++",
    "clang++",
    "c++",
    *(f"g++-{version}" for version in VERSIONS),
    *(f"clang++-{version}" for version in VERSIONS if version >= MINIMUM["Clang"]),
)
PROGRAM = "#include <atomic>\n#include <bit>\nint main() { return std::popcount(0u); }\n"


def version_of(compiler: list[str]) -> tuple[str, int] | None:
    """Return the family and major version that the compiler's own macros tell."""
    command = [*compiler, "-dM", "-E", "-x", "c++", "/dev/null"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    macros = dict(
        line.split(" ", 2)[1:] for line in said.stdout.splitlines() if line.count(" ") >= 2
    )
    for family, macro in (("Clang", "__clang_major__"), ("GCC", "__GNUC__")):
        if macro in macros:
            return family, int(macros[macro])
    return None


def builds_a_program(compiler: list[str]) -> bool:
    """Return whether a C++20 program compiles and links: the standard library may be missing."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "try.cpp")
        source.write_text(PROGRAM, encoding="ascii")
        command = [*compiler, "-std=c++20", str(source), "-o", str(Path(folder, "try"))]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def why_not(compiler: list[str]) -> str:
    """Return what keeps this compiler from building oneread; empty when nothing does."""
    name = " ".join(compiler)
    version = version_of(compiler)
    if version is None:
        return f"{name} is neither GCC nor Clang; {NEEDED}"
    family, major = version
    if major < MINIMUM[family]:
        return f"{name} is {family} {major}; {NEEDED}"
    if not builds_a_program(compiler):
        return f"{name} ({family} {major}) cannot build a C++20 program: no standard library?"
    return ""


def main(arguments: list[str]) -> int:
    """Print the first compiler that can do it."""
    asked = [argument for argument in arguments if argument]
    reasons = []
    for name in asked or CANDIDATES:
        program, *options = name.split()  # CXX may be "ccache g++"
        path = shutil.which(program)
        if path is None:
            reasons += [f"CXX={name} was not found"] if asked else []
            continue
        reason = why_not([path, *options])
        if not reason:
            print(path, *options)
            return 0
        reasons.append(reason)
    missing = f"no C++ compiler found; {NEEDED} (Debian, Ubuntu: apt-get install g++)"
    print(f"oneread: {reasons[0] if reasons else missing}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
