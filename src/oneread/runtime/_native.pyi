"""Types of the native CPU module. `kernels/cpu/module.cpp` is its source.

An *operand* is a NumPy array of a built-in type in any layout and byte order, or, for memory that
has no buffer protocol (bfloat16, torch tensors), a tuple ``(address, dtype, shape, byte_strides)``.
Axes are non-negative and ascending. `rows` below is the product of the axes that stay, in C order.
The functions check what could reach memory out of bounds; everything else is the caller's duty.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Operand: TypeAlias = Any

def softmax(
    x: Operand,
    y: Operand,
    axes: tuple[int, ...],
    log: bool,
    where: Operand | None,
    lengths: Operand | None,
    temperature: float | Operand | None,
    threads: int,
    fresh: bool,
) -> None:
    """Write softmax (or log_softmax) of `x` over `axes` to `y`, which has x's shape.

    `y` is float16, bfloat16, float32 or float64, in any layout; it may be `x` itself.
    `where` bool with x's shape (zero strides for broadcasts); `lengths` int64 (rows,), contiguous;
    `temperature` a number or float64 (rows,), contiguous. `fresh` says that `y` was just allocated,
    so that stores past the caches would be slower.
    """

def reduce(
    x: Operand,
    axes: tuple[int, ...],
    where: Operand | None,
    lengths: Operand | None,
    temperature: float | Operand | None,
    threads: int,
    kernel: int,
    op: str,
    kind: int,
    select: Operand | None,
    rank_logit: Operand | None,
    outputs: tuple[Operand | None, ...],
) -> None:
    """Read each row once and write the outputs that are not None.

    `outputs` holds, in this order: lse, max, argmax, values, indices, scores, selected, rank,
    entropy, sum_p2, state_m, state_r, state_s1, state_s2. All are contiguous, of any shape that
    has as many elements as the one given here and, for top-k, k as its last axis. lse, max,
    entropy, sum_p2: (rows,), float32 or float64. argmax: int64 (rows,). values (rows, k): the
    input's type for floats, else float32 or float64 after conversion; indices int64 (rows, k);
    scores (rows, k) float32 or float64, what `kind` says: 1 probability, 2 log-probability, 3 and
    4 the same over the k winners alone. selected (rows, s) float32 or float64; rank int64
    (rows, s). state_m float64 (rows,), state_r, _s1, _s2 float64 (rows, 2), each sum in two parts,
    the rounded one and the rest: m is the row's maximum in the input's units, r the sum of
    exp((x - m)/temperature) over all columns but one that holds the maximum, s1 the sum of
    (x - m)/temperature times that exponential over the same columns, s2 the sum of its squares.
    A NaN row has m = r = NaN, a row with +inf m = inf, a row of -inf m = -inf and r = 0.

    `select` int64 (rows, s), contiguous: columns to look up (IndexError outside the row) for
    `selected` and `rank`. With `rank_logit` float64 (rows, s), rank is counted against that logit
    at that column, which may then lie outside the row. `kernel`: 0 automatic, 1 block maxima,
    2 radix selection, 3 a sort. `op` names the op for `last_kernel`.
    """

def plan(
    x: Operand,
    y: Operand | None,
    axes: tuple[int, ...],
    op: str,
    where: Operand | None,
    lengths: Operand | None,
    temperature: float | Operand | None,
    top_k: int,
    threads: int,
    kernel: int,
    fresh: bool,
    textbook: str,
) -> tuple[str, str, str, str, int, int, str, str, int]:
    """Say what `last_kernel` would say, without running anything.

    `textbook` is the algorithm that `textbook` would be given, or empty.
    """

def textbook(
    x: Operand,
    axes: tuple[int, ...],
    threads: int,
    op: str,
    algorithm: str,
    y: Operand | None,
    indices: Operand | None,
    scores: Operand | None,
    fresh: bool,
) -> None:
    """Run an algorithm of the textbooks: softmax into `y`, softmax_topk into the other two.

    Rows are read and written in place: ValueError, with what is allowed, where they cannot be, and
    for a k beyond 2,048. `y`, `fresh` as in `softmax`; `indices` int64 (rows, k), `scores` (rows,
    k) float32 or float64, contiguous.
    """

def logits_gradient(
    x: Operand,
    dx: Operand,
    lse: Operand,
    scale: Operand | None,
    slope: Operand | None,
    square: Operand | None,
    target: Operand | None,
    at_target: Operand | None,
    uniform: Operand | None,
    class_weight: Operand | None,
    softcap: float,
    temperature: float | Operand | None,
    threads: int,
    fresh: bool,
) -> None:
    """Write the gradient of statistics of each row of logits to `dx`, which may be `x` itself.

    Rows lie along the last axis, of one float type, their elements side by side. With
    l = z / temperature - lse and p = exp(l) it is (p (scale + slope l + square p) + uniform w +
    at_target in column target) dz/dx, where w is `class_weight` or 1, z is x, or with a `softcap`
    above 0 softcap tanh(x / softcap). lse, scale, slope, square, at_target and uniform: (rows,),
    class_weight (columns,), float32, of float64 rows float64; target int64 (rows,); temperature a
    number or float64 (rows,). All contiguous; None is 0. Rows whose numbers are all 0 become 0.
    `fresh` as in `softmax`.
    """

def softmax_backward(
    y: Operand, grad: Operand, dx: Operand, log: bool, threads: int, fresh: bool
) -> None:
    """Write the gradient to the logits of softmax (or log_softmax), whose result is `y`, to `dx`.

    Rows lie along the last axis, of one float type, their elements side by side; `dx` may be `y`
    or `grad` itself. `fresh` as in `softmax`.
    """

class LentMemory:
    """Memory for a large result, at a huge page; it goes back with this object.

    `used` says whether it was lent before, so that its pages are there. tracemalloc counts the
    bytes that were asked for.
    """

    def __init__(self, n_bytes: int) -> None: ...
    @property
    def used(self) -> bool: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

def keeps(n_bytes: int) -> bool:
    """Whether `LentMemory` of that size would be `used`."""

def keep_at_most(n_bytes: int) -> int:
    """Keep no more bytes that nobody has; the oldest of what is beyond goes to the system.

    Returns the limit until now.
    """

def kept_bytes() -> int:
    """Return how many bytes that nobody has are kept."""

def count(call: Callable[[], Any]) -> tuple[Any, int, int, int, int, int, int, int]:
    """Call a function and count the accesses of the ops that it runs in this thread.

    Those run in their counted build, each on this thread alone. Returns the result, loads and
    stores of elements of `x`, of `y` and of scratch, and the bytes of `x` that loads brought into
    a modelled cache of 32 KiB (64 sets of 8 lines of 64 bytes, the least recently used goes). `x`
    and `y` are the input and an output as long as it; scratch is all other memory that holds
    numbers of the row, among it the maxima of blocks. Neither masks, smaller outputs nor registers
    are counted. ValueError inside of another count.
    """

def last_kernel() -> tuple[str, str, str, str, int, int, str, str, int] | None:
    """Return the fields of `KernelRecord` up to `radix_rows` for this thread's last op."""

def last_launch() -> int:
    """Return the record of the kernel that this thread launched last on a GPU, or -1."""

def note_launch(record: int) -> None:
    """Let `last_launch` say so for this thread."""

class CudaLaunch:
    """A kernel on a GPU with all of its arguments but those of a call.

    `driver` are the addresses of the driver's ``cuLaunchKernel``, ``cuCtxGetCurrent``,
    ``cuCtxPushCurrent_v2`` and ``cuCtxPopCurrent_v2``, `context` and `function` its handles of the
    GPU and the kernel. `numbers` are the arguments after input and result, `strides` those beside
    mask and lengths, each of 64 bits; `record` is what `last_launch` will say.
    """

    def __init__(
        self,
        driver: Sequence[int],
        context: int,
        function: int,
        grid: int,
        block: int,
        shared: int,
        numbers: Sequence[int],
        strides: Sequence[int],
        record: int,
    ) -> None: ...
    def __call__(
        self,
        stream: int,
        x: int,
        y: int,
        temperature: float = 1.0,
        temperatures: int = 0,
        where: int = 0,
        lengths: int = 0,
    ) -> None:
        """Launch it; `last_kernel` then says None.

        `x` and `y` are addresses, and so are `temperatures` and `lengths` (of one a row) and
        `where`, or 0. The GPU that is current stays so. With an error code of the driver
        ``self.failed(code)`` is called, which a subclass has.
        """

class CudaCalls:
    """Calls of CUDA tensors as most are made, their launches kept by geometry.

    `tensor` is PyTorch's type, `types` its element types with their names. `watchers` say, each
    called without arguments, whether something in PyTorch wants to see what is done;
    ``levels._current_level`` is that of forward-mode gradients. ``stream(device)`` is the current
    stream. ``fresh(x, shape, dtype)`` makes a result beside `x`; ``packed(shape, strides, dtype)``
    makes it faster, on the current GPU, or is None. ``counts((out,))`` counts a write to `out`.

    ``prepare(what, dtype, shape, device, beside)`` is asked once for each geometry; `beside` is the
    type and shape of what is read beside `x`, or None. It returns None to leave such calls to the
    long way, else a launch, its results, and which of its numbers the address of `beside` is. A
    result is None, or its type, its shape, which number its address is (-1: `y`) and what that is
    to be a multiple of.
    """

    def __init__(
        self,
        tensor: type,
        types: dict[Any, str],
        watchers: list[Callable[[], Any]],
        levels: Any,
        stream: Callable[[int], int],
        fresh: Callable[[Any, tuple[int, ...], Any], Any],
        packed: Callable[[Any, Any, Any], Any] | None,
        counts: Callable[[Any], Any],
        prepare: Callable[..., tuple[CudaLaunch, Sequence[Any], int] | None],
    ) -> None: ...
    def function(self) -> Callable[[int, Any, Any, Any], Any]:
        """Return what takes (what, x, beside, out) and returns the result, or a tuple of several.

        It returns None, with nothing done, where anything is out of the ordinary. Ordinary are
        tensors whose elements lie side by side, with up to 5 axes, no gradient to them and no lazy
        negation, `x` from a multiple of 16 bytes on; an `out` is the result that it shall be, or a
        tuple of these: `x` itself, or memory apart from all other.
        """

def compiled_isas() -> tuple[str, ...]:
    """Return the instruction sets in this build, best first."""

def supported_isas() -> tuple[str, ...]:
    """Return those of them that this machine can run, best first."""

def isa() -> str:
    """Return the one in use."""

def set_isa(name: str) -> None:
    """Use the named one; ValueError when it is not compiled in or the machine cannot run it."""

def set_stores(name: str) -> None:
    """Store large results ``regular`` or ``streaming``, or as this processor likes: ``any``."""

def available_threads() -> int:
    """Return the smaller of the CPU affinity and the cgroup quota, at least 1."""

def bandwidth(traffic: str, n_bytes: int, threads: int) -> float:
    """Measure how fast buffers of `n_bytes` are read or copied, in 1e9 bytes a second.

    `traffic` is ``read``, ``copy`` or ``streaming_copy`` (stores past the caches). The buffers were
    written before, each thread has its own part of them, and the median of nine measurements of at
    least 2 ms is given. A copy moves each byte twice.
    """

def build_info() -> dict[str, str]:
    """Return the compiler and its version."""
