"""While a match fetches answers of isolated rules, its clocks stand still and what arrives waits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.host.recorder import Recorder
from arena.host.runner import MatchRunner
from example_games import EXAMPLES
from match_room import Friend, Room
from protocol.errors import RulesFault
from protocol.games import game_class, guard_game, load_game
from protocol.games.isolated import Answers, IsolatedGame, answer, answer_load, load_question, value_of
from protocol.messages import Error, Start, Turn
from referee.match import Match
from referee.record import Ply
from referee_table import Table
from virtual_time import advance
from wrong_games import brought

pytestmark = pytest.mark.virtual_time


@pytest.fixture(autouse=True)
def connect4() -> Iterator[None]:
    with brought(EXAMPLES / "connect4.py"):
        yield


class IsolatedRoom(Room):
    """A room whose match gets answers only while `gate` is open; a `fault` instead of them, if that is set."""

    def __init__(self, folder: Path, game: str = "connect4", **more: Any) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.fault: RulesFault | None = None
        super().__init__(folder, game, **more)

    def made(self, journal: Any) -> MatchRunner:
        question = load_question(self.header.config)
        name = self.header.game
        facts = value_of(name, answer_load(lambda config: load_game(name, config), question)[question])
        self.game = game = IsolatedGame(game_class(name), facts)
        table = Table(header=self.header)
        self.match = Match(self.header, table.match._seed, table.match.players, game=game)
        at_once = Recorder(lambda: at_once.commit())
        return MatchRunner(self.match, journal, at_once, self.finish, fetch_answers=self.fetch)

    async def fetch(self, game: IsolatedGame, question: bytes) -> Answers:
        await self.gate.wait()
        if self.fault is not None:
            raise self.fault
        return answer(guard_game(load_game(game.name, game.config)), question, {})


async def test_the_time_that_answers_take_is_nobodys(tmp_path: Path) -> None:
    room = IsolatedRoom(tmp_path, bank=10, increment=0)
    room.begin()
    first, second = room.friends
    await first.until(Turn)
    await advance(3)
    room.gate.clear()
    room.play({"move": 4})
    await advance(8)  # longer than the bank has left
    room.gate.set()
    turn = await second.until(Turn)
    assert turn.clock == [7000, 10_000]
    await advance(1)
    room.play({"move": 4})
    assert (await first.until(Turn)).clock == [7000, 9000]


async def test_what_arrives_meanwhile_waits_and_is_handled_in_order(tmp_path: Path) -> None:
    room = IsolatedRoom(tmp_path)
    room.begin()
    first, second = room.friends
    await first.until(Start)
    await first.until(Turn)
    room.gate.clear()
    room.play({"move": 4})
    watcher, gone = Friend(), Friend()
    for one in (watcher, gone):
        room.runner.watch(one)
    room.runner.unwatch(gone)
    room.runner.remove_peer(1, second)
    room.play({"move": 1})  # not this seat's turn any more, once the first move is played
    await advance(0)
    assert (first.told, watcher.told) == ([], [])
    room.gate.set()
    assert isinstance(await watcher.until(Start), Start)
    assert (await watcher.until(Turn)).ply == 1
    back = Friend()
    room.runner.return_seat(1, back, follow=False)
    assert (await back.until(Turn)).ply == 1
    assert gone.told == []
    assert [message for message in first.told if not isinstance(message, Turn)], "it was told of its second move"


async def test_a_view_of_hidden_cards_is_shown_once_it_was_fetched(tmp_path: Path) -> None:
    with brought(EXAMPLES / "onecard.py"):
        room = IsolatedRoom(tmp_path, "onecard")
        room.begin()
        await room.friends[0].until(Turn)
        room.game.answers.clear()
        room.gate.clear()
        watcher = Friend()
        room.runner.watch(watcher)
        await advance(1)
        assert watcher.told == []
        room.gate.set()
        assert (await watcher.until(Start)).seat is None
        assert (await watcher.until(Turn)).ply == 1


async def test_a_match_that_is_stopped_meanwhile_is_as_it_was_recorded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    room = IsolatedRoom(tmp_path)
    room.begin()
    await room.friends[0].until(Turn)
    room.gate.clear()
    room.play({"move": 4})
    await advance(0)
    room.runner.stop()
    room.gate.set()
    await advance(1)
    assert room.finishes == 0
    assert not [line for line in room.journal.read("m-1") if isinstance(line, Ply)]
    assert caplog.messages == []


async def test_answers_that_do_not_come_void_the_match(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    room = IsolatedRoom(tmp_path)
    room.begin()
    first = room.friends[0]
    await first.until(Turn)
    room.fault = RulesFault("connect4", "the process of its rules ended in apply")
    room.play({"move": 4})
    error = await first.until(Error)
    assert error.message == "the match is void: the rules of connect4 failed, which is no bot's fault"
    assert [end.reason for end in await room.end()] == ["void", "void"]
    assert caplog.messages == [
        "match m-1 is void: the rules of connect4 failed: the process of its rules ended in apply"
    ]
