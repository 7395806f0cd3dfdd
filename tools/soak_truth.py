"""What PyTorch makes of rows in float64, and how far from it a result may be.

Knows nothing of what is soaked.
"""

from __future__ import annotations

from typing import Any

import torch

from oneread.testing.ulps import FORMATS

#: What the truth itself, computed in float64, may be off by where the result is a float64.
OWN_ULP = 8
PART = 128  # numbers that are added at once for it


def far(
    got: torch.Tensor, truth: torch.Tensor, ulps: Any, least: Any = 0.0, room: Any = 0.0
) -> torch.Tensor:
    """Say which numbers are further from the truth than so many units in the last place.

    A unit is taken at the truth, or at `least` where that is larger; `room` is added to them.
    """
    dtype = str(got.dtype).removeprefix("torch.")
    own = FORMATS[dtype]
    size = torch.maximum(truth.abs(), torch.as_tensor(least, dtype=truth.dtype, device=got.device))
    _, exponent = torch.frexp(size.clamp_min(own.tiny))
    unit = torch.exp2((exponent - 1 - own.digits).double())
    value = got.double()
    near = (value - truth).abs() <= (ulps + OWN_ULP * (dtype == "float64")) * unit + room
    tiny = FORMATS["float32"].tiny if dtype == "float16" else own.tiny
    flushed = (value == 0) & (truth.abs() < tiny)  # results below the normal range may be 0
    same = (value == truth) | (value.isnan() & truth.isnan())
    return ~(near | flushed | same)


def probabilities(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return probabilities and their logarithms, the small ones of which keep their digits."""
    at = x.argmax(-1, keepdim=True)
    below = x - x.gather(-1, at)
    rest = summed(below.exp().scatter_(-1, at, 0.0))[..., None]
    return below.exp() / (1 + rest), below - rest.log1p()


def summed(x: torch.Tensor) -> torch.Tensor:
    """Sum rows part by part: in one go PyTorch adds hundreds of numbers one after the other."""
    while x.shape[-1] > PART:
        padded = torch.nn.functional.pad(x, (0, -x.shape[-1] % PART))
        x = padded.view(*x.shape[:-1], -1, PART).sum(-1)
    return x.sum(-1)


def computed(x: torch.Tensor) -> torch.Tensor:
    """Return rows in the type that is computed in."""
    return x if x.dtype == torch.float64 else x.float()


def room_of(plain: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """Return twice what the formula loses in the type that is computed in, as `oneread.testing`.

    A likely column's log-probability is minus the sum of the others' exponentials, and each of them
    feels the rounding of x - m: half a unit of 8 is 8 units of the result.
    """
    return 2 * (plain.double() - truth).abs().nan_to_num(0.0, 0.0, 0.0)


def lost(x: torch.Tensor) -> float:
    """Return what a sum of powers may lack: each below the normal range of float32 is 0."""
    return 0.0 if x.dtype == torch.float64 else x.shape[-1] * FORMATS["float32"].tiny
