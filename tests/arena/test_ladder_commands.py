"""`arena match annul` and `arena season`, with a server running and without."""

from __future__ import annotations

import asyncio
import functools
import json
import re
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from arena.network.admission import Access
from arena.operations.administration import all_handlers
from arena.operator.changes import Annul, StartSeason
from arena.operator.client import connect_to_url
from arena.store.annulment import AnnulmentOutcome, AnnulmentPlan, annul_matches, pool_of_annulled
from arena.store.data_folder import lock
from arena.store.finish import finish_matches
from arena.store.integrity_check import check_database
from arena.store.leaderboards import leaderboard_page
from arena.store.result_queries import leaderboard_of
from arena.store.seasons import list_seasons
from arena.store.store import Store
from commands import Done, call
from databases import filled_store
from in_process import call_beside, hosting
from library import ANN, BOB, Library
from protocol.errors import UsageFault
from seasons import finish, result, season
from stored_matches import storable
from timeouts import WITHIN

TOKEN = "secret"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with three rated matches of Nim, and one that is not."""
    filled_store(tmp_path / "arena.db", play_four).close()
    return tmp_path


def play_four(store: Store) -> None:
    library = Library(store)
    for name in ("one", "two", "three"):
        library.play("nim", [ANN, BOB], match=name)
    library.play("nim", [ANN, BOB], match="friendly", rated=False)


def arena(data: Path, *words: str) -> Done:
    return call("arena", *words, "--data", str(data))


def boards(data: Path, *words: str) -> Any:
    return json.loads(arena(data, "leaderboard", "--json", *words).out)


def test_a_match_is_annulled_marked_everywhere_and_taken_back(data: Path) -> None:
    before = boards(data)
    done = arena(data, "match", "annul", "two")
    assert (done.code, done.out) == (0, "1 match annulled, and nim/classic rated anew\n")
    assert [row["played"] for row in boards(data)[0]["rows"]] == [2, 2]
    line = next(line for line in arena(data, "matches").out.splitlines() if line.startswith("two "))
    assert ", annulled " in line
    assert {one["match"]: one["annulled"] for one in json.loads(arena(data, "matches", "--json").out)} == {
        **dict.fromkeys(("one", "three", "friendly")),
        "two": "nim/classic",
    }
    shown = arena(data, "replay", "show", "two").out
    assert "\nannulled: it was rated in nim/classic, but no longer counts\n" in shown
    assert json.loads(arena(data, "replay", "show", "two", "--json").out)["annulled"] == "nim/classic"
    assert "annulled" not in arena(data, "replay", "show", "one").out
    assert arena(data, "db", "check").code == 0
    assert arena(data, "match", "annul", "two").out == "nothing to do: none of these matches is rated\n"
    done = arena(data, "match", "annul", "--undo", "--bot", "ann", "--since", "2026-01-01")
    assert done.out == "1 match counts again, and nim/classic rated anew\n"
    assert boards(data) == before
    assert arena(data, "db", "check").code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "name the matches, as `arena matches` lists them, or a bot with --bot"),
        (["one", "nine"], "there is no match 'nine': `arena matches` lists those there are"),
        (["friendly"], "not rated, so there is nothing to annul: friendly"),
        (["--bot", "eve"], "there is no bot called eve: `arena bot list` names them"),
        (["one", "--since", "2026-01-01"], "--since needs --bot: the matches of that bot that ended since then"),
        (["--bot", "ann", "--since", "May"], "--since is 'May': it is a day, 2026-01-31, or a time, 2026-01-31T12:00Z"),
    ],
)
def test_what_cannot_be_annulled_is_said_in_a_line(data: Path, words: list[str], says: str) -> None:
    before = boards(data)
    done = arena(data, "match", "annul", *words)
    assert (done.code, done.out, done.err) == (2, "", f"arena: {says}\n")
    assert boards(data) == before


def test_bots_of_one_score_share_a_place_in_the_terminal_as_on_the_page(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        finish(store, result("m1", ("ann", "bob")), result("m2", ("cid", "dan")))
        ranks = [row.rank for row in store.read(leaderboard_page, "nim/classic").rows]
    told = re.findall(r"^(\d) +\w+ ", arena(tmp_path, "leaderboard").out, re.MULTILINE)
    assert (told, ranks) == (["1", "1", "3", "3"], [1, 1, 3, 3])


def test_with_a_season_the_ladder_begins_anew_and_the_one_before_can_be_shown(data: Path) -> None:
    before = boards(data)
    done = arena(data, "season", "start", "autumn")
    assert (done.code, done.out[:23]) == (0, "season autumn has start")
    assert arena(data, "leaderboard").out == "no rated matches yet\n"
    assert boards(data, "--season", "first") == before
    assert arena(data, "leaderboard", "--season", "autumn").out == "no rated matches in season autumn\n"
    lines = arena(data, "season", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == ["season", "first", "autumn"]
    assert [one["matches"] for one in json.loads(arena(data, "season", "list", "--json").out)] == [4, 0]
    done = arena(data, "leaderboard", "--season", "spring")
    assert (done.code, done.err) == (2, "arena: there is no season 'spring': one of first, autumn\n")
    assert arena(data, "db", "check").code == 0


def test_beside_a_tournament_the_ladder_is_left_alone(data: Path) -> None:
    with lock(data):
        for words in (["match", "annul", "one"], ["season", "start", "autumn"]):
            done = arena(data, *words)
            assert (done.code, "is in use by process" in done.err) == (1, True)
    assert [row["played"] for row in boards(data)[0]["rows"]] == [3, 3]


async def test_a_running_server_knows_the_ratings_anew_while_bots_play_on(serve: Any) -> None:
    served = await serve(access=Access(operator_token=TOKEN), make_operations=all_handlers)
    first, second, start = await served.begun()
    end, _ = await _played(first, second)
    starts = await served.meet(first, second)
    assert all(seat["sigma"] < 8 for seat in starts[0]["seats"])
    async with connect_to_url(f"ws://127.0.0.1:{served.port}", TOKEN) as operator:
        done = await operator.ask(Annul(ids=[start["match"]]), AnnulmentOutcome)
        assert done == AnnulmentOutcome(matches=1, pools=["nim/classic"])
        with pytest.raises(UsageFault, match="there is no match 'nine'"):
            await operator.ask(Annul(ids=["nine"]), AnnulmentOutcome)
        for client in (first, second):
            await client.ready(starts[0])
        end, _ = await _played(first, second)
        assert all(seat["mu_before"] == 25.0 for seat in end["seats"])
        await operator.ask(Annul(bot="ann", ids=[]), AnnulmentOutcome)
        await operator.ask(Annul(bot="ann", ids=[], undo=True), AnnulmentOutcome)
        board = {row.bot: row.mu for row in served.store.read(leaderboard_of, "nim/classic")}
        start = await served.sit_down(first, second)
        assert {seat["bot"]: seat["mu"] for seat in start["seats"]} == pytest.approx(board)
        await _played(first, second)
        await operator.ask(StartSeason(name="autumn"), type(None))
    assert all(seat["mu"] == 25.0 for seat in (await served.meet(first, second))[0]["seats"])
    assert list(served.store.iterate(check_database)) == []


async def test_results_are_stored_while_ratings_are_computed_and_a_season_waits(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = await serve()
    season(served.store)
    loop, computing, go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    advance = AnnulmentPlan.advance

    def advance_slowly(annulling: AnnulmentPlan, connection: Connection) -> int:
        count = advance(annulling, connection)
        loop.call_soon_threadsafe(computing.set)
        assert go_on.wait(WITHIN)
        return count

    monkeypatch.setattr(AnnulmentPlan, "advance", advance_slowly)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(served.perform(Annul(ids=["m3"])))
        await computing.wait()
        try:
            await served.arena.store.write(finish_matches, [storable(result("later"), b"later")])
            tasks.create_task(served.perform(StartSeason(name="second")))
            for _ in range(3):  # behind which whatever the season asked for would be done
                await served.arena.store.read(list_seasons)
            assert len(served.store.read(list_seasons)) == 1
        finally:
            go_on.set()
    assert [(one.season, one.matches) for one in served.store.read(list_seasons)] == [("first", 31), ("second", 0)]
    assert served.store.read(pool_of_annulled, "m3") == "nim/classic"
    assert list(served.store.iterate(check_database)) == []


@pytest.mark.parametrize("others", [1, 100], ids=["once", "every time"])
async def test_an_annulment_is_computed_anew_when_another_node_has_decided_meanwhile(
    serve: Any, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    served = await serve()
    season(served.store)
    advance, decisions = AnnulmentPlan.advance, iter(range(others))

    def advance_beside_others(annulling: AnnulmentPlan, connection: Connection) -> int:
        if next(decisions, None) is not None:
            served.store.write(annul_matches, ["m11"], undo=served.store.read(pool_of_annulled, "m11") is not None)
        return advance(annulling, connection)

    with monkeypatch.context() as patch:
        patch.setattr(AnnulmentPlan, "advance", advance_beside_others)
        assert (await served.perform(Annul(ids=["m3"]))).matches == 1
    assert served.store.read(pool_of_annulled, "m3") == "nim/classic"
    assert list(served.store.iterate(check_database)) == []


async def _played(*clients: Any) -> list[Any]:
    return await asyncio.gather(*(client.play() for client in clients))


async def test_the_command_asks_the_server_that_runs(data: Path) -> None:
    async with hosting(data):
        annul = functools.partial(call_beside, "arena", "match", "annul", "--data", str(data))
        assert await annul("one") == (0, "1 match annulled, and nim/classic rated anew\n", "")
        unknown = "arena: there is no match 'nine': `arena matches` lists those there are\n"
        assert await annul("nine") == (2, "", unknown)
