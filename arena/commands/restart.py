"""A server that starts anew as the same process, on SIGUSR2: with new code and new settings, and its ports listening
all the time, so that nobody who connects meanwhile is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping, Sequence

from arena.network.binding import ARENA, PAGE
from machine.service_manager import Handed, run_instead
from protocol.errors import ArenaFault

CHECK_WITHIN = 30.0
"""Seconds in which settings and code have to be found right."""
_SERVE, _CHECK = "serve", "config"

log = logging.getLogger("arena")


class Restart:
    """Whether the server starts anew when it has stopped, and what it hands over to itself then: by its environment as
    it was at the start.
    """

    def __init__(self, environment: Mapping[str, str], arguments: Sequence[str] = sys.orig_argv) -> None:
        self._environment = dict(environment)
        self._arguments = list(arguments)
        self._checking = False
        self.wanted = False
        self._sockets: list[Handed] = []

    async def prepare(self, arena: Sequence[socket.socket], page: Sequence[socket.socket], stop: asyncio.Event) -> None:
        """Have the server stop, if it would start: keep what it listens on, and set `stop`, unless that is set by then.
        Else say what is wrong.
        """
        if self._checking or self.wanted:
            return
        self._checking = True
        try:
            complaint = await self._complaint()
        finally:
            self._checking = False
        if stop.is_set():
            return
        if complaint is not None:
            log.error("the server goes on as it is, for it would not start anew: %s", complaint)
            return
        log.info("the server starts anew")
        for name, sockets in ((ARENA, arena), (PAGE, page)):
            self._sockets += [Handed(name, one.dup()) for one in sockets]
        self.wanted = True
        stop.set()

    def forget(self) -> None:
        """Start nothing anew: the server was told to stop meanwhile."""
        self.wanted = False
        for one in self._sockets:
            one.socket.close()
        self._sockets = []

    def perform(self) -> None:
        """Start anew. It returns only by raising `ArenaFault`."""
        try:
            run_instead(sys.executable, self._arguments, self._environment, self._sockets)
        except OSError as exc:
            raise ArenaFault(f"the server can't be started anew: {exc.strerror}") from exc

    async def _complaint(self) -> str | None:
        """Why the new server would not start, as far as its code and its settings tell; None if it would."""
        if _SERVE not in self._arguments:
            return "it was not started by `arena serve`"
        words = list(self._arguments[1:])
        words[words.index(_SERVE)] = _CHECK
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *words, env=self._environment, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE
            )
        except OSError as exc:
            return f"{sys.executable} can't be run: {exc.strerror}"
        try:
            async with asyncio.timeout(CHECK_WITHIN):
                _, said = await process.communicate()
        except TimeoutError:
            return f"`arena {_CHECK}` has not ended within {CHECK_WITHIN:g} s"
        finally:  # also where the server is told to stop meanwhile
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode == 0:
            return None
        lines = said.decode(errors="replace").strip().splitlines()
        return lines[-1].removeprefix("arena: ") if lines else f"`arena {_CHECK}` failed"
