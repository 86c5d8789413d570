"""Players that record everything that is sent to them, and a comparison of these messages with the store of the arena.

The module also compiles storage.c, a library that is preloaded into a server to observe its file operations.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from rig import CONNECTION_ERRORS, RawConnection, Server

from arena.commands.db import check_match
from arena.store.integrity_check import check_database
from arena.store.result_queries import iter_results, ratings_of, record_of
from arena.store.store import Store
from protocol.games import shared_game
from referee import record_reader
from referee.record import Ply, Record
from referee.replay import replay
from referee.result import Ratings, Result

SLOTS = 3
"""The number of matches that a player plays at a time."""
SETTLE_TIMEOUT_S = 90.0
"""Maximum seconds until all running matches have ended."""


def compile_library(folder: Path) -> Path:
    """Compile storage.c, a library to preload, with gcc, and return the library's path."""
    library = folder / "storage.so"
    source = Path(__file__).with_name("storage.c")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


@dataclass
class SentMessage:
    """An `end` or `turn` message that was sent to a bot, with the time (monotonic clock, seconds)."""

    bot: str
    message: dict[str, Any]
    at: float = field(default_factory=time.monotonic)


@dataclass
class Ledger:
    """A log of everything that was sent to the players of an arena."""

    starts: dict[str, float] = field(default_factory=dict)
    """The time at which each match was first announced (monotonic clock, seconds)."""
    turns: list[SentMessage] = field(default_factory=list)
    ends: dict[str, list[SentMessage]] = field(default_factory=dict)

    def find_errors(
        self,
        database: str | Path,
        until: float = float("inf"),
        *,
        moves: bool = True,
        quick: bool = False,
        forgotten: Collection[str] = (),
    ) -> Counter[str]:
        """Return the number of each kind of error: messages sent before `until` that differ from the database, and
        errors in the database itself.

        If `moves` is false, moves are not compared, and a match whose end was not sent may be missing from the
        database. For matches in `forgotten`, only the ends that were sent are compared.
        """
        found: Counter[str] = Counter()
        with closing(Store.open(database, create=False)) as store:
            for line in list(store.iterate(check_database, partial(check_match, quick=quick))):
                found[f"the database does not add up: {line}"] += 1
            kept = {result.match: result for result in store.iterate(iter_results)}
            rated = store.read(ratings_of, [match for match in self.ends if match in kept])
            for match, ends in self.ends.items():
                for told in ends:
                    if told.at < until:
                        found.update(_check_end(told, kept.get(match), rated.get(match)))
            if moves:
                found["matches begun and lost"] += sum(
                    match not in kept for match, at in self.starts.items() if at < until
                )
                found.update(
                    self._find_lost_moves(store, {match: kept[match] for match in kept.keys() - forgotten}, until)
                )
        return +found

    def _find_lost_moves(self, store: Store, kept: dict[str, Any], until: float) -> Iterator[str]:
        by_match: dict[str, list[SentMessage]] = {}
        for told in self.turns:
            if told.at < until and told.message["match"] in kept:
                by_match.setdefault(told.message["match"], []).append(told)
        for match, turns in by_match.items():
            body = store.read(record_of, match)
            if body is None:
                yield "records lost"
                continue
            record = record_reader.read_record(body, match)
            for bot in {told.bot for told in turns}:
                yield from _check_turns(
                    _VisibleHistory(record, bot), [told.message for told in turns if told.bot == bot]
                )


class _VisibleHistory:
    """The events and states that a bot may have been sent during a match, according to the record of the match."""

    def __init__(self, record: Record, bot: str) -> None:
        game = shared_game(record.header.game, record.header.config)
        seat = [each.bot for each in record.header.seats].index(bot)
        lines = [line for line in record.lines if isinstance(line, Ply)]
        self.events = [_as_received(game.view_event(line.event, seat)) for line in lines]
        self.digests = [line.digest for line in lines]
        self.states: dict[str, Any] = {}
        """The bot's views of states, by digest, in games with hidden information."""
        if game.hidden:
            for _, course in replay(record):
                self.states[course.digest.hex()] = _as_received(game.view(course.encoded_state, seat))


def _as_received(value: Any) -> Any:
    """Return a value as it arrives in a message: a tuple becomes a list."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(value))


def _check_turns(history: _VisibleHistory, turns: list[dict[str, Any]]) -> Iterator[str]:
    for turn in turns:
        news, digest = turn["events"], turn["digest"]
        if news and (digest not in history.digests or not _ends_with(history, digest, news)):
            yield "moves told and lost, or told before their time"
        if history.states.get(digest, turn["state"]) != turn["state"]:
            yield "states told otherwise than the seat may see them"


def _ends_with(history: _VisibleHistory, digest: str, news: list[Any]) -> bool:
    events: list[Any] = history.events[: history.digests.index(digest) + 1]
    return events[-len(news) :] == [*news]


def _check_end(message: SentMessage, result: Result | None, ratings: Ratings | None) -> Iterator[str]:
    end = message.message
    if result is None:
        yield "ends told and lost"
        return
    seats = [(seat["rank"], seat["reason"]) for seat in end["seats"]]
    if (seats, end["reason"], end["digest"]) != (
        [(seat.rank, seat.reason) for seat in result.seats],
        result.reason,
        result.digest,
    ):
        yield "ends told otherwise than kept"
    after = [(seat.mu_after, seat.sigma_after) for seat in ratings.seats] if ratings else [(None, None)] * len(seats)
    if [(seat.get("mu_after"), seat.get("sigma_after")) for seat in end["seats"]] != after:
        yield "ends told with other ratings than those kept"


class RandomPlayer:
    """A bot that plays random moves in `SLOTS` matches at a time. It reconnects whenever it is cut off."""

    def __init__(
        self,
        ledger: Ledger,
        port: int,
        number: int,
        game: str,
        config: dict[str, Any] | None = None,
        *,
        pace: float = 0.01,
    ) -> None:
        self.name = f"player-{number}"
        self.seeking = True
        self.seats: dict[str, int] = {}
        """The bot's seat in each running match."""
        self._ledger, self._port, self._pace = ledger, port, pace
        self._wanted = {"game": game, "config": config or {}}
        self._source = f"127.0.1.{number + 1}"
        self._random = random.Random(number)
        self._sought = 0

    async def run(self) -> None:
        while True:
            try:
                raw = await RawConnection.enter(self._port, self.name, source=self._source, slots=SLOTS)
            except CONNECTION_ERRORS:
                await asyncio.sleep(0.1)
                continue
            try:
                await self._play(raw)
            except CONNECTION_ERRORS:
                await asyncio.sleep(0.05)
            finally:
                raw.close()

    async def _play(self, raw: RawConnection) -> None:
        if raw.welcome["type"] == "error":
            await asyncio.sleep(0.3)
            return
        seeks: set[str] = set()
        self.seats.clear()  # running matches are announced again; the others ended in the meantime
        while True:
            while self.seeking and len(seeks) + len(self.seats) < SLOTS:
                self._sought += 1
                seeks.add(f"s{self._sought}")
                raw.send(type="seek", id=f"s{self._sought}", **self._wanted)
            told = await raw.receive()
            match told["type"]:
                case "start":
                    self._ledger.starts.setdefault(told["match"], time.monotonic())
                    seeks.discard(told.get("seek") or "")
                    self.seats[told["match"]] = told["seat"]
                    raw.send(type="ready", match=told["match"])
                case "turn":
                    self._ledger.turns.append(SentMessage(self.name, told))
                    if "legal" in told:
                        await asyncio.sleep(self._pace)
                        move = self._random.choice(told["legal"])
                        raw.send(type="move", match=told["match"], ply=told["ply"], move=move)
                case "end":
                    self._ledger.ends.setdefault(told["match"], []).append(SentMessage(self.name, told))
                    self.seats.pop(told["match"], None)
                case "error":
                    seeks.discard(told.get("ref") or "")
                    await asyncio.sleep(0.1)


async def finish_matches(players: list[RandomPlayer], server: Server) -> None:
    """Let players seek no more, and wait until all running matches have ended. Raise `TimeoutError` if some do not."""
    for player in players:
        player.seeking = False
    async with asyncio.timeout(SETTLE_TIMEOUT_S):
        while True:
            if not server.running_matches() and not any(player.seats for player in players):
                return
            await asyncio.sleep(0.2)
