"""Records of kernels, from text that a disassembler wrote: no tool is needed. And a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oneread.sass import analyse, read_code
from oneread.sass.record import describe
from oneread.source.text import SourceText

CHROMIUM = Path("/usr/bin/chromium")

SOURCE = """// A sum & its <exponential>.
__device__ float add(float a, float b) { return a + b; }
__global__ void f(const float* x, float* y) {
    float d = 0;
    for (int i = 0; i < 8; ++i)
        d = add(d, expf(x[i]));
    y[0] = d;
}
"""

#: Lines of the kernel, and one of a header, with instructions as `nvdisasm -c -gi -hex` has them.
LISTING = """
.target sm_86
.text.f:
        //## File "k.cu", line 4
        /*0000*/ MOV R5, RZ ; /* 0x000000ff00057202 */
                              /* 0x000fe20000000f00 */
.L_1:
        //## File "k.cu", line 6
        /*0010*/ LDG.E R4, [R2.64] ; /* 0x0000000402047981 */
                                     /* 0x000ea2000c1e1900 */
        /*0020*/ FMUL R9, R4, 1.4426950216293334961 ; /* 0x3fb8aa3b04097820 */
                                                      /* 0x004fc80000400000 */
        /*0030*/ MUFU.EX2 R9, R9 ; /* 0x0000000900097308 */
                                   /* 0x000e220000000800 */
        //## File "k.cu", line 2 inlined at "k.cu", line 6
        //## File "k.cu", line 6
        /*0040*/ FADD R5, R5, R9 ; /* 0x0000000905057221 */
                                   /* 0x001fc60000000000 */
        //## File "/usr/include/other.h", line 3
        /*0050*/ IADD3 R2, R2, 0x4, RZ ; /* 0x0000000402027810 */
                                         /* 0x000fca0007ffe0ff */
        //## File "k.cu", line 5
        /*0060*/ ISETP.NE.AND P1, PT, R2, R11, PT ; /* 0x0000000b0200720c */
                                                    /* 0x000fda0003f25270 */
        /*0070*/ @P1 BRA `(.L_1) ; /* 0xffffff8000001947 */
                                   /* 0x000fea000383ffff */
        //## File "k.cu", line 7
        /*0080*/ STG.E [R6.64], R5 ; /* 0x0000000506007986 */
                                     /* 0x000fe2000c101904 */
        /*0090*/ EXIT ; /* 0x000000000000794d */
                        /* 0x000fea0003800000 */
"""


def made(language: str = "en", *, with_source: bool = True) -> dict[str, Any]:
    code = read_code(LISTING.encode(), "k.sass")
    if with_source:
        code = replace(code, source=SourceText("k.cu", SOURCE))
    return describe(code, analyse(code.kernel()), language)


@pytest.fixture(scope="session")
def record() -> dict[str, Any]:
    """Return the record of a kernel with a loop, a function of its own, and a header."""
    return made()


@pytest.fixture(scope="session")
def korean() -> dict[str, Any]:
    """Return the same, told in Korean."""
    return made("ko")


@pytest.fixture(scope="session")
def without_source() -> dict[str, Any]:
    """Return the same of machine code alone."""
    return made(with_source=False)


@pytest.fixture(scope="session")
def run() -> dict[str, Any]:
    """Return a launch of the kernel as a trace file has it: 2 warps, 8 columns each, 64 lanes."""
    source = SourceText("k.cu", SOURCE)
    lines = [
        {"line": 6, "space": "global", "kind": "read", "requests": 16, "elements": 512},
        {"line": 7, "space": "global", "kind": "write", "requests": 2, "elements": 64},
        {"line": 7, "space": "shared", "kind": "write", "requests": 4, "elements": 128},
    ]
    return {
        "kernel": "f",
        "source": {"name": source.name, "text": source.text},
        "launch": {"grid": [1, 1, 1], "block": [64, 1, 1], "rows": 64, "vocab": 8},
        "counts": {"lines": lines, "barriers": 3, "barrier_lines": {"7": 3}},
    }


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start Debian's Chromium; for one module, as the tests of the other page do."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        why = "playwright is not installed"
    else:
        why = "" if CHROMIUM.exists() else f"there is no {CHROMIUM}"
    if why:
        if os.environ.get("ONEREAD_BROWSER") == "required":
            pytest.fail(f"the browser tests must run here, and {why}")
        pytest.skip(why)
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--no-first-run"]
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=flags)
        yield chromium
        chromium.close()
