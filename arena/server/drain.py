"""Draining the server: no new match starts, and the server stops when the matches in progress are over."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from arena.host.client_registry import ClientRegistry
from arena.host.session import ClientSession
from arena.server.warnings import Warnings
from protocol.error_codes import UNAVAILABLE
from protocol.errors import ArenaFault
from protocol.messages import Error

DRAINING_MESSAGE = "the arena is about to stop: no match begins any more; seeks wait, and end with this connection"
"""The message to bots when the arena starts to drain, or when they connect while it drains."""
DRAINING_REASON = "draining: no new match begins, and the server stops when the matches under way are over"
"""The reason why a draining arena is not ready, in health checks and warnings."""
DRAIN_CANCELLED_MESSAGE = "the arena goes on after all: matches begin again"
"""The message to bots when the arena stops draining."""


class Drain:
    """The draining state of a server. While it drains, no match starts. `on_drained` is called when all matches are
    over, or after a timeout.

    Bots get a message when draining begins, when it is undone, and when they connect in between.
    """

    def __init__(self, clients: ClientRegistry, warnings: Warnings) -> None:
        self.on_drained: Callable[[], None] = lambda: None
        self._clients = clients
        self._warnings = warnings
        self._drain_task: asyncio.Task[None] | None = None

    @property
    def is_draining(self) -> bool:
        """True while no match may start."""
        return self._drain_task is not None

    @property
    def reason(self) -> str | None:
        """The reason why no match may start; None if matches may start."""
        return DRAINING_REASON if self.is_draining else None

    def check(self) -> None:
        """Raise `ArenaFault` if no match may start at the moment, because the server drains."""
        if self.is_draining:
            raise ArenaFault("the server is stopping, and starts no new matches")

    def begin(self, timeout_s: float | None) -> None:
        """Start draining. `on_drained` is called when all matches are over, or after `timeout_s` seconds; None means no
        limit. A further call replaces the timeout.
        """
        if self._drain_task is None:
            self._broadcast(DRAINING_MESSAGE)
        else:
            self._drain_task.cancel()
        self._drain_task = asyncio.create_task(self._wait(timeout_s))
        self._warnings.update("drain", DRAINING_REASON)

    def undo(self) -> bool:
        """Cancel draining. Return whether the server was draining."""
        if self._drain_task is None:
            return False
        self._drain_task.cancel()
        self._drain_task = None
        self._warnings.update("drain", None)
        self._broadcast(DRAIN_CANCELLED_MESSAGE)
        return True

    def notify(self, session: ClientSession) -> None:
        """If the server drains, send the draining message to a bot that has just connected, after its `welcome`."""
        if self.is_draining:
            asyncio.get_running_loop().call_soon(session.send, Error(code=UNAVAILABLE, message=DRAINING_MESSAGE))

    def close(self) -> None:
        """Stop waiting for the end of the matches."""
        if self._drain_task is not None:
            self._drain_task.cancel()

    async def _wait(self, within: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._clients.wait_until_idle()
        self.on_drained()

    def _broadcast(self, text: str) -> None:
        for session in list(self._clients.sessions.values()):
            session.send(Error(code=UNAVAILABLE, message=text))
