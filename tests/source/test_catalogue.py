"""The catalogue of the gallery, read and checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneread.source.catalogue import (
    BufferSpec,
    CatalogueError,
    ExpectedFault,
    SequenceLaunch,
    Sizes,
    gallery_folder,
    read_catalogue,
)

TOML = """
schema = 1

[kernels.scale]
title = "Scaling"
source = "nobody"
args = ["x", "y", "vocab"]
buffers = [
  { name = "x", role = "input", shape = ["rows", "vocab"] },
  { name = "y", role = "output", shape = ["rows", "ceil_div(vocab, SPAN)"], type = "int32" },
]
truth = { y = "scaled" }
grid = "rows * ceil_div(vocab, SPAN)"
block = "TILE"
shared_bytes = "4 * vocab"
passes = 1
loads = { x = "1" }
stores = { y = "1" }
exps = "vocab"
barriers = "log2(TILE)"
limits = { vocab = "1000" }
defines.trace = { TILE = 32, SPAN = 64 }
defines.bench = { TILE = 256, SPAN = 64 }
breaks = ["offsets"]
mended = "scale"
faults = [{ id = "race", vocab = 250, defines = { TILE = 64 } }]

[sequences.twice]
title = "Twice"
source = "nobody"
buffers = [
  { name = "a", role = "input", shape = ["rows", "vocab"] },
  { name = "b", role = "output", shape = ["rows", "vocab"] },
]
truth = { b = "scaled" }
launches = [{ kernel = "scale", buffers = { x = "a", y = "b" } }]
"""


def write(folder: Path, text: str) -> Path:
    (folder / "gallery.toml").write_text(text, encoding="utf-8")
    return folder


def test_entry_has_all_that_is_written(tmp_path: Path) -> None:
    catalogue = read_catalogue(write(tmp_path, TOML))
    entry = catalogue.kernels["scale"]
    assert entry.args == ("x", "y", "vocab")
    assert entry.buffers[1] == BufferSpec("y", "output", ("rows", "ceil_div(vocab, SPAN)"), "int32")
    assert entry.trace_defines == {"TILE": 32, "SPAN": 64}
    assert entry.faults == (ExpectedFault("race", vocab=250, defines={"TILE": 64}),)
    assert catalogue.path("scale") == tmp_path / "scale.cu"


def test_launch_is_computed_from_sizes_and_defines(tmp_path: Path) -> None:
    entry = read_catalogue(write(tmp_path, TOML)).kernels["scale"]
    names = {"rows": 3, "vocab": 250, "k": 1, **entry.trace_defines}
    assert entry.sizes(names) == Sizes(grid=12, block=32, shared_bytes=1000)


def test_sequence_names_its_launches(tmp_path: Path) -> None:
    sequence = read_catalogue(write(tmp_path, TOML)).sequences["twice"]
    assert sequence.launches == (SequenceLaunch("scale", {"x": "a", "y": "b"}),)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("schema = 1", "schema = 2", "schema 2 is not 1"),
        ("schema = 1", "schema = ", "gallery.toml: "),
        ('title = "Scaling"\n', "", "scale: title is missing"),
        ("passes = 1", 'passes = "1"', "scale: passes is no int"),
        ("passes = 1", "passes = true", "scale: passes is no int"),
        ("passes = 1", "passes = 1\npass = 2", "scale: pass is not known"),
        ('grid = "rows * ', 'grid = "lines * ', "scale: 'lines * ceil_div(vocab, SPAN)'"),
        ('args = ["x"', 'args = ["z"', "scale: argument z is no buffer and no size"),
        ('loads = { x = "1" }', 'loads = { z = "1" }', "scale: z is no buffer of it"),
        ('loads = { x = "1" }', "loads = { x = 1 }", "scale: loads is no table of str"),
        ('role = "input", shape = ["rows", "vocab"] },\n  { name = "y"',
         'role = "in", shape = ["rows", "vocab"] },\n  { name = "y"',
         "role of x is none of input, output, between"),
        ('mended = "scale"', 'mended = "none"', "scale: mended names no kernel: none"),
        ('id = "race", ', "", "faults: id is missing"),
        ('kernel = "scale"', 'kernel = "other"', "kernel is not in the catalogue: other"),
        ('{ x = "a", y = "b" }', '{ x = "a" }', "buffers are not those of scale"),
        ('{ x = "a", y = "b" }', '{ x = "a", y = "c" }', "buffers name one that the sequence"),
    ],
)  # fmt: skip
def test_catalogue_that_is_wrong_is_refused(tmp_path: Path, old: str, new: str, why: str) -> None:
    assert old in TOML
    with pytest.raises(CatalogueError) as caught:
        read_catalogue(write(tmp_path, TOML.replace(old, new)))
    assert why in str(caught.value)


@pytest.mark.skipif(
    not (gallery_folder() / "gallery.toml").exists(), reason="needs the kernels of the gallery"
)
def test_catalogue_of_the_package_names_each_of_its_kernels() -> None:
    catalogue = read_catalogue()
    files = {path.stem for path in gallery_folder().glob("*.cu")}
    assert files == set(catalogue.kernels)
