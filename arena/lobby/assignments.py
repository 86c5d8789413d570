"""The matches that the operator assigns to bots, while they wait for their bots."""

from __future__ import annotations

from collections.abc import Iterator

from arena.lobby.policy import LobbyPolicy
from arena.lobby.roster import Roster


class Assignment:
    """An assigned match that waits for its bots, given by folded names in seat order."""

    def __init__(self, bots: tuple[str, ...], now: float, wait_s: float, reserve_delay_s: float) -> None:
        self.bots = bots
        self.waits_until = now + wait_s
        """The time at which the match starts without the bots that have not connected."""
        self.reserves_at = now + reserve_delay_s
        self.calls_at = now
        """The time of the next call to the bots that have not connected."""
        self.is_reserving = False
        """True once a slot of each bot is reserved for the match."""


class Assignments:
    """The assigned matches that wait for their bots, oldest first. `is_changed` is true if one may have become ready:
    a bot connected, a slot became free, or a match was assigned.
    """

    def __init__(self, policy: LobbyPolicy, roster: Roster) -> None:
        self._policy = policy
        self._roster = roster
        self._waiting: dict[str, Assignment] = {}
        """The assigned matches that wait, by match id."""
        self.is_changed = False
        self._checked_at = 0.0
        """The time of the last `find_ready` that found no match."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, match: str, bots: tuple[str, ...], now: float, wait_s: float) -> None:
        self._waiting[match] = Assignment(bots, now, wait_s, self._policy.reserve_delay_s)
        self.is_changed = True

    def remove(self, match: str) -> bool:
        """Remove a match that starts or is withdrawn. Return whether slots were reserved for it."""
        assignment = self._waiting.pop(match, None)
        if assignment is None or not assignment.is_reserving:
            return False
        self._roster.unreserve(assignment.bots)
        return True

    def next_due(self) -> float | None:
        """Return the time at which the assigned matches have to be looked at again; None if they wait for an event."""
        if self.is_changed and self._waiting:
            return self._checked_at
        dates = (date for assignment in self._waiting.values() for date in self._dates(assignment))
        return min((date for date in dates if date > self._checked_at), default=None)

    def _dates(self, assignment: Assignment) -> Iterator[float]:
        yield assignment.waits_until
        yield assignment.reserves_at
        if not all(bot in self._roster.online for bot in assignment.bots):
            yield assignment.calls_at

    def reserve_slots(self, now: float) -> None:
        """Reserve slots for the matches that have waited long for bots that keep playing other matches."""
        for assignment in self._waiting.values():
            if now >= assignment.reserves_at and not assignment.is_reserving:
                assignment.is_reserving = True
                self._roster.reserved.update(assignment.bots)

    def bots_to_call(self, now: float) -> tuple[str, ...]:
        """Return the bots that are to be asked to connect here."""
        called: dict[str, None] = {}
        for assignment in self._waiting.values():
            if now >= assignment.calls_at:
                assignment.calls_at = now + self._policy.call_interval_s
                called.update(dict.fromkeys(bot for bot in assignment.bots if bot not in self._roster.online))
        return tuple(called)

    def find_ready(self, now: float) -> tuple[str, tuple[str, ...]] | None:
        """Return an assigned match that can start, with its bots: all of them have a free slot, save those that did not
        connect in time. Return None if there is none.
        """
        for match, assignment in self._waiting.items():
            present = [bot for bot in assignment.bots if bot in self._roster.online]
            if (now >= assignment.waits_until or len(present) == len(assignment.bots)) and all(
                self._roster.slots_without_match(bot) > 0 for bot in present
            ):
                return match, assignment.bots
        self.is_changed, self._checked_at = False, now
        return None
