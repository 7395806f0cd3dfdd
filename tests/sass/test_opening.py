"""What a name stands for, and one clear message for everything that stands in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneread.runtime import nvrtc
from oneread.sass import Build, MachineCodeError, compile_source, open_code, read_code
from oneread.sass.read import headers, nvdisasm
from oneread.source.host import device_code
from oneread.source.text import SourceText
from oneread.spec import BackendUnavailableError, KernelCompileError

needs_tools = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)

TWICE = """#include <cmath>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>
__global__ void twice(const float* x, float* y, int32_t n) {
    if (threadIdx.x < n) y[threadIdx.x] = fminf(2 * x[threadIdx.x], INFINITY);
}
__global__ void once(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
int main() { twice<<<1, 32>>>(nullptr, nullptr, 3); }
"""
LISTING = "\tcode for sm_90\n\t\tFunction : f\n        /*0000*/       EXIT ;\n"


@needs_tools
def test_key_of_the_gallery_is_compiled_with_its_macros() -> None:
    code = open_code("online_softmax_warp", Build("sm_90", fast_math=True))
    assert [program.name for program in code.programs] == ["online_softmax_warp"]
    assert code.programs[0].arch == "sm_90"
    assert code.build is not None
    assert code.build.flags == ("--use_fast_math",)
    assert code.build.defines["WARPS"] > 0


@needs_tools
@pytest.mark.parametrize("first", ["", "#define INFINITY __int_as_float(0x7f800000)\n"])
def test_infinity_is_known_as_nvcc_knows_it(first: str, tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(first + "__global__ void k(float* y) { y[0] = INFINITY; }\n")
    assert any("0x7f800000" in one.text for one in open_code(path).kernel().instructions)


@needs_tools
def test_source_with_host_code_is_compiled_without_it(tmp_path: Path) -> None:
    path = tmp_path / "twice.cu"
    path.write_text(TWICE)
    code = open_code(path)
    assert len(code.programs) == 2
    assert code.kernel("twice").arch == "sm_86"
    assert {one.name for one in code.skipped} >= {"main", "vector"}
    lines = {one.line.line for one in code.kernel("twice").instructions if one.line}
    assert lines <= {5, 6, 7}


@needs_tools
def test_cubin_has_resources_and_control_bits(tmp_path: Path) -> None:
    path = tmp_path / "fill.cubin"
    source = (
        'extern "C" __global__ void fill(float* y) { __shared__ float s[64]; s[threadIdx.x] = 1;'
    )
    source += " __syncthreads(); y[threadIdx.x] = s[63 - threadIdx.x]; }"
    path.write_bytes(nvrtc.compile_cubin(source, "sm_86").code)
    (program,) = open_code(path).programs
    assert program.resources.shared_bytes == 256
    assert program.resources.barriers == 1
    assert program.resources.local_bytes == 0
    assert 0 < (program.resources.registers or 0) <= 32
    assert all(one.control for one in program.instructions)


@needs_tools
def test_refused_source_says_what_the_compiler_said(tmp_path: Path) -> None:
    path = tmp_path / "bad.cu"
    path.write_text("__global__ void f() { x }\n")
    with pytest.raises(KernelCompileError, match=r"bad\.cu for sm_86: bad\.cu\(1\): error"):
        open_code(path)


@needs_tools
def test_unknown_target_is_refused_with_those_known() -> None:
    with pytest.raises(BackendUnavailableError, match=r"'sm_50'; NVRTC .* compiles for .*sm_90"):
        open_code("relu", Build("sm_50"))


def test_text_needs_no_tool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(nvdisasm, "_candidates", lambda: iter(()))
    path = tmp_path / "f.sass"
    path.write_text(LISTING)
    assert open_code(path).programs[0].arch == "sm_90"


def test_missing_disassembler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvdisasm, "_candidates", lambda: iter(()))
    nvdisasm.find.cache_clear()
    try:
        with pytest.raises(BackendUnavailableError, match=r"pip install oneread\[sass\]"):
            nvdisasm.disassemble(b"")
    finally:
        nvdisasm.find.cache_clear()


def test_name_of_nothing_has_a_suggestion() -> None:
    with pytest.raises(MachineCodeError, match="did you mean online_softmax"):
        open_code("onlin_softmax")


@needs_tools
def test_compile_error_names_the_headers_that_were_not_found() -> None:
    text = '#include "not_there.h"\n__global__ void k(NotThere* y) { y[0] = 1; }\n'
    with pytest.raises(
        KernelCompileError, match=r"not found, and left out: not_there\.h"
    ) as caught:
        compile_source(SourceText("k.cu", text), Build("sm_86"))
    assert 'identifier "NotThere" is undefined' in caught.value.log


@needs_tools
def test_folder_of_triton_holds_a_cubin_a_kernel(tmp_path: Path) -> None:
    for name in ("add", "mul"):
        folder = tmp_path / f"{name}hash"
        folder.mkdir()
        source = f'extern "C" __global__ void {name}(float* y) {{ y[threadIdx.x] = 1; }}'
        (folder / f"{name}.cubin").write_bytes(nvrtc.compile_cubin(source, "sm_90").code)
        (folder / f"{name}.json").write_text("{}")
    code = open_code(tmp_path)
    assert [program.name for program in code.programs] == ["add", "mul"]
    assert code.source is None


def test_folder_without_cubins_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MachineCodeError, match=r"no \.cubin in it"):
        open_code(tmp_path)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x50\xed\x55\xba" + bytes(20), "a fatbin; extract a cubin: cuobjdump -xelf all k"),
        (b'[\n{"SchemaVersion": {"Major": 99}}]', "JSON of nvdisasm .*; save its text"),
        (b".version 8.0\n.visible .entry f() { ret; }", "PTX, no machine code; assemble it"),
        (b"\xff\xfe\x00", "neither a cubin nor text in UTF-8"),
        (b"hello", "neither a cubin nor the text of nvdisasm or cuobjdump -sass"),
        (b"\x7fELF", "k: cut off within its header"),
    ],
)
def test_what_is_no_machine_code_is_refused_with_advice(data: bytes, why: str) -> None:
    with pytest.raises(MachineCodeError, match=why):
        read_code(data, "k")


def test_several_kernels_have_to_be_told_apart() -> None:
    code = read_code((LISTING + LISTING.replace(": f", ": g")).encode(), "k")
    assert code.kernel("g").name == "g"
    with pytest.raises(
        MachineCodeError, match=r"k has 2 kernels; name one of these \(--kernel\): f, g"
    ):
        code.kernel()
    with pytest.raises(MachineCodeError, match="k has no kernel 'h'; name one of"):
        code.kernel("h")


def test_headers_are_stood_in_for_on_their_lines() -> None:
    source = SourceText("k.cu", TWICE)
    text, skipped, _ = headers.with_headers(device_code(source), source.text)
    lines = text.split("\n")
    assert lines[0] == "#include <math.h>"
    assert "int32_t" in lines[1]
    assert lines[2].strip() == lines[3].strip() == ""
    assert len(lines) == len(TWICE.split("\n"))
    assert "vector" in [one.name for one in skipped]


def test_header_of_a_package_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cuda_fp16.h").write_text("")
    monkeypatch.setattr(headers, "include_folders", lambda: (str(tmp_path),))
    source = SourceText("k.cu", "#include <cuda_fp16.h>\n__global__ void f(float* y) { *y = 1; }\n")
    text, skipped, options = headers.with_headers(device_code(source), source.text)
    assert text.startswith("#include <cuda_fp16.h>\n")
    assert (skipped, options) == ((), ["--pre-include=math.h", f"-I{tmp_path}"])


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("relu", "relu"),
        ("_Z5twicePKfPfi", "twice"),
        ("_Z4foldILi4EfEvPT0_", "fold"),
        ("_ZN2my6kernelEv", "kernel"),
        ("_Z", "_Z"),
    ],
)
def test_kernel_has_the_name_of_its_source(symbol: str, name: str) -> None:
    code = read_code(LISTING.replace(": f", f": {symbol}").encode(), "k")
    assert code.programs[0].short_name == name
    assert code.kernel(name).name == code.kernel(symbol).name == symbol


TEMPLATE = """#include "mine.h"
namespace ops {
template <int N> __global__ void twice(int* y) { y[threadIdx.x] = N * MINE; }
}
"""


@needs_tools
@pytest.mark.parametrize("name", ["twice<256>", "ops::twice<256>"])
def test_instance_of_a_template_is_compiled_when_it_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "mine.h").write_text("#define MINE 2\n")
    path = tmp_path / "k.cu"
    path.write_text(TEMPLATE)
    program = open_code(path, Build(instance=name)).kernel(name)
    assert program.short_name == "twice"
    assert any("0x200" in one.text for one in program.instructions)


@needs_tools
def test_template_without_an_instance_says_how_to_name_one() -> None:
    text = TEMPLATE.partition("\n")[2].replace("MINE", "2")
    with pytest.raises(MachineCodeError, match="--kernel 'twice<256>'"):
        compile_source(SourceText("k.cu", text), Build())


@needs_tools
@pytest.mark.parametrize("text", ["", "int main() {}\n"])
def test_source_without_a_kernel_is_said_to_have_none(text: str) -> None:
    with pytest.raises(MachineCodeError, match="no __global__ function"):
        compile_source(SourceText("k.cu", text), Build())


@needs_tools
def test_header_of_a_folder_that_is_named_is_found(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "mine.h").write_text("#define MINE 2\n")
    build = Build(options=(f"-I{tmp_path / 'inc'}",), instance="twice<256>")
    assert compile_source(SourceText("k.cu", TEMPLATE), build).skipped == ()


@pytest.mark.parametrize("last", ["FADD R1, R2, R3", "@P0 EXIT", "BRA 0x40"])
def test_listing_that_is_cut_at_a_line_is_refused(last: str) -> None:
    text = LISTING.replace("EXIT", "NOP") + f"        /*0010*/       {last} ;\n"
    with pytest.raises(MachineCodeError, match="f is cut off after 0x0010"):
        read_code(text.encode(), "k")


@needs_tools
def test_macro_that_the_source_does_not_have_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.cu"
    path.write_text(TWICE)
    with pytest.raises(MachineCodeError, match=r"twice\.cu has no macro FOO"):
        open_code(path, Build(defines={"FOO": 3}))
