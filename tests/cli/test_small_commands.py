"""`oneread ops` and `oneread info`: facts, for people and as JSON."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import metadata

import numpy as np
import pytest
from typer.testing import CliRunner

from oneread.cli.main import app
from oneread.runtime import _native, cpu
from oneread.spec import OPS

COLUMNS = 80


def test_ops_names_every_op_and_kernel() -> None:
    result = CliRunner().invoke(app, ["ops"])
    assert result.exit_code == 0
    for spec in OPS.values():
        assert f"\n{spec.name} " in result.stdout
        assert all(f" {kernel.name} " in result.stdout for kernel in spec.kernels)
    assert max(map(len, result.stdout.splitlines())) <= COLUMNS


def test_ops_names_the_bounds_of_single_outputs() -> None:
    lines = CliRunner().invoke(app, ["ops"]).stdout.splitlines()
    for spec in OPS.values():
        for output, ulp in spec.wider:
            assert [str(ulp), output] in [line.split() for line in lines]


def test_ops_as_json_is_the_table() -> None:
    result = CliRunner().invoke(app, ["ops", "--json"])
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["name"] for row in rows] == list(OPS)
    assert rows[0]["kernels"][0]["name"] == OPS["softmax"].kernels[0].name


def facts() -> dict[str, object]:
    result = CliRunner().invoke(app, ["info", "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def test_info_names_the_instruction_set_and_threads() -> None:
    native = facts()["native"]
    assert native == {
        "isa": _native.isa(),
        "supported_isas": list(_native.supported_isas()),
        "compiled_isas": list(_native.compiled_isas()),
        "threads": cpu.get_threads(),
        "build": dict(_native.build_info()),
    }


def test_info_names_the_libraries_without_importing_them() -> None:
    code = (
        "import sys\nfrom oneread.cli import info\nfacts = info.gather()\n"
        "print([name for name in ('torch', 'scipy', 'ml_dtypes', 'jax') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
    libraries = facts()["libraries"]
    assert isinstance(libraries, dict)
    assert libraries["numpy"] == np.__version__


def test_info_says_why_a_backend_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name in ("torch", "ml_dtypes"):
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    backends = facts()["backends"]
    assert isinstance(backends, dict)
    assert backends["torch"] == {
        "on": False,
        "why": "not installed: pip install 'oneread[torch]'",
    }
    assert backends["cuda"]["why"]
    assert not backends["numpy bfloat16"]["on"]


def test_info_fits_a_screen_and_names_what_is_off() -> None:
    result = CliRunner().invoke(app, ["info"])
    lines = result.stdout.splitlines()
    assert len(lines) <= 24
    assert any("off cupy: no backend of its own yet" in line for line in lines)


def test_info_shows_what_the_environment_asks_for() -> None:
    isa = _native.supported_isas()[-1]
    said = subprocess.run(
        [sys.executable, "-m", "oneread", "info", "--json"], capture_output=True, text=True,
        check=True, env=os.environ | {"ONEREAD_ISA": isa, "ONEREAD_THREADS": "1"},
    )  # fmt: skip
    shown = json.loads(said.stdout)
    assert (shown["native"]["isa"], shown["native"]["threads"]) == (isa, 1)
    assert shown["environment"] == {"ONEREAD_ISA": isa, "ONEREAD_THREADS": "1"}


def test_info_of_a_wish_that_cannot_be_met_says_so_and_fails() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "oneread", "info"], capture_output=True, text=True,
        check=False, env=os.environ | {"ONEREAD_ISA": "z80"},
    )  # fmt: skip
    assert said.returncode == 1
    assert "libraries" in said.stdout
    assert said.stderr.startswith("oneread: error: ")
    assert "z80" in said.stderr
    assert said.stderr.count("\n") == 1


def test_info_says_whether_there_is_a_page() -> None:
    from oneread.web.bundle import why_missing

    page = facts()["page"]
    assert isinstance(page, dict)
    assert page["on"] is (why_missing() is None)
    assert why_missing() in {None, page["why"]}
    shown = CliRunner().invoke(app, ["info"]).stdout
    assert re.search(rf"^page +(on|off) +{re.escape(page['why'])}$", shown, re.MULTILINE)
