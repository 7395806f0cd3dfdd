"""Operators that autograd, forward-mode gradients and torch.func can see through.

Knows nothing of the maths of an op: its rule is given with it. Imported when the first operator is
registered.

An operator has its kernel, its shapes, and a kernel of its own for autograd: that one is used by
compiled graphs and by torch.func alike, where a decorated `torch.library.custom_op` knows no
forward mode. Where nobody but autograd watches, `call` leaves out the dispatcher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final, NamedTuple, Protocol

import torch
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from oneread.backends import torch_

#: Arguments of an operator, as its schema has them.
Inputs = tuple[Any, ...]


class _SingleLevel(_SingleLevelFunction):  # type: ignore[misc]
    """A step of autograd that a transform calls at each of its levels in turn."""

    #: Which step it is, for the compiler of whole backward passes.
    _compiled_autograd_key = staticmethod(lambda ctx: (ctx._autograd_function_id,))


class Rule(Protocol):
    """How an operator is differentiated. All formulas are out of place, for they may be nested."""

    def asked(self, inputs: Inputs) -> Inputs:
        """Return the arguments with which the operator also returns what its derivatives need."""

    def given(self, inputs: Inputs, outputs: list[Any]) -> list[Any]:
        """Return from these outputs those that the arguments ask for."""

    def saved(self, inputs: Inputs, outputs: list[Any]) -> tuple[Any, ...]:
        """Return the tensors that the derivatives need; None among them is fine."""

    def pull(
        self, inputs: Inputs, saved: tuple[Any, ...], wanted: tuple[bool, ...], grads: Inputs
    ) -> tuple[Any, ...]:
        """Return a gradient for each input; among `inputs`, types stand for tensors."""

    def push(self, inputs: Inputs, saved: tuple[Any, ...], tangents: Inputs) -> tuple[Any, ...]:
        """Return a tangent for each output of the asked call; None for one that has none."""


class _Operator(NamedTuple):
    run: Callable[..., Any]
    derive: Callable[[Callable[..., Any], Inputs], list[Any]]
    overload: Any
    single: bool


_operators: Final[dict[str, _Operator]] = {}


def define(
    schema: str, run: Callable[..., Any], shapes: Callable[..., Any], rule: Rule, batch: Any
) -> None:
    """Register an operator in ``torch.ops.oneread``, so that graphs can hold the op.

    `run` computes with tensors that are memory, `shapes` makes empty results for tensors without
    numbers, `batch` is what vmap does: ``(info, in_dims, *inputs) -> (outputs, out_dims)``. An
    operator returns one tensor, or a list.
    """
    name = schema.partition("(")[0]
    single = not schema.endswith("[]")

    def below_autograd(*inputs: Any) -> Any:
        held = [
            x.detach() if isinstance(x, torch.Tensor) and _has_history(x) else x for x in inputs
        ]
        return run(*held)

    torch_.define(schema, below_autograd, shapes)
    overload = torch_.operator(name).default
    derive = _derived(name, rule, single)
    _operators[name] = _Operator(below_autograd, derive, overload, single)

    def autograd(keyset: Any, *inputs: Any) -> Any:
        def launch(*inputs: Any) -> Any:
            # A step of autograd turns gradients off, which a transform's outer levels still want.
            with (
                torch._C._AutoDispatchBelowAutograd(),
                _gradients() if torch_.transformed() else nullcontext(),
            ):
                return overload.redispatch(keyset & torch._C._after_autograd_keyset, *inputs)

        if not differentiated(inputs):
            return launch(*inputs)
        outputs = derive(launch, inputs)
        return outputs[0] if single else outputs

    torch_.library.impl(name, autograd, "Autograd", with_keyset=True)
    if hasattr(torch.library, "register_vmap"):  # from PyTorch 2.5 on
        torch.library.register_vmap(f"oneread::{name}", batch, lib=torch_.library)


def call(name: str, *inputs: Any) -> Any:
    """Call an operator, past the dispatcher where nobody but autograd watches."""
    operator = _operators[name]
    if is_watched(inputs):
        return operator.overload(*inputs)
    if not differentiated(inputs):
        return operator.run(*inputs)
    outputs = operator.derive(operator.run, inputs)
    return outputs[0] if operator.single else outputs


def run(name: str, *inputs: Any) -> Any:
    """Compute an operator of tensors that are memory; for use within other operators."""
    return _operators[name].run(*inputs)


def is_watched(inputs: Inputs) -> bool:
    """Whether somebody but autograd wants to see what is done with these; None is no tensor."""
    if torch_.dispatched(inputs[0]):
        return True
    return any(isinstance(x, torch.Tensor) and not torch_.is_bare(x) for x in inputs)


def differentiated(inputs: Inputs) -> bool:
    """Whether autograd or forward mode wants derivatives with respect to one of these."""
    if torch.is_grad_enabled():
        for x in inputs:
            if isinstance(x, torch.Tensor) and x.requires_grad:
                return True
    return bool(torch_.has_tangent(inputs))


def short(
    pull: Callable[[tuple[torch.Tensor, ...], Inputs, Any, bool], torch.Tensor | None],
) -> Callable[..., tuple[torch.Tensor, ...]]:
    """Return what makes a step of autograd of results that a plain call has made already.

    What it returns takes the input of the call, the results, something of one's own, and tensors to
    keep, results among them or not. `pull` makes of these, of the gradients, and of that the
    gradient for the input; it is told whether anybody looks at what it does. Only where `is_short`
    says so: such a step has no forward mode.
    """

    class Short(_SingleLevel):
        """The results and the gradient for their input."""

        @staticmethod
        def forward(
            ctx: Any, x: torch.Tensor, made: tuple[torch.Tensor, ...], own: Any, kept: Any
        ) -> tuple[torch.Tensor, ...]:
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*kept)
            ctx.own = own
            return made

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            saved = ctx.saved_tensors
            watched = torch.is_grad_enabled() or not is_short(saved[0])
            for grad in grads:
                watched = watched or not (grad is None or torch_.is_bare(grad))
            if not watched:
                grads = tuple([None if grad is None else _resolved(grad) for grad in grads])
            return pull(saved, grads, ctx.own, watched), None, None, None

    return Short.apply  # type: ignore[no-any-return]


def _resolved(x: torch.Tensor) -> torch.Tensor:
    """Return a tensor that is memory: not a lazy negation, nor zeros that exist by name only."""
    lazy = x.is_neg() or x._is_zerotensor()
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(x) if lazy else x


def is_short(x: torch.Tensor) -> bool:
    """Whether nothing but autograd's backward passes can want to know of a call with `x`."""
    return not (torch_.dispatched(x) or forward_ad._current_level >= 0 or torch_._is_batch(x))


def _primal(x: torch.Tensor) -> Any:
    return forward_ad.unpack_dual(x).primal


@contextmanager
def _gradients() -> Iterator[None]:
    with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
        yield


@contextmanager
def _within_transform() -> Iterator[None]:
    allowed = torch._C._functorch.get_single_level_autograd_function_allowed()
    torch._C._functorch.set_single_level_autograd_function_allowed(True)
    try:
        yield
    finally:
        torch._C._functorch.set_single_level_autograd_function_allowed(allowed)


def _has_history(x: torch.Tensor) -> bool:
    return bool(x.requires_grad or forward_ad._current_level >= 0)


def _derived(
    name: str, rule: Rule, single: bool
) -> Callable[[Callable[..., Any], Inputs], list[Any]]:
    """Return what calls an operator as one step of autograd."""

    class Step(_SingleLevel):
        """The operator and its derivatives."""

        @staticmethod
        def forward(ctx: Any, launch: Callable[..., Any], *inputs: Any) -> Any:
            made = launch(*inputs)
            outputs = [made] if single else list(made)
            _keep(ctx, inputs, outputs, rule.saved(inputs, outputs))
            return made if single else tuple(outputs)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
            wanted = ctx.needs_input_grad[1:]
            return (None, *rule.pull(ctx.inputs, ctx.saved_tensors, wanted, grads))

        @staticmethod
        def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
            saved = ctx.saved_tensors
            if torch_.transformed():  # outer levels may push too; tangents of this one are given
                with _gradients():
                    saved = tuple([None if x is None else _primal(x) for x in saved])
                    pushed = rule.push(ctx.inputs, saved, tangents)
            else:
                pushed = rule.push(ctx.inputs, saved, tangents)
            return pushed[0] if single else pushed

    Step.__name__ = f"{name.title().replace('_', '')}Step"

    def derive(launch: Callable[..., Any], inputs: Inputs) -> list[Any]:
        asked = rule.asked(inputs)
        # A transform of torch.func calls this at each of its levels in turn.
        with _within_transform() if torch_.transformed() else nullcontext():
            made = Step.apply(launch, *asked)
        return rule.given(inputs, [made] if single else list(made))

    return derive


def _keep(ctx: Any, inputs: Inputs, outputs: list[Any], saved: tuple[Any, ...]) -> None:
    ctx.mark_non_differentiable(*[x for x in outputs if not x.is_floating_point()])
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*saved)
    ctx.save_for_forward(*saved)
    ctx.inputs = tuple([x.dtype if isinstance(x, torch.Tensor) else x for x in inputs])
