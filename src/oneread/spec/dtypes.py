"""Which element types the ops take, compute in and give back.

Knows names only, no array library.
"""

from __future__ import annotations

from typing import Final

#: Types that hold probabilities: a softmax comes back in the one it was given.
FLOAT_DTYPES: Final = ("float16", "bfloat16", "float32", "float64")

#: Type that each input type is converted to before anything is subtracted or summed.
#: 16-bit inputs are computed in float32, never in the storage type.
COMPUTE_DTYPE: Final[dict[str, str]] = {
    "bool": "float32",
    "int8": "float32",
    "uint8": "float32",
    "int16": "float32",
    "uint16": "float32",
    "float16": "float32",
    "bfloat16": "float32",
    "float32": "float32",
    "int32": "float64",
    "uint32": "float64",
    "int64": "float64",
    "uint64": "float64",
    "float64": "float64",
}

INPUT_DTYPES: Final = tuple(COMPUTE_DTYPE)

#: Type of lse, log-probs, top-k probabilities, entropy and sum_p2 for each compute type.
STATISTIC_DTYPE: Final[dict[str, str]] = {"float32": "float32", "float64": "float64"}
