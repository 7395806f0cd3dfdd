"""Time the layers of `oneread.related` beside the whole softmax that each stands in for.

Each is checked against its definition first. Writes one JSONL file, a header and a record a
layer, from which tools/related_docs.py makes its table. Weights are random, with gates and spectra
as trained models have them; about two minutes and 2 GB.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import oneread
from oneread.bench import runner
from oneread.bench.timing import FULL, contest
from oneread.related import (
    AdaptiveSoftmax,
    Cluster,
    SVDSoftmax,
    sampled_cross_entropy,
)

Record = dict[str, Any]


def normal(rng: Any, *shape: int) -> Any:
    """Return float32 numbers of a standard normal distribution."""
    return rng.standard_normal(shape, dtype=np.float32)


def timed(layer: str, shape: str, says: Record, jobs: dict[str, Any]) -> Record:
    """Return a record of one layer: what was found, and times of `ours` and `whole`."""
    times = {name: asdict(each) for name, each in contest(jobs, FULL).items()}
    return {"record": "layer", "layer": layer, "shape": shape, **says, "times": times}


def adaptive(rng: Any) -> Record:
    """Time the top 10 of the clusters of a word model: 20,000 frequent tokens of 267,735."""
    hidden_size, cutoffs, rows, k = 512, (20_000, 40_000, 200_000, 267_735), 32, 10
    clusters = []
    for i in range(3):
        width, size = hidden_size // 4 ** (i + 1), cutoffs[i + 1] - cutoffs[i]
        clusters.append(Cluster(normal(rng, width, hidden_size) / hidden_size**0.5,
                                3 * normal(rng, size, width) / width**0.5))  # fmt: skip
    head = 3 * normal(rng, cutoffs[0] + 3, hidden_size) / hidden_size**0.5
    hidden = normal(rng, rows, hidden_size)
    # Gates of 15, 5 and 1 %, whatever the shortlist scores.
    whole = oneread.logsumexp(hidden @ head[: cutoffs[0]].T).mean()
    bias = np.zeros(len(head), np.float32)
    head[-3:] /= 3
    bias[-3:] = whole + np.log([0.15, 0.05, 0.01])
    layer = AdaptiveSoftmax(head, clusters, bias)

    def all_clusters() -> Any:
        return oneread.top_k(layer.log_softmax(hidden), k)

    got, truth = layer.top_k(hidden, k), all_clusters()
    if not np.allclose(got.logprobs, truth.values, rtol=1e-5, atol=0):
        raise SystemExit("the top-k of the adaptive softmax is wrong")
    says = {"clusters_opened": float(got.opened.mean()), "clusters": len(clusters)}
    jobs = {"ours": lambda: layer.top_k(hidden, k), "whole": all_clusters}
    return timed("AdaptiveSoftmax", f"{rows} rows, 267,735 tokens, k = {k}", says, jobs)


def svd(rng: Any) -> Record:
    """Time the top 10 by a preview of 128 of 1,024 dimensions, 1,024 tokens made exact."""
    vocab, size, width, refined, rows, k = 32_000, 1024, 128, 1024, 1, 10
    spectrum = np.arange(1, size + 1, dtype=np.float32) ** -0.6
    weight, hidden = normal(rng, vocab, size) * spectrum, 2 * normal(rng, rows, size)
    layer = SVDSoftmax(weight, width=width)

    def whole() -> Any:
        return oneread.read(hidden @ weight.T, top_k=k)

    got, truth = layer.top_k(hidden, k, refined=refined), whole()
    exact = SVDSoftmax(weight, width=size).top_k(hidden, k, refined=k)
    if not np.allclose(exact.logprobs, truth.logprobs, rtol=1e-4, atol=0):
        raise SystemExit("SVD-softmax in all dimensions is not the whole softmax")
    recall = [len(set(a) & set(b)) / k for a, b in zip(got.indices, truth.indices, strict=True)]
    says = {"recall": float(np.mean(recall)), "lse_error": float(np.abs(got.lse - truth.lse).max())}
    jobs = {"ours": lambda: layer.top_k(hidden, k, refined=refined), "whole": whole}
    shape = f"{rows} row, {vocab:,} tokens, {width} of {size:,} dimensions, {refined:,} refined"
    return timed("SVDSoftmax", shape, says, jobs)


def sampled(rng: Any) -> Record:
    """Time the loss of 64 rows over 8,192 of 128,256 tokens, drawn by frequency."""
    vocab, size, rows, samples = 128_256, 512, 64, 8192
    weight, hidden = normal(rng, vocab, size) / size**0.5, 2 * normal(rng, rows, size)
    q = 1 / np.arange(10, vocab + 10)
    q /= q.sum()
    target, drawn = rng.choice(vocab, rows, p=q), rng.choice(vocab, samples, p=q)
    expected = np.log(samples * q[drawn])

    def whole() -> Any:
        return -oneread.read(hidden @ weight.T, select=target).selected

    def ours() -> Any:
        return sampled_cross_entropy(hidden, weight, target, drawn, expected)

    every = sampled_cross_entropy(hidden, weight, target, np.arange(vocab), np.zeros(vocab))
    if not np.allclose(every, whole(), rtol=1e-5, atol=0):
        raise SystemExit("the sampled softmax of all tokens is not the whole softmax")
    says = {"loss_difference": float((ours() - whole()).mean())}
    shape = f"{rows} rows, {samples:,} samples of {vocab:,} tokens"
    return timed("sampled_cross_entropy", shape, says, {"ours": ours, "whole": whole})


def records() -> Iterator[Record]:
    """Measure and return the records of a run."""
    checkout = runner.checkout()
    request = runner.Request((), threads=oneread.get_threads())
    header = runner.header(request, "python tools/run_related.py", checkout)
    yield {"record": "header", "schema": 1, **header}
    for seed, layer in enumerate((adaptive, svd, sampled)):
        yield layer(np.random.default_rng(seed))


def main() -> None:
    """Measure, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the JSONL file to write")
    path = parser.parse_args().out
    lines = []
    for record in records():
        lines.append(json.dumps(record))
        print(lines[-1], flush=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
