"""Write real, long-tailed logits to a .npy file.

They are those of a bigram model over the tokens of Python's own standard library.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from oneread.testing import stdlib_bigram


def main() -> None:
    """Parse the command line, build the logits, write them and say so in one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the .npy to write")
    parser.add_argument("--rows", type=int, default=512, help="contexts, one a row (default: 512)")
    options = parser.parse_args()
    logits = stdlib_bigram(options.rows).logits
    with options.out.open("wb") as file:  # np.save would add .npy to a name without it
        np.save(file, logits)
    rows, vocab = logits.shape
    print(f"wrote {options.out}: {rows} rows of {vocab:,} logits, {logits.dtype}")


if __name__ == "__main__":
    main()
