"""Reports each `choose` that takes long, with the line of the author's code that it has reached."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

from bots.client.worker_threads import Choose, RunningWork, format_place
from bots.mistakes import is_library


class SlowChoiceReporter:
    """Reports each `choose` that takes long: first after `first_notice_delay_s`, then whenever its time has doubled."""

    def __init__(self, first_notice_delay_s: float = 5.0) -> None:
        self._first_notice_delay_s = first_notice_delay_s
        self._due: dict[RunningWork, float] = {}
        """The time of the next report on each piece of work, in seconds after the work began."""

    def report(self, running_work: list[RunningWork], now: float) -> list[str]:
        """Return a line for each `choose` in progress whose next report is due at the time `now`. Leave out calls that
        run no code of the author.
        """
        self._due = {one: self._due.get(one, self._first_notice_delay_s) for one in running_work}
        told = []
        for one in running_work:
            if isinstance(one.work, Choose) and now - one.began >= self._due[one]:
                self._due[one] = 2 * (now - one.began)
                place = _find_own_line(one.thread)
                if place is not None:
                    left = max(0.0, one.work.turn.time_left)
                    told.append(f"choose is still running{format_place(one.work.turn)}, {place}; {left:.0f} s left")
        return told


def _find_own_line(thread: int) -> str | None:
    """Return the line that a thread has reached in code that belongs to no library: `mine.py line 5`."""
    frame: FrameType | None = sys._current_frames().get(thread)
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_library(file):
            return f"{Path(file).name} line {frame.f_lineno}"
        frame = frame.f_back
    return None
