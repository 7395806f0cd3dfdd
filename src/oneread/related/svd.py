"""SVD-softmax: a preview of all tokens in few dimensions, the best of them made exact.

Knows nothing of the other layers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oneread.ops.state import State
from oneread.ops.topk import top_k
from oneread.related._checked import count, logits_of, matrix
from oneread.spec import ShapeError


class SVDTopK(NamedTuple):
    """The likeliest of the refined tokens.

    Attributes
    ----------
    logprobs : array, shape (rows, k)
        Largest first: exact logits over the mixed normalizer.
    indices : array, shape (rows, k), int64
        Their tokens.
    lse : array, shape (rows,)
        Log of the normalizer: exact logits of the refined tokens, previewed ones of the rest.
    """

    logprobs: Any
    indices: Any
    lse: Any


class SVDSoftmax:
    """An approximate softmax over a large vocabulary, for inference.

    With ``weight = U S V'``, logits are ``(U S) (V' h)``, whose first columns matter most. A
    preview in the first `width` of them chooses the tokens that are computed whole [1]_.

    Parameters
    ----------
    weight : array, shape (vocab, hidden), float32|float64
        Of the output layer. Decomposed once, here.
    bias : array, shape (vocab,), optional
        Of the output layer.
    width : int
        Dimensions of the preview: 0 to the number of singular values.

    Raises
    ------
    ShapeError
        If `width` is out of range or `bias` does not fit.

    Notes
    -----
    With all dimensions, or all tokens refined, the result is that of the whole softmax, up to
    rounding. The preview of the tokens that are refined is left out of the state of the rest,
    with which theirs is merged; subtracting it would cancel.

    References
    ----------
    .. [1] K. Shim, M. Lee, I. Choi, Y. Boo, W. Sung, "SVD-Softmax: fast softmax approximation on
       large vocabulary neural networks", 2017.

    Examples
    --------
    >>> import numpy as np, oneread
    >>> from oneread.related import SVDSoftmax
    >>> rng = np.random.default_rng(0)
    >>> weight, hidden = rng.normal(size=(50, 8)), rng.normal(size=(2, 8))
    >>> best = SVDSoftmax(weight, width=4).top_k(hidden, 1, refined=10)
    >>> bool((best.indices == oneread.top_k(hidden @ weight.T, 1).indices).all())
    True
    """

    def __init__(self, weight: Any, bias: Any = None, *, width: int) -> None:
        weight = matrix(weight, "weight")
        u, s, v = np.linalg.svd(weight, full_matrices=False)
        self._rotated = u * s
        self._basis = v
        self._width = count(width, len(s), "width")
        # Rows of the first dimensions alone, which the preview reads.
        self._preview = np.ascontiguousarray(self._rotated[:, : self._width])
        self._bias = np.zeros(len(weight), weight.dtype) if bias is None else np.asarray(bias)
        if self._bias.shape != (len(weight),):
            raise ShapeError(f"bias has shape {self._bias.shape}; weight needs ({len(weight)},)")

    def top_k(self, hidden: Any, k: int, *, refined: int) -> SVDTopK:
        """Return the k likeliest of the tokens that the preview puts first.

        Parameters
        ----------
        hidden : array, shape (rows, hidden), float32|float64
            Hidden states.
        k : int
            How many: 0 to `refined`.
        refined : int
            How many tokens are computed exactly: 0 to the size of the vocabulary.

        Returns
        -------
        SVDTopK
            Ties in the order of tokens.

        Raises
        ------
        ShapeError
            If k or `refined` is out of range, or `hidden` does not fit.
        """
        refined = count(refined, len(self._bias), "refined")
        k = count(k, refined, "k")
        turned = logits_of(matrix(hidden, "hidden"), self._basis)
        preview = turned[:, : self._width] @ self._preview.T + self._bias
        chosen = np.sort(top_k(preview, refined).indices, axis=-1)
        rest = self._rotated[chosen, self._width :]
        exact = np.take_along_axis(preview, chosen, -1)
        exact += np.einsum("rnd,rd->rn", rest, turned[:, self._width :])
        others = np.ones(preview.shape, bool)
        np.put_along_axis(others, chosen, False, -1)
        best = top_k(exact, k).indices
        vocab = preview.shape[1]
        wanted = best + vocab  # exact logits are columns behind the previewed ones
        whole = State.of(preview, where=others, select=wanted) | State.of(
            exact, offset=vocab, select=wanted
        )
        return SVDTopK(whole.selected, np.take_along_axis(chosen, best, -1), whole.lse)
