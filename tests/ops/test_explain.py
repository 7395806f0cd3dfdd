"""explain, kernels and warm: what would run, and making it ready."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneread
from oneread import BackendUnavailableError, DtypeError, Explanation, ShapeError
from oneread.spec import OPS

OWN: dict[str, dict[str, Any]] = {"top_k": {"k": 3}, "softmax_topk": {"k": 3}}
each_op = pytest.mark.parametrize("op", list(OPS))


def said(x: Any, op: str = "softmax", **options: Any) -> Explanation:
    return oneread.explain(x, op, **OWN.get(op, {}), **options)


@each_op
@pytest.mark.parametrize("shape", [(3, 50), (2, 70000), (40, 5000)])
@pytest.mark.parametrize("layout", ["rows", "columns", "float16"])
def test_what_is_explained_is_what_runs(op: str, shape: tuple[int, int], layout: str) -> None:
    x = np.zeros(shape, np.float32)
    x = {"rows": x, "columns": x.T.copy().T, "float16": x.astype(np.float16)}[layout]
    plan = said(x, op)
    getattr(oneread, op)(x, **OWN.get(op, {}))
    ran = oneread.last_kernel()
    assert ran is not None
    assert (plan.kernel, plan.isa, plan.layout, plan.threads, plan.spans, plan.stores) == (
        ran.name, ran.isa, ran.layout, ran.threads, ran.spans, ran.stores,
    )  # fmt: skip


@each_op
def test_bytes_follow_the_table(op: str) -> None:
    x = np.zeros((10, 200), np.float32)
    spec = OPS[op].kernels[0]
    plan = said(x, op)
    assert plan.read_bytes == spec.reads * x.nbytes
    written = {
        "softmax": x.nbytes, "log_softmax": x.nbytes, "logsumexp": 40, "read": 80,
        "top_k": 10 * 3 * (4 + 8), "softmax_topk": 10 * 3 * (4 + 8),
    }  # fmt: skip
    assert plan.written_bytes == written[op]
    assert plan.predicted_ms == (plan.read_bytes + plan.written_bytes) / plan.copy_gbs / 1e6


def test_a_mask_is_read_too() -> None:
    x = np.zeros((10, 200), np.float32)
    plan = said(x, "logsumexp", where=np.ones(200, bool))
    assert plan.read_bytes == x.nbytes + x.size


def test_the_copy_rate_is_measured_once() -> None:
    x = np.zeros((10, 200), np.float32)
    assert said(x).copy_gbs == said(x).copy_gbs > 0


def test_reasons_name_type_layout_and_masks() -> None:
    plain = str(said(np.zeros((4, 64), np.float32)))
    assert "float32 is computed as it is" in plain
    assert "their columns lie side by side" in plain
    odd = str(said(np.zeros((64, 4), ">f2").T, lengths=3, kernel="lazy"))
    for reason in (
        "float16 is converted to float32", "x are 8 bytes apart", "foreign byte order",
        "was asked for", "those beyond a length not at all",
    ):  # fmt: skip
        assert reason in odd
    assert "alignment" not in plain + odd


def misaligned() -> Any:
    return np.zeros(4 * 64 + 1, np.uint8)[1:].view(np.float32).reshape(1, 64)


PLAIN = np.zeros((4, 64), np.float32)


@pytest.mark.parametrize(
    ("x", "options", "reason"),
    [
        (PLAIN, {"where": np.ones(64, bool)}, "where= is given"),
        (PLAIN, {"dtype": "float16"}, "float16 output of float32 input"),
        (PLAIN, {"dtype": "float64"}, "float64 output of float32 input"),
        (PLAIN.astype(">f4"), {}, "x is of foreign byte order"),
        (misaligned(), {}, "the elements of x are misaligned"),
        (PLAIN[:, ::2], {}, "the columns of x are 8 bytes apart"),
        (np.zeros((4, 3, 64), np.float32)[:, :, :9], {"axis": (1, 2)}, "do not lie side by side"),
        (PLAIN, {"out": np.zeros((64, 4), np.float32).T}, "the columns of out are 16 bytes apart"),
        (PLAIN.astype("i2"), {}, "int16 holds integers"),
    ],
)
def test_staged_layout_says_why(x: Any, options: dict[str, Any], reason: str) -> None:
    plan = said(x, **options)
    assert plan.layout == "staged"
    (line,) = [line for line in plan.why if line.startswith("layout: ")]
    assert reason in line
    assert line.count(": ") == 2


@each_op
def test_statistics_in_float64_are_explained_as_they_run(op: str) -> None:
    x = np.zeros((3, 50), np.float32)
    dtype = {} if op == "top_k" else {"dtype": "float64"}
    plan = said(x, op, **dtype)
    getattr(oneread, op)(x, **OWN.get(op, {}), **dtype)
    ran = oneread.last_kernel()
    assert ran is not None
    assert plan.layout == ran.layout


def test_explanation_counts_in_words() -> None:
    one = str(said(np.zeros((4, 64), np.float32), "logsumexp"))
    assert "rows, 1 thread, no stores\n" in one
    assert "; at least " in one
    assert "2 threads, regular stores\n" in str(said(np.zeros((99, 999), np.float32), threads=2))


def test_op_may_be_its_function() -> None:
    x = np.zeros((2, 300), np.float32)
    assert oneread.explain(x, oneread.log_softmax).op == "log_softmax"
    oneread.warm(oneread.softmax, (2, 300), "float32")
    with pytest.raises(ShapeError, match="op is <function"):
        oneread.explain(x, np.sort)


@pytest.mark.parametrize("shape", [(10**30,), (2**40, 2**40), (1,) * 70, (-1, 3), (0, 2**63)])
def test_warm_of_an_impossible_shape_is_a_shape_error(shape: Any) -> None:
    with pytest.raises(ShapeError, match="shape is"):
        oneread.warm("softmax", shape, "float32")


def test_explaining_reads_and_writes_no_element() -> None:
    huge = np.broadcast_to(np.float32(0), (10**6, 10**6))
    assert said(huge).read_bytes == 8 * 10**12
    out = np.full((2, 3), 7, np.float32)
    said(np.zeros((2, 3), np.float32), out=out)
    assert (out == 7).all()


def test_options_are_checked_as_the_op_checks_them() -> None:
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(ShapeError, match="temperature"):
        said(x, temperature=0)
    with pytest.raises(TypeError, match="k"):
        oneread.explain(x, "top_k")
    with pytest.raises(TypeError, match="nonsense"):
        said(x, nonsense=1)
    with pytest.raises(ShapeError, match="op is 'argsort'; softmax, "):
        said(x, "argsort")


def test_tensors_are_explained() -> None:
    torch = pytest.importorskip("torch", reason="explains a tensor")
    assert said(torch.zeros(2, 300)).read_bytes == 2400


def test_kernels_are_those_of_the_table_on_this_machine() -> None:
    kernels = oneread.kernels()
    assert [k.name for k in kernels] == [k.name for spec in OPS.values() for k in spec.kernels]
    for kernel in kernels:
        assert kernel.isas
        assert kernel.device == "cpu"
        x = np.zeros((2, 300), np.float32)
        getattr(oneread, kernel.op)(x, **OWN.get(kernel.op, {}), kernel=kernel.algorithm)
        ran = oneread.last_kernel()
        assert ran is not None
        assert ran.name == kernel.name
        assert ran.isa in kernel.isas


@each_op
@pytest.mark.parametrize("dtype", ["float32", np.float16, "bfloat16", "int64"])
def test_warm_takes_what_the_op_takes(op: str, dtype: Any) -> None:
    oneread.warm(op, (4, 10**9), dtype, **OWN.get(op, {}))


def test_warm_of_a_gpu_prepares_the_launch_of_contiguous_arrays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("torch", reason="arrays on a GPU are PyTorch's")
    from oneread.runtime import cuda, cuda_topk, driver

    asked: list[Any] = []
    device = driver.Device(1, "a GPU", "sm_90", 1, 1, 0)
    monkeypatch.setattr(driver, "device", lambda index: device)
    monkeypatch.setattr(cuda, "prepared", lambda *words: asked.append(words))
    oneread.warm("softmax", (4, 6, 10), "float32", device="cuda:1", axis=1, temperature=0.5)
    oneread.warm("logsumexp", (4, 6, 10), "int8", device="cuda:1", axis=(0, 2))
    one, other = asked
    rest = (cuda.Places(), 1, False, None, False)
    assert one == ("softmax", "float32", (4, 6, 10), *[(60, 10, 1)] * 2, 1, 1, *rest, "float32")
    assert other[:-1] == ("logsumexp", "float32", (6, 40), *[(40, 1)] * 2, 1, 0, *rest)
    monkeypatch.setattr(cuda_topk, "prepared", lambda *words: asked.append(words))
    oneread.warm("top_k", (2, 5), "float32", device="cuda:1", k=3)
    assert asked[-1][0].k == 3
    assert asked[-1][1:] == ("float32", (2, 5), (5, 1), 1, 0, cuda.Places(), 1, False, None, False)


def test_warm_refuses_what_the_op_refuses() -> None:
    with pytest.raises(ShapeError, match="k is 9; 0 to 5"):
        oneread.warm("top_k", (2, 5), "float32", k=9)
    with pytest.raises(DtypeError, match="dtype is complex64"):
        oneread.warm("softmax", (2, 5), "complex64")
    with pytest.raises(BackendUnavailableError, match="device is 'tpu'"):
        oneread.warm("softmax", (2, 5), "float32", device="tpu")
    with pytest.raises(ShapeError, match="op is 'argsort'"):
        oneread.warm("argsort", (2, 5), "float32")
