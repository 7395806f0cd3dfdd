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

from oneread.backends import find, torch_, torch_cuda  # noqa: E402
from oneread.ops import _face, softmax  # noqa: E402
from oneread.ops._arguments import DEFAULTS  # noqa: E402
from oneread.ops.logsumexp import LOGSUMEXP  # noqa: E402

STREAM = 0x5000
#: Calls of two results, and ones that are left to the long way.
MANY, REFUSED = 7, 8


class Recorder:
    """Calls, and what reaches the driver of them."""

    numbers = 4
    many = False

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
            torch.Tensor, torch_cuda.TYPES, torch_.WATCHERS, torch.autograd.forward_ad,
            lambda device: STREAM, torch_cuda.fresh, packed, torch_.count_writes, self._prepare,
        ).function()  # fmt: skip

    def _launch(self, function: int, *given: Any) -> int:
        stream, places = given[7] or 0, given[8]
        numbers = self.numbers if self.many else 0
        x, y, *rest = [ctypes.c_int64.from_address(places[i]).value for i in range(2 + numbers)]
        self.launched.append((function, stream, x, y, *rest))
        return 0

    def _prepare(
        self, what: int, dtype: str, shape: tuple[int, ...], device: int, beside: Any
    ) -> Any:
        """Prepare a result like x; for `MANY` its rows in float32, of y and of two numbers."""
        self.prepared.append((what, dtype, shape, device, beside))
        if what == REFUSED:
            return None
        self.many = what == MANY
        addresses = [ctypes.cast(one, ctypes.c_void_p).value for one in self.held]
        launch = native.CudaLaunch(
            addresses, self.context, len(self.prepared), 1, 32, 0, [70, 71, 72, 73], [], 0
        )
        results: list[Any] = [(dtype, shape, -1, 16)]
        if self.many:
            rows = shape[:-1]
            results = [("float32", rows, -1, 4), None, ("int64", rows, 2, 8)]
        return launch, results, 3

    def __call__(self, x: Any, out: Any = None, what: int = 0, beside: Any = None) -> Any:
        return self.calls(what, x, beside, out)


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
    assert calls.prepared == [(0, "float32", (3, 4, 5), device, None)]
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
            for what in (0, 1):
                for _ in range(2):
                    calls(torch.zeros(shape, dtype=dtype), what=what)
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
    "integers": X.short,
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
    monkeypatch.setattr(find, "tensor_found", Claims)
    for module, name in ((softmax, "_cuda_calls"), (_face, "_gpu_calls")):
        monkeypatch.setattr(module, name, lambda: pytest.fail("asked while compiling"))
    x = X.as_subclass(Claims)
    assert softmax.plain_torch_call(x, None, False) is None
    monkeypatch.setattr(find, "gpu_backend", lambda x: None)
    monkeypatch.setattr(find, "in_graph", lambda x: False)
    monkeypatch.setattr(_face, "_run", lambda *_: "the long way")
    assert _face.run_op(LOGSUMEXP, x, -1, None, None, {"keepdims": False}, DEFAULTS) == (
        "the long way"
    )


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
        torch.Tensor, torch_cuda.TYPES, [], torch.autograd.forward_ad, lambda device: 0, fail,
        None, fail, calls._prepare,
    ).function()  # fmt: skip
    with pytest.raises(MemoryError, match="no memory left"):
        short(0, X, None, None)
    with pytest.raises(MemoryError, match="no memory left"):
        short(0, X, None, X)
    with pytest.raises(TypeError, match="what, x, beside and out"):
        short(0, X)


@pytest.mark.parametrize(
    "said",
    [
        (None, [], 0),
        ("launch", [("int8", (4,), 0, 1)], 0),
        ("launch", [("int64", (4,), 99, 8)], 0),
        ("launch", [], -1),
    ],
    ids=["no launch", "type", "number", "beside"],
)
def test_what_no_launch_can_do_is_an_error(calls: Recorder, said: Any) -> None:
    def prepare(*geometry: Any) -> Any:
        launch, *rest = said
        return launch and calls._prepare(*geometry)[0], *rest

    short = native.CudaCalls(
        torch.Tensor, torch_cuda.TYPES, [], torch.autograd.forward_ad, lambda device: 0,
        torch_cuda.fresh, None, torch_.count_writes, prepare,
    ).function()  # fmt: skip
    with pytest.raises(RuntimeError, match="prepare gives"):
        short(0, X, None, None)
    assert calls.launched == []


def test_several_results_come_as_a_tuple(calls: Recorder) -> None:
    beside = torch.zeros(3, 2, dtype=torch.int64)
    x = torch.zeros(3, 8, dtype=torch.bfloat16)
    first, nothing, second = calls(x, what=MANY, beside=beside)
    assert nothing is None
    assert [(one.shape, one.dtype) for one in (first, second)] == [
        ((3,), torch.float32), ((3,), torch.int64),
    ]  # fmt: skip
    assert calls.prepared[0][4] == ("int64", (3, 2))
    ((_, _, *addresses),) = calls.launched
    assert addresses == [
        x.data_ptr(), first.data_ptr(), 70, 71, second.data_ptr(), beside.data_ptr(),
    ]  # fmt: skip


def test_several_results_go_where_they_are_wanted(calls: Recorder) -> None:
    out = torch.zeros(4), None, torch.zeros(4, dtype=torch.int64)
    versions = [one._version for one in out if one is not None]
    made = calls(X, out, what=MANY)
    assert all(one is given for one, given in zip(made, out, strict=True))
    assert calls.launched[0][3:] == (out[0].data_ptr(), 70, 71, out[2].data_ptr(), 73)
    assert [one._version for one in out if one is not None] == [n + 1 for n in versions]


def test_several_results_that_do_not_fit_are_left_to_the_long_way(calls: Recorder) -> None:
    lse, column = torch.zeros(4), torch.zeros(4, dtype=torch.int64)
    both = torch.zeros(8)
    for out in (
        (lse, column), [lse, None, column], (lse, lse, column), (lse, None, None),
        (lse, None, column[:3]), (lse, None, lse), (X[0, :4], None, column),
        (both[:4], None, both.view(torch.int64)), lse, (column, None, column),
    ):  # fmt: skip
        assert calls(X, out, what=MANY) is None
    beside = torch.zeros(4, dtype=torch.int64)
    assert calls(X, (lse, None, beside), what=MANY, beside=beside) is None
    assert calls(X, what=MANY, beside=X.numpy()) is None
    assert calls(X, what=MANY, beside=X.to("meta")) is None
    assert calls.launched == []


def test_a_geometry_may_be_left_to_the_long_way_for_good(calls: Recorder) -> None:
    for _ in range(3):
        assert calls(X, what=REFUSED) is None
    assert len(calls.prepared) == 1


def test_launches_are_kept_by_what_is_read_beside_x(calls: Recorder) -> None:
    for shape in ((4,), (4, 1), (4, 2), (4,)):
        calls(X, what=MANY, beside=torch.zeros(shape, dtype=torch.int64))
    calls(X, what=MANY)
    assert [one[4] and one[4][1] for one in calls.prepared] == [(4,), (4, 1), (4, 2), None]
