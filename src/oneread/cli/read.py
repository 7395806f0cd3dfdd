"""`oneread read`: every statistic of every row of a file, in one read of it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oneread.cli._console import Bar, fail, note, say, size_text, styled, write

if TYPE_CHECKING:
    from oneread.files import Columns, ReadOptions, RowBlock, StoredTensor

HELP = """Read .npy and .safetensors files of logits, each byte once.

Files are memory-mapped and may be larger than memory. A row runs along --axis; rows are
numbered in C order of the other axes. On standard output stands a table, or with --json one
object a row with the field names of oneread.read. In JSON, NaN and the infinities are the
strings "NaN", "Infinity" and "-Infinity"; a field that was not asked for is left out.

A file that cannot be read as asked gives one line on standard error and exit status 2.
"""

#: Top-k when --top-k is not given (all columns where a row is shorter).
DEFAULT_TOP_K = 5

#: Tensors listed when none was named.
MAX_LISTED = 100


Files = Annotated[list[Path], typer.Argument(metavar="FILE", help=".npy or .safetensors files.")]
Tensor = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Tensor of a .safetensors; needed when it has several."),
]
Dtype = Annotated[
    str | None, typer.Option(metavar="bfloat16", help="Read raw 16-bit words as bfloat16.")
]
Axis = Annotated[int, typer.Option(metavar="N", help="Axis along which a row runs.")]
TopK = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="K", help="Likeliest columns of each row; 5 when not given, 0 for none."
    ),
]
Select = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Columns to look up: .npy of integers, or text with one line a row."
    ),
]
Rank = Annotated[
    bool, typer.Option("--rank", help="Rank of the selected columns (0 is the likeliest).")
]
Entropy = Annotated[bool, typer.Option("--entropy", help="Entropy in nats.")]
SumP2 = Annotated[bool, typer.Option("--sum-p2", help="Sum of the squared probabilities.")]
Argmax = Annotated[bool, typer.Option("--argmax", help="Column of the largest logit.")]
Temperature = Annotated[
    float | None, typer.Option(metavar="T", help="Divides the logits; finite and above 0.")
]
Threads = Annotated[int | None, typer.Option(min=1, metavar="N", help="Threads to use.")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write .npz (arrays by field) or .jsonl (one object a row)."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object a row.")]


def read(
    files: Files,
    tensor: Tensor = None,
    dtype: Dtype = None,
    axis: Axis = -1,
    top_k: TopK = None,
    select: Select = None,
    rank: Rank = False,
    entropy: Entropy = False,
    sum_p2: SumP2 = False,
    argmax: Argmax = False,
    temperature: Temperature = None,
    threads: Threads = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Read files and print or write what was read."""
    from oneread.files import ReadOptions, read_columns

    if rank and select is None:
        raise fail("--rank needs --select: the columns whose rank is wanted")
    _check_out(out, files)
    options = ReadOptions(
        DEFAULT_TOP_K if top_k is None else top_k,
        rank, entropy, sum_p2, argmax, temperature, threads,
    )  # fmt: skip
    columns = None if select is None else read_columns(select)
    jobs = [
        _Job(_open(file, tensor, dtype), options, columns, axis, top_k is None) for file in files
    ]
    if out is not None:
        _to_file(jobs, out)
    elif as_json:
        _to_stdout(jobs, _JsonPrinter(len(files) > 1), quiet=True)
    else:
        _to_stdout(jobs, _Table(), quiet=False)


def _check_out(out: Path | None, files: list[Path]) -> None:
    """Refuse an output that cannot be written, before anything is read."""
    from oneread.files import SUFFIXES

    if out is None:
        return
    if out.suffix not in SUFFIXES:
        raise fail(f"--out {out}: the name must end in {' or '.join(SUFFIXES)}")
    if out.suffix == ".npz" and len(files) > 1:
        raise fail("--out: an .npz holds the rows of one FILE; use .jsonl for several")
    if out.exists() and any(file.exists() and out.samefile(file) for file in files):
        raise fail(f"--out {out} is one of the files to read")


def _open(file: Path, name: str | None, dtype: str | None) -> "StoredTensor":
    """Find the tensor; list what there is when none was named."""
    from oneread.files import TensorNotNamedError, open_tensor, printable

    try:
        return open_tensor(file, name, dtype)
    except TensorNotNamedError as error:
        leave = fail(str(error))
        width = max((len(printable(t.name)) for t in error.tensors[:MAX_LISTED]), default=0)
        for stored in error.tensors[:MAX_LISTED]:
            text = f"{printable(stored.name):<{width}}  {printable(stored.dtype, 12):<9}"
            note(f"  {text} {printable(stored.shape, 60)}")
        if len(error.tensors) > MAX_LISTED:
            note(f"  ... and {len(error.tensors) - MAX_LISTED} more")
        raise leave from None


class _Job:
    """One tensor to read, and what to read of it."""

    def __init__(
        self,
        stored: "StoredTensor",
        options: "ReadOptions",
        columns: "Columns | None",
        axis: int,
        clip: bool,
    ) -> None:
        import dataclasses

        self.stored = stored
        self.axis = axis
        self.columns = columns
        self.options = options
        if clip and -len(stored.shape) <= axis < len(stored.shape):
            k = min(options.top_k, stored.shape[axis])
            self.options = dataclasses.replace(options, top_k=k)

    def blocks(self, bar: Bar) -> Iterator["RowBlock"]:
        from oneread.files import read_rows

        return read_rows(self.stored, self.options, self.columns, axis=self.axis, progress=bar.add)


def _to_stdout(jobs: list[_Job], printer: Callable[[_Job, Bar], int], quiet: bool) -> None:
    for job in jobs:
        bar, began = Bar(job.stored.n_bytes, str(job.stored.path)), time.perf_counter()
        try:
            n_rows = printer(job, bar)
        finally:
            bar.clear()
        if not quiet:
            _summary(job, n_rows, time.perf_counter() - began)


class _JsonPrinter:
    """Prints one JSON object a row, with the file's name when there are several."""

    def __init__(self, name_files: bool) -> None:
        self._name_files = name_files

    def __call__(self, job: _Job, bar: Bar) -> int:
        from oneread.files import json_line, row_objects

        place = {"file": str(job.stored.path)} if self._name_files else {}
        n_rows = 0
        for block in job.blocks(bar):
            bar.clear()
            for row in row_objects(block):
                write(json_line(place | row))
            n_rows += block.n_rows
        return n_rows


def _to_file(jobs: list[_Job], out: Path) -> None:
    from oneread.files import row_objects, write_jsonl, write_npz

    bar = Bar(sum(job.stored.n_bytes for job in jobs), str(jobs[0].stored.path))
    began = time.perf_counter()

    def objects() -> Iterator[dict[str, Any]]:
        for job in jobs:
            place = {"file": str(job.stored.path)} if len(jobs) > 1 else {}
            for block in job.blocks(bar):
                for row in row_objects(block):
                    yield place | row

    try:
        if out.suffix == ".npz":
            n_rows = write_npz(out, jobs[0].blocks(bar))
        else:
            n_rows = write_jsonl(out, objects())
    finally:
        bar.clear()
    _summary(jobs[-1], n_rows, time.perf_counter() - began, bar.done)
    note(f"wrote {out}")


def _summary(job: _Job, n_rows: int, seconds: float, n_bytes: int | None = None) -> None:
    """Say on standard error what was read, how fast and by which kernel."""
    from oneread.runtime.cpu import last_kernel

    n_bytes = job.stored.n_bytes if n_bytes is None else n_bytes
    ran = last_kernel()
    kernel = ""
    if ran is not None:
        kernel = f": {ran.name}, {ran.isa}, {ran.threads} thread{'s' * (ran.threads != 1)}"
    rate = n_bytes / max(seconds, 1e-9) / 1e9
    rows = f"{n_rows:,} row{'s' * (n_rows != 1)}"
    note(f"{rows}, {size_text(n_bytes)} in {seconds:.3g} s ({rate:.2g} GB/s){kernel}")


class _Table:
    """Prints the rows as a table: numbers first, lists at the end."""

    def __call__(self, job: _Job, bar: Bar) -> int:
        stored = job.stored
        shape = " x ".join(str(n) for n in stored.shape)
        n_rows = 0
        for block in job.blocks(bar):
            bar.clear()
            numbers, lists = _cells(block)
            if n_rows == 0:
                say(f"{stored.label}: {stored.dtype}, {shape}, rows along axis {job.axis}")
                head = f"{'row':>8}" + "".join(f" {name:>11}" for name in numbers)
                say(styled(head + "".join(f"  {name}" for name in lists), "bold"))
            for i, place in enumerate(_places(block)):
                line = "".join(f" {cells[i]:>11}" for cells in numbers.values())
                say(f"{place:>8}{line}" + "".join(f"  {cells[i]}" for cells in lists.values()))
            n_rows += block.n_rows
        return n_rows


def _places(block: "RowBlock") -> Iterator[str]:
    """Yield each row's number, or its place on the other axes where there are several."""
    import numpy as np

    for row in range(block.first_row, block.first_row + block.n_rows):
        if len(block.lead) > 1:
            yield ",".join(str(at) for at in np.unravel_index(row, block.lead))
        else:
            yield str(row)


def _cells(block: "RowBlock") -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the table's columns of one number a row, and those of several."""
    fields = block.fields()
    lists: dict[str, list[str]] = {}
    if "values" in fields:
        indices, logprobs = fields["indices"].tolist(), fields["logprobs"].tolist()
        lists[f"top {fields['indices'].shape[1]}: column logprob"] = [
            "  ".join(f"{i} {p:.4g}" for i, p in zip(*row, strict=True))
            for row in zip(indices, logprobs, strict=True)
        ]
    for name, array in fields.items():
        if array.ndim > 1 and name not in ("values", "indices", "logprobs"):
            lists[name] = [" ".join(f"{v:.5g}" for v in row) for row in array.tolist()]
    numbers = {
        name: [str(v) if isinstance(v, int) else f"{v:.5g}" for v in array.tolist()]
        for name, array in fields.items()
        if array.ndim == 1
    }
    return numbers, lists
