"""Opponents of the bot under test: they seek what the bot seeks, and move when they are let."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import msgspec
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.typing import Subprotocol

from arena.doctor.websocket_proxy import Message, connection_to
from protocol.codec import MSGPACK
from protocol.messages import MAX_SLOTS


class Opponent:
    """A bot that plays the first legal move at the arena on a port. `happened` is called when something has.

    It has slots to spare: a match whose bot is gone is no matter to the next.
    """

    def __init__(self, name: str, token: str, port: int, happened: Callable[[], None]) -> None:
        self.name = name
        self.holds = False
        """Whether it keeps its turns to itself for now."""
        self.held: dict[str, Message] = {}
        """Those it keeps, by match."""
        self.matches: set[str] = set()
        """What it plays."""
        self.welcomed = asyncio.Event()
        self._token = token
        self._port = port
        self._happened = happened
        self._wire: ClientConnection | None = None
        self._playing = asyncio.create_task(self._play())

    async def seek(self, like: Message) -> None:
        """Seek what somebody else seeks, who may have named an opponent."""
        rated = bool(like.get("rated", True)) and "opponent" not in like
        await self._send(type="seek", id="house", game=like["game"], config=like.get("config", {}), rated=rated)

    async def unseek(self) -> None:
        """Take the seek back."""
        await self._send(type="unseek", id="house")

    async def go_on(self) -> None:
        """Move where it has kept a turn to itself, and at once from now on."""
        self.holds = False
        for match in list(self.held):
            await self._move(self.held.pop(match))

    async def resign(self) -> None:
        """Give up whatever it plays."""
        self.held.clear()
        for match in list(self.matches):
            await self._send(type="resign", match=match)

    async def close(self) -> None:
        """Leave."""
        self._playing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._playing

    async def _play(self) -> None:
        while True:
            with contextlib.suppress(OSError, ConnectionClosed, InvalidHandshake):
                async with connection_to(self._port, Subprotocol(MSGPACK.subprotocol)) as self._wire:
                    await self._send(type="hello", bot=self.name, token=self._token, slots=MAX_SLOTS)
                    while True:
                        await self._hear(msgspec.msgpack.decode(await self._wire.recv(decode=False)))
            self._wire = None
            await asyncio.sleep(0.1)

    async def _hear(self, message: Message) -> None:
        match message["type"]:
            case "welcome":
                self.welcomed.set()
            case "start":
                self.matches.add(message["match"])
                await self._send(type="ready", match=message["match"])
            case "turn" if self.holds:
                self.held[message["match"]] = message
            case "turn":
                await self._move(message)
            case "end":
                self.matches.discard(message["match"])
                self.held.pop(message["match"], None)
        self._happened()

    async def _move(self, turn: Message) -> None:
        await self._send(type="move", match=turn["match"], ply=turn["ply"], move=turn["legal"][0])

    async def _send(self, **message: object) -> None:
        if self._wire is not None:
            with contextlib.suppress(ConnectionClosed):
                await self._wire.send(msgspec.msgpack.encode(message))
