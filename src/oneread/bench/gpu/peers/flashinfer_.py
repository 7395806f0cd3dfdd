"""FlashInfer as a peer: its headers, built with nvcc behind a few C functions.

Knows no other library than PyTorch, whose tensors it takes. The package itself is not imported: it
would want all that it needs for other things.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import importlib.util
import shutil
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from oneread.bench.cases import BARE_SUFFIX, Case
from oneread.bench.contestants import AbsentError, Contestant, Forms
from oneread.bench.gpu.sets import Sets
from oneread.runtime import cubins

NAME: Final = "flashinfer"
TOP_FIRST: Final = "flashinfer topk first"
BARE: Final = f"flashinfer topk{BARE_SUFFIX}"

SOURCE: Final = Path(__file__).with_name("flashinfer_.cu")
#: What its functions want to have at hand; of top-k zeroed once, which it leaves zeroed.
_WORKSPACE_BYTES: Final = 1 << 20
_BUILD_S: Final = 180
_PACKAGES: Final = ("cu13", "curand")
_TOOLKIT: Final = "/usr/local/cuda/bin/nvcc"


def version() -> str:
    """Return the version of the library."""
    if _headers() is None:
        raise ModuleNotFoundError("no flashinfer")
    return metadata.version("flashinfer-python")


def forms(case: Case, sets: Sets) -> Forms:
    """Return its softmax, or its top-k alone and with probabilities by PyTorch."""
    if case.axis != -1:
        return {}
    if case.op == "softmax":
        return {NAME: lambda: _softmax(case, sets)}
    if case.op == "softmax_topk":
        return {
            TOP_FIRST: lambda: _top_k(case, sets, bare=False),
            BARE: lambda: _top_k(case, sets, bare=True),
        }
    return {}


def _softmax(case: Case, sets: Sets) -> Contestant:
    import torch

    if case.dtype != "float32":
        raise AbsentError("its softmax is one of float32")
    function, x, y = getattr(_library(), "flashinfer_softmax", None), sets.x, sets.y
    if function is None:
        raise AbsentError("its softmax is built with curand's headers, which are not there")
    space = torch.zeros(_WORKSPACE_BYTES, dtype=torch.uint8, device=x[0].device)

    def run(i: int = 0) -> Any:
        _check(
            function(
                _at(x[i]), _at(y[i]), case.rows, case.vocab, _at(space),
                ctypes.c_uint64(_WORKSPACE_BYTES), _stream(torch),
            )
        )  # fmt: skip
        return y[i]

    return Contestant(run, ("y",), None)


def _top_k(case: Case, sets: Sets, bare: bool) -> Contestant:
    import torch

    function, x, k = _library().flashinfer_top_k, sets.x, dict(case.options)["k"]
    made = {"device": x[0].device}
    states = torch.zeros(_WORKSPACE_BYTES, dtype=torch.uint8, **made)
    values = torch.empty((case.rows, k), dtype=x[0].dtype, **made)
    indices = torch.empty((case.rows, k), dtype=torch.int32, **made)

    def run(i: int = 0) -> Any:
        _check(
            function(
                int(case.dtype == "bfloat16"), _at(x[i]), _at(indices), _at(values), case.rows, k,
                case.vocab, _at(states), int(not bare), _stream(torch),
            )
        )  # fmt: skip
        if bare:
            return None, None
        return torch.exp(values - torch.logsumexp(x[i], -1, keepdim=True)), indices.long()

    return Contestant(run, ("values", "indices"), None)


def _at(tensor: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())


def _stream(torch: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


def _check(status: int) -> None:
    if status:
        raise RuntimeError(f"FlashInfer gave CUDA's error {status}")


def _headers() -> Path | None:
    """Return the folder of its headers, found without importing it."""
    spec = importlib.util.find_spec("flashinfer")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (folder := Path(place, "data", "include")).is_dir():
            return folder
    return None


def _nvidia_headers() -> list[Path]:
    spec = importlib.util.find_spec("nvidia")
    places = spec.submodule_search_locations if spec else None
    found = (Path(place, part, "include") for place in places or () for part in _PACKAGES)
    return [folder for folder in found if folder.is_dir()]


@cache
def _library() -> Any:
    """Return the functions, built once for this version and GPU."""
    import torch

    nvcc = shutil.which("nvcc") or (_TOOLKIT if Path(_TOOLKIT).exists() else None)
    if nvcc is None:
        raise AbsentError("it is built with nvcc, which is not there")
    target = "sm_{}{}".format(*torch.cuda.get_device_capability())
    key = hashlib.sha256(f"{SOURCE.read_text('utf-8')}{version()}{target}".encode()).hexdigest()
    path = cubins.folder() / f"flashinfer-{key[:16]}.so"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:  # processes that compile side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            _build(nvcc, target, path)
    return ctypes.CDLL(str(path))


def _build(nvcc: str, target: str, path: Path) -> None:
    made = path.with_suffix(".tmp.so")
    words: list[str] = [
        nvcc, "-O3", "-std=c++17", f"-arch={target}", "--shared", "-Xcompiler", "-fPIC",
        "-I", str(_headers()), "-o", str(made), str(SOURCE),
    ]  # fmt: skip
    # Headers that PyTorch's packages brought, after the toolkit's own.
    for folder in _nvidia_headers():
        words += ["-Xcompiler", f"-idirafter,{folder}"]
    said = subprocess.run(words, capture_output=True, text=True, timeout=_BUILD_S, check=False)
    if said.returncode:
        errors = [line for line in said.stderr.splitlines() if "error" in line]
        raise AbsentError(f"nvcc refused it: {(errors or ['no reason'])[0][:120]}")
    made.replace(path)
