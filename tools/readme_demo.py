"""Put the committed screen of `oneread demo` into README.md.

`benchmarks/results/demo.txt` holds it: lines that start with # say where it comes from, the rest is
what the program printed. Run `python tools/readme_demo.py` after replacing that file.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCREEN = ROOT / "benchmarks/results/demo.txt"
README = ROOT / "README.md"
BLOCK = re.compile(r"(?<=```text\n)oneread .*?(?=```)", re.DOTALL)


def screen() -> str:
    """Return what the demo printed."""
    lines = SCREEN.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("#"))


def main() -> None:
    """Replace the block in README.md."""
    text = README.read_text(encoding="utf-8")
    new, count = BLOCK.subn(lambda _: screen(), text)
    if count != 1:
        raise SystemExit("README.md has no block with the demo's screen")
    README.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
