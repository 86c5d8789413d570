"""What the bots' tests share: an arena that plays by a script, and a real one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

from bots.commands import piped_bot
from client_talk import Talk
from match_script import Script
from protocol import messages
from protocol.codec import MSGPACK
from protocol.messages import FromClient, FromServer
from timeouts import WITHIN
from turns import First

T = TypeVar("T", bound=FromClient)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have bots wait for what their programs do at the end, however long that takes on a busy machine."""
    monkeypatch.setattr(piped_bot, "SHUTDOWN_TIMEOUT_S", WITHIN)


class Line:
    """One connection of the bot, on the arena's side: `expect` a message, `say` one."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection

    async def expect(self, kind: type[T]) -> T:
        message = MSGPACK.decode_client(await asyncio.wait_for(self.connection.recv(), WITHIN))
        assert isinstance(message, kind), message
        return message

    async def say(self, *said: FromServer) -> None:
        for message in said:
            await self.connection.send(MSGPACK.encode(message))

    async def close(self, code: int) -> None:
        await self.connection.close(code)

    def cut(self) -> None:
        """End it the way a broken cable does."""
        self.connection.transport.abort()


class Peer:
    """An arena whose every word is in the test."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[Line] = asyncio.Queue()
        self.server: Server
        self.url = ""

    async def serve(self, connection: ServerConnection) -> None:
        await self._lines.put(Line(connection))
        await connection.wait_closed()

    async def line(self) -> Line:
        return await asyncio.wait_for(self._lines.get(), WITHIN)


@contextlib.asynccontextmanager
async def listening(port: int = 0) -> AsyncIterator[Peer]:
    peer = Peer()
    subprotocols = [Subprotocol(MSGPACK.subprotocol)]
    async with serve(peer.serve, "127.0.0.1", port, subprotocols=subprotocols, compression=None) as server:
        peer.server = server
        peer.url = f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
        yield peer


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    async with listening() as peer:
        yield peer


@pytest.fixture
def listen() -> Callable[..., contextlib.AbstractAsyncContextManager[Peer]]:
    return listening


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
async def port(tmp_path: Path) -> AsyncIterator[int]:
    """The port of a real arena with open registration; only the end-to-end tests ask for it."""
    from arena.host.journal import Journal
    from arena.server.arena import Arena
    from arena.server.auth import Authenticator, Registration
    from arena.store.async_store import AsyncStore
    from arena.store.store import Store
    from patience import patient_host

    store = Store.open(tmp_path / "arena.db")
    archive = AsyncStore(store)
    clock = messages.Clock(bank_ms=60_000, increment_ms=500)
    auth = Authenticator(archive, Registration())
    arena = Arena(archive, Journal(tmp_path / "journal"), auth, clock, timeouts=patient_host())
    yield await arena.host.listener.listen("127.0.0.1", 0)
    await arena.close()
    await archive.drain()
    store.close()


@pytest.fixture
def talk() -> Talk:
    return Talk(First("mine", "1.2"))
