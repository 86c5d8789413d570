"""A bot for Nim written from docs/protocol.md alone: nothing of this project is imported, and nothing is believed.

It plays any legal move, cuts its own connection where told to, comes back, and after each match checks the commitment,
the deal, every digest and the result from what it was sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import hmac
import json
import random
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgpack
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

JSON = "arena.v1.json"
MSGPACK = "arena.v1.msgpack"
COME_BACK_AFTER = 0.1
Map = dict[str, Any]
Heaps = tuple[int, ...]


def sha256(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class Nim:
    """The rules of one config, as far as a doubter needs them."""

    def __init__(self, config: Map) -> None:
        self.config = config
        self.dealt = config["start"] == "p-position"
        self.lost = functools.cache(self._lost)

    def moves(self, heaps: Heaps) -> Iterator[tuple[int, int]]:
        for heap, size in enumerate(heaps):
            yield from ((heap, take) for take in self.config["take"] or range(1, size + 1) if take <= size)

    def after(self, state: Map | None, event: Map) -> Map:
        """The state after a deal or a move; that after a departure is the same."""
        if event["seat"] == -1:
            assert state is None
            assert self.dealt
            return self._state(tuple(event["move"]["heaps"]), 0, 1)
        state = state or self._state(tuple(self.config["heaps"]), 0, 0)
        assert event["ply"] == state["ply"]
        if "out" in event:
            return state
        assert event["seat"] == state["to_move"]
        heap, take = event["move"]["heap"], event["move"]["take"]
        heaps = tuple(state["heaps"])
        assert (heap, take) in self.moves(heaps)
        return self._state((*heaps[:heap], heaps[heap] - take, *heaps[heap + 1 :]), 1 - event["seat"], event["ply"] + 1)

    def deal(self, stream: Iterator[int]) -> Heaps:
        while True:
            heaps = tuple(choice(stream, size + 1) for size in self.config["heaps"])
            if any(self.moves(heaps)) and self.lost(heaps):
                return heaps

    def winner(self, last_to_move: int) -> int:
        """Who won, given who made the last move there was."""
        return 1 - last_to_move if self.config["misere"] else last_to_move

    def _state(self, heaps: Heaps, to_move: int, ply: int) -> Map:
        return {"heaps": list(heaps), "to_move": to_move if any(self.moves(heaps)) else None, "ply": ply}

    def _lost(self, heaps: Heaps) -> bool:
        following = [(*heaps[:i], heaps[i] - take, *heaps[i + 1 :]) for i, take in self.moves(heaps)]
        return not any(map(self.lost, following)) if following else not self.config["misere"]


def stream_of(key: bytes, purpose: str, ply: int) -> Iterator[int]:
    """The bytes from which an event's choices are made."""
    block = 0
    while True:
        yield from hmac.digest(key, f"{purpose}:{ply}:{block}".encode("ascii"), "sha256")
        block += 1


def choice(stream: Iterator[int], m: int) -> int:
    return next(byte for byte in stream if byte < 256 - 256 % m) % m


@dataclass
class Match:
    """What the bot knows of a match, and whether it fits together."""

    start: Map
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))
    events: list[Map] = field(default_factory=list)
    state: Map | None = None
    digest: bytes = b""
    nonces: list[str] | None = None
    returns: int = 0
    strikes: int = 0
    cut: bool = False

    @property
    def id(self) -> str:
        return str(self.start["match"])

    @functools.cached_property
    def rules(self) -> Nim:
        return Nim(self.start["config"])

    def hear(self, told: Map) -> None:
        """Take in a `turn` or an `end`: its new events continue the chain to its state and digest."""
        if self.nonces is None:
            self._open(told["nonces"])
        for event in told["events"]:
            if event not in self.events:
                self.events.append(event)
                self.state = self.rules.after(self.state, event)
                self.digest = sha256(self.digest, canonical({"event": event, "state": self.state}))
        assert self.digest.hex() == told["digest"]
        assert told["state"] == (self.state or self.rules.after(None, {"seat": 0, "ply": 0, "out": ""}))
        assert told["ply"] == told["state"]["ply"]

    def _open(self, nonces: list[str]) -> None:
        assert nonces[self.start["seat"]] == self.nonce
        self.nonces = nonces
        opening = {name: self.start[name] for name in ("match", "game", "config", "commitment")}
        seats = [seat["bot"] for seat in self.start["seats"]]
        self.digest = sha256(b"bot-arena/1/digest", canonical({**opening, "seats": seats, "nonces": nonces}))

    def check(self, end: Map) -> None:
        """Check the commitment, the deal and the ranks, once the seed is known."""
        seed, match = bytes.fromhex(end["seed"]), self.id.encode("ascii")
        assert sha256(b"bot-arena/1/commit", match, seed).hex() == self.start["commitment"]
        assert end["nonces"] == self.nonces
        if self.rules.dealt:
            assert self.events[0]["ply"] == 0
            nonces = b"".join(bytes([len(nonce) // 2]) + bytes.fromhex(nonce) for nonce in end["nonces"])
            key = hmac.digest(seed, b"bot-arena/1/key" + match + nonces, "sha256")
            assert self.events[0]["move"] == {"heaps": list(self.rules.deal(stream_of(key, "deal", 0)))}
        if end["reason"] == "win":
            winner = self.rules.winner(self.events[-1]["seat"])
            assert self.state is not None
            assert self.state["to_move"] is None
            assert end["ranks"] == [1 if seat == winner else 2 for seat in (0, 1)]
        assert [seat["rank"] for seat in end["seats"]] == end["ranks"]
        assert [seat["bot"] for seat in end["seats"]] == [seat["bot"] for seat in self.start["seats"]]


@dataclass(frozen=True)
class Played:
    """A match that is over and whose checks have passed."""

    match: Match
    end: Map

    @property
    def won(self) -> bool:
        return bool(self.end["ranks"][self.match.start["seat"]] == 1)


class Client:
    """One bot. `cut` says when it tears its own connection, once a match: before or after its first move there.

    With `err` its first move of each match is one that the rules forbid. Without a config it takes any.
    """

    game = "nim"
    match_of: Callable[[Map], Match] = Match

    def __init__(
        self, url: str, bot: str, subprotocol: str, config: Map | None, *, cut: str = "", err: bool = False
    ) -> None:
        self.url = url
        self.subprotocol = subprotocol
        self.config = config
        self.cut = cut
        self.err = err
        self.hello = {"type": "hello", "bot": bot, "token": secrets.token_urlsafe(24), "client": "independent"}
        self.chance = random.Random(bot)
        self.matches: dict[str, Match] = {}
        self.played: list[Played] = []
        self.missed = 0
        self.sought = 0
        self.listing: Map | None = None

    async def play(self, matches: int) -> list[Played]:
        """Play so many matches, through every cut of the connection. Those that ended meanwhile were never told."""
        while not self.done(matches):
            with contextlib.suppress(OSError):  # nobody listens there now
                try:
                    await self.stay(matches)
                except ConnectionClosed as closed:
                    if closed.rcvd is not None and closed.rcvd.code in (4001, 4003):
                        raise
            if not self.done(matches):
                await asyncio.sleep(COME_BACK_AFTER)
        return self.played

    async def stay(self, matches: int) -> None:
        """Play over one connection until that is enough, or the connection is lost."""
        async with connect(self.url, subprotocols=[Subprotocol(self.subprotocol)], compression=None) as socket:
            await self.send(socket, self.hello)
            while not self.done(matches):
                await self.receive(socket, self.decode(await socket.recv()))

    def done(self, matches: int) -> bool:
        return len(self.played) + self.missed >= matches

    async def receive(self, socket: ClientConnection, message: Map) -> None:
        """Answer one message; those that are not known here are ignored."""
        answer = getattr(self, "on_" + message["type"], None)
        if answer is not None:
            await answer(socket, message)

    async def on_welcome(self, socket: ClientConnection, welcome: Map) -> None:
        assert welcome["protocol"] == 1
        assert self.game in welcome["games"]
        for gone in self.matches.keys() - set(welcome["resumed"]):
            del self.matches[gone]
            self.missed += 1
        await self.send(socket, {"type": "list"})
        if not welcome["resumed"]:
            await self.seek(socket)

    async def seek(self, socket: ClientConnection) -> None:
        self.sought += 1
        wanted = {"open": True} if self.config is None else {"config": self.config}
        await self.send(socket, {"type": "seek", "id": str(self.sought), "game": self.game, **wanted})

    async def on_start(self, socket: ClientConnection, start: Map) -> None:
        match = self.matches.get(start["match"])
        if match is not None:
            match.returns += 1
            assert {**start, "seek": match.start["seek"]} == {**match.start, "resumed": True}
            return
        assert start.get("resumed", False) or start["seek"] == str(self.sought)
        match = self.matches[start["match"]] = self.match_of(start)
        await self.send(socket, {"type": "ready", "match": match.id, "nonce": match.nonce})

    async def on_turn(self, socket: ClientConnection, turn: Map) -> None:
        match = self.matches[turn["match"]]
        match.hear(turn)
        assert turn["to_move"] == match.start["seat"] == turn["state"]["to_move"]
        listed = [(move["heap"], move["take"]) for move in turn["legal"]]
        assert sorted(listed) == sorted(match.rules.moves(tuple(turn["state"]["heaps"])))
        if self.err and not match.strikes:
            await self.move(socket, turn, {"heap": 0, "take": 1000})
            return
        if self.cut == "before" and not match.cut:
            match.cut = True
            socket.transport.abort()
            return
        await self.move(socket, turn, self.chance.choice(turn["legal"]))
        if self.cut == "after" and not match.cut:
            match.cut = True
            await (await socket.ping())
            socket.transport.abort()

    async def on_rejected(self, socket: ClientConnection, rejected: Map) -> None:
        match = self.matches[rejected["match"]]
        match.strikes += 1
        assert rejected["code"] == "illegal_move"
        assert rejected["strikes_left"] == 3 - match.strikes
        state = match.state or match.rules.after(None, {"seat": 0, "ply": 0, "out": ""})
        heap, take = self.chance.choice(list(match.rules.moves(tuple(state["heaps"]))))
        await self.move(socket, rejected, {"heap": heap, "take": take})

    async def on_listing(self, socket: ClientConnection, listing: Map) -> None:
        self.listing = listing

    async def on_end(self, socket: ClientConnection, end: Map) -> None:
        match = self.matches.pop(end["match"])
        match.hear(end)
        match.check(end)
        self.played.append(Played(match, end))
        await self.seek(socket)

    async def on_error(self, socket: ClientConnection, error: Map) -> None:
        raise AssertionError(error["message"])

    async def move(self, socket: ClientConnection, asked: Map, move: Map) -> None:
        await self.send(socket, {"type": "move", "match": asked["match"], "ply": asked["ply"], "move": move})

    async def send(self, socket: ClientConnection, message: Map) -> None:
        packed: str | bytes = json.dumps(message) if self.subprotocol == JSON else msgpack.packb(message)
        await socket.send(packed)

    def decode(self, frame: str | bytes) -> Map:
        message: Map = json.loads(frame) if self.subprotocol == JSON else msgpack.unpackb(frame)
        assert isinstance(frame, str) == (self.subprotocol == JSON)
        return message
