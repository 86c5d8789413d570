"""Which matches are rated: so many of a pair in a day, and of whom the operator approved."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from arena.lobby.events import BotLoaded, MatchRated, RatingsReloaded
from arena.lobby.known_bots import KnownBots
from arena.lobby.ladder_pairing import Seeker, group_seekers
from arena.lobby.policy import LobbyPolicy
from arena.server.bot_loader import BotLoader
from arena.store.annulment import annul_matches
from arena.store.async_store import AsyncStore
from arena.store.finish import finish_matches
from arena.store.registry import add_bots, approve_bots, register_bot
from arena.store.store import Store
from databases import EVERY_DATABASE
from machine.timestamps import parse_timestamp, utc_now
from machine.units import DAY_S
from referee.result import Result, SeatResult
from stored_matches import storable

pytestmark = EVERY_DATABASE

POOL = "nim/classic"
NOW = 1_000_000.0


@pytest.fixture
async def archive(tmp_path: Path) -> AsyncIterator[AsyncStore]:
    store = Store.open(tmp_path / "arena.db")
    archive = AsyncStore(store)
    yield archive
    await archive.drain()
    store.close()


def result(
    match: str, bots: Sequence[str] = ("Ann", "bob"), *, pool: str | None = POOL, ago: float = 0.0, **more: Any
) -> Result:
    return Result(
        match=match,
        game="nim",
        config={"heaps": [3, 5, 7]},
        rated=pool is not None,
        pool=pool,
        seats=tuple(SeatResult(bot=bot, version="", rank=rank, reason="win") for rank, bot in enumerate(bots, 1)),
        reason="win",
        plies=7,
        digest="ab" * 32,
        started=utc_now(days_ago=ago / DAY_S),
        finished=utc_now(days_ago=ago / DAY_S),
        **more,
    )


async def stored(archive: AsyncStore, *results: Result) -> None:
    await archive.write(finish_matches, [storable(done) for done in results])


def test_a_time_is_read_back() -> None:
    assert parse_timestamp("1970-01-02T00:00:00.500Z") == 86400.5
    assert 59 < parse_timestamp(utc_now()) - parse_timestamp(utc_now(days_ago=60 / DAY_S)) < 61


def known_bots(**policy: Any) -> KnownBots:
    return KnownBots(LobbyPolicy(**policy))


def end(known: KnownBots, match: str, bots: tuple[str, ...] = ("ann", "bob"), now: float = NOW) -> None:
    known.end_rated(MatchRated(match, POOL, bots, ((25.0, 8.0),) * len(bots)), now)


def test_a_pair_is_rated_so_often_in_a_pool_and_a_day() -> None:
    now, known = NOW, known_bots(rated_per_pair=2)
    end(known, "m1")
    end(known, "m1")
    assert known.is_rated(POOL, ["ann", "bob"], now)
    now += 60
    end(known, "m2", ("bob", "ann"), now)
    assert not known.is_rated(POOL, ["ann", "bob"], now)
    assert not known.is_rated(POOL, ["cid", "bob", "ann"], now)
    assert known.is_rated("nim/sticks", ["ann", "bob"], now)
    assert (known.opponents_at_limit("ann", POOL, now), known.opponents_at_limit("cid", POOL, now)) == ({"bob"}, ())
    for pool in ("nim/sticks", None):
        assert known.opponents_at_limit("ann", pool, now) == ()
    now += DAY_S - 59
    assert known.is_rated(POOL, ["ann", "bob"], now)
    assert not known.opponents_at_limit("ann", POOL, now)


def test_what_is_under_way_counts_also_after_ratings_were_read_anew() -> None:
    known = known_bots(rated_per_pair=1)
    known.load(BotLoaded("ann", {}, has_history=True))
    known.begin_rated("m1", POOL, ("ann", "bob"))
    known.reload(RatingsReloaded("ann", {}))
    assert not known.is_rated(POOL, ["ann", "bob"], NOW)
    for bot, other in (("ann", "bob"), ("bob", "ann")):
        assert known.opponents_at_limit(bot, POOL, NOW) == {other}


def test_a_match_that_ends_without_ratings_counts_no_more() -> None:
    known = known_bots(rated_per_pair=1)
    known.begin_rated("m1", POOL, ("ann", "bob"))
    known.end_unrated("another")
    assert not known.is_rated(POOL, ["ann", "bob"], NOW)
    known.end_unrated("m1")
    assert known.is_rated(POOL, ["ann", "bob"], NOW)
    known.reload(RatingsReloaded("ann", {}))
    assert known.is_rated(POOL, ["ann", "bob"], NOW)


def test_without_a_limit_nothing_is_counted() -> None:
    known = known_bots()
    for number in range(100):
        end(known, f"m{number}")
    assert known.is_rated(POOL, ["ann", "bob"], NOW)
    assert known.may_be_rated("anybody")


def test_a_bot_that_is_renamed_was_met_as_often_as_before_and_by_nobody_else() -> None:
    known = known_bots(rated_per_pair=1)
    for bots in (("ann", "bob"), ("ann", "cid")):
        known.count_encounter(POOL, bots)
        end(known, f"m-{bots[1]}", bots)
    known.rename("ann", "ann")  # in other letters
    known.rename("ann", "anna")
    known.rename("bob", "bert")
    assert (known.encounter_counts("bob", POOL), known.encounter_counts("cid", POOL)) == ({}, {"anna": 1})
    assert known.opponents_at_limit("cid", POOL, NOW) == {"anna"}


# What is read from the store


async def load(archive: AsyncStore, known: KnownBots, *bots: str) -> None:
    loader = BotLoader(archive, known)
    for bot in bots:
        known.load(await loader.load(bot))


async def test_what_was_played_before_the_start_counts(archive: AsyncStore) -> None:
    matches = [
        result("now"),
        result("long ago", ago=DAY_S + 60),
        result("unrated", pool=None),
        result("tournament", tournament="t", place=0),
        result("of three", ("cid", "ann", "bob"), ago=60),
    ]
    await stored(archive, *matches)
    known, now = known_bots(rated_per_pair=2), asyncio.get_running_loop().time()
    await load(archive, known, "Ann", "bob", "cid")
    assert not known.is_rated(POOL, ["ann", "bob"], now)
    assert known.is_rated(POOL, ["ann", "cid"], now)
    end(known, "now", now=now)
    end(known, "more", ("ann", "cid"), now)
    assert not known.is_rated(POOL, ["ann", "cid"], now)


async def test_whom_a_bot_met_before_the_start_is_known_once_it_comes_in(archive: AsyncStore) -> None:
    await stored(archive, result("m1"), result("m2", ("bob", "ann")), result("m3", ("ann", "cid"), pool=None))
    known = known_bots()
    await load(archive, known, "Ann", "bob", "ANN")
    assert (known.encounter_counts("ann", "nim/unrated"), known.total_encounters("ann", "nim/unrated")) == ({}, 1)
    await load(archive, known, "cid")
    known.count_encounter(POOL, ["ann", "bob"])
    assert (known.encounter_counts("ann", POOL), known.encounter_counts("ann", "nim/unrated")) == (
        {"bob": 3},
        {"cid": 1},
    )
    assert known.encounter_counts("bob", POOL) == {"ann": 3}


async def test_bots_are_read_anew_once_more_however_often_that_is_asked_for_meanwhile(archive: AsyncStore) -> None:
    known = known_bots(rated_per_pair=1)
    loader = BotLoader(archive, known)
    known.load(await loader.load("ann"))

    async def reload() -> list[str]:
        return [event.bot async for event in loader.reload()]

    found = await asyncio.gather(*(reload() for _ in range(5)))
    assert [bot for bots in found for bot in bots] == ["ann", "ann"]


async def test_only_approved_bots_are_rated_where_the_operator_wants_it_so(archive: AsyncStore) -> None:
    await archive.write(add_bots, {"Ann": "a" * 64})
    await archive.write(register_bot, "bob", "b" * 64)
    known = known_bots(approved_only=True)
    await load(archive, known, "ann", "bob")
    assert [known.may_be_rated(name) for name in ("ann", "bob")] == [True, False]
    await archive.write(approve_bots, ["BOB"], approved=True)
    await archive.write(approve_bots, ["ann"], approved=False)
    await load(archive, known, "ann", "bob")
    assert [known.may_be_rated(name) for name in ("ann", "bob")] == [False, True]


# Pairing


def seeker(bot: str, mu: float = 25.0, *, spent: Sequence[str] = ()) -> Seeker:
    return Seeker(bot, mu, 1.0, key=bot, avoided=spent)


def met(*seekers: Seeker, now: float = 0.0, seats: int = 2, playing: Sequence[Seeker] = ()) -> list[set[str]]:
    groups = group_seekers(seekers, now, seats=seats, playing=playing)
    return [{one.bot for one in group} for group in groups]


def test_others_are_met_before_those_whose_matches_are_spent() -> None:
    ann, bob, cid = seeker("ann", spent=["bob"]), seeker("bob", spent=["ann"]), seeker("cid", 29.0)
    assert met(ann, bob, playing=[cid]) == []
    assert met(ann, bob, now=1.9, playing=[cid]) == []
    assert met(ann, bob, now=2.0, playing=[cid]) == [{"ann", "bob"}]
    assert met(ann, bob, cid) == [{"ann", "cid"}]


def test_a_match_of_three_has_no_two_whose_matches_are_spent_if_others_are_there() -> None:
    three = [seeker("ann"), seeker("bob", spent=["cid"]), seeker("cid", spent=["bob"])]
    dan = seeker("dan", 28.0)
    assert met(*three, seats=3, playing=[dan]) == []
    assert met(*three, seats=3, now=2.0, playing=[dan]) == [{"ann", "bob", "cid"}]
    assert met(*three, dan, seats=3) in ([{"ann", "bob", "dan"}], [{"ann", "cid", "dan"}])


# Over sockets


async def test_a_pair_that_had_its_rated_matches_plays_on_unrated_also_after_a_restart(serve: Any) -> None:
    served = await serve(policy=LobbyPolicy(rated_per_pair=1))
    first, second, start = await served.begun()
    assert start["rated"]
    await first.send(type="resign", match=start["match"])
    for client in (first, second):
        await client.expect("end")
    for client in (first, second):
        await client.send(type="seek", id="again", game="nim")
    start = await first.expect("start")
    assert not start["rated"]
    await first.send(type="resign", match=start["match"])
    await first.expect("end")
    await served.restart()
    first, second, start, _ = await served.pair()
    assert not start["rated"]
    served.store.write(annul_matches, bot="ann")
    await served.arena.reload_ratings(["nim/classic"])
    await first.send(type="resign", match=start["match"])
    for client in (first, second):
        await client.expect("end")
        await client.send(type="seek", id="counts", game="nim")
    assert (await first.expect("start"))["rated"]


async def test_a_match_under_way_counts_also_after_a_restart(serve: Any) -> None:
    served = await serve(policy=LobbyPolicy(rated_per_pair=1))
    clients = [await served.enter(bot, slots=3) for bot in ("ann", "bob")]
    assert await sought(*clients) == [True]
    assert await sought(*clients) == [False]
    await served.restart()
    clients = [await served.enter(bot, slots=3) for bot in ("ann", "bob")]
    assert sorted(await sought(*clients, starts=3)) == [False, False, True]


async def sought(*clients: Any, starts: int = 1) -> list[bool]:
    """Whether the matches are rated that begin, or go on, as bots seek one."""
    for client in clients:
        await client.send(type="seek", id="s", game="nim")
    for client in clients:
        told = [await client.expect("start") for _ in range(starts)]
        for start in told:
            await client.ready(start)
    return [start["rated"] for start in told]


async def test_a_bot_that_is_not_approved_plays_unrated(serve: Any) -> None:
    served = await serve(policy=LobbyPolicy(approved_only=True))
    first, _, start, _ = await served.pair()
    assert not start["rated"]
    await first.send(type="resign", match=start["match"])
    await first.expect("end")
    served.store.write(approve_bots, ["ann", "bob"], approved=True)
    await served.restart()
    _, _, start, _ = await served.pair()
    assert start["rated"]


async def test_an_approval_counts_for_a_seek_that_waits(serve: Any) -> None:
    served = await serve(policy=LobbyPolicy(approved_only=True))
    ann = await served.enter("ann")
    bob = await served.enter("bob")
    for approved in (True, False):
        served.store.write(approve_bots, ["bob"], approved=approved)
        await served.arena.reload_approvals(["bob"])
        await ann.send(type="seek", id=f"s{approved}", game="nim")
        await ann.send(type="unseek", id="none")
        await ann.expect("unseeked")
        served.store.write(approve_bots, ["ann"], approved=approved)
        await served.arena.reload_approvals(["ann"])
        await bob.send(type="seek", id=f"s{approved}", game="nim")
        start = await bob.expect("start")
        assert start["rated"] is approved
        await bob.ready(start)
        await bob.send(type="resign", match=start["match"])
        for client in (ann, bob):
            await client.expect("end")
