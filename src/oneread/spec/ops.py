"""The table of ops, which reference, ops, tests, benchmarks and docs are checked against.

Values and names only, no callables: this room imports nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """One kernel that an op can run.

    `loads` and `stores` are accesses an element, in the paper's unit: one load or store of one
    element in memory. A load that is certain to hit the innermost caches is not one.
    """

    name: str
    op: str
    algorithm: str
    """Value of `kernel=` that forces it."""
    loads: int
    stores: int
    source: str


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


def _kernels(op: str, *rows: tuple[str, str, int, int, str]) -> tuple[KernelSpec, ...]:
    return tuple(
        KernelSpec(name, op, algorithm, loads, stores, source)
        for name, algorithm, loads, stores, source in rows
    )


OPS: Final[dict[str, OpSpec]] = {
    spec.name: spec
    for spec in (
        OpSpec(
            "softmax", "probabilities of each row", ("y",),
            _kernels("softmax", ("online_softmax", "online", 2, 1, f"{_PAPER}, Algorithm 3")),
            8, True, True, f"{_PAPER}, equation 1",
        ),
        OpSpec(
            "log_softmax", "log-probabilities of each row", ("y",),
            _kernels("log_softmax",
                     ("online_log_softmax", "online", 2, 1, f"{_PAPER}, Algorithm 3")),
            8, True, True, f"{_PAPER}, equation 1, logarithm",
        ),
        OpSpec(
            "logsumexp", "log of the sum of exponentials of each row", ("lse",),
            _kernels("logsumexp",
                     ("online_logsumexp", "online", 1, 0, f"{_PAPER}, Algorithm 3, lines 1-6")),
            8, True, False, f"{_PAPER}, Algorithm 3, lines 1-6",
        ),
        OpSpec(
            "top_k", "the k largest logits of each row", ("values", "indices"),
            _kernels("top_k",
                     ("block_max_top_k", "block_max", 1, 0, "block maxima bound the k-th value"),
                     ("radix_top_k", "radix", 4, 0, "radix selection, a sort; 7 loads in float64"),
                     ("sort_top_k", "sort", 1, 0, "a sort; rows of up to 4,096 columns")),
            0, False, False, "value descending, then column ascending",
        ),
        OpSpec(
            "softmax_topk", "the k likeliest columns of each row", ("values", "indices", "lse"),
            _kernels("softmax_topk",
                     ("online_softmax_topk", "online", 1, 0, f"{_PAPER}, Algorithm 4")),
            8, False, False, f"{_PAPER}, Algorithm 4",
        ),
        OpSpec(
            "read", "every statistic of each row in one read",
            ("lse", "max", "argmax", "values", "indices", "logprobs", "selected", "rank",
             "entropy", "sum_p2"),
            _kernels("read", ("online_read", "online", 1, 0, f"{_PAPER}, Algorithm 4")),
            8, False, False, f"{_PAPER}, Algorithm 4", (("entropy", 16), ("sum_p2", 16)),
        ),
    )
}  # fmt: skip
