"""`oneread demo`: a true story in a screenful."""

from __future__ import annotations

import json
import shlex
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from oneread.cli import _peers
from oneread.cli.main import app
from oneread.ops import read as read_module
from oneread.ops.read import read
from oneread.spec import OPS
from oneread.testing import assert_close_to_truth

#: Room for formulas that are not ours: they round log-probabilities before they sum.
PEER_ULP = 64
SMALL = ["demo", "--rows", "64", "--vocab", "2000"]


@pytest.fixture(scope="module", autouse=True)
def _no_pauses() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_peers, "_IDLE_S", 0.0)
        yield


@pytest.fixture(scope="module")
def story() -> dict[str, Any]:
    result = CliRunner().invoke(app, [*SMALL, "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert isinstance(told, dict)
    return told


def test_story_fits_a_screen() -> None:
    result = CliRunner().invoke(app, SMALL)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert len(lines) <= 28
    assert max(map(len, lines)) <= 80


def test_statistics_are_within_their_bound(story: dict[str, Any]) -> None:
    assert story["accuracy"]["fault"] is None
    assert story["accuracy"]["equal"] == {"indices": True, "rank": True}
    assert set(story["accuracy"]["ulp"]) == {"lse", "logprobs", "selected", "entropy"}
    assert max(story["accuracy"]["ulp"].values()) < 2 * OPS["read"].max_ulp


def test_kernel_is_named(story: dict[str, Any]) -> None:
    assert story["kernel"]["name"] == "lazy_read"


def test_three_rows_are_shown(story: dict[str, Any]) -> None:
    assert len(story["examples"]) == 3
    for row in story["examples"]:
        assert len(row["top"]) == 5
        assert (row["rank"] < 5) == (row["next"] in row["top"])


def test_numpy_is_always_timed(story: dict[str, Any]) -> None:
    names = [row["name"] for row in story["times"]]
    assert names[:2] == ["oneread", "NumPy"]
    assert all(row["read_s"] > 0 and row["softmax_s"] > 0 for row in story["times"])


def test_quartiles_lie_around_the_median(story: dict[str, Any]) -> None:
    for row in story["times"]:
        for job in ("read", "softmax"):
            low, median, high = row[f"{job}_quartiles_s"]
            assert low <= median == row[f"{job}_s"] <= high


def test_headers_say_what_is_counted_and_who_runs_on_one_thread() -> None:
    shown = CliRunner().invoke(app, SMALL).stdout
    for words in ("rank from 0", "median of 5", "extra memory (counted)"):
        assert words in shown
    (last,) = [line for line in shown.splitlines() if line.startswith("Ran ")]
    assert "NumPy" in last
    assert last.endswith(("run on 1.", "runs on 1."))


def test_three_kernels_are_traced_and_one_races(story: dict[str, Any]) -> None:
    by_name = {one["kernel"]: one for one in story["traced"]}
    counted = {name: (one["reads"], one["writes"]) for name, one in by_name.items()}
    assert counted == {
        "safe_softmax_tiled": (3, 1),
        "online_softmax_tiled_racy": (2, 1),
        "online_softmax_lane": (2, 1),
    }
    assert [name for name, one in by_name.items() if one["races"]] == ["online_softmax_tiled_racy"]
    probed = by_name["online_softmax_tiled_racy"]["probe"]
    shown = CliRunner().invoke(app, SMALL).stdout
    said = " ".join(shown.split())
    assert "thread 0 writes it in line 48, thread 32 reads it in line 46, and no barrier" in said
    assert f"smallest of {probed['launches']} launches" in said
    assert shown.splitlines()[-1].strip() == probed["smallest"]


def test_smallest_launch_that_is_shown_races(story: dict[str, Any]) -> None:
    (command,) = [one["probe"]["smallest"] for one in story["traced"] if one["probe"]]
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    assert result.exit_code == 1
    assert "race between warps" in result.stdout


@pytest.fixture
def logits() -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).normal(0, 3, (200, 5000)).astype(np.float32)


def test_peers_compute_the_same(logits: np.ndarray[Any, Any]) -> None:
    following = np.arange(len(logits))
    asked: dict[str, Any] = {
        "top_k": _peers.TOP_K, "select": following, "rank": True, "entropy": True,
    }  # fmt: skip
    want = read(logits, **asked)
    for peer in _peers.peers(logits, following):
        *top, selected, rank, entropy = peer.read()
        columns = top[1] if len(top) == 2 else top[0].indices
        np.testing.assert_array_equal(np.asarray(columns), want.indices)
        np.testing.assert_array_equal(np.asarray(rank).ravel(), want.rank)
        for name, got in (("selected", selected), ("entropy", entropy)):
            flat = np.asarray(got).ravel()
            assert_close_to_truth(flat, logits, "read", field=name, max_ulp=PEER_ULP, **asked)


def test_peers_need_the_memory_that_is_told(logits: np.ndarray[Any, Any]) -> None:
    for peer in _peers.peers(logits, np.arange(len(logits))):
        if peer.name == "PyTorch":  # its memory is not NumPy's, and is not traced
            continue
        peer.read()
        tracemalloc.start()
        peer.read()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert round(peak / logits.nbytes) == peer.copies, peer.name


def test_difference_from_the_truth_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    real = read_module.read

    def spoiled(*args: Any, **how: Any) -> Any:
        result = real(*args, **how)
        return result._replace(entropy=result.entropy + np.float32(0.01))

    monkeypatch.setattr(read_module, "read", spoiled)
    result = CliRunner().invoke(app, SMALL)
    assert result.exit_code == 1
    assert result.stderr.startswith("oneread: error: read.entropy: 64 of 64 elements")
    assert result.stderr.count("\n") == 1
