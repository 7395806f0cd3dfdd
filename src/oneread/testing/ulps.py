"""Units in the last place of the float types.

Knows nothing of the ops.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oneread.spec import DtypeError
from oneread.testing.arrays import as_numpy, dtype_name


class FloatFormat(NamedTuple):
    """A binary float type: digits after the leading one, and the least exponent of that one."""

    digits: int
    least_exponent: int

    @property
    def tiny(self) -> float:
        """Smallest normal number."""
        return 2.0**self.least_exponent

    @property
    def overflow(self) -> float:
        """Smallest number that rounds to infinity: half a unit above the largest finite one."""
        return (2.0 - 2.0 ** -(self.digits + 1)) * 2.0 ** (1 - self.least_exponent)


FORMATS: Final = {
    "float16": FloatFormat(10, -14),
    "bfloat16": FloatFormat(7, -126),
    "float32": FloatFormat(23, -126),
    "float64": FloatFormat(52, -1022),
}


def float_format(dtype: Any) -> FloatFormat:
    """Return the format of a float type given by name or by any library's own type."""
    name = dtype_name(dtype)
    if name not in FORMATS:
        raise DtypeError(f"got type {name}; allowed are {', '.join(FORMATS)}")
    return FORMATS[name]


def ulp(x: ArrayLike, dtype: Any) -> NDArray[np.float64]:
    """Return the distance between neighbouring numbers of a float type at each x.

    Parameters
    ----------
    x : array
        Where; any real numbers.
    dtype : str or dtype
        One of float16, bfloat16, float32 and float64, by name or as any library's type.

    Returns
    -------
    array of float64
        The unit in the last place, in the shape of `x`; that of the smallest normal number below
        the normal range, NaN where x is not finite.

    Raises
    ------
    DtypeError
        When `dtype` is not a float type.

    Examples
    --------
    >>> float(ulp(1.0, "float32")) == 2.0**-23
    True
    >>> float(ulp(300.0, "bfloat16"))
    2.0
    """
    digits, least = float_format(dtype)
    x = np.abs(np.asarray(x, np.float64))
    # frexp gives a fraction in [0.5, 1), so its exponent is one more than the leading digit's
    exponent = np.where(x > 0, np.frexp(x)[1] - 1, least)
    size = np.ldexp(1.0, np.maximum(exponent, least) - digits)
    return np.where(np.isfinite(x), size, np.nan)


def max_ulp_error(got: Any, truth: ArrayLike) -> float:
    """Return the largest distance from the truth, in units in the last place of got's type.

    Parameters
    ----------
    got : array, float16|bfloat16|float32|float64
        What is judged; NumPy, or a torch tensor on any device.
    truth : array
        What it should be, in float64, of a shape that broadcasts with it.

    Returns
    -------
    float
        0 for an empty array. Infinity when NaN, +inf or -inf stand in other places than in the
        truth, or the truth overflows got's type and got is not infinite.

    Raises
    ------
    DtypeError
        When `got` is not of a float type.

    Examples
    --------
    >>> import numpy as np
    >>> third = 1 / np.float64(3)
    >>> round(max_ulp_error(np.float32(third), third), 2)
    0.33
    """
    array, dtype = as_numpy(got)
    value, truth = np.broadcast_arrays(array.astype(np.float64), np.asarray(truth, np.float64))
    expected = rounded_class(truth, dtype)
    same = (value == expected) | (np.isnan(value) & np.isnan(expected))
    with np.errstate(invalid="ignore"):
        error = np.abs(value - truth) / ulp(truth, dtype)
    comparable = np.isfinite(expected) & np.isfinite(error)
    error = np.where(same, 0.0, np.where(comparable, error, np.inf))
    return float(error.max(initial=0.0))


def rounded_class(truth: NDArray[np.float64], dtype: Any) -> NDArray[np.float64]:
    """Return the truth with those numbers infinite that would round to infinity in the type."""
    overflows = np.abs(truth) >= float_format(dtype).overflow
    return np.where(overflows, np.copysign(np.inf, truth), truth)
