"""An arena that counts what a ply costs it, for tests/arena/test_ply_cost.py: `python counting_server.py uvloop`.

It announces its port, serves until a line comes, and prints what it counted, as a line of JSON.
"""

from __future__ import annotations

import asyncio
import gc
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
from arena.host.session import ClientSession
from arena.network import connection
from arena.network.connection import Connection
from arena.server.arena import Arena
from arena.server.auth import Authenticator, Registration
from arena.store.async_store import AsyncStore
from arena.store.store import Store
from machine import event_loop
from protocol.messages import Clock

MARK = "getppid"
"""The system call with which a ply begins here, for strace: nothing else asks for that."""
COUNTED = range(260, 460)
"""The plies to look at; the calls of the one after them are told by name."""
COLLECTED = COUNTED[::40]
"""Those at whose beginning Python lets go of all that is not in use, also of what it keeps to use it again."""
_MOST_PLIES = 1000
_LOOPS = ("asyncio", "selectors")
"""Packages that are event loops. What they call is not counted: it is the same under every loop then."""


class Counts:
    """What is called in the thread that calls `begin`, and the blocks of memory that are in use.

    A ply begins where its move has been read. What is counted is kept where it takes no block of memory.
    """

    def __init__(self) -> None:
        self._calls = self._c_calls = self._plies = 0
        self._totals = {what: array("q", bytes(8 * _MOST_PLIES)) for what in ("calls", "c_calls", "blocks")}
        self._tells_names = False
        self._called: list[str] = []
        self._c_called: list[str] = []

    def begin(self) -> None:
        sys.setprofile(self._count)

    def _count(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "call":
            if frame.f_code is Connection.data_received.__code__:
                self._begin_ply()
            if not _is_of_loop(frame):
                self._calls += 1
                if self._tells_names:
                    self._called.append(frame.f_code.co_qualname)
        elif event == "c_call" and not _is_of_loop(frame):
            self._c_calls += 1
            if self._tells_names:
                self._c_called.append(called.__qualname__)

    def _begin_ply(self) -> None:
        os.getppid()
        if self._plies in COLLECTED:
            gc.collect()
        self._tells_names = self._plies == COUNTED.stop
        if self._plies < _MOST_PLIES:
            self._totals["calls"][self._plies] = self._calls
            self._totals["c_calls"][self._plies] = self._c_calls
            self._totals["blocks"][self._plies] = sys.getallocatedblocks()
            self._plies += 1

    def told(self) -> dict[str, Any]:
        """All that there was until each ply began, and what was called in one of them, and how often."""
        totals = {what: counted[: self._plies].tolist() for what, counted in self._totals.items()}
        return {**totals, "called": {"calls": Counter(self._called), "c_calls": Counter(self._c_called)}}


def _is_of_loop(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] in _LOOPS


class CountingArena(Arena):
    """It counts from the first bot on."""

    counts: Counts

    def on_connected(self, session: ClientSession) -> None:
        super().on_connected(session)
        self.counts.begin()


async def serve(counts: Counts) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "arena.db")
        archive = AsyncStore(store)
        auth = Authenticator(archive, Registration())
        arena = CountingArena(archive, Journal(Path(folder) / "journal"), auth, Clock(bank_ms=60_000, increment_ms=500))
        arena.counts = counts
        print(await arena.host.listener.listen("127.0.0.1", 0), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        sys.setprofile(None)
        await arena.close()
        await archive.drain()
        store.close()


def main() -> None:
    connection.STALL_THRESHOLD_S = 60.0  # a move that waited on a busy machine costs further calls
    counts = Counts()
    run = event_loop.run if sys.argv[1] == "uvloop" else asyncio.run
    run(serve(counts))
    print(json.dumps(counts.told()))


if __name__ == "__main__":
    main()
