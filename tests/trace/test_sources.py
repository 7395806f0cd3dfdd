"""Texts and files that hold them: what is read, and what is refused before it is parsed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oneread.source.errors import SourceError
from oneread.trace import Case, Source, Subject, UsageError, run

KERNEL = "__global__ void k(float* y) { y[0] = 1; }"
ONE: dict[str, Any] = {"block": 1, "arguments": {"y": "1:inout:zeros"}}


def test_text_of_one_line_may_end_like_the_name_of_a_file() -> None:
    assert Source(f"{KERNEL} // of k.cu").name == "<text>"
    assert Subject(f"{KERNEL} // of k.cu").text.endswith("k.cu")


def test_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    marked = "\ufeff#define ONE 1\n"
    (tmp_path / "one.cuh").write_text(marked, "utf-8")
    file = tmp_path / "k.cu"
    file.write_text(marked + KERNEL.replace("1", "ONE"), "utf-8")
    assert Source(file).loaded.macros == {"ONE": 1}
    file.write_text(f'#include "one.cuh"\n{KERNEL}', "utf-8")
    assert Source(file, folders=[tmp_path]).loaded.macros == {"ONE": 1}


def test_macro_that_the_text_never_names_is_refused() -> None:
    text = KERNEL.replace("= 1", "= WIDTH")
    assert run(text, rows=1, vocab=1, truth={}, defines={"WIDTH": 2}, **ONE).outputs == {"y": [2.0]}
    for conditional in ("#ifdef DEBUG\n#endif\n", "#if defined(DEBUG)\n#endif\n"):
        run(conditional + KERNEL, defines={"DEBUG": 1}, **ONE)
    with pytest.raises(UsageError, match=r"<text> never uses the macro DEBUGS; there is DEBUG$"):
        run(conditional + KERNEL, defines={"DEBUGS": 1}, **ONE)
    with pytest.raises(UsageError, match=r"<text> never uses the macro ODD$"):
        run("#if 0\nODD\n#endif\n" + KERNEL, defines={"ODD": 1}, **ONE)


def test_lines_of_a_file_may_end_as_on_windows(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_bytes(f"#define ONE \\\r\n 1\r\n{KERNEL}\r\n".encode())
    assert Source(file).text == f"#define ONE \\\n 1\n{KERNEL}\n"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no device without an end")
def test_file_without_an_end_is_refused() -> None:
    with pytest.raises(UsageError, match="/dev/zero has more than 1,048,576 bytes"):
        Source(Path("/dev/zero"))


HELPED = """#include "help.h"
__global__ void k(const float* x, float* y) { y[threadIdx.x] = help(x[threadIdx.x]); }
"""


def test_header_beside_the_file_is_found_and_what_lies_beside_that(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(HELPED.replace("help.h", "inner/help.h"), "utf-8")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "help.h").write_text('#include "two.h"\n', "utf-8")
    two = "__device__ float help(float a) { return a * 2; }\n"
    (tmp_path / "inner" / "two.h").write_text(two, "utf-8")
    subject = Subject(tmp_path / "k.cu")
    for one in (subject, subject.with_text(f"{subject.text}\n")):
        assert one.source(Case()).loaded.program.kernel.name == "k"


def test_header_that_was_not_found_is_named_where_its_function_is_called() -> None:
    with pytest.raises(SourceError, match=r"unknown function 'help' \(help.h was not found"):
        Source(HELPED)
