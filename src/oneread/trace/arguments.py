"""What a kernel is called with: sizes by their usual names, inputs and outputs by constness.

How many elements a buffer has is guessed by its indices first, then by its usual name. Knows no
machine. Where a kernel's parameters leave a doubt, the error shows the guess, to be passed back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oneread.source.arithmetic import integer
from oneread.source.launches import HostLaunch
from oneread.trace import inputs
from oneread.trace.compiler.layout import layout, letter
from oneread.trace.errors import UsageError
from oneread.trace.front.program import Loaded
from oneread.trace.held import Held, held
from oneread.trace.rows import row_shapes
from oneread.trace.tree import Program, Variable
from oneread.trace.types import Pointer, Scalar, Void

_ROWS = "rows m b r batch num_rows nrows n_rows batch_size bs height"
_VOCAB = (
    "vocab v n c d cols ncols n_cols num_cols columns dim vocab_size len length width hidden "
    "hidden_size row_size seq_len seqlen seq t"
)

#: Usual names of sizes, in lower case, and what they mean in terms of rows, vocab and k.
SIZE_NAMES: dict[str, str] = {
    **dict.fromkeys(_ROWS.split(), "rows"),
    **dict.fromkeys(_VOCAB.split(), "vocab"),
    **dict.fromkeys(["k", "top_k", "topk"], "k"),
    **dict.fromkeys(["total", "count", "numel", "num_elements"], "rows*vocab"),
}

#: Usual names of pointers that hold one number a column, one a row or k a row; the others hold
#: whole rows.
COLUMN_NAMES = frozenset(["gamma", "beta", "bias", "weight", "weights", "scale", "shift"])
ROW_NAMES = frozenset(
    ["m", "d", "lse", "maxima", "row_max", "row_sum", "sums", "norm", "normalizer", "maximum"]
)
TOP_NAMES = frozenset(["values", "vals", "indices", "idx", "ids", "z", "p", "topk_values"])
TOP_NAMES |= {"topk_indices", "top_values", "top_indices"}


#: Numbers as a launch has them, without what says their type.
_WHOLE = re.compile(r"(-?\d{1,18})[uUlL]*")
_FRACTION = re.compile(r"(-?(?:\d{1,30}\.?\d{0,30}|\.\d{1,30})(?:[eE][-+]?\d{1,3})?)[fFlL]?")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a kernel, as far as its arguments need to know."""

    name: str
    pointer: bool
    const: bool
    """Whether what it points to cannot be changed."""
    floating: bool
    """Whether it is, or points to, numbers with a fraction."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What a parameter gets: a number, or a buffer of so many elements."""

    name: str
    role: str
    """``scalar``, ``input``, ``output`` or ``inout``."""
    size: float
    """The number itself, or how many elements."""
    pattern: str | None = None
    shape: str = ""
    """The expression that the size came from."""


def parameters_of(program: Program) -> list[Parameter]:
    """Return the parameters of a program's kernel.

    Raises
    ------
    UsageError
        When one is neither a number nor a pointer.
    """
    return list(map(_parameter, program.kernel.parameters))


def meanings(
    parameters: Sequence[Parameter], given: Mapping[str, str | float]
) -> dict[str, str | float]:
    """Return what whole numbers are given, or mean by their usual names; unusual ones are left."""
    sizes = [one.name for one in parameters if not one.pointer and not one.floating]
    known = {name: SIZE_NAMES[name.lower()] for name in sizes if name.lower() in SIZE_NAMES}
    return {**known, **{name: given[name] for name in sizes if name in given}}


def arguments_of(
    loaded: Loaded, given: Mapping[str, str | float], names: Mapping[str, int], pattern: str
) -> list[Argument]:
    """Return what each parameter of a program's kernel gets, as `bind` has it."""
    program = loaded.program
    parameters = parameters_of(program)
    given = {**launched_sizes(loaded, parameters), **given}
    shapes = row_shapes(program, meanings(parameters, given))
    said = {**launched_with(loaded, parameters), **given}
    zeros: dict[str, Held] = dict.fromkeys(zeroed(loaded, parameters), "zeros")
    return bind(parameters, said, names, pattern, shapes, {**held(program), **zeros})


def zeroed(loaded: Loaded, parameters: Sequence[Parameter]) -> list[str]:
    """Return the buffers to write that the host sets to zero before the file's first launch."""
    launch = _first_launch(loaded, parameters)
    if launch is None:
        return []
    cleared = zip(parameters, launch.zeroed, strict=True)
    return [one.name for one, is_zeroed in cleared if one.pointer and not one.const and is_zeroed]


def launched_sizes(loaded: Loaded, parameters: Sequence[Parameter]) -> dict[str, str]:
    """Return what sizes mean by how the file launches the kernel, where their names do not say it.

    That which the launch has as many blocks of is rows. One that gets what another gets is the
    same, and one that gets a variable with a usual name is what that name says.
    """
    launch = _first_launch(loaded, parameters)
    if launch is None:
        return {}
    known = {name: str(meaning) for name, meaning in meanings(parameters, {}).items()}
    passed = {
        one.name: said
        for one, said in zip(parameters, launch.arguments, strict=True)
        if not one.pointer and not one.floating
    }
    blocks = launch.grid[0].strip("( )") if len(launch.grid) == 1 else None
    alike = [name for name, meaning in known.items() if meaning == "vocab"]
    found: dict[str, str] = {}
    for name, said in passed.items():
        twins = {other: known[other] for other in known if other != name and passed[other] == said}
        unsaid = name not in known or (name in alike and len(alike) == 2)
        if unsaid and said == blocks and "rows" not in known.values():
            found[name] = "rows"
        elif name not in known and twins:
            found |= {**twins, name: next(iter(twins.values()))}
        elif name not in known and said.lower() in SIZE_NAMES:
            found[name] = SIZE_NAMES[said.lower()]
    return found


def _first_launch(loaded: Loaded, parameters: Sequence[Parameter]) -> HostLaunch | None:
    """Return the file's first launch, if it passes as much as the kernel takes."""
    launch = next(iter(loaded.launches), None)
    return launch if launch and len(launch.arguments) == len(parameters) else None


def launched_with(loaded: Loaded, parameters: Sequence[Parameter]) -> dict[str, str]:
    """Return the numbers that the file's first launch passes, of parameters that are no sizes."""
    launch = _first_launch(loaded, parameters)
    if launch is None:
        return {}
    return {
        one.name: number[1]
        for one, said in zip(parameters, launch.arguments, strict=True)
        if not one.pointer and one.name.lower() not in SIZE_NAMES
        if (number := (_FRACTION if one.floating else _WHOLE).fullmatch(said.replace(" ", "")))
    }


def guessed_sizes(loaded: Loaded, given: Mapping[str, str | float]) -> dict[str, bool]:
    """Return the buffers whose size nobody said, and of each whether its indices say it."""
    program = loaded.program
    parameters = parameters_of(program)
    given = {**launched_sizes(loaded, parameters), **given}
    shapes = row_shapes(program, meanings(parameters, given))
    return {
        one.name: one.name in shapes for one in parameters if one.pointer and one.name not in given
    }


def bind(
    parameters: Sequence[Parameter],
    given: Mapping[str, str | float],
    names: Mapping[str, int],
    pattern: str,
    shapes: Mapping[str, str] | None = None,
    holding: Mapping[str, Held] | None = None,
) -> list[Argument]:
    """Return what each parameter gets.

    Parameters
    ----------
    parameters : sequence
        Of the kernel, in order.
    given : mapping
        What the caller says: ``"rows"`` or 3 for a number, ``"rows*vocab:normal"`` for a buffer;
        what follows the colon is a pattern, ``out``, or ``inout:`` and a pattern.
    names : mapping
        rows, vocab, k and the defines that are whole numbers.
    pattern : str
        For inputs that the caller says nothing about.
    shapes : mapping, optional
        How many elements pointers have whose indices say it.
    holding : mapping, optional
        What pointers not to const hold from the start, as `oneread.trace.held.held` finds it.

    Raises
    ------
    UsageError
        When something is in doubt; its remedy is the guess.
    """
    unknown = sorted(set(given) - {parameter.name for parameter in parameters})
    if unknown:
        raise UsageError(
            f"no parameter is named {unknown[0]!r}; there are "
            + ", ".join(parameter.name for parameter in parameters)
        )
    guess, doubts = _guesses(parameters, given, pattern, shapes or {}, holding or {})
    if doubts:
        remedy = {"arguments": {name: guess[name] for name in guess if name not in given}}
        raise UsageError(f"{'; '.join(doubts)}; if the guess is right, pass {{remedy}}", remedy)
    return [_argument(one, given.get(one.name, guess[one.name]), names) for one in parameters]


def _guesses(
    parameters: Sequence[Parameter],
    given: Mapping[str, str | float],
    pattern: str,
    shapes: Mapping[str, str],
    holding: Mapping[str, Held],
) -> tuple[dict[str, str], list[str]]:
    contents = {"zeros": "inout:zeros", "changed": f"inout:{pattern}", "read": pattern}
    guess: dict[str, str] = {}
    doubts: list[str] = []
    for one in parameters:
        if one.pointer:
            shape = shapes.get(one.name) or _shape(one, parameters)
            starts = contents[holding[one.name]] if one.name in holding else "out"
            guess[one.name] = f"{shape}:{pattern if one.const else starts}"
        elif one.floating:
            guess[one.name] = "1.0"
            if one.name not in given:
                doubts.append(f"{one.name} may be any number")
        else:
            guess[one.name] = SIZE_NAMES.get(one.name.lower(), "vocab")
            if one.name.lower() not in SIZE_NAMES and one.name not in given:
                doubts.append(f"{one.name} is no usual name of a size")
    doubts += _same_sizes(parameters, given, guess)
    doubts += _no_input(parameters, given, guess, pattern)
    return guess, doubts


def _same_sizes(
    parameters: Sequence[Parameter],
    given: Mapping[str, str | float],
    guess: dict[str, str],
) -> list[str]:
    """Find two sizes that the table takes for the same; the first is then rows, perhaps."""
    sizes = [one.name for one in parameters if not one.pointer and not one.floating]
    for meaning in ("rows", "vocab"):
        twins = [name for name in sizes if given.get(name, guess[name]) == meaning]
        if len(twins) > 1 and not set(twins) <= set(given):
            free = "rows" if meaning == "vocab" else "vocab"
            if free not in guess.values():
                guess[twins[0] if free == "rows" else twins[-1]] = free
            return [f"{' and '.join(twins)} could each be {meaning}"]
    return []


def _no_input(
    parameters: Sequence[Parameter],
    given: Mapping[str, str | float],
    guess: dict[str, str],
    pattern: str,
) -> list[str]:
    pointers = [one.name for one in parameters if one.pointer]
    if any(one.const for one in parameters if one.pointer) or not pointers:
        return []
    if any(name in given for name in pointers):
        return []
    if any(guess[name].endswith(f":{pattern}") for name in pointers):
        return []  # it is read before anything is written to it
    first = pointers[0]
    shape = guess[first].split(":")[0]
    guess[first] = f"{shape}:inout:{pattern}" if len(pointers) == 1 else f"{shape}:{pattern}"
    return ["no pointer is to const, so which is the input is not said"]


def _shape(pointer: Parameter, parameters: Sequence[Parameter]) -> str:
    has_k = any(SIZE_NAMES.get(one.name.lower()) == "k" for one in parameters if not one.pointer)
    name = pointer.name.lower()
    if name in ROW_NAMES:
        return "rows"
    if pointer.const and name in COLUMN_NAMES:
        return "vocab"
    return "rows*k" if has_k and name in TOP_NAMES else "rows*vocab"


def _argument(parameter: Parameter, said: str | float, names: Mapping[str, int]) -> Argument:
    name = parameter.name
    if not parameter.pointer:
        return Argument(name, "scalar", _scalar(parameter, said, names), shape=str(said))
    shape, _, rest = str(said).partition(":")
    role, pattern = ("input" if parameter.const else "output"), rest or None
    if rest == "out":
        role, pattern = "output", None
    elif rest.startswith("inout:"):
        role, pattern = "inout", rest.removeprefix("inout:")
    elif rest:
        role = "input"
    if pattern is not None and pattern not in inputs.PATTERNS:
        raise UsageError(
            f"{name}: {pattern!r} is none of the patterns {', '.join(inputs.PATTERNS)}"
        )
    if role == "input" and pattern is None:
        pattern = "normal"
    size = integer(shape, names)
    if size < 0:
        raise UsageError(f"{name}: {shape} is {size} elements")
    return Argument(name, role, size, pattern, shape)


def _scalar(parameter: Parameter, said: str | float, names: Mapping[str, int]) -> float:
    if not isinstance(said, str):
        return said
    if parameter.floating:
        try:
            return float(said)
        except ValueError:
            return float(integer(said, names))
    return integer(said, names)


def _parameter(variable: Variable) -> Parameter:
    kind = variable.type
    if isinstance(kind, Pointer):
        target = kind.target
        scalars = layout(target) if not isinstance(target, Void) else ()
        floating = bool(scalars) and all(code in "fd" for _, code in scalars)
        return Parameter(variable.name, True, kind.const, floating)
    if not isinstance(kind, Scalar):
        raise UsageError(f"{variable.name} is a {kind}; a launch gives numbers and pointers only")
    return Parameter(variable.name, False, False, letter(kind) in "fd")
