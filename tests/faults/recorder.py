"""Record which of the watched lines of the product a process runs, under the number of the test that is running.

A copy of this file lies in the site-packages of the environment that `scripts/faults` makes for each copy of the tree,
where a .pth file imports it at the start of every process. Hence programs are seen that tests start with whatever
environment, and processes that these fork. It needs `sys.monitoring`, so Python 3.12, and loads only what `site` has
loaded already, or little more. Only the watched lines call it again and again; every other line and function calls it
once in a process, or never.

Beside the file lie `recorder.json` (where the tree is, and the index of each watched line of a file) and, while lines
are recorded, the folder `recorded`. In it the file `test` holds the number of the running test. A process marks the
lines that it runs during test N in a file `N-...`, which has a byte for each watched line. Both files are mapped into
memory, so that nothing is lost when a process is killed.
"""

from __future__ import annotations

import mmap
import os
import sys
from types import CodeType
from typing import Any

TOOL = 4
"""The number by which this tool is known to `sys.monitoring`; coverage has 1, hypothesis 3."""
HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "recorded")
SHARED_BYTES = 4096

monitoring: Any = getattr(sys, "monitoring", None)


class Recorder:
    """Mark in `seen`, which has a byte for each watched line, the lines that this process runs."""

    def __init__(self) -> None:
        import json

        with open(os.path.join(HERE, "recorder.json")) as file:
            plan = json.load(file)
        self.watched: dict[str, dict[int, int]] = {
            os.path.join(plan["root"], name): {int(line): index for line, index in lines.items()}
            for name, lines in plan["watched"].items()
        }
        self.lines = sum(map(len, self.watched.values()))
        with open(os.path.join(FOLDER, "test"), "r+b") as shared:
            self.test = memoryview(mmap.mmap(shared.fileno(), SHARED_BYTES)).cast("Q")
        self.alone = False
        """Whether the plugin of pytest in this process says where the lines go and when a test begins."""
        self.number = 0
        self.seen: Any = bytearray(self.lines)
        self._opened = 0

    def start(self) -> None:
        monitoring.use_tool_id(TOOL, "faults")
        monitoring.register_callback(TOOL, monitoring.events.PY_START, self._on_start)
        monitoring.register_callback(TOOL, monitoring.events.LINE, self._on_line)
        monitoring.set_events(TOOL, monitoring.events.PY_START)
        os.register_at_fork(after_in_child=self.follow)

    def follow(self) -> None:
        """Record from now on under the number that all processes share."""
        self.alone = False
        self._take_up(self.test[0])

    def record_into(self, seen: Any) -> None:
        """Mark the lines that run from now on in `seen`."""
        self.seen = seen

    def _take_up(self, number: int) -> None:
        self.number = number
        self._opened += 1
        path = os.path.join(FOLDER, f"{number}-{os.getpid()}-{self._opened}")
        try:
            with open(path, "x+b") as file:
                os.ftruncate(file.fileno(), self.lines)
                self.record_into(mmap.mmap(file.fileno(), self.lines))
        except OSError:  # what it has no right or no room to write is not recorded
            self.record_into(bytearray(self.lines))

    def _on_start(self, code: CodeType, _offset: int) -> Any:
        watched = self.watched.get(code.co_filename)
        if watched and any(line in watched for _, _, line in code.co_lines()):
            monitoring.set_local_events(TOOL, code, monitoring.events.LINE)
        return monitoring.DISABLE

    def _on_line(self, code: CodeType, line: int) -> Any:
        index = self.watched[code.co_filename].get(line)
        if index is None:
            return monitoring.DISABLE
        if not self.alone and self.number != self.test[0]:
            self._take_up(self.test[0])
        self.seen[index] = 1
        return None


recorder: Recorder | None = None


def start() -> Recorder | None:
    """Begin to record if the folder exists to which records are written."""
    global recorder
    if recorder is None and monitoring is not None and os.path.exists(os.path.join(FOLDER, "test")):
        recorder = Recorder()
        recorder.start()
        recorder.follow()
    return recorder


start()
