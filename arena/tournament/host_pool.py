"""The hosts of one process, in an event loop beside it: kept for the next matches, closed when there are none."""

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
from arena.tournament.host import TournamentHost
from arena.tournament.job import Aborted, MatchJob, MatchReport
from machine import event_loop
from machine.subprocesses import keep_private
from protocol.errors import ArenaFault

IDLE = 60.0
"""Seconds after which a cluster's host where nothing is played is closed, and its bots end: the command may be gone."""

T = TypeVar("T")

log = logging.getLogger("arena.tournament")


class TournamentHostPool:
    """The hosts of a process, in an event loop in a thread of its own."""

    def __init__(self) -> None:
        keep_private()
        event_loop.collect_rarely()
        self._loop = event_loop.new()
        self._open: dict[TournamentHost, tuple[str, contextlib.ExitStack]] = {}
        """The hosts, with the run that each is for, and what gives up the folder where it writes."""
        self._free: list[TournamentHost] = []
        """Those where nothing is played."""
        self._closing: set[asyncio.Task[None]] = set()
        threading.Thread(target=self._loop.run_forever, name="hosts", daemon=True).start()
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._terminate)

    @contextlib.contextmanager
    def host(self, job: MatchJob) -> Iterator[Callable[[Pairing], MatchReport | Aborted]]:
        """What plays a match on a host that is nobody else's. Raises `ArenaFault`."""
        host = self._run(self._take(job))
        try:
            yield lambda match: self._run(host.play(match))
        finally:
            self._run(self._put_back(job, host))

    def leave(self, key: str | None = None) -> None:
        """Close the hosts of a run, or all, whatever is played there."""
        self._run(self._leave(key))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _take(self, job: MatchJob) -> TournamentHost:
        for host in self._free:
            if self._open[host][0] == job.key:
                self._free.remove(host)
                return host
        with contextlib.ExitStack() as held:
            folder = held.enter_context(_free_folder(job.logs) if job.sources is None else _temporary_folder())
            host = TournamentHost(job, folder)
            self._open[host] = job.key, held.pop_all()
        try:
            await host.open()
        except BaseException:
            await self._close(host)
            raise
        return host

    async def _put_back(self, job: MatchJob, host: TournamentHost) -> None:
        """Keep a host for the next matches, unless it is of no use any more."""
        if not host.usable:
            await self._close(host)
            return
        self._free.append(host)
        if job.sources is not None:
            self._loop.call_later(IDLE, self._close_idle, host, host.played)

    def _close_idle(self, host: TournamentHost, played: int) -> None:
        """Close a host where there was no match since so many."""
        if host.played == played and host in self._free:
            task = self._loop.create_task(self._close(host))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _leave(self, key: str | None) -> None:
        await asyncio.gather(*(self._close(host) for host, (run, _) in list(self._open.items()) if key in (None, run)))

    async def _close(self, host: TournamentHost) -> None:
        """Close a host, once."""
        _, folder = self._open.pop(host, (None, None))
        if folder is None:
            return
        if host in self._free:
            self._free.remove(host)
        for fault in await host.close():
            log.error("a host did not close as it should: %s", fault)
        folder.close()

    def _terminate(self, number: int, frame: object) -> NoReturn:
        """Let bots end by themselves, and the process after them."""
        with contextlib.suppress(BaseException):
            self.leave()
        os._exit(128 + number)


@contextlib.contextmanager
def _free_folder(logs: Path) -> Iterator[Path]:
    """`logs`, or the first of the folders 2, 3, … in it that no other host has. Raises `ArenaFault`."""
    for number in count(1):
        folder = logs if number == 1 else logs / str(number)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(folder, os.O_RDONLY)
        except OSError as exc:
            raise ArenaFault(f"the folder of logs {folder} can't be made: {exc.strerror}") from exc
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
    """A folder that goes with its host. Raises `ArenaFault`."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="arena-", ignore_cleanup_errors=True)
    except OSError as exc:
        raise ArenaFault(f"no folder for logs can be made in {tempfile.gettempdir()}: {exc.strerror}") from exc
    with folder as path:
        yield Path(path)


@cache
def host_pool() -> TournamentHostPool:
    """That of this process."""
    return TournamentHostPool()
