"""Where a `choose` is that takes its time: the author's own line, seen from another thread."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

from bots.client.worker_threads import Choose, UnderWay, on
from bots.mistakes import is_library


class StillRunning:
    """Tells the author which choices take long: at first after `first_notice_delay_s`, later after twice as long."""

    def __init__(self, first_notice_delay_s: float = 5.0) -> None:
        self._first_notice_delay_s = first_notice_delay_s
        self._due: dict[UnderWay, float] = {}
        """After how many seconds there is something to say again."""

    def look(self, under_way: list[UnderWay], now: float) -> list[str]:
        """The lines for the author at `now` (`time.monotonic()`): of code that is not its own nothing is said."""
        self._due = {one: self._due.get(one, self._first_notice_delay_s) for one in under_way}
        told = []
        for one in under_way:
            if isinstance(one.work, Choose) and now - one.began >= self._due[one]:
                self._due[one] = 2 * (now - one.began)
                place = _place_in(one.thread)
                if place is not None:
                    left = max(0.0, one.work.turn.time_left)
                    told.append(f"choose is still running{on(one.work.turn)}, {place}; {left:.0f} s left")
        return told


def _place_in(thread: int) -> str | None:
    """`mine.py line 5`: where a thread is in code that is neither this library's nor another's."""
    frame: FrameType | None = sys._current_frames().get(thread)
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_library(file):
            return f"{Path(file).name} line {frame.f_lineno}"
        frame = frame.f_back
    return None
