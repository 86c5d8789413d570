"""The least that a server can do for the plies of `benchmarks/server.py`, as a lower bound for the arena's server.

Clients connect in pairs, and each pair plays one match after the other. Each ply does what the arena promises: its move
is decoded and checked, the rules play it, the digest covers it, the clocks stop and start, and the journal has it
before the opponent's turn is sent. There is nothing else: no undo if the rules fail, no timers, no lag compensation, no
limits on clients, no spectators, no starts and ends of matches. A bare server only reads frames and answers them.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec
from websockets.http11 import Request
from websockets.server import ServerProtocol

from arena.network.frames import FastProtocol, make_frame
from protocol.codec import MSGPACK
from protocol.dice import Dice
from protocol.digest import next_digest
from protocol.games import load_game
from protocol.messages import Event, Hello, Move, Turn
from referee.record import Ply, write_line

CONFIG = {"heaps": [500, 500], "take": [1, 2, 3]}
"""The config of the matches, as in `benchmarks/server.py`."""
BANK_S, INCREMENT_S = 60.0, 0.5
"""The clock of the matches, in seconds."""
_WELCOME = msgspec.msgpack.encode({"type": "welcome"})
"""The answer to `hello`, of which the clients read nothing."""


class LeastMatch:
    """The matches of a pair of clients, one after the other, with one journal in `folder`."""

    game = load_game("nim", CONFIG)

    def __init__(self, folder: Path, number: int) -> None:
        self.id = f"m-{number}"
        self.players: list[LeastPlayer] = []
        self._file = os.open(folder / f"{self.id}.jsonl", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._clock = asyncio.get_running_loop().time
        self._state: Any = None
        self._ply, self._to_move = 0, 0
        self._banks_s, self._since = [BANK_S, BANK_S], 0.0
        self._digest, self._events = bytes(32), list[Event]()

    @property
    def is_full(self) -> bool:
        return len(self.players) == self.game.seats

    def join(self, player: LeastPlayer) -> None:
        """Give a client the next seat. The last one begins the match."""
        self.players.append(player)
        if self.is_full:
            self._begin()

    def _begin(self) -> None:
        self._state, _ = self.game.initial(Dice(bytes(32), 0))
        self._ply, self._to_move = 0, 0
        self._banks_s, self._since = [BANK_S, BANK_S], self._clock()
        self._digest, self._events = bytes(32), []
        os.ftruncate(self._file, 0)
        self._send_turn(self.game.encode_state(self._state), [60_000, 60_000], self._digest.hex())

    def play(self, player: LeastPlayer, move: Move) -> None:
        """Play a move, record it, and send the opponent its turn."""
        seat, ply = self._to_move, self._ply
        if move.match != self.id or move.ply != ply or player is not self.players[seat]:
            raise ValueError("a move that was not asked for")
        now = self._clock()
        left_s = self._banks_s[seat] - (now - self._since)
        if left_s < 0:
            raise ValueError("the clock has run out")
        self._banks_s[seat], self._since = left_s + INCREMENT_S, now
        game = self.game
        self._state, event = game.apply(self._state, game.decode_move(move.move), Dice(self._digest, ply))
        wire = game.encode_state(self._state)
        self._digest = next_digest(self._digest, event, wire)
        clock, digest = [int(self._banks_s[0] * 1000), int(self._banks_s[1] * 1000)], self._digest.hex()
        os.write(self._file, write_line(Ply(event=event, clock=clock, digest=digest)))
        self._events = [*self._events[-1:], event]
        self._ply, self._to_move = wire["ply"], wire["to_move"]
        if self._to_move is None:
            self._begin()
        else:
            self._send_turn(wire, clock, digest)

    def _send_turn(self, wire: dict[str, Any], clock: list[int], digest: str) -> None:
        legal, options = self.game.legal_moves_for_turn(self._state)
        turn = Turn(
            match=self.id,
            ply=self._ply,
            to_move=self._to_move,
            state=wire,
            events=self._events,
            clock=clock,
            legal=legal,
            options=options,
            digest=digest,
        )
        self.players[self._to_move].transport.write(make_frame(MSGPACK.encode(turn)))


class LeastPlayer(asyncio.Protocol):
    """A client's connection. `find_match` returns the match of the next client that says `hello`. A bare server has no
    matches, and sends `answer` for each frame.
    """

    transport: asyncio.Transport

    def __init__(self, find_match: Callable[[], LeastMatch] | None, answer: bytes) -> None:
        self._find_match, self._answer = find_match, answer
        self._match: LeastMatch
        self._protocol = FastProtocol(ServerProtocol())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        frame = self._protocol.try_decode(data)
        if frame is None:
            self._open(data)
        elif self._find_match is None:
            self.transport.write(self._answer)
        else:
            message = MSGPACK.decode_client(frame)
            if type(message) is Move:
                self._match.play(self, message)
            elif isinstance(message, Hello):
                self.transport.write(make_frame(_WELCOME))
                self._match = self._find_match()
                self._match.join(self)

    def _open(self, data: bytes) -> None:
        """Open the WebSocket, or answer its close frame."""
        for request in self._protocol.receive_data(data):
            if isinstance(request, Request):
                self._protocol.respond(request, None)
        self.transport.writelines(self._protocol.output)
        self._protocol.output.clear()


async def serve_least(turn: bytes, *, is_bare: bool) -> None:
    """Print the server's port, then serve until the parent process sends a line. A bare server answers with `turn`, a
    message in msgpack.
    """
    loop = asyncio.get_running_loop()
    matches: list[LeastMatch] = []

    def find_match() -> LeastMatch:
        if not matches or matches[-1].is_full:
            matches.append(LeastMatch(Path(folder), len(matches)))
        return matches[-1]

    with tempfile.TemporaryDirectory() as folder:
        accept = partial(LeastPlayer, None if is_bare else find_match, make_frame(turn))
        server = await loop.create_server(accept, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await loop.run_in_executor(None, sys.stdin.readline)
        server.close()
