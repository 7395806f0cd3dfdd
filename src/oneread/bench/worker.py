"""The process in which cases run: started with the variables and processors that they need.

Knows the cases by name; writes records as lines of JSON to the descriptor that it is given.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from typing import Any


def main(request: dict[str, Any], descriptor: int) -> None:
    """Run the cases of a request and write the records of each when it is done."""
    _restrict(request["threads"])
    from oneread.bench.cases import table
    from oneread.bench.peers import load
    from oneread.bench.race import race
    from oneread.bench.timing import FULL, QUICK

    cases = table(request["table"])
    peers = [load(name) for name in request["peers"]]
    effort = QUICK if request["quick"] else FULL
    with os.fdopen(descriptor, "w", encoding="utf-8") as pipe:
        for name in request["cases"]:
            records = race(cases[name], peers, request["threads"], effort)
            pipe.write(json.dumps([record.as_json() for record in records]) + "\n")
            pipe.flush()
            gc.collect()  # sessions and arrays of hundreds of megabytes


def _restrict(threads: int) -> None:
    """Leave this process no more processors than threads: some libraries only ask for those."""
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[:threads])


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]), int(sys.argv[2]))
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)
