"""Plain calls as the native module makes them, of tensors and kernels on a CPU.

The driver is one that runs what it is to launch, with the arguments that it is given.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from emulated import COMPILER, Function, on_cpu  # noqa: F401
from tensors import tensors_stay_on_a_cpu  # noqa: F401

import oneread
from oneread.ops import _device_calls, _device_gradient, _gradient, _short
from oneread.runtime import cuda, cuda_gradient, cuda_read
from oneread.runtime.cpu import native
from oneread.spec import DtypeError, Read
from oneread.testing import FAMILIES, assert_close_to_truth

torch = pytest.importorskip("torch", reason="what lies on a GPU are PyTorch's tensors")

from oneread.backends import find, torch_cuda  # noqa: E402

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")

NOTHING = {
    "top_k": 0, "select": None, "rank": False, "entropy": False, "sum_p2": False, "argmax": False,
    "keepdims": False,
}  # fmt: skip
#: Kernels by the numbers that the driver knows them by.
FUNCTIONS: list[Function] = []
_POINTER = ctypes.POINTER(ctypes.c_void_p)


@ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3
)  # fmt: skip
def launch(number: int, grid: int, *given: Any) -> int:
    function = FUNCTIONS[number - 1]
    failure = function.run(grid, given[2], function.cluster, given[7], 0)
    return 0 if failure is None else 1


@ctypes.CFUNCTYPE(ctypes.c_int, _POINTER)
def context(place: Any) -> int:
    return 0


class Launch(native.CudaLaunch):
    """What `cuda.Launch` is."""

    def __init__(
        self, function: Function, grid: int, block: int, dynamic_bytes: int, numbers: list[int],
        record: Any, what: str, strides: Sequence[int] = (),
    ) -> None:  # fmt: skip
        FUNCTIONS.append(function)
        driver = [ctypes.cast(one, ctypes.c_void_p).value for one in (launch, *[context] * 3)]
        super().__init__(
            driver, 0, len(FUNCTIONS), grid, block, dynamic_bytes, numbers, strides,
            cuda._number_of(record),
        )  # fmt: skip


@pytest.fixture(autouse=True)
def launches(on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: F811
    find.torch_backend()
    monkeypatch.setattr(cuda, "Launch", Launch)
    monkeypatch.setattr(torch_cuda, "raw_stream", lambda device: 0)
    monkeypatch.setattr(torch_cuda, "_packed", None)
    for kept in (_device_calls.made, cuda_read.prepared):
        kept.cache_clear()
    yield
    for kept in (_device_calls.made, cuda_read.prepared):
        kept.cache_clear()


def logits(family: str, rows: int, vocab: int, dtype: str) -> Any:
    x = FAMILIES[family](rows, vocab, "float32" if dtype == "bfloat16" else dtype, 0)
    return torch.from_numpy(x).to(getattr(torch, dtype))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("op", ["softmax", "log_softmax", "logsumexp"])
def test_one_result_is_close_to_the_truth_fresh_and_in_place(op: str, dtype: str) -> None:
    x = logits("normal", 6, 40, dtype).view(2, 3, 40)
    what = ["softmax", "log_softmax", "logsumexp"].index(op)
    y = _device_calls.made()(what, x, None, None)
    assert_close_to_truth(y, x, op)
    out = torch.full_like(y, 7)
    assert _device_calls.made()(what, x, None, out) is out
    assert torch.equal(out, y)


@pytest.mark.parametrize(
    ("dtype", "written"), [("bfloat16", torch.float32), ("float32", "float16")]
)
def test_softmax_of_another_type_is_a_plain_call(dtype: str, written: Any) -> None:
    x = logits("normal", 6, 40, dtype)
    y = _device_calls.run("softmax", x, -1, written, None, {})
    assert_close_to_truth(y, x, "softmax", dtype=written)
    out = torch.full_like(y, 7)
    assert _device_calls.run("softmax", x, -1, written, out, {}) is out
    assert torch.equal(out, y)
    assert _device_calls.run("softmax", x, -1, written, torch.zeros_like(x), {}) is None
    assert _device_calls.run("softmax", x, -1, "float64", None, {}) is None
    with pytest.raises(DtypeError, match="dtype is int8"):
        _device_calls.run("softmax", x, -1, "int8", None, {})


FIELDS: dict[str, dict[str, Any]] = {
    "none": {}, "one selected": {"select": ()}, "some selected": {"select": (3,)},
    "rank": {"select": (), "rank": True}, "entropy": {"entropy": True},
    "all": {"select": (4,), "rank": True, "entropy": True, "sum_p2": True, "argmax": True},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*[(name, "float32") for name in FIELDS], ("all", "bfloat16"), ("all", "float64")],
)
def test_read_is_close_to_the_truth_fresh_and_in_place(name: str, dtype: str) -> None:
    x = logits("ties", 6, 99, dtype).view(2, 3, 99)
    options = dict(FIELDS[name])
    if "select" in options:
        shape = (2, 3, *options["select"])
        options["select"] = torch.from_numpy(np.random.default_rng(0).integers(0, 99, shape))
    own = NOTHING | options
    got = _device_calls.run("read", x, -1, None, None, own)
    assert type(got) is Read
    assert_close_to_truth(got, x, "read", **options)
    out = Read(*[None if one is None else torch.full_like(one, 7) for one in got])
    assert _device_calls.run("read", x, -1, None, out, own) is out
    assert all(a is b or torch.equal(a, b) for a, b in zip(got, out, strict=True))
    again = _device_calls.run("read", x, -1, None, tuple(out), own)
    assert type(again) is Read
    assert all(a is b for a, b in zip(again, out, strict=True))


def test_a_single_row_has_results_without_axes() -> None:
    x = logits("normal", 1, 50, "float32")[0]
    assert_close_to_truth(_device_calls.run("logsumexp", x, -1, None, None, {"keepdims": False}), x,
                          "logsumexp")  # fmt: skip
    got = _device_calls.run("read", x, -1, None, None, NOTHING | {"select": torch.tensor(7)})
    assert_close_to_truth(got, x, "read", select=7)


def test_what_is_no_plain_call_is_left_to_the_long_way() -> None:
    x, run = torch.zeros(3, 8), _device_calls.run
    columns = torch.zeros(3, dtype=torch.int64)
    assert run("logsumexp", x, 1, None, None, {"keepdims": False}) is None
    assert run("logsumexp", x, -1, None, None, {"keepdims": True}) is None
    assert run("logsumexp", x.long(), -1, None, None, {"keepdims": False}) is None
    assert run("top_k", x, -1, None, None, {"k": 1}) is None
    for odd in (
        {"keepdims": True}, {"top_k": 1}, {"top_k": False}, {"rank": True}, {"select": 1},
        {"select": torch.tensor(1)}, {"select": columns.int()}, {"select": columns[:2]},
        {"select": columns.view(3, 1, 1)}, {"select": columns.view(3, 1).expand(3, 2)},
        {"select": torch.zeros(3, 5, dtype=torch.int64), "rank": True},
    ):  # fmt: skip
        assert run("read", x, -1, None, None, NOTHING | odd) is None, odd


def test_what_ran_is_told() -> None:
    _device_calls.run("read", torch.zeros(3, 8), -1, None, None, NOTHING)
    record = cuda.last_kernel()
    assert record is not None
    assert record.name == "online_read"


def test_launches_are_kept_for_each_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[int] = []
    inner = cuda._loaded

    def load(device: int, *rest: Any) -> Any:
        loaded.append(device)
        return inner(device, *rest)

    monkeypatch.setattr(cuda, "_loaded", load)
    shape, strides = (4, 40), (40, 1)
    for device in (0, 1, 0, 1):
        launch = cuda.prepared(
            "softmax", "float32", shape, strides, strides, 1, 0, cuda.Places(), device, False
        )
        x, y = torch.randn(shape), torch.empty(shape)
        launch(0, x.data_ptr(), y.data_ptr())
        record = cuda.last_kernel()
        assert record is not None
        assert record.device == f"cuda:{device}"
        assert_close_to_truth(y, x, "softmax")
    assert loaded == [0, 1]


@pytest.fixture
def short_way(
    launches: Any,
    tensors_stay_on_a_cpu: None,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    """Let the short way take every tensor for one on a GPU."""

    def of_plain_rows(*given: Any) -> Any:
        *tensors, over = given
        return _device_gradient.of_plain_rows(
            *[one if one is None else one.contiguous() for one in tensors], over=over
        )

    monkeypatch.setattr(_short, "_on_cpu", _short._on_gpu)
    monkeypatch.setattr(_gradient, "of_plain_rows", of_plain_rows)
    cuda_gradient._of_logits.cache_clear()
    yield
    cuda_gradient._of_logits.cache_clear()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    "asked", [{}, {"entropy": True}, {"select": 1}, {"select": 1, "entropy": 1}]
)
@pytest.mark.usefixtures("short_way")
def test_plain_reads_and_their_gradients_are_those_of_float64(
    dtype: str, asked: dict[str, Any]
) -> None:
    x = logits("normal", 6, 40, dtype).view(2, 3, 40)
    select = torch.arange(6).view(2, 3) * 7 if "select" in asked else None

    def gradients(read: Any) -> Any:
        leaf = x.clone().requires_grad_()
        made = read(leaf)
        pulls = [torch.linspace(1, 2, 6).view(2, 3) * (i + 1) for i in range(len(made))]
        return *made, *torch.autograd.grad(made, leaf, pulls)

    got = gradients(lambda leaf: _short.read_rows(leaf, select, bool(asked.get("entropy"))))
    assert oneread.last_kernel().name == "logits_gradient"

    def wide(leaf: Any) -> Any:
        exact = leaf.double()
        logp, made = torch.log_softmax(exact, -1), [torch.logsumexp(exact, -1)]
        if select is not None:
            made.append(logp.gather(-1, select[..., None])[..., 0])
        if asked.get("entropy"):
            made.append(-(logp.exp() * logp).sum(-1))
        return made

    for one, want in zip(got, gradients(wide), strict=True):
        torch.testing.assert_close(one, want.to(one.dtype))


@pytest.mark.usefixtures("short_way")
def test_gradient_of_a_plain_read_is_written_over_the_logits() -> None:
    x = logits("normal", 6, 40, "bfloat16")
    select = torch.arange(6) * 7

    def gradient(over: bool) -> Any:
        held = x.clone().requires_grad_() * 1
        made = _short.read_rows(held, select, over=over)
        assert made is not None
        (dx,) = torch.autograd.grad(made[1].sum(), held, retain_graph=True)
        return dx, held, made[1]

    want, kept, _ = gradient(False)
    got, held, selected = gradient(True)
    assert torch.equal(got, want)
    assert torch.equal(held.detach(), want)
    assert torch.equal(kept.detach(), x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        selected.sum().backward()
