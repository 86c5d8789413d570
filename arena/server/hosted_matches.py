"""Has runners play the matches of tournaments of hosted bots. Which runner plays which is decided by the fleet."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from arena.hosting.fleet import Fleet, MatchEvent
from arena.hosting.match_slots import MatchFailed, MatchPlayed, MatchWaits, MatchWithdrawn
from arena.operator.hosted_matches import MatchOrder, ReportMatch
from machine.event_loop import wait_within
from protocol.errors import ArenaFault, UsageFault

log = logging.getLogger("arena.hosting")


@dataclass
class _OrderedMatch:
    """A match, a future for its packed report, and how many callers wait for it."""

    order: MatchOrder
    over: asyncio.Future[bytes]
    waiting: int = 0


class HostedMatches:
    """The matches of tournaments that are played by the runners of a fleet. `feed` tells the fleet of an event."""

    def __init__(self, fleet: Fleet, feed: Callable[[MatchEvent], None]) -> None:
        self._fleet = fleet
        self._feed = feed
        self._matches: dict[str, _OrderedMatch] = {}
        """The matches that are played or wait for a runner, by id."""
        self._runner_joined = asyncio.Event()
        """The event that is set when the next runner has joined."""

    def can_play(self, seats: int) -> bool:
        """Return whether a runner has enough slots for a match of this many seats, free or not."""
        return self._fleet.can_play(seats)

    def order_of(self, match: str) -> MatchOrder:
        return self._matches[match].order

    async def play(self, order: MatchOrder) -> bytes:
        """Have a runner play a match, and return its packed report. If it is played already, wait for its end. If its
        runner is lost, another one plays it from its beginning, with the same dice. It waits for as long as there is
        none.

        Raise `UsageFault` if a match of another tournament has its id, `ArenaFault` if it can't be played.
        """
        ordered = self._matches.get(order.match)
        if ordered is None:
            ordered = _OrderedMatch(order, asyncio.get_running_loop().create_future())
            self._matches[order.match] = ordered
            self._feed(MatchWaits(order.match, len(order.seats)))
        elif ordered.order != order:
            raise UsageFault(
                f"{order.match} is under way for another tournament, {ordered.order.tournament}: "
                "wait until that is over, or take another --seed"
            )
        ordered.waiting += 1
        try:
            return await asyncio.shield(ordered.over)
        finally:
            ordered.waiting -= 1
            if not ordered.waiting:
                del self._matches[order.match]
                self._feed(MatchWithdrawn(order.match))

    async def wait_for_slots(self, seats: int, within_s: float) -> None:
        """Wait until a runner has enough slots for a match. Raise `ArenaFault` if none has within this time."""

        async def wait() -> None:
            while not self.can_play(seats):
                await self._runner_joined.wait()

        await wait_within(wait(), within_s)
        if not self.can_play(seats):
            raise ArenaFault(f"no runner has {seats} slots: start one, `arena runner --slots {max(seats, 8)}`")

    def on_runner_joined(self) -> None:
        joined, self._runner_joined = self._runner_joined, asyncio.Event()
        joined.set()

    def on_report(self, report: ReportMatch) -> None:
        """Pass on the report of a match, if its runner was told to play it."""
        if not self._fleet.is_playing_match(report.runner, report.match):
            return
        if report.runner_failed:
            log.warning("runner %d can't play %s: %s", report.runner, report.match, report.fault)
            self._feed(MatchFailed(report.runner, report.match))
            return
        over = self._matches[report.match].over
        if report.fault:
            over.set_exception(ArenaFault(report.fault))
        else:
            over.set_result(report.report)
        self._feed(MatchPlayed(report.runner, report.match))
