"""The table of ops, which reference, ops, tests, benchmarks and docs are checked against.

Values and names only, no callables: this room imports nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """One kernel that an op can run, and the accesses that it makes.

    `loads` and `stores` are accesses an element of the row, in the paper's unit: one load or store
    of one element in memory, be it of `x`, of `y` or of scratch as long as a row or a block of
    4,096 columns, and whether a cache holds it or not. `reads` are those loads of `x` that find
    their element in no innermost cache: a block that is loaded again while it is at hand is read
    once. Both are as the counted build of the kernels counts them (`oneread prove`), for long rows
    of float32, side by side in memory and computed by row, and a cache of 32 KiB. Left out is what
    a row needs however long it is, among it the logarithm of its sum and the second look at k
    blocks, and the maxima of blocks, which take up to half a load and half a store an element.
    Of rows of up to 4,096 columns our own kernels find the maximum first, which is a load more, and
    the maxima of blocks last, another one. Ops whose results are shorter than a row take 16 such
    rows at a time: what they load again may then come from a second-level cache.
    """

    name: str
    op: str
    algorithm: str
    """Value of `kernel=` that forces it."""
    reads: int
    loads: int
    stores: int
    source: str
    textbook: bool = False
    """Whether it is there to be compared with, and takes rows of floats in place alone."""


@dataclass(frozen=True, slots=True)
class OpSpec:
    """One op: what it returns and how close to the truth it promises to be.

    `max_ulp` bounds the distance from the float64 truth in units in the last place of the output
    type, for results in the normal range and rows of up to 2,000,000 columns, beyond twice the
    error of the plain formula (see `oneread.testing.assert_close_to_truth`). An output made of
    products of two sums or exponentials has twice that, in `wider`.
    """

    name: str
    summary: str
    outputs: tuple[str, ...]
    kernels: tuple[KernelSpec, ...]
    max_ulp: int
    tuple_axes: bool
    """Whether `axis` may be a tuple."""
    row_output: bool
    """Whether the output is as long as the row."""
    reference: str
    """Source of the formula."""
    wider: tuple[tuple[str, int], ...] = ()
    """Outputs with a bound of their own, and that bound."""

    def bound(self, output: str) -> int:
        """Return the bound of one output.

        Parameters
        ----------
        output : str
            One of `outputs`.

        Returns
        -------
        int
            Units in the last place, as `max_ulp`.
        """
        return dict(self.wider).get(output, self.max_ulp)


_PAPER = "Milakov & Gimelshein (2018)"
_TWO_PASS = "Dukhan & Ablavatski (2020)"

#: Algorithm, reads, loads, stores, source.
_Row: TypeAlias = tuple[str, int, int, int, str]


def _kernels(op: str, *rows: _Row, textbook: tuple[_Row, ...] = ()) -> tuple[KernelSpec, ...]:
    return tuple(
        KernelSpec(f"{row[0]}_{op}", op, *row, textbook=row in textbook)
        for row in (*rows, *textbook)
    )


OPS: Final[dict[str, OpSpec]] = {
    spec.name: spec
    for spec in (
        OpSpec(
            "softmax", "probabilities of each row", ("y",),
            _kernels("softmax",
                     ("lazy", 1, 2, 2, f"{_PAPER}, Algorithm 3, exponentials kept"),
                     textbook=(("naive", 2, 2, 1, f"{_PAPER}, Algorithm 1"),
                               ("safe", 3, 3, 1, f"{_PAPER}, Algorithm 2"),
                               ("online", 2, 2, 1, f"{_PAPER}, Algorithm 3"),
                               ("two_pass", 2, 2, 1, _TWO_PASS))),
            8, True, True, f"{_PAPER}, equation 1",
        ),
        OpSpec(
            "log_softmax", "log-probabilities of each row", ("y",),
            _kernels("log_softmax", ("lazy", 2, 2, 1, f"{_PAPER}, Algorithm 3")),
            8, True, True, f"{_PAPER}, equation 1, logarithm",
        ),
        OpSpec(
            "logsumexp", "log of the sum of exponentials of each row", ("lse",),
            _kernels("logsumexp", ("lazy", 1, 1, 0, f"{_PAPER}, Algorithm 3, lines 1-6")),
            8, True, False, f"{_PAPER}, Algorithm 3, lines 1-6",
        ),
        OpSpec(
            "top_k", "the k largest logits of each row", ("values", "indices"),
            _kernels("top_k",
                     ("block_max", 1, 1, 0, "block maxima bound the k-th value"),
                     ("radix", 4, 8, 4, "radix selection, a sort; 7 reads in float64"),
                     ("sort", 1, 2, 1, "a sort; rows of up to 4,096 columns")),
            0, False, False, "value descending, then column ascending",
        ),
        OpSpec(
            "softmax_topk", "the k likeliest columns of each row", ("values", "indices", "lse"),
            _kernels("softmax_topk",
                     ("lazy", 1, 1, 0, f"{_PAPER}, Algorithm 4"),
                     textbook=(("safe_unfused", 3, 4, 1, f"{_PAPER}, Algorithm 2, then top-k"),
                               ("online_unfused", 2, 3, 1, f"{_PAPER}, Algorithm 3, then top-k"),
                               ("safe_fused", 2, 2, 0, f"{_PAPER}, Algorithms 2 and 4"),
                               ("online_fused", 1, 1, 0, f"{_PAPER}, Algorithm 4"))),
            8, False, False, f"{_PAPER}, Algorithm 4",
        ),
        OpSpec(
            "read", "every statistic of each row in one read",
            ("lse", "max", "argmax", "values", "indices", "logprobs", "selected", "rank",
             "entropy", "sum_p2"),
            _kernels("read", ("lazy", 1, 1, 0, f"{_PAPER}, Algorithm 4")),
            8, False, False, f"{_PAPER}, Algorithm 4", (("entropy", 16), ("sum_p2", 16)),
        ),
    )
}  # fmt: skip
