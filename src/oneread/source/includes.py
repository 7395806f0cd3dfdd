"""The headers whose names are built in, so that nothing has to be read for them.

Knows names only; looks for no file.
"""

from __future__ import annotations

from typing import Final

#: Headers of CUDA and of C++ that bring nothing but types, limits, constants and maths.
KNOWN_HEADERS: Final = frozenset(
    {
        "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_functions.h",
        "device_launch_parameters.h", "math_constants.h", "vector_functions.h", "vector_types.h",
        "math.h", "cmath", "float.h", "cfloat", "limits", "limits.h", "climits",
        "stdint.h", "cstdint", "stddef.h", "cstddef", "stdbool.h",
    }
)  # fmt: skip
