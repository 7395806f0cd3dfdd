"""What a page may ask for, and what is refused before anything runs."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from oneread.trace.errors import UsageError
from oneread.web.asked import LIMITS, Asked, read

ONE = [{"key": "relu"}]


def ask(kernels: Any = ONE, **fields: Any) -> Asked:
    return read(json.dumps({"kernels": kernels, **fields}).encode())


def refused(kernels: Any = ONE, **fields: Any) -> str:
    with pytest.raises(UsageError) as caught:
        ask(kernels, **fields)
    return str(caught.value)


def test_a_key_alone_is_a_whole_request() -> None:
    asked = ask()
    assert [one.key for one in asked.kernels] == ["relu"]
    assert (asked.case.rows, asked.case.vocab, asked.case.input) == (4, 256, "normal")
    assert asked.case.record is True
    assert asked.numbers is None


def test_limits_are_the_servers_whatever_is_asked() -> None:
    assert ask().case.limits == LIMITS
    assert "no field 'limits'" in refused(limits={"seconds": 1000})


def test_everything_that_is_asked_is_in_the_case() -> None:
    case = ask(
        rows=2, vocab=8, k=3, defines={"TILE": 64, "N": "4"}, grid="4,2", block=[32, "TILE"],
        shared_bytes="4 * TILE", arguments={"x": "rows:normal", "scale": 0.5}, input="ramp",
        schedule="reverse", watch=["m + d"], record=[0, 2],
    ).case  # fmt: skip
    assert (case.rows, case.vocab, case.k) == (2, 8, 3)
    assert case.defines == {"TILE": "64", "N": "4"}
    assert (case.grid, case.block, case.shared_bytes) == (("4", "2"), (32, "TILE"), "4 * TILE")
    assert case.arguments == {"x": "rows:normal", "scale": 0.5}
    assert (case.input, case.schedule, case.watch) == ("ramp", "reverse", ("m + d",))
    assert case.record == [0, 2]


def test_numbers_that_json_lacks_are_words() -> None:
    numbers = ask(numbers=[[1, "NaN"], ["Infinity", "-Infinity"]]).numbers
    assert numbers is not None
    assert math.isnan(numbers[0][1])
    assert numbers[1] == [math.inf, -math.inf]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff{}", b"[" * 1_000_000, b'{"rows": ' + b"9" * 5_000 + b"}", b'{"rows": NaN}'],
    ids=["empty", "cut", "bytes", "deep", "digits", "constant"],
)
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(UsageError, match="no JSON that can be read"):
        read(body)


@pytest.mark.parametrize("value", [None, 3, "relu", [], [ONE]])
def test_what_is_no_object_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="the request is no object"):
        read(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("kernels", "why"),
    [
        ([], "0 kernels; from 1 to 3"),
        (ONE * 4, "4 kernels; from 1 to 3"),
        ("relu", "kernels is no list"),
        (["relu"], "a kernel is no object"),
        ([{}], "neither a key nor a text"),
        ([{"name": "a.cu"}], "neither a key nor a text"),
        ([{"key": 3}], "key is no str"),
        ([{"key": "relu", "file": "x"}], "a kernel has no field 'file'"),
        ([{"text": "x", "name": "n" * 501}], "name has more than 500 characters"),
        ([{"text": "x", "kernel": "n" * 501}], "kernel has more than 500 characters"),
        ([{"text": "\ud800"}], "text is no text"),
        ([{"key": "\ud800"}], "key is no text"),
    ],
)
def test_kernels_that_are_none_are_refused(kernels: Any, why: str) -> None:
    assert why in refused(kernels)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"row": 3}, "no field 'row'"),
        ({"rows": "3"}, "rows is no int"),
        ({"rows": True}, "rows is no size"),
        ({"rows": -1}, "rows is no size"),
        ({"rows": 1 << 40}, "is no size"),
        ({"defines": ["TILE"]}, "defines is no dict"),
        ({"defines": {"TI LE": "1"}}, "'TI LE' is no name"),
        ({"defines": {"TILE": True}}, "TILE has no value"),
        ({"defines": {"TILE": [1]}}, "TILE has no value"),
        ({"arguments": {"x": None}}, "x has no value"),
        ({"grid": 1.5}, "grid is no size"),
        ({"grid": [True]}, "grid is no size"),
        ({"block": {}}, "block is no size"),
        ({"shared_bytes": []}, "shared_bytes is no size"),
        ({"watch": "m"}, "watch is no list"),
        ({"watch": ["m"] * 9}, "9 expressions to watch"),
        ({"watch": [3]}, "watch is no list of expressions"),
        ({"watch": ["m" * 501]}, "watch has more than 500 characters"),
        ({"watch": ["\ud800"]}, "watch is no text"),
        ({"input": "n" * 501}, "input has more than 500 characters"),
        ({"grid": "1" * 501}, "grid has more than 500 characters"),
        ({"block": ["\ud800"]}, "block is no text"),
        ({"shared_bytes": "\ud800"}, "shared_bytes is no text"),
        ({"defines": {"N": "1" * 501}}, "defines: N has more than 500 characters"),
        ({"defines": {"N" * 501: "1"}}, "defines has more than 500 characters"),
        ({"defines": {f"N{n}": 1 for n in range(65)}}, "defines has 65 names; at most 64"),
        ({"arguments": {"x": "\ud800"}}, "arguments: x is no text"),
        ({"record": False}, "record is no list"),
        ({"record": [True]}, "record is no list"),
        ({"numbers": []}, "rows of one length"),
        ({"numbers": [[1], [1, 2]]}, "rows of one length"),
        ({"numbers": [1]}, "rows of one length"),
        ({"numbers": [["1"]]}, "'1' is no number"),
        ({"numbers": [[True]]}, "'True' is no number"),
        ({"numbers": [[10**400]]}, "beyond what a double holds"),
        ({"part": -1}, "part is no size"),
    ],
)
def test_fields_of_the_wrong_kind_are_refused(fields: dict[str, Any], why: str) -> None:
    assert why in refused(**fields)


def test_number_beyond_a_double_is_refused() -> None:
    with pytest.raises(UsageError, match="x has no value"):
        read(b'{"kernels": [{"key": "relu"}], "arguments": {"x": 1e999}}')
    with pytest.raises(UsageError, match="beyond what a double holds"):
        read(b'{"kernels": [{"key": "relu"}], "numbers": [[1, -1e999]]}')
