"""Write the page about the paper's claims, and its figures, from committed runs.

``python tools/paper_docs.py benchmarks/results/FILE.jsonl...`` takes runs of `oneread paper` and of
`oneread bench`; without files it takes those that the page names. ``--check`` says whether the page
still has what they give; figures, which need Matplotlib, are not looked at then. The page holds the
text between lines ``<!-- paper:NAME -->`` and ``<!-- paper:end -->``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from oneread.bench.tables import markdown
from oneread.report.paper import machines, tables
from oneread.report.paper.claims import RULE
from oneread.report.paper.machines import Machine

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/what-the-paper-said.md"
IMAGES = ROOT / "docs/images"
RESULTS = ROOT / "benchmarks/results"
BLOCK = re.compile(r"(<!-- paper:(\w+) -->\n).*?(<!-- paper:end -->)", re.DOTALL)
SOURCE = re.compile(r"^- Records: `benchmarks/results/(.+\.jsonl)`$", re.MULTILINE)
#: Figures of the report that the documentation shows, and what they show.
FIGURES = {
    "claims": "The paper's number of each claim about time beside what was measured",
    "softmax": "Softmax over V, how many times as fast as the safe algorithm",
    "softmax_topk": "Softmax and top-5 over V, how many times as fast as safe softmax, then top-k",
    "table_of_k": "What fusing brings for K of 5 to 30",
    "map": "The best peer's time over ours for every case",
    "roofline": "Rates of softmax under that of a copy",
    "memory": "Peak memory against tokens, up to where it runs out",
}
NONE_YET = "Not measured yet."


def texts(found: Sequence[Machine], files: Sequence[Path]) -> dict[str, str]:
    """Return the text of each block by its name."""
    return {
        "answers": _list(tables.answers(found)),
        "verdicts": _verdicts(found),
        "rule": RULE,
        "timed": _claims(tables.timed(found)),
        "counted": _claims(tables.counted(found)),
        "memory": _each(found, tables.memory_table),
        "dram": _dram(found),
        "losses": _table(tables.losses_table(found)),
        "table_of_k": _each(found, tables.k_table),
        "facts": _facts(found, files),
        **{f"figure_{name}": _image(name) for name in FIGURES},
    }


def _image(name: str) -> str:
    """Return the line that shows a figure, if it has been drawn."""
    file = f"paper-{name}.svg"
    return f"![{FIGURES[name]}](images/{file})" if (IMAGES / file).exists() else NONE_YET


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) or NONE_YET


def _table(table: tables.Table) -> str:
    return "\n".join(markdown(table)) if len(table) > 1 else NONE_YET


def _verdicts(found: Sequence[Machine]) -> str:
    return _list([
        f"{where}: " + ", ".join(tables.counted_verdicts(counts))
        for where, counts in tables.verdicts(found).items()
    ])  # fmt: skip


def _claims(lines: Sequence[tables.Line]) -> str:
    """Return a section for each claim: what the paper says, and a line for each machine."""
    parts = []
    for line in lines:
        parts.append(f"**{line.said}.** The paper: {line.figure}.\n")
        for where, finding in line.found.items():
            measured = "" if finding.measured == "-" else f", {finding.measured}"
            parts.append(f"- {where}: **{finding.verdict}**{measured}. {_sentence(finding.why)}")
        parts.append("")
    return "\n".join(parts).strip()


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _each(found: Sequence[Machine], table: object) -> str:
    """Return a table for each machine that has one."""
    assert callable(table)
    made = [(machine, table(machine)) for machine in found]
    parts = [f"{machine.name}:\n\n{_table(one)}" for machine, one in made if len(one) > 1]
    return "\n\n".join(parts) or NONE_YET


def _dram(found: Sequence[Machine]) -> str:
    parts = []
    for machine in tables.judged(found):
        parts.append(f"{machine.name}. {tables.dram_remark(machine)}")
        if len(table := tables.dram_table(machine)) > 1:
            parts.append(_table(table))
    return "\n\n".join(parts) or NONE_YET


def _facts(found: Sequence[Machine], files: Sequence[Path]) -> str:
    lines = [f"- Records: `benchmarks/results/{file.name}`" for file in files]
    for machine in found:
        lines += [f"- {line}" for line in tables.machine_facts(machine)]
    return "\n".join(lines)


def filled(page: str, made: dict[str, str]) -> str:
    """Return a page with its blocks replaced."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{made[block[2]]}\n\n{block[3]}", page)


def draw(found: Sequence[Machine]) -> None:
    """Write the figures as vectors."""
    from oneread.report.paper import figures
    from oneread.report.paper.style import look, svg

    for name in FIGURES:
        with look():
            figure = figures.FIGURES[name](found)
        file = IMAGES / f"paper-{name}.svg"
        if figure is None:
            file.unlink(missing_ok=True)
        else:
            file.write_text(svg(figure), "utf-8")


def main() -> int:
    """Write the page and its figures, or check the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="runs; default: those the page names")
    parser.add_argument("--check", action="store_true", help="change nothing; 1 when it would")
    options = parser.parse_args()
    if any(file.resolve().parent != RESULTS for file in options.files):
        parser.error("the page is made from files in benchmarks/results only")
    text = PAGE.read_text("utf-8")
    files = options.files or [RESULTS / name for name in SOURCE.findall(text)]
    found = machines.read(files)
    if not options.check:
        draw(found)
    new = filled(text, texts(found, files))
    if options.check:
        if new != text:
            print(f"not what the records give: {PAGE.name}; run tools/paper_docs.py")
        return int(new != text)
    PAGE.write_text(new, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
