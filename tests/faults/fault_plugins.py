"""Plugins of pytest for `scripts/faults`: one notes which lines each test runs, one runs chosen tests alone.

They are handed to pytest by `worker.py` and import nothing of the tree that is tested, which may be another version.
"""

from __future__ import annotations

import base64
import json
import resource
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest


def spent() -> float:
    """Return the processor seconds of this process, of ended children, and of programs that were forked for it."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    zygote = sys.modules.get("zygote")  # tests/zygote.py, where the tree has it
    forked: float = zygote.cpu_seconds() if zygote else 0.0
    return time.process_time() + children.ru_utime + children.ru_stime + forked


def packed(seen: bytes | bytearray) -> str:
    return base64.b64encode(zlib.compress(bytes(seen), 1)).decode()


class LineMap:
    """Write a line of JSON to a file for each test, and for each fixture that several tests share."""

    def __init__(self, recorder: Any, out: Path, shared: Any, without: str, done: Sequence[str]) -> None:
        self.recorder = recorder
        recorder.alone = True
        self.out = out.open("a")
        self.shared = shared
        self.without, self.done = without, set(done)
        self.number = 1 + sum(1 for _ in out.open())
        self.fixtures: dict[Any, int] = {}
        self.outcome = ""

    def _tell(self, **what: Any) -> None:
        self.out.write(json.dumps(what) + "\n")
        self.out.flush()

    def _begin(self, number: int) -> bytearray:
        seen = bytearray(self.recorder.lines)
        self.recorder.test[0] = number
        self.recorder.record_into(seen)
        return seen

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [
            item
            for item in items
            if item.nodeid not in self.done and not (self.without and self.without in item.nodeid)
        ]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        number, self.number = self.number, self.number + 1
        self.outcome = "passed"
        self._tell(number=number, begun=item.nodeid)
        seen = self._begin(number)
        self.shared[0] = number
        cpu, clock = spent(), time.monotonic()
        try:
            return (yield)
        finally:
            info = getattr(item, "_fixtureinfo", None)
            definitions = [one for some in info.name2fixturedefs.values() for one in some] if info else []
            self._tell(
                number=number,
                test=item.nodeid,
                outcome=self.outcome,
                cpu=round(spent() - cpu, 4),
                wall=round(time.monotonic() - clock, 3),
                using=sorted({self.fixtures[one] for one in definitions if one in self.fixtures}),
                seen=packed(seen),
            )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[object]:
        if fixturedef.scope == "function":
            return (yield)
        number, self.number = self.number, self.number + 1
        outer, before = self.recorder.seen, self.recorder.test[0]
        seen = self._begin(number)
        try:
            return (yield)
        finally:
            self.fixtures[fixturedef] = number
            self._tell(number=number, fixture=fixturedef.argname, seen=packed(seen))
            self.recorder.test[0] = before
            self.recorder.record_into(outer)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.outcome = "failed"
        elif report.skipped and self.outcome == "passed":
            self.outcome = "skipped"

    def pytest_unconfigure(self) -> None:
        self.recorder.test[0] = 0


class ChosenTests:
    """Run these tests alone, in this order; write to `shared` which one runs, and to a file the first that is red."""

    def __init__(self, tests: Sequence[str], shared: Any, red: Path) -> None:
        self.rank = {test: rank for rank, test in enumerate(tests)}
        self.shared, self.red = shared, red
        self.said = False

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if item.nodeid in self.rank]
        first: dict[Path, int] = {}
        for item in chosen:
            first[item.path] = min(first.get(item.path, len(self.rank)), self.rank[item.nodeid])
        items[:] = sorted(chosen, key=lambda item: (first[item.path], self.rank[item.nodeid]))
        self.shared[1] = len(self.rank) - len(chosen)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.shared[0] = self.rank[nodeid] + 1

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._note(test=report.nodeid, when=report.when, says=_crash(report.longrepr))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._note(test=report.nodeid, when="collect", says=str(report.longrepr)[-300:])

    def _note(self, **what: object) -> None:
        if not self.said:
            self.said = True
            self.red.write_text(json.dumps(what))


def _crash(longrepr: Any) -> str:
    crash: Mapping[str, Any] | None = getattr(longrepr, "reprcrash", None)
    return (str(getattr(crash, "message", "")) or str(longrepr)[-300:])[:300]
