"""CONTRIBUTING.md keeps its word: the room that is its example of a new game is played as it stands."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import games as rooms
from arena.replay.verify import verify_record
from arena.web.pages.help import rules_of
from bots.agents.answers import describe_games
from bots.client.bot import Bot, Turn
from bots.playing.matches import play
from commands import REPOSITORY
from protocol import games
from protocol.errors import IllegalMove, MalformedMove
from referee.contract import ContractChecker
from referee.effects import MoveReceived
from referee_table import Table
from registered_games import registered as registered_games

ROOM = REPOSITORY / "docs" / "examples" / "auction"
DOCUMENT = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")


@pytest.fixture(autouse=True)
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The room copied to where the document says, with its line in the list of rooms."""
    line = re.search(r'^    "auction",\n', DOCUMENT, re.MULTILINE)
    assert line is not None
    shutil.copytree(ROOM, tmp_path / "auction")
    monkeypatch.setattr(rooms, "__path__", [*rooms.__path__, str(tmp_path)])
    for module in ("games.auction", "games.auction.rules"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    importlib.invalidate_caches()
    last = '    "poker",\n'
    source = Path(str(rooms.__file__)).read_text("utf-8")
    assert last in source
    edited: dict[str, Any] = {}
    exec(source.replace(last, last + line[0]), edited)
    with registered_games(*(spec for spec in edited["SPECS"] if not games.is_known_game(spec.name))):
        yield


class Bidder(Bot):
    games = ("auction",)

    def choose(self, turn: Turn) -> Any:
        own, other = turn.state["worth"][turn.seat], turn.state["worth"][1 - turn.seat]
        assert own is not None
        assert other is None
        assert turn.rules.decode_state(turn.state) == turn.position
        return {"bid": own // 2}


def test_its_rules_are_a_file_of_less_than_150_lines() -> None:
    assert len((ROOM / "rules.py").read_text("utf-8").splitlines()) < 150


def test_without_documents_it_is_described_by_its_own_sentence() -> None:
    about = games.game_class("auction").about
    assert rules_of("auction").brief == f"<p>{about}</p>\n"
    assert describe_games(["auction"]).games[0].rules == about


def test_it_is_played_and_its_record_referees_itself_again() -> None:
    played = play([Bidder("one"), Bidder("two")], "auction", seed="1")
    assert played.result.reason in ("win", "draw")
    verify_record(played.record)
    assert len(played.states) == 11


def test_bids_are_told_when_both_are_made_and_worths_to_who_has_them() -> None:
    table = Table("auction", {"lots": 2}).begin()
    table.match.set_watched(is_watched=True)
    for seat in (0, 1):
        assert [it is None for it in table.last(seat).state["worth"]] == [seat == 1, seat == 0]
        assert [it is None for it in table.last(seat).events[0].move["worth"]] == [seat == 1, seat == 0]
    table.send(MoveReceived(1, 1, {"bid": 9}))
    assert len(table.told[0]) == 2, "start and turn"
    table.send(MoveReceived(0, 1, {"bid": 3}))
    assert table.last(0).events[0].moves == [{"bid": 3}, {"bid": 9}]
    assert table.shown[-1].state["worth"] == [None, None]


def test_it_keeps_the_contract_and_refuses_what_is_no_bid() -> None:
    rules = games.load_game("auction", {"lots": 3})
    checker = ContractChecker(rules)
    checker.check_refusals()
    state = checker.check_game(1).states[-1]
    checker.check_hiding()
    assert rules.parse_move(" 7 ") == 7
    for text in ("", "seven", "-1", "9" * 5000):
        with pytest.raises(MalformedMove, match="is no bid: a number from 0 to 10"):
            rules.parse_move(text)
    with pytest.raises(IllegalMove, match="11 can't be bid: 0 to 10"):
        rules.check_move(state, 0, 11)
