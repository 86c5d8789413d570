"""Whoever wants a match of hosted bots gets one report of it, whatever happens to the runners that play it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from arena.hosting.fleet import Effect, Event, Fleet, RunnerJoined, RunnerLeft
from arena.hosting.match_slots import AssignMatch, StopMatch
from arena.operator.hosted_matches import MatchOrder, ReportMatch
from arena.server.hosted_matches import HostedMatches
from hosted_orders import ORDER
from protocol.errors import ArenaFault, UsageFault


class Server:
    """The part of a server that has matches played: what its runners are told to do is in `effects`."""

    def __init__(self) -> None:
        self.fleet = Fleet()
        self.effects: list[Effect] = []
        self.matches = HostedMatches(self.fleet, self.feed)

    def feed(self, event: Event) -> None:
        self.effects += self.fleet.receive(event, 0.0)

    def take(self) -> list[Effect]:
        effects, self.effects = self.effects, []
        return effects

    def join(self, runner: int, slots: int = 2) -> None:
        self.feed(RunnerJoined(runner, slots))
        self.matches.on_runner_joined()

    async def begin(self, order: MatchOrder = ORDER) -> asyncio.Task[bytes]:
        playing = asyncio.create_task(self.matches.play(order))
        await asyncio.sleep(0)
        return playing

    def report(self, runner: int, **words: Any) -> None:
        self.matches.on_report(ReportMatch(runner=runner, match=ORDER.match, **words))


async def test_the_report_of_a_lost_runner_does_not_count_and_that_of_the_next_one_does() -> None:
    server = Server()
    playing = await server.begin()
    server.join(1)
    server.feed(RunnerLeft(1))
    server.join(2)
    assert server.take() == [AssignMatch(1, "t1-00000"), StopMatch(1, "t1-00000"), AssignMatch(2, "t1-00000")]
    server.report(1, report=b"lost")
    server.report(2, report=b"counts")
    server.report(2, report=b"late")
    assert await playing == b"counts"
    assert server.take() == []


async def test_a_match_that_is_asked_for_again_is_played_once_and_ends_when_nobody_wants_it() -> None:
    server = Server()
    server.join(1)
    first, second = await server.begin(), await server.begin()
    assert server.take() == [AssignMatch(1, "t1-00000")]
    first.cancel()
    await asyncio.wait((first,))
    assert server.take() == []
    second.cancel()
    await asyncio.wait((second,))
    assert server.take() == [StopMatch(1, "t1-00000")]
    server.report(1, report=b"late")


async def test_a_match_of_another_tournament_with_its_id_is_refused() -> None:
    server = Server()
    playing = await server.begin()
    with pytest.raises(UsageFault, match="t1-00000 is under way for another tournament, t1: wait until that is over"):
        await server.matches.play(replace(ORDER, tournament="t2"))
    playing.cancel()


async def test_a_match_that_can_not_be_played_is_a_fault_and_one_that_its_runner_could_not_play_waits() -> None:
    server = Server()
    playing = await server.begin()
    server.join(1)
    server.report(1, fault="the disk is full", runner_failed=True)
    server.join(2)
    assert server.take() == [AssignMatch(1, "t1-00000"), StopMatch(1, "t1-00000"), AssignMatch(2, "t1-00000")]
    server.report(2, fault="ann, version 1, can't be built here")
    with pytest.raises(ArenaFault, match="ann, version 1, can't be built here"):
        await playing


@pytest.mark.parametrize(("slots", "is_enough"), [(2, True), (1, False)])
async def test_a_runner_with_enough_slots_is_waited_for_within_a_time(slots: int, is_enough: bool) -> None:
    server = Server()
    waiting = asyncio.create_task(server.matches.wait_for_slots(2, 60.0 if is_enough else 0.0))
    await asyncio.sleep(0)
    server.join(1, slots)
    if is_enough:
        await waiting
        return
    with pytest.raises(ArenaFault, match="no runner has 2 slots: start one, `arena runner --slots 8`"):
        await waiting
