"""People: who is one, and that their matches are rated apart from those of bots."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from arena.lobby.seeks import ActiveSeek, match_spec_of, pool_of
from arena.operator.changes import SetPeople
from arena.replay.verify import verify_record
from arena.store import registry
from arena.store.integrity_check import check_database
from arena.store.leaderboards import find_profile, leaderboard_page, leaders_of_games, next_opponent, strongest_bots
from arena.store.rating_rebuild import rebuild_ratings
from arena.store.registry import find_registered_bot
from arena.store.result_queries import leaderboard_of, rated_pools, record_of
from arena.store.store import Store
from arena.web.strengths import strengths
from commands import call
from databases import EVERY_DATABASE
from protocol.games import load_game
from protocol.messages import Clock, Seek
from protocol.pools import is_people_pool, people_pool, preset_pool
from referee import record_reader
from seasons import finish, result
from seek_board import SeekBoard

BOTS, PEOPLE = "nim/classic", "nim/classic:people"


def seek(bot: str, *, person: bool = False, rated: bool = True, people_rated: bool = True) -> ActiveSeek:
    kind = match_spec_of(load_game("nim"), rated=rated)
    return ActiveSeek(bot, bot, "", "s", kind, frozenset(), 0.0, is_person=person, people_rated=people_rated)


@pytest.mark.parametrize(
    ("seeks", "pool"),
    [
        ([seek("ann"), seek("bob")], BOTS),
        ([seek("ann", rated=False), seek("bob", rated=False)], None),
        ([seek("ann", person=True), seek("bob")], PEOPLE),
        ([seek("ann", person=True, rated=False), seek("bob", rated=False)], PEOPLE),
        ([seek("ann", person=True), seek("bob", person=True)], PEOPLE),
        ([seek("ann", person=True), seek("bob", person=True, people_rated=False)], None),
        ([seek("ann", person=True), seek("bob", people_rated=False)], PEOPLE),
    ],
    ids=["bots", "bots unrated", "a person", "who chose a bot", "two people", "one wants it for fun", "a bot's wish"],
)
def test_a_match_with_a_person_counts_among_people_alone(seeks: list[ActiveSeek], pool: str | None) -> None:
    assert pool_of(seeks) == pool


def test_a_pool_of_people_is_named_after_that_of_bots() -> None:
    assert people_pool(BOTS) == PEOPLE
    assert (is_people_pool(PEOPLE), is_people_pool(BOTS)) == (True, False)
    assert (preset_pool(PEOPLE), preset_pool(BOTS)) == (BOTS, BOTS)
    assert load_game("nim").pools == [BOTS, PEOPLE]
    assert load_game("nim", {"heaps": [1, 2]}).pools == []


@pytest.fixture
async def played(serve: Any) -> Any:
    """An arena in which a person has played the open bot that she chose, and two bots each other."""
    served = await serve(slow_clock=Clock(bank_ms=600_000, increment_ms=0))
    house = await served.enter("house", slots=4)
    await house.send(type="seek", id="open", game="nim", open=True)
    zoe = await served.enter("zoe", person=True)
    assert zoe.passed[-1]["person"] is True
    await zoe.send(type="seek", id="s", game="nim", slow=True, opponent="house")
    start = await zoe.expect("start")
    assert (start["rated"], start["clock"]["bank_ms"]) == (True, 600_000)
    await zoe.ready(start)
    served.match = start["match"]
    end, _ = await asyncio.gather(zoe.play(), house.play())
    assert all(seat["sigma_after"] < seat["sigma_before"] for seat in end["seats"])
    first, second, _ = await served.begun()
    await asyncio.gather(first.play(), second.play())
    return served


@EVERY_DATABASE
async def test_what_people_play_is_rated_apart_and_follows_from_the_results(played: Any) -> None:
    store = played.store
    assert store.read(rated_pools) == [BOTS, PEOPLE]
    assert {(row.bot, row.person) for row in store.read(leaderboard_of, BOTS)} == {("ann", False), ("bob", False)}
    assert {(row.bot, row.person) for row in store.read(leaderboard_of, PEOPLE)} == {("zoe", True), ("house", False)}
    assert list(store.iterate(check_database)) == []
    assert store.write(rebuild_ratings) == 0
    verify_record(record_reader.read_record(store.read(record_of, played.match), played.match))


@EVERY_DATABASE
async def test_people_are_told_from_bots_wherever_they_stand(played: Any) -> None:
    store = played.store
    rows = store.read(leaderboard_page, PEOPLE).rows
    assert {row.bot: row.person for row in rows} == {"zoe": True, "house": False}
    assert store.read(find_profile, "zoe").person
    last, first = sorted(rows, key=lambda row: row.mu)
    assert store.read(next_opponent, last.bot, PEOPLE) == (None if first.person else first.bot)
    assert store.read(next_opponent, first.bot, PEOPLE) is None
    spectator = await played.connect()
    await spectator.send(type="hello")
    await spectator.send(type="list")
    listing = await spectator.expect("listing")
    assert {bot["bot"]: bot.get("person", False) for bot in listing["bots"]} == {
        "zoe": True,
        **dict.fromkeys(("house", "ann", "bob"), False),
    }


async def test_who_leads_and_how_strong_bots_are_is_told_of_bots_alone(played: Any) -> None:
    finish(played.store, result("p1", ("zoe", "house"), pool=PEOPLE))  # so that most matches are among people
    (game,) = played.store.read(leaders_of_games, 5)
    assert game.pool == BOTS
    assert {rated.pool for rated in played.store.read(strongest_bots, 5)} == {BOTS, PEOPLE}
    assert list(strengths(played.store)) == [BOTS]


async def test_a_name_that_was_rated_stays_what_it_is_until_the_operator_says_otherwise(played: Any) -> None:
    again = await played.enter("ann", person=True)
    assert "person" not in again.passed[-1]
    assert (await played.enter("zoe")).passed[-1]["person"] is True
    await played.perform(SetPeople(names=["ann"]))
    await played.perform(SetPeople(names=["zoe"], person=False))
    assert (await played.enter("ann")).passed[-1]["person"] is True
    assert "person" not in (await played.enter("zoe", person=True)).passed[-1]


@EVERY_DATABASE
async def test_until_it_is_rated_a_name_is_who_came_in_with_it_last(serve: Any) -> None:
    served = await serve()
    for person in (False, True, False):
        came = (await served.enter("ann", person=person)).passed[-1]
        assert came.get("person", False) is served.store.read(find_registered_bot, "ann").person is person
    finish(served.store, result("m1", rated=False))
    assert served.store.write(registry.claim_person, "ann", person=True)
    finish(served.store, result("m2"))
    assert not served.store.write(registry.claim_person, "ann", person=False)


async def test_a_name_that_is_deleted_or_free_again_is_nobodys(serve: Any) -> None:
    served = await serve()
    await served.enter("zoe", person=True)
    placeholder = served.store.write(registry.anonymize_bot, "zoe")
    assert not served.store.read(find_profile, placeholder).person
    await served.enter("zoe")
    assert not served.store.read(find_registered_bot, "zoe").person


async def test_a_friend_who_is_invited_is_played_for_fun(serve: Any) -> None:
    served = await serve()
    host, guest = [await served.enter(name, person=True) for name in ("zoe", "ann")]
    await host.send(type="seek", id="s", game="nim", private=True)
    await guest.send(type="seek", id="s", game="nim", opponent="zoe")
    assert (await guest.expect("start"))["rated"] is False


@pytest.mark.parametrize(("slow", "rival"), [(True, "bob"), (False, "ann")])
def test_a_person_meets_the_ladder_of_bots_only_by_its_clock(slow: bool, rival: str) -> None:
    board = SeekBoard()
    board.add("ann", Seek(id="s", game="nim"))
    board.seek("bob")
    board.add("zoe", Seek(id="s", game="nim", slow=slow), person=True)
    assert board.until(1) == [(rival, "zoe")]


def test_a_person_is_paired_by_whom_it_met_among_people() -> None:
    board = SeekBoard()
    for pool, rival in ((BOTS, "ann"), (BOTS, "ann"), (PEOPLE, "bob")):
        board.lobby.known_bots.count_encounter(pool, ["zoe", rival])
    for name in ("ann", "bob", "zoe"):
        board.add(name, Seek(id="s", game="nim"), person=name == "zoe")
    assert board.until(1) == [("ann", "zoe")]
    assert board.lobby.known_bots.encounter_counts("zoe", PEOPLE) == {"ann": 1, "bob": 1}


def test_a_person_that_had_its_matches_of_the_day_with_a_bot_among_people_meets_another() -> None:
    board = SeekBoard()
    for rival, pool in (("ann", PEOPLE), ("bob", BOTS)):
        board.lobby.known_bots.begin_rated(f"m-{rival}", pool, ("zoe", rival))
    for name in ("ann", "bob", "zoe"):
        board.add(name, Seek(id="s", game="nim"), person=name == "zoe")
    assert board.until(1) == [("bob", "zoe")]


def test_bots_beside_a_person_are_paired_by_whom_they_met_among_bots() -> None:
    board = SeekBoard()
    board.lobby.known_bots.count_encounter(BOTS, ["ann", "bob"])
    for pair in (("ann", "cid"), ("ann", "cid"), ("zoe", "ann"), ("zoe", "bob"), ("zoe", "cid")):
        board.lobby.known_bots.count_encounter(PEOPLE, pair)
    for name in ("ann", "bob", "cid", "dan", "zoe"):
        board.add(name, Seek(id="s", game="nim"), person=name == "zoe")
    assert board.until(2)[:2] == [("dan", "zoe"), ("ann", "cid")]


def test_the_operator_says_who_is_a_person_and_reads_where_people_stand(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        finish(store, result("m1"), result("p1", ("zoe", "level-2"), pool=PEOPLE))
    where = ("--data", str(tmp_path))
    assert call("arena", "bot", "person", "zoe", *where).out == "zoe: people, from the next connection on\n"
    board = call("arena", "leaderboard", "--people", *where).out
    assert (board.splitlines()[0], "zoe " in board, "level-2 (bot)" in board, "ann" in board) == (
        "nim/classic:people, by score = mu - 3 sigma",
        True,
        True,
        False,
    )
    assert "zoe" not in call("arena", "leaderboard", *where).out
    listed = json.loads(call("arena", "bot", "list", "--json", *where).out)
    assert [bot["bot"] for bot in listed if bot["person"]] == ["zoe"]
    call("arena", "bot", "person", "zoe", "--off", *where)
    assert "zoe (bot)" in call("arena", "leaderboard", "--people", *where).out


def test_the_next_above_is_by_the_rank_that_is_shown_and_not_by_the_mean_alone(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        # `once` has won a single match against a strong bot: its mean is the highest, its score is not.
        beaten = [result(f"a{number}", ("ann", "bob")) for number in range(30)]
        finish(store, *beaten, result("b", ("once", "ann")))
        rows = store.read(leaderboard_page, "nim/classic").rows
        highest = max(rows, key=lambda row: row.mu)
        assert (rows[0].bot, highest.bot) == ("ann", "once")
        above = {row.bot: store.read(next_opponent, row.bot, "nim/classic") for row in rows}
        assert above == dict(zip([row.bot for row in rows], [None, *(row.bot for row in rows)], strict=False))
