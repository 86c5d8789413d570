"""A client of an arena: it adds sockets, a clock and a terminal to a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from machine.client.client_protocol import Effect, PrintLine, ScheduleListing, Stop
from machine.client.connection import NodeConnection
from machine.client.nodes import CloseConnection, Connect, NodeRouter, SendTo
from machine.client.timeouts import ClientTimeouts
from machine.terminal import say


class ClientBase:
    """A client's connections to the nodes of an arena. The class sends messages, prints lines and stops the client;
    subclasses carry out effects of their own in `_perform_other`.
    """

    def __init__(self, nodes: NodeRouter, timeouts: ClientTimeouts, clock: Callable[[], float]) -> None:
        self._timeouts = timeouts
        self._clock = clock
        self._nodes = nodes
        self._first = self._connection_to(nodes.url)
        self._connections = {nodes.url: self._first}
        """The connections to nodes, by URL."""
        self._connection_tasks = asyncio.TaskGroup()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._exit_code: int | None = None

    async def play(self) -> int:
        """Connect, exchange messages and reconnect until the client stops. Return the exit code."""
        self._loop = asyncio.get_running_loop()
        try:
            async with self._connection_tasks:
                await self._first.run()
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
        assert self._exit_code is not None
        return self._exit_code

    def perform(self, effects: Sequence[Effect]) -> None:
        """Carry out effects of the conversation that follow from no message, such as messages to send."""
        self._run_step(lambda: [*effects])

    def _perform(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, SendTo):
                if effect.url in self._connections:
                    self._connections[effect.url].send(effect.message)
            elif isinstance(effect, Connect):
                connection = self._connections[effect.url] = self._connection_to(effect.url)
                if self._exit_code is None:
                    self._connection_tasks.create_task(connection.run())
            elif isinstance(effect, CloseConnection):
                self._connections.pop(effect.url).stop()
            elif isinstance(effect, PrintLine):
                say(effect.line, err=effect.is_error, flush=True)
            elif isinstance(effect, ScheduleListing):
                self._running_loop.call_later(effect.seconds, self._run_step, self._nodes.protocol.request_listing)
            elif isinstance(effect, Stop):
                self._exit_code = effect.code
                for connection in self._connections.values():
                    connection.stop()
            else:
                self._perform_other(effect)

    def _connection_to(self, url: str) -> NodeConnection:
        return NodeConnection(self._nodes.node_at(url), self._nodes, self._perform, self._timeouts, self._clock)

    def _run_step(self, step: Callable[[], list[Effect]]) -> None:
        self._perform(self._nodes.run_step(step))

    def _perform_other(self, effect: Effect) -> None:
        """Carry out an effect that concerns neither connections nor the terminal."""
        raise AssertionError(f"{effect} is nothing that this client does")

    @property
    def _running_loop(self) -> asyncio.AbstractEventLoop:
        assert self._loop is not None, "play() has begun"
        return self._loop
