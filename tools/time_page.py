"""Time the page: the main thread's work for each frame while three kernels play.

`python tools/time_page.py` starts a server and Debian's Chromium and plays the first view: 1,000
moves at 16 times, then at 4 times and at speed. It prints percentiles of a frame's work and the
longest task, in ms of the thread's own clock. About 80 s; needs playwright.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

#: Speed, and how long it is played, in seconds: three moves a second at speed 1.
PLAYED = ((16, 21.0), (4, 18.0), (1, 18.0))

#: The first view comes to its end after some 300 moves: so long is played at a time, in seconds.
PIECE = 6.0


@dataclass
class Work:
    """What the main thread did, in ms of its own clock: frame by frame, task by task."""

    frames: list[float] = field(default_factory=list)
    tasks: list[float] = field(default_factory=list)

    def add(self, trace: bytes) -> None:
        """Take in a trace of the browser.

        A frame is all that the thread does until the next one begins: scripts, layout, paint,
        timers. The first and the last of a trace are cut, and left out.
        """
        events = json.loads(trace)["traceEvents"]
        calls = Counter((e["pid"], e["tid"]) for e in events if e["name"] == "FunctionCall")
        (main, _), *_ = calls.most_common(1)
        own = [e for e in events if (e["pid"], e["tid"]) == main]
        begun = sorted(e["ts"] for e in own if (e["name"], e["ph"]) == ("AnimationFrame", "b"))
        spent = [0.0] * (len(begun) + 1)
        for task in own:
            if task["name"] != "ThreadControllerImpl::RunTask":
                continue
            took = task.get("tdur", 0) / 1000
            self.tasks.append(took)
            spent[bisect_right(begun, task["ts"] + task.get("dur", 0))] += took
        self.frames += spent[1:-1]


def percentile(values: list[float], part: float) -> float:
    """Return the value below which a part of the values lies."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def play(browser: Any, page: Any, speed: int, seconds: float) -> Work:
    """Play from the beginning, and again until the time is over."""
    page.get_by_label("Speed").select_option(str(speed))
    page.locator("h1").click()  # keys are the page's again
    work = Work()
    while seconds > 0:
        page.keyboard.press("Home")
        browser.start_tracing(page=page, categories=["toplevel", "devtools.timeline"])
        page.keyboard.press(" ")
        page.wait_for_timeout(1000 * min(seconds, PIECE))
        page.keyboard.press("Home")
        work.add(browser.stop_tracing())
        seconds -= PIECE
    return work


def main() -> None:
    """Play at each speed and print what it took."""
    from shoot_page import chromium, opened

    with chromium() as (browser, address):
        print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
        page = opened(browser, address, 1440, 900, "light", 1)
        page.emulate_media(reduced_motion="no-preference")
        for speed, seconds in PLAYED:
            work = play(browser, page, speed, seconds)
            half, most, worst = (percentile(work.frames, part) for part in (0.5, 0.95, 1))
            print(
                f"{speed:2}x: {len(work.frames):4} frames, {half:.1f} ms, p95 {most:.1f} ms, "
                f"longest {worst:.1f} ms; longest task {max(work.tasks):.1f} ms",
                flush=True,
            )
        print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
