"""An agent's connection to the arena, and ways to wait for what arrives over it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence

from bots.agents.talk import AgentProtocol
from bots.client.settings import Settings
from machine.client.client import ClientBase
from machine.client.client_protocol import Effect, PrintLine, Stop
from machine.client.nodes import NodeRouter
from machine.client.timeouts import ClientTimeouts
from machine.timeouts import scale_timeouts
from protocol.errors import Fault

CLOSE_TIMEOUT_S = 1.5
"""Seconds to wait until the last message is sent and the connection closed. A client of the Model Context Protocol
waits two seconds for the server to end."""


class AgentSession(ClientBase):
    """An agent's session at the arena. `keep_connection` keeps it connected; `perform` carries out its decisions."""

    def __init__(self, name: str, settings: Settings, token: str) -> None:
        self.protocol = AgentProtocol(name, token, settings.url, os.urandom(16).hex(), settings.patience)
        self.status = f"{name}: connecting to {settings.url}"
        """The last message about the connection or the match."""
        self._changed = asyncio.Event()
        nodes = NodeRouter(self.protocol, single_node=settings.single_node, hosts=settings.hosts)
        super().__init__(nodes, scale_timeouts(ClientTimeouts()), time.monotonic)

    @property
    def is_refused(self) -> bool:
        """True if the arena refuses the agent for good."""
        return self._exit_code is not None

    @property
    def is_settled(self) -> bool:
        """True once all matches in progress are known, or once connecting has failed, for the reason in `status`."""
        here = self.protocol.connected and not self.protocol.awaited
        return here or self.is_refused or self._first.down_since is not None

    async def wait_until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until `condition` holds, for at most `timeout_s` seconds. Return whether it holds."""
        try:
            async with asyncio.timeout(timeout_s):
                while not condition():
                    await self._changed.wait()
        except TimeoutError:
            return condition()
        return True

    async def keep_connection(self) -> None:
        """Keep the connection until `close`, or until the arena refuses it. In that case, `status` says why."""
        try:
            await self.play()
        except Fault as fault:
            self.perform([PrintLine(str(fault), is_error=True), Stop(1)])

    async def close(self, keeping: asyncio.Task[None]) -> None:
        """Resign a match in progress and close the connection. `keeping` is the task that runs `keep_connection`."""
        if self.protocol.connected:
            self.perform([*self.protocol.resign(), Stop(0)])
            await asyncio.wait([keeping], timeout=CLOSE_TIMEOUT_S)
        keeping.cancel()
        await asyncio.wait([keeping])

    def _perform(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, PrintLine):
                self.status = effect.line
        super()._perform(effects)
        news, self._changed = self._changed, asyncio.Event()
        news.set()
