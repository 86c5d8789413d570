"""Players that are connected to a server: how many matches are asked for at once, and what ends them. No server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import pytest

from arena.operations.tournaments import UnratedLedger
from arena.runs.connected import ConnectedPlayers
from arena.runs.job import MatchReport
from arena.runs.plan import place_of
from arena.runs.play_request import PlayRequest
from plans import plan
from protocol.errors import ArenaFault
from referee.footer import ClosedMatch
from seasons import result


def over(request: PlayRequest, reasons: Sequence[str] = ("win", "win")) -> ClosedMatch:
    """The match of a request, won by its first seat."""
    footer: Any = None
    played = result(request.match, request.bots, tournament="t1", place=request.place, reasons=reasons)
    return ClosedMatch(played, (), footer)


class Asked(ConnectedPlayers):
    """Two at a time; a match ends when the test says how."""

    def __init__(self) -> None:
        super().__init__(plan(rounds=1), wait_s=5.0, concurrency=2)
        self.requests: dict[int, PlayRequest] = {}
        self.ends: dict[int, asyncio.Future[ClosedMatch]] = {}
        self.asked = asyncio.Event()

    async def ask(self, request: PlayRequest) -> ClosedMatch:
        self.requests[request.place] = request
        self.ends[request.place] = asyncio.get_running_loop().create_future()
        self.asked.set()
        return await self.ends[request.place]

    async def begun(self, place: int) -> None:
        """Wait until the match at this place has been asked for."""
        while place not in self.ends:
            self.asked.clear()
            await self.asked.wait()

    def end(self, place: int, *reasons: str) -> None:
        self.ends[place].set_result(over(self.requests[place], reasons or ("win", "win")))


async def test_as_many_matches_as_allowed_are_asked_for_and_the_next_when_one_is_over() -> None:
    players = Asked()
    async with aclosing(players.play(plan(rounds=1).schedule(()))) as ended:
        first = asyncio.ensure_future(anext(ended))
        await players.begun(1)
        assert [*players.requests] == [0, 1]
        players.end(1)
        assert [place_of(one.result) for one in await first] == [1]
        second = asyncio.ensure_future(anext(ended))
        await players.begun(2)
        assert [*players.requests] == [0, 1, 2]
        players.end(0)
        assert [place_of(one.result) for one in await second] == [0]


async def test_matches_under_way_are_asked_for_no_longer_when_nobody_wants_their_reports() -> None:
    players = Asked()
    async with aclosing(players.play(plan(rounds=1).schedule(()))) as ended:
        first = asyncio.ensure_future(anext(ended))
        await players.begun(1)
        players.end(0)
        await first
        assert len(players.under_way) == 1
    assert (players.ends[1].cancelled(), players.under_way) == (True, set())


async def test_what_ended_with_a_fault_of_another_match_is_reported_first() -> None:
    players = Asked()
    async with aclosing(players.play(plan(rounds=1).schedule(()))) as ended:
        first = asyncio.ensure_future(anext(ended))
        await players.begun(1)
        players.ends[0].set_exception(ArenaFault("the server is stopping"))
        players.end(1)
        assert [place_of(one.result) for one in await first] == [1]
        with pytest.raises(ArenaFault, match="the server is stopping"):
            await anext(ended)


async def test_who_was_not_there_has_failed() -> None:
    players = Asked()
    async with aclosing(players.play(plan(rounds=1).schedule(()))) as ended:
        first = asyncio.ensure_future(anext(ended))
        await players.begun(0)
        players.end(0, "win", "no_show")
        (report,) = await first
    assert report.failures == {1: "it was not there"}


class Slow:
    """A store that has stored a result when the test says so, and that knows none before."""

    def __init__(self) -> None:
        self.given: list[asyncio.Future[None]] = []

    def finish(self, result: Any, close: Any) -> asyncio.Future[None]:
        self.given.append(asyncio.get_running_loop().create_future())
        return self.given[-1]

    async def read(self, query: Any, tournament: str) -> list[Any]:
        return []


async def test_a_result_that_is_long_in_storing_holds_up_no_other_but_the_next_round() -> None:
    planned, store = plan("ab"), Slow()
    ledger = UnratedLedger(store, planned)  # type: ignore[arg-type]
    closed = over(PlayRequest.from_plan(planned, planned.schedule(())[0], 1.0))
    await ledger.hand_in([MatchReport(closed)])
    second = asyncio.ensure_future(ledger.hand_in([MatchReport(closed)]))
    await asyncio.sleep(0)
    store.given[1].set_result(None)
    assert await second
    waiting = asyncio.ensure_future(ledger.missing())
    await asyncio.sleep(0)
    assert not waiting.done()
    store.given[0].set_result(None)
    assert len(await waiting) == planned.match_count


async def test_a_result_that_the_store_can_not_keep_ends_the_run() -> None:
    planned, store = plan("ab"), Slow()
    ledger = UnratedLedger(store, planned)  # type: ignore[arg-type]
    await ledger.hand_in([MatchReport(over(PlayRequest.from_plan(planned, planned.schedule(())[0], 1.0)))])
    store.given[0].set_exception(ArenaFault("the arena stops"))
    with pytest.raises(ArenaFault, match="the arena stops"):
        await ledger.missing()
