"""Write the tables of README.md and the docs from committed runs of `oneread bench cpu`.

``python tools/bench_docs.py benchmarks/results/FILE.jsonl...``: of several runs, medians of ratios
and shares are shown. ``--check`` says whether the pages still have what their files give. The pages
hold the text between lines ``<!-- bench:NAME -->`` and ``<!-- bench:end -->``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oneread.bench import store, summary, tables, textbook
from oneread.bench.ours import OURS

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    ROOT / "README.md",
    ROOT / "docs/benchmarks.md",
    ROOT / "docs/does-online-softmax-pay-on-a-cpu.md",
)
RESULTS = ROOT / "benchmarks/results"
BLOCK = re.compile(r"(<!-- bench:(\w+) -->\n).*?(<!-- bench:end -->)", re.DOTALL)
SOURCE = re.compile(r"^- Records: `benchmarks/results/(.+\.jsonl)`$", re.MULTILINE)


def texts(files: Sequence[Path]) -> dict[str, str]:
    """Return the text of each block by its name."""
    runs = [store.load(file) for file in files]
    run = store.merge(runs, OURS)
    cases = list(run.by_case().values())
    groups = tables.groups(cases)
    # Those with textbook kernels have a page of their own; a goal missed there is missed here, too.
    plain = {name: rows for name, rows in groups.items() if not textbook.is_textbook(name)}
    facts = [f"- Records: `benchmarks/results/{file.name}`" for file in files]
    facts += [f"- {line}" for line in summary.facts(run.header)]
    short = tables.markdown(summary.cells(plain))
    missed = [f"- {line}" for line in summary.missed(groups)] or ["None."]
    return {
        "facts": "\n".join(facts),
        "summary": "\n".join(short),
        "missed": "\n".join(missed),
        "tables": "\n\n".join(map(_section, plain, plain.values())),
        **textbook.blocks(cases),
    }


def _section(name: str, rows: Any) -> str:
    lines = [f"### {name}", "", *tables.markdown(tables.cells(rows))]
    remarks = [f"- {remark}" for remark in tables.remarks(rows)]
    return "\n".join([*lines, "", *remarks] if remarks else lines)


def filled(page: str, blocks: dict[str, str]) -> str:
    """Return a page with its blocks replaced."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{blocks[block[2]]}\n\n{block[3]}", page)


def sources(page: str) -> list[Path]:
    """Return the files that a page names as its records."""
    return [RESULTS / name for name in SOURCE.findall(page)]


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="runs; default: those the pages name")
    parser.add_argument("--check", action="store_true", help="change nothing; 1 when it would")
    options = parser.parse_args()
    files = options.files or sources(PAGES[1].read_text("utf-8"))
    if not files:
        parser.error("docs/benchmarks.md names no records: give a file")
    if any(file.resolve().parent != RESULTS for file in files):
        parser.error("the pages are made from files in benchmarks/results only")
    blocks, stale = texts(files), []
    for page in PAGES:
        text = page.read_text("utf-8")
        new = filled(text, blocks)
        if new != text:
            stale.append(page.name)
            if not options.check:
                page.write_text(new, "utf-8")
    if options.check and stale:
        print(f"not what the records give: {', '.join(stale)}; run tools/bench_docs.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
