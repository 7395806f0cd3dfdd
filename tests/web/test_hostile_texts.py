"""Texts and names that are made to read files or to break something are answered, no more."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import oneread
from oneread.web import jobs

TWICE = """__global__ void twice(const float* x, float* y, int vocab) {
    for (int i = threadIdx.x; i < vocab; i += blockDim.x) y[i] = x[i] + x[i];
}
"""


def error(job: str, kernel: dict[str, Any], **fields: Any) -> Any:
    said = jobs.answer(job, json.dumps({"kernels": [kernel], **fields}).encode())
    assert (said.status, said.kind) == (422, "json")
    return json.loads(said.body)["error"]


# ---- files


def test_text_of_one_line_is_no_file_name(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(TWICE)
    said = error("trace", {"text": str(secret)})
    assert said["kind"] == "source"
    assert "twice" not in json.dumps(said)


def test_include_reads_no_file(tmp_path: Path) -> None:
    header = tmp_path / "secret.h"
    header.write_text("#define SECRET 7\n")
    for name in (str(header), "../../../../../../etc/passwd", "relu.cu"):
        said = error("trace", {"text": f'#include "{name}"\n__global__ void k() {{ SECRET; }}\n'})
        assert "'SECRET' is not declared" in said["message"]


OPENED = """
import sys
from oneread.web import jobs
jobs.gallery()
seen = []
sys.addaudithook(lambda event, args: event == "open" and seen.append(str(args[0])))
for line in sys.stdin:
    jobs.answer("trace", line.encode())
    jobs.answer("fix", line.encode())
print("\\n".join(seen))
"""

HOSTILE = (
    {"text": "/etc/passwd.txt"},
    {"text": '#include "/etc/passwd"\n#include <etc/passwd>\n__global__ void k() {}'},
    {"key": "../../../../etc/passwd"},
    {"key": "/etc/passwd"},
    {"key": "relu", "name": "/etc/passwd", "kernel": "/etc/passwd"},
    {"name": "/etc/passwd.cu", "text": TWICE},
    {"key": "relu"},
)


def test_no_request_opens_a_file_outside_of_the_package() -> None:
    requests = [json.dumps({"kernels": [one], "rows": 1, "vocab": 32}) for one in HOSTILE]
    said = subprocess.run(
        [sys.executable, "-c", OPENED],
        input="\n".join(requests),
        capture_output=True,
        text=True,
        check=True,
    )
    opened = [Path(line) for line in said.stdout.splitlines()]
    package = Path(oneread.__file__).parent
    python = Path(json.__file__).parents[1]
    assert package / "kernels/gallery/relu.cu" in opened
    assert [one for one in opened if not {package, python} & set(one.parents)] == []


# ---- kernels are interpreted


def executed(source: str) -> set[str]:
    """Return what a module could run a text with."""
    tree = ast.walk(ast.parse(source))
    names = {node.id for node in tree if isinstance(node, ast.Name)}
    return names & {"exec", "eval", "compile", "__import__"}


def test_what_would_run_a_text_would_be_found() -> None:
    assert executed("def f(x):\n    run = eval\n    return re.compile(x)\n") == {"eval"}


@pytest.mark.parametrize("room", ["trace", "source", "web"])
def test_no_text_becomes_python(room: str) -> None:
    modules = sorted((Path(oneread.__file__).parent / room).rglob("*.py"))
    found = {path.name: executed(path.read_text("utf-8")) for path in modules}
    assert found
    assert {name: how for name, how in found.items() if how} == {}


# ---- texts that are made to break something

BOMBS = {
    "shared": "__shared__ float a[1 << 30]; a[0] = 1;",
    "local": "float a[1 << 28]; a[0] = 1; y[0] = a[0];",
    "nested": f"y[0] = {'(' * 3000}1{')' * 3000};",
    "unclosed": "{" * 5000,
    "long": "y[0] = 1" + " + 1" * 9000 + ";",
    "depth": "y[0] = f(1);",
    "steps": "for (;;) { }",
    "divergent": "while (threadIdx.x < 16) { }",
}


@pytest.mark.parametrize("body", BOMBS.values(), ids=BOMBS)
def test_text_that_is_made_to_break_something_is_an_answer(body: str) -> None:
    text = (
        "__device__ float f(float v) { return f(v) + f(v); }\n"
        f"__global__ void k(const float* x, float* y, int vocab) {{\n{body}\n}}\n"
    )
    assert error("trace", {"text": text}, rows=1, vocab=32)["kind"] in {"source", "limit"}


def test_macros_that_grow_are_cut_off() -> None:
    doubles = "\n".join(f"#define A{n + 1} A{n} A{n}" for n in range(40))
    text = f"#define A0 +1\n{doubles}\n__global__ void k(float* y) {{ y[0] = 0 A40; }}\n"
    assert error("trace", {"text": text})["kind"] == "source"
