"""Which columns of a tensor's rows come first: an order of all numbers, NaN included.

Knows nothing of the maths of an op.
"""

from __future__ import annotations

from typing import Final

import torch

#: Integers as wide as the element types.
_INTEGERS: Final = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def first_columns(x: torch.Tensor, k: int, kept: torch.Tensor | None = None) -> torch.Tensor:
    """Return the columns of the k first numbers of each row: NaN, then larger, then by column.

    Columns that are not kept come last.
    """
    keys = _keys(x)
    if kept is not None:
        keys.masked_fill_(~kept, torch.iinfo(keys.dtype).min)  # which is no number's
    return torch.sort(keys, dim=-1, descending=True, stable=True).indices[:, :k]


def _keys(x: torch.Tensor) -> torch.Tensor:
    """Return integers in the order of the numbers: one for each NaN, one for both zeros."""
    whole = _INTEGERS[x.element_size()]
    bits = (x + 0).view(whole)  # -0 + 0 is 0
    most = torch.iinfo(whole).max
    keys = torch.where(bits < 0, bits ^ most, bits)
    return keys.masked_fill_(x.isnan(), most)
