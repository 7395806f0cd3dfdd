"""Write docs/tracer-subset.md: what the tests run, and the table by which the parser refuses.

``--check`` changes nothing and says whether the page still is what the lists give.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from oneread.source.includes import KNOWN_HEADERS  # noqa: E402
from oneread.trace.builtins import (  # noqa: E402
    CONSTANTS,
    FUNCTIONS,
    HINTED_LOADS,
    HINTED_STORES,
    Kind,
)
from oneread.trace.front.settings import Limits  # noqa: E402
from oneread.trace.refusals import REFUSALS  # noqa: E402
from oneread.trace.subset import ACCEPTED  # noqa: E402

PAGE = ROOT / "docs/tracer-subset.md"

HEAD = """# What the tracer reads

`oneread trace` reads a subset of CUDA C. This page is made (`python tools/subset_docs.py`) from the
tables of built-in names and of refusals that the parser goes by, and from examples of what is
taken, each of which the tests run.

Of a file, only what the chosen kernel reaches is read. Host functions, launches and includes of
unknown headers may stay where they are: they are left out and listed in one line. A construct
outside the subset is one error that names it and says what to do instead.
"""

#: The kinds of built-in functions, as they are called on the page.
KINDS: dict[Kind, str] = {
    "maths": "Maths",
    "bits": "Bits and conversions",
    "barrier": "Barrier of the block",
    "poll": "Barriers of the block with a vote",
    "warp": "Barrier of the warp",
    "fence": "Fences",
    "shuffle": "Shuffles",
    "vote": "Votes",
    "reduce": "Reductions of a warp",
    "atomic": "Atomics",
}

#: The limits of a file, as they are called on the page.
LIMITS = {
    "source_bytes": "bytes",
    "nesting": "brackets, blocks and operators within each other",
    "macro_depth": "macros within macros",
    "include_depth": "files within files",
    "tokens": "tokens after macros are expanded",
    "files": "files included",
    "instances": "functions made from templates",
    "errors": "errors shown",
}


def cell(code: str) -> str:
    """Return code as one cell of a table."""
    lines = [f"`{line.replace('|', chr(92) + '|')}`" for line in code.splitlines() if line.strip()]
    return "<br>".join(lines)


def words(names: list[str]) -> str:
    """Return names as code, with commas between."""
    return ", ".join(f"`{name}`" for name in names)


def page() -> str:
    """Return the text of the page."""
    lines = [HEAD, "## Taken", "", "| construct | example |", "|---|---|"]
    for row in ACCEPTED:
        code = f"{row.outside}\n{row.code}" if row.outside else row.code
        lines.append(f"| {row.what.replace('|', chr(92) + '|')} | {cell(code)} |")
    lines += ["", "## Built-in functions and constants", "", "| kind | names |", "|---|---|"]
    for kind, title in KINDS.items():
        names = [name for name, found in FUNCTIONS.items() if found[0].kind == kind]
        lines.append(f"| {title} | {words(names)} |")
    hinted = sorted(HINTED_LOADS | HINTED_STORES)
    lines.append(f"| Loads and stores with cache hints | {words(hinted)} |")
    lines.append(f"| Constants | {words(list(CONSTANTS))} |")
    lines.append(f"| Headers that need no file | {words(sorted(KNOWN_HEADERS))} |")
    lines += ["", "## Outside", "", "| construct | example | instead |", "|---|---|---|"]
    for refusal in REFUSALS.values():
        code = f"{refusal.outside}\n{refusal.code}" if refusal.outside else refusal.code
        lines.append(f"| {refusal.what} | {cell(code)} | {refusal.instead} |")
    limits = Limits()
    lines += [
        "",
        "## Limits",
        "",
        "Each is a setting (`--limit nesting=300`), and what goes beyond it is an error that",
        "names it.",
        "",
        "| of one file | at most | setting |",
        "|---|---|---|",
    ]
    for name, what in LIMITS.items():
        lines.append(f"| {what} | {getattr(limits, name):,} | `{name}` |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; 1 when it would")
    options = parser.parse_args()
    if options.check:
        same = PAGE.read_text("utf-8") == page()
        print("subset: the page is what the lists give" if same else "run tools/subset_docs.py")
        return 0 if same else 1
    PAGE.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
