"""The cases: what is timed, and what has to be reached.

Knows names only: no library, no clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from itertools import product
from typing import Any, Final, TypeAlias

from oneread.spec import OPS

Shape: TypeAlias = tuple[int, ...]

#: What a bar can be against besides a contestant by its name.
BEST: Final = "best peer"
BARE: Final = "best bare peer"
READ: Final = "read rate"
COPY: Final = "copy rate"
ULP: Final = "ulp"
US: Final = "us"

#: Bars of which less is better.
AT_MOST: Final = (ULP, US)

#: The end of the name of a peer that does a part of the job only.
BARE_SUFFIX: Final = " alone"

#: Contestants of our own that a case can be compared with (`Case.yardsticks`).
OWN_LOGSUMEXP: Final = "oneread logsumexp"
OWN_RANDOM: Final = "oneread, random rows"


def own_kernel(algorithm: str) -> str:
    """Return what a kernel of ours that was asked for by name is called among contestants."""
    return f"oneread, {algorithm}"


#: From this size on, the data of the goals count as memory-sized.
MEMORY_BYTES: Final = 128_000_000

#: Elements of each type take this many bytes.
ITEM_BYTES: Final = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


@dataclass(frozen=True, slots=True)
class Bar:
    """One number to reach.

    Against a contestant: its time over ours. Against the read or copy rate: our share of it.
    Against `ULP`: the units in the last place that our largest error may have; against `US`: the
    microseconds that we may take.
    """

    against: str
    at_least: float
    firm: bool = False
    """Whether the number has room for noise in it already, so that no more is given."""
    kernel: str | None = None
    """Kernel of ours that is judged; None: the one that runs unless another is asked for."""

    def __str__(self) -> str:
        if self.kernel:
            return f"{self.kernel} at {self.at_least:g}x {self.against}"
        if self.against in AT_MOST:
            return f"within {self.at_least:g} {self.against}"
        if self.against in (READ, COPY):
            return f"{self.at_least:.0%} of the {self.against}"
        if self.against.startswith("oneread"):
            return f"within {1 / self.at_least:.3g}x of {self.against}"
        return f"{self.at_least:g}x {self.against}"


#: Bars of which one is enough.
Goal: TypeAlias = tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that is timed: an op on an input, with the goals that it has."""

    group: str
    op: str
    shape: Shape
    goals: tuple[Goal, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    axis: int = -1
    dtype: str = "float32"
    order: str = "random"
    """``random`` or ``sorted`` (ascending along the row)."""
    memory: str = "out"
    """``out``: results go to arrays that are kept; ``fresh``: each call makes its own."""
    arrays: str = "numpy"
    """Whose arrays ours is called with: ``numpy`` or ``torch``."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables that the process has to be started with."""
    peers: tuple[str, ...] | None = None
    """Libraries to compare with; None: all."""
    yardsticks: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    """Kernels of ours that take part beside the one that runs unless another is asked for."""
    quick: bool = False
    aims: tuple[Goal, ...] = ()
    """What would be better still than the goals."""
    device: str = "cpu"
    """``cpu`` or ``gpu``."""
    timed: str = "call"
    """``call``: calls from Python; ``graph``: launches in a CUDA graph."""

    @property
    def name(self) -> str:
        """What the case is called: unique, and stable from version to version."""
        parts = [self.group, "x".join(map(str, self.shape))]
        parts += [f"k{value}" for name, value in self.options if name in ("k", "top_k")]
        parts += [self.dtype] * (self.dtype != "float32")
        parts += [self.arrays] * (self.arrays != "numpy" and self.device == "cpu")
        return "/".join(parts)

    @property
    def vocab(self) -> int:
        """The length of a row."""
        return self.shape[self.axis]

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.size // self.vocab

    @property
    def input_bytes(self) -> int:
        """The size of the input."""
        return self.size * ITEM_BYTES[self.dtype]


SHAPES: Final[tuple[Shape, ...]] = (
    (4000, 100), (4000, 1000), (4000, 4000), (4000, 25000), (1000, 100000), (10, 25000),
    (10, 100000), (32, 128256), (256, 128256), (32, 256000), (8192, 512),
)  # fmt: skip

#: Also run by `--quick`: small enough, and of each kind.
_QUICK: Final = {(4000, 100), (4000, 1000), (10, 25000), (32, 128256), (8192, 512)}

TORCH: Final = "torch out="
ORT: Final = "onnxruntime out="


def _softmax() -> Iterator[Case]:
    for shape in SHAPES:
        goals = [(Bar(TORCH, 1.6),), (Bar(ORT, 0.95, firm=True),)]
        if shape[-1] >= 25000:
            goals[1] = (Bar(ORT, 1.4),)
        if shape[-1] == 128256:
            goals.append((Bar(ULP, 8, firm=True),))
        yield Case("softmax", "softmax", shape, tuple(goals), quick=shape in _QUICK)
    yield Case("softmax", "softmax", (10, 1000))
    yield Case("softmax", "softmax", (1, 2_000_000), ((Bar(ULP, 8, firm=True),),))


def _fresh() -> Iterator[Case]:
    goals = ((Bar("torch", 1.8),),)
    shapes = ((4000, 4000), (256, 128256), (4000, 25000), (1000, 100000))
    for shape, arrays in product(shapes, ("numpy", "torch")):
        yield Case("softmax fresh", "softmax", shape, goals, memory="fresh", arrays=arrays)


def _one_row() -> Iterator[Case]:
    goals = ((Bar(TORCH, 3.0),),)
    yield Case("one row", "softmax", (1, 128256), goals, quick=True)


def _log_softmax() -> Iterator[Case]:
    goals = ((Bar(TORCH, 1.3),),)
    for shape in SHAPES:
        yield Case("log_softmax", "log_softmax", shape, goals, quick=shape == (4000, 1000))


def _logsumexp() -> Iterator[Case]:
    for shape in SHAPES:
        case = Case("logsumexp", "logsumexp", shape, ((Bar(TORCH, 1.8),),))
        if case.input_bytes >= MEMORY_BYTES:
            goals = ((Bar(TORCH, 7.0),), (Bar(READ, 0.55),))
            case = Case("logsumexp", "logsumexp", shape, goals)
        elif shape in ((4000, 1000), (32, 128256)):
            case = Case("logsumexp", "logsumexp", shape, case.goals, quick=True)
        yield case


_TOP_KS: Final = tuple(product((25000, 128256), (1, 32, 256), (5, 10, 50)))


def _softmax_topk() -> Iterator[Case]:
    for vocab, batch, k in _TOP_KS:
        goals: list[Goal] = [(Bar("torch", 8.0 if k <= 10 else 7.0),), (Bar(BEST, 1.0),)]
        if k <= 10:
            goals.append((Bar(OWN_LOGSUMEXP, 1 / 1.4), Bar(READ, 0.5)))
        yield Case(
            "softmax_topk", "softmax_topk", (batch, vocab), tuple(goals), (("k", k),),
            memory="fresh", yardsticks=(OWN_LOGSUMEXP,),
            quick=(batch, vocab) == (32, 25000) and k != 10,
        )  # fmt: skip


def _sorted() -> Iterator[Case]:
    for vocab, batch, k in _TOP_KS:
        yield Case(
            "softmax_topk sorted", "softmax_topk", (batch, vocab),
            ((Bar(OWN_RANDOM, 1 / 1.1),),), (("k", k),), order="sorted", memory="fresh",
            peers=("torch", "onnxruntime"), yardsticks=(OWN_RANDOM,),
            quick=(batch, vocab, k) == (32, 25000, 5),
        )  # fmt: skip


def _top_k() -> Iterator[Case]:
    for shape, k in (((32, 128256), 5), ((32, 128256), 50)):
        yield Case(
            "top_k", "top_k", shape, options=(("k", k),), memory="fresh", quick=k == 5
        )  # fmt: skip


def _read() -> Iterator[Case]:
    options = (
        ("top_k", 5), ("select", "random"), ("rank", True), ("entropy", True), ("sum_p2", True)
    )  # fmt: skip
    for batch in (32, 256):
        yield Case(
            "read", "read", (batch, 128256), ((Bar(OWN_LOGSUMEXP, 1 / 1.6),),), options,
            memory="fresh", yardsticks=(OWN_LOGSUMEXP,), quick=batch == 32,
        )  # fmt: skip


def _dtypes() -> Iterator[Case]:
    shapes = ((4000, 1000), (32, 128256), (256, 128256))
    for dtype, shape in product(("float16", "bfloat16", "float64"), shapes):
        yield Case(
            "element types", "softmax", shape, ((Bar(TORCH, 1.5),),), dtype=dtype,
            quick=shape == (4000, 1000),
        )  # fmt: skip


def _axis() -> Iterator[Case]:
    goals = ((Bar(TORCH, 2.0),),)
    yield Case("another axis", "softmax", (64, 4000, 256), goals, axis=1)


def _call() -> Iterator[Case]:
    yield Case("whole call", "softmax", (10, 1000), ((Bar(TORCH, 1.0),),), quick=True)


def _avx2() -> Iterator[Case]:
    ours = ("ONEREAD_ISA", "x86-64-v3")
    both = (ours, ("ATEN_CPU_CAPABILITY", "avx2"))
    for group, environment, ratio in (
        ("AVX2 against AVX2", both, 1.2),
        ("AVX2 against AVX-512", (ours,), 1.0),
    ):
        for shape in SHAPES:
            yield Case(
                group, "softmax", shape, ((Bar(TORCH, ratio),),), environment=environment,
                peers=("torch",), quick=shape == (4000, 1000),
            )  # fmt: skip


#: The algorithms of the textbooks beside ours: which pass and which access pays.
TEXTBOOK_SOFTMAX: Final = "softmax textbook"
TEXTBOOK_TOP_K: Final = "softmax_topk textbook"


def _textbook(op: str, shape: Shape, group: str, k: int | None = None, **others: Any) -> Case:
    kernels = tuple(kernel.algorithm for kernel in OPS[op].kernels if kernel.textbook)
    options = (("k", k),) if k else ()
    memory = "fresh" if k else "out"
    return Case(group, op, shape, options=options, memory=memory, kernels=kernels, **others)


def _textbooks() -> Iterator[Case]:
    goals, peers = ((Bar(TORCH, 0.91, firm=True, kernel="safe"),),), ("torch",)
    for shape in (
        (4000, 100), (4000, 1000), (4000, 4000), (4000, 25000), (32, 128256), (256, 128256),
        (10, 25000), (1, 128256),
    ):  # fmt: skip
        quick = shape == (4000, 1000)
        yield _textbook("softmax", shape, TEXTBOOK_SOFTMAX, goals=goals, peers=peers, quick=quick)
    for shape, k in (((256, 25000), 5), ((32, 128256), 5), ((32, 128256), 50), ((256, 128256), 5)):
        quick = shape == (256, 25000)
        yield _textbook("softmax_topk", shape, TEXTBOOK_TOP_K, k, peers=peers, quick=quick)
    group = f"{TEXTBOOK_TOP_K} sorted"
    yield _textbook("softmax_topk", (256, 25000), group, 5, peers=peers, order="sorted")


def _narrower() -> Iterator[Case]:
    """Yield the textbooks in narrower vectors, down to one element, and against each other only."""
    for name, isa in (("AVX2", "x86-64-v3"), ("SSE4", "x86-64-v2"), ("scalar", "scalar")):
        of: dict[str, Any] = {"peers": (), "environment": (("ONEREAD_ISA", isa),)}
        for shape in ((4000, 1000), (32, 128256)):
            quick = name == "scalar" and shape == (4000, 1000)
            yield _textbook("softmax", shape, f"{TEXTBOOK_SOFTMAX} {name}", quick=quick, **of)
        yield _textbook("softmax_topk", (256, 25000), f"{TEXTBOOK_TOP_K} {name}", 5, **of)


CASES: Final[dict[str, Case]] = {
    case.name: case
    for make in (
        _softmax, _fresh, _one_row, _log_softmax, _logsumexp, _softmax_topk, _sorted, _top_k,
        _read, _dtypes, _axis, _call, _textbooks, _avx2, _narrower,
    )
    for case in make()
}  # fmt: skip


def table(module: str) -> Mapping[str, Case]:
    """Return the cases of a module by their names: processes are told of a table by its module."""
    cases: Mapping[str, Case] = import_module(module).CASES
    return cases


def select(
    patterns: tuple[str, ...] = (), quick: bool = False, among: Mapping[str, Case] = CASES
) -> list[Case]:
    """Return the cases whose names fit, in the order of the table, group by group.

    Parameters
    ----------
    patterns : tuple of str
        Names, parts of names, or patterns with ``*`` and ``?``; none: all. A full name means that
        case alone.
    quick : bool
        Only those for a quick run, unless patterns ask for others by their full name.
    among : mapping of str to Case
        The table.

    Returns
    -------
    list of Case
        Empty when nothing fits.
    """

    def fits(case: Case) -> bool:
        if case.name in patterns or (not patterns and not quick):
            return True
        if quick and not case.quick:
            return False
        parts = [pattern for pattern in patterns if pattern not in among]
        return not patterns or any(
            part in case.name or fnmatchcase(case.name, part) for part in parts
        )

    return [case for case in among.values() if fits(case)]
