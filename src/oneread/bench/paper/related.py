"""Whether the gains carry over: logits as related methods make them, read by textbook kernels.

Knows the shapes of the layers of `oneread.related`, which take our own kernels, and no layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import oneread
from oneread import reference
from oneread.bench.timing import Effort, contest
from oneread.spec import OneReadError
from oneread.testing import max_ulp_error

#: Rows are of at most a second's work, and there are few of them.
_EFFORT: Final = Effort(rounds=5, batch_s=0.03, budget_s=0.7)
#: A textbook's float32 sum over a row of 32,000 is within this.
_ULP: Final = 100


@dataclass(frozen=True, slots=True)
class Step:
    """Logits of `vocab` tokens from `size` dimensions, and what is read of them."""

    rows: int
    size: int
    vocab: int
    k: int | None
    """The most likely tokens that are kept; without it all probabilities are."""


STEPS: Final = {
    "head of an adaptive softmax": Step(32, 512, 20_003, 10),
    "preview of an SVD-softmax": Step(1, 128, 32_000, 10),
    "importance-sampled softmax": Step(64, 512, 8_193, None),
}


def measured(threads: int, effort: Effort = _EFFORT) -> dict[str, Any]:
    """Time the product of each step, and the paper's safe and online algorithms behind it.

    Each is timed alone: the product takes most of a step, and what it varies by hides the rest.

    Returns
    -------
    dict
        By the name of the step: `ratios`, how many times as fast it is with the second algorithm,
        and `product`, the share of the first way that makes the logits.

    Raises
    ------
    OneReadError
        When a kernel's result is wrong.
    """
    ratios, product = {}, {}
    for seed, (name, step) in enumerate(STEPS.items()):
        jobs = _jobs(step, np.random.default_rng(seed), threads)
        times = {job: one.median_s for job, one in contest(jobs, effort).items()}
        made, safe, online = [times[job] for job in ("product", "safe", "online")]
        ratios[name] = (made + safe) / (made + online)
        product[name] = made / (made + safe)
    return {"ratios": ratios, "product": product}


def _jobs(step: Step, rng: np.random.Generator, threads: int) -> dict[str, Callable[[], Any]]:
    """Return the product, and each algorithm on what it makes, after a look at the results."""
    weight = rng.standard_normal((step.vocab, step.size), np.float32) / np.float32(step.size**0.5)
    hidden = 2 * rng.standard_normal((step.rows, step.size), np.float32)
    logits = np.empty((step.rows, step.vocab), np.float32)
    y = np.empty_like(logits)

    def with_kernel(algorithm: str) -> Callable[[], Any]:
        if step.k is None:
            return lambda: oneread.softmax(logits, out=y, threads=threads, kernel=algorithm)
        k, name = step.k, f"{algorithm}_{'unfused' if algorithm == 'safe' else 'fused'}"
        return lambda: oneread.softmax_topk(logits, k, threads=threads, kernel=name)

    jobs: dict[str, Callable[[], Any]] = {
        "product": lambda: np.matmul(hidden, weight.T, out=logits),
        "safe": with_kernel("safe"),
        "online": with_kernel("online"),
    }
    jobs["product"]()
    for algorithm in ("safe", "online"):
        got = jobs[algorithm]()
        truth = reference.softmax(logits)
        if step.k is not None:
            first = reference.top_k(logits, step.k).indices
            if not np.array_equal(got.indices, first):
                raise OneReadError(f"{algorithm} finds other columns than the reference")
            got, truth = got.values, np.take_along_axis(truth, first, -1)
        if (error := max_ulp_error(got, truth)) > _ULP:
            raise OneReadError(f"{algorithm} is {error:.0f} ulp from the truth")
    return jobs
