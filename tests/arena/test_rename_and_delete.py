"""Bots that are renamed or deleted: what they keep, what is free, and what others still see of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arena.lobby.policy import LobbyPolicy
from arena.operations.names import Delete, DeletionResult, Rename
from arena.store.finish import finish_matches
from arena.store.registry import add_bots, anonymize_bot, find_registered_bot, rename_bot
from arena.store.result_queries import iter_results, leaderboard_of, match_failures
from arena.store.store import Store
from arena.store.thinning import count_removed
from arena.store.tournament_state import finish_tournament, open_tournament
from arena.store.tournaments import tournament_table
from commands import Done, call
from databases import EVERY_DATABASE
from protocol.errors import UsageFault
from referee_table import Table
from seasons import finish, result
from stored_matches import finished

pytestmark = EVERY_DATABASE

Call = Callable[..., Done]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two rated matches between ann and bob, whose records verify."""
    file = tmp_path / "arena.db"
    with closing(Store.open(file)) as store:
        for number in range(2):
            finish_one(store, f"m-{number}")
    return file


def finish_one(store: Store, match: str) -> None:
    store.write(finish_matches, [finished(Table(match=match, rated=True).begin().finish_at_random())])


@pytest.fixture
def arena(file: Path) -> Call:
    return partial(call, "arena", ARENA_DATA=str(file.parent))


def ladder(file: Path) -> dict[str, float]:
    with closing(Store.open(file)) as store:
        return {row.bot: row.mu for row in store.read(leaderboard_of, "nim/classic")}


def test_a_renamed_bot_keeps_its_results_ratings_and_token_and_all_adds_up(arena: Call, file: Path) -> None:
    with closing(Store.open(file)) as store:
        store.write(add_bots, {"ann": "ab" * 32})
    before = ladder(file)
    done = arena("bot", "rename", "ANN", "Anna")
    assert (done.code, done.err) == (0, "")
    assert done.out == "ANN is now Anna, with the same token and ratings; earlier records keep ANN\n"
    assert ladder(file) == {"Anna": before["ann"], "bob": before["bob"]}
    with closing(Store.open(file)) as store:
        known = store.read(find_registered_bot, "anna")
        assert known is not None
        assert known.token_hash == "ab" * 32
        assert store.read(find_registered_bot, "ann") is None
        finish_one(store, "m-2")  # of whoever is called ann now
    assert arena("db", "check").code == 0
    assert set(ladder(file)) == {"Anna", "ann", "bob"}
    assert "ann" in arena("replay", "show", "m-0").out


def test_a_record_of_after_a_bot_was_renamed_has_to_have_its_name(arena: Call, file: Path) -> None:
    arena("bot", "rename", "ann", "anna")
    with closing(Store.open(file)) as store:
        store.write(lambda connection: connection.exec_driver_sql("UPDATE bots SET renamed = '2020-01-01T00:00:00Z'"))
    assert arena("db", "check").out.startswith("match m-0: seat 0: bot is 'anna', the record says 'ann'")


def test_a_database_is_sound_after_a_bot_was_renamed_or_deleted_by_a_clock_that_was_set_back(
    arena: Call, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.store.registry.utc_now", lambda: "2025-12-31T23:00:00.000Z")
    with closing(Store.open(file)) as store:
        store.write(rename_bot, "ann", "anna")
        store.write(anonymize_bot, "bob")
    assert arena("db", "check").code == 0


def test_a_name_that_is_taken_or_none_is_refused_in_a_line(arena: Call, file: Path) -> None:
    for name, new, complaint in (
        ("ann", "BOB", "a bot is called BOB already: choose another name"),
        ("ann", "no spaces", "'no spaces' is not a name for a bot: 1 to 32 letters"),
        ("eve", "zoe", "there is no bot called eve: `arena bot list` names them"),
    ):
        done = arena("bot", "rename", name, new)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith(f"arena: {complaint}")
    assert arena("bot", "delete", "eve").code == 2
    assert set(ladder(file)) == {"ann", "bob"}
    assert arena("bot", "rename", "ann", "ANN").code == 0, "in other letters it is the same name"
    assert "ANN" in ladder(file)


def test_a_deleted_bot_leaves_its_results_to_its_opponents_and_its_name_to_anybody(arena: Call, file: Path) -> None:
    with closing(Store.open(file)) as store:
        store.write(add_bots, {"ann": "ab" * 32, "deleted-1": "cd" * 32})
    before = ladder(file)
    done = arena("bot", "delete", "ann")
    assert done.out.splitlines() == [
        "ann is deleted, and the name is free; its results are those of deleted-1-2",
        "records of its matches have the name: `arena bot delete deleted-1-2 --records` removes them",
    ]
    assert ladder(file) == {"deleted-1-2": before["ann"], "bob": before["bob"]}
    assert arena("db", "check").code == 0
    (row,) = (bot for bot in json.loads(arena("bot", "list", "--json").out) if bot["bot"] == "deleted-1-2")
    assert (row["token"], row["approved"], row["seen"]) == ("revoked", False, None)
    assert arena("bot", "add", "ann").code == 0
    assert arena("bot", "delete", "deleted-1-2", "--records").out.endswith("2 records of its matches removed\n")
    assert arena("db", "check").out.endswith("; 2 records were removed\n")


def test_without_a_server_it_is_refused_while_matches_wait_in_the_journal(arena: Call, file: Path) -> None:
    (file.parent / "journal").mkdir()
    (file.parent / "journal" / "m-9.jsonl").touch()
    told = f"arena: matches wait in {file.parent}/journal for the next start: start the server, and ask it\n"
    assert arena("bot", "rename", "ann", "anna") == (2, "", told)
    assert arena("bot", "delete", "ann") == (2, "", told)


def test_a_tournament_that_is_over_has_no_row_for_a_name_of_before(store: Store) -> None:
    arguments = json.dumps(
        {"bots": ["ann", "bob"], "game": "nim", "config": {}, "format": "round-robin", "rounds": 1, "paired": False}
    )
    tournament = store.write(open_tournament, arguments, "seed")[0]
    finish(store, result("m1", tournament=tournament, place=0))
    store.write(finish_tournament, tournament)
    store.write(rename_bot, "ann", "anna")
    table = store.read(tournament_table, tournament, {})
    assert table is not None
    assert [row.bot for row in table.table] == ["anna", "bob"]


async def test_a_bot_that_is_renamed_comes_in_with_its_token_under_its_new_name(serve: Any) -> None:
    served = await serve(policy=LobbyPolicy(rated_per_pair=1))
    ann, bob = await served.enter("ann"), await served.enter("bob")
    await ann.send(type="seek", id="s1", game="grundy")
    await served.perform(Rename(name="ann", new="Anna"))
    told = await ann.expect("error")
    assert told["message"] == "the operator called ann Anna: come in under that name, with the same token"
    assert await ann.closed() == 4001
    again = await served.connect()
    await again.send(type="hello", bot="anna", token=f"{'ann':*>16}")
    assert (await again.expect("welcome"))["bot"] == "Anna"
    await bob.send(type="list")
    assert sorted(bot["bot"] for bot in (await bob.expect("listing"))["bots"]) == ["Anna", "bob"]
    await served.enter("ann")


async def test_a_bot_is_not_renamed_while_it_plays_and_is_left_alone(serve: Any) -> None:
    served = await serve()
    first, _, start = await served.begun()
    with pytest.raises(UsageFault, match="ann plays in a match under way: stop it, and rename it when that is over"):
        await served.perform(Rename(name="ann", new="anna"))
    with pytest.raises(UsageFault, match="there is no bot called eve"):
        await served.perform(Rename(name="eve", new="anna"))
    await first.send(type="resign", match=start["match"])
    await first.expect("end")
    with pytest.raises(UsageFault, match="a bot is called BOB already: choose another name"):
        await served.perform(Rename(name="ann", new="BOB"))
    await first.send(type="list")
    assert len((await first.expect("listing"))["bots"]) == 2, "both are connected"
    await served.perform(Rename(name="ann", new="anna"))


async def test_a_bot_is_changed_by_one_at_a_time(serve: Any) -> None:
    served = await serve()
    await served.enter("ann")
    asked = (served.perform(Delete(name=name)) for name in ("ann", "ANN"))
    done, refused = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(done, DeletionResult)
    assert (type(refused), str(refused)) == (UsageFault, "ANN is being renamed or deleted: try again in a moment")
    await served.enter("ann")


async def test_a_bot_that_is_deleted_loses_its_matches_and_is_nobody(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun()
    loser, winner = start["seats"][0]["bot"], second
    done = await served.perform(Delete(name=loser, records=True))
    assert isinstance(done, DeletionResult)
    assert done.records == 1
    end = await winner.expect("end")
    assert end["ranks"] == [2, 1]
    assert (await first.expect("error"))["message"] == f"the operator deleted {loser}"
    stored = next(served.store.iterate(iter_results))
    assert stored.seats[0].bot == done.placeholder
    assert served.store.read(find_registered_bot, loser) is None
    assert served.store.read(count_removed) == 1
    await served.enter(loser)


async def test_a_bot_that_is_deleted_loses_a_match_for_which_others_still_get_ready(serve: Any) -> None:
    served = await serve()
    _, second, start, _ = await served.pair()
    done = await served.perform(Delete(name=start["seats"][0]["bot"]))
    assert (await second.expect("end"))["ranks"] == [2, 1]
    assert next(served.store.iterate(iter_results)).seats[0].bot == done.placeholder


def test_deleting_twice_changes_nothing(file: Path) -> None:
    with closing(Store.open(file)) as store:
        assert store.write(anonymize_bot, "ann") == store.write(anonymize_bot, "deleted-1") == "deleted-1"


def test_what_the_program_of_a_deleted_bot_said_is_forgotten_and_that_of_its_opponent_is_not(file: Path) -> None:
    failures = {0: "no file /home/ann/plan", 1: "no plan"}
    with closing(Store.open(file)) as store:
        match = finished(Table(match="m-2", rated=True).begin().finish_at_random())
        store.write(finish_matches, [match._replace(failures=failures)])
        store.write(anonymize_bot, match.result.seats[0].bot)
        assert store.read(match_failures, "m-2") == {1: "no plan"}
