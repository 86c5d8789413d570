"""Planned tournaments are played at their times, and go on after a restart, whatever was under way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from arena.hosting.schedule import MAX_FAILURES
from arena.operations import planned_tournaments
from arena.operations.planned_tournaments import PlannedTournaments
from arena.operations.plans import checked_draft
from arena.processes.bot_commands import known_bots
from arena.runs.plan import Plan, RunTerms
from arena.store import planned
from arena.store.async_store import AsyncStore
from arena.store.bot_versions import add_version, end_check
from arena.store.database import StoreUnavailable
from arena.store.entrants import EntrantList, HostedEntrant
from arena.store.planned import STOPPED_NOTE, PlanDraft, PlannedTerms, PlannedTournament
from arena.store.registry import anonymize_bot
from arena.store.result_queries import tournament_results
from arena.store.store import Store
from arena.store.tournaments import tournaments_page
from boxes import boxed
from commands import call
from databases import asked
from hosted_bots import DETERMINISTIC_PROGRAM, hand_in, register
from machine.timestamps import utc_now
from protocol.errors import ArenaFault, UnknownGame
from protocol.games.spec import GameSpec
from registered_games import registered
from tournaments import threads

BUILTIN_BOTS = ", ".join(bot for bot in known_bots() if bot != "human")
PAST = "2026-01-01T00:00:00.000Z"


class Failing(PlannedTournaments):
    """No match of it can be played."""

    async def play_rest(self, plan: PlannedTournament) -> None:
        raise ArenaFault("the disk is full")


class Played(PlannedTournaments):
    """Its matches are over at once."""

    async def play_rest(self, plan: PlannedTournament) -> None:
        pass


class Endless(PlannedTournaments):
    """Its matches have no end."""

    async def play_rest(self, plan: PlannedTournament) -> None:
        await asyncio.Event().wait()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[AsyncStore]:
    """The store of an arena with two hosted bots."""
    register(tmp_path, "ann", "bob")
    for bot in ("ann", "bob"):
        hand_in(tmp_path, bot, DETERMINISTIC_PROGRAM)
    with closing(Store.open(tmp_path / "arena.db")) as opened:
        archive = AsyncStore(opened)
        yield archive
        await archive.drain()


async def plan(
    store: AsyncStore, closes: str, *, nightly: bool = False, late: bool = False, online: bool = False
) -> int:
    terms = PlannedTerms(game="nim", clock="300", late=late, online=online, opponents=["random"] if online else [])
    draft = PlanDraft(title="Cup", terms=terms, closes=closes, starts=closes, nightly=nightly)
    return await store.write(planned.add_plan, draft)


async def states(store: AsyncStore) -> list[str]:
    return [one.state for one in await store.read(planned.list_plans)]


@boxed
async def test_it_is_played_unrated_with_frozen_versions_by_a_server_that_restarted_after_it_began(
    store: AsyncStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_tournaments, "process_pool", threads)
    await plan(store, utc_now())
    await PlannedTournaments(store, tmp_path, tuple).look()
    assert await states(store) == ["playing"]
    restarted = PlannedTournaments(store, tmp_path, tuple)
    await restarted.look()
    await restarted.wait()
    (played,) = await store.read(planned.list_plans)
    assert (played.state, played.note) == ("over", "")
    assert played.tournament is not None
    (result,) = await store.read(tournament_results, played.tournament)
    assert (result.reason, result.rated) == ("win", False)
    (row,) = (await store.read(tournaments_page)).rows
    assert (row.finished is not None, row.arguments["title"], row.played) == (True, "Cup", 1)
    assert [one["bot"] for one in asked(tmp_path / "arena.db", "SELECT bot FROM entrants")] == [1, 2]


async def test_one_whose_bot_was_deleted_meanwhile_says_so(
    store: AsyncStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_tournaments, "check_bubblewrap", lambda user: None)
    monkeypatch.setattr("arena.runner.entrants.reserved_users", lambda count: nullcontext(range(count)))
    await plan(store, utc_now())
    plans = PlannedTournaments(store, tmp_path, tuple)
    await plans.look()
    await store.write(anonymize_bot, "ann")
    for _ in range(MAX_FAILURES):
        await plans.look()
        await plans.wait()
    await plans.look()
    (failed,) = await store.read(planned.list_plans)
    assert (failed.state, failed.note) == ("failed", "deleted-1: its program is gone, as the bot was deleted")


async def test_one_whose_game_was_removed_meanwhile_does_not_begin(store: AsyncStore, tmp_path: Path) -> None:
    removed = GameSpec("dibs", "referee_table", "referee_table:Dibs", offered=False)
    with registered(removed):
        draft = PlanDraft(title="Cup", terms=PlannedTerms(game="dibs", config={}), closes=PAST, starts=PAST)
        with pytest.raises(UnknownGame, match="dibs was removed by the operator"):
            checked_draft(draft)
        await store.write(planned.add_plan, draft)
        await Failing(store, tmp_path, tuple).look()
    (failed,) = await store.read(planned.list_plans)
    assert (failed.state, failed.note) == ("failed", "dibs was removed by the operator: no new matches begin")


async def test_one_that_the_operator_stops_is_played_no_longer_and_the_next_begins(
    store: AsyncStore, tmp_path: Path
) -> None:
    first, _ = await plan(store, utc_now()), await plan(store, utc_now())
    plans = Endless(store, tmp_path, tuple)
    await plans.look()
    await plans.look()
    assert await states(store) == ["playing", "waiting"]
    stopped = call("arena", "plan", "remove", str(first), "--data", str(tmp_path))
    assert stopped.out == "plan 1, Cup, is stopped: its matches so far are kept\n"
    await plans.look()
    await plans.wait()
    await plans.look()
    assert await states(store) == ["failed", "playing"]
    (failed, _) = await store.read(planned.list_plans)
    assert failed.note == STOPPED_NOTE


async def test_one_that_can_not_be_played_is_given_up_with_the_reason(store: AsyncStore, tmp_path: Path) -> None:
    await plan(store, utc_now())
    plans = Failing(store, tmp_path, tuple)
    for _ in range(1 + MAX_FAILURES):
        await plans.look()
        await plans.wait()
        assert await states(store) == ["playing"]
    await plans.look()
    (failed,) = await store.read(planned.list_plans)
    assert (failed.state, failed.note) == ("failed", "the disk is full")


async def test_one_waits_for_a_database_that_can_not_be_written_and_is_not_given_up(
    store: AsyncStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals: dict[Any, int] = {planned.begin_plan: 1, planned.end_plan: MAX_FAILURES + 1}
    write = store.write

    async def refuse(change: Any, *words: Any) -> Any:
        if refusals.get(change):
            refusals[change] -= 1
            raise StoreUnavailable("database or disk is full")
        return await write(change, *words)

    await plan(store, utc_now())
    monkeypatch.setattr(store, "write", refuse)
    plans = Played(store, tmp_path, tuple)
    await plans.look()
    assert await states(store) == ["waiting"]
    for _ in range(MAX_FAILURES + 3):
        await plans.look()
        await plans.wait()
    assert await states(store) == ["over"]


async def test_once_a_server_stops_no_further_program_is_built(
    store: AsyncStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_tournaments, "check_bubblewrap", lambda user: None)
    loop, builds, stops = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    built: list[str] = []

    @contextmanager
    def build(plan: Plan, entrants: Sequence[HostedEntrant], folder: Path, read: Any, *_: Any) -> Iterator[Plan]:
        for entrant in entrants:
            asyncio.run(read(entrant.digest))
            built.append(entrant.bot)
            loop.call_soon_threadsafe(builds.set)
            stops.wait()
        yield plan

    monkeypatch.setattr(planned_tournaments, "built_plan", build)
    await plan(store, utc_now())
    plans = PlannedTournaments(store, tmp_path, tuple)
    await plans.look()
    await plans.look()
    await builds.wait()
    (playing,) = plans._running.values()
    playing.cancel()
    stops.set()
    await plans.wait()
    assert built == ["ann"]


async def test_bots_that_came_after_the_deadline_enter_if_that_was_planned_and_are_marked(
    store: AsyncStore, tmp_path: Path
) -> None:
    await plan(store, PAST, late=True)
    await PlannedTournaments(store, tmp_path, tuple).look()
    (row,) = (await store.read(tournaments_page)).rows
    assert {bot: one["late"] for bot, one in row.arguments["hosted"].items()} == {"ann": True, "bob": True}


async def test_of_those_online_only_they_enter_that_were_so_as_entries_closed_once_bots_are_back_after_a_start(
    store: AsyncStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await plan(store, utc_now(), online=True, nightly=True)
    online = ["ann", "connected"]
    await PlannedTournaments(store, tmp_path, lambda: online).look()
    (waiting,) = await store.read(planned.list_plans)
    assert (waiting.state, waiting.terms.online_bots) == ("waiting", None)
    monkeypatch.setattr(planned_tournaments, "ONLINE_SETTLE_S", 0.0)
    plans = PlannedTournaments(store, tmp_path, lambda: online)
    await plans.look()
    online.append("bob")
    await plans.look()
    begun, following = await store.read(planned.list_plans)
    assert (begun.state, begun.note) == ("playing", "bob was not online when entries closed: it does not enter")
    assert following.terms.online_bots is None
    (row,) = (await store.read(tournaments_page)).rows
    assert list(row.arguments["hosted"]) == ["ann"]


async def test_one_that_can_not_begin_for_an_unknown_reason_is_given_up_and_the_others_go_on(
    store: AsyncStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def make_terms(plan: PlannedTournament, entrants: EntrantList) -> RunTerms:
        if plan.id == 1:
            raise KeyError("Cup")
        return make_terms_of(plan, entrants)

    make_terms_of = planned_tournaments.make_terms
    monkeypatch.setattr(planned_tournaments, "make_terms", make_terms)
    await plan(store, PAST, nightly=True)
    await plan(store, utc_now())
    plans = PlannedTournaments(store, tmp_path, tuple)
    for _ in range(MAX_FAILURES):
        await plans.look()
    assert await states(store) == ["waiting", "waiting"]
    await plans.look()
    failed, begun, following = await store.read(planned.list_plans)
    assert (failed.state, failed.note) == ("failed", "it failed several times: KeyError: 'Cup'")
    assert (begun.state, following.state) == ("playing", "waiting")
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert errors == ["the tournament Cup can't begin: KeyError: 'Cup'"] * MAX_FAILURES


async def test_it_waits_for_the_check_of_what_was_handed_in_in_time(store: AsyncStore, tmp_path: Path) -> None:
    version = await store.write(add_version, "ann", "a" * 64, b"", '{"games": ["nim"]}')
    await plan(store, utc_now())
    plans = PlannedTournaments(store, tmp_path, tuple)
    await plans.look()
    assert await states(store) == ["waiting"]
    await store.write(end_check, version.id, passed=False, report="")
    await plans.look()
    assert await states(store) == ["playing"]


async def test_one_without_entrants_can_not_begin_and_the_next_night_is_planned(
    store: AsyncStore, tmp_path: Path
) -> None:
    terms = PlannedTerms(game="tictactoe")
    await store.write(planned.add_plan, PlanDraft(title="None", terms=terms, closes=PAST, starts=PAST))
    await PlannedTournaments(store, tmp_path, tuple).look()
    (unknown,) = await store.read(planned.list_plans)
    assert unknown.note == "a tournament needs two bots or more: 0 entered; no hosted bot plays tictactoe"
    await plan(store, PAST, nightly=True)
    await PlannedTournaments(store, tmp_path, tuple).look()
    failed, following = sorted(await store.read(planned.list_plans), key=lambda one: one.id)[1:]
    assert failed.state == "failed"
    assert failed.note.startswith("a tournament needs two bots or more: 0 entered; ann, version 1, was handed in at")
    assert (following.state, following.nightly, following.title) == ("waiting", True, "Cup")
    assert following.closes == following.starts > utc_now()
    assert following.starts.endswith("T00:00:00.000Z")


def test_a_plan_is_added_listed_shown_and_removed_by_commands(tmp_path: Path) -> None:
    register(tmp_path, "ann")
    data = ["--data", str(tmp_path)]
    words = ["--game", "nim", "--closes", "2100-12-24", "--starts", "2100-12-25T08:00+01:00", "--with", "random"]
    told = call("arena", "plan", "add", "Cup", *words, *data)
    assert told.out.splitlines()[0] == (
        "plan 1: Cup begins at 2100-12-25T07:00:00.000Z; entries close at 2100-12-25T00:00:00.000Z"
    )
    assert "arena serve --runners N" in told.out
    listed = call("arena", "plan", "list", *data).out
    assert listed.splitlines()[1].split() == [
        "1",
        "Cup",
        "nim",
        "2100-12-25",
        "00:00",
        "2100-12-25",
        "07:00",
        "waiting",
    ]
    assert listed.splitlines()[2:] == [
        "plan 1: starts 2100-12-25 07:00; round-robin, 1 round, 10+0.1; with random; on runners, if there are any"
    ]
    hand_in(tmp_path, "ann", "# ann")
    shown = call("arena", "plan", "show", "1", *data).out.splitlines()
    assert shown[0] == "plan 1: Cup, nim, waiting; entries close at 2100-12-25T00:00:00.000Z"
    assert shown[1] == listed.splitlines()[2].removeprefix("plan 1: ")
    assert shown[3].split()[:3] == ["ann", "v1", "v1"]
    assert call("arena", "plan", "remove", "1", *data).out == "plan 1, Cup, is removed\n"
    assert call("arena", "plan", "list", *data).out == "no tournaments are planned\n"
    assert call("arena", "plan", "remove", "1", *data).err == "arena: there is no plan 1: `arena plan list` has them\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--closes", "soon"], "--closes is 'soon': it is a day, 2026-01-31, or a time, 2026-01-31T12:00Z"),
        (
            ["--closes", "2100-12-24", "--starts", "2100-12-24"],
            "it starts at 2100-12-24T00:00:00.000Z, before the entries close at 2100-12-25T00:00:00.000Z: "
            "it starts then or later",
        ),
        (
            ["--closes", "2100-12-24", "--format", "cup"],
            "there is no format 'cup': one of round-robin, gauntlet, swiss",
        ),
        (
            ["--closes", "2026-01-01T08:00Z"],
            "it starts at 2026-01-01T08:00:00.000Z, and now it is 2026-11-29T12:00:00.000Z: it starts now or later",
        ),
        (["--closes", "2100-12-24", "--rounds", "0"], "the number of rounds is 0: it is 1 to 100000"),
        (
            ["--closes", "2100-12-24", "--with", "a=greedy", "--bot", "A"],
            "two bots are called 'a': give one another name, like a-2=BOT",
        ),
        (
            ["--closes", "2100-12-24", "--set", "depth=3"],
            "--set depth: write it with the opponent, like alphabeta:depth=4",
        ),
        *(
            (["--closes", "2100-12-24", "--with", word], f"there is no built-in bot {bot!r}: one of {BUILTIN_BOTS}")
            for word, bot in (("x=touch file", "touch file"), ("x=/bin/sh", "/bin/sh"), ("human", "human"))
        ),
    ],
)
def test_a_plan_that_can_not_be_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.setattr("arena.operations.plans.utc_now", lambda: "2026-11-29T12:00:00.000Z")
    register(tmp_path)
    told = call("arena", "plan", "add", "Cup", "--game", "nim", *words, "--data", str(tmp_path))
    assert told == (2, "", f"arena: {said}\n")


def test_on_a_narrow_terminal_the_list_keeps_titles_whole_and_wraps_what_is_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(tmp_path)
    terms = PlannedTerms(game="risk-campaign", online=True, opponents=["random", "greedy"], bots=["ann"])
    draft = PlanDraft(title="Nightly cup", terms=terms, closes=PAST, starts=PAST, nightly=True)
    with closing(Store.open(tmp_path / "arena.db")) as store:
        store.write(planned.add_plan, draft)
        (plan,) = store.read(planned.list_plans)
        note = "ann, version 1, was handed in after the deadline " * 3
        store.write(planned.begin_plan, plan, '{"game":"nim"}', "{}", [], note, None)
    monkeypatch.setattr("arena.commands.plans.terminal_columns", lambda: 80)
    lines = call("arena", "plan", "list", "--data", str(tmp_path)).out.splitlines()
    assert max(map(len, lines)) <= 80
    assert ["Nightly cup" in line for line in lines[:2]] == [False, True]
    assert lines[2].startswith("plan 1: started 2026-01-01 00:00, nightly; round-robin, 1 round")
