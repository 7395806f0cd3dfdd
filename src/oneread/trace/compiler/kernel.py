"""A whole kernel: its functions compiled, its variables placed, its warps started.

Knows the program; knows no expression and no statement.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from oneread.spec.words import plural
from oneread.trace.compiler.barriers import Hoister
from oneread.trace.compiler.context import Context
from oneread.trace.compiler.expressions import Expressions
from oneread.trace.compiler.statements import Statements
from oneread.trace.errors import UsageError
from oneread.trace.machine.values import FULL
from oneread.trace.machine.warp import Warp
from oneread.trace.tree import BuiltinCall, Declare, Program, Storage, Variable
from oneread.trace.walking import nodes


class Kernel:
    """A compiled kernel with its arguments.

    Parameters
    ----------
    program : Program
        The typed tree.
    context : Context
        What it is compiled for.
    arguments : sequence
        A number or an address for each parameter.
    """

    def __init__(self, program: Program, context: Context, arguments: Sequence[Any]) -> None:
        _check_bounds(program, context.block)
        expressions = Expressions(context)
        expressions.places.may_be_unset, polls = _facts(program)
        for variable in program.shared:
            context.shared_address(variable)
        hoister = Hoister(expressions, polls)
        for function in program.functions:
            code = Statements(context, expressions, function, hoister).code(function.body)
            hoister.add(function, code)
        self._body, self._waits = code.run, code.waits
        self._bind = [
            (expressions.parameter(parameter), argument)
            for parameter, argument in zip(program.kernel.parameters, arguments, strict=True)
        ]
        self._context = context

    def start(self, warp: Warp) -> Iterator[Any]:
        """Run a warp; yield each barrier that it reaches."""
        count = self._context.registers
        warp.registers, warp.known = [None] * count, [0] * count
        mask, warp.mask = warp.mask, FULL
        for put, argument in self._bind:
            put(warp, argument)
        warp.mask = mask
        if self._waits:
            yield from self._body(warp)
        else:
            self._body(warp)


@lru_cache(maxsize=8)  # a program is launched many times
def _facts(program: Program) -> tuple[frozenset[Variable], bool]:
    """Return the registers that begin unset, and whether a barrier has a vote."""
    unset, polls = set(), False
    for node in nodes(program):
        if isinstance(node, Declare):
            if node.value is None and node.variable.storage is Storage.REGISTER:
                unset.add(node.variable)
        elif isinstance(node, BuiltinCall):
            polls |= node.builtin.kind == "poll"
    return frozenset(unset), polls


def _check_bounds(program: Program, block: Sequence[int]) -> None:
    """Refuse a block that is larger than the kernel says."""
    most, threads = program.kernel.max_threads, math.prod(block)
    if most is not None and threads > most:
        raise UsageError(
            f"{program.kernel.name} is made for blocks of up to {plural(most, 'thread')} "
            f"(__launch_bounds__); one of {threads} cannot be launched"
        )
