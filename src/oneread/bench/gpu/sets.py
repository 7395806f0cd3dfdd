"""The tensors of a case: several sets, which take turns so that no cache holds the next one.

Knows no op.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from oneread.bench.cases import Case
from oneread.bench.check import Judges, sample_of

#: Inputs of all sets together: several times the largest second-level cache.
ROTATED_BYTES: Final = 400_000_000
#: Launches of a graph are no more than a few thousand.
MOST_SETS: Final = 1000
#: Spread of the logits, that of a language model's.
_SPREAD: Final = 4.0
#: Elements that are checked, about; `tools/soak_cuda.py` checks all of them.
_CHECKED_ELEMENTS: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Sets:
    """What the contestants of a case share: `x` and, for results as long as a row, `y` by set.

    `select` is one column for each row, int64.
    """

    x: tuple[Any, ...]
    y: tuple[Any, ...]
    select: Any

    @classmethod
    def of(cls, case: Case, where: str, keep: bool, count: int | None = None) -> Sets:
        """Make them on a device; the same case gives the same numbers. `keep`: `y` is wanted."""
        import torch

        generator = torch.Generator(where).manual_seed(case.size)
        count = count or number_of(case)
        kind = getattr(torch, case.dtype)
        x = torch.empty((count, *case.shape), dtype=kind, device=where)
        for one in x:
            one.normal_(0.0, _SPREAD, generator=generator)
        y = torch.zeros_like(x) if keep else x[:0]
        select = torch.randint(case.vocab, (case.rows,), device=where, generator=generator)
        return cls(tuple(x), tuple(y), select)


def number_of(case: Case) -> int:
    """Return how many sets take turns."""
    if case.timed == "call":
        return 1
    return min(MOST_SETS, -(-ROTATED_BYTES // case.input_bytes))


def judges(case: Case, sets: Sets) -> tuple[Judges, int]:
    """Return what judges results for the first set, and how many rows it looks at."""
    rows = sample_of(case, _CHECKED_ELEMENTS)

    def pick(output: Any) -> Any:
        return _rows(case, output, rows)

    select = sets.select.cpu().numpy()[rows]
    return Judges(case, pick(sets.x[0]), select, pick), len(rows)


def _rows(case: Case, output: Any, rows: np.ndarray[Any, Any]) -> Any:
    """Return some rows of a result, on the CPU, a row along the last axis where there is one."""
    import torch

    tensor = torch.as_tensor(output)
    if tuple(tensor.shape) == case.shape:
        tensor = tensor.movedim(case.axis, -1).reshape(-1, case.vocab)
    elif tensor.ndim != 1 and tensor.numel() == case.rows:
        tensor = tensor.reshape(-1)
    return tensor[torch.from_numpy(rows).to(tensor.device)].cpu()
