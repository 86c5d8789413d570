"""An entrant whose program can't be built forfeits its matches. The others play on, and the operator is told why."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from unittest.mock import AsyncMock

from msgspec.structs import replace

from arena.operations.planned_tournaments import PlannedTournaments
from arena.operator.hosted_matches import HostedSeat, MatchOrder
from arena.runner.box import Boxes
from arena.runner.tournament_match import play_order
from arena.runner.version_cache import VersionCache
from arena.runs.hosted_players import pack_report, unpack_report
from arena.store import planned
from arena.store.async_store import AsyncStore
from arena.store.plan_entrants import report_plan
from arena.store.planned import PlannedTerms
from arena.store.result_queries import tournament_results
from arena.store.store import Store
from hosted_bots import hand_in, register
from hosted_orders import ORDER, played_at_once
from machine.timestamps import utc_now
from protocol.bot_launch import BotSpec

WHY = "version 1 can't be built here: javac Ann.java ended with exit code 127: sh: javac: not found"
TOLD = (
    f"ann forfeited 2 of its 2 matches: {WHY}; install what it needs where the tournament is played, "
    "or plan it again with a --bot for each of the others"
)


async def test_on_a_runner_its_opponent_wins_and_the_report_says_why(tmp_path: Path) -> None:
    boxes = Boxes(memory_mib=64)
    versions = VersionCache(tmp_path, boxes, AsyncMock(return_value=b"no zip"))
    random = HostedSeat(bot="random", specified=BotSpec(name="random", bot="random", seed=""))
    order = replace(ORDER, seats=[ORDER.seats[0], random])
    report = unpack_report(await play_order(order, versions, boxes, [0, 1], tmp_path), order.match)
    assert [(seat.bot, seat.rank, seat.reason) for seat in report.result.seats] == [
        ("ann", 2, "no_show"),
        ("random", 1, "win"),
    ]
    assert list(report.failures) == [0]
    assert report.failures[0].startswith("version 1 can't be built here: it is no longer what its author handed in")


class Runners:
    """Runners on which the program of ann can't be built."""

    async def wait_for_slots(self, seats: int, within_s: float) -> None: ...

    async def play(self, order: MatchOrder) -> bytes:
        report = unpack_report(await asyncio.to_thread(played_at_once, order), order.match)
        failures = {at: WHY for at, seat in enumerate(order.seats) if seat.bot == "ann"}
        seats = [replace(seat, moves=0) if seat.bot == "ann" else seat for seat in report.result.seats]
        closed = replace(report.closed, result=replace(report.result, seats=seats))
        return pack_report(report._replace(closed=closed, failures=failures))


async def test_a_plan_is_played_to_its_end_and_names_it_also_while_it_is_played(tmp_path: Path) -> None:
    register(tmp_path, "ann", "bob")
    for bot in ("ann", "bob"):
        hand_in(tmp_path, bot, "")
    with closing(Store.open(tmp_path / "arena.db")) as opened:
        store, now = AsyncStore(opened), utc_now()
        draft = planned.PlanDraft(title="Cup", terms=PlannedTerms(game="nim", rounds=2), closes=now, starts=now)
        await store.write(planned.add_plan, draft)
        plans = PlannedTournaments(store, tmp_path, list, Runners())  # type: ignore[arg-type]
        await plans.look()
        await plans.look()
        await plans.wait()
        (played,) = await store.read(planned.list_plans)
        assert (played.state, played.note) == ("over", TOLD)
        playing = replace(played, state=planned.PLAYING, note="")
        assert (await store.read(report_plan, playing)).notes == [TOLD]
        assert len(await store.read(tournament_results, played.tournament or "")) == 2
        await store.drain()
