"""An arena that counts what a ply costs it, for tests/arena/test_ply_cost.py: `python counting_server.py uvloop`.

It announces its port, serves until a line comes, and prints what it counted, as a line of JSON. A ply begins where its
move has been read. There it asks for its parent's id, for strace: nothing else asks for that.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from array import array
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from arena.host.journal import Journal
from arena.host.session import Session
from arena.network.connection import Connection
from arena.server.arena import Arena
from arena.server.auth import Authenticator, Registration
from arena.store.async_store import AsyncStore
from arena.store.store import Store
from machine import event_loop
from protocol.messages import Clock

MARK = "getppid"
"""The system call with which a ply begins."""
SHOWN = 460
"""The ply whose calls are told by name."""
_MOST_PLIES = 1000
_LOOP = ("asyncio", "selectors")
"""Packages whose calls are not counted: so it is the same under every loop."""


class Counts:
    """What was done since `begin` in the thread that called it."""

    def __init__(self) -> None:
        self._calls = self._c_calls = self._plies = 0
        self._rows = array("q", bytes(8 * 3 * _MOST_PLIES))
        self._called: list[str] = []
        self._c_called: list[str] = []

    def begin(self) -> None:
        sys.setprofile(self._count)

    def _count(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "call":
            if frame.f_code is Connection.data_received.__code__:
                self._note()
            if _counts(frame):
                self._calls += 1
                if self._plies == SHOWN:
                    self._called.append(frame.f_code.co_qualname)
        elif event == "c_call" and _counts(frame):
            self._c_calls += 1
            if self._plies == SHOWN:
                self._c_called.append(called.__qualname__)

    def _note(self) -> None:
        """A ply begins."""
        os.getppid()
        if self._plies < _MOST_PLIES:
            at = 3 * self._plies
            self._rows[at], self._rows[at + 1] = self._calls, self._c_calls
            self._rows[at + 2] = sys.getallocatedblocks()
            self._plies += 1

    def told(self) -> dict[str, Any]:
        """Totals where each ply began, and how often what was called in one of them."""
        rows = self._rows[: 3 * self._plies].tolist()
        totals = {"calls": rows[::3], "c_calls": rows[1::3], "blocks": rows[2::3]}
        return {**totals, "called": {"calls": Counter(self._called), "c_calls": Counter(self._c_called)}}


def _counts(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] not in _LOOP


class CountingArena(Arena):
    """It counts from the first bot on."""

    counts: Counts

    def connected(self, session: Session) -> None:
        super().connected(session)
        self.counts.begin()


async def serve(counts: Counts) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "arena.db")
        archive = AsyncStore(store)
        auth = Authenticator(archive, Registration())
        arena = CountingArena(archive, Journal(Path(folder) / "journal"), auth, Clock(bank_ms=60_000, increment_ms=500))
        arena.counts = counts
        print(await arena.host.listener.open("127.0.0.1", 0), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        sys.setprofile(None)
        await arena.close()
        await archive.drain()
        store.close()


def main() -> None:
    counts = Counts()
    if sys.argv[1] == "asyncio":
        asyncio.run(serve(counts))
    else:
        event_loop.run(serve(counts))
    print(json.dumps(counts.told()))


if __name__ == "__main__":
    main()
