"""Tensors that count as lying on a GPU, in the memory of a CPU, and states of them."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import pickle
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from emulated import on_cpu  # noqa: F401

from oneread.runtime import cuda, cuda_read, cuda_topk
from oneread.testing import FAMILIES

torch = pytest.importorskip("torch", reason="what lies on a GPU are PyTorch's tensors")

from oneread.backends import find  # noqa: E402
from oneread.backends import torch_cuda as gpu  # noqa: E402
from oneread.backends.torch_ import NAMES  # noqa: E402
from oneread.ops._device_state import DeviceState  # noqa: E402

NOTHING: dict[str, Any] = {
    "top_k": 0, "select": None, "rank": False, "entropy": False, "sum_p2": False, "argmax": False,
}  # fmt: skip
OF_A_STATE: dict[str, Any] = NOTHING | {"selected_logit": None, "temperature": None}
OF_A_CHUNK: dict[str, Any] = {"where": None, "lengths": None, "threads": None}


def memory(x: Any) -> cuda.Memory:
    return cuda.Memory(x.data_ptr(), NAMES[x.dtype], tuple(x.shape), x.stride(), 0, 0)


@pytest.fixture
def tensors_stay_on_a_cpu(
    on_cpu: None,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[None]:
    """Take every tensor for one on a GPU."""
    monkeypatch.setattr(gpu, "check", lambda x, role: None)
    monkeypatch.setattr(gpu, "is_on_gpu", lambda x: isinstance(x, torch.Tensor))
    monkeypatch.setattr(gpu, "memory", memory)
    monkeypatch.setattr(gpu, "on", lambda x: nullcontext())
    monkeypatch.setattr(gpu, "beside", lambda x, array: torch.from_numpy(array))
    monkeypatch.setattr(find, "gpu_backend", lambda x: gpu if isinstance(x, torch.Tensor) else None)
    for kept in (cuda_read.prepared, cuda_topk.prepared):
        kept.cache_clear()
    yield
    for kept in (cuda_read.prepared, cuda_topk.prepared):
        kept.cache_clear()


def state_of(x: Any, axis: Any = -1, offset: int = 0, **options: Any) -> DeviceState:
    return DeviceState.first(x, axis, offset, OF_A_STATE | options, OF_A_CHUNK)


def inputs(family: str, rows: int, vocab: int, dtype: str = "float32") -> Any:
    x = FAMILIES[family](rows, vocab, "float32" if dtype == "bfloat16" else dtype, 0)
    tensor = torch.from_numpy(np.ascontiguousarray(x))
    return tensor.bfloat16() if dtype == "bfloat16" else tensor


def state_of_parts(x: Any, edges: list[int], **options: Any) -> DeviceState:
    cuts = itertools.pairwise(edges)
    parts = [state_of(x[..., a:b], offset=a, **options) for a, b in cuts]
    return functools.reduce(operator.or_, parts)  # type: ignore[arg-type]


def cpu_state(state: DeviceState) -> Any:
    return pickle.loads(pickle.dumps(state))


def masked_inputs() -> tuple[Any, Any, Any]:
    """Return rows, a mask and lengths; some rows keep -inf alone, some nothing."""
    rng = np.random.default_rng(5)
    x = inputs("ties", 6, 90)
    x[1], x[2, ::5] = -math.inf, math.nan
    where = torch.from_numpy(rng.random((6, 90)) < 0.4)
    where[3], where[1, :40] = False, False
    return x, where, torch.tensor([90, 80, 31, 90, 0, 5])


def state_under(x: Any, where: Any, lengths: Any, cuts: list[int], **options: Any) -> DeviceState:
    """Return the state of the parts of rows between cuts, each with its part of the mask."""
    parts = []
    for a, b in itertools.pairwise([0, *cuts, x.shape[1]]):
        chunk = {"where": where[:, a:b], "lengths": (lengths - a).clip(0, b - a), "threads": None}
        parts.append(DeviceState.first(x[:, a:b], -1, a, OF_A_STATE | options, chunk))
    return functools.reduce(operator.or_, parts)  # type: ignore[arg-type]
