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
from arena.server.match_rate import Pace
from arena.server.seek_index import ActiveSeek, match_spec_of
from hall import TournamentHostPool
from patience import WITHIN
from protocol.games import load
from referee.rules import rules_of


@pytest.fixture
async def hall() -> TournamentHostPool:
    return TournamentHostPool()


async def test_who_names_each_other_or_names_one_that_names_nobody_meets(hall: TournamentHostPool) -> None:
    hall.seek("ann", opponent="bob")
    hall.seek("cid")
    hall.seek("dan", opponent="cid")
    hall.seek("bob", opponent="ann")
    assert sorted(await hall.until(2)) == [("ann", "bob"), ("cid", "dan")]


async def test_who_names_one_that_names_another_waits(hall: TournamentHostPool) -> None:
    hall.seek("ann", opponent="bob")
    hall.seek("bob", opponent="cid")
    hall.seek("dan")
    hall.seek("eve")
    assert await hall.until(1) == [("dan", "eve")]
    hall.seek("bob", "another", opponent="ann")
    assert (await hall.until(2))[1] == ("ann", "bob")


async def test_a_named_opponent_is_served_before_the_ladder(hall: TournamentHostPool) -> None:
    hall.seek("ann")
    hall.seek("bob")
    hall.seek("cid", opponent="bob")
    assert await hall.until(1) == [("bob", "cid")]


async def test_a_seek_that_was_taken_back_is_not_found_by_who_names_it(hall: TournamentHostPool) -> None:
    hall.seek("ann", "first")
    hall.seek("ann", "second")
    hall.seeks.withdraw("ann", "first")
    hall.seeks.withdraw("ann", "never made")
    assert (len(hall.seeks.of("ann")), hall.seeks.holds("ann", "first")) == (1, False)
    hall.seek("bob", opponent="ann")
    assert await hall.until(1) == [("ann", "bob")]
    assert not hall.seeks.of("ann")
    assert not hall.seeks.of("bob")
    hall.seek("ann")
    hall.seeks.leave("ann")
    hall.seek("bob", "1")
    hall.seek("cid", "1")
    assert (await hall.until(2))[1] == ("bob", "cid")


async def test_all_seeks_of_two_bots_are_paired_off(hall: TournamentHostPool) -> None:
    for number in range(64):
        hall.seek("ann", str(number))
        hall.seek("bob", str(number))
    assert await hall.until(64) == [("ann", "bob")] * 64


async def test_a_bot_of_many_slots_begins_no_more_than_its_pace_allows() -> None:
    hall = TournamentHostPool(Pace(2))
    hall.seeks._most = lambda bot: 32
    for number in range(32):
        hall.seek("ann", str(number))
        hall.seek("bob", str(number))
    await hall.until(2)
    hall.seek("cid", opponent="dan")
    hall.seek("dan", opponent="cid")
    assert (await hall.until(3)) == [("ann", "bob"), ("ann", "bob"), ("cid", "dan")]


async def test_who_has_to_wait_for_its_pace_takes_no_seat_beside_an_open_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matchmaking, "ALONE", 0.0)
    monkeypatch.setattr(matchmaking, "FILL_EVERY", 0.0)
    hall = TournamentHostPool(Pace(1))
    for bot in ("ann", "bob", "cid"):
        hall.campaign(bot)
    await hall.until(1)
    hall.campaign("ann", ref="again")
    hall.campaign("dan")
    hall.open("house", game="risk-campaign")
    for number in range(2, 4):
        hall.seek("fay", str(number), opponent="gus")
        hall.seek("gus", str(number), opponent="fay")
        assert (await hall.until(number))[1:] == [("fay", "gus")] * (number - 1)
    hall.campaign("eve")
    assert (await hall.until(4))[3] == ("dan", "eve", "house")


async def test_more_bots_than_are_compared_at_once_all_meet(
    hall: TournamentHostPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matchmaking, "AT_ONCE", 4)
    names = [f"bot-{number}" for number in range(14)]
    for name in names:
        hall.seek(name)
    begun = await hall.until(7)
    assert sorted(bot for match in begun for bot in match) == sorted(names)


async def test_matches_begin_one_in_a_turn_of_the_loop(hall: TournamentHostPool) -> None:
    for number in range(20):
        hall.seek("ann", str(number), opponent="bob" if number % 2 else None)
        hall.seek("bob", str(number))
    at_once = before = 0
    async with asyncio.timeout(WITHIN):
        while len(hall.begun) < 20:
            await asyncio.sleep(0)
            at_once, before = max(at_once, len(hall.begun) - before), len(hall.begun)
    assert at_once == 1


async def test_who_seeks_much_is_in_nobodys_way_but_its_own(hall: TournamentHostPool) -> None:
    for number in range(64):
        hall.seek("ann", str(number), opponent="bob")
        hall.seek("bob", str(number), opponent="ann")
    hall.seek("cid", opponent="dan")
    hall.seek("dan", opponent="cid")
    assert ("cid", "dan") in (await hall.until(3))[:3]


async def test_seeks_that_name_an_opponent_without_end_leave_the_others_their_turn() -> None:
    class Endless(TournamentHostPool):
        def begin(self, group: Sequence[ActiveSeek]) -> None:
            super().begin(group)
            if len(self.begun) < 200:
                self.seek("ann", f"s{len(self.begun)}", opponent="bob")
                self.seek("bob", f"s{len(self.begun)}", opponent="ann")

    hall = Endless()
    hall.seek("cid")
    hall.seek("dan")
    for number in range(4):
        hall.seek("ann", f"at first {number}", opponent="bob")
        hall.seek("bob", f"at first {number}", opponent="ann")
    await hall.until(100)
    assert ("cid", "dan") in hall.begun


async def test_a_match_that_fails_to_begin_keeps_nobody_else_waiting(hall: TournamentHostPool) -> None:
    def fail(group: Sequence[ActiveSeek]) -> None:
        hall.seeks._begin = hall.begin
        raise RuntimeError("no match today")

    hall.seeks._begin = fail
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: hall.changed.set())
    hall.seek("ann")
    hall.seek("bob")
    await hall.changed.wait()
    hall.seek("cid")
    hall.seek("dan")
    assert await hall.until(1) == [("cid", "dan")]


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
    hall = TournamentHostPool()
    for number in range(waiting):
        hall.seek(f"bot-{number // 64}", str(number), opponent, heaps=[1, number] if opponent is None else [1])
    while hall.seeks._new:
        hall.seeks._look()
    hall.seek("ann", heaps=[2])
    hall.seek("bob", heaps=[2])
    look = calls(lambda: [hall.seeks._look() for _ in range(4)])
    assert hall.begun == [("ann", "bob")]
    hall.seek("ann", "again")
    leave = calls(lambda: (len(hall.seeks.of("ann")), hall.seeks.holds("ann", "again"), hall.seeks.leave("ann")))
    hall.seeks.close()
    return look, leave


@pytest.mark.parametrize("opponent", ["nobody", None], ids=["naming who is not there", "each of its own kind"])
@pytest.mark.parametrize("alone", [3600.0, 0.0], ids=["waiting for others like them", "wanting open ones"])
async def test_seeks_that_cannot_be_paired_cost_nobody_anything(
    opponent: str | None, alone: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matchmaking, "ALONE", alone)
    assert await price(900, opponent) == await price(2, opponent)


async def test_a_seek_holds_its_config_packed_and_once() -> None:
    config = {"heaps": [7] * 64}
    game = load("nim", config)
    kinds = [match_spec_of(game, rated=False), match_spec_of(load("nim", config), rated=False)]
    alive = weakref.ref(game)
    del game
    assert alive() is None, "the rules are read again when the match begins"
    assert kinds[0] is kinds[1]
    assert kinds[0].config == load("nim", config).config
    assert kinds[0] is not match_spec_of(load("nim", config), rated=True)


def test_matches_under_one_config_share_their_rules() -> None:
    config = load("risk-duel").config
    rules = rules_of("risk-duel", config)
    assert rules_of("risk-duel", dict(config)) is rules
    alive = weakref.ref(rules)
    del rules
    assert alive() is None, "rules that nobody plays by are forgotten"
