"""`oneread info`: what this installation can do on this machine, and why something is off."""

import json
import os
import platform
from importlib import metadata
from typing import Annotated, Any

import typer

from oneread.cli._console import FAILURE, fail, say, styled
from oneread.runtime import machine
from oneread.spec import OneReadError

HELP = """Show version, instruction set, threads, libraries.

Also says which backends are on, and why the others are off.
"""

_LIBRARIES = (
    "numpy", "torch", "ml_dtypes", "scipy", "cupy", "jax", "onnxruntime", "starlette", "uvicorn",
)  # fmt: skip

#: Environment variables that change how things run.
VARIABLES = ("ONEREAD_ISA", "ONEREAD_KEEP_MB", "ONEREAD_STORES", "ONEREAD_THREADS")

#: Distributions under other names that bring the same library.
_ALIASES = {
    "cupy": ("cupy-cuda12x", "cupy-cuda13x"),
    "onnxruntime": ("onnxruntime-gpu",),
}


def info(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print the facts of this installation."""
    facts = gather()
    if as_json:
        say(json.dumps(facts))
    else:
        _show(facts)
    if "error" in facts["native"]:
        raise fail(facts["native"]["error"], FAILURE)


def gather() -> dict[str, Any]:
    """Collect the facts without importing any of the libraries."""
    from oneread.cli.main import version

    libraries = {name: _version(name) for name in _LIBRARIES}
    return {
        "version": version(),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": machine.cpu_name(),
        "cores": os.cpu_count(),
        "native": _native(),
        "environment": {
            name: os.environ[name] for name in VARIABLES if name in os.environ
        },
        "libraries": libraries,
        "backends": _backends(libraries),
        "page": _page(libraries),
    }  # fmt: skip


def _version(name: str) -> str | None:
    for distribution in (name, *_ALIASES.get(name, ())):
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return None


def _native() -> dict[str, Any]:
    """Return what the native module says of itself, or why it does not load."""
    try:
        from oneread.runtime import _native, cpu
    except OneReadError as error:  # no native module, or a wish of the environment that fails
        return {"error": str(error)}
    return {
        "isa": _native.isa(),
        "supported_isas": list(_native.supported_isas()),
        "compiled_isas": list(_native.compiled_isas()),
        "threads": cpu.get_threads(),
        "build": dict(_native.build_info()),
    }


def _backends(libraries: dict[str, str | None]) -> dict[str, dict[str, Any]]:
    """Say for each backend whether it is on, and why."""
    torch, half = libraries["torch"], libraries["ml_dtypes"]
    return {
        "numpy": {"on": True, "why": "arrays on a CPU"},
        "numpy bfloat16": {
            "on": half is not None,
            "why": "ml_dtypes arrays" if half else "ml_dtypes is not installed",
        },
        "torch": {
            "on": torch is not None,
            "why": "CPU tensors" if torch else "not installed: pip install 'oneread[torch]'",
        },
        "cuda": _cuda(),
        "cupy": {"on": False, "why": "no backend of its own yet: give torch.from_dlpack(x)"},
        "jax": {"on": False, "why": "arrays come in as NumPy's; no backend of its own"},
    }


def _cuda() -> dict[str, Any]:
    """Say whether kernels can be compiled and launched, and where."""
    from oneread.runtime import driver, nvrtc
    from oneread.spec import BackendUnavailableError

    try:
        device = driver.device(0)
        nvrtc.version()
    except BackendUnavailableError as error:
        return {"on": False, "why": str(error).partition(" (")[0]}
    return {"on": True, "why": f"softmax, log_softmax, logsumexp of torch tensors: {device.name}"}


def _page(libraries: dict[str, str | None]) -> dict[str, Any]:
    """Say whether there is a page, and whether it can be served."""
    from oneread.web.bundle import why_missing

    why = why_missing()
    if why is not None:
        return {"on": False, "why": why}
    if libraries["starlette"] is None or libraries["uvicorn"] is None:
        return {"on": True, "why": "recordings only; to serve it: pip install 'oneread[web]'"}
    return {"on": True, "why": "oneread web, oneread trace --html"}


def _show(facts: dict[str, Any]) -> None:
    native = facts["native"]
    say(styled(f"oneread {facts['version']}", "bold"))
    _line("python", f"{facts['python']} on {facts['platform']}")
    _line("cpu", f"{facts['cpu']}, {facts['cores']} cores")
    if "error" not in native:
        _line("instructions", f"{native['isa']} in use")
        _line("", f"this machine runs {', '.join(native['supported_isas'])}")
        _line("", f"this build has {', '.join(native['compiled_isas'])}")
        _line("threads", str(native["threads"]))
        _line("built by", ", ".join(native["build"].values()))
    for name, value in facts["environment"].items():
        _line(name, value)
    seen = [f"{name} {value}" for name, value in facts["libraries"].items() if value]
    missing = [name for name, value in facts["libraries"].items() if not value]
    _line("libraries", ", ".join(seen))
    if missing:
        _line("not installed", ", ".join(missing))
    for i, (name, state) in enumerate(facts["backends"].items()):
        _line("backends" if i == 0 else "", f"{_switch(state)} {name}: {state['why']}")
    _line("page", f"{_switch(facts['page'])} {facts['page']['why']}")


def _switch(state: dict[str, Any]) -> str:
    return styled("on ", "green") if state["on"] else styled("off", "red")


def _line(head: str, text: str) -> None:
    say(f"{head:<15} {text}")
