"""The hosts of a worker process, which are kept for the next matches of a run."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from arena.ratings.tournament_pairing import Pairing
from arena.runs.job import Aborted, MatchJob, MatchReport
from arena.runs.match_host import TournamentHost
from machine import event_loop
from machine.subprocesses import keep_private
from protocol.errors import ArenaFault, os_errors_as

IDLE_TIMEOUT_S = 60.0
"""Seconds without a match after which a host on a cluster is closed, because the command may be gone."""

T = TypeVar("T")

log = logging.getLogger("arena.tournament")


class TournamentHostPool:
    """The hosts of a process, on an event loop in its own thread."""

    def __init__(self) -> None:
        keep_private()
        event_loop.relax_gc()
        self._loop = event_loop.new_event_loop()
        self._open: dict[TournamentHost, tuple[str, contextlib.ExitStack]] = {}
        """The hosts that are open. The values are the key of the run that a host serves, and the exit stack that
        unlocks the host's folder.
        """
        self._free: list[TournamentHost] = []
        """The hosts that no caller has reserved."""
        self._closing = event_loop.BackgroundTasks()
        threading.Thread(target=self._loop.run_forever, name="hosts", daemon=True).start()
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._on_sigterm)

    @contextlib.contextmanager
    def reserve_host(self, job: MatchJob) -> Iterator[Callable[[Pairing], MatchReport | Aborted]]:
        """Yield a function that plays a match on a host, which is reserved for the caller."""
        host = self._run(self._acquire(job))
        try:
            yield lambda match: self._run(host.play(match))
        finally:
            self._run(self._release(job, host))

    def close_run(self, key: str | None = None) -> None:
        """Close the hosts of a tournament's run, or all hosts if `key` is None, even during a match."""
        self._run(self._close_run(key))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _acquire(self, job: MatchJob) -> TournamentHost:
        for host in self._free:
            if self._open[host][0] == job.key:
                self._free.remove(host)
                return host
        with contextlib.ExitStack() as held:
            folder = held.enter_context(_lock_log_folder(job.logs) if job.sources is None else _temporary_folder())
            host = TournamentHost(job, folder)
            self._open[host] = job.key, held.pop_all()
        try:
            await host.open()
        except BaseException:
            await self._close(host)
            raise
        return host

    async def _release(self, job: MatchJob, host: TournamentHost) -> None:
        if not host.is_usable:
            await self._close(host)
            return
        self._free.append(host)
        if job.sources is not None:
            self._loop.call_later(IDLE_TIMEOUT_S, self._close_idle, host, host.matches_played)

    def _close_idle(self, host: TournamentHost, played: int) -> None:
        """Close a host if it is free and has played no match since this call was scheduled, when it had played `played`
        matches.
        """
        if host.matches_played == played and host in self._free:
            self._closing.start(self._close(host))

    async def _close_run(self, key: str | None) -> None:
        await asyncio.gather(*(self._close(host) for host, (run, _) in list(self._open.items()) if key in (None, run)))

    async def _close(self, host: TournamentHost) -> None:
        _, folder = self._open.pop(host, (None, None))
        if folder is None:
            return
        if host in self._free:
            self._free.remove(host)
        for fault in await host.close():
            log.error("a host did not close as it should: %s", fault)
        folder.close()

    def _on_sigterm(self, number: int, frame: object) -> NoReturn:
        with contextlib.suppress(BaseException):
            self.close_run()
        os._exit(128 + number)


@contextlib.contextmanager
def _lock_log_folder(logs: Path) -> Iterator[Path]:
    """Lock and yield `logs` or, if another host has locked it, the first of its subfolders 2, 3, … that is free."""
    for number in count(1):
        folder = logs if number == 1 else logs / str(number)
        with os_errors_as(ArenaFault, f"the folder of logs {folder} can't be made"):
            folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(folder, os.O_RDONLY)
        with contextlib.ExitStack() as held:
            held.callback(os.close, lock)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield folder
            return


@contextlib.contextmanager
def _temporary_folder() -> Iterator[Path]:
    with os_errors_as(ArenaFault, "no folder for logs can be made"):
        folder = tempfile.TemporaryDirectory(prefix="arena-", ignore_cleanup_errors=True)
    with folder as path:
        yield Path(path)


@cache
def host_pool() -> TournamentHostPool:
    """Return this process's hosts for tournament matches, which are made at the first call."""
    return TournamentHostPool()
