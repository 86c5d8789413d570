"""A runner with friends in its seats: peers that remember what they were told."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from arena.host.broadcast import EncodedMessages
from arena.host.journal import Journal
from arena.host.recorder import Recorder
from arena.host.runner import MatchRunner
from arena.replay.verify import verify_record
from arena.store.health import Health
from protocol.messages import End, FromServer
from referee import record_reader
from referee.effects import MoveReceived, SeatReady
from referee.match import Match
from referee_table import A_MOVE, NONCES, Table, header
from timeouts import WITHIN


class Friend:
    """A peer that remembers what it was told, and can be waited for."""

    def __init__(self) -> None:
        self.told: list[FromServer] = []
        self._news = asyncio.Event()

    def send(self, message: FromServer) -> None:
        self.told.append(message)
        self._news.set()

    def send_shared(self, shown: EncodedMessages) -> None:
        for message in shown.messages:
            self.send(message)

    async def until(self, kind: type[FromServer]) -> Any:
        """The next message of a kind that has not been looked at."""
        async with asyncio.timeout(WITHIN):
            while True:
                for at, message in enumerate(self.told):
                    if isinstance(message, kind):
                        return self.told.pop(at)
                self._news.clear()
                await self._news.wait()


class NotedHealth(Health):
    """What was told about a match that cannot be recorded: the reason, or None once it can."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str | None] = []

    def set_problem(self, place: str, reason: str | None) -> None:
        self.told.append(reason)
        super().set_problem(place, reason)


class Room:
    """A runner with two seats taken, and what became of it."""

    def __init__(
        self,
        folder: Path,
        game: str = "nim",
        config: Any = None,
        *,
        journal: Journal | None = None,
        recorder: Recorder | None = None,
        **more: Any,
    ) -> None:
        bots = ("ann", "bob", "cas") if game == "dibs" else ("ann", "bob")
        self.header = header(game, config, bots=bots, **more)
        self.journal = journal or Journal(folder)
        self._recorder = recorder
        self.finished = asyncio.Event()
        self.finishes = 0
        self.health = NotedHealth()
        self.runner = self.made(self.journal.create(self.header.match))
        self.friends = [Friend() for _ in bots]
        for seat, friend in enumerate(self.friends):
            self.runner.seat_peer(seat, friend, follow=False)

    def made(self, journal: Any) -> MatchRunner:
        self.match = Match(self.header, Table(header=self.header).match._seed, Table(header=self.header).match.players)
        at_once = Recorder(lambda: at_once.commit())
        return MatchRunner(self.match, journal, self._recorder or at_once, self.finish, health=self.health)

    def finish(self, runner: MatchRunner) -> None:
        self.finishes += 1
        self.finished.set()

    def begin(self) -> Room:
        self.runner.start()
        for seat in range(len(self.friends)):
            self.runner.receive(SeatReady(seat, NONCES[seat]))
        return self

    def play(self, move: Any = None) -> None:
        course = self.match.standing.course
        self.runner.receive(MoveReceived(course.to_move, course.ply, move or A_MOVE))

    async def end(self) -> list[End]:
        """Wait for the end, tell it, and check what the journal holds."""
        async with asyncio.timeout(WITHIN):
            await self.finished.wait()
        assert self.finishes == 1
        self.runner.send_end(None)
        verify_record(record_reader.read_record(self.runner.finished_match("x").close().pack_record(), "m-1"))
        return [await friend.until(End) for friend in self.friends]
