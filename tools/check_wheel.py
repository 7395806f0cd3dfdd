"""Open wheels and check that the page is in them whole, and nothing that it was made from.

Standard library only.
"""

from __future__ import annotations

import gzip
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from oneread.web.bundle import FILES, SCRIPT, STYLE, Bundle, problems  # noqa: E402

FOLDER = "oneread/web/static/"

#: Bytes of script and style sheet, compressed: twice the 250 kB that are aimed at.
MOST_BYTES = 500_000

#: What the page is made from, and is of no use to who installs a wheel.
SOURCES = "oneread/web/player/"


def check(path: Path) -> list[str]:
    """Return what is wrong with a wheel."""
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        found = [f"has {name}" for name in names if name.startswith(SOURCES)]
        missing = [f"lacks {FOLDER}{name}" for name in FILES if f"{FOLDER}{name}" not in names]
        if missing:
            return found + missing
        texts = {name: wheel.read(f"{FOLDER}{name}") for name in FILES}
    found += problems(Bundle(*(text.decode() for text in texts.values())))
    size = sum(len(gzip.compress(texts[name], mtime=0)) for name in (SCRIPT, STYLE))
    if size > MOST_BYTES:
        found.append(f"has a page of {size:,} bytes, compressed; at most {MOST_BYTES:,}")
    print(f"{path.name}: a page of {size:,} bytes, compressed")
    return found


def main(paths: list[str]) -> int:
    """Check the wheels; 1 when one is not as it should be."""
    wrong = [f"{path}: {what}" for path in paths for what in check(Path(path))]
    print("\n".join(wrong) if wrong else f"{len(paths)} wheels have the page")
    return 1 if wrong or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
