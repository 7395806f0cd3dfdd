"""What the ops return: small named tuples and records.

Knows no array library: an array here is `Any`, of the library that the input came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self


class TopK(NamedTuple):
    """The k largest logits of each row, largest first; equal ones by column.

    `values` are the input's own numbers; `indices` the columns they stood in.
    """

    values: Any
    indices: Any


class SoftmaxTopK(tuple[Any, ...]):
    """The k likeliest columns of each row.

    `values` are probabilities, log-probabilities or logits (`kind=`), `indices` the columns.
    `lse` is the third element if it was asked for, else None and no element: what one asks for is
    what one unpacks.
    """

    __slots__ = ()
    _fields = ("values", "indices", "lse")

    def __new__(cls, values: Any, indices: Any, lse: Any = None) -> Self:
        return tuple.__new__(cls, (values, indices) if lse is None else (values, indices, lse))

    @property
    def values(self) -> Any:
        """Probabilities, log-probabilities or logits, likeliest first."""
        return self[0]

    @property
    def indices(self) -> Any:
        """The columns they stand in."""
        return self[1]

    @property
    def lse(self) -> Any:
        """Log of the sum of exponentials of the row, or None."""
        return self[2] if len(self) > 2 else None

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=False))

    def _replace(self, **changes: Any) -> SoftmaxTopK:
        return SoftmaxTopK(**{**self._asdict(), **changes})

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"SoftmaxTopK({fields})"


class Read(NamedTuple):
    """All that one read of a row gave. Fields that were not asked for are None.

    `values` are raw logits of the top k, `logprobs` their log-probabilities after temperature,
    `selected` the log-probability of the chosen column or columns.
    """

    lse: Any
    max: Any
    argmax: Any = None
    values: Any = None
    indices: Any = None
    logprobs: Any = None
    selected: Any = None
    rank: Any = None
    entropy: Any = None
    sum_p2: Any = None


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """Which kernel ran: its name, the code that was picked and how the rows were cut."""

    name: str
    """Kernel, named ``<algorithm>_<op>``, for example ``lazy_softmax``."""
    isa: str
    """Instruction set of the code that ran, for example ``x86-64-v4``."""
    dtype: str
    """Element type that the kernel loaded."""
    layout: str
    """``rows`` (contiguous, read in place) or ``staged`` (gathered or converted by blocks)."""
    threads: int
    """Threads that the work was offered to."""
    spans: int
    """Pieces of a row whose partial results were merged; depends on V alone."""
    stores: str = "regular"
    """``regular``, ``streaming`` (past the caches) or ``none`` (no output as long as the row)."""
    selection: str = "none"
    """How the k best of a row were found: ``block_max``, ``radix``, ``sort`` or ``none``."""
    radix_rows: int = 0
    """Rows that ``block_max`` could not bound, for a NaN in them, and left to ``radix``."""
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What an op would do with an input, before it is done."""

    op: str
    kernel: str
    isa: str
    dtype: str
    shape: tuple[int, ...]
    layout: str
    threads: int
    spans: int
    stores: str
    selection: str
    read_bytes: int
    written_bytes: int
    predicted_ms: float
    copy_gbs: float
    why: tuple[str, ...]

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'s' * (self.threads != 1)}"
        stores = f"{'no' if self.stores == 'none' else self.stores} stores"
        head = (
            f"{self.op} of {self.dtype} {self.shape}: {self.kernel} on {self.isa}, "
            f"{self.layout}, {threads}, {stores}"
        )
        move = (
            f"reads {self.read_bytes:,} bytes, writes {self.written_bytes:,} bytes; at least "
            f"{self.predicted_ms:.3g} ms at the measured {self.copy_gbs:.3g} GB/s"
        )
        return "\n".join([head, move, *(f"- {reason}" for reason in self.why)])
