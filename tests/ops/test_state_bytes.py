"""What a State refuses, and its form in bytes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneread import AxisError, DtypeError, ShapeError, State

ALL: dict[str, Any] = {"entropy": True, "sum_p2": True, "argmax": True}


def logits(*shape: int, dtype: str = "float64", seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype) * 4


# What does not fit


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("top_k", {"top_k": 3}), ("entropy", {"entropy": True}), ("sum_p2", {"sum_p2": True}),
        ("argmax", {"argmax": True}), ("temperature", {"temperature": 2.0}),
        ("temperature", {"temperature": [1.0, 2.0]}), ("select", {"select": 1}),
        ("axis", {"axis": 0}),
    ],
)  # fmt: skip
def test_states_with_different_options_do_not_merge(name: str, options: Any) -> None:
    x = logits(2, 2)
    with pytest.raises(ShapeError, match=rf"different options .* {name} is"):
        State.of(x) | State.of(x, **options)
    with pytest.raises(ShapeError, match=name):
        State.of(x, **options) | State.of(x)


def test_states_of_different_rows_do_not_merge() -> None:
    with pytest.raises(ShapeError, match="rows is"):
        State.of(logits(2, 3)) | State.of(logits(3, 3))
    state = State.of(logits(2, 3))
    before = state.pack()
    with pytest.raises(ShapeError, match="rows"):
        state.update(logits(3, 3))
    assert state.pack() == before


def test_states_of_different_types_do_not_merge() -> None:
    with pytest.raises(DtypeError, match=r"float32 and float64|float64 and float32"):
        State.of(logits(2, 3)) | State.of(logits(2, 3, dtype="float32"))
    with pytest.raises(DtypeError, match="float16"):
        State.identity(2, dtype="float16").update(logits(2, 3))


def test_a_state_merges_with_states_only() -> None:
    with pytest.raises(TypeError):
        State.of(logits(2, 3)) | 3  # type: ignore[operator]


def test_a_state_is_made_by_its_class_methods() -> None:
    with pytest.raises(DtypeError, match=r"State\.of"):
        State()


@pytest.mark.parametrize("offset", [-1, 1.5, True])
def test_offset_is_an_integer_from_0(offset: Any) -> None:
    with pytest.raises((ShapeError, DtypeError), match="offset"):
        State.of(logits(2, 3), offset=offset)


def test_columns_end_at_2_to_the_63() -> None:
    x, last = logits(2, 3), 2**63 - 1
    state = State.of(x, offset=last - 3, argmax=True, top_k=3, select=last - 1)
    assert (state.argmax >= last - 3).all()
    assert State.unpack(state.pack()).pack() == state.pack()
    before = state.pack()
    with pytest.raises(ShapeError, match="3 columns after offset"):
        state.update(x)
    assert state.pack() == before
    for offset in (last - 2, last, last + 1, 10**30, 10**5000):
        with pytest.raises(ShapeError, match="offset"):
            State.of(x, offset=offset, argmax=True)


def test_axes_are_checked() -> None:
    with pytest.raises(AxisError, match="axis 2"):
        State.of(logits(2, 3), axis=2)
    with pytest.raises(DtypeError, match="one axis"):
        State.of(logits(2, 3), axis=(0, 1))
    with pytest.raises(ShapeError, match="without axes"):
        State.of(np.float32(1))
    with pytest.raises(AxisError):
        State.identity((2, 3), axis=3)


def test_identity_takes_rows_of_any_shape() -> None:
    for rows in (3, (3,), (), (2, 3), np.int64(3)):
        state = State.identity(rows, top_k=1)  # type: ignore[arg-type]
        shape = rows if isinstance(rows, tuple) else (3,)
        np.testing.assert_array_equal(state.lse, np.full(shape, -np.inf))
    with pytest.raises(ShapeError, match="rows is -1"):
        State.identity(-1)
    with pytest.raises(DtypeError, match=r"rows is 1.5"):
        State.identity(1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [10**30, (2**40, 2**40), (0, 2**63), (1,) * 70])
def test_identity_of_impossible_rows_is_a_shape_error(rows: Any) -> None:
    with pytest.raises(ShapeError, match="rows is"):
        State.identity(rows, axis=None)


# Bytes


def full_state(dtype: str = "float32") -> State:
    x = logits(2, 3, 40, dtype=dtype)
    select = np.array([[1, 5, 9], [2, 39, 0]])
    logit = np.take_along_axis(x, select[..., None], -1)[..., 0]
    return State.of(
        x[..., :25], offset=0, top_k=4, select=select, selected_logit=logit, rank=True,
        temperature=[1.0, 0.5, 2.0], **ALL,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64"])
def test_bytes_give_back_the_state(dtype: str) -> None:
    state = full_state(dtype)
    back = State.unpack(state.pack())
    assert back.pack() == state.pack()
    rest = logits(2, 3, 40, dtype=dtype)[..., 25:]
    assert back.update(rest).pack() == state.update(rest).pack()
    assert repr(back) == repr(state)


@pytest.mark.parametrize("as_type", [bytes, bytearray, memoryview])
def test_any_buffer_is_unpacked(as_type: Any) -> None:
    assert State.unpack(as_type(full_state().pack())).lse.shape == (2, 3)


def test_pickle_and_copy() -> None:
    state = full_state()
    for back in (pickle.loads(pickle.dumps(state)), copy.copy(state), copy.deepcopy(state)):
        assert back is not state
        assert back.pack() == state.pack()


def test_bytes_hold_no_pickle() -> None:
    with pytest.raises(pickle.UnpicklingError):
        pickle.loads(full_state().pack())


@pytest.mark.parametrize("bad", [b"", b"x", b"ONERDST\x00" * 4, bytes(100), pickle.dumps(1)])
def test_other_bytes_are_one_clear_error(bad: bytes) -> None:
    with pytest.raises(ShapeError, match="not a packed State"):
        State.unpack(bad)


@pytest.mark.parametrize("bad", ["text", None, 3, [1]])
def test_other_things_are_one_clear_error(bad: Any) -> None:
    with pytest.raises(ShapeError, match="packed state is bytes"):
        State.unpack(bad)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_damaged_bytes_are_one_clear_error(data: st.DataObject) -> None:
    good = full_state().pack()
    damaged = bytearray(good)
    if data.draw(st.booleans()):
        damaged = damaged[: data.draw(st.integers(0, len(good) - 1))]
    else:
        at = data.draw(st.integers(0, len(good) - 1))
        damaged[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ShapeError, match="not a packed State"):
        State.unpack(bytes(damaged))


CHANGES: dict[str, Any] = {
    "rows": [-1, [], [2.5], "ab", None, [2, 4]], "axis": [7, -1, "x", 1.5, 1.0, True],
    "tail": [[2], [1, 1], 3],
    "top_k": [-1, 99, "4", True, None], "flags": [[], [1, 1, 1, 1], None, [True] * 3],
    "temperature": [0.0, -1.0, "1", float("inf")], "dtype": ["int128", 3, "float64"],
    "library": ["cupy", None], "columns": [-1, 1.5, 10**9, "25"], "stop": [3, -1, None, 2**63],
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_facts_that_do_not_fit_are_refused(name: str) -> None:
    from oneread.ops._pack import packed, unpacked

    facts, arrays = unpacked(full_state().pack())
    for value in CHANGES[name]:
        with pytest.raises(ShapeError, match="not a packed State"):
            State.unpack(packed({**facts, name: value}, arrays))
    del facts[name]
    with pytest.raises(ShapeError, match="not a packed State"):
        State.unpack(packed(facts, arrays))


def test_arrays_that_do_not_fit_are_refused() -> None:
    from oneread.ops._pack import packed, unpacked

    facts, arrays = unpacked(full_state().pack())
    for name, array in arrays.items():
        wrong = [array[..., :-1], array.astype(np.uint16), array.reshape(-1, 1, 1)]
        if array.dtype == np.uint8:
            wrong.append(np.full_like(array, 9))
        if name in ("indices", "select"):
            wrong.append(np.full_like(array, -5))
        for bad in wrong:
            with pytest.raises(ShapeError, match="not a packed State"):
                State.unpack(packed(facts, {**arrays, name: bad}))
        rest = {other: arrays[other] for other in arrays if other != name}
        with pytest.raises(ShapeError, match="not a packed State"):
            State.unpack(packed(facts, rest))


def test_a_sum_of_exponentials_below_0_is_refused() -> None:
    from oneread.ops._pack import packed, unpacked

    facts, arrays = unpacked(full_state().pack())
    with pytest.raises(ShapeError, match="impossible sum"):
        State.unpack(packed(facts, {**arrays, "r": -arrays["r"]}))


def test_huge_sizes_in_a_header_allocate_nothing() -> None:
    from oneread.ops._pack import packed

    data = packed({"rows": [10**15]}, {"m": np.zeros(3)}).replace(b"[3]", b"[9]")
    with pytest.raises(ShapeError, match="not a packed State"):
        State.unpack(data)


def test_repr_says_what_the_state_holds() -> None:
    assert repr(full_state()) == (
        "State(rows=(2, 3), columns=25, dtype=float32, argmax, rank, entropy, sum_p2, top_k=4, "
        "select=1)"
    )
