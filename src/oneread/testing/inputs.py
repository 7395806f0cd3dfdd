"""Logits that an op has to get right, by name.

Knows nothing of the ops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from oneread.testing.arrays import dtype_name, numpy_dtype
from oneread.testing.bigram import stdlib_bigram
from oneread.testing.ulps import FloatFormat, float_format

#: (rows, vocab, dtype="float32", seed=0) -> array of that type, shape (rows, vocab) unless the
#: name says otherwise. The same arguments give the same numbers.
Family: TypeAlias = Callable[..., NDArray[Any]]

_Logits: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Ask:
    """What a family is asked for."""

    rng: np.random.Generator
    rows: int
    vocab: int
    form: FloatFormat

    def normal(self, spread: float) -> _Logits:
        return self.rng.normal(0, spread, (self.rows, self.vocab))


#: Gives the logits before they are rounded to the type.
_Draw: TypeAlias = Callable[[_Ask], _Logits]

FAMILIES: Final[dict[str, Family]] = {}


def _family(draw: _Draw) -> _Draw:
    """Enter a draw in the table under its name without the leading underscore."""

    def family(rows: int, vocab: int, dtype: Any = "float32", seed: int = 0) -> NDArray[Any]:
        logits = draw(_Ask(np.random.default_rng(seed), rows, vocab, float_format(dtype)))
        with np.errstate(over="ignore"):
            return logits.astype(numpy_dtype(dtype_name(dtype)))

    family.__name__ = draw.__name__.removeprefix("_")
    family.__doc__ = draw.__doc__
    FAMILIES[family.__name__] = family
    return draw


@_family
def _normal(ask: _Ask) -> _Logits:
    """Draw from N(0, 4^2), the spread of a language model's logits."""
    return ask.normal(4)


@_family
def _spiky(ask: _Ask) -> _Logits:
    """Let up to three columns of each row stand 10 to 30 above the others."""
    x = ask.normal(2)
    for row in x:
        spikes = ask.rng.integers(0, max(ask.vocab, 1), min(3, ask.vocab))
        row[spikes] += ask.rng.uniform(10, 30, len(spikes))
    return x


@_family
def _constant(ask: _Ask) -> _Logits:
    """Repeat one number along each row."""
    return np.repeat(ask.rng.normal(0, 4, (ask.rows, 1)), ask.vocab, axis=1)


@_family
def _sorted_up(ask: _Ask) -> _Logits:
    """Let each logit be a new maximum."""
    return np.sort(ask.normal(20), axis=1)


@_family
def _sorted_down(ask: _Ask) -> _Logits:
    """Let the first logit be the maximum and the others fall."""
    return np.sort(ask.normal(20), axis=1)[:, ::-1]


@_family
def _large_offset(ask: _Ask) -> _Logits:
    """Add +-100,000 to each row, or half of the largest number if that is less."""
    offset = min(1e5, ask.form.overflow / 2)
    signs = np.where(np.arange(ask.rows) % 2, -1, 1)[:, None]
    return ask.normal(4) + offset * signs


@_family
def _masked_first_tile(ask: _Ask) -> _Logits:
    """Put -inf in the first half of each row, so that whole tiles see nothing else."""
    x = ask.normal(4)
    x[:, : ask.vocab // 2] = -np.inf
    return x


@_family
def _masked_last_tile(ask: _Ask) -> _Logits:
    """Put -inf in the last half of each row."""
    x = ask.normal(4)
    x[:, ask.vocab - ask.vocab // 2 :] = -np.inf
    return x


@_family
def _masked_all_but_one(ask: _Ask) -> _Logits:
    """Put -inf everywhere but in one column: the first, the last, then any."""
    x = np.full((ask.rows, ask.vocab), -np.inf)
    columns = ask.rng.integers(0, max(ask.vocab, 1), ask.rows)
    columns[:2] = [0, ask.vocab - 1][: ask.rows]
    if ask.vocab:
        x[np.arange(ask.rows), columns] = ask.rng.normal(0, 4, ask.rows)
    return x


@_family
def _masked_all(ask: _Ask) -> _Logits:
    """Put -inf everywhere in every other row."""
    x = ask.normal(4)
    x[::2] = -np.inf
    return x


def _every_other_row(ask: _Ask, special: float) -> _Logits:
    """Put one special number somewhere in every other row; the rows between must not change."""
    x = ask.normal(4)
    if ask.vocab:
        chosen = np.arange(0, ask.rows, 2)
        x[chosen, ask.rng.integers(0, ask.vocab, len(chosen))] = special
    return x


@_family
def _plus_inf(ask: _Ask) -> _Logits:
    """Put one +inf in every other row."""
    return _every_other_row(ask, np.inf)


@_family
def _nan(ask: _Ask) -> _Logits:
    """Put one NaN in every other row."""
    return _every_other_row(ask, np.nan)


@_family
def _ties(ask: _Ask) -> _Logits:
    """Draw from five numbers, with zeros of both signs among them."""
    return ask.rng.choice([-1.0, -0.0, 0.0, 0.5, 0.5], (ask.rows, ask.vocab))


@_family
def _empty(ask: _Ask) -> _Logits:
    """Give rows without columns, whatever `vocab` is."""
    return np.empty((ask.rows, 0))


@_family
def _vocab_one(ask: _Ask) -> _Logits:
    """Give rows of one column, whatever `vocab` is."""
    return ask.rng.normal(0, 4, (ask.rows, 1))


@_family
def _odd_vocab(ask: _Ask) -> _Logits:
    """Shorten the rows to the largest prime up to `vocab`: a multiple of no tile."""
    vocab = ask.vocab
    while vocab > 2 and any(vocab % i == 0 for i in range(2, int(vocab**0.5) + 1)):
        vocab -= 1
    return ask.normal(4)[:, :vocab].copy()


@_family
def _gap(ask: _Ask) -> _Logits:
    """Let one column be likely: the next one is 1 to 87 nats below it, the others far below."""
    x = np.full((ask.rows, ask.vocab), -1000.0)
    gaps = np.linspace(1 if ask.rows > 1 else 20, 87, ask.rows)
    for row, gap in zip(x, gaps, strict=True):
        columns = ask.rng.permutation(ask.vocab)[:2]
        row[columns] = [gap, 0.0][: len(columns)]
    return x


@_family
def _denormals(ask: _Ask) -> _Logits:
    """Let all probabilities but two fall below the type's normal range."""
    top = 3.0
    smallest = np.log(2.0) * (ask.form.least_exponent - ask.form.digits)
    x = ask.rng.uniform(top + smallest, top + np.log(ask.form.tiny), (ask.rows, ask.vocab))
    for row in x:
        # the second keeps the small ones from deciding what log(sum) is near a maximum
        columns = ask.rng.permutation(ask.vocab)[:2]
        row[columns] = [top, top - 5][: len(columns)]
    return x


@_family
def _huge(ask: _Ask) -> _Logits:
    """Spread the logits over the type's whole range, 3e38 in float32: differences overflow."""
    x = ask.rng.uniform(-0.88, 0.88, (ask.rows, ask.vocab)) * ask.form.overflow
    x[:, :1] = 0.88 * ask.form.overflow
    return x


@_family
def _real(ask: _Ask) -> _Logits:
    """Take logits of `stdlib_bigram`, of at most its vocabulary's size."""
    seed = int(ask.rng.integers(2**32))
    return stdlib_bigram(ask.rows, max(ask.vocab, 1), seed).logits.astype(np.float64)
