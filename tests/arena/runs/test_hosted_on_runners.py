"""Runners play tournaments of hosted bots: planned ones, and those of `arena tournament --hosted --on-runners`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from arena.hosting.fleet import Fleet, RunnerJoined
from arena.operations import planned_tournaments
from arena.operations.planned_tournaments import PlannedTournaments, _is_for_runners
from arena.operator.hosted_matches import MatchOrder, PlayMatch, ReportMatch
from arena.operator.status import ServerStatus, StatusRequest
from arena.runs.contestants import Contestant, parse_contestants
from arena.runs.hosted_players import RunnerPlayers, make_order, make_seats, pack_report, plan_of_order, unpack_report
from arena.server.hosted_matches import HostedMatches
from arena.store import planned
from arena.store.async_store import AsyncStore
from arena.store.bot_versions import change_hosting
from arena.store.entrants import HostedEntrant, tournaments_of_bot
from arena.store.planned import PlannedTerms
from arena.store.result_queries import tournament_results
from arena.store.store import Store
from commands import call
from hosted_bots import hand_in, register
from hosted_orders import ORDER, played_at_once
from hosted_runner import joined
from in_process import call_beside, hosting
from machine.timestamps import utc_now
from plans import plan
from protocol.errors import ArenaFault, UsageFault
from timeouts import WITHIN

ENTRANTS = [HostedEntrant(bot=bot, number=1, digest=digest * 64, since="") for bot, digest in (("a", "1"), ("b", "2"))]
RANDOM = parse_contestants(["random"], {}, min_bots=0)[0]


class Runners:
    """Runners that play each match at once, but for the matches at the places of `held`, which never end."""

    def __init__(self, *held: int) -> None:
        self.held = held
        self.orders: list[MatchOrder] = []
        self.all_held = asyncio.Event()

    async def wait_for_slots(self, seats: int, within_s: float) -> None: ...

    async def play(self, order: MatchOrder) -> bytes:
        self.orders.append(order)
        if order.place not in self.held:
            return await asyncio.to_thread(played_at_once, order)
        self.held = tuple(place for place in self.held if place != order.place)
        if not self.held:
            self.all_held.set()
        await asyncio.Event().wait()
        raise AssertionError


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[AsyncStore]:
    """The store of an arena with two hosted bots."""
    register(tmp_path, "ann", "bob")
    for bot in ("ann", "bob"):
        hand_in(tmp_path, bot, "")
    with closing(Store.open(tmp_path / "arena.db")) as opened:
        archive = AsyncStore(opened)
        yield archive
        await archive.drain()


async def test_a_plan_goes_on_after_a_restart_and_no_match_counts_twice(store: AsyncStore, tmp_path: Path) -> None:
    terms, now = PlannedTerms(game="nim", rounds=3, opponents=["random"]), utc_now()
    draft = planned.PlanDraft(title="Cup", terms=terms, closes=now, starts=now, nightly=False)
    await store.write(planned.add_plan, draft)
    first = Runners(4, 7)
    plans = PlannedTournaments(store, tmp_path, list, first)  # type: ignore[arg-type]
    await plans.look()
    await plans.look()
    await asyncio.wait_for(first.all_held.wait(), WITHIN)
    for task in plans._running.values():
        task.cancel()
    await plans.wait()
    second = Runners()
    restarted = PlannedTournaments(store, tmp_path, list, second)  # type: ignore[arg-type]
    await restarted.look()
    await restarted.wait()
    (played,) = await store.read(planned.list_plans)
    assert (played.state, played.note) == ("over", "")
    assert played.tournament is not None
    results = await store.read(tournament_results, played.tournament)
    assert sorted(result.place for result in results if result.place is not None) == list(range(9))
    assert {4, 7} <= {order.place for order in second.orders}
    again = {order.place: order for order in second.orders}
    assert [again[order.place] for order in first.orders if order.place in again] == [
        order for order in first.orders if order.place in again
    ], "with the same dice"


@pytest.mark.parametrize(
    ("on_runners", "slots", "bots", "is_for_runners"),
    [
        (None, 2, [RANDOM], True),
        (None, 1, [RANDOM], False),
        (None, 2, [RANDOM, Contestant("mine", ("./mine",))], False),
        (True, 1, [RANDOM], True),
        (False, 2, [RANDOM], False),
    ],
    ids=["there are", "there are none", "they can not run it", "wanted", "not wanted"],
)
async def test_runners_play_a_plan_if_it_says_so_or_if_they_can_when_they_have_joined(
    on_runners: bool | None,
    slots: int,
    bots: list[Contestant],
    is_for_runners: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planned_tournaments, "RUNNER_JOIN_TIMEOUT_S", 60.0 if is_for_runners else 0.0)
    fleet, terms = Fleet(), PlannedTerms(game="nim", on_runners=on_runners)
    matches = HostedMatches(fleet, lambda event: None)
    found = asyncio.create_task(_is_for_runners(terms, matches, plan(contestants=tuple(bots))))
    await asyncio.sleep(0)
    fleet.receive(RunnerJoined(1, slots), 0.0)
    matches.on_runner_joined()
    assert await found is is_for_runners


@pytest.mark.parametrize("changes", [{}, {"paired": True}, {"stem": "t0", "prefix": "t9"}])
def test_a_match_has_the_same_header_and_dice_and_its_bots_the_same_seeds_wherever_it_is_played(
    changes: dict[str, Any],
) -> None:
    contestants = (*(Contestant(bot, (), reference=True) for bot in "ab"), RANDOM)
    here = plan(contestants=contestants, game="risk-campaign", rated=False, **changes)
    seats = make_seats(here, ENTRANTS)
    for pairing in here.schedule([]):
        there, same = plan_of_order(make_order(here, pairing, seats))
        assert there.header_of(same, "", str.upper) == here.header_of(pairing, "", str.upper)
        assert [there.bot_seed(bot) for bot in there.names] == [here.bot_seed(bot) for bot in pairing.seats]


def test_a_bot_that_runners_do_not_have_is_refused_and_so_is_the_report_of_another_match() -> None:
    with pytest.raises(UsageFault, match="mine: runners play hosted bots and built-in ones"):
        make_seats(plan(contestants=(RANDOM, Contestant("mine", ("./mine",)))), ENTRANTS)
    with pytest.raises(UsageFault, match="the match of an order is t2-00000: its plan calls it 't1-00000'"):
        plan_of_order(replace(ORDER, match="t2-00000"))
    with pytest.raises(ArenaFault, match="the report of t1-00000 for the match t1-00001"):
        unpack_report(played_at_once(ORDER), "t1-00001")
    with pytest.raises(ArenaFault, match="unreadable report"):
        unpack_report(b"odd", "t1-00000")


def test_what_a_program_wrote_that_failed_is_in_the_log_of_its_tournament(tmp_path: Path) -> None:
    async def play(order: MatchOrder) -> bytes:
        report = unpack_report(played_at_once(order), order.match)
        output = (("a", b"KeyError: 3\n"), ("../a", b"odd"))
        return pack_report(report._replace(failures={0: "it crashed"}, output=output))

    here = plan(contestants=tuple(Contestant(bot, (), reference=True) for bot in "ab"), rated=False)
    players = RunnerPlayers(here, ENTRANTS, tmp_path / "logs", play)
    report = asyncio.run(players.play_match(here.schedule([])[0]))
    assert report.failures == {0: "it crashed"}
    assert [(file.name, file.read_text()) for file in tmp_path.rglob("*.log")] == [("a.log", "KeyError: 3\n")]


async def test_a_command_has_the_runners_of_a_server_play_and_resumes(tmp_path: Path, store: AsyncStore) -> None:
    for bot in ("ann", "bob"):
        await store.write(change_hosting, bot, number=None, games=None, paused=True)
    words = ["arena", "tournament", "--hosted", "--game", "nim", "--seed", "7", "--rounds", "2", "--on-runners"]
    words += ["--data", str(tmp_path / "final"), "--json", str(tmp_path / "final.json")]
    async with hosting(tmp_path, "--hosting", "--web-port", "0") as arena:
        playing = asyncio.create_task(call_beside(*words, "--server", str(tmp_path)))
        async with joined(arena, slots=2) as lost:
            first = (await lost.next(PlayMatch)).order
            status = (await lost.ask(StatusRequest(), ServerStatus)).hosting
        async with joined(arena, slots=2) as runner:
            for _ in range(2):
                order = (await runner.next(PlayMatch)).order
                report = await asyncio.to_thread(played_at_once, order)
                assert order.place > 0 or order == first, "the match of the lost runner comes first, as it was"
                await runner.ask(ReportMatch(runner=runner.number, match=order.match, report=report))
        done = await playing
        assert done.code == 0, done.err
        again = await call_beside(*words, "--server", str(tmp_path))
        assert (again.code, "2 of 2 matches were played before" in again.err) == (0, True)
    assert status is not None
    assert [one.tournaments for one in status.runners] == [{first.match: first.tournament}]
    content = json.loads((tmp_path / "final.json").read_text())
    assert await store.read(tournaments_of_bot, "ann") == [content["tournament"]], "the arena keeps its version"
    assert [match["reason"] for match in content["matches"]] == ["win", "win"]
    verified = call("arena", "replay", "verify", "--data", str(tmp_path / "final"))
    assert verified.code == 0, verified.out


def test_without_a_server_it_is_said_where_the_runners_are_to_be(tmp_path: Path) -> None:
    words = ["arena", "tournament", "--hosted", "--on-runners", "--game", "nim", "--data", str(tmp_path)]
    said = "arena: --on-runners needs --server, the data folder or the URL of the arena with the runners\n"
    assert call(*words) == (2, "", said)


@pytest.mark.parametrize(("words", "on_runners"), [(["--on-runners"], True), (["--on-server"], False), ([], None)])
def test_a_plan_says_who_plays(tmp_path: Path, words: list[str], on_runners: bool | None) -> None:
    register(tmp_path)
    added = call(
        "arena", "plan", "add", "Cup", "--game", "nim", "--closes", "2100-12-24", *words, "--data", str(tmp_path)
    )
    assert added.code == 0, added.err
    (listed,) = json.loads(call("arena", "plan", "list", "--json", "--data", str(tmp_path)).out)
    assert listed["terms"].get("on_runners") is on_runners


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--hosting"], []),
        ([], ["the server hosts no bots, so it does not play it: restart it with --runners N, or --hosting"]),
    ],
)
async def test_it_is_said_that_the_server_does_not_play_what_is_planned(
    tmp_path: Path, options: list[str], said: list[str]
) -> None:
    async with hosting(tmp_path, *options):
        words = ["--game", "nim", "--closes", "2100-12-24", "--data", str(tmp_path)]
        added = await call_beside("arena", "plan", "add", "Cup", *words)
    assert added.out.splitlines()[1:] == said
