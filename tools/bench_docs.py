"""Write the tables of README.md and the docs from committed runs of `oneread bench`.

``python tools/bench_docs.py benchmarks/results/FILE.jsonl...``: of several runs of one device,
medians of ratios and shares are shown; a device without a file keeps those that its page names.
``--check`` says whether the pages still have what their files give. The pages hold the text between
lines ``<!-- bench:NAME -->`` and ``<!-- bench:end -->``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oneread.bench import accuracy, store, summary, tables, textbook
from oneread.bench.ours import OURS

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    ROOT / "README.md",
    ROOT / "docs/benchmarks.md",
    ROOT / "docs/does-online-softmax-pay-on-a-cpu.md",
    ROOT / "docs/gpu.md",
    ROOT / "docs/accuracy.md",
)
#: The page that names the records of a device.
SOURCES = {"cpu": "benchmarks.md", "gpu": "gpu.md"}
RESULTS = ROOT / "benchmarks/results"
BLOCK = re.compile(r"(<!-- bench:(\w+) -->\n).*?(<!-- bench:end -->)", re.DOTALL)
SOURCE = re.compile(r"^- Records: `benchmarks/results/(.+\.jsonl)`$", re.MULTILINE)
NOT_MEASURED = "Not measured yet."


def texts(cpu: Sequence[Path], gpu: Sequence[Path]) -> dict[str, str]:
    """Return the text of each block by its name."""
    runs = {"CPU": merged(cpu)} | ({"GPU": merged(gpu)} if gpu else {})
    cases = list(runs["CPU"].by_case().values())
    groups = tables.groups(cases)
    # Those with textbook kernels have a page of their own; a goal missed there is missed here, too.
    plain = {name: rows for name, rows in groups.items() if not textbook.is_textbook(name)}
    return {
        **blocks("", cpu, runs["CPU"], plain, groups),
        **textbook.blocks(cases),
        **gpu_blocks(gpu, runs.get("GPU")),
        "accuracy": "\n".join(tables.markdown(accuracy.cells(runs))),
    }


def gpu_blocks(files: Sequence[Path], run: store.Run | None) -> dict[str, str]:
    """Return the blocks of the GPU; before the first run they say that there is none."""
    if run is None:
        return {f"gpu_{name}": NOT_MEASURED for name in ("facts", "summary", "missed", "tables")}
    groups = tables.groups(list(run.by_case().values()))
    return blocks("gpu_", files, run, groups, groups)


def merged(files: Sequence[Path]) -> store.Run:
    """Return the runs of one device as one."""
    return store.merge([store.load(file) for file in files], OURS)


def blocks(
    prefix: str, files: Sequence[Path], run: store.Run, shown: dict[str, Any], judged: Any
) -> dict[str, str]:
    """Return the blocks of a device: facts, the short table, what was missed, all rows."""
    facts = [f"- Records: `benchmarks/results/{file.name}`" for file in files]
    facts += [f"- {line}" for line in summary.facts(run.header)]
    missed = [f"- {line}" for line in summary.missed(judged)] or ["None."]
    return {
        f"{prefix}facts": "\n".join(facts),
        f"{prefix}summary": "\n".join(tables.markdown(summary.cells(shown))),
        f"{prefix}missed": "\n".join(missed),
        f"{prefix}tables": "\n\n".join(map(_section, shown, shown.values())),
    }


def _section(name: str, rows: Any) -> str:
    lines = [f"### {name}", "", *tables.markdown(tables.cells(rows))]
    remarks = [f"- {remark}" for remark in tables.remarks(rows)]
    return "\n".join([*lines, "", *remarks] if remarks else lines)


def filled(page: str, texts: dict[str, str]) -> str:
    """Return a page with its blocks replaced."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{texts[block[2]]}\n\n{block[3]}", page)


def sources(device: str) -> list[Path]:
    """Return the files that the page of a device names as its records."""
    (page,) = (page for page in PAGES if page.name == SOURCES[device])
    return [RESULTS / name for name in SOURCE.findall(page.read_text("utf-8"))]


def by_device(files: Sequence[Path]) -> dict[str, list[Path]]:
    """Return the files of each device: those given, or else those of its page."""
    found: dict[str, list[Path]] = {device: [] for device in SOURCES}
    for file in files:
        machine = store.load(file).header["machine"]
        found["gpu" if "gpu" in machine else "cpu"].append(file)
    return {device: given or sources(device) for device, given in found.items()}


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="runs; default: those the pages name")
    parser.add_argument("--check", action="store_true", help="change nothing; 1 when it would")
    options = parser.parse_args()
    if any(file.resolve().parent != RESULTS for file in options.files):
        parser.error("the pages are made from files in benchmarks/results only")
    files = by_device(options.files)
    if not files["cpu"]:
        parser.error("docs/benchmarks.md names no records: give a file")
    made, stale = texts(**files), []
    for page in PAGES:
        text = page.read_text("utf-8")
        new = filled(text, made)
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
