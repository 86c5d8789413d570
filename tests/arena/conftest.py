"""A running arena on a free port and a client that knows the protocol only."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgpack
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from arena.host.journal import Journal
from arena.lobby.policy import LobbyPolicy
from arena.network.fair_scheduler import MAX_DEBT_S
from arena.operations.administration import all_handlers
from arena.operator.requests import Request
from arena.server.arena import Arena
from arena.server.auth import Authenticator, Registration
from arena.store.async_store import AsyncStore
from arena.store.store import Store
from patience import patient_host
from protocol.messages import Clock
from timeouts import WITHIN
from virtual_time import VirtualTimeLoop, advance


class Door:
    """Where bots are let in; once it holds, a bot is `looked_up`, and has to wait until it may `go_on`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.looked_up = asyncio.Event()
        self.go_on = asyncio.Event()
        self._monkeypatch = monkeypatch

    def hold(self) -> None:
        identify = Authenticator.identify

        async def slowly(door: Authenticator, *words: Any) -> Any:
            found = await identify(door, *words)
            self.looked_up.set()
            await self.go_on.wait()
            return found

        self._monkeypatch.setattr(Authenticator, "identify", slowly)


@pytest.fixture
async def door(monkeypatch: pytest.MonkeyPatch) -> Door:
    return Door(monkeypatch)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files and folders that were synced, in order."""
    names: list[str] = []

    def noted(sync: Callable[[int], None]) -> Callable[[int], None]:
        def do(file: int) -> None:
            sync(file)
            names.append(Path(os.readlink(f"/proc/self/fd/{file}")).name)

        return do

    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, noted(getattr(os, name)))
    return names


class Client:
    """One connection in msgpack. `expect` reads until a message of a type comes; the others are kept in `passed`."""

    def __init__(self, wire: ClientConnection) -> None:
        self.wire = wire
        self.passed: list[dict[str, Any]] = []

    async def send(self, **message: Any) -> None:
        await self.wire.send(msgpack.packb(message))

    async def heard(self) -> None:
        """Return when the arena has read all that was sent: it answers a ping after that."""
        async with asyncio.timeout(WITHIN):
            await (await self.wire.ping())

    async def receive(self) -> dict[str, Any]:
        async with asyncio.timeout(WITHIN):
            message: dict[str, Any] = msgpack.unpackb(await self.wire.recv())
        return message

    async def expect(self, kind: str) -> dict[str, Any]:
        while (message := await self.receive())["type"] != kind:
            self.passed.append(message)
        return message

    async def closed(self) -> int | None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                self.passed.append(await self.receive())
        return self.wire.close_code

    async def ready(self, start: dict[str, Any]) -> None:
        await self.send(type="ready", match=start["match"])

    async def play(self) -> dict[str, Any]:
        """Answer every turn with its first legal move until the match ends."""
        while (message := await self.receive())["type"] != "end":
            if message["type"] == "turn":
                await self.send(type="move", match=message["match"], ply=message["ply"], move=message["legal"][0])
            elif message["type"] == "start" and not message.get("resumed"):
                await self.ready(message)
        return message


class Served:
    """An arena on its data folder; `restart` is what a stop and a new start do."""

    def __init__(self, data: Path, **options: Any) -> None:
        self.data = data
        self.options = options
        self.clients: list[Client] = []

    async def start(self) -> None:
        await self.begin()
        await self.restoring

    async def begin(self) -> None:
        """Start, without waiting for the matches of the journal."""
        self.store = Store.open(self.data / "arena.db")
        self.archive = AsyncStore(self.store)
        options = dict(self.options)
        auth = Authenticator(
            self.archive, options.pop("registration", Registration()), options.pop("time", time.monotonic)
        )
        clock = options.pop("clock", Clock(bank_ms=60_000, increment_ms=0))
        options.setdefault("timeouts", patient_host())
        if isinstance(asyncio.get_running_loop(), VirtualTimeLoop):
            options.setdefault("work_clock", itertools.count(0.0, 10 * MAX_DEBT_S).__next__)  # all have always rested
        self.arena = Arena(self.archive, Journal(self.data / "journal"), auth, clock, **options)
        self.operations = all_handlers(self.arena)
        self.restoring = self.arena.host.restore()
        self.port = await self.arena.host.listener.listen("127.0.0.1", 0)

    async def stop(self) -> None:
        await self.arena.close()
        await self.archive.drain()
        self.store.close()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def perform(self, request: Request) -> Any:
        return await self.operations[request.operation_name()].perform(request, lambda event: None)

    async def connect(self, **options: Any) -> Client:
        options.setdefault("open_timeout", WITHIN)  # the library's own is 10 s, less than a busy machine may take
        wire = await connect(f"ws://127.0.0.1:{self.port}", compression=None, **options)
        client = Client(wire)
        self.clients.append(client)
        return client

    async def enter(self, bot: str, address: str = "127.0.0.1", **hello: Any) -> Client:
        """A client that has said hello under the name `bot`, with a token made from it, from an address."""
        client = await self.connect(local_addr=(address, 0))
        await client.send(type="hello", bot=bot, token=f"{bot:*>16}", **hello)
        client.passed.append(await client.expect("welcome"))
        return client

    async def spectator(self, **options: Any) -> Client:
        """A client that has said hello without a name."""
        client = await self.connect(**options)
        await client.send(type="hello")
        await client.expect("welcome")
        return client

    async def pair(self, game: str = "nim", **seek: Any) -> tuple[Client, Client, dict[str, Any], dict[str, Any]]:
        """Two bots, `ann` and `bob`, whose match has been told, in seat order, with their `start` messages."""
        clients = [await self.enter("ann"), await self.enter("bob")]
        starts = await self.meet(*clients, game=game, **seek)
        (first, start), (second, other) = sorted(zip(clients, starts, strict=True), key=lambda pair: pair[1]["seat"])
        return first, second, start, other

    async def meet(self, *clients: Client, **seek: Any) -> list[dict[str, Any]]:
        """Have these clients seek the same match, of Nim unless they say otherwise: their `start` messages."""
        for client in clients:
            await client.send(type="seek", **{"id": "s1", "game": "nim", **seek})
        await self.matched(*clients)
        return [await client.expect("start") for client in clients]

    async def sit_down(self, *clients: Client, **seek: Any) -> dict[str, Any]:
        """The same, with all of them ready: the `start` of the first."""
        start, *_ = await self.meet(*clients, **seek)
        for client in clients:
            await client.ready(start)
        return start

    async def matched(self, *clients: Client) -> None:
        """On virtual time, let the seeks of these clients be looked at; on real time they are soon enough."""
        if isinstance(asyncio.get_running_loop(), VirtualTimeLoop):
            for client in clients:
                await client.heard()
            await advance(LobbyPolicy().new_seek_delay_s)

    async def begun(self, game: str = "nim", **seek: Any) -> tuple[Client, Client, dict[str, Any]]:
        """The same, with both ready: it is the first one's turn."""
        first, second, start, _ = await self.pair(game, **seek)
        for client in (first, second):
            await client.ready(start)
        return first, second, start

    async def three(self) -> tuple[list[Client], dict[str, Any]]:
        """Three bots whose match of Dibs has begun, in seat order, and a `start`; it is the first one's turn."""
        clients = [await self.enter(name) for name in ("ann", "bob", "cid")]
        starts = await self.meet(*clients, game="dibs", config={"sticks": [99]})
        for client in clients:
            await client.ready(starts[0])
        seats = dict(sorted((start["seat"], client) for start, client in zip(starts, clients, strict=True)))
        return list(seats.values()), starts[0]


Serve = Callable[..., Awaitable[Served]]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """Start an arena with these options of `Arena`. It waits longer for clients than tests do, unless one says so."""
    started: list[Served] = []

    async def start(**options: Any) -> Served:
        served = Served(tmp_path / f"data{len(started)}", **options)
        await served.start()
        started.append(served)
        return served

    yield start
    for served in started:
        for client in served.clients:
            await client.wire.close()
        await served.stop()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]
