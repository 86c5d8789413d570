"""An agent's connection to the arena, and the waiting for what comes over it."""

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
"""Seconds for the arena to take the last message; a client of the Model Context Protocol waits two."""


class Session(Link):
    """The arena as one agent has it. `play` keeps the connection; whoever decides something has it done by `do`."""

    def __init__(self, name: str, settings: Settings, token: str) -> None:
        self.talk = AgentTalk(name, token, settings.url, os.urandom(16).hex())
        self.trouble = f"{name}: connecting to {settings.url}"
        """The last that was said about the connection, or about the match."""
        self._news = asyncio.Event()
        super().__init__(name, settings, self.talk, scaled(ClientTimeouts()), time.monotonic)

    @property
    def refused(self) -> bool:
        """Whether the arena does not let it in, now or later."""
        return self._code is not None

    @property
    def tried(self) -> bool:
        """Whether there is a connection with all that goes on, or an attempt failed, which `trouble` then says."""
        here = self.talk.connected and not self.talk.awaited
        return here or self.refused or self._first.down_since is not None

    def do(self, effects: Sequence[Effect]) -> None:
        """Do what came of a decision."""
        self._take(lambda: [*effects])

    async def until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Wait until something is so, at most so many seconds; whether it is."""
        try:
            async with asyncio.timeout(seconds):
                while not done():
                    await self._news.wait()
        except TimeoutError:
            return done()
        return True

    async def keep(self) -> None:
        """Keep the connection until `leave`, or until the arena refuses it, which `trouble` then says."""
        try:
            await self.play()
        except Fault as fault:
            self.do([Say(str(fault), trouble=True), Stop(1)])

    async def leave(self, keeping: asyncio.Task[None]) -> None:
        """Give the match under way up, if there is one, and end the connection."""
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
