"""Write the table of docs/related-work.md from the newest committed run of tools/run_related.py.

``--check`` says whether the page still has what the records give.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pages

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/related-work.md"
FOLDER = ROOT / "benchmarks/results"
BLOCK = re.compile(r"(<!-- related:measured -->\n).*?(<!-- related:end -->)", re.DOTALL)


def said(record: dict[str, Any]) -> str:
    """Return what a layer gives up, or what its search took."""
    match record["layer"]:
        case "AdaptiveSoftmax":
            opened, clusters = record["clusters_opened"], record["clusters"]
            return f"exact; {opened:.1f} of {clusters} clusters opened a row"
        case "SVDSoftmax":
            recall, error = record["recall"], record["lse_error"]
            return f"{recall:.0%} of the ten best; lse off by at most {error:.2g}"
        case _:
            return f"mean loss off by {record['loss_difference']:+.2g}"


def table(path: Path) -> str:
    """Return the table of one run."""
    header, *layers = map(json.loads, path.read_text("utf-8").splitlines())
    machine = header["machine"]
    lines = [
        f"Medians on {machine['cpu']}, {header['threads']} threads, {header['date'][:10]}:",
        "",
        "| layer | shape | the whole softmax | the layer | ratio | result |",
        "| --- | --- | ---: | ---: | ---: | --- |",
    ]
    for record in layers:
        whole, ours = (record["times"][name]["median_s"] * 1e3 for name in ("whole", "ours"))
        lines.append(
            f"| `{record['layer']}` | {record['shape']} | {whole:.1f} ms | {ours:.1f} ms"
            f" | {whole / ours:.2f}x | {said(record)} |"
        )
    return "\n".join(lines)


def filled(page: str) -> str:
    """Return the page with its table made anew."""
    newest = max(FOLDER.glob("related-*.jsonl"), default=None)
    made = table(newest) if newest else "No run is committed."
    return BLOCK.sub(lambda part: f"{part[1]}\n{made}\n\n{part[2]}", page)


def main() -> int:
    """Write the page, or check it."""
    about = __doc__.partition("\n")[0]
    return pages.write_or_check(about, [PAGE], filled, "the records give", "tools/related_docs.py")


if __name__ == "__main__":
    sys.exit(main())
