"""Fit the polynomials of exp that the CPU kernels use: e^r = 1 + r + r^2 q(r) on |r| <= ln 2 / 2.

Chebyshev interpolation of q in 60 digits for float64; for float32, where the last bit counts, the
relative error of e^r itself is made even by Lawson's reweighted least squares.
Prints the coefficients of q, highest power first, and the largest relative error of e^r.
Needs mpmath and NumPy. Run: python tools/fit_exp.py
"""

import numpy as np
from mpmath import cos, exp, factorial, log, matrix, mp, mpf, pi, qr_solve

HALF = log(2) / 2 * mpf("1.003")


def tail(r: mpf) -> mpf:
    """Return (e^r - 1 - r) / r^2 by its series, which does not cancel near 0."""
    return sum(r**i / factorial(i + 2) for i in range(40))


def interpolate(degree: int) -> list[float]:
    """Return q, highest power first, through the Chebyshev nodes."""
    n = degree - 1
    nodes = [HALF * cos(pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    powers = matrix([[r**j for j in range(n)] for r in nodes])
    solution, _ = qr_solve(powers, matrix([tail(r) for r in nodes]))
    return [float(c) for c in list(solution)[::-1]]


def reweight(degree: int) -> list[float]:
    """Return q, highest power first, with the relative error of e^r evened out."""
    r = float(HALF) * np.cos(np.linspace(0, np.pi, 2001))
    scale = r**2 / np.exp(r)
    wanted = np.array([float(tail(mpf(v))) for v in r])
    powers = np.stack([r**j for j in range(degree - 1)], 1)
    weight = np.ones_like(r)
    for _ in range(300):
        root = np.sqrt(weight) * scale
        q = np.linalg.lstsq(powers * root[:, None], wanted * root, rcond=None)[0]
        error = np.abs((powers @ q - wanted) * scale)
        weight *= error / error.max() + 1e-3
        weight /= weight.max()
    return [float(c) for c in q[::-1]]


def relative_error(q: list[float]) -> float:
    """Return the largest relative error of 1 + r + r^2 q(r)."""

    def error(r: mpf) -> mpf:
        total = mpf(0)
        for c in q:
            total = total * r + mpf(c)
        return abs((1 + r + r * r * total) / exp(r) - 1)

    return float(max(error(HALF * (2 * mpf(i) / 2000 - 1)) for i in range(2001)))


if __name__ == "__main__":
    mp.dps = 60
    for name, q in (("float32", reweight(6)), ("float64", interpolate(11))):
        print(name, "relative error", relative_error(q))
        for c in q:
            print(f"  {c!r}")
