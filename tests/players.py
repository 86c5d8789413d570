"""A client of the wire protocol that does what a test tells it, when it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from machine import event_loop
from timeouts import WITHIN

Map = dict[str, Any]


class Player:
    """A bot that makes a move when the test says so. `heard` has every message that came."""

    def __init__(self, name: str, socket: ClientConnection) -> None:
        self.name = name
        self.heard: list[Map] = []
        self._socket = socket

    async def send(self, kind: str, **fields: Any) -> None:
        await self._socket.send(json.dumps({"type": kind, **fields}))

    async def expect(self, *kinds: str, within: float | None = WITHIN) -> Map:
        """The next message of one of these types."""
        async with asyncio.timeout(within):
            while True:
                message: Map = json.loads(await self._socket.recv())
                self.heard.append(message)
                if message["type"] in kinds:
                    return message

    async def seek(self, game: str = "nim", **fields: Any) -> None:
        """Look for a match."""
        await self.send("seek", id=str(len(self.heard)), game=game, **fields)

    async def begin(self) -> Map:
        """The `start` of the match that was sought, with `ready` said."""
        start = await self.expect("start")
        await self.send("ready", match=start["match"])
        return start

    async def move(self, turn: Map, move: Map | None = None, **fields: Any) -> None:
        """Answer a turn; without a move, by the first that is legal."""
        await self.send("move", match=turn["match"], ply=turn["ply"], move=move or turn["legal"][0], **fields)

    async def play(self, choose: Callable[[Map], Map] | None = None) -> Map:
        """Answer every turn of one's own until the match ends; the `end`."""
        while (message := await self.expect("turn", "end"))["type"] == "turn":
            if "legal" in message:
                await self.move(message, choose and choose(message))
        return message

    async def play_through(self) -> None:
        """Play the match that was sought from its start to its end."""
        await self.begin()
        await self.play()


def token_of(name: str) -> str:
    """The token of who is connected under a name."""
    return f"{name:*>16}"


@asynccontextmanager
async def player(url: str, name: str, **hello: Any) -> AsyncIterator[Player]:
    """A player who is connected under a name, with a token made from it unless `hello` has another."""
    async with connect(url, subprotocols=[Subprotocol("arena.v1.json")], compression=None) as socket:
        player = Player(name, socket)
        await player.send("hello", bot=name, **{"token": token_of(name), **hello})
        await player.expect("welcome")
        yield player


async def meet(first: Player, second: Player) -> Map:
    """Begin a match of Nim between two; the `start` of the first."""
    for one in (first, second):
        await one.seek(config={"preset": "classic"})
    start = await first.begin()
    await second.begin()
    return start


async def answer(turn: Map, follower: Player, other: Player, **fields: Any) -> None:
    """Let whoever is to move, of a match of two, move in the turn that the one who follows was told."""
    if "legal" in turn:
        await follower.move(turn, **fields)
    else:
        await other.move(await other.expect("turn"), **fields)


@asynccontextmanager
async def attending(url: str, name: str) -> AsyncIterator[Player]:
    """A player who seeks nothing, and plays by its first legal moves whatever match it is called to."""

    async def attend() -> None:
        while True:
            told = await one.expect("start", "turn", within=None)
            if told["type"] == "start":
                await one.send("ready", match=told["match"])
            elif "legal" in told:
                await one.move(told)

    async with player(url, name) as one, event_loop.background_task(attend()):
        yield one
