"""What type each output of an op has, and the truth rounded to it.

Knows the ops by the table and the reference only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from oneread import reference
from oneread.spec import COMPUTE_DTYPE, FLOAT_DTYPES, OPS, STATISTIC_DTYPE, DtypeError, ShapeError
from oneread.testing.arrays import as_numpy, dtype_name, numpy_dtype

Implementation: TypeAlias = Callable[..., Any]
Fields: TypeAlias = dict[str, NDArray[Any] | None]

#: Options that change how an op runs or the type of its output, never the truth.
NEUTRAL_OPTIONS: Final = frozenset(
    {"deterministic", "dtype", "index_dtype", "kernel", "out", "threads", "workspace"}
)


def truth_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the truth depends on, their arrays as NumPy's."""
    return {
        name: as_numpy(option)[0] if hasattr(option, "shape") else option
        for name, option in options.items()
        if name not in NEUTRAL_OPTIONS
    }


def fields(op: str, result: Any) -> Fields:
    """Return an op's result by the names of its outputs; missing ones are None."""
    names = check_op(op).outputs
    if len(names) == 1:
        return {names[0]: result}
    if not isinstance(result, tuple) or len(result) > len(names):
        raise AssertionError(
            f"{op} gave {type(result).__name__}; expected a tuple of {', '.join(names)}"
        )
    return dict.fromkeys(names) | dict(zip(names, result, strict=False))


def output_dtype(op: str, field: str, x_dtype: str, options: Mapping[str, Any]) -> str:
    """Return the name of the type that an output has."""
    if field in ("argmax", "rank"):
        return "int64"
    if field == "indices":
        return dtype_name(options.get("index_dtype") or "int64")
    if x_dtype not in COMPUTE_DTYPE:
        raise DtypeError(f"got x of type {x_dtype}; allowed are {', '.join(COMPUTE_DTYPE)}")
    own = x_dtype if x_dtype in FLOAT_DTYPES else COMPUTE_DTYPE[x_dtype]
    if is_input_number(op, field, options):
        return own
    default = own if field == "y" else STATISTIC_DTYPE[COMPUTE_DTYPE[x_dtype]]
    return dtype_name(options.get("dtype") or default)


def is_input_number(op: str, field: str, options: Mapping[str, Any]) -> bool:
    """Say whether an output holds the input's own numbers, bit for bit."""
    if op == "softmax_topk":
        return field == "values" and options.get("kind") == "logit"
    return field == "values"


def faithful(op: str) -> Implementation:
    """Return an implementation of an op that is right: the truth, rounded once.

    Parameters
    ----------
    op : str
        Name of the op.

    Returns
    -------
    callable
        Takes the op's arguments, arrays of any library, and returns NumPy arrays of the op's
        types; as slow as the reference.

    Raises
    ------
    ShapeError
        When there is no such op.

    Examples
    --------
    >>> import numpy as np
    >>> faithful("softmax")(np.zeros((1, 4), np.float32))
    array([[0.25, 0.25, 0.25, 0.25]], dtype=float32)
    """
    check_op(op)

    def implementation(x: Any, *arguments: Any, **options: Any) -> Any:
        options |= by_name(op, arguments)
        truth = getattr(reference, op)(as_numpy(x)[0], **truth_options(options))
        return rounded(op, truth, x, options)

    return implementation


def by_name(op: str, arguments: Sequence[Any]) -> dict[str, Any]:
    """Return the arguments after x by their names."""
    names = ("k", "axis") if op in ("top_k", "softmax_topk") else ("axis",)
    return dict(zip(names, arguments, strict=False))


def rounded(op: str, result: Any, x: Any, options: Mapping[str, Any]) -> Any:
    """Return a float64 result of an op in the types that the op gives back for x."""
    x_dtype = as_numpy(x)[1]

    def cast(field: str, array: NDArray[Any]) -> NDArray[Any]:
        dtype = numpy_dtype(output_dtype(op, field, x_dtype, options))
        with np.errstate(all="ignore"):
            return np.asarray(array).astype(dtype)

    arrays = {n: None if a is None else cast(n, a) for n, a in fields(op, result).items()}
    return type(result)(**arrays) if isinstance(result, tuple) else next(iter(arrays.values()))


def check_op(op: str) -> Any:
    """Return an op's row of the table, or say which ops there are."""
    if op not in OPS:
        raise ShapeError(f"got op={op!r}; allowed are {', '.join(OPS)}")
    return OPS[op]
