"""Draining: no new match starts, and the server stops when the matches in progress are over."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from arena.host.client_registry import ClientRegistry
from arena.host.session import Session
from arena.server.warnings import Warnings
from protocol.error_codes import UNAVAILABLE
from protocol.errors import ArenaFault
from protocol.messages import Error

NO_MORE = "the arena is about to stop: no match begins any more; seeks wait, and end with this connection"
ENDING = "no match begins any more: the server stops when those under way are over"
AGAIN = "the arena goes on after all: matches begin again"


class Drain:
    """The draining state, which can be undone. `stop` is called at the end. Bots are told, also when they connect."""

    def __init__(self, clients: ClientRegistry, warnings: Warnings) -> None:
        self.stop: Callable[[], None] = lambda: None
        self._clients = clients
        self._warnings = warnings
        self._waiting: asyncio.Task[None] | None = None

    @property
    def on(self) -> bool:
        """True while no match may start."""
        return self._waiting is not None

    @property
    def reason(self) -> str | None:
        """A line that says why no match may start, or None."""
        return ENDING if self.on else None

    def check(self) -> None:
        """Raise `ArenaFault` if no match may start."""
        if self.on:
            raise ArenaFault("the server is about to stop, and begins no match any more")

    def begin(self, within: float | None) -> None:
        """Start draining; stop when all matches are over or after `within` seconds. Calling again resets the limit."""
        if self._waiting is None:
            self._tell(NO_MORE)
        else:
            self._waiting.cancel()
        self._waiting = asyncio.create_task(self._wait(within))
        self._warnings.tell("drain", ENDING)

    def undo(self) -> bool:
        """Cancel draining. Return whether it was on."""
        if self._waiting is None:
            return False
        self._waiting.cancel()
        self._waiting = None
        self._warnings.tell("drain", None)
        self._tell(AGAIN)
        return True

    def came(self, session: Session) -> None:
        """Notify a bot that has just connected, after its welcome."""
        if self.on:
            asyncio.get_running_loop().call_soon(session.send, Error(code=UNAVAILABLE, message=NO_MORE))

    def close(self) -> None:
        """Stop waiting for the matches."""
        if self._waiting is not None:
            self._waiting.cancel()

    async def _wait(self, within: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._clients.matches_over()
        self.stop()

    def _tell(self, text: str) -> None:
        for session in list(self._clients.sessions.values()):
            session.send(Error(code=UNAVAILABLE, message=text))
