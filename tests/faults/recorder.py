"""Record which lines of the product a process runs, under the number of the test that is running.

A copy of this file lies in the site-packages of the environment that `scripts/faults` makes for each copy of the tree,
where a .pth file imports it at the start of every process. Hence programs are seen that tests start with whatever
environment, and processes that these fork. It needs `sys.monitoring`, so Python 3.12, and loads only what `site` has
loaded already, or little more.

Beside the file lie `recorder.json` (where the tree is, which numbers the lines of its files have, how many lines there
are) and, while lines are recorded, the folder `recorded`. In it the file `test` holds the number of the running test. A
process marks the lines that it runs during test N in a file `N-...`, which has a byte for each line. Both files are
mapped into memory, so that nothing is lost when a process is killed.
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
    """What a process records: `seen` has a byte for each line of the product."""

    def __init__(self) -> None:
        import json

        with open(os.path.join(HERE, "recorder.json")) as file:
            plan = json.load(file)
        self.bases: dict[str, int] = {os.path.join(plan["root"], name): base for name, base in plan["bases"].items()}
        self.lines: int = plan["lines"]
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
        """Record by what the shared number says, from now on."""
        self.alone = False
        self._take_up(self.test[0])

    def record_into(self, seen: Any) -> None:
        """Have every line told anew, into `seen`."""
        self.seen = seen
        monitoring.restart_events()

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
        if code.co_filename not in self.bases:
            return monitoring.DISABLE
        if not monitoring.get_local_events(TOOL, code):
            monitoring.set_local_events(TOOL, code, monitoring.events.LINE)
        if self.alone:
            return monitoring.DISABLE
        if self.number != self.test[0]:
            self._take_up(self.test[0])
        return None

    def _on_line(self, code: CodeType, line: int) -> Any:
        base = self.bases.get(code.co_filename)
        if base is not None:
            self.seen[base + line] = 1
        return monitoring.DISABLE


recorder: Recorder | None = None


def start() -> Recorder | None:
    """Begin to record, where the folder is there that it is written to."""
    global recorder
    if recorder is None and monitoring is not None and os.path.exists(os.path.join(FOLDER, "test")):
        recorder = Recorder()
        recorder.start()
        recorder.follow()
    return recorder


start()
