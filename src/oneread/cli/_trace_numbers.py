"""The numbers that `oneread trace --input FILE` takes, and whether other options agree with them.

Knows files of numbers; knows no kernel.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from oneread.cli._console import fail

if TYPE_CHECKING:
    from oneread.trace import Case


def read_numbers(path: Path) -> list[list[float]]:
    """Read rows of numbers: a .npy file, or text with one row a line."""
    import warnings

    import numpy as np

    try:
        with warnings.catch_warnings(action="error"):  # loadtxt warns of a file without numbers
            table = np.load(path, allow_pickle=False) if path.suffix == ".npy" else np.loadtxt(path)
            found: list[list[float]] = np.atleast_2d(np.asarray(table, dtype=np.float32)).tolist()
    except FileNotFoundError:
        raise fail(f"--input {path}: there is no such file, and no such pattern") from None
    except (ValueError, TypeError, EOFError, UserWarning) as error:
        raise fail(f"--input {path}: {error}") from None
    if not isinstance(table, np.ndarray) or table.ndim > 2:
        raise fail(f"--input {path}: {table.ndim} axes; rows of numbers have 2")
    return found


def check_sizes(case: "Case", name: str, numbers: list[list[float]]) -> None:
    """Refuse sizes that are neither the usual ones nor those of the file."""
    columns = len(numbers[0]) if numbers else 0
    usual = type(case)()
    for option, said, own, plain in (
        ("--rows", case.rows, len(numbers), usual.rows),
        ("--vocab", case.vocab, columns, usual.vocab),
    ):
        if said not in (own, plain):
            raise fail(f"{option} {said}: {name} has {len(numbers)} x {columns} numbers")
