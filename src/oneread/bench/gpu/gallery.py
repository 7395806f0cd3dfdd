"""The kernels of the gallery as contestants on a GPU, beside our production kernels.

Knows them by the catalogue, never how one works. They compute in float32, by rows.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from oneread.bench.cases import Case, own_kernel
from oneread.bench.contestants import AbsentError, Contestant, Forms
from oneread.bench.gallery import entries
from oneread.bench.gallery.entries import Plan, Problem, Step
from oneread.bench.gallery.measure import allowed_ulp
from oneread.bench.gpu import launching
from oneread.bench.gpu.cases import GALLERY
from oneread.bench.gpu.sets import Sets
from oneread.spec import OPS, ShapeError


def forms(case: Case, sets: Sets) -> Forms:
    """Return the kernels of the gallery that a case names, by what contestants are called."""
    return {own_kernel(name): _made(name, case, sets) for name in case.kernels}


def bound(case: Case, contestant: str) -> int | None:
    """Return how many ulp a contestant may be off, None when it is none of the gallery's."""
    for name in case.kernels:
        if own_kernel(name) == contestant:
            return round(allowed_ulp(GALLERY[case.op][name], case.vocab))
    return None


def _made(algorithm: str, case: Case, sets: Sets) -> Callable[[], Contestant]:
    def make() -> Contestant:
        if case.dtype != "float32" or case.axis not in (-1, len(case.shape) - 1):
            raise AbsentError("the kernels of the gallery take rows of float32")
        plan = planned(GALLERY[case.op][algorithm], case)
        buffers = [_buffers(plan, case, sets, i) for i in range(len(sets.x))]
        launches = [_launch(step, case, sets) for step in plan.steps]

        def run(i: int = 0) -> Any:
            for launch in launches:
                launch(buffers[i])
            given = tuple(buffers[i][name] for name in outputs)
            return given if len(given) > 1 else given[0]

        outputs = plan.named("output")
        return Contestant(run, tuple(outputs), None)

    return make


def planned(entry: str, case: Case) -> Plan:
    """Return the launches of an entry for a case; each lane keeps exactly the k that are asked."""
    k = dict(case.options).get("k", 1)
    defines = entries.defines(entry, "bench")
    if "K_MAX" in defines:
        defines["K_MAX"] = k
    try:
        return entries.plan(entry, Problem(case.rows, case.vocab, k), defines)
    except ShapeError as error:
        raise AbsentError(str(error)) from None


def _buffers(plan: Plan, case: Case, sets: Sets, i: int) -> dict[str, Any]:
    """Return the tensors of a set by the catalogue's names; all but x and a kept y are new."""
    import torch

    held = {"x": sets.x[i]}
    if OPS[case.op].row_output and sets.y:
        held["y"] = sets.y[i]
    for name, shape in plan.shapes.items():
        if name not in held:
            kind = getattr(torch, plan.dtypes[name])
            held[name] = torch.zeros(shape, dtype=kind, device=sets.x[i].device)
    return held


def _launch(step: Step, case: Case, sets: Sets) -> Callable[[dict[str, Any]], None]:
    import torch

    device = sets.x[0].device
    start = launching.loaded(
        f"{step.kernel}.cu", entries.source(step.kernel), step.kernel, step.defines, device.index
    )  # fmt: skip

    def launch(buffers: dict[str, Any]) -> None:
        arguments = tuple(
            ctypes.c_void_p(buffers[one].data_ptr()) if isinstance(one, str) else ctypes.c_int(one)
            for one in step.arguments
        )
        stream = int(torch.cuda.current_stream(device).cuda_stream)
        start(step.grid, step.block, step.shared_bytes, stream, arguments)

    return launch
