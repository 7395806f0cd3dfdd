"""`oneread sass explain`: what it shows, and how it ends."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oneread.cli.main import app
from oneread.runtime import nvrtc
from oneread.sass.read import nvdisasm

needs_tools = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)

LISTING = """\tcode for sm_90
\t\tFunction : first
        /*0000*/                   MOV R0, 0xff7fffff ;    /* 0xff7fffff00007802 */
                                                           /* 0x000fe20000000f00 */
        /*0010*/                   EXIT ;                  /* 0x000000000000794d */
                                                           /* 0x000fea0003800000 */
\t\tFunction : second
        /*0000*/                   EXIT ;
"""


def explain(*words: str, status: int = 0, given: str = "") -> str:
    result = CliRunner().invoke(app, ["sass", "explain", *words], input=given)
    assert result.exit_code == status, result.output
    return result.stdout


def error(*words: str) -> str:
    result = CliRunner().invoke(app, ["sass", "explain", *words])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr


def test_text_is_read_from_standard_input() -> None:
    shown = explain("-", given=LISTING)
    assert "first (sm_90)" in shown
    assert "second (sm_90)" in shown


def test_one_kernel_can_be_named() -> None:
    shown = explain("-", "--kernel", "second", given=LISTING)
    assert "first (sm_90)" not in shown


def test_json_is_a_record_a_line() -> None:
    records = [json.loads(line) for line in explain("-", "--json", given=LISTING).splitlines()]
    assert [one["kernel"] for one in records] == ["first", "second"]
    assert records[0]["schema"] == 1
    assert records[0]["instructions"][0]["control"]["stall"] == 1
    assert "control" not in records[1]["instructions"][0]


def test_note_is_printed_in_korean(tmp_path: Path) -> None:
    path = tmp_path / "k.sass"
    path.write_text(LISTING)
    note = explain(str(path), "--kernel", "first", "--md", "--lang", "ko")
    assert note.startswith("# first\n")
    assert "exp가 없습니다." in note


def test_notes_go_to_a_folder_with_an_index(tmp_path: Path) -> None:
    path = tmp_path / "k.sass"
    path.write_text(LISTING)
    explain(str(path), "--md", "--out", str(tmp_path / "notes"))
    assert sorted(one.name for one in (tmp_path / "notes").iterdir()) == [
        "first.sm_90.md",
        "index.md",
        "second.sm_90.md",
    ]
    index = (tmp_path / "notes" / "index.md").read_text()
    assert "- [first](first.sm_90.md), sm_90" in index


def test_page_of_one_kernel_is_printed_or_written_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "k.sass"
    path.write_text(LISTING)
    words = (str(path), "--kernel", "first", "--html")
    printed = explain(*words)
    assert printed.startswith("<!doctype html>")
    assert explain(*words, "--out", str(tmp_path / "page.html")) == ""
    assert (tmp_path / "page.html").read_text("utf-8") == printed


def test_pages_go_to_a_folder_with_an_index(tmp_path: Path) -> None:
    path = tmp_path / "k.sass"
    path.write_text(LISTING)
    explain(str(path), "--html", "--out", str(tmp_path / "pages"))
    assert sorted(one.name for one in (tmp_path / "pages").iterdir()) == [
        "first.sm_90.html",
        "index.html",
        "second.sm_90.html",
    ]


def test_page_of_several_kernels_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "k.sass"
    path.write_text(LISTING)
    assert "2 kernels: name one with --kernel" in error(str(path), "--html")


def test_two_notes_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "k.sass"
    path.write_text(LISTING)
    said = error(str(path), str(path), "--md", "--out", str(tmp_path))
    assert "two kernels would be written to" in said


@needs_tools
def test_kernel_of_the_gallery_is_explained() -> None:
    shown = explain("online_softmax_single_thread", "--arch", "sm_86", "--fast-math")
    assert "0xff7fffff" in shown
    assert "FFMA.FTZ" in shown
    assert "Shared memory is not used" in shown


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("no_such_kernel",), "no file and no key of the gallery"),
        (("relu", "--md", "--json"), "--md and --json exclude each other"),
        (("relu", "--html", "--json"), "--html and --json exclude each other"),
        (("relu", "--out", "notes"), "--out is for the notes of --md and the pages of --html"),
        (("relu", "--lang", "fr"), "--lang fr: there are en, ko"),
        (("relu", "-D", "TILE=x"), "--define TILE=x: write NAME=NUMBER"),
    ],
)
def test_what_cannot_be_done_is_one_line(words: tuple[str, ...], why: str) -> None:
    said = error(*words)
    assert why in said
    assert said.count("\n") == 1


@needs_tools
def test_matrix_has_a_row_a_build_and_says_what_all_agree_in() -> None:
    command = ["sass", "matrix", "relu", "--arch", "sm_86", "--arch", "sm_100"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    first, _, head, *rows = result.stdout.splitlines()
    assert first.startswith("In every build: ")
    assert "maximum 1 FMNMX" in first
    assert head.split()[0] == "instructions"
    assert [row.split()[0] for row in rows] == ["sm_86", "sm_100"]


def test_matrix_is_for_sources(tmp_path: Path) -> None:
    path = tmp_path / "k.sass"
    path.write_text(LISTING)
    result = CliRunner().invoke(app, ["sass", "matrix", str(path), "--arch", "sm_90"])
    assert result.exit_code == 2
    assert "machine code already; matrix compiles a source" in result.stderr


@needs_tools
def test_diff_counts_by_role() -> None:
    command = ["sass", "diff", "safe_softmax_shared", "online_softmax_single_thread"]
    result = CliRunner().invoke(app, [*command, "--fast-math"])
    assert result.exit_code == 0, result.output
    counts, *loops = result.stdout.split("The loop of ")
    rows = {line.split("  ")[0]: line.split()[1:] for line in counts.splitlines() if line}
    assert rows["barriers"] == ["19", "0"]
    assert [float(count) for count in rows["exp"]] == [3, 9]
    assert [float(count) for count in rows["load"]] == [1, 2]
    assert loops[0].startswith("safe_softmax_shared at 0x")
    assert " beside that of online_softmax_single_thread at 0x" in loops[0]
    assert re.search(r"^sum +1\.00 0x\w+ FADD.* 1\.00 0x\w+ FFMA", loops[0], re.MULTILINE)
    assert "online_softmax_single_thread at" not in loops[2]


def test_diff_of_files_with_several_kernels_is_told_which(tmp_path: Path) -> None:
    path = tmp_path / "k.sass"
    path.write_text(LISTING)
    result = CliRunner().invoke(app, ["sass", "diff", str(path), str(path)])
    assert result.exit_code == 2
    assert "has 2 kernels; name one of these (--kernel)" in result.stderr
    names = re.findall(r"[\w]+", result.stderr.rpartition(": ")[2])
    words = [option for name in names for option in ("--kernel", name)]
    result = CliRunner().invoke(app, ["sass", "diff", str(path), str(path), *words])
    assert result.exit_code == 0, result.output
    assert all(name in result.stdout for name in names)


@needs_tools
def test_check_says_which_build_a_note_is_about(tmp_path: Path) -> None:
    note = Path(__file__).parents[1] / "sass" / "note.md"
    builds = ["--arch", "sm_86", "--arch", "sm_90"]
    result = CliRunner().invoke(app, ["sass", "check", str(note), *builds])
    assert result.exit_code == 0, result.output
    (best,) = [line.split() for line in result.stdout.splitlines() if line.endswith("<-")]
    assert best == ["sm_86", "--use_fast_math", "22", "3", "<-"]
    wrong = tmp_path / "note.md"
    wrong.write_text(note.read_text("utf-8").replace("STG.E [R4.64], R9", "STG.E [R4.64], R99"))
    result = CliRunner().invoke(app, ["sass", "check", str(wrong), *builds])
    assert result.exit_code == 1
    assert "in no build: line 62: STG.E [R4.64], R99" in result.stdout


@needs_tools
def test_compilers_of_other_toolkits_are_tried_for_the_targets_that_they_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Another NVRTC is not at hand: the same one under another path says that it is an older one.
    usual = {"version": nvrtc.version(), "supported_targets": nvrtc.supported_targets()}
    older = {"version": (12, 4), "supported_targets": ("sm_86", "sm_90")}
    for name in usual:
        monkeypatch.setattr(
            nvrtc, name, lambda path=None, name=name: (older if path == "/older" else usual)[name]
        )
    monkeypatch.setattr(nvrtc, "find_library", lambda path: path)
    library = nvrtc._library
    monkeypatch.setattr(nvrtc, "_library", lambda path=None: library())
    note = Path(__file__).parents[1] / "sass" / "note.md"
    words = ["sass", "check", str(note), "--arch", "sm_86", "--arch", "sm_120"]
    result = CliRunner().invoke(app, [*words, "--nvrtc", "/older"])
    assert result.exit_code == 0, result.output
    assert result.stderr == "NVRTC 12.4 does not compile for sm_120\n"
    now = ".".join(map(str, usual["version"]))
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["sm_86", "--use_fast_math", "by", "NVRTC", "12.4", "22", "3", "<-"] in lines
    (beginning,) = [line for line in lines if line[:1] == ["33"]]
    assert beginning[4:] == f"sm_86 --use_fast_math by NVRTC {now}, 12.4".split()


@needs_tools
def test_claims_are_judged_for_each_build() -> None:
    folder = Path(__file__).parents[1] / "sass"
    words = [str(folder / "note.md"), "--claims", str(folder / "claims.toml")]
    builds = ["--arch", "sm_86", "--arch", "sm_120"]
    result = CliRunner().invoke(app, ["sass", "check", *words, *builds])
    assert result.exit_code == 0, result.output
    assert "3. The maximum begins with the lowest number. holds for 4 of 4" in result.stdout
    assert "5. It is one FMNMX where nothing is unrolled. holds for 0 of 4" in result.stdout
    assert "   not as FSETP.GT.FTZ.AND ...: sm_86 sm_120 default\n" in result.stdout
    assert "   first pass 8; 4; 2; 1: sm_120 --use_fast_math" in result.stdout
    assert "   maximum 29 FSETP+FSEL: sm_86 --use_fast_math" in result.stdout


def test_check_refuses_what_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "note.bin"
    path.write_bytes(b"\xff\xfe")
    for name, why in ((str(path), "no text in UTF-8"), (str(tmp_path / "none"), "No such file")):
        result = CliRunner().invoke(app, ["sass", "check", name])
        assert result.exit_code in (1, 2)
        assert why in result.stderr


def advise(*words: str, status: int = 0) -> str:
    result = CliRunner().invoke(app, ["sass", "advise", *words])
    assert result.exit_code == status, result.output
    return result.stdout if status == 0 else result.stderr


@needs_tools
def test_advice_has_its_change_its_price_and_its_numbers() -> None:
    shown = advise("online_softmax_single_thread", "--fast-math")
    assert "+ const float m_new = fmaxf(m, v);" in shown
    assert "NaN is treated otherwise" in shown
    assert re.search(r"instructions an element +17\.\d\d +16\.\d\d +-1\.00\n", shown)
    assert "16384 x 8192 took 604.6 and 404.9 us on an NVIDIA H200 (-33%; default maths)." in shown


@needs_tools
def test_advice_is_printed_as_a_note_or_a_record() -> None:
    assert "```diff\n- for (int i = lane;" in advise("safe_softmax_tiled", "--md")
    record = json.loads(advise("safe_softmax_tiled", "--json"))
    assert [one["id"] for one in record["changes"]] == ["reciprocal", "exp2"]
    assert [one["id"] for one in record["examples"]] == ["wide-loads"]


@needs_tools
def test_kernel_without_advice_says_so() -> None:
    assert "Nothing is known that would make it shorter." in advise("relu")


def test_advice_for_machine_code_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "k.sass"
    path.write_text(LISTING)
    assert "machine code already; advice is for a source" in advise(str(path), status=2)


@needs_tools
def test_source_of_a_note_may_be_a_key_of_the_gallery(tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("BAR.SYNC.DEFER_BLOCKING 0x0 ;\n")
    words = ["sass", "check", str(note), "--source", "online_softmax", "--arch", "sm_86"]
    assert CliRunner().invoke(app, words).exit_code == 0


@needs_tools
def test_advice_by_two_softmaxes_is_not_for_another_kernel(tmp_path: Path) -> None:
    path = tmp_path / "copy.cu"
    path.write_text(
        "__global__ void copy(const float* x, float* y, int n) {\n"
        "    for (int i = threadIdx.x; i < n; i += 32) y[i] = x[i];\n}\n"
    )
    assert "Nothing is known that would make it shorter." in advise(str(path))
    assert re.search(r"Load 16 bytes a lane \(for lines? \d+[^;]*; by two", advise("safe_softmax"))


@needs_tools
@pytest.mark.parametrize("form", ["md", "html"])
def test_one_kernel_goes_to_one_file(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"note.{form}"
    words = ["sass", "explain", "relu", f"--{form}", "-o", str(path)]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert path.is_file()


@needs_tools
def test_matrix_of_one_row_has_a_property_a_line() -> None:
    result = CliRunner().invoke(app, ["sass", "matrix", "relu", "--arch", "sm_86"])
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) < 80
    assert re.search(r"^load bytes +4$", result.stdout, re.MULTILINE)
