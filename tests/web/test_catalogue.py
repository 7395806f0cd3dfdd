"""What the page shows before anything has run is what the gallery and its records say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oneread.source.catalogue import read_catalogue
from oneread.source.measured import rates
from oneread.trace.messages import FAULTS
from oneread.web import jobs
from oneread.web.catalogue import catalogue

GALLERY = read_catalogue()
SHOWN = {one["key"]: one for one in catalogue()["kernels"]}
FIRST_VIEW = ("safe_softmax_tiled", "online_softmax_tiled_racy", "online_softmax_lane")


def test_every_kernel_and_sequence_of_the_gallery_is_shown() -> None:
    assert list(SHOWN) == list(GALLERY.kernels)
    assert [one["key"] for one in catalogue()["sequences"]] == list(GALLERY.sequences)
    assert json.dumps(catalogue(), allow_nan=False)


def test_kernels_are_in_groups() -> None:
    groups = {key: one["group"] for key, one in SHOWN.items()}
    assert [groups[key] for key in FIRST_VIEW] == ["tiled", "tiled", "ours"]
    assert groups["online_softmax"] == "paper"
    assert groups["relu"] == "other"
    assert {group for key, group in groups.items() if key.startswith("zoo_")} == {"zoo"}


def test_faulty_kernel_names_its_mended_one() -> None:
    assert SHOWN["zoo_stray_tail"]["fault_of"] == "zoo_stray_tail_fixed"
    assert SHOWN["zoo_stray_tail_fixed"]["fault_of"] is None


def test_every_fault_has_its_words() -> None:
    assert catalogue()["messages"].keys() == FAULTS.keys()


def test_measured_speed_is_that_of_the_records() -> None:
    shown = SHOWN["online_softmax"]["measured"]
    assert [one["gb_per_s"] for one in shown] == [
        rate.gigabytes_a_second for rate in rates("online_softmax")
    ]
    assert all(one["device"] and one["date"] for one in shown)


def test_limits_that_are_told_are_those_of_the_docs() -> None:
    limits = catalogue()["limits"]
    told = ("seconds", "file_bytes", "body_bytes", "source_bytes", "kernels")
    assert [limits[name] for name in told] == [5, 4_000_000, 2_000_000, 65_536, 3]


def test_part_of_the_catalogue_has_what_it_leads_to() -> None:
    part = catalogue({"zoo_odd_tree", "online_parallel", "mine.cu"})
    assert [one["key"] for one in part["kernels"]] == [
        "online_partials", "online_merge", "zoo_odd_tree", "zoo_odd_tree_fixed",
    ]  # fmt: skip
    assert [one["key"] for one in part["sequences"]] == ["online_parallel"]


def traced(shown: dict[str, Any]) -> Any:
    names = ("rows", "vocab", "k", "block", "defines", "input")
    request = {"kernels": [{"key": shown["key"]}], **{name: shown[name] for name in names}}
    answer = jobs.answer("trace", json.dumps(request).encode())
    assert answer.status == 200, answer.body
    return json.loads(answer.body)["runs"][0]


@pytest.mark.parametrize("key", SHOWN)
def test_launch_that_is_shown_first_runs_and_shows_the_fault(key: str) -> None:
    entry = GALLERY.kernels[key]
    found = {fault["id"] for fault in traced(SHOWN[key])["faults"] if fault["severity"] != "note"}
    if not entry.mended:
        assert found == set()
    elif entry.faults[0].id != "latent-overflow":  # which is a note
        assert entry.faults[0].id in found
