"""Every kernel compiles for every target, and the machine code is what the speed rests on."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneread.runtime import cuda, cuda_gradient, cuda_merge, cuda_read, cuda_topk, nvrtc, tuning
from oneread.sass import assert_sass
from oneread.sass.read.elf import read_cubin

pytestmark = pytest.mark.skipif(
    not nvrtc.available(), reason="NVRTC is not installed: pip install nvidia-cuda-nvrtc"
)

OPS = ("softmax", "log_softmax", "logsumexp")


def code_of(choice: tuning.Choice, target: str) -> nvrtc.Cubin:
    source = cuda.source(choice.kernel)
    return nvrtc.compile_cubin(
        source.text, target, name=source.name, defines=dict(choice.defines), headers=source.headers
    )


@pytest.mark.parametrize("target", nvrtc.TARGETS)
def test_every_kernel_compiles_without_a_word(target: str) -> None:
    wanted = [
        (op, dtype, temperature, aligned)
        for op in OPS
        for dtype in tuning.ELEMENTS
        for temperature, aligned in ((0, True), (2, False))
    ]
    lengths = (100, 9000, 3_000_000)
    for turn, (op, dtype, temperature, aligned) in enumerate(wanted):
        what = tuning.Rows(dtype, 500, lengths[turn % len(lengths)], 16, aligned)
        choice = tuning.choose(op, what, target, temperature=temperature)
        assert code_of(choice, target).log == "", choice


@pytest.mark.parametrize("op", ["softmax", "logsumexp"])
def test_every_row_of_the_table_reads_16_bytes_and_spills_nothing(op: str, tmp_path: Path) -> None:
    found = tuning.choices(op, "sm_90")
    choices = [one for dtype in ("float32", "bfloat16", "float64") for one in found[dtype]]
    assert len(choices) > 15
    for i, choice in enumerate(choices):
        path = tmp_path / f"{i}.cubin"
        path.write_bytes(code_of(choice, "sm_90").code)
        checked = assert_sass(path).no_spills()
        if choice.kernel != "softmax_shared":  # which copies past the registers
            checked.vector_load(16)


@pytest.mark.parametrize("vector_bytes", [2, 4, 8])
@pytest.mark.parametrize("op", OPS)
def test_narrow_accesses_compile_too(op: str, vector_bytes: int) -> None:
    for dtype, (_, size) in tuning.ELEMENTS.items():
        if size <= vector_bytes:
            what = tuning.Rows(dtype, 100, 5001, vector_bytes, aligned=False)
            assert code_of(tuning.choose(op, what, "sm_80"), "sm_80").log == ""


@pytest.mark.parametrize("op", OPS)
def test_rows_side_by_side_compile(op: str) -> None:
    for choices in tuning.choices_across(op, "sm_75").values():
        for choice in choices:
            assert code_of(choice, "sm_75").log == "", choice


def test_strips_read_neighbours_at_once_and_spill_nothing(tmp_path: Path) -> None:
    found = tuning.choices_across("softmax", "sm_90")
    strips = [
        choice
        for dtype in ("float32", "bfloat16", "float64")
        for choice in found[dtype]
        if choice.kernel == "softmax_strip"
    ]
    assert strips
    for i, choice in enumerate(strips):
        path = tmp_path / f"{i}.cubin"
        path.write_bytes(code_of(choice, "sm_90").code)
        assert_sass(path).no_spills().vector_load(dict(choice.defines)["VECTOR_BYTES"])


@pytest.mark.parametrize("k", [64, 2048])
@pytest.mark.parametrize("target", nvrtc.TARGETS)
def test_top_k_compiles_without_a_word(target: str, k: int) -> None:
    switches = [(dtype, turn) for turn, dtype in enumerate(tuning.ELEMENTS)] + [("float32", 5)]
    for dtype, turn in switches:
        what = tuning.Rows(dtype, 10 if turn % 2 else 500, 70_001, 16, turn % 2 == 0, k)
        choice = tuning.choose("topk", what, target, temperature=turn % 3)
        more = {"SUMS": int(turn > 0), "LONG": int(turn > 2)}
        choice = choice._replace(defines=(*choice.defines, *more.items()))
        assert code_of(choice, target).log == "", choice


def test_every_row_of_the_table_of_top_k_reads_16_bytes_and_spills_nothing(tmp_path: Path) -> None:
    found = [
        (source, defines)
        for source, defines in cuda_topk.ahead("sm_90")
        if defines["SUMS"] and defines["ALIGNED"] and defines["ELEMENT"] != 1
    ]
    assert len(found) > 20
    for i, (source, defines) in enumerate(found):
        code = nvrtc.compile_cubin(
            source.text, "sm_90", name=source.name, defines=defines, headers=source.headers
        ).code
        path = tmp_path / f"{i}.cubin"
        path.write_bytes(code)
        checked = assert_sass(path).no_spills().vector_load(16)
        checked.blocks_per_sm(defines["MIN_BLOCKS"], defines["BLOCK_THREADS"])


#: The launches that leave the fewest registers, of each kernel: op, type, rows, columns.
CROWDED = (
    ("softmax", "float32", 4000, 32_768), ("softmax", "bfloat16", 4000, 65_536),
    ("softmax", "bfloat16", 4000, 32_768), ("log_softmax", "float32", 4000, 128_256),
    ("softmax", "float64", 4000, 2048), ("softmax", "bfloat16", 4000, 1_000_000),
    ("logsumexp", "bfloat16", 4000, 131_072), ("logsumexp", "float32", 4000, 4096),
)  # fmt: skip


@pytest.mark.parametrize("beside", [{"WHERE": 2, "LENGTHS": 1}, {"WHERE": 1, "LOOPS": 2}])
def test_masks_and_lengths_spill_nothing(beside: dict[str, int], tmp_path: Path) -> None:
    for i, (op, dtype, rows, vocab) in enumerate(CROWDED):
        choice = tuning.choose(op, tuning.Rows(dtype, rows, vocab), "sm_90").beside(beside)
        path = tmp_path / f"{i}.cubin"
        path.write_bytes(code_of(choice, "sm_90").code)
        try:
            assert_sass(path).no_spills()
        except AssertionError as error:
            raise AssertionError(f"{choice.kernel} of {dtype} {vocab}: {error}") from None


def test_results_of_another_type_spill_nothing(tmp_path: Path) -> None:
    for i, (op, dtype, rows, vocab) in enumerate(CROWDED):
        if op == "logsumexp" or dtype == "float64":
            continue
        written = tuning.ELEMENTS["float32" if dtype == "bfloat16" else "bfloat16"][0]
        choice = tuning.choose(op, tuning.Rows(dtype, rows, vocab), "sm_90")
        path = tmp_path / f"{i}.cubin"
        path.write_bytes(code_of(choice.beside({"RESULT": written}), "sm_90").code)
        assert_sass(path).no_spills()


@pytest.mark.parametrize("target", nvrtc.TARGETS)
def test_results_of_another_type_compile_without_a_word(target: str) -> None:
    pairs = (("bfloat16", "float32", 16), ("float32", "float16", 4), ("float16", "bfloat16", 2))
    dtype, written, width = pairs[nvrtc.TARGETS.index(target) % 3]
    more = {"RESULT": tuning.ELEMENTS[written][0], "LENGTHS": 1}
    what = tuning.Rows(dtype, 500, 9000, width, aligned=False)
    choice = tuning.choose("softmax", what, target).beside(more)
    assert code_of(choice, target).log == "", choice


def test_states_are_merged_on_every_target() -> None:
    ((source, defines),) = cuda_merge.ahead()
    for target in nvrtc.TARGETS:
        cubin = nvrtc.compile_cubin(
            source.text, target, name=source.name, defines=defines, headers=source.headers
        )
        assert cubin.log == ""


@pytest.mark.parametrize("target", nvrtc.TARGETS)
def test_masks_and_lengths_compile_without_a_word(target: str) -> None:
    masked = {"WHERE": 1, "LENGTHS": 1}
    for op, dtype, rows, vocab in CROWDED[::2]:
        choice = tuning.choose(op, tuning.Rows(dtype, rows, vocab, 16, aligned=False), target)
        choice = choice.beside(masked | {"LOOPS": 2})
        assert code_of(choice, target).log == "", choice
    for op in OPS:
        neighbours = tuning.Neighbours("bfloat16", 64, 100, 2, masked=True)
        choice = tuning.choose_across(op, neighbours, target)
        assert choice.kernel == "softmax_across"
        choice = choice.beside(masked)
        assert code_of(choice, target).log == "", choice


ALL_OF_READ = cuda_read.Asked(entropy=True, sum_p2=True, argmax=True, ranks=cuda_read.MOST_RANKS)
OF_READ = {
    "none": cuda_read.Asked(), "entropy": cuda_read.Asked(entropy=True),
    "sum_p2": cuda_read.Asked(sum_p2=True), "argmax": cuda_read.Asked(argmax=True),
    "rank": cuda_read.Asked(ranks=1), "all": ALL_OF_READ,
    "state": ALL_OF_READ._replace(state=True),
}  # fmt: skip


def code_of_read(choice: tuning.Choice, asked: cuda_read.Asked, target: str) -> nvrtc.Cubin:
    return code_of(choice._replace(defines=cuda_read.defines(choice, asked)), target)


@pytest.mark.parametrize("target", nvrtc.TARGETS)
def test_read_compiles_without_a_word(target: str) -> None:
    dtypes = ["float32", "bfloat16", "float16", "float64"]
    for turn, asked in enumerate(OF_READ.values()):
        what = tuning.Rows(dtypes[turn % 4], 500, (100, 9000)[turn % 2], 16, aligned=turn % 3 > 0)
        choice = tuning.choose("read", what, target, temperature=turn % 3, ranks=asked.ranks)
        assert code_of_read(choice, asked, target).log == "", (choice, asked)


@pytest.mark.parametrize("name", ["none", "all"])
def test_every_row_of_the_table_of_read_reads_16_bytes_and_spills_nothing(
    name: str, tmp_path: Path
) -> None:
    found = tuning.choices("read", "sm_90")
    choices = [one for dtype in ("float32", "bfloat16", "float64") for one in found[dtype]]
    for i, choice in enumerate(choices):
        asked = OF_READ[name]
        if choice.ranks is not None:
            asked = asked._replace(ranks=min(asked.ranks, choice.ranks))
        path = tmp_path / f"{i}.cubin"
        path.write_bytes(code_of_read(choice, asked, "sm_90").code)
        assert_sass(path).no_spills().vector_load(16)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_temperature_costs_16_bit_logits_few_instructions(dtype: str) -> None:
    # docs/adr/0034: an exact quotient of each element makes it a third more.
    sizes = []
    for temperature in (0, 1, 2):
        what = tuning.Rows(dtype, 500, 128_256)
        choice = tuning.choose("read", what, "sm_90", temperature=temperature)
        code = read_cubin(code_of_read(choice, cuda_read.Asked(entropy=True), "sm_90").code)
        sizes += [one.size for one in code.sections if one.name == ".text.online_read"]
    without, *tempered = sizes
    assert len(tempered) == 2
    assert max(tempered) <= 1.12 * without, sizes


@pytest.mark.parametrize("name", ["none", "all", "state"])
def test_read_along_another_axis_compiles(name: str) -> None:
    source = cuda.source("online_read_across")
    for turn, dtype in enumerate(tuning.ELEMENTS):
        cubin = nvrtc.compile_cubin(
            source.text, ("sm_75", "sm_90")[turn % 2], name=source.name,
            defines=cuda_read.across_defines(dtype, turn % 3, OF_READ[name]),
            headers=source.headers,
        )  # fmt: skip
        assert cubin.log == ""


#: Terms of gradients to logits: the fewest, those of entropies, and all.
TERMS = (
    cuda_gradient.Asked(target=True), cuda_gradient.Asked(slope=True, target=True),
    cuda_gradient.Asked(True, True, True, True, True, True, 2),
)  # fmt: skip


def code_of_backward(choice: tuning.Choice, turn: int, target: str) -> nvrtc.Cubin:
    more = TERMS[turn % 3].defines if choice.kernel == "logits_gradient" else (("LOG", turn % 2),)
    return code_of(choice._replace(defines=(*choice.defines, *more)), target)


@pytest.mark.parametrize("target", nvrtc.TARGETS)
def test_backward_passes_compile_without_a_word(target: str) -> None:
    for turn, dtype in enumerate(tuning.ELEMENTS):
        op = ("logits_gradient", "softmax_backward")[turn % 2]
        what = tuning.Rows(dtype, 500, (100, 40_000)[turn // 2], 16, aligned=turn % 3 > 0)
        choice = tuning.choose(op, what, target, temperature=turn % 3)
        assert code_of_backward(choice, turn, target).log == "", choice


@pytest.mark.parametrize("vector_bytes", [2, 4, 8])
def test_backward_passes_compile_with_narrow_accesses(vector_bytes: int) -> None:
    dtype = "bfloat16" if vector_bytes == 2 else "float32"
    what = tuning.Rows(dtype, 100, 50, vector_bytes, aligned=False)
    for op in ("logits_gradient", "softmax_backward"):
        choice = tuning.choose(op, what, "sm_90")
        assert code_of_backward(choice, 2, "sm_90").log == "", choice


@pytest.mark.parametrize("op", ["logits_gradient", "softmax_backward"])
def test_every_row_of_the_table_of_backward_passes_spills_nothing(op: str, tmp_path: Path) -> None:
    dtypes = ["bfloat16", "float32", "float64"]
    found = tuning.choices(op, "sm_90", temperature=2)
    kept = {dtype: found[dtype][2 - i :: len(dtypes)] for i, dtype in enumerate(dtypes)}
    for i, choice in enumerate(choice for dtype in dtypes for choice in kept[dtype]):
        path = tmp_path / f"{i}.cubin"
        path.write_bytes(code_of_backward(choice, i, "sm_90").code)
        defines = dict(choice.defines)
        checked = assert_sass(path).no_spills()
        checked.blocks_per_sm(defines["MIN_BLOCKS"], choice.block, choice.dynamic_bytes)
        if not choice.dynamic_bytes:  # else most is copied past the registers
            checked.vector_load(16)
