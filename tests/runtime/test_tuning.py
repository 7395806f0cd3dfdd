"""The table of launches answers for every shape and target."""

from __future__ import annotations

import itertools

import pytest

from oneread.runtime import nvrtc, tuning


@pytest.mark.parametrize("target", nvrtc.TARGETS)
@pytest.mark.parametrize("op", ["softmax", "log_softmax", "logsumexp", "read", "topk"])
@pytest.mark.parametrize("dtype", tuning.ELEMENTS)
def test_some_kernel_holds_any_row(op: str, dtype: str, target: str) -> None:
    size = tuning.ELEMENTS[dtype][1]
    for vector_bytes in (16, size):
        for vocab in (1, 2, 100, 1000, 50_257, 262_144, 1 << 33):
            for rows in (1, 64, 65, 10**6):
                what = tuning.Rows(dtype, rows, vocab, vector_bytes, aligned=False)
                choice = tuning.choose(op, what, target)
                if choice.kernel in ("softmax_row", "softmax_shared", "topk_row"):
                    line = dict(choice.defines).get("LINE_BYTES", vector_bytes)
                    assert capacity(choice) >= what.vectors(line)
                assert choice.grid(rows) * choice.rows_a_block >= rows * choice.cluster


def capacity(choice: tuning.Choice) -> int:
    """Return how many vectors the threads that share a row hold."""
    defines = dict(choice.defines)
    return defines["ROW_THREADS"] * defines["VECTORS"] * defines["CLUSTER"]


@pytest.mark.parametrize("op", ["softmax", "log_softmax", "logsumexp"])
@pytest.mark.parametrize("dtype", tuning.ELEMENTS)
def test_some_kernel_holds_any_rows_side_by_side(op: str, dtype: str) -> None:
    size = tuning.ELEMENTS[dtype][1]
    for vector_bytes in (16, size):
        for inner in (1, 5, 64, 10_000):
            for vocab in (1, 100, 1024, 1 << 33):
                what = tuning.Neighbours(dtype, inner, vocab, vector_bytes)
                choice = tuning.choose_across(op, what, "sm_90")
                defines = dict(choice.defines)
                assert defines["VECTOR_BYTES"] <= vector_bytes
                assert choice.rows_a_block * size == defines["SIDE"] * defines["VECTOR_BYTES"]
                if choice.kernel == "softmax_strip":
                    shares = defines["BLOCK_THREADS"] // defines["SIDE"]
                    assert shares * defines["VECTORS"] >= vocab


def test_strips_are_chosen_where_neighbours_can_be_read_together() -> None:
    what = tuning.Neighbours("float32", 64, 1024, 16)
    assert tuning.choose_across("softmax", what, "sm_90").kernel == "softmax_strip"
    assert tuning.choose_across("logsumexp", what, "sm_90").kernel == "softmax_across"


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_89", "sm_120"])
def test_nothing_is_asked_of_a_target_that_it_has_not(target: str) -> None:
    number = int(target.removeprefix("sm_"))
    for op in ("softmax", "logsumexp", "read", "topk"):
        for choice in itertools.chain(*tuning.choices(op, target).values()):
            defines = dict(choice.defines)
            assert number >= 90 or choice.cluster == 1
            assert number >= 80 or choice.kernel != "softmax_shared"
            threads = {"sm_75": 1024}.get(target, 1536)
            if number != 80:
                assert defines["MIN_BLOCKS"] == 1 or defines["MIN_BLOCKS"] * choice.block <= threads


def test_the_number_of_rows_does_not_count_where_bits_must_not_depend_on_it() -> None:
    found = {
        tuning.choose("softmax", tuning.Rows("float32", rows, 60_000), "sm_90", by_length=True)
        for rows in (1, 10, 64, 65, 5000)
    }
    assert len(found) == 1


def test_every_row_of_the_table_says_what_was_measured() -> None:
    for rows in tuning.table().values():
        assert all("measured" in row for row in rows)


def test_what_is_compiled_ahead_is_what_is_chosen() -> None:
    for aligned in (True, False):
        ahead = tuning.choices("softmax", "sm_90", aligned=aligned)["bfloat16"]
        for vocab in (10, 1000, 50_000, 128_256, 1 << 22):
            for rows in (1, 5000):
                what = tuning.Rows("bfloat16", rows, vocab, 16, aligned)
                chosen = tuning.choose("softmax", what, "sm_90")
                assert chosen.defines in [one.defines for one in ahead]


def test_no_more_winners_are_asked_of_a_kernel_than_it_finds() -> None:
    what = tuning.Rows("float32", 500, 60_000, k=64)
    assert tuning.choose("topk", what, "sm_90").kernel == "topk"
    for row in tuning.table()["topk"]:
        assert row["k"] <= 64 or row["kernel"] != "topk"
