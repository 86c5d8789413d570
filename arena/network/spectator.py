"""A client of an arena that watches only: it says hello without a name, asks, and reads what it is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI
from websockets.typing import Subprotocol

from protocol.close_codes import RESTARTING
from protocol.codec import MSGPACK
from protocol.display import printable
from protocol.errors import ArenaFault, UsageFault
from protocol.messages import MAX_SERVER_FRAME, Error, FromClient, FromServer, Hello

OPEN_WITHIN = 10.0


class Spectator:
    """A connection that was welcomed."""

    def __init__(self, wire: ClientConnection, url: str) -> None:
        self._wire = wire
        self._url = url

    async def ask(self, message: FromClient) -> None:
        """Send a message. Raises `ArenaFault` where the connection is lost."""
        try:
            await self._wire.send(MSGPACK.encode(message))
        except ConnectionClosed as exc:
            raise self._lost() from exc

    async def hear(self) -> FromServer:
        """The next message. Raises `ArenaFault` where the connection is lost, or what came is not understood."""
        while True:
            try:
                message = MSGPACK.decode_server(await self._wire.recv())
            except ConnectionClosed as exc:
                raise self._lost() from exc
            if message is not None:
                return message

    def _lost(self) -> ArenaFault:
        code = self._wire.close_code
        why = "was stopped, or starts anew" if code == RESTARTING else f"ended the connection ({code})"
        return ArenaFault(f"the arena at {self._url} {why}")


@asynccontextmanager
async def spectating(url: str) -> AsyncIterator[Spectator]:
    """A connection to the arena at a URL. Raises `UsageFault` for what is no URL, `ArenaFault` where there is none."""
    try:
        wire = await connect(
            url,
            subprotocols=[Subprotocol(MSGPACK.subprotocol)],
            compression=None,
            max_size=MAX_SERVER_FRAME,
            open_timeout=OPEN_WITHIN,
        )
    except InvalidURI as exc:
        raise UsageFault(f"{url!r} is no URL of an arena: it is like wss://arena.example.org:8765") from exc
    except (OSError, InvalidHandshake, TimeoutError, ValueError, EOFError) as exc:
        raise ArenaFault(f"no arena answers at {url}: {printable(str(exc)) or 'it takes too long'}") from exc
    async with wire:
        spectator = Spectator(wire, url)
        await spectator.ask(Hello(client="arena watch"))
        answer = await spectator.hear()
        if isinstance(answer, Error):
            raise ArenaFault(f"the arena at {url} says: {printable(answer.message)}")
        yield spectator
