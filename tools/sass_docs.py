"""Write the generated parts of the pages about machine code: our note, and what a GPU took.

``--check`` says whether the pages still have what the compiler and the records give. A generated
part stands between lines ``<!-- sass:NAME -->`` and ``<!-- sass:end -->``. Needs NVRTC and nvdisasm
of the version that the pages name: another compiler makes other code.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import micro
import pages

from oneread.cli import _sass_text as text
from oneread.runtime import nvrtc
from oneread.sass import Build, analyse, open_code
from oneread.sass.aligning import align
from oneread.sass.checking import Checked, check_note
from oneread.sass.claims import read_claims
from oneread.sass.read import nvdisasm
from oneread.sass.summary import roles_each, summarise

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "docs/the-sass-note.md", ROOT / "docs/sass-on-a-gpu.md")
NOTE = ROOT / "tests/sass/note.md"
CLAIMS = ROOT / "tests/sass/claims.toml"
BLOCK = re.compile(r"(<!-- sass:(\w+) -->\n).*?(<!-- sass:end -->)", re.DOTALL)

#: The comparison that the SASS note breaks off: its second kernel and its first.
COMPARED = ("safe_softmax_shared", "online_softmax_single_thread")


def versions() -> str:
    """Return the line that says with what a page was made."""
    number = ".".join(map(str, nvrtc.version()))
    return f"Made with NVRTC {number} and nvdisasm {nvdisasm.version()}."


@cache
def checked() -> Checked:
    """Return our note, checked for all targets and maths."""
    builds = [Build(target, fast) for fast in (True, False) for target in nvrtc.TARGETS]
    return check_note(NOTE.read_text("utf-8"), builds, name=NOTE.name)


def quotes() -> str:
    """Return which build has how many of the lines that our note quotes."""
    return "\n".join(text.check(checked(), as_markdown=True))


def claims() -> str:
    """Return for which builds the statements about our note's kernel hold."""
    given = read_claims(CLAIMS.read_text("utf-8"), CLAIMS.name)
    return "\n".join(text.claims(checked(), given, as_markdown=True)).strip()


def comparison() -> str:
    """Return in what the two kernels of the SASS note differ."""
    found = [analyse(open_code(key, Build("sm_86", fast_math=True)).kernel()) for key in COMPARED]
    summaries = [(name, summarise(one)) for name, one in zip(COMPARED, found, strict=True)]
    costs = [(name, roles_each(one)) for name, one in zip(COMPARED, found, strict=True)]
    return "\n".join(text.diff(summaries, costs, align(*found), as_markdown=True))


def measured() -> str:
    """Return what the newest run on a GPU took, beside what is predicted."""
    newest = micro.newest()
    return micro.tables(newest) if newest else "No run on a GPU is committed."


PARTS: dict[str, Callable[[], str]] = {
    "versions": versions,
    "quotes": quotes,
    "claims": claims,
    "comparison": comparison,
    "measured": measured,
}


def filled(page: str) -> str:
    """Return a page with its generated parts made anew."""
    return BLOCK.sub(lambda part: f"{part[1]}\n{PARTS[part[2]]()}\n\n{part[3]}", page)


def main() -> int:
    """Write the pages, or check them."""
    about = __doc__.partition("\n")[0]
    return pages.write_or_check(
        about, PAGES, filled, "machine code and records give", "tools/sass_docs.py"
    )


if __name__ == "__main__":
    sys.exit(main())
