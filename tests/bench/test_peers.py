"""Each peer gives right results in each form, where it is installed."""

from __future__ import annotations

import importlib.util
import warnings

import numpy as np
import pytest

from oneread.bench.cases import CASES, Case
from oneread.bench.check import Checker
from oneread.bench.contestants import Data
from oneread.bench.peers import PEERS, load
from oneread.spec import OPS

OPTIONS = {
    "top_k": (("k", 3),),
    "softmax_topk": (("k", 3),),
    "read": CASES["read/32x128256/k5"].options,
}

#: Ops that a library has no function for.
WITHOUT = {"onnxruntime": {"read"}, "scipy": {"top_k", "softmax_topk", "read"}}


def installed(name: str) -> None:
    for module in {"onnxruntime": ("onnxruntime", "onnx")}.get(name, (name,)):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


@pytest.mark.parametrize("memory", ["out", "fresh"])
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("name", PEERS)
def test_peer_is_right(name: str, op: str, memory: str) -> None:
    installed(name)
    case = Case("test", op, (6, 500), options=OPTIONS.get(op, ()), memory=memory)
    data = Data.of(case, OPS[op].row_output)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what other libraries warn of is theirs
        forms = load(name).forms(case, data, 1)
        outputs = {form: make().outputs() for form, make in forms.items()}
    assert (not forms) == (op in WITHOUT.get(name, set()))
    for form, found in outputs.items():
        finding = Checker(case, data).peer(found)
        assert finding.fault is None, form
        assert finding.ulp or op == "top_k"


@pytest.mark.parametrize("name", PEERS)
def test_peer_has_a_name_and_a_version(name: str) -> None:
    installed(name)
    peer = load(name)
    assert name == peer.NAME
    assert peer.version()[0].isdigit()


@pytest.mark.parametrize("name", ["torch", "onnxruntime", "numpy"])
def test_kept_memory_is_written_to(name: str) -> None:
    installed(name)
    case = Case("test", "softmax", (6, 500))
    data = Data.of(case, True)
    (make,) = load(name).forms(case, data, 1).values()
    make().outputs()
    assert np.allclose(data.y.sum(-1), 1)


@pytest.mark.parametrize("name", PEERS)
def test_axis_in_the_middle(name: str) -> None:
    installed(name)
    case = Case("test", "softmax", (3, 50, 4), axis=1)
    data = Data.of(case, True)
    for make in load(name).forms(case, data, 1).values():
        assert Checker(case, data).peer(make().outputs()).fault is None
