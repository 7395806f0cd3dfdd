"""The process in which cases run on a GPU: an error that breaks the GPU's context ends it alone.

Knows the cases by name; writes records as lines of JSON to the descriptor that it is given.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import time
from typing import Any


def main(request: dict[str, Any], descriptor: int) -> None:
    """Run the cases of a request and write the records of each when it is done."""
    from functools import partial

    from oneread.bench.cases import table
    from oneread.bench.entrants import first_line
    from oneread.bench.gpu import traffic
    from oneread.bench.gpu.device import TorchGpu
    from oneread.bench.gpu.peers import load
    from oneread.bench.gpu.race import absent, race
    from oneread.bench.gpu.runner import NO_TIME
    from oneread.bench.gpu.timing import FULL, QUICK

    gpu, until, cases = TorchGpu(), request["until"], table(request["table"])
    peers = [load(name) for name in request["peers"]]
    effort = QUICK if request["quick"] else FULL
    jobs = partial(traffic.jobs, stream=gpu.stream, device=gpu.index)
    with os.fdopen(descriptor, "w", encoding="utf-8") as pipe:
        for name in request["cases"]:
            case, records = cases[name], []
            if until is not None and time.time() > until:
                records = [absent(case, NO_TIME, gpu.target)]
            elif request["only_compile"]:
                _compile(case, peers, gpu)
            else:
                try:
                    records = race(case, peers, gpu, effort, jobs)
                except Exception as error:
                    gpu.forget()  # raises where the context is broken, which ends this process
                    records = [absent(case, first_line(error), gpu.target)]
            pipe.write(json.dumps([record.as_json() for record in records]) + "\n")
            pipe.flush()


def _compile(case: Any, peers: list[Any], gpu: Any) -> None:
    """Call each contestant once, so that what it compiles is kept on disk."""
    from oneread.bench.gpu.race import enter
    from oneread.bench.gpu.sets import Sets
    from oneread.spec import OPS

    sets = Sets.of(case, gpu.where, OPS[case.op].row_output, count=1)
    for entrant in enter(case, peers, sets):
        if entrant.ready:
            # The race calls it again and tells what is wrong.
            with contextlib.suppress(Exception):
                entrant.ready.outputs()
    del sets
    gc.collect()
    gpu.forget()


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]), int(sys.argv[2]))
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)
