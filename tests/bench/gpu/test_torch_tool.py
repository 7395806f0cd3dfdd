"""The tool that measures the steps of a trainer: every way, on a CPU and on a GPU made up."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the steps are PyTorch's")

from oneread.bench.gpu.timing import Effort  # noqa: E402

sys.path.append(str(Path(__file__).resolve().parents[3] / "tools"))
import run_torch as tool  # noqa: E402
import torch_devices  # noqa: E402
import torch_ways  # noqa: E402
from torch_steps import Step, steps  # noqa: E402

NOT_INSTALLED = {"liger", "quack"}
NO_COMPILER = frozenset({"compile"})
STEPS = {device: steps(device) for device in ("cpu", "cuda")}
LOSS = STEPS["cuda"][0]


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, gpu: Any) -> Any:
    """Return the device of the tool on a GPU made up, whose memory is 1000 bytes."""
    memory = SimpleNamespace(
        synchronize=lambda: None, reset_peak_memory_stats=lambda: None,
        memory_allocated=lambda: 100, max_memory_allocated=lambda: 350,
        get_device_properties=lambda index: SimpleNamespace(total_memory=1000 + index),
    )  # fmt: skip
    device = torch_devices.OnGpu(True, gpu, memory)
    monkeypatch.setattr(device, "_effort", Effort(rounds=2, graph_s=2e-6, calls=2))
    monkeypatch.setattr(device, "_traffic", lambda data, copied: {"copy": lambda i: gpu.spend(1.0)})
    return device


def small(step: Step) -> Step:
    return replace(step, rows=9, vocab=301)


def each(device: str) -> Any:
    return pytest.mark.parametrize("step", STEPS[device], ids=lambda step: step.key)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_steps_are_told_apart_by_their_keys_and_torch_does_each(device: str) -> None:
    assert len({step.key for step in STEPS[device]}) == len(STEPS[device])
    for step in STEPS[device]:
        assert {"oneread", "torch"} <= {way.name for way in step.ways}


def test_steps_of_a_gpu_have_the_sizes_that_are_to_be_reached() -> None:
    shapes = {(step.group, step.rows, step.vocab, step.dtype) for step in STEPS["cuda"]}
    assert {
        ("loss", 4096, 128_256, "bfloat16"), ("log-probs", 8192, 151_936, "bfloat16"),
        ("whole rows", 65_536, 8192, "bfloat16"), ("whole rows", 4096, 128_256, "bfloat16"),
        ("call", 10, 1000, "float32"),
    } <= shapes  # fmt: skip


@each("cuda")
def test_each_way_of_a_gpu_is_right_and_is_timed_also_in_a_graph(cuda: Any, step: Step) -> None:
    step = small(step)
    records = tool.measured(step, cuda, NO_COMPILER)
    json.dumps(records)
    for record in records:
        if record["library"] in NOT_INSTALLED and record["status"] != "ok":
            assert record["status"] == "absent"
            continue
        assert record["status"] == "ok", record
        assert record["times"]["median_s"] > 0
        assert set(record["error"]) == set(step.fields)
        assert max(record["error"].values()) < tool.allowed(step.dtype)
        in_graph = record["way"].endswith(tool.IN_GRAPH)
        assert record["extra_bytes"] == (None if in_graph or step.small else 250)
    graphs = [one["way"] for one in records if one["way"].endswith(tool.IN_GRAPH)]
    wanted = [way.name + tool.IN_GRAPH for way in step.ways if way.graph and not step.small]
    assert graphs == wanted


def test_share_is_of_the_rate_of_plain_traffic_in_the_same_run(cuda: Any) -> None:
    step = small(LOSS)
    record = tool.measured(step, cuda, NO_COMPILER)[0]
    rate = record["rates"]["copy"]
    assert rate == pytest.approx(2 * step.input_bytes / 1e9, rel=1e-3)  # a second each
    reached = 3 * step.input_bytes / record["times"]["median_s"] / 1e9
    assert record["share"] == pytest.approx(reached / rate)


@each("cpu")
def test_each_way_of_a_cpu_is_right(step: Step) -> None:
    step = small(step)
    device = torch_devices.OnCpu(True)
    for record in tool.measured(step, device, NO_COMPILER):
        assert record["status"] == "ok", record
        assert max(record["error"].values()) < tool.allowed("float32")
        assert record["times"]["median_s"] > 0


@pytest.mark.parametrize("fault", ["zeros", "uniform", "half"])
def test_wrong_gradient_is_found(cuda: Any, fault: str) -> None:
    step = small(LOSS)
    right = step.ways[0].make

    def make(data: Any) -> Any:
        def call() -> Any:
            loss, gradient = right(data)()
            spoiled = {
                "zeros": torch.zeros_like(gradient),
                "uniform": torch.full_like(gradient, 1 / 301),
                "half": torch.where(gradient < 0, gradient, 0),  # the targets alone
            }
            return loss, spoiled[fault]

        return call

    step = replace(step, ways=(torch_ways.Way("spoiled", "oneread", make),))
    (record,) = tool.measured(step, cuda, frozenset())
    assert record["status"] == "wrong"
    assert record["reason"].startswith("gradient: ")
    assert record["times"] is None


@pytest.mark.parametrize(
    ("error", "status"),
    [(MemoryError("none"), "out of memory"), (RuntimeError("no memory left"), "out of memory"),
     (ImportError("no such"), "absent"), (ValueError("refused"), "failed")],
)  # fmt: skip
def test_way_that_raises_is_a_record_and_the_others_are_timed(
    cuda: Any, error: Exception, status: str
) -> None:

    def make(_: Any) -> Any:
        raise error

    step = small(LOSS)
    step = replace(step, ways=(torch_ways.Way("raises", "torch", make), step.ways[1]))
    raised, other = tool.measured(step, cuda, frozenset())
    assert (raised["status"], raised["reason"]) == (status, str(error))
    assert other["times"]


def test_memory_ends_with_the_tokens_for_which_it_is_not_enough(
    cuda: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "MEMORY_VOCAB", 50)
    monkeypatch.setattr(cuda, "tokens", lambda: iter((2, 4, 8, 16)))

    def make(data: Any) -> Any:
        def call() -> Any:
            if len(data.x) > 4:
                raise torch.OutOfMemoryError("none")
            return ()

        return call

    found = list(tool.memory(LOSS, torch_ways.Way("torch", "torch", make), cuda))
    seen = [(one["tokens"], one["peak_bytes"], one["status"]) for one in found]
    assert seen == [(2, 250, "ok"), (4, 250, "ok"), (8, None, "out of memory")]
    assert found[0]["limit_bytes"] == 1000


def test_gradient_over_the_logits_needs_no_second_matrix() -> None:
    step = small(LOSS)
    data = step.data("cpu", single=True)
    _, gradient = torch_ways.over_logits(torch_ways.loss_over)(data)()
    assert gradient.data_ptr() == data.x.data_ptr()


def test_no_step_is_begun_when_the_seconds_are_over(cuda: Any) -> None:
    options = argparse.Namespace(seconds=1e-9, quick=True, only="", device="cuda")
    cuda.header = lambda command: {"command": command}
    (header,) = list(tool.records(cuda, options))
    assert header["command"] == "python tools/run_torch.py --device cuda --quick --seconds 1e-09"
    assert header["kind"] == "torch"


def test_what_peers_compile_is_called_once_in_each_way(
    cuda: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = []

    def way(name: str) -> Any:
        return torch_ways.Way(name, "torch", lambda data: lambda: called.append(name))

    wanted = replace(small(LOSS), ways=(way("a"), way("b")))
    other = replace(wanted, name="another", ways=(way("c"),))
    monkeypatch.setattr(tool, "steps", lambda device: [wanted, other])
    tool._compile(cuda, [wanted.key])
    assert called == ["a", "b"]


def test_compilers_share_the_steps_and_are_ended_when_their_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[Any] = []

    class Process:
        def __init__(self, words: list[str], **_: Any) -> None:
            self.steps, self.killed = words[words.index("--compile") + 1 :], False
            started.append(self)

        def wait(self, seconds: float | None = None) -> None:
            if seconds is not None:
                raise tool.subprocess.TimeoutExpired("", seconds)

        def kill(self) -> None:
            self.killed = True

    monkeypatch.setattr(tool.subprocess, "Popen", Process)
    tool._compile_first(STEPS["cuda"], argparse.Namespace(seconds=None))
    shared = [key for process in started for key in process.steps]
    assert sorted(shared) == sorted(step.key for step in STEPS["cuda"] if not step.small)
    assert all(process.killed for process in started)
