"""Plain calls of CUDA tensors: what is left to the long way, shown with tensors on a CPU.

The driver is one that only keeps what it is called with.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from oneread.runtime.cpu import native

torch = pytest.importorskip("torch", reason="makes calls with PyTorch's tensors")

from oneread.backends import torch_, torch_cuda  # noqa: E402
from oneread.ops import softmax  # noqa: E402

STREAM = 0x5000


class Recorder:
    """Calls, and what reaches the driver of them."""

    def __init__(self, context: int = 0, packed: Any = None) -> None:
        self.context = context
        pointer = ctypes.POINTER(ctypes.c_void_p)
        launch = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p, pointer, pointer
        )
        context = ctypes.CFUNCTYPE(ctypes.c_int, pointer)
        self.held = [launch(self._launch), *[context(lambda place: 0) for _ in range(3)]]
        self.launched: list[tuple[int, ...]] = []
        self.prepared: list[tuple[Any, ...]] = []
        self.calls = native.CudaCalls(
            torch.Tensor, torch_cuda.FLOATS, torch_.WATCHERS, torch.autograd.forward_ad,
            lambda device: STREAM, torch.empty_like, packed, torch_.count_writes, self._prepare,
        ).function()  # fmt: skip

    def _launch(self, function: int, *given: Any) -> int:
        stream, places = given[7] or 0, given[8]
        x, y = [ctypes.c_uint64.from_address(places[i]).value for i in range(2)]
        self.launched.append((function, stream, x, y))
        return 0

    def _prepare(self, *geometry: Any) -> native.CudaLaunch:
        self.prepared.append(geometry)
        addresses = [ctypes.cast(one, ctypes.c_void_p).value for one in self.held]
        number = len(self.prepared)
        return native.CudaLaunch(addresses, self.context, number, 1, 32, 0, [], [], 0)

    def __call__(self, x: Any, out: Any = None, log: bool = False) -> Any:
        return self.calls(log, x, out)


EXCHANGE = "__dlpack_c_exchange_api__"


@pytest.fixture(params=["exchange", "attributes"])
def calls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Return calls that learn of tensors as PyTorch from 2.10 on tells, and as all versions do."""
    if request.param == "attributes":
        monkeypatch.delattr(torch.Tensor, EXCHANGE, raising=False)
    elif not hasattr(torch.Tensor, EXCHANGE):
        pytest.skip("this PyTorch has no table of DLPack's functions")
    return Recorder()


def test_plain_tensor_goes_to_the_driver(calls: Recorder) -> None:
    x = torch.randn(3, 4, 5)
    y = calls(x)
    assert (y.shape, y.dtype, y.device) == (x.shape, x.dtype, x.device)
    device, stream = (0, 0) if hasattr(torch.Tensor, EXCHANGE) else (-1, STREAM)
    assert calls.prepared == [(False, "float32", 12, 5, device)]
    assert calls.launched == [(1, stream, x.data_ptr(), y.data_ptr())]


def test_columns_of_single_rows_may_have_any_stride(calls: Recorder) -> None:
    x = torch.zeros(40).as_strided((1, 5), (77, 1))
    assert calls(x) is not None


@pytest.mark.parametrize("here", [True, False])
def test_fresh_memory_is_taken_past_the_dispatcher_on_the_current_gpu(here: bool) -> None:
    made: list[Any] = []

    def packed(shape: Any, strides: Any, dtype: Any) -> Any:
        assert type(shape) is type(strides) is tuple
        made.append(torch.empty_strided(shape, strides, dtype=dtype))
        return made[-1]

    calls = Recorder(context=0 if here else 5, packed=packed)
    x = torch.zeros(3, 4, 5, dtype=torch.bfloat16)
    y = calls(x)
    assert (y.shape, y.stride(), y.dtype) == (x.shape, x.stride(), x.dtype)
    assert [one is y for one in made] == [True] * here


def test_memory_of_another_gpu_is_not_taken() -> None:
    calls = Recorder(packed=lambda shape, strides, dtype: torch.empty(shape, device="meta"))
    assert calls(X).device == X.device


def test_launches_are_kept_by_op_type_and_shape(calls: Recorder) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        for shape in ((4, 8), (8, 4), (2, 2, 8)):
            for log in (False, True):
                for _ in range(2):
                    calls(torch.zeros(shape, dtype=dtype), log=log)
    assert len(calls.prepared) == 2 * 3 * 2
    assert [one[0] for one in calls.launched[:4]] == [1, 1, 2, 2]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_out_is_written_in_place(calls: Recorder, dtype: str) -> None:
    x = torch.zeros(3, 8, dtype=getattr(torch, dtype))
    y = torch.empty_like(x)
    assert calls(x, y) is y
    assert calls(x, x) is x
    assert [one[2:] for one in calls.launched] == [
        (x.data_ptr(), y.data_ptr()), (x.data_ptr(), x.data_ptr()),
    ]  # fmt: skip
    assert calls.prepared[0][1] == dtype


def halves() -> tuple[Any, Any]:
    flat = torch.zeros(64)
    return flat[:32].view(4, 8), flat[4:36].view(4, 8)


def emptied() -> Any:
    x = torch.zeros(4, 8)
    x.untyped_storage().resize_(0)
    return x


class Subclass(torch.Tensor):
    """A tensor that may mean anything."""


X = torch.zeros(4, 8)
ODD_INPUTS: dict[str, Callable[[], Any]] = {
    "an array": X.numpy,
    "a subclass": lambda: X.as_subclass(Subclass),
    "a parameter": lambda: torch.nn.Parameter(X.clone()),
    "gradients": lambda: X.clone().requires_grad_(),
    "integers": X.int,
    "complex": lambda: X.to(torch.complex64),
    "rows apart": lambda: torch.zeros(4, 16)[:, :8],
    "transposed": lambda: torch.zeros(8, 4).T,
    "expanded": lambda: torch.zeros(1, 8).expand(4, 8),
    "at an odd address": lambda: torch.zeros(33)[1:].view(4, 8),
    "six axes": lambda: torch.zeros(1, 1, 1, 1, 4, 8),
    "functional": lambda: torch._to_functional_tensor(X),
    "no axes": lambda: torch.tensor(1.0),
    "no rows": lambda: torch.zeros(0, 8),
    "no columns": lambda: torch.zeros(4, 0),
    "negated lazily": lambda: torch._neg_view(X),
    "sparse": X.to_sparse,
    "meta": lambda: X.to("meta"),
    "without memory": emptied,
    "quantized": lambda: torch.quantize_per_tensor(X, 0.1, 0, torch.qint8),
    "zeros without memory": lambda: torch._efficientzerotensor((4, 8)),
}


@pytest.mark.parametrize("make", ODD_INPUTS.values(), ids=list(ODD_INPUTS))
@pytest.mark.filterwarnings("ignore:.*:UserWarning", "ignore:.*:DeprecationWarning")
def test_odd_inputs_and_outputs_are_left_to_the_long_way(
    calls: Recorder, make: Callable[[], Any]
) -> None:
    odd = make()
    assert calls(odd) is None
    assert calls(X, odd) is None
    assert calls.launched == []


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_ragged_batches_are_left_to_the_long_way(calls: Recorder) -> None:
    for layout in (torch.strided, torch.jagged):
        ragged = torch.nested.nested_tensor([torch.zeros(3), torch.zeros(5)], layout=layout)
        assert calls(ragged) is None
    compressed = torch.eye(4).to_sparse_csr()
    assert calls(compressed) is None
    assert calls.launched == []


ODD_OUTPUTS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "another type": lambda: (X, torch.zeros(4, 8, dtype=torch.float64)),
    "another shape": lambda: (X, torch.zeros(8, 4)),
    "other axes": lambda: (X, torch.zeros(2, 2, 8)),
    "another device": lambda: (X, torch.zeros(4, 8, device="meta")),
    "overlapping": halves,
    "a list": lambda: (X, [0.0]),
}


@pytest.mark.parametrize("make", ODD_OUTPUTS.values(), ids=list(ODD_OUTPUTS))
def test_outputs_that_do_not_fit_are_left_to_the_long_way(
    calls: Recorder, make: Callable[[], tuple[Any, Any]]
) -> None:
    assert calls(*make()) is None
    assert calls.launched == []


def test_dispatch_modes_see_the_call(calls: Recorder) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*args, **(kwargs or {}))

    with Mode():
        assert calls(X) is None
    assert calls(X) is not None


def test_function_transforms_see_the_call(calls: Recorder) -> None:
    given: list[Any] = []

    def inside(x: Any) -> Any:
        given.extend((calls(x), calls(X)))
        return x

    torch.vmap(inside)(X)
    torch.func.grad(lambda x: inside(x).sum())(X)
    assert given == [None] * 4
    assert calls.launched == []


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning", "ignore:.*:torch.jit.TracerWarning")
def test_traces_see_the_call(calls: Recorder) -> None:
    given: list[Any] = []

    def traced(x: Any) -> Any:
        given.append(calls(X))
        return x + 1

    torch.jit.trace(traced, X, check_trace=False)
    assert given == [None]


def test_forward_mode_gradients_see_the_call(calls: Recorder) -> None:
    with torch.autograd.forward_ad.dual_level():
        assert calls(X) is None
    assert calls(X) is not None


def test_compiled_callers_get_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor that says it is on a GPU, so that only the compiler's flag is in the way."""
    monkeypatch.setattr(torch_, "in_dynamo", lambda: True)

    class Claims(torch.Tensor):
        is_cuda = True

    monkeypatch.setattr(torch_, "TENSOR", Claims)
    monkeypatch.setattr(softmax, "_cuda_calls", lambda: pytest.fail("asked while compiling"))
    assert softmax._default_torch_call(X.as_subclass(Claims), None, False) is None


def test_written_output_counts_its_version(calls: Recorder) -> None:
    x, out = X.clone(), X.clone()
    before = out._version, x._version
    calls(x, out)
    assert (out._version, x._version) == (before[0] + 1, before[1])
    with torch.inference_mode():  # whose tensors have no version
        free = torch.zeros(4, 8)
        assert calls(free, free) is free


def test_failing_callbacks_are_told(calls: Recorder) -> None:
    def fail(*_: Any) -> Any:
        raise MemoryError("no memory left")

    short = native.CudaCalls(
        torch.Tensor, torch_cuda.FLOATS, [], torch.autograd.forward_ad, lambda device: 0, fail,
        None, fail, calls._prepare,
    ).function()  # fmt: skip
    with pytest.raises(MemoryError, match="no memory left"):
        short(False, X, None)
    with pytest.raises(MemoryError, match="no memory left"):
        short(False, X, X)
    with pytest.raises(TypeError, match="log, x and out"):
        short(False, X)
