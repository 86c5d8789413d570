"""Seeks in force: who meets whom, at a price that does not grow with those that wait for somebody else."""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref
from collections.abc import Callable, Sequence
from types import FrameType

import pytest

from arena.server import matchmaking
from arena.server.matchmaking import MatchRate
from arena.server.seek_index import ActiveSeek, match_spec_of
from protocol.games import load_game, shared_game
from seek_board import SeekBoard
from timeouts import WITHIN
from virtual_time import passing

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def board() -> SeekBoard:
    return SeekBoard()


async def test_who_names_each_other_or_names_one_that_names_nobody_meets(board: SeekBoard) -> None:
    board.seek("ann", opponent="bob")
    board.seek("cid")
    board.seek("dan", opponent="cid")
    board.seek("bob", opponent="ann")
    assert sorted(await board.until(2)) == [("ann", "bob"), ("cid", "dan")]


async def test_who_names_one_that_names_another_waits(board: SeekBoard) -> None:
    board.seek("ann", opponent="bob")
    board.seek("bob", opponent="cid")
    board.seek("dan")
    board.seek("eve")
    assert await board.until(1) == [("dan", "eve")]
    board.seek("bob", "another", opponent="ann")
    assert (await board.until(2))[1] == ("ann", "bob")


async def test_a_named_opponent_is_served_before_the_ladder(board: SeekBoard) -> None:
    board.seek("ann")
    board.seek("bob")
    board.seek("cid", opponent="bob")
    assert await board.until(1) == [("bob", "cid")]


async def test_a_seek_that_was_taken_back_is_not_found_by_who_names_it(board: SeekBoard) -> None:
    board.seek("ann", "first")
    board.seek("ann", "second")
    board.seeks.withdraw("ann", "first")
    board.seeks.withdraw("ann", "never made")
    assert (len(board.seeks.seeks_of("ann")), board.seeks.has_seek("ann", "first")) == (1, False)
    board.seek("bob", opponent="ann")
    assert await board.until(1) == [("ann", "bob")]
    assert not board.seeks.seeks_of("ann")
    assert not board.seeks.seeks_of("bob")
    board.seek("ann")
    board.seeks.withdraw_all("ann")
    board.seek("bob", "1")
    board.seek("cid", "1")
    assert (await board.until(2))[1] == ("bob", "cid")


async def test_all_seeks_of_two_bots_are_paired_off(board: SeekBoard) -> None:
    for number in range(64):
        board.seek("ann", str(number))
        board.seek("bob", str(number))
    assert await board.until(64) == [("ann", "bob")] * 64


async def test_a_bot_of_many_slots_begins_no_more_than_its_pace_allows() -> None:
    board = SeekBoard(MatchRate(2))
    board.seeks._most = lambda bot: 32
    for number in range(32):
        board.seek("ann", str(number))
        board.seek("bob", str(number))
    await board.until(2)
    board.seek("cid", opponent="dan")
    board.seek("dan", opponent="cid")
    assert (await board.until(3)) == [("ann", "bob"), ("ann", "bob"), ("cid", "dan")]


async def test_who_has_to_wait_for_its_pace_takes_no_seat_beside_an_open_bot() -> None:
    board = SeekBoard(MatchRate(1))
    for bot in ("ann", "bob", "cid"):
        board.campaign(bot)
    await board.until(1)
    board.campaign("ann", ref="again")
    board.campaign("dan")
    board.open("house", game="risk-campaign")
    for number in range(2, 4):
        board.seek("fay", str(number), opponent="gus")
        board.seek("gus", str(number), opponent="fay")
        assert (await board.until(number))[1:] == [("fay", "gus")] * (number - 1)
    board.campaign("eve")
    assert (await board.until(4))[3] == ("dan", "eve", "house")


async def test_more_bots_than_are_compared_at_once_all_meet(board: SeekBoard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matchmaking, "PAIRING_BATCH_SIZE", 4)
    names = [f"bot-{number}" for number in range(14)]
    for name in names:
        board.seek(name)
    begun = await board.until(7)
    assert sorted(bot for match in begun for bot in match) == sorted(names)


@pytest.mark.virtual_time(False)
async def test_matches_begin_one_in_a_turn_of_the_loop(board: SeekBoard) -> None:
    for number in range(20):
        board.seek("ann", str(number), opponent="bob" if number % 2 else None)
        board.seek("bob", str(number))
    at_once = before = 0
    async with asyncio.timeout(WITHIN):
        while len(board.begun) < 20:
            await asyncio.sleep(0)
            at_once, before = max(at_once, len(board.begun) - before), len(board.begun)
    assert at_once == 1


async def test_who_seeks_much_is_in_nobodys_way_but_its_own(board: SeekBoard) -> None:
    for number in range(64):
        board.seek("ann", str(number), opponent="bob")
        board.seek("bob", str(number), opponent="ann")
    board.seek("cid", opponent="dan")
    board.seek("dan", opponent="cid")
    assert ("cid", "dan") in (await board.until(3))[:3]


async def test_seeks_that_name_an_opponent_without_end_leave_the_others_their_turn() -> None:
    class Endless(SeekBoard):
        def begin(self, group: Sequence[ActiveSeek]) -> None:
            super().begin(group)
            if len(self.begun) < 200:
                self.seek("ann", f"s{len(self.begun)}", opponent="bob")
                self.seek("bob", f"s{len(self.begun)}", opponent="ann")

    board = Endless()
    board.seek("cid")
    board.seek("dan")
    for number in range(4):
        board.seek("ann", f"at first {number}", opponent="bob")
        board.seek("bob", f"at first {number}", opponent="ann")
    await board.until(100)
    assert ("cid", "dan") in board.begun


async def test_a_match_that_fails_to_begin_keeps_nobody_else_waiting(board: SeekBoard) -> None:
    def fail(group: Sequence[ActiveSeek]) -> None:
        board.seeks._begin = board.begin
        raise RuntimeError("no match today")

    board.seeks._begin = fail
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: board.changed.set())
    board.seek("ann")
    board.seek("bob")
    await passing(board.changed.wait())
    board.seek("cid")
    board.seek("dan")
    assert await board.until(1) == [("cid", "dan")]


# What it costs, in calls of functions: a measure that is the same on every machine


def calls(function: Callable[[], object]) -> int:
    """How many calls of Python functions it takes, beside those by which asyncio sorts its timers.

    The garbage of earlier ones is not collected meanwhile: its weak references would call back.
    """
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call" and frame.f_code.co_name != "__lt__"

    gc.disable()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


async def price(waiting: int, opponent: str | None) -> tuple[int, int]:
    """Calls for a look that begins one match, and for a bot's coming and going, beside so many seeks that wait."""
    board = SeekBoard()
    for number in range(waiting):
        board.seek(f"bot-{number // 64}", str(number), opponent, heaps=[1, number] if opponent is None else [1])
    while board.seeks._new:
        board.seeks._run_round()
    board.seek("ann", heaps=[2])
    board.seek("bob", heaps=[2])
    look = calls(lambda: [board.seeks._run_round() for _ in range(4)])
    assert board.begun == [("ann", "bob")]
    board.seek("ann", "again")
    leave = calls(
        lambda: (
            len(board.seeks.seeks_of("ann")),
            board.seeks.has_seek("ann", "again"),
            board.seeks.withdraw_all("ann"),
        )
    )
    board.seeks.close()
    return look, leave


@pytest.mark.parametrize("opponent", ["nobody", None], ids=["naming who is not there", "each of its own kind"])
@pytest.mark.parametrize("alone", [3600.0, 0.0], ids=["waiting for others like them", "wanting open ones"])
async def test_seeks_that_cannot_be_paired_cost_nobody_anything(
    opponent: str | None, alone: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matchmaking, "OPEN_FALLBACK_DELAY_S", alone)
    assert await price(900, opponent) == await price(2, opponent)


async def test_a_seek_holds_its_config_packed_and_once() -> None:
    config = {"heaps": [7] * 64}
    game = load_game("nim", config)
    kinds = [match_spec_of(game, rated=False), match_spec_of(load_game("nim", config), rated=False)]
    alive = weakref.ref(game)
    del game
    assert alive() is None, "the rules are read again when the match begins"
    assert kinds[0] is kinds[1]
    assert kinds[0].config == load_game("nim", config).config
    assert kinds[0] is not match_spec_of(load_game("nim", config), rated=True)


def test_matches_under_one_config_share_their_rules() -> None:
    config = load_game("risk-duel", {"preset": "africa", "max_plies": 123}).config  # which no other test has
    rules = shared_game("risk-duel", config)
    assert shared_game("risk-duel", dict(config)) is rules
    alive = weakref.ref(rules)
    del rules
    assert alive() is None, "rules that nobody plays by are forgotten"
