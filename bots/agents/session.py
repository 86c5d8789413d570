"""An agent's connection to the arena, and ways to wait for what arrives over it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence

from bots.agents.talk import AgentTalk
from bots.client.nodes import Directed
from bots.client.run import Link
from bots.client.settings import Settings
from bots.client.talk import Effect, Say, Stop
from bots.client.timeouts import ClientTimeouts
from machine.timeouts import scaled
from protocol.errors import Fault

LEAVE_WITHIN = 1.5
"""Seconds for the arena to take the last message. A client of the Model Context Protocol waits for two."""


class Session(Link):
    """One agent's link to the arena. `play` keeps the connection; `do` carries out decisions."""

    def __init__(self, name: str, settings: Settings, token: str) -> None:
        self.talk = AgentTalk(name, token, settings.url, os.urandom(16).hex())
        self.trouble = f"{name}: connecting to {settings.url}"
        """The last message about the connection or the match."""
        self._news = asyncio.Event()
        super().__init__(name, settings, self.talk, scaled(ClientTimeouts()), time.monotonic)

    @property
    def refused(self) -> bool:
        """True if the arena refuses the agent for good."""
        return self._code is not None

    @property
    def tried(self) -> bool:
        """True once all matches under way are known, or an attempt to connect failed, which `trouble` then explains."""
        here = self.talk.connected and not self.talk.awaited
        return here or self.refused or self._first.down_since is not None

    def do(self, effects: Sequence[Effect]) -> None:
        """Perform the effects of a decision."""
        self._take(lambda: [*effects])

    async def until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Wait until `done` holds, at most `seconds`. Return whether it holds."""
        try:
            async with asyncio.timeout(seconds):
                while not done():
                    await self._news.wait()
        except TimeoutError:
            return done()
        return True

    async def keep(self) -> None:
        """Keep the connection until `leave`, or until the arena refuses it, which `trouble` then explains."""
        try:
            await self.play()
        except Fault as fault:
            self.do([Say(str(fault), trouble=True), Stop(1)])

    async def leave(self, keeping: asyncio.Task[None]) -> None:
        """Resign the match under way, if there is one, and close the connection."""
        if self.talk.connected:
            self.do([*self.talk.resign(), Stop(0)])
            await asyncio.wait([keeping], timeout=LEAVE_WITHIN)
        keeping.cancel()
        await asyncio.wait([keeping])

    def _perform(self, effects: Sequence[Directed]) -> None:
        for effect in effects:
            if isinstance(effect, Say):
                self.trouble = effect.line
        super()._perform(effects)
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _do(self, effect: Directed) -> None:
        raise AssertionError(f"{effect} is nothing that an agent has to do")
