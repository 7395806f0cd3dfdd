"""Peers on a GPU: PyTorch's forms are right; the others are there, or say that they are not."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any

import pytest

from oneread.bench.cases import Case
from oneread.bench.entrants import check, enter_peer
from oneread.bench.gpu.peers import PEERS, flashinfer_, load, triton_
from oneread.bench.gpu.sets import Sets, judges
from oneread.bench.store import ABSENT

torch = pytest.importorskip("torch", reason="the arrays are PyTorch's")

OPTIONS: dict[str, tuple[tuple[str, Any], ...]] = {
    "softmax_topk": (("k", 5),),
    "read": (("select", "random"), ("entropy", True), ("rank", True)),
}
MODULES = {
    "compile": "torch", "liger": "liger_kernel", "cupy": "cupy", "quack": "quack",
    "flashinfer": "flashinfer", "triton": "triton", "torch": "torch",
}  # fmt: skip


def case_of(op: str, dtype: str = "float32", **others: Any) -> Case:
    options = OPTIONS.get(op, ())
    return Case("test", op, (6, 500), options=options, dtype=dtype, device="gpu", **others)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("memory", ["out", "fresh"])
@pytest.mark.parametrize("op", ["softmax", "logsumexp", "softmax_topk", "read"])
def test_torch_is_right_in_each_form(op: str, memory: str, dtype: str) -> None:
    case = case_of(op, dtype, memory=memory)
    sets = Sets.of(case, "cpu", keep=op == "softmax", count=2)
    judge, _ = judges(case, sets)
    forms = load("torch").forms(case, sets)
    assert forms
    for name, make in forms.items():
        contestant = make()
        assert judge.peer(contestant.outputs()).fault is None, name
        other = contestant.run(1)
        first = other[-1] if isinstance(other, tuple) else other
        again = contestant.run(0)
        assert not torch.equal(first, again[-1] if isinstance(again, tuple) else again)


@pytest.mark.parametrize("op", ["softmax", "logsumexp", "softmax_topk", "read"])
def test_compile_does_what_torch_does_but_the_bare_top_k(op: str) -> None:
    case = case_of(op, memory="fresh")
    sets = Sets.of(case, "cpu", keep=True, count=1)
    eager, compiled = (list(load(name).forms(case, sets)) for name in ("torch", "compile"))
    assert compiled == [name.replace("torch", "torch.compile") for name in eager
                        if not name.endswith("alone")]  # fmt: skip


@pytest.mark.parametrize("name", PEERS)
def test_peer_has_a_name_and_a_version_or_is_not_installed(name: str) -> None:
    peer = load(name)
    assert name == peer.NAME
    if importlib.util.find_spec(MODULES[name]) is None:
        with pytest.raises(ImportError):
            peer.version()
    else:
        assert peer.version()[0].isdigit()


@pytest.mark.parametrize("name", ["triton", "liger", "quack", "flashinfer"])
def test_peer_for_the_last_axis_alone_has_nothing_for_another(name: str) -> None:
    case = Case("test", "softmax", (3, 50, 4), axis=1, device="gpu")
    assert load(name).forms(case, Sets.of(case, "cpu", keep=True, count=1)) == {}


@pytest.mark.parametrize(
    ("vocab", "warps"), [(100, (1,)), (1000, (4, 8, 16)), (8192, (8, 16, 32)), (65536, (16, 32))]
)
def test_warps_that_are_tried_hold_a_row(vocab: int, warps: tuple[int, ...]) -> None:
    assert triton_.warps_for(vocab) == warps


def test_longer_rows_are_refused_with_a_reason() -> None:
    case = Case("test", "softmax", (2, 65537), device="gpu")
    sets = Sets.of(case, "cpu", keep=True, count=1)
    (make,) = load("triton").forms(case, sets).values()
    with pytest.raises(Exception, match="up to 65536 columns"):
        make()


def test_flashinfer_is_found_by_its_headers(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "flashinfer"
    (package / "data" / "include").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('not to be imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert flashinfer_._headers() == package / "data" / "include"


@pytest.fixture
def quack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be what is asked of Quack, laid out as it is: a function hides its module."""
    names = ("quack", "quack.softmax", "quack.cross_entropy")
    package, softmax, cross_entropy = made = [ModuleType(name) for name in names]
    for name, module in zip(names, made, strict=True):
        monkeypatch.setitem(sys.modules, name, module)
    vars(package)["softmax"] = None
    vars(softmax).update(
        _softmax_fwd=lambda x, out: out.copy_(torch.softmax(x, -1)),
        softmax_fwd=lambda x: torch.softmax(x, -1),
    )
    vars(cross_entropy)["cross_entropy_fwd"] = lambda x, target, return_lse: (
        None, torch.logsumexp(x, -1),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import cutlass_that_is_not_there", "No module named 'cutlass_that_is_not_there'"),
        ("raise OSError('libcuda.so.1: cannot open')", "libcuda.so.1: cannot open"),
        ("from torch import nothing_of_it", "cannot import name 'nothing_of_it'"),
    ],
)
def test_quack_without_a_part_is_absent_and_says_which(
    source: str, reason: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, facts = tmp_path / "quack", tmp_path / "quack_kernels-0.6.5.dist-info"
    package.mkdir(), facts.mkdir()
    (package / "__init__.py").write_text(source + "\n")
    (facts / "METADATA").write_text("Name: quack-kernels\nVersion: 0.6.5\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "quack", raising=False)
    case, peer = case_of("softmax"), load("quack")
    (entrant,) = enter_peer("quack", "softmax", peer.version, lambda: peer.forms(case, None))
    assert entrant.status == ABSENT
    assert reason in entrant.reason


@pytest.mark.usefixtures("quack")
def test_quack_that_cannot_compile_is_absent_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(x: Any, out: Any) -> None:
        raise RuntimeError("no tool for sm_90a")

    vars(sys.modules["quack.softmax"])["_softmax_fwd"] = refuses
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.6.5")
    case, peer = case_of("softmax", memory="out"), load("quack")
    sets = Sets.of(case, "cpu", keep=True, count=1)
    (entrant,) = enter_peer("quack", "softmax", peer.version, lambda: peer.forms(case, sets))
    check(entrant, None)
    assert (entrant.status, entrant.reason) == (ABSENT, "no tool for sm_90a")


@pytest.mark.usefixtures("quack")
@pytest.mark.parametrize(
    ("op", "memory", "reuses"),
    [("softmax", "out", True), ("softmax", "fresh", False), ("logsumexp", "out", False)],
)
def test_quack_is_asked_for_what_it_has(op: str, memory: str, reuses: bool) -> None:
    case = case_of(op, memory=memory)
    sets = Sets.of(case, "cpu", keep=op == "softmax", count=2)
    judge, _ = judges(case, sets)
    (make,) = load("quack").forms(case, sets).values()
    contestant = make()
    assert judge.peer(contestant.outputs()).fault is None
    assert (contestant.run(1) is contestant.run(1)) == reuses
