"""The functions, constants and special registers that CUDA C provides, in one table.

Knows names, types and kinds; what they do is the machine's.

A name of the source leads to one or more `Builtin`: overloads such as ``exp(float)`` share the
canonical name of the function that they are (``expf``), so that the machine implements each once.
A type ``T`` in the table stands for any of the types in brackets; the machine finds the one that
was chosen in ``Builtin.parameters``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from oneread.trace.types import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    LONG_LONG,
    UINT,
    ULONG,
    ULONG_LONG,
    VOID,
    Pointer,
    Scalar,
    Type,
)

Kind: TypeAlias = Literal[
    "maths",  # a value of values, lane by lane
    "bits",  # the same, of integers and bit patterns
    "barrier",  # of the block
    "poll",  # such a barrier with a vote of all threads
    "fence",  # orders memory, waits for nobody
    "warp",  # the warp's barrier
    "shuffle",
    "vote",
    "reduce",
    "atomic",
]


@dataclass(frozen=True, slots=True)
class Builtin:
    """A built-in function with settled types; ``defaults`` are those of its last arguments."""

    name: str
    kind: Kind
    result: Type
    parameters: tuple[Type, ...]
    defaults: tuple[int, ...] = ()


_FULL_WARP: Final = 32
_INTEGERS: Final = (INT, UINT, LONG, ULONG, LONG_LONG, ULONG_LONG)
_SHUFFLED: Final = (*_INTEGERS, FLOAT, DOUBLE)
_ONE_ARGUMENT: Final = (
    "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt",
    "floor", "ceil", "trunc", "rint", "round", "tanh", "sin", "cos", "tan", "atan", "erf", "erfc",
)  # fmt: skip
_APPROXIMATE: Final = (
    "__expf", "__exp10f", "__logf", "__log2f", "__log10f", "__frcp_rn", "__fsqrt_rn", "__frsqrt_rn",
    "__sinf", "__cosf", "__tanf", "__saturatef",
)  # fmt: skip
_TABLE: dict[str, list[Builtin]] = {}


def _add(
    names: str, kind: Kind, result: Type, *parameters: Type, defaults: tuple[int, ...] = ()
) -> None:
    """Enter a function: its canonical name first, then other names of the source for it."""
    canonical, *aliases = names.split()
    builtin = Builtin(canonical, kind, result, parameters, defaults)
    for name in (canonical, *aliases):
        overloads = _TABLE.setdefault(name, [])
        if builtin not in overloads:
            overloads.append(builtin)


def _maths() -> None:
    # In C++ a float function is also reached by the double one's name, as an overload.
    for name in _ONE_ARGUMENT:
        _add(f"{name}f {name}", "maths", FLOAT, FLOAT)
        _add(name, "maths", DOUBLE, DOUBLE)
    for name in ("fmax", "fmin", "fmod", "pow", "copysign"):
        _add(f"{name}f {name}", "maths", FLOAT, FLOAT, FLOAT)
        _add(name, "maths", DOUBLE, DOUBLE, DOUBLE)
    _add("fmaf fma", "maths", FLOAT, FLOAT, FLOAT, FLOAT)
    _add("fma", "maths", DOUBLE, DOUBLE, DOUBLE, DOUBLE)
    _add("fabsf fabs abs", "maths", FLOAT, FLOAT)
    _add("fabs abs", "maths", DOUBLE, DOUBLE)
    for name in _APPROXIMATE:
        _add(name, "maths", FLOAT, FLOAT)
    for name in ("__fdividef", "__fadd_rn", "__fsub_rn", "__fmul_rn", "__fdiv_rn"):
        _add(name, "maths", FLOAT, FLOAT, FLOAT)
    _add("__fmaf_rn", "maths", FLOAT, FLOAT, FLOAT, FLOAT)
    for name in ("isnan", "isinf", "isfinite", "signbit"):
        for kind in (FLOAT, DOUBLE):
            _add(name, "maths", BOOL, kind)
    for name in ("max", "min"):
        for integer in _INTEGERS:
            _add(name, "maths", integer, integer, integer)
        _add(f"f{name}f {name}", "maths", FLOAT, FLOAT, FLOAT)
        _add(f"f{name} {name}", "maths", DOUBLE, DOUBLE, DOUBLE)
    for name in ("umax", "umin"):
        _add(name, "maths", UINT, UINT, UINT)
    for integer in (INT, LONG, LONG_LONG):
        _add("abs", "maths", integer, integer)


def _bits() -> None:
    for name, result, parameter in (
        ("__float_as_int", INT, FLOAT),
        ("__float_as_uint", UINT, FLOAT),
        ("__int_as_float", FLOAT, INT),
        ("__uint_as_float", FLOAT, UINT),
        ("__float2int_rn", INT, FLOAT),
        ("__float2int_rz", INT, FLOAT),
        ("__float2int_rd", INT, FLOAT),
        ("__float2int_ru", INT, FLOAT),
        ("__int2float_rn", FLOAT, INT),
        ("__uint2float_rn", FLOAT, UINT),
        ("__brev", UINT, UINT),
        ("__brevll", ULONG_LONG, ULONG_LONG),
        ("__popc", INT, UINT),
        ("__popcll", INT, ULONG_LONG),
        ("__ffs", INT, INT),
        ("__ffsll", INT, LONG_LONG),
        ("__clz", INT, INT),
        ("__clzll", INT, LONG_LONG),
    ):
        _add(name, "bits", result, parameter)


def _warps() -> None:
    _add("__syncthreads", "barrier", VOID)
    for name in ("__syncthreads_count", "__syncthreads_and", "__syncthreads_or"):
        _add(name, "poll", INT, INT)
    for name in ("__threadfence", "__threadfence_block", "__threadfence_system"):
        _add(name, "fence", VOID)
    _add("__syncwarp", "warp", VOID, UINT, defaults=(0xFFFFFFFF,))
    for kind in _SHUFFLED:
        _add("__shfl_sync", "shuffle", kind, UINT, kind, INT, INT, defaults=(_FULL_WARP,))
        for name in ("__shfl_up_sync", "__shfl_down_sync"):
            _add(name, "shuffle", kind, UINT, kind, UINT, INT, defaults=(_FULL_WARP,))
        _add("__shfl_xor_sync", "shuffle", kind, UINT, kind, INT, INT, defaults=(_FULL_WARP,))
    for name, result in (("__all_sync", INT), ("__any_sync", INT), ("__ballot_sync", UINT)):
        _add(name, "vote", result, UINT, INT)
    _add("__activemask", "vote", UINT)
    for kind in (INT, UINT):
        for name in ("__reduce_add_sync", "__reduce_max_sync", "__reduce_min_sync"):
            _add(name, "reduce", kind, UINT, kind)
    for name in ("__reduce_and_sync", "__reduce_or_sync", "__reduce_xor_sync"):
        _add(name, "reduce", UINT, UINT, UINT)


def _atomics() -> None:
    atomics: dict[str, tuple[Scalar, ...]] = {
        "atomicAdd": (INT, UINT, ULONG_LONG, FLOAT, DOUBLE),
        "atomicSub": (INT, UINT),
        "atomicMax": (INT, UINT, LONG_LONG, ULONG_LONG),
        "atomicMin": (INT, UINT, LONG_LONG, ULONG_LONG),
        "atomicExch": (INT, UINT, ULONG_LONG, FLOAT),
        "atomicAnd": (INT, UINT, ULONG_LONG),
        "atomicOr": (INT, UINT, ULONG_LONG),
        "atomicXor": (INT, UINT, ULONG_LONG),
    }
    for name, kinds in atomics.items():
        for kind in kinds:
            _add(name, "atomic", kind, Pointer(kind), kind)
    for kind in (INT, UINT, ULONG_LONG):
        _add("atomicCAS", "atomic", kind, Pointer(kind), kind, kind)


_maths()
_bits()
_warps()
_atomics()

#: Functions by their name in the source: the overloads to choose from.
FUNCTIONS: Final[dict[str, tuple[Builtin, ...]]] = {
    name: tuple(overloads) for name, overloads in _TABLE.items()
}

#: Loads with a cache hint: `p` to `*p`.
HINTED_LOADS: Final = frozenset({"__ldg", "__ldcs", "__ldca", "__ldcg", "__ldlu", "__ldcv"})

#: Stores with a cache hint: `p, v` to `*p = v`.
HINTED_STORES: Final = frozenset({"__stcs", "__stcg", "__stwb", "__stwt"})

#: Structs of unsigned x, y and z that every thread sees.
GEOMETRY: Final = ("threadIdx", "blockIdx", "blockDim", "gridDim")

_FLT_MAX: Final = (2 - 2**-23) * 2.0**127

#: Constants that headers define, by name.
CONSTANTS: Final[dict[str, tuple[Scalar, int | float]]] = {
    "INFINITY": (FLOAT, math.inf),
    "CUDART_INF_F": (FLOAT, math.inf),
    "CUDART_INF": (DOUBLE, math.inf),
    "HUGE_VALF": (FLOAT, math.inf),
    "NAN": (FLOAT, math.nan),
    "CUDART_NAN_F": (FLOAT, math.nan),
    "FLT_MAX": (FLOAT, _FLT_MAX),
    "FLT_MIN": (FLOAT, 2.0**-126),
    "FLT_EPSILON": (FLOAT, 2.0**-23),
    "DBL_MAX": (DOUBLE, (2 - 2**-52) * 2.0**1023),
    "M_LOG2E": (DOUBLE, 1.4426950408889634),
    "M_LN2": (DOUBLE, 0.6931471805599453),
    "INT_MAX": (INT, INT.highest),
    "INT_MIN": (INT, INT.lowest),
    "UINT_MAX": (UINT, UINT.highest),
    "LLONG_MAX": (LONG_LONG, LONG_LONG.highest),
    "LLONG_MIN": (LONG_LONG, LONG_LONG.lowest),
    "ULLONG_MAX": (ULONG_LONG, ULONG_LONG.highest),
    "INT32_MAX": (INT, INT.highest),
    "INT32_MIN": (INT, INT.lowest),
    "UINT32_MAX": (UINT, UINT.highest),
    "INT64_MAX": (LONG, LONG.highest),
    "INT64_MIN": (LONG, LONG.lowest),
    "UINT64_MAX": (ULONG, ULONG.highest),
    "SIZE_MAX": (ULONG, ULONG.highest),
}

#: `std::numeric_limits<T>::member()`: what it is for float and, by name, for integers.
FLOAT_LIMITS: Final[dict[str, float]] = {
    "infinity": math.inf,
    "quiet_NaN": math.nan,
    "max": _FLT_MAX,
    "lowest": -_FLT_MAX,
    "min": 2.0**-126,
    "epsilon": 2.0**-23,
}
