"""softmax, log_softmax and logsumexp with PyTorch's conventions.

Knows no kernel and no formula: the ops have both.
"""

from __future__ import annotations

import torch
from torch import Tensor

from oneread.ops import _short
from oneread.ops import logsumexp as _logsumexp
from oneread.ops import softmax as _softmax


def softmax(
    input: Tensor,
    dim: int | tuple[int, ...] = -1,
    dtype: torch.dtype | None = None,
    *,
    temperature: float | Tensor | None = None,
    where: Tensor | None = None,
    lengths: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the probabilities of each row, as `torch.softmax` does.

    Parameters
    ----------
    input : Tensor, any shape
        Logits, on a CPU or an NVIDIA GPU.
    dim : int or tuple of int, default -1
        Dimensions that make up a row.
    dtype : torch.dtype, optional
        Type of the result: that of `input` when None, float32 under a GPU's autocast.
    temperature, where, lengths : optional
        As in `oneread.softmax`.
    out : Tensor, optional
        Where to write; not with gradients.

    Returns
    -------
    Tensor
        Of the shape of `input`; `out` itself when it is given.

    Raises
    ------
    OneReadError
        What `oneread.softmax` raises.

    Notes
    -----
    Differentiable, as often as one likes, with forward-mode gradients and under `torch.func`.
    Keeps its output for that, as torch does.

    Examples
    --------
    >>> import torch, oneread.torch
    >>> x = torch.zeros(2, requires_grad=True)
    >>> oneread.torch.softmax(x)[0].backward()
    >>> x.grad.tolist()
    [0.25, -0.25]
    """
    plain = dtype is temperature is where is lengths is None and type(dim) is int and dim == -1
    if dtype is None and torch.is_autocast_enabled("cuda"):
        dtype = _autocast(input)
    elif plain and (quick := _softmax.plain_torch_call(input, out, False)) is not None:
        return quick
    y: Tensor = _softmax.softmax(
        input, dim, dtype=dtype, temperature=temperature, where=where, lengths=lengths, out=out
    )
    return y


def log_softmax(
    input: Tensor,
    dim: int | tuple[int, ...] = -1,
    dtype: torch.dtype | None = None,
    *,
    temperature: float | Tensor | None = None,
    where: Tensor | None = None,
    lengths: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the log-probabilities of each row, as `torch.log_softmax` does.

    Parameters
    ----------
    input : Tensor, any shape
        Logits, on a CPU or an NVIDIA GPU.
    dim : int or tuple of int, default -1
        Dimensions that make up a row.
    dtype : torch.dtype, optional
        As in `softmax`.
    temperature, where, lengths : optional
        As in `oneread.softmax`.
    out : Tensor, optional
        Where to write; not with gradients.

    Returns
    -------
    Tensor
        Of the shape of `input`; `out` itself when it is given.

    Raises
    ------
    OneReadError
        What `oneread.log_softmax` raises.

    Notes
    -----
    Differentiable as `softmax` is.

    Examples
    --------
    >>> import torch, oneread.torch
    >>> print(f"{oneread.torch.log_softmax(torch.tensor([40.0, 0.0]))[0].item():.3e}")
    -4.248e-18
    """
    plain = dtype is temperature is where is lengths is None and type(dim) is int and dim == -1
    if dtype is None and torch.is_autocast_enabled("cuda"):
        dtype = _autocast(input)
    elif plain and (quick := _softmax.plain_torch_call(input, out, True)) is not None:
        return quick
    y: Tensor = _softmax.log_softmax(
        input, dim, dtype=dtype, temperature=temperature, where=where, lengths=lengths, out=out
    )
    return y


def logsumexp(
    input: Tensor,
    dim: int | tuple[int, ...] = -1,
    keepdim: bool = False,
    *,
    temperature: float | Tensor | None = None,
    where: Tensor | None = None,
    lengths: Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Return the logarithm of the sum of exponentials of each row, as `torch.logsumexp` does.

    Parameters
    ----------
    input : Tensor, any shape
        Logits, on a CPU or an NVIDIA GPU.
    dim : int or tuple of int, default -1
        Dimensions that make up a row.
    keepdim : bool, default False
        Keep them, with length 1.
    temperature, where, lengths : optional
        As in `oneread.softmax`.
    dtype : torch.dtype, optional
        Type of the result: that of `input` when None, as torch has it, which is coarse in 16
        bits; float32 under a GPU's autocast.

    Returns
    -------
    Tensor
        `input` without these dimensions.

    Raises
    ------
    OneReadError
        What `oneread.logsumexp` raises.

    Notes
    -----
    Differentiable as `softmax` is. Keeps the logits and lse in float32 or float64 for that, no
    probabilities; the gradient is one read and one write.

    Examples
    --------
    >>> import torch, oneread.torch
    >>> oneread.torch.logsumexp(torch.zeros(1, 8), dim=1).shape
    torch.Size([1])
    """
    plain = dtype is temperature is where is lengths is None and type(dim) is int and dim == -1
    if dtype is None and torch.is_autocast_enabled("cuda"):
        dtype = _autocast(input)
    elif plain and not keepdim and input.requires_grad:
        made = _short.read_rows(input)
        if made is not None:
            return made[0].to(input.dtype)
    if dtype is None and input.is_floating_point():
        dtype = input.dtype
    lse: Tensor = _logsumexp.logsumexp(
        input, dim, keepdims=keepdim, dtype=dtype, temperature=temperature, where=where,
        lengths=lengths,
    )  # fmt: skip
    return lse


def _autocast(input: Tensor) -> torch.dtype | None:
    """Return the type that autocast asks for: on a GPU these ops are float32."""
    half = input.is_cuda and input.dtype in (torch.float16, torch.bfloat16)
    return torch.float32 if half else None
