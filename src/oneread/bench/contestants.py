"""What takes part in a case: a call with everything prepared, ours or a peer's.

Knows no library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from oneread.bench.cases import Case
from oneread.testing.arrays import numpy_dtype

#: Spread of the logits, that of a language model's.
_SPREAD = 4.0


class AbsentError(Exception):
    """A contestant that cannot take part; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """One call to time.

    `run` gives the outputs in the order of `fields`, or the only one alone. `threads` says how
    many it uses.
    """

    run: Callable[..., Any]
    fields: tuple[str, ...]
    threads: int | None

    def outputs(self) -> dict[str, Any]:
        """Call it once and return the outputs by name, those that are None left out."""
        result = self.run()
        several = (result,) if len(self.fields) == 1 else result
        named = zip(self.fields, several, strict=True)
        return {name: output for name, output in named if output is not None}


#: The ways in which a library can do a case, by name; making one raises what keeps it from that.
Forms: TypeAlias = Mapping[str, Callable[[], Contestant]]


@dataclass(frozen=True, slots=True)
class Data:
    """The arrays of a case, shared by all contestants.

    `x` is contiguous; `y`, for ops with an output as long as the row, has its shape and type and
    its pages are there. `select` int64, one column a row.
    """

    x: NDArray[Any]
    y: NDArray[Any]
    select: NDArray[np.int64]

    @classmethod
    def of(cls, case: Case, keep: bool) -> Data:
        """Make the arrays; the same case gives the same numbers. `keep`: `y` is wanted."""
        rng = np.random.default_rng(len(case.shape) + case.size)
        wide = np.float64 if case.dtype == "float64" else np.float32
        x = rng.standard_normal(case.shape, wide)
        x *= wide(_SPREAD)
        select = rng.integers(0, case.vocab, case.rows)
        if case.order == "sorted":
            x.sort(axis=case.axis)
        if case.dtype not in ("float32", "float64"):
            x = x.astype(numpy_dtype(case.dtype))
        y = np.empty(case.shape if keep else (0,), x.dtype)
        y.fill(0)
        return cls(x, y, select)
