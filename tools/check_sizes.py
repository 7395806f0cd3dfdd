"""Check the aims of size: files up to 400 lines, Python functions up to 40, lines up to 100.

A longer one is allowed when `EXCEPTIONS` names it with a reason. An exception that nothing needs
any more is reported too, so that the list stays true. Standard library only.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tests", "tools", "examples")
SUFFIXES = (".py", ".pyi", ".cpp", ".hpp")

FILE_LINES = 400
FUNCTION_LINES = 40
LINE_WIDTH = 100

#: What is longer than the aim, and why it stays so: ``path`` or ``path:function``.
EXCEPTIONS: dict[str, str] = {}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def body_lines(function: Function) -> int:
    """Return the length of a function in lines, its docstring and decorators left out."""
    first, last = function.lineno, function.end_lineno or function.lineno
    lines = last - first + 1
    head = function.body[0]
    if ast.get_docstring(function) is not None:
        lines -= (head.end_lineno or head.lineno) - head.lineno + 1
    return lines


def findings(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yield (what, how long) for everything in a file that is beyond the aims."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    if len(lines) > FILE_LINES:
        yield name, f"{len(lines)} lines; the aim is {FILE_LINES}"
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_WIDTH:
            yield f"{name}:{number}", f"{len(line)} columns; the aim is {LINE_WIDTH}"
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, Function) and body_lines(node) > FUNCTION_LINES:
                length = f"{body_lines(node)} lines; the aim is {FUNCTION_LINES}"
                yield f"{name}:{node.name}", length


def sources(root: Path) -> Iterator[Path]:
    """Yield the files that the aims are for."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path


def check(root: Path, exceptions: dict[str, str]) -> list[str]:
    """Return one line for each thing to mend, an exception without need included."""
    found = {
        what: length
        for path in sources(root)
        for what, length in findings(path, path.relative_to(root).as_posix())
    }
    long = [f"{what}: {length}" for what, length in found.items() if what not in exceptions]
    idle = [f"{what}: no longer needs its exception" for what in exceptions if what not in found]
    return long + idle


def main() -> int:
    """Print what is too long; 1 when something is."""
    problems = check(ROOT, EXCEPTIONS)
    print("\n".join(problems) if problems else "sizes: all within the aims")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
