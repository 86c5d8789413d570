"""The matches of tournaments that runners play as a whole: which of them wait, and which runner plays which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from msgspec import Struct


class MatchWaits(Struct, frozen=True):
    """A match of a tournament shall be played by a runner that has a slot for each of its seats."""

    match: str
    seats: int


class MatchWithdrawn(Struct, frozen=True):
    """A match need not be played any longer."""

    match: str


class MatchPlayed(Struct, frozen=True):
    """A runner has played a match."""

    runner: int
    match: str


class MatchFailed(Struct, frozen=True):
    """A runner could not play a match, for a reason that is its own. Another one plays it, or this one later."""

    runner: int
    match: str


class AssignMatch(Struct, frozen=True):
    """Have a runner play a match, from its beginning."""

    runner: int
    match: str


class StopMatch(Struct, frozen=True):
    """Have a runner end a match, if the runner is still there. It does not count."""

    runner: int
    match: str


class _PlayedMatch(NamedTuple):
    runner: int
    seats: int


class MatchSlots:
    """The matches of tournaments that wait for a runner or are played by one."""

    def __init__(self) -> None:
        self._waiting: dict[str, int] = {}
        """The seats of the matches that wait, in the order in which they are played."""
        self._played: dict[str, _PlayedMatch] = {}
        """The matches that are played, oldest first."""
        self._slots: Counter[int] = Counter()
        """The number of slots that matches have, by runner."""

    @property
    def slots(self) -> int:
        """The number of slots that matches have on all runners."""
        return self._slots.total()

    @property
    def first_waiting(self) -> tuple[str, int] | None:
        """The match that is played next, with the number of its seats; None if none waits."""
        return next(iter(self._waiting.items()), None)

    def slots_on(self, runner: int) -> int:
        """Return the number of slots that matches have on a runner."""
        return self._slots[runner]

    def is_played(self, runner: int, match: str) -> bool:
        """Return whether a runner was told to play a match, and has not answered."""
        return match in self._played and self._played[match].runner == runner

    def matches_on(self, runners: Collection[int]) -> list[str]:
        """Return the matches that these runners play, oldest first."""
        return [match for match, played in self._played.items() if played.runner in runners]

    def add(self, waits: MatchWaits) -> None:
        """Let a match wait behind all others, unless it waits or is played already."""
        if waits.match not in self._played:
            self._waiting.setdefault(waits.match, waits.seats)

    def start(self, runner: int, match: str) -> AssignMatch:
        """Note that a runner plays a match that has waited."""
        seats = self._waiting.pop(match)
        self._played[match] = _PlayedMatch(runner, seats)
        self._slots[runner] += seats
        return AssignMatch(runner, match)

    def end(self, match: str) -> None:
        """Note that a match is no longer played."""
        played = self._played.pop(match)
        self._slots[played.runner] -= played.seats

    def put_back(self, match: str) -> StopMatch:
        """Let a match that is played be the first one that waits."""
        played = self._played[match]
        self.end(match)
        self._waiting = {match: played.seats, **self._waiting}
        return StopMatch(played.runner, match)

    def withdraw(self, match: str) -> list[StopMatch]:
        """Forget a match, and return how its runner is told."""
        self._waiting.pop(match, None)
        if match not in self._played:
            return []
        runner = self._played[match].runner
        self.end(match)
        return [StopMatch(runner, match)]
