"""Who meets whom on the ladder: what a match would teach about the ratings, and how long it is worth waiting for. Pure.

Time comes in as an argument, chance as a `random.Random`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from arena.ratings.rating_system import BETA

FULL_WAIT = 2.0
"""Seconds for which a seeker that has played as much as the others waits for a match that teaches more."""
MAX_WAIT = 16.0
"""The same for one that has played much more than the others: they catch up."""
_EVEN = 5
"""Matches that nobody is ahead by."""
_NEAREST, _FARTHER = 12, 6
"""Others that a seeker is compared with: the nearest by mu, and some of all."""
_LEAST_TEACHING = 0.1
"""What a match with a foregone result counts as teaching, of one between equals: in time every pair meets."""
_FOREGONE = 1e-9
"""A surprise that is less likely is none."""


@dataclass(frozen=True, slots=True)
class Seeker:
    """A bot on the ladder, with its rating and with whom it met how often; `since` when it seeks, in seconds.

    `key` is the caller's own. `spent` are bots that this one meets only for want of others.
    """

    bot: str
    mu: float
    sigma: float
    since: float = 0.0
    key: Any = None
    met: Mapping[str, int] = field(default_factory=dict)
    played: int = 0
    spent: Collection[str] = ()


def information_gain(one: Seeker, other: Seeker) -> float:
    """What a match of these two would teach about their ratings, in arbitrary units, less with every one they had.

    It is the Fisher information of the result about the difference of skills, times the variance that there is to
    learn about. Divided by how often the two met, as in a divisor method, it spreads a bot's matches in proportion to
    what they teach.
    """
    unsure = one.sigma**2 + other.sigma**2
    spread = 2 * BETA**2 + unsure
    return (
        max(_informative((one.mu - other.mu) / math.sqrt(spread)), _LEAST_TEACHING)
        * (unsure / spread)
        / (1 + one.met.get(other.bot, 0))
    )


def ladder_groups(
    seekers: Sequence[Seeker],
    now: float,
    *,
    seats: int = 2,
    playing: Sequence[Seeker] = (),
    only: Collection[str] | None = None,
) -> list[tuple[Seeker, ...]]:
    """Groups of as many different bots as a match has seats, of those that seek the same; with `only`, groups
    for these bots alone.

    The longest-waiting is served first, with those from whom most is learnt. While it is worth it, a seeker waits for
    more: for bots that are `playing` now and will seek again. What is worth it shrinks to nothing as time goes by, so
    that nobody starves; who has played more than the others waits longer.
    """
    queues: dict[str, deque[Seeker]] = defaultdict(deque)
    in_turn = sorted(seekers, key=lambda seeker: (seeker.since, -seeker.sigma, seeker.bot))
    for seeker in in_turn:
        queues[seeker.bot].append(seeker)
    here = [queue[0] for queue in queues.values()]
    everyone = [*here, *(one for one in playing if one.bot not in queues)]
    field = _SeekerPool(
        _RatingOrder(everyone), _RatingOrder(here), queues, sum(one.played for one in everyone) / max(1, len(everyone))
    )
    groups = []
    for seeker in in_turn:
        queue = queues[seeker.bot]
        if not queue or queue[0] is not seeker or (only is not None and seeker.bot not in only):
            continue
        group = field.group(seeker, seats, 1.0 if len(everyone) <= seats else field.waited(seeker, now))
        for served in group:
            queues[served.bot].popleft()
        if group:
            groups.append(group)
    return groups


def draw_opponents(seeker: Seeker, others: Sequence[Seeker], count: int, chance: Random) -> list[Seeker]:
    """So many of `others` for a seeker that anybody will do for, or all there are: the more it teaches, the likelier.

    Those whom it has `spent` come last.
    """
    found: list[Seeker] = []
    for spent in (False, True):
        left = [other for other in others if (other.bot in seeker.spent) == spent]
        weights = [information_gain(seeker, other) for other in left]
        while left and len(found) < count:
            (at,) = chance.choices(range(len(left)), weights)
            found.append(left.pop(at))
            del weights[at]
    return found


def _informative(apart: float) -> float:
    """The Fisher information of who wins, where that is normal in the difference of skills, at most 2/pi."""
    surprise = math.erfc(abs(apart) / math.sqrt(2)) / 2
    if surprise < _FOREGONE:
        return 0.0
    density = math.exp(-apart * apart / 2) / math.sqrt(2 * math.pi)
    return density * density / (surprise * (1 - surprise))


class _SeekerPool(NamedTuple):
    """All who are on the ladder: those who seek (`here`, with their seeks) are served from `everyone`."""

    everyone: _RatingOrder
    here: _RatingOrder
    queues: Mapping[str, Sequence[Seeker]]
    mean: float
    """Matches that they have played."""

    def group(self, seeker: Seeker, seats: int, waited: float) -> tuple[Seeker, ...]:
        """A seeker with those of the others from whom most is learnt; nobody where it had better wait."""
        anyone = waited >= 1
        group = [seeker]
        near = self.here.near(seeker, lambda bot: bool(self.queues[bot]) and (anyone or bot not in seeker.spent))
        there = [self.queues[one.bot][0] for one in near]
        for other in sorted(there, key=lambda other: (-information_gain(seeker, other), other.since)):
            if len(group) < seats and (anyone or not any(one.bot in other.spent for one in group)):
                group.append(other)
        if len(group) < seats:
            return ()
        hoped = self.everyone.near(seeker, lambda bot: anyone or bot not in seeker.spent)
        best = nlargest(seats - 1, (information_gain(seeker, other) for other in hoped))
        worth = sum(information_gain(seeker, other) for other in group[1:])
        return tuple(group) if worth >= (1 - waited) * sum(best) else ()

    def waited(self, seeker: Seeker, now: float) -> float:
        """The share of its patience that a seeker has used."""
        ahead = (seeker.played + _EVEN) / (self.mean + _EVEN)
        return min(1.0, (now - seeker.since) / min(MAX_WAIT, FULL_WAIT * max(1.0, ahead) ** 3))


class _RatingOrder:
    """Bots in the order of their ratings."""

    def __init__(self, bots: Sequence[Seeker]) -> None:
        self._bots = sorted(bots, key=lambda one: (one.mu, one.bot))
        self._mus = [one.mu for one in self._bots]

    def near(self, seeker: Seeker, wanted: Callable[[str], bool]) -> Iterator[Seeker]:
        """Others that are wanted: the nearest by mu, and some of all the rest, others after every match."""
        at, size = bisect_left(self._mus, seeker.mu), len(self._bots)
        near = list(islice((one for one in self._outwards(at) if one.bot != seeker.bot and wanted(one.bot)), _NEAREST))
        yield from near
        if len(near) == _NEAREST:
            there = {seeker.bot, *(one.bot for one in near)}
            for step in range(_FARTHER):
                other = self._bots[(at + seeker.played + step * size // _FARTHER) % size]
                if other.bot not in there and wanted(other.bot):
                    there.add(other.bot)
                    yield other

    def _outwards(self, at: int) -> Iterator[Seeker]:
        """All of them, from a place to both sides in turn."""
        left, right = at - 1, at
        while left >= 0 or right < len(self._bots):
            if right < len(self._bots):
                yield self._bots[right]
                right += 1
            if left >= 0:
                yield self._bots[left]
                left -= 1
