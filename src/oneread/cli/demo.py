"""`oneread demo`: real logits read once, checked, timed; three kernels traced: a screenful."""

import dataclasses
import json
import textwrap
from typing import Annotated, Any

import typer

from oneread.cli import _peers
from oneread.cli._console import FAILURE, fail, say, size_text, styled

HELP = """Read real logits, check the results, time them.

The logits are those of a smoothed bigram model over the sources of Python's own standard
library: nothing is downloaded. Results are checked against float64 and the time is
compared with that of NumPy and, where installed, SciPy and PyTorch. At the end three CUDA
kernels of the gallery are traced, one with its race, which a probe shrinks. Takes well
under a minute on two cores.
"""

#: Contexts that make good examples, where the draw has them.
_EXAMPLES = ("import", "self", "return", "def", "None", "path", "(")
_ROUNDS = 5

#: Kernels of the gallery that are traced, and the tile: two warps a block, so that they can race.
_TRACED = ("safe_softmax_tiled", "online_softmax_tiled_racy", "online_softmax_lane")
_TILE = 64

#: Most memory that a thread of ours works in (docs/semantics.md).
_SCRATCH_BYTES = 1 << 20


def demo(
    rows: Annotated[int, typer.Option(min=3, help="Contexts to read.")] = 512,
    vocab: Annotated[
        int | None, typer.Option(min=_peers.TOP_K + 1, help="Keep the most frequent tokens only.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run the main job and tell what came out."""
    from oneread.testing import stdlib_bigram

    bigram = stdlib_bigram(rows, vocab)
    story = tell(bigram)
    if as_json:
        say(json.dumps(story))
    else:
        _show(story)
    if story["accuracy"]["fault"] is not None:
        raise fail(story["accuracy"]["fault"], FAILURE)


def tell(bigram: Any) -> dict[str, Any]:
    """Read, check and time the logits, and return what is to be said."""
    from oneread.cli.main import version
    from oneread.ops.read import read
    from oneread.runtime.cpu import last_kernel

    x, following = bigram.logits, bigram.next_token

    def job() -> Any:
        return read(x, top_k=_peers.TOP_K, select=following, rank=True, entropy=True)

    result = job()
    ran = last_kernel()
    assert ran is not None
    own_bytes = sum(a.nbytes for a in result if a is not None) + ran.threads * _SCRATCH_BYTES
    accuracy = _accuracy(x, following, result)
    times = _times(x, following, job, own_bytes)
    return {
        "version": version(),
        "rows": x.shape[0],
        "vocab": x.shape[1],
        "dtype": x.dtype.name,
        "input_bytes": x.nbytes,
        "read_s": times[0]["read_s"],
        "examples": _examples(bigram, result),
        "accuracy": accuracy,
        "rounds": _ROUNDS,
        "times": times,
        "kernel": dataclasses.asdict(ran),
        "traced": traced(),
    }


def traced() -> list[dict[str, Any]]:
    """Count what kernels of the gallery do, as the tracer sees it; probe those that race."""
    from oneread.trace import Case, run_kernel

    case = Case(defines={"TILE": str(_TILE)})
    runs = [run_kernel(key, case) for key in _TRACED]
    return [
        {
            "kernel": run.kernel,
            "reads": run.counts.buffers["x"].loads.max,
            "writes": run.counts.buffers["y"].stores.max,
            "barriers": run.counts.barriers,
            "error": run.result[0].max_abs,
            "races": [str(fault) for fault in run.having("race-warps")],
            "probe": _probed(run.kernel) if run.having("race-warps") else None,
        }
        for run in runs
    ]


def _probed(key: str) -> dict[str, Any]:
    """Return how many launches a probe makes of a kernel, and the smallest that races."""
    from oneread.trace import Subject, probe

    found = probe(Subject.of_gallery(key))
    commands = [one.command for one in found.findings if one.fault.id == "race-warps"]
    return {"launches": found.tried, "smallest": commands[0]}


def _examples(bigram: Any, result: Any) -> list[dict[str, Any]]:
    """Return three rows with readable tokens."""
    first = {context: row for row, context in reversed(list(enumerate(bigram.contexts)))}
    chosen = [first[context] for context in _EXAMPLES if context in first]
    chosen += [row for row in range(len(bigram.contexts)) if row not in chosen]
    return [
        {
            "row": row,
            "after": bigram.contexts[row],
            "next": bigram.tokens[bigram.next_token[row]],
            "logprob": float(result.selected[row]),
            "rank": int(result.rank[row]),
            "entropy": float(result.entropy[row]),
            "top": [bigram.tokens[column] for column in result.indices[row]],
        }
        for row in chosen[:3]
    ]


def _accuracy(x: Any, following: Any, result: Any) -> dict[str, Any]:
    """Compare with the float64 reference, in units in the last place of float32."""
    import numpy as np

    from oneread import reference, testing

    asked = {"top_k": _peers.TOP_K, "select": following, "rank": True, "entropy": True}
    truth = reference.read(x, **asked)
    # lse = m + log d can cancel, so its unit is that of the larger of lse and m.
    size = np.maximum(np.maximum(np.abs(truth.lse), np.abs(truth.max)), 1)
    furthest = {"lse": float(np.max(np.abs(result.lse - truth.lse) / testing.ulp(size, "float32")))}
    for name in ("logprobs", "selected", "entropy"):
        furthest[name] = testing.max_ulp_error(getattr(result, name), getattr(truth, name))
    try:
        testing.assert_close_to_truth(result, x, "read", **asked)
        fault = None
    except AssertionError as error:
        fault = str(error).partition("\n")[0]
    exact = ("indices", "rank")
    return {
        "ulp": furthest,
        "equal": {
            name: bool((getattr(result, name) == getattr(truth, name)).all()) for name in exact
        },
        "fault": fault,
    }


def _times(x: Any, following: Any, job: Any, own_bytes: int) -> list[dict[str, Any]]:
    """Time both jobs in every library, interleaved; oneread is the first row."""
    from oneread.cli.main import version
    from oneread.ops.softmax import softmax

    ours = _peers.Peer("oneread", version(), job, lambda: softmax(x), False, own_bytes / x.nbytes)
    everyone = [ours, *_peers.peers(x, following)]
    reads = _peers.quartiles({peer.name: peer.read for peer in everyone}, _ROUNDS)
    alone = _peers.quartiles({peer.name: peer.softmax for peer in everyone}, _ROUNDS)
    return [
        {
            "name": peer.name,
            "version": peer.version,
            "one_thread": peer.one_thread,
            "read_s": reads[peer.name][1],
            "read_quartiles_s": reads[peer.name],
            "read_ratio": reads[peer.name][1] / reads["oneread"][1],
            "extra_bytes": round(peer.copies * x.nbytes),
            "softmax_s": alone[peer.name][1],
            "softmax_quartiles_s": alone[peer.name],
            "softmax_ratio": alone[peer.name][1] / alone["oneread"][1],
        }
        for peer in everyone
    ]


def _show(story: dict[str, Any]) -> None:
    """Print the story in a screenful: at most 28 lines of 80 columns."""
    size, ms = size_text(story["input_bytes"]), story["read_s"] * 1e3
    rate = story["input_bytes"] / story["read_s"] / 1e9
    say(styled(f"oneread {story['version']}: read the logits once, get everything", "bold"))
    shape = f"{story['rows']} rows x {story['vocab']:,} tokens"
    say(f"{shape}, {story['dtype']}, {size}: a bigram model")
    say("of the sources of Python's standard library, made on this machine.")
    say(f"One read gave lse, top {_peers.TOP_K}, log-prob and rank of the true next token, and")
    say(f"entropy of every row in {ms:.1f} ms ({rate:.1f} GB/s).")
    say()
    _show_examples(story["examples"])
    say()
    accuracy = story["accuracy"]
    equal = "equal" if all(accuracy["equal"].values()) else "NOT equal"
    say("Against float64, furthest in units in the last place of float32:")
    furthest = ", ".join(f"{name} {value:.2g}" for name, value in accuracy["ulp"].items())
    say(f"  {furthest}; columns and ranks {equal}")
    say()
    _show_times(story["times"])
    kernel = story["kernel"]
    threads = f"{kernel['threads']} thread{'s' * (kernel['threads'] != 1)}"
    alone = " and ".join(row["name"] for row in story["times"] if row["one_thread"])
    run = "run" if " and " in alone else "runs"
    say(f"Ran {kernel['name']} on {kernel['isa']} with {threads}; {alone} {run} on 1.")
    say()
    _show_traced(story["traced"])


def _show_examples(examples: list[dict[str, Any]]) -> None:
    head = (
        f"{'after':<8} {'next':<10} {'log-prob':>8} {'rank from 0':>11} {'entropy':>7}  likeliest"
    )
    say(styled(head, "bold"))
    for row in examples:
        top = " ".join(_short(token, 10) for token in row["top"])
        place = f"{_short(row['after'], 8):<8} {_short(row['next'], 10):<10}"
        say(f"{place} {row['logprob']:>8.3f} {row['rank']:>11} {row['entropy']:>7.3f}  {top}"[:80])


def _show_traced(kernels: list[dict[str, Any]]) -> None:
    head = f"{f'traced, no GPU, TILE={_TILE}':<26}{'reads':>6}{'writes':>7}{'barriers':>9}  error"
    say(styled(head, "bold"))
    for one in kernels:
        race = "  races" if one["races"] else ""
        say(
            f"{one['kernel']:<26}{one['reads']:>6}{one['writes']:>7}{one['barriers']:>9}  "
            f"{one['error']:.1g}{styled(race, 'red')}"
        )
    for one in kernels:
        if one["probe"] is not None:
            found = f"{one['races'][0]}; smallest of {one['probe']['launches']} launches with it:"
            say(textwrap.fill(found, 78, initial_indent="  ", subsequent_indent="  "))
            say(f"  {one['probe']['smallest']}")


def _show_times(times: list[dict[str, Any]]) -> None:
    memory = f"{'extra memory (counted)':>24}"
    head = f"{f'median of {_ROUNDS}':<18}{'this read':>12}{memory}{'softmax':>11}"
    say(styled(head, "bold"))
    for row in times:
        name = f"{row['name']} {row['version'].partition('+')[0]}"
        say(
            f"{name[:17]:<18}{row['read_s'] * 1e3:>9.1f} ms {_verdict(row['read_ratio'])} "
            f"{size_text(row['extra_bytes']):>9}{row['softmax_s'] * 1e3:>8.1f} ms "
            f"{_verdict(row['softmax_ratio'])}".rstrip()
        )


def _verdict(ratio: float) -> str:
    """Say how a time compares with oneread's own."""
    if ratio == 1:
        return " " * 13
    times, word = (ratio, "slower") if ratio >= 1 else (1 / ratio, "faster")
    text = f"{times:,.0f}x {word}" if times >= 100 else f"{times:.1f}x {word}"
    return styled(f"{text:>13}", "green" if ratio >= 1 else "red")


def _short(token: str, width: int) -> str:
    return token if len(token) <= width else token[: width - 2] + ".."
