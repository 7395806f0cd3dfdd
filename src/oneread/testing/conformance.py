"""Every family of inputs with every kind of option, for one implementation of an op.

Knows the ops by the table and the reference only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

import numpy as np

from oneread.testing.inputs import FAMILIES
from oneread.testing.outputs import Implementation, check_op
from oneread.testing.tolerance import assert_close_to_truth

_Options: TypeAlias = dict[str, Any]

#: Temperatures that are tried. At the least one, still a normal float32, logits that are scaled
#: before the maximum is subtracted overflow even from float16.
_TEMPERATURES: Final = (0.7, 1e-30, 1e-37)

_K: Final = (1, 5, 50)

#: Equal terms of which a sum in float16 overflows, and one term after the other adds nothing.
_LONG: Final = ("constant", 1, 70_003)


def assert_conforms(
    implementation: Implementation,
    op: str,
    *,
    dtype: str = "float32",
    rows: int = 6,
    vocab: int = 331,
    seed: int = 0,
    families: Iterable[str] | None = None,
    without: Iterable[str] = (),
) -> None:
    """Fail unless an implementation of an op is close to the truth on every family of inputs.

    Parameters
    ----------
    implementation : callable
        Takes the op's arguments, x as a NumPy array, and returns what the op returns.
    op : str
        Name of the op.
    dtype : {"float32", "float64", "float16", "bfloat16"}
        Type of the inputs.
    rows, vocab : int
        Their shape, where the family leaves it open. One row of 70,003 equal logits comes on top.
    seed : int
        Seed of the inputs and of the options.
    families : iterable of str, optional
        Names in `FAMILIES` to try instead of all.
    without : iterable of str
        Options that the implementation does not have, for example ``where``; calls that need one
        are left out.

    Raises
    ------
    AssertionError
        When a result is not close to the truth; the message names the family and the options.
    ShapeError
        When there is no such op.

    Examples
    --------
    >>> from oneread.testing import faithful
    >>> assert_conforms(faithful("logsumexp"), "logsumexp", families=["normal", "nan"])
    """
    check_op(op)
    missing = frozenset(without)
    inputs = [(name, rows, vocab) for name in (FAMILIES if families is None else families)]
    if families is None:
        inputs.append(_LONG)
    for turn, (name, rows_, vocab_) in enumerate(inputs):
        x = FAMILIES[name](rows_, vocab_, dtype, seed)
        for logits, options in _calls(op, x, turn, np.random.default_rng(seed)):
            if missing & set(options):
                continue
            try:
                assert_close_to_truth(implementation(logits, **options), logits, op, **options)
            except AssertionError as error:
                raise AssertionError(f"{name}, {dtype}, {_named(options)}: {error}") from error


def _calls(op: str, x: Any, turn: int, rng: np.random.Generator) -> Iterator[tuple[Any, _Options]]:
    """Yield the logits and the options of each call.

    Each of the op's own options comes once alone, and each of the shared ones once with one of the
    op's own. Which one goes with which moves on from family to family, so that all meet.
    """
    own = list(_own_options(op, x.shape, rng))
    yield from ((x, options) for options in own)
    for i, shared in enumerate(_shared_options(x.shape, rng), turn):
        yield x, {**own[i % len(own)], **shared}
    if "select" not in own[-1]:
        yield np.asfortranarray(x.T), {**own[-1], "axis": 0}
        yield x[:, ::-1], own[-1]


def _shared_options(shape: tuple[int, int], rng: np.random.Generator) -> Iterator[_Options]:
    rows, vocab = shape
    for temperature in _TEMPERATURES:
        yield {"temperature": temperature}
    yield {"temperature": rng.uniform(0.5, 2.0, rows)}
    yield {"where": rng.random((rows, vocab)) < 0.8}
    yield {"where": rng.random(vocab) < 0.8, "lengths": rng.integers(0, vocab + 1, rows)}


def _own_options(op: str, shape: tuple[int, int], rng: np.random.Generator) -> Iterator[_Options]:
    rows, vocab = shape
    if op == "top_k":
        yield from ({"k": min(k, vocab)} for k in _K)
    elif op == "softmax_topk":
        yield from ({"k": min(k, vocab), "kind": "prob"} for k in _K)
        yield {"k": min(5, vocab), "kind": "logprob", "return_lse": True}
        yield {"k": min(5, vocab), "kind": "logit"}
        yield {"k": min(5, vocab), "renormalize": True}
    elif op == "read":
        yield {}
        asked: _Options = {"top_k": min(5, vocab), "entropy": True, "sum_p2": True}
        if vocab:
            asked |= {"select": rng.integers(0, vocab, (rows, 3)), "rank": True, "argmax": True}
        yield asked
    elif op == "logsumexp":
        yield {"keepdims": True}
        yield {}
    else:
        yield {}


def _named(options: _Options) -> str:
    words = (f"{n}={o if np.ndim(o) == 0 else '...'}" for n, o in options.items())
    return ", ".join(words) or "no options"
