"""Real, long-tailed logits from text that every machine has: Python's own standard library.

Knows nothing of any op.
"""

from __future__ import annotations

import os
import re
import sysconfig
from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

import numpy as np
from numpy.typing import NDArray

from oneread.spec import ShapeError

#: A run of letters, digits and underscores, or one sign.
_TOKEN = re.compile(r"\w+|[^\w\s]")

#: Folders that not every installation has, or that hold somebody else's code.
_SKIPPED = frozenset(
    {"__pycache__", "dist-packages", "idlelib", "lib2to3", "site-packages", "test", "tests"}
    | {"turtledemo"}
)

#: Stands for all tokens that a shortened vocabulary leaves out.
OTHER = "<other>"

#: Positions drawn in the text: many more than rows, since frequent contexts come again and again.
_DRAWS_A_ROW, _DRAWS = 64, 4096

#: Standard deviation of the number added to a whole row, in nats.
_OFFSET = 8.0


@dataclass(frozen=True, slots=True)
class StdlibBigram:
    """Logits of a bigram model, one row a context token.

    Attributes
    ----------
    logits : array, shape (rows, vocab), float32
        Log-probabilities of the next token plus a number of each row's own.
    tokens : tuple of str
        What each column stands for, most frequent first.
    contexts : tuple of str
        The token before, one a row.
    next_token : array, shape (rows,), int64
        Column of a token that did come next in the text.
    """

    logits: NDArray[np.float32]
    tokens: tuple[str, ...]
    contexts: tuple[str, ...]
    next_token: NDArray[np.int64]


def stdlib_bigram(rows: int = 512, vocab: int | None = None, seed: int = 0) -> StdlibBigram:
    """Build logits of a smoothed bigram model over the tokens of the standard library's sources.

    Parameters
    ----------
    rows : int
        Number of contexts, drawn from the text as often as they occur in it, each once; again from
        the first when the draw has fewer.
    vocab : int, optional
        Keep the most frequent tokens and let one column stand for all others. None or a number
        above the size of the vocabulary keeps all, about 49,000.
    seed : int
        Seed of the draw and of the rows' offsets.

    Returns
    -------
    StdlibBigram
        New arrays. The text, and so the vocabulary, is that of the running Python.

    Raises
    ------
    ShapeError
        When `rows` is negative or `vocab` is below 1.
    FileNotFoundError
        When this Python comes without the sources of its library.

    Notes
    -----
    Witten-Bell smoothing: with c(h, w) the count of w after h, c(h) their sum over w, t(h) the
    number of different w after h and p(w) the share of w in the text,
    p(w | h) = (c(h, w) + t(h) p(w)) / (c(h) + t(h)). The counts are kept in memory, not on disk.

    References
    ----------
    Witten & Bell (1991), method C; Chen & Goodman (1998), section 2.5.

    Examples
    --------
    >>> b = stdlib_bigram(rows=4, vocab=1000)
    >>> b.logits.shape, b.logits.dtype.name, len(b.tokens), b.next_token.shape
    ((4, 1000), 'float32', 1000, (4,))
    """
    if rows < 0 or (vocab is not None and vocab < 1):
        raise ShapeError(f"got rows={rows}, vocab={vocab}; allowed are rows >= 0 and vocab >= 1")
    text, tokens = _text()
    if vocab is not None and vocab < len(tokens):
        text, tokens = np.minimum(text, vocab - 1), (*tokens[: vocab - 1], OTHER)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(text) - 1, _DRAWS_A_ROW * rows + _DRAWS)
    at = np.resize(_first_of_each(text, drawn, rows), rows)
    logits = _log_probabilities(text, text[at], len(tokens))
    logits += rng.normal(0, _OFFSET, (rows, 1)).astype(np.float32)
    contexts = tuple(tokens[i] for i in text[at])
    return StdlibBigram(logits, tokens, contexts, text[at + 1].astype(np.int64))


def _first_of_each(
    text: NDArray[np.int32], positions: NDArray[np.int64], n: int
) -> NDArray[np.int64]:
    """Return up to `n` of the positions, in order, at which a token stands for the first time."""
    _, first = np.unique(text[positions], return_index=True)
    return positions[np.sort(first)[:n]]


def _log_probabilities(
    text: NDArray[np.int32], contexts: NDArray[np.int32], vocab: int
) -> NDArray[np.float32]:
    """Return log p(w | h), shape (contexts, vocab); each context is followed by something."""
    rows = len(contexts)
    row_of = np.full(vocab, -1, np.int64)
    row_of[contexts[::-1]] = np.arange(rows)[::-1]  # the first row of a context that comes twice
    row = row_of[text[:-1]]
    pairs, seen = np.unique(row[row >= 0] * vocab + text[1:][row >= 0], return_counts=True)
    row, column = np.divmod(pairs, vocab)
    share = np.bincount(text, minlength=vocab) / len(text)
    total = np.bincount(row, seen, rows)
    kinds = np.bincount(row, minlength=rows)
    with np.errstate(divide="ignore", invalid="ignore"):  # rows that repeat a context: filled below
        unseen = np.log(kinds / (total + kinds))
    logits = np.empty((rows, vocab), np.float32)
    np.add(np.log(share, dtype=np.float32), unseen[:, None].astype(np.float32), out=logits)
    logits[row, column] = np.log((seen + kinds[row] * share[column]) / (total + kinds)[row])
    first = row_of[contexts]
    repeated = first != np.arange(rows)
    logits[repeated] = logits[first[repeated]]
    return logits


@lru_cache(maxsize=1)
def _text() -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Return the library's text as token numbers, and the tokens, most frequent first."""
    number: defaultdict[str, int] = defaultdict(count().__next__)
    text = array("i")
    for source in _sources():
        text.extend(map(number.__getitem__, _TOKEN.findall(source)))
    if len(text) < 2:
        raise FileNotFoundError(
            f"found no Python sources in {sysconfig.get_path('stdlib')}; this needs a Python that"
            " comes with the sources of its standard library"
        )
    ids = np.frombuffer(text, np.int32)
    by_frequency = np.argsort(-np.bincount(ids), kind="stable")
    rank = np.empty(len(by_frequency), np.int32)
    rank[by_frequency] = np.arange(len(by_frequency))
    words = list(number)
    return rank[ids], tuple(words[i] for i in by_frequency)


def _sources() -> Iterator[str]:
    """Yield the text of each source file that can be read, in an order that is always the same."""
    for folder, inner, files in os.walk(sysconfig.get_path("stdlib")):
        inner[:] = sorted(set(inner) - _SKIPPED)
        for file in sorted(files):
            if not file.endswith(".py"):
                continue
            try:
                with open(os.path.join(folder, file), encoding="utf-8", errors="replace") as f:
                    source = f.read()
            except OSError:
                continue
            yield source
