"""What public issues report about tensors, compiled graphs and tensors without numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneread
from oneread.testing import assert_close_to_truth, max_ulp_error

torch = pytest.importorskip("torch", reason="the cases are PyTorch's")

each_backend = pytest.mark.parametrize("backend", ["eager", "aot_eager"])


@pytest.fixture(autouse=True)
def _fresh_graphs() -> Any:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("vocab", [640, 50_257])
def test_bfloat16_sum_of_a_tensor_does_not_stall(vocab: int) -> None:
    # pytorch/executorch#20090
    x = torch.zeros(2, vocab, dtype=torch.bfloat16)
    assert oneread.softmax(x).dtype == torch.bfloat16
    for op in ("softmax", "log_softmax", "logsumexp"):
        assert_close_to_truth(getattr(oneread, op)(x), x, op)


@pytest.mark.parametrize("vocab", [262_145, 1 << 20])
def test_lse_of_a_very_large_vocabulary_of_bfloat16_is_right(vocab: int) -> None:
    # NVIDIA/Megatron-LM#2206
    x = torch.randn(2, vocab, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    for numbers in (x, x.float()):
        assert_close_to_truth(oneread.logsumexp(numbers), numbers, "logsumexp")


def test_empty_tensors_have_the_same_shapes_eager_and_fake() -> None:
    # pytorch/pytorch#91322
    from torch._subclasses.fake_tensor import FakeTensorMode

    assert oneread.softmax(torch.zeros(4, 0, 3), axis=1).shape == (4, 0, 3)
    assert oneread.softmax(torch.zeros(0, 5)).shape == (0, 5)
    with FakeTensorMode():
        assert oneread.softmax(torch.empty(0, 5)).shape == (0, 5)
        assert oneread.softmax(torch.empty(4, 0, 3), axis=1).shape == (4, 0, 3)
        assert oneread.logsumexp(torch.empty(4, 0, 3), axis=1).shape == (4, 3)
        assert oneread.softmax_topk(torch.empty(0, 5), 2).indices.shape == (0, 2)


@each_backend
def test_empty_tensors_have_the_same_shapes_compiled(backend: str) -> None:
    # pytorch/pytorch#91322
    compiled = torch.compile(lambda x: oneread.softmax(x, axis=1), backend=backend)
    assert compiled(torch.zeros(4, 0, 3)).shape == (4, 0, 3)
    assert compiled(torch.zeros(0, 5)).shape == (0, 5)


@each_backend
def test_k_of_a_compiled_graph_follows_the_axis(backend: str) -> None:
    # DavideCatto/XFeat-ONNX#2
    def best(x: Any) -> Any:
        return oneread.softmax_topk(x, min(8, x.shape[-1])).indices

    compiled = torch.compile(best, backend=backend, dynamic=False)
    for vocab in (20, 5):
        x = torch.randn(2, vocab)
        assert torch.equal(compiled(x), best(x))
        assert compiled(x).shape == (2, min(8, vocab))


def test_k_beyond_the_axis_is_an_error_in_a_compiled_graph_too() -> None:
    # DavideCatto/XFeat-ONNX#2
    compiled = torch.compile(
        lambda x: oneread.softmax_topk(x, 8).indices, backend="eager", dynamic=False
    )
    assert compiled(torch.randn(2, 20)).shape == (2, 8)
    with pytest.raises(Exception, match=r"k is 8; 0 to 5"):
        compiled(torch.randn(2, 5))


@each_backend
def test_scale_before_the_softmax_is_not_folded_into_it(backend: str) -> None:
    # pytorch/pytorch#163932
    x, scale = torch.tensor([[-0.5, 0.625, 0.875, 0.25]]), torch.tensor([2e15])

    def scaled(a: Any) -> Any:
        return oneread.softmax(a * scale)

    want = torch.tensor([[0.0, 0.0, 1.0, 0.0]])
    assert torch.equal(scaled(x), want)
    assert torch.equal(torch.compile(scaled, backend=backend)(x), want)
    cold = oneread.softmax(x.numpy(), temperature=1e-30)
    np.testing.assert_array_equal(cold, want.numpy())


@each_backend
@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf"), 2.0])
def test_constants_are_folded_to_what_eager_gives(number: float, backend: str) -> None:
    # pytorch/pytorch#188225
    def constant() -> Any:
        return oneread.softmax(torch.full((2, 2), number))

    compiled = torch.compile(constant, backend=backend)()
    assert torch.equal(torch.isnan(compiled), torch.isnan(constant()))
    assert max_ulp_error(compiled, constant().double().numpy()) == 0
