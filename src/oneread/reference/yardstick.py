"""The safe formula in the type that the op computes in: the yardstick of the tolerance.

Knows nothing of the ops that it is compared with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from oneread.reference.ranked import read, softmax_topk, top_k
from oneread.reference.rows import PlainBlock
from oneread.reference.whole import log_softmax, logsumexp, softmax

_FORMULAS: Final[dict[str, Callable[..., Any]]] = {
    function.__name__: function
    for function in (softmax, log_softmax, logsumexp, top_k, softmax_topk, read)
}


def plain(op: str, x: Any, **options: Any) -> Any:
    """Return what the safe formula gives in the type that the op computes in.

    Parameters
    ----------
    op : str
        Name of the op.
    x : array of any supported type
        Logits.
    **options
        Arguments of the op.

    Returns
    -------
    array or named tuple
        As the op's, in float32 for inputs of up to 16 bits and float32, else in float64.

    Notes
    -----
    Maximum first, kept out of a pairwise sum: the best that an ordinary implementation can do.
    Its distance from the truth says how hard an input is.

    Examples
    --------
    >>> import numpy as np
    >>> plain("logsumexp", np.zeros(4, np.float32)).dtype.name
    'float32'
    """
    return _FORMULAS[op](x, **options, arithmetic=PlainBlock)
