"""Backward passes for the soak and compute-sanitizer: what they are given, and a second opinion.

Knows nothing of launches. The formulas are those of `oneread.reference.gradients`, by PyTorch on
the device of the rows; the bounds are those of `oneread.testing.gradients`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from soak_truth import computed, far, room_of, summed

from oneread.ops._gradient import logits_gradient, softmax_backward
from oneread.testing.gradients import MAX_ULP
from oneread.testing.ulps import FORMATS

#: What each op is called in the table of launches.
TABLES = {
    "logits_gradient": "logits_gradient", "softmax_backward": "softmax_backward",
    "log_softmax_backward": "softmax_backward",
}  # fmt: skip
#: Terms of a gradient to logits: all at first.
TERMS: tuple[tuple[str, ...], ...] = (
    ("slope", "square", "target", "uniform", "class_weight", "softcap", "temperature"),
    (), ("target",), ("slope", "target"), ("target", "uniform", "class_weight"),
    ("temperature",), ("square", "heat", "target"),
)  # fmt: skip
SOFTCAP = 30.0
#: Largest powers that are not in the normal range, in nats below 0.
NATS = {torch.float32: 88, torch.float64: 709}


def terms_of(vocab: int, turn: int) -> tuple[str, ...]:
    """Return the terms of a turn: all, or some that the length chooses, as each is a kernel."""
    return TERMS[1 + vocab % (len(TERMS) - 1)] if turn % 2 else TERMS[0]


def given(op: str, x: torch.Tensor, turn: int) -> dict[str, Any]:
    """Return what an op takes beside the logits, other numbers in each turn."""
    generator = torch.Generator(x.device).manual_seed(turn)
    if op != "logits_gradient":
        y = (torch.log_softmax if op.startswith("log") else torch.softmax)(computed(x), -1)
        grad = torch.empty_like(x).normal_(0, 1, generator=generator)
        return {"y": y.to(x.dtype), "grad": grad}
    rows, vocab = x.shape
    kind, terms = computed(x[:0]).dtype, terms_of(vocab, turn)

    def one_a(n: int, dtype: torch.dtype = kind) -> torch.Tensor:
        numbers = torch.empty(n, dtype=dtype, device=x.device)
        return numbers.uniform_(0.5, 2, generator=generator)

    found: dict[str, Any] = {"scale": -one_a(rows)}
    found |= {name: one_a(rows) for name in ("slope", "square", "uniform") if name in terms}
    if "target" in terms:
        target = torch.randint(-1, vocab, (rows,), device=x.device, generator=generator)
        found |= {"target": target, "at_target": one_a(rows)}
    if "class_weight" in terms:
        found["class_weight"] = one_a(vocab)
    if "softcap" in terms:
        found["softcap"] = SOFTCAP
    if "temperature" in terms:
        found["temperature"] = 0.75
    if "heat" in terms:
        found["temperature"] = one_a(rows, torch.float64)
    z = _capped(x.double(), found)[0] / _heat(found)
    return found | {"lse": torch.logsumexp(z, -1).to(kind)}


def call(op: str, x: torch.Tensor, numbers: dict[str, Any]) -> torch.Tensor:
    """Do the op."""
    if op == "logits_gradient":
        return logits_gradient(x, **numbers)
    return softmax_backward(numbers["y"], numbers["grad"], log=op.startswith("log"))


def _heat(numbers: dict[str, Any]) -> torch.Tensor:
    heat = numbers.get("temperature", 1.0)
    if torch.is_tensor(heat):
        return heat[:, None]
    # By a number, PyTorch would multiply with its inverse, which is rounded.
    return torch.full((), heat, dtype=torch.float64, device=numbers["scale"].device)


def _capped(x: torch.Tensor, numbers: dict[str, Any]) -> tuple[torch.Tensor, Any]:
    """Return z and dz/dx."""
    cap = numbers.get("softcap")
    if cap is None:
        return x, 1.0
    y = x / cap
    return torch.tanh(y) * cap, torch.cosh(y).reciprocal().square()


def _gradient(x: torch.Tensor, numbers: dict[str, Any]) -> torch.Tensor:
    """Return the gradient to logits in the type of `x`."""

    def of(name: str) -> Any:
        one = numbers.get(name)
        return 0.0 if one is None else one.to(x.dtype)[:, None]

    z, steepness = _capped(x, numbers)
    z = z / _heat(numbers).to(x.dtype)
    lp = z - of("lse")
    p = lp.exp()
    terms = torch.where(p == 0, 0.0, p * (of("scale") + of("slope") * lp + of("square") * p))
    weights = numbers.get("class_weight")
    terms = terms + of("uniform") * (1.0 if weights is None else weights.to(x.dtype))
    if "target" in numbers:
        columns = torch.arange(x.shape[1], device=x.device)
        terms = terms + torch.where(columns == numbers["target"][:, None], of("at_target"), 0.0)
    return torch.where(torch.as_tensor(steepness, device=x.device) == 0, 0.0, terms * steepness)


def _logits_gradient(x: torch.Tensor, numbers: dict[str, Any], got: torch.Tensor) -> torch.Tensor:
    wide, near = x.double(), computed(x)
    truth, plain = _gradient(wide, numbers), _gradient(near, numbers)
    taken = ("target", "softcap", "temperature", "lse")
    sizes = {n: v if n in taken else v.abs() for n, v in numbers.items()}
    if "slope" in sizes:
        sizes["slope"] = -sizes["slope"]  # l is below 0
    size = _gradient(wide, sizes).abs()
    finite = wide.abs().nan_to_num(0.0, 0.0, 0.0)
    if "softcap" in numbers:  # z is rounded, and a power is as exact as its argument
        finite = finite.clamp_max(SOFTCAP)
        size = size * (1 + finite)
    ulps: Any = MAX_ULP
    if x.dtype == torch.float64:  # the truth's own quotient is rounded, and its difference to lse
        ulps = MAX_ULP + 2 * finite / _heat(numbers) + numbers["lse"].abs()[:, None]
    flushed = 4 * NATS[near.dtype] * _tiny(near)
    return far(got, truth, ulps, size, room_of(plain, truth) + flushed)


def _softmax(y: torch.Tensor, grad: torch.Tensor, log: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradient to the logits in the type of `y`, and the size of its terms."""
    total = summed(grad if log else grad * y)[..., None]
    sizes = summed(grad.abs() if log else (grad * y).abs())[..., None]
    if log:
        return grad - y.exp() * total, grad.abs() + y.exp() * sizes
    return y * (grad - total), y * (grad.abs() + sizes)


def _softmax_backward(
    log: bool,
) -> Callable[[torch.Tensor, dict[str, Any], torch.Tensor], torch.Tensor]:
    def wrong(x: torch.Tensor, numbers: dict[str, Any], got: torch.Tensor) -> torch.Tensor:
        y, grad = numbers["y"], numbers["grad"]
        truth, size = _softmax(y.double(), grad.double(), log)
        plain, _ = _softmax(computed(y), computed(grad), log)
        flushed = _tiny(computed(y)) * (1 + summed(grad.double().abs())[..., None])
        return far(got, truth, MAX_ULP, size, room_of(plain, truth) + flushed)

    return wrong


def _tiny(x: torch.Tensor) -> float:
    return FORMATS[str(x.dtype).removeprefix("torch.")].tiny


CHECKS: dict[str, Callable[[torch.Tensor, dict[str, Any], torch.Tensor], torch.Tensor]] = {
    "logits_gradient": _logits_gradient, "softmax_backward": _softmax_backward(False),
    "log_softmax_backward": _softmax_backward(True),
}  # fmt: skip
