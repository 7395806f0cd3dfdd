"""Built-in functions of values: mathematics and bit patterns, lane by lane.

Knows lanes; knows no warp, no memory and no tree.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from oneread.trace.builtins import Builtin
from oneread.trace.machine import floats, integers, maths
from oneread.trace.machine.values import bits_of, spread
from oneread.trace.types import Scalar

Function = Callable[..., Any]

#: log2(e) in float32, as the fast exponential of the hardware has it.
_LOG2E = floats.round32(math.log2(math.e))
_LN2 = floats.round32(math.log(2))


def _lanewise(op: Callable[..., Any]) -> Function:
    """Return `op` on the values of 32 lanes, of any number of operands."""

    def apply(*values: Any) -> Any:
        if all(type(value) is not tuple and type(value) is not range for value in values):
            return op(*values)
        return tuple(map(op, *map(spread, values)))

    return apply


def _mask(op: Callable[[Any], bool]) -> Function:
    return lambda value: bits_of(map(op, spread(value)))


def _rounded(op: Callable[..., float]) -> Function:
    apply = _lanewise(op)
    return lambda *values: floats.round32(apply(*values))


def _cast(source: str, target: str) -> Function:
    """Return the function that keeps the bits and changes the type."""
    packer, unpacker = struct.Struct("<" + source), struct.Struct("<" + target)
    return _lanewise(lambda value: unpacker.unpack(packer.pack(value))[0])


def _whole(op: Callable[[float], int]) -> Callable[[float], float]:
    """Return a rounding function with its sign of zero, that leaves infinities and NaN alone."""
    return lambda x: math.copysign(op(x), x) if math.isfinite(x) else x


def _to_int(op: Callable[[float], float]) -> Function:
    """Return float to int with a rounding; too large ones stay at the ends."""
    apply = _lanewise(op)
    return lambda value: integers.truncate(apply(value), -(2**31), 2**31 - 1)


def _remainder(x: float, y: float) -> float:
    if math.isinf(x) or y == 0 or x != x or y != y:
        return math.nan
    return math.fmod(x, y)


def _first_set(value: int) -> int:
    return (value & -value).bit_length()


def _leading_zeros(bits: int) -> Callable[[int], int]:
    return lambda value: bits - (value & ((1 << bits) - 1)).bit_length()


def _bits_of_number(bits: int) -> Callable[[int], int]:
    return lambda value: (value & ((1 << bits) - 1)).bit_count()


def _reversed(bits: int) -> Callable[[int], int]:
    return lambda value: int(f"{value:0{bits}b}"[::-1], 2)


def _round(x: float) -> int:
    """Return the nearest integer; of two, the one farther from zero."""
    size = abs(x)
    nearest = int(size) + (size - int(size) >= 0.5)
    return nearest if x > 0 else -nearest


def _saturate(x: float) -> float:
    return min(x, 1.0) if x > 0 else 0.0  # NaN too


def _exact(name: str) -> Function:
    return maths.correctly_rounded(*maths.FUNCTIONS[name])


_exp2, _log2 = _exact("exp2"), _exact("log2")


def _fast_exp(x: Any) -> Any:
    """Return 2^(x * log2 e), both rounded: what `__expf` is on the hardware, near enough."""
    return _exp2(floats.mul32(x, _LOG2E))


def _fast_divide(x: float, y: float) -> float:
    # Documented for __fdividef: 0 for a divisor in 2^126 to 2^128, NaN for an infinite dividend.
    if 2.0**126 < abs(y) < math.inf:
        return math.nan if math.isinf(x) else math.copysign(0.0, x) * math.copysign(1.0, y)
    return floats.divide(x, y)


_WHOLE = {
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "trunc": _whole(math.trunc),
    "rint": _whole(round),
    "round": _whole(_round),
}


def _float_functions() -> dict[str, Function]:
    table = {f"{name}f": _exact(name) for name in maths.FUNCTIONS}
    table |= {f"{name}f": _rounded(op) for name, op in maths.PLAIN.items()}
    table |= {f"{name}f": _lanewise(op) for name, op in _WHOLE.items()}
    table |= {
        "fmaxf": floats.max_warp,
        "fminf": floats.min_warp,
        "fmodf": _lanewise(_remainder),
        "copysignf": _lanewise(math.copysign),
        "__saturatef": _lanewise(_saturate),
        "__sinf": _rounded(maths.PLAIN["sin"]),
        "__cosf": _rounded(maths.PLAIN["cos"]),
        "__tanf": _rounded(maths.PLAIN["tan"]),
        "fabsf": _lanewise(abs),
        "fmaf": floats.fused_warp,
        "__fmaf_rn": floats.fused_warp,
        "__fadd_rn": floats.add32,
        "__fsub_rn": floats.sub32,
        "__fmul_rn": floats.mul32,
        "__fdiv_rn": floats.divide_warp,
        "__fdividef": _rounded(_fast_divide),
        "__frcp_rn": lambda x: floats.divide_warp(1.0, x),
        "__fsqrt_rn": _rounded(maths.sqrt),
        "__frsqrt_rn": _exact("rsqrt"),
        "__expf": _fast_exp,
        "__exp10f": _exact("exp10"),
        "__logf": lambda x: floats.mul32(_log2(x), _LN2),
        "__log2f": _log2,
        "__log10f": _exact("log10"),
    }
    return table


def _double_functions() -> dict[str, Function]:
    table = {name: _lanewise(fast) for name, (fast, _) in maths.FUNCTIONS.items()}
    table |= {name: _lanewise(op) for name, op in (maths.PLAIN | _WHOLE).items()}
    table |= {
        "fmax": floats.max_warp,
        "fmin": floats.min_warp,
        "fmod": _lanewise(_remainder),
        "copysign": _lanewise(math.copysign),
        "fabs": _lanewise(abs),
        "fma": _lanewise(floats.fused64),
    }
    return table


_ANY: dict[str, Function] = {
    "isnan": _mask(math.isnan),
    "isinf": _mask(math.isinf),
    "isfinite": _mask(math.isfinite),
    "signbit": _mask(lambda x: math.copysign(1.0, x) < 0),
    "max": integers.maximum,
    "min": integers.minimum,
    "umax": integers.maximum,
    "umin": integers.minimum,
    "abs": _lanewise(abs),
    "__float_as_int": _cast("f", "i"),
    "__float_as_uint": _cast("f", "I"),
    "__int_as_float": _cast("i", "f"),
    "__uint_as_float": _cast("I", "f"),
    "__float2int_rn": _to_int(_WHOLE["rint"]),
    "__float2int_rz": _to_int(_WHOLE["trunc"]),
    "__float2int_rd": _to_int(_WHOLE["floor"]),
    "__float2int_ru": _to_int(_WHOLE["ceil"]),
    "__int2float_rn": floats.from_integers,
    "__uint2float_rn": floats.from_integers,
    "__brev": _lanewise(_reversed(32)),
    "__brevll": _lanewise(_reversed(64)),
    "__popc": _lanewise(_bits_of_number(32)),
    "__popcll": _lanewise(_bits_of_number(64)),
    "__ffs": _lanewise(_first_set),
    "__ffsll": _lanewise(_first_set),
    "__clz": _lanewise(_leading_zeros(32)),
    "__clzll": _lanewise(_leading_zeros(64)),
}

#: Every function of values, by its canonical name.
FUNCTIONS: dict[str, Function] = _double_functions() | _float_functions() | _ANY

#: Those that are an exponential, which are counted.
EXPONENTIALS = frozenset(
    ["expf", "exp", "exp2f", "exp2", "exp10f", "exp10", "expm1f", "expm1", "__expf", "__exp10f"]
)


def function_of(builtin: Builtin) -> Function:
    """Return the function that a built-in of kind ``maths`` or ``bits`` is."""
    kind = builtin.parameters[0]
    if builtin.name in {"fmax", "fmin"} and isinstance(kind, Scalar) and kind.kind == "int":
        return FUNCTIONS[builtin.name[1:]]
    return FUNCTIONS[builtin.name]
