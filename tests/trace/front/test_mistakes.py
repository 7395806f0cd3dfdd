"""Slips of the hand: each is reported where it is, in the words that are written down here."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from oneread.source.errors import SourceError
from oneread.source.text import SourceText
from oneread.source.tokens import Token, tokenize
from oneread.trace.front.program import load_program
from oneread.trace.messages import MESSAGES

HERE = Path(__file__).parent
KERNEL = (HERE / "mistakes.cu").read_text("utf-8")


class Slip(NamedTuple):
    """What is replaced by what, and the messages that follow."""

    old: str
    new: str
    messages: list[str]


def slips() -> list[Slip]:
    blocks = (HERE / "mistakes.txt").read_text("utf-8").split("\n\n")[1:]
    found = []
    for block in blocks:
        marked: dict[str, list[str]] = {"-": [], "+": [], "=": []}
        for line in block.splitlines():
            marked[line[0]].append(line[2:])
        found.append(Slip("\n".join(marked["-"]), "\n".join(marked["+"]), marked["="]))
    return found


def messages(text: str) -> list[str]:
    with pytest.raises(SourceError) as caught:
        load_program(SourceText("k.cu", text))
    return [
        f"{one.position.line}:{one.position.column}: {one.text(MESSAGES)}"
        for one in caught.value.diagnostics
    ]


def test_kernel_without_a_slip_is_taken() -> None:
    assert load_program(SourceText("k.cu", KERNEL)).program.kernel.name == "softmax"


def test_there_are_as_many_slips_as_promised() -> None:
    assert len(slips()) >= 60


@pytest.mark.parametrize("slip", slips(), ids=lambda slip: slip.new.strip())
def test_slip_is_reported_where_it_is(slip: Slip) -> None:
    assert KERNEL.count(slip.old) == 1
    assert messages(KERNEL.replace(slip.old, slip.new)) == slip.messages


class Several(NamedTuple):
    """A file with several slips in it, and the messages that follow."""

    text: str
    messages: list[str]

    @property
    def name(self) -> str:
        return " / ".join(message.partition(": ")[2] for message in self.messages)


def several() -> list[Several]:
    blocks = (HERE / "several_mistakes.txt").read_text("utf-8").split("\n\n")[1:]
    found = []
    for block in blocks:
        marked: dict[str, list[str]] = {"-": [], "+": [], "|": [], "=": []}
        for line in block.splitlines():
            marked[line[0]].append(line[2:].replace("\\n", "\n"))
        text = "".join(f"{line}\n" for line in marked["|"]) or KERNEL
        for old, new in zip(marked["-"], marked["+"], strict=True):
            assert text.count(old) == 1
            text = text.replace(old, new)
        found.append(Several(text, marked["="]))
    return found


def test_there_are_as_many_files_with_several_slips_as_promised() -> None:
    assert sum(len(one.messages) > 1 for one in several()) >= 80


@pytest.mark.parametrize("file", several(), ids=lambda file: file.name)
def test_one_error_does_not_hide_the_next(file: Several) -> None:
    assert messages(file.text) == file.messages


def marks() -> list[Token]:
    tokens = tokenize(SourceText("k.cu", KERNEL))
    return [one for one in tokens if one.kind == "mark" and one.text in "()[]{},;"]


@pytest.mark.parametrize("mark", marks(), ids=lambda mark: f"{mark.position} {mark.text}")
def test_mark_that_is_missing_is_one_error_in_its_line(mark: Token) -> None:
    lines = KERNEL.split("\n")
    _, number, column, _ = mark.position
    lines[number - 1] = f"{lines[number - 1][: column - 1]} {lines[number - 1][column:]}"
    (said,) = messages("\n".join(lines))
    # Of a block without an end, its beginning is shown.
    assert int(said.partition(":")[0]) == number or said.endswith("this '{' is never closed")


def _seconds(text: str) -> float:
    return min(timeit.repeat(lambda: messages(text), timer=time.process_time, number=1, repeat=3))


def test_errors_of_a_whole_file_are_told_in_twenty_milliseconds(
    slowness: Callable[[], float],
) -> None:
    for file in several():
        assert _seconds(file.text) < 0.020 * slowness()


def test_error_of_a_lost_variable_is_said_once() -> None:
    text = KERNEL.replace("MD md = {-INFINITY, 0.0f};", "MD md = {-INFINITY, 0.0f, nothing};")
    assert messages(text) == ["13:13: too many values for MD: at most 2"]


def test_error_shows_file_line_and_caret() -> None:
    with pytest.raises(SourceError) as caught:
        load_program(SourceText("k.cu", KERNEL.replace("float m = s", "\tfloat m = sc")))
    assert str(caught.value) == (
        "k.cu:23:16: error: 'sccratch' is not declared (did you mean 'scratch'?)\n"
        "        float m = sccratch[0];\n"
        "                  ^~~~~~~~"
    )


def test_error_in_a_macro_shows_its_definition() -> None:
    text = "#define HALF(a) ((a) / two)\n__global__ void k(float* y) { y[0] = HALF(4); }\n"
    with pytest.raises(SourceError) as caught:
        load_program(SourceText("k.cu", text))
    (error,) = caught.value.diagnostics
    (note,) = error.notes
    assert error.text(MESSAGES).startswith("'two' is not declared")
    assert (error.position[1:3], note.position[1:3]) == ((2, 38), (1, 9))


def test_functions_that_the_kernel_does_not_reach_are_not_read() -> None:
    text = (
        KERNEL + "__device__ void other() { this is not C++ }\nint main() { return cout << 1; }\n"
    )
    assert load_program(SourceText("k.cu", text)).program.kernel.name == "softmax"
