"""Restarts a server in place on SIGUSR2, with new code and settings. Its ports stay open during the restart."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Mapping, Sequence

from arena.network.binding import ARENA_SOCKET, PAGE_SOCKET
from machine.run_program import run_program
from machine.service_manager import InheritedSocket, replace_process
from machine.timeouts import timeout_factor
from protocol.errors import ArenaFault

CHECK_TIMEOUT_S = 30.0
"""Time limit in seconds for `arena config`, which checks the settings and the code before a restart, on a machine that
is not slow: `ARENA_TIMEOUT_FACTOR` multiplies it.
"""
_SERVE_COMMAND, _CHECK_COMMAND = "serve", "config"
"""The commands of `arena` that run a server (`_SERVE_COMMAND`) and that check its settings and code (`_CHECK_COMMAND`).
"""
_CHECK_OPTION = "--can-start"
"""The option of `_CHECK_COMMAND` by which it also checks the database, and what else a start needs."""

log = logging.getLogger("arena")


class Restart:
    """The restart of a server: checks that the new server would start, and replaces this process by it.

    The new server inherits the listening sockets. It gets the environment with which this server was started.
    """

    def __init__(self, environment: Mapping[str, str], arguments: Sequence[str] = sys.orig_argv) -> None:
        self._environment = dict(environment)
        self._arguments = list(arguments)
        self._checking = False
        self.is_wanted = False
        self._sockets: list[InheritedSocket] = []

    async def prepare(
        self, arena_sockets: Sequence[socket.socket], page_sockets: Sequence[socket.socket], stop: asyncio.Event
    ) -> None:
        """Check whether the new server would start. If so, keep the sockets for it and set `stop`; else log why not.

        Do nothing if `stop` was set during the check.
        """
        if self._checking or self.is_wanted:
            return
        self._checking = True
        try:
            complaint = await self._check_new_server()
        finally:
            self._checking = False
        if stop.is_set():
            return
        if complaint is not None:
            log.error("the server keeps running, because it could not restart: %s", complaint)
            return
        log.info("the server restarts")
        for name, sockets in ((ARENA_SOCKET, arena_sockets), (PAGE_SOCKET, page_sockets)):
            self._sockets += [InheritedSocket(name, one.dup()) for one in sockets]
        self.is_wanted = True
        stop.set()

    def cancel(self) -> None:
        """Cancel the restart, because the server was told to stop."""
        self.is_wanted = False
        for one in self._sockets:
            one.socket.close()
        self._sockets = []

    def perform(self) -> None:
        """Replace this process by the new server. If that fails, raise `ArenaFault`."""
        try:
            replace_process(sys.executable, self._arguments, self._environment, self._sockets)
        except OSError as exc:
            raise ArenaFault(f"the server can't be restarted: {exc.strerror}") from exc

    async def _check_new_server(self) -> str | None:
        """Return why the new server would not start, as `arena config` reports it; None if it would start."""
        if _SERVE_COMMAND not in self._arguments:
            return "it was not started by `arena serve`"
        words = list(self._arguments[1:])
        at = words.index(_SERVE_COMMAND)
        words[at : at + 1] = (_CHECK_COMMAND, _CHECK_OPTION)
        within_s = timeout_factor() * CHECK_TIMEOUT_S
        try:
            async with asyncio.timeout(within_s):
                end = await run_program(sys.executable, *words, env=self._environment)
        except TimeoutError:
            return f"`arena {_CHECK_COMMAND}` has not ended within {within_s:g} s"
        except OSError as exc:
            return f"{sys.executable} can't be run: {exc.strerror}"
        if end.code == 0:
            return None
        return end.last_error.removeprefix("arena: ") or f"`arena {_CHECK_COMMAND}` failed"
