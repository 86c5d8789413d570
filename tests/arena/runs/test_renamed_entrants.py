"""A planned tournament keeps in step with its bots: no result of a renamed or deleted bot goes to its old name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from arena.operations.planned_tournaments import PlannedTournaments
from arena.operator.hosted_matches import MatchOrder
from arena.store import planned, registry
from arena.store.async_store import AsyncStore
from arena.store.planned import PlanDraft, PlannedTerms, PlannedTournament
from arena.store.store import Store
from hosted_bots import hand_in, register
from hosted_orders import played_at_once
from machine.timestamps import utc_now

DELETED_NOTE = "deleted-1: its program is gone, as the bot was deleted"


class Runners:
    """Runners whose matches end when `may_play` is set."""

    def __init__(self) -> None:
        self.may_play = asyncio.Event()

    async def wait_for_slots(self, seats: int, within_s: float) -> None: ...

    async def play(self, order: MatchOrder) -> bytes:
        await self.may_play.wait()
        return await asyncio.to_thread(played_at_once, order)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[AsyncStore]:
    """The store of an arena with the hosted bots ann and bob, and a tournament of three matches that begins now."""
    register(tmp_path, "ann", "bob")
    for bot in ("ann", "bob"):
        hand_in(tmp_path, bot, "")
    with closing(Store.open(tmp_path / "arena.db")) as opened:
        store, now = AsyncStore(opened), utc_now()
        terms = PlannedTerms(game="nim", rounds=3, bots=["ANN", "bob"])
        await store.write(planned.add_plan, PlanDraft(title="Cup", terms=terms, closes=now, starts=now))
        yield store
        await store.drain()


async def find(store: AsyncStore) -> PlannedTournament:
    return await store.read(planned.find_plan, 1)


async def test_a_bot_is_renamed_only_when_its_tournament_is_over(store: AsyncStore, tmp_path: Path) -> None:
    runners = Runners()
    plans = PlannedTournaments(store, tmp_path, list, runners)  # type: ignore[arg-type]
    await plans.look()
    await plans.look()
    for rename in (registry.check_new_name, registry.rename_bot):
        with pytest.raises(registry.StillPlaying, match="ann plays in the planned tournament Cup: it can be renamed"):
            await store.write(rename, "ann", "anna")
    runners.may_play.set()
    await plans.wait()
    assert (await find(store)).state == "over"
    await store.write(registry.rename_bot, "ann", "anna")
    names = [bot.name for bot in await store.read(registry.all_bots)]
    assert names == ["anna", "bob"], "no result made a bot"


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_tournament_ends_when_one_of_its_bots_is_deleted_and_no_result_brings_the_name_back(
    store: AsyncStore, tmp_path: Path, *, is_late: bool
) -> None:
    runners = Runners()
    plans = PlannedTournaments(store, tmp_path, list, runners)  # type: ignore[arg-type]
    await plans.look()
    await plans.look()
    await store.write(registry.anonymize_bot, "ann")
    if is_late:  # a match ends before anybody looks
        runners.may_play.set()
    else:
        await plans.look()
    await plans.wait()
    assert not plans._running
    ended = await find(store)
    assert (ended.state, ended.note) == ("failed", DELETED_NOTE)
    assert [bot.name for bot in await store.read(registry.all_bots)] == ["bob", "deleted-1"]
