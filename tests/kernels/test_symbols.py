"""The object code of each instruction set: nothing of it can be linked into another's.

The linker keeps one copy of a template that several objects define. Where that copy comes from
the wrong object, a machine runs instructions that it lacks. So everything that the vector code
defines lies in its own namespace, and its loops use the registers that it is there for.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oneread.runtime.cpu import native

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "src/oneread/kernels/cpu"
SOURCES = [KERNELS / name for name in ("isa.cpp", "textbook_isa.cpp")]
#: Where `make` builds.
BUILT = ROOT / "build/venv/CMakeFiles"
CMAKE = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
X86 = ("x86_64_v2", "x86_64_v3", "x86_64_v4", "scalar")

Objects = dict[str, Path]

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="this machine is not x86-64"
)

needs_nm = pytest.mark.skipif(not shutil.which("nm"), reason="nm (binutils) is not installed")
needs_objdump = pytest.mark.skipif(
    not shutil.which("objdump"), reason="objdump (binutils) is not installed"
)


def compiler() -> list[str]:
    """Return a command that builds oneread, or skip."""
    asked = os.environ.get("CXX", "")
    if asked:
        return shlex.split(asked)
    finder = [sys.executable, str(ROOT / "tools/find_compiler.py")]
    said = subprocess.run(finder, capture_output=True, text=True, check=False)
    if said.returncode:
        pytest.skip(f"no C++ compiler: {said.stderr.strip()}")
    return said.stdout.split()


def flags(namespace: str) -> list[str]:
    """Return the flags that CMakeLists.txt gives to the code of one instruction set."""
    found = []
    for pattern in (
        r"set\(optimise (.+)\)",
        r"set\(arithmetic (.+)\)",
        rf"oneread_isa\({namespace} (.+)\)",
        r"set\(least (-.+)\)",
    ):
        match = re.search(pattern, CMAKE)
        assert match, f"CMakeLists.txt no longer has {pattern}"
        found += match[1].split()
    found = [found[-1] if flag == "${least}" else flag for flag in found[:-1]]
    return ["-std=c++20", "-fPIC", "-DNDEBUG", f"-DONEREAD_ISA={namespace}", *found]


def built(namespace: str) -> list[Path]:
    """Return what `make` built of the sources as they are; none if that is not there."""
    folder = BUILT / f"isa_{namespace}.dir"
    found = [folder / f"{source.relative_to(ROOT)}.o" for source in SOURCES]
    changed = max(path.stat().st_mtime for path in (*KERNELS.iterdir(), ROOT / "CMakeLists.txt"))
    fresh = all(path.exists() and path.stat().st_mtime > changed for path in found)
    return found if fresh else []


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Objects:
    """Return the object file of each instruction set: the build's, or compiled as it does."""
    folder, command = tmp_path_factory.mktemp("objects"), compiler()

    def compiled(namespace: str) -> Path:
        parts = built(namespace)
        for source in SOURCES[len(parts) :]:
            parts.append(folder / f"{namespace}-{source.stem}.o")
            words = [*command, *flags(namespace), "-w", "-c", source, "-o", parts[-1]]
            subprocess.run(words, check=True)
        made = folder / f"{namespace}.o"
        subprocess.run([*command, "-r", "-nostdlib", *parts, "-o", made], check=True)
        return made

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(X86, pool.map(compiled, X86), strict=True))


def symbols(path: Path) -> list[tuple[str, str]]:
    """Return (kind, name) of each symbol; the kind is a small letter for what stays inside."""
    said = subprocess.run(["nm", "-C", str(path)], capture_output=True, text=True, check=True)
    lines = [line[17:] for line in said.stdout.splitlines()]
    return [(line[0], line[2:]) for line in lines]


def disassembled(path: Path, where: Callable[[str], bool]) -> dict[str, list[tuple[int, str]]]:
    """Return the instructions and their addresses, by function, of the functions asked for."""
    said = subprocess.run(
        ["objdump", "-d", "-C", "--no-show-raw-insn", str(path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    functions: dict[str, list[tuple[int, str]]] = {}
    name = ""
    for line in said.stdout.splitlines():
        if head := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            name = head[1]
        elif where(name) and (code := re.match(r"\s*([0-9a-f]+):\s+(\S.*)", line)):
            functions.setdefault(name, []).append((int(code[1], 16), code[2]))
    return functions


def hot_loop(code: list[tuple[int, str]]) -> list[str]:
    """Return the shortest loop of a function that does all of the arithmetic of a block."""
    loops = []
    for at, text in code:
        jump = re.match(r"j\w+\s+([0-9a-f]+)", text)
        if jump and int(jump[1], 16) < at:
            loops.append([inner for where, inner in code if int(jump[1], 16) <= where <= at])
    # One block is four vectors with at least six steps of the polynomial each.
    full = [loop for loop in loops if sum("fmadd" in line for line in loop) >= 24]
    assert full, "no loop with the arithmetic of a block"
    return min(full, key=len)


def softmax_loop(path: Path) -> list[str]:
    """Return the loop that reads float32 logits, sums and stores their exponentials."""
    wanted = re.compile(r"Online<float, false, false>::run<false, true, .*Writer")
    found = disassembled(path, lambda name: bool(wanted.search(name)))
    assert found, "the loop of softmax is a function of its own"
    return hot_loop(max(found.values(), key=len))


@needs_nm
@pytest.mark.parametrize("namespace", X86)
def test_everything_that_others_can_link_lies_in_the_own_namespace(
    namespace: str, objects: Objects
) -> None:
    linkable = [name for kind, name in symbols(objects[namespace]) if kind in "TWVDBRGCiu"]
    prefix = re.compile(
        rf"((guard variable|vtable|typeinfo( name)?) for )?(\S.* )?oneread::{namespace}::"
    )
    assert any(name.startswith(f"oneread::{namespace}::table(") for name in linkable)
    assert [name for name in linkable if not prefix.match(name)] == []


@needs_nm
@pytest.mark.parametrize("namespace", X86)
def test_vector_code_needs_nothing_but_the_c_library(namespace: str, objects: Objects) -> None:
    needed = [name for kind, name in symbols(objects[namespace]) if kind == "U"]
    assert "exp" in needed
    # A C++ name would be somebody's template, compiled for who knows which machine.
    assert [name for name in needed if not re.fullmatch(r"\w+", name)] == []


@needs_objdump
@pytest.mark.parametrize(("namespace", "registers"), [("x86_64_v3", "ymm"), ("x86_64_v4", "zmm")])
def test_hot_loop_uses_the_widest_registers_and_fuses(
    namespace: str, registers: str, objects: Objects
) -> None:
    loop = softmax_loop(objects[namespace])
    products = [line for line in loop if re.match(r"vf(n?)m(add|sub)\d+ps", line)]
    assert len(products) >= 24
    assert [line for line in products if registers not in line] == []
    store = re.compile(rf"vmov(ups|aps|dqu\d*|dqa\d*)\s+%{registers}\d+,.*\(")
    stores = [line for line in loop if store.match(line)]
    assert len(stores) >= 4  # the exponentials
    if registers == "zmm":  # 32 of them: no sum leaves its register within the loop
        assert len(stores) == 4


@needs_objdump
def test_scalar_code_computes_one_element_at_a_time(objects: Objects) -> None:
    wanted = re.compile(r"Textbook<(float|double)>|Online<(float|double), ")
    code = disassembled(objects["scalar"], lambda name: bool(wanted.search(name)))
    instructions = [text for function in code.values() for _, text in function]
    assert sum(text.startswith("mulss") for text in instructions) > 100
    packed = re.compile(r"(add|sub|mul|div|max|min)p[sd]\b")
    assert [text for text in instructions if packed.match(text)] == []


@needs_objdump
@pytest.mark.parametrize(
    ("namespace", "beyond"),
    [
        ("x86_64_v2", r"[yz]mm\d|%k[1-7]|^v[a-z]"),
        ("x86_64_v3", r"zmm\d|%k[1-7]|[xy]mm(1[6-9]|2\d|3[01])"),
    ],
    ids=["x86_64_v2", "x86_64_v3"],
)
def test_no_instruction_is_beyond_the_set(namespace: str, beyond: str, objects: Objects) -> None:
    code = disassembled(objects[namespace], lambda name: True)
    instructions = [text for function in code.values() for _, text in function]
    assert len(instructions) > 1000
    wrong = re.compile(beyond)
    assert [text for text in instructions if wrong.search(text)] == []


@needs_nm
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux takes a list of what is exported")
def test_module_exports_its_entry_alone() -> None:
    said = subprocess.run(
        ["nm", "-D", "--defined-only", native.__file__], capture_output=True, text=True, check=True
    )
    assert [line.split()[-1].split("@")[0] for line in said.stdout.splitlines()] == [
        "PyInit__native"
    ]
