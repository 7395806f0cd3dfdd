"""Functions under the names that trainers and servers have for them, against plain PyTorch."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from oneread import BackendUnavailableError
from oneread.testing import ulp

torch = pytest.importorskip("torch", reason="the functions are PyTorch's users'")
from oneread.torch import sglang, trl, vllm  # noqa: E402

X = torch.randn(6, 50, generator=torch.Generator().manual_seed(0)) * 4
IDS = torch.tensor([3, 49, 0, 7, 7, 21])


def assert_near(got: Any, want: Any, digits: int = 8) -> None:
    """Fail unless results are as close to float64 ones as their type allows."""
    assert got.shape == want.shape
    dtype = str(got.dtype).removeprefix("torch.")
    allowed = digits * ulp(np.maximum(np.abs(want.detach().numpy()), 1), dtype)
    assert (np.abs((got.detach().double() - want.detach()).numpy()) <= allowed).all()


def parameters(f: Any) -> list[tuple[str, Any]]:
    return [(p.name, p.default) for p in inspect.signature(f).parameters.values()]


def test_signatures_are_those_of_the_originals() -> None:
    none = inspect.Parameter.empty
    assert parameters(trl.selective_log_softmax) == [("logits", none), ("index", none)]
    assert parameters(trl.entropy_from_logits) == [("logits", none), ("chunk_size", 128)]
    assert parameters(vllm.compute_topk_logprobs) == [
        ("logits", none), ("num_logprobs", none), ("sampled_token_ids", none),
        ("cu_num_logits", None), ("logprob_token_ids_state", None),
        ("expanded_idx_mapping", None), ("max_per_req_token_ids", 0),
    ]  # fmt: skip
    assert parameters(sglang.row_logsumexp_topk) == [("x", none), ("k", none)]
    assert parameters(sglang.get_top_logprobs) == [
        ("logprobs", none), ("top_logprobs_nums", none), ("no_copy_to_cpu", False),
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_selective_log_softmax_of_trl(dtype: Any) -> None:
    x = X.to(dtype).reshape(2, 3, 50)
    want = x.double().log_softmax(-1)
    for index in (IDS.reshape(2, 3), torch.stack([IDS, IDS.flip(0)], -1).reshape(2, 3, 2)):
        got = trl.selective_log_softmax(x, index)
        assert got.dtype == dtype
        columns = index if index.ndim == 3 else index[..., None]
        assert_near(got, want.gather(-1, columns).reshape(index.shape))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_entropy_from_logits_of_trl(dtype: Any) -> None:
    x = X.to(dtype)
    got = trl.entropy_from_logits(x, chunk_size=2)
    assert got.dtype == dtype
    logp = x.double().log_softmax(-1)
    assert_near(got, -(logp.exp() * logp).sum(-1), 16)


def test_gradients_flow_through_the_functions_of_trl() -> None:
    x, y = X.double().requires_grad_(), X.double().requires_grad_()
    (trl.selective_log_softmax(x, IDS) + trl.entropy_from_logits(x)).sum().backward()
    logp = y.log_softmax(-1)
    (logp.gather(-1, IDS[:, None])[:, 0] - (logp.exp() * logp).sum(-1)).sum().backward()
    assert_near(x.grad, y.grad)


def test_compute_topk_logprobs_of_vllm() -> None:
    logp = X.double().log_softmax(-1)
    for k in (0, 1, 5):
        made = vllm.compute_topk_logprobs(X, k, IDS, [0, 6])
        columns = torch.cat([IDS[:, None], X.topk(k).indices], 1)
        assert torch.equal(made.logprob_token_ids, columns)
        assert_near(made.logprobs, logp.gather(-1, columns))
        assert made.logprobs.dtype == torch.float32
        ranks = (X.gather(1, IDS[:, None]) <= X).sum(1)  # no two logits are equal here
        assert torch.equal(made.selected_token_ranks, ranks)
        assert made.cu_num_generated_tokens == [0, 6]


def test_tokens_of_a_request_s_own_are_refused() -> None:
    with pytest.raises(BackendUnavailableError, match="max_per_req_token_ids"):
        vllm.compute_topk_logprobs(X, 1, IDS, max_per_req_token_ids=2)


@pytest.mark.parametrize("offset", [0.0, 10_000.0])
def test_row_logsumexp_topk_of_sglang(offset: float) -> None:
    x = (X + offset).float()
    largest, log_sum, values, columns = sglang.row_logsumexp_topk(x, 4)
    want = x.double()
    assert torch.equal(values, x.topk(4).values)
    assert torch.equal(columns, x.topk(4).indices)
    assert torch.equal(largest, x.amax(-1))
    assert_near(log_sum, want.logsumexp(-1) - want.amax(-1), 2)
    assert_near((values - largest[:, None]) - log_sum[:, None], want.log_softmax(-1).topk(4).values)


def test_get_top_logprobs_of_sglang() -> None:
    logp, k = X.log_softmax(-1), [3, 0, 1, 5, 2, 1]
    values, columns = sglang.get_top_logprobs(logp, k)
    top = logp.topk(5)
    for row, n in enumerate(k):
        assert values[row] == top.values[row, :n].tolist()
        assert columns[row] == top.indices[row, :n].tolist()
    tensors, _ = sglang.get_top_logprobs(logp, k, no_copy_to_cpu=True)
    assert torch.equal(tensors[3], top.values[3])
