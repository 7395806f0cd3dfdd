"""ONNX Runtime as a peer: one graph a case, its input and outputs bound to kept memory.

Knows no other library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from oneread.bench.cases import Case
from oneread.bench.contestants import AbsentError, Contestant, Data, Forms

NAME: Final = "onnxruntime"
KEPT: Final = "onnxruntime out="
_OPSET: Final = 18
_IR_VERSION: Final = 8


def version() -> str:
    """Return the version of the library."""
    import onnxruntime

    return str(onnxruntime.__version__)


def forms(case: Case, data: Data, threads: int) -> Forms:
    """Return the ways in which ONNX Runtime can do a case."""
    make = {
        "softmax": lambda helper: ([helper.make_node("Softmax", ["x"], ["y"], axis=case.axis)], 1),
        "log_softmax": lambda helper: (
            [helper.make_node("LogSoftmax", ["x"], ["y"], axis=case.axis)], 1
        ),
        "logsumexp": _logsumexp,
        "top_k": lambda helper: ([_top(helper, "x")], 2),
        "softmax_topk": lambda helper: (
            [helper.make_node("Softmax", ["x"], ["p"], axis=-1), _top(helper, "p")], 2
        ),
    }.get(case.op)  # fmt: skip
    if make is None:
        return {}
    name = NAME if case.memory == "fresh" and case.op == "softmax" else KEPT
    return {name: lambda: _contestant(case, data, threads, make)}


def _logsumexp(helper: Any) -> tuple[list[Any], int]:
    # ReduceLogSumExp does not subtract the maximum, but that is what the library offers.
    return [helper.make_node("ReduceLogSumExp", ["x", "axes"], ["y"], keepdims=0)], 1


def _top(helper: Any, of: str) -> Any:
    return helper.make_node("TopK", [of, "k"], ["values", "indices"], axis=-1)


def _contestant(
    case: Case, data: Data, threads: int, make: Callable[[Any], tuple[list[Any], int]]
) -> Contestant:
    """Build the graph, bind the memory and return the call."""
    try:
        from onnx import TensorProto, helper
    except ImportError:
        raise AbsentError("onnx, which makes its models, is not installed") from None
    element = {
        "float16": TensorProto.FLOAT16,
        "bfloat16": TensorProto.BFLOAT16,
        "float32": TensorProto.FLOAT,
        "float64": TensorProto.DOUBLE,
    }[case.dtype]
    nodes, outputs = make(helper)
    names = ["y"] if outputs == 1 else ["values", "indices"]
    types = [element, TensorProto.INT64]
    k = dict(case.options).get("k", 0)
    graph = helper.make_graph(
        nodes, case.op,
        [helper.make_tensor_value_info("x", element, case.shape)],
        [helper.make_tensor_value_info(n, t, None) for n, t in zip(names, types, strict=False)],
        [
            helper.make_tensor("k", TensorProto.INT64, [1], [k]),
            helper.make_tensor("axes", TensorProto.INT64, [1], [case.axis]),
        ],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)])
    model.ir_version = _IR_VERSION
    session = _session(model.SerializeToString(), threads)
    if case.memory == "fresh" and case.op == "softmax":
        feed = {"x": _value(data.x)}

        def run() -> Any:
            return session.run_with_ort_values(["y"], feed)[0].numpy()

        return Contestant(run, ("y",), threads)
    return _bound(case, data, session, names, k, threads)


def _session(model: bytes, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _value(array: Any) -> Any:
    """Return a value over the memory of a NumPy array."""
    import onnxruntime

    return onnxruntime.OrtValue.ortvalue_from_numpy(array)


def _bound(
    case: Case, data: Data, session: Any, names: list[str], k: int, threads: int
) -> Contestant:
    """Return the call with its outputs in memory that is kept."""
    rows = case.shape[:-1]
    made: dict[str, Any] = {
        "y": data.y if case.op != "logsumexp" else np.empty(rows, data.x.dtype),
        "values": np.empty((*rows, k), data.x.dtype),
        "indices": np.empty((*rows, k), np.int64),
    }
    outputs = [made[name] for name in names]
    binding = session.io_binding()
    for bind, name, array in (
        (binding.bind_input, "x", data.x),
        *((binding.bind_output, n, a) for n, a in zip(names, outputs, strict=True)),
    ):
        bind(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)

    def run() -> Any:
        session.run_with_iobinding(binding)
        return outputs[0] if len(outputs) == 1 else outputs

    fields = {"y": ("lse",) if case.op == "logsumexp" else ("y",)}
    return Contestant(run, fields.get(names[0], ("values", "indices")), threads)
