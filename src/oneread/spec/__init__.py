"""What the ops are: their table, their types, their results and their errors.

Knows nothing else of the package and loads the standard library only.
"""

from oneread.spec.dtypes import COMPUTE_DTYPE, FLOAT_DTYPES, INPUT_DTYPES, STATISTIC_DTYPE
from oneread.spec.errors import (
    AxisError,
    BackendUnavailableError,
    DtypeError,
    KernelCompileError,
    OneReadError,
    ShapeError,
)
from oneread.spec.ops import OPS, KernelSpec, OpSpec
from oneread.spec.results import Explanation, KernelRecord, Read, SoftmaxTopK, TopK

__all__ = [
    "COMPUTE_DTYPE",
    "FLOAT_DTYPES",
    "INPUT_DTYPES",
    "OPS",
    "STATISTIC_DTYPE",
    "AxisError",
    "BackendUnavailableError",
    "DtypeError",
    "Explanation",
    "KernelCompileError",
    "KernelRecord",
    "KernelSpec",
    "OneReadError",
    "OpSpec",
    "Read",
    "ShapeError",
    "SoftmaxTopK",
    "TopK",
]
