"""Logits of the bigram model over the standard library's tokens."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oneread import reference
from oneread.spec import ShapeError
from oneread.testing import bigram, max_ulp_error, stdlib_bigram

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/stdlib_bigram.py"
MAXIMUM_MB = 500


@pytest.fixture(scope="module")
def model() -> bigram.StdlibBigram:
    return stdlib_bigram()


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stand in for the standard library: an empty folder."""
    monkeypatch.setattr(bigram.sysconfig, "get_path", lambda _: str(tmp_path))
    bigram._text.cache_clear()
    yield tmp_path
    bigram._text.cache_clear()


def test_default_is_512_rows_of_a_large_vocabulary(model: bigram.StdlibBigram) -> None:
    rows, vocab = model.logits.shape
    assert rows == 512
    assert 30_000 < vocab < 100_000
    assert len(model.tokens) == len(set(model.tokens)) == vocab
    assert model.logits.dtype == np.float32
    assert model.logits.flags.c_contiguous
    assert np.isfinite(model.logits).all()


def test_contexts_differ_and_each_is_followed_by_a_token_of_the_text(
    model: bigram.StdlibBigram,
) -> None:
    assert len(set(model.contexts)) == 512
    assert model.next_token.dtype == np.int64
    assert ((model.next_token >= 0) & (model.next_token < len(model.tokens))).all()
    pair = (model.contexts[0], model.tokens[model.next_token[0]])
    found = (bigram._TOKEN.findall(source) for source in bigram._sources())
    assert any(pair in pairwise(words) for words in found)


def test_logits_are_long_tailed_and_not_normalized(model: bigram.StdlibBigram) -> None:
    r = reference.read(model.logits[:64], entropy=True)
    assert np.ptp(r.lse) > 5
    assert np.exp(r.entropy).min() < 10
    assert np.exp(r.entropy).max() > 300


def test_true_next_token_ranks_high(model: bigram.StdlibBigram) -> None:
    r = reference.read(model.logits[:64], select=model.next_token[:64], rank=True)
    assert np.median(r.rank) < 20


def test_same_arguments_give_the_same_logits_and_other_seeds_do_not() -> None:
    first, again, other = (stdlib_bigram(8, 300, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.logits, again.logits)
    assert first.contexts == again.contexts
    assert not np.array_equal(first.logits, other.logits)


def test_shortened_vocabulary_has_a_column_for_all_others() -> None:
    model = stdlib_bigram(5, vocab=100)
    assert model.logits.shape == (5, 100)
    assert model.tokens[-1] == bigram.OTHER
    assert stdlib_bigram(1, vocab=10**9).logits.shape[1] == len(stdlib_bigram(0).tokens)
    assert stdlib_bigram(2, vocab=1).logits.shape == (2, 1)


def test_contexts_come_again_when_there_are_fewer_than_rows() -> None:
    model = stdlib_bigram(25, vocab=10)
    assert model.contexts[:10] == model.contexts[10:20]
    shifted = model.logits - model.logits[:, :1]
    assert np.abs(shifted[:5] - shifted[20:]).max() < 1e-4


@pytest.mark.parametrize(("rows", "vocab"), [(-1, None), (1, 0)])
def test_negative_sizes_are_errors(rows: int, vocab: int | None) -> None:
    with pytest.raises(ShapeError, match="rows >= 0"):
        stdlib_bigram(rows, vocab)


def test_rows_are_witten_bell_distributions() -> None:
    text = np.array([0, 1, 0, 1, 0, 2, 3, 0, 1], np.int32)
    logprobs = bigram._log_probabilities(text, np.array([0, 3], np.int32), 4)
    share = np.array([4, 3, 1, 1]) / 9
    after_0 = (np.array([0, 3, 1, 0]) + 2 * share) / (4 + 2)
    after_3 = (np.array([1, 0, 0, 0]) + 1 * share) / (1 + 1)
    assert max_ulp_error(logprobs, np.log([after_0, after_3])) < 4
    assert np.abs(reference.logsumexp(logprobs)).max() < 1e-6


def test_unreadable_and_foreign_files_are_passed_over(library: Path) -> None:
    (library / "a.py").write_text("x = x + 1\n" * 20)
    (library / "b.py").write_bytes(b"# \xff\xfe\nx = 2\n")
    (library / "c.py").symlink_to(library / "gone.py")
    (library / "notes.txt").write_text("unseen")
    (library / "site-packages").mkdir()
    (library / "site-packages/d.py").write_text("unseen")
    model = stdlib_bigram(3)
    assert {"x", "=", "+", "1", "2"} <= set(model.tokens)
    assert "unseen" not in model.tokens
    assert model.tokens[0] == "x"


def test_python_without_its_sources_is_a_clear_error(library: Path) -> None:
    with pytest.raises(FileNotFoundError, match="sources"):
        stdlib_bigram()


def test_example_writes_the_logits_in_little_memory(tmp_path: Path) -> None:
    out = tmp_path / "logits"
    code = (
        "import re, runpy, sys\n"
        f"sys.argv = ['stdlib_bigram.py', '--out', {str(out)!r}, '--rows', '512']\n"
        f"runpy.run_path({str(EXAMPLE)!r}, run_name='__main__')\n"
        # Not getrusage's peak, which a child starts with from its parent.
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    done: Any = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    said, peak_kb = done.stdout.splitlines()
    logits = np.load(out)
    assert said == f"wrote {out}: 512 rows of {logits.shape[1]:,} logits, float32"
    assert int(peak_kb) < MAXIMUM_MB * 1000
