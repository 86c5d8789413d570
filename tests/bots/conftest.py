"""What the bots' tests share: the messages of a small Nim match, an arena that plays by a script, plain Python."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

from protocol import messages
from protocol.codec import MSGPACK
from protocol.dice import Dice
from protocol.games import load_game
from protocol.messages import FromClient, FromServer
from timeouts import WITHIN

HERE = Path(__file__).parent


T = TypeVar("T", bound=FromClient)
RULES = load_game("nim")


class Script:
    """The arena's messages of Nim matches from (3, 5, 7), in which the bot sits on seat 0."""

    def welcome(self, *resumed: str, slots: int = 8) -> messages.Welcome:
        limits = messages.Limits(max_message=16384, strikes=3, slots=slots)
        return messages.Welcome(bot="mine", games=["nim", "tictactoe"], limits=limits, resumed=list(resumed))

    def start(self, match: str = "m-1", seek: str | None = None, **fields: Any) -> messages.Start:
        given: dict[str, Any] = {
            "game": "nim",
            "config": RULES.config,
            "seat": 0,
            "seats": [messages.Player(bot="mine"), messages.Player(bot="random", mu=25.0, sigma=8.3)],
            "clock": messages.Clock(bank_ms=60000, increment_ms=500),
            "commitment": "0" * 64,
            "rated": True,
        }
        return messages.Start(match=match, seek=seek, **{**given, **fields})

    def turn(self, match: str = "m-1", ply: int = 0, heaps: tuple[int, ...] = (3, 5, 7)) -> messages.Turn:
        state = RULES.decode_state({"heaps": heaps, "ply": ply, "to_move": 0})
        return messages.Turn(
            match=match,
            ply=ply,
            to_move=0,
            state=RULES.encode_state(state),
            events=[],
            clock=[60000, 60000],
            legal=RULES.legal_moves_for_turn(state)[0],
            digest="0" * 64,
        )

    def rejected(self, match: str = "m-1", ply: int = 0, left: int = 2) -> messages.Rejected:
        text = "heap 0 holds 3: 9 cannot be taken"
        return messages.Rejected(
            match=match, ply=ply, code="illegal_move", message=text, strikes_left=left, clock_ms=50000
        )

    def end(self, match: str = "m-1", ranks: tuple[int, int] = (1, 2), reason: str = "win") -> messages.End:
        rating = {"mu_before": 25.0, "sigma_before": 8.3333, "mu_after": 29.3958, "sigma_after": 7.1714}
        state = RULES.encode_state(RULES.initial(Dice(b"", 0))[0])
        return messages.End(
            match=match,
            ply=9,
            events=[],
            state=state,
            digest="0" * 64,
            ranks=list(ranks),
            reason=reason,
            seats=[
                messages.Outcome(bot="mine", rank=ranks[0], reason=reason, **rating),
                messages.Outcome(bot="random", rank=ranks[1], reason=reason),
            ],
            seed="0" * 64,
            nonces=["", ""],
            record=f"{match}.jsonl.gz",
        )


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
        """The next connection of the bot."""
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
