"""Pairing on the ladder: choose the matches that tell most about the ratings, and how long a seeker waits for a better
opponent. All functions are pure: the time is an argument, and randomness comes from a `random.Random` argument.
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

MEAN_MAX_WAIT_S = 2.0
"""The maximum time for which a seeker with an average number of matches waits for a more informative opponent."""
MAX_WAIT_S = 16.0
"""The maximum time for which a seeker with many more matches than average waits, so that other bots catch up."""
_MATCH_COUNT_SMOOTHING = 5
"""A number of matches that is added to a seeker's match count and to the mean match count, before the first is divided
by the second. So all new bots wait about equally long.
"""
_NEAREST_COUNT, _FIELD_SAMPLE_COUNT = 12, 6
"""The bots with which a seeker is compared: the `_NEAREST_COUNT` bots nearest to it by mu, and a sample of
`_FIELD_SAMPLE_COUNT` of all others.
"""
_MIN_INFORMATION = 0.1
"""The minimum Fisher information that a match is assumed to give. It makes every two bots meet in time, even if one of
them almost always wins. A match of equal bots gives 2/π.
"""
_NEGLIGIBLE_UPSET = 1e-9
"""The probability of a win of the weaker bot below which that win counts as impossible."""


@dataclass(frozen=True, slots=True)
class Seeker:
    """A bot that seeks a match on the ladder. `seeking_since` is when its seek began, in seconds. `meetings` has its
    number of matches against each other bot. `key` is a value that only the caller uses. The bot meets bots in
    `avoided` only if there is no other opponent.
    """

    bot: str
    mu: float
    sigma: float
    seeking_since: float = 0.0
    key: Any = None
    meetings: Mapping[str, int] = field(default_factory=dict)
    played: int = 0
    avoided: Collection[str] = ()


def information_gain(seeker: Seeker, other: Seeker) -> float:
    """Return how much information a match of two bots would give about their ratings, in arbitrary units.

    This is the Fisher information of the result about the difference of their skills, times the fraction of the
    performances' variance that is due to uncertain ratings, divided by 1 plus the number of their past matches. So bots
    whose matches teach more meet more often, but other bots meet too.
    """
    unsure = seeker.sigma**2 + other.sigma**2
    spread = 2 * BETA**2 + unsure
    return (
        max(_result_information((seeker.mu - other.mu) / math.sqrt(spread)), _MIN_INFORMATION)
        * (unsure / spread)
        / (1 + seeker.meetings.get(other.bot, 0))
    )


def group_seekers(
    seekers: Sequence[Seeker],
    now: float,
    *,
    seats: int = 2,
    playing: Sequence[Seeker] = (),
    only: Collection[str] | None = None,
) -> list[tuple[Seeker, ...]]:
    """Return groups of distinct bots, one bot per seat, from seekers of the same game. With `only`, every group begins
    with one of those bots.

    Seekers take turns, the longest-waiting first. A seeker is grouped with the seekers against whom a match tells most
    about its rating. It keeps waiting while matches against bots that are `playing` would tell more. With time it
    accepts less and less information, so that it always gets a match. Bots with more matches wait longer.
    """
    queues: dict[str, deque[Seeker]] = defaultdict(deque)
    in_turn = sorted(seekers, key=lambda seeker: (seeker.seeking_since, -seeker.sigma, seeker.bot))
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
        group = field.find_group(seeker, seats, 1.0 if len(everyone) <= seats else field.wait_fraction(seeker, now))
        for served in group:
            queues[served.bot].popleft()
        if group:
            groups.append(group)
    return groups


def draw_opponents(seeker: Seeker, others: Sequence[Seeker], count: int, rng: Random) -> list[Seeker]:
    """Return up to `count` random bots of `others` as opponents for an open seek. Bots against which a match gives more
    information are likelier; those in `seeker.avoided` come last.
    """
    found: list[Seeker] = []
    for spent in (False, True):
        left = [other for other in others if (other.bot in seeker.avoided) == spent]
        weights = [information_gain(seeker, other) for other in left]
        while left and len(found) < count:
            (at,) = rng.choices(range(len(left)), weights)
            found.append(left.pop(at))
            del weights[at]
    return found


def _result_information(difference: float) -> float:
    """Return the Fisher information of a result, at most 2/pi, from the skills' difference in standard deviations."""
    surprise = math.erfc(abs(difference) / math.sqrt(2)) / 2
    if surprise < _NEGLIGIBLE_UPSET:
        return 0.0
    density = math.exp(-difference * difference / 2) / math.sqrt(2 * math.pi)
    return density * density / (surprise * (1 - surprise))


class _SeekerPool(NamedTuple):
    """The bots that seek or play (`all_order`), and those that seek (`seeking_order`, with their seeks in `queues`)."""

    all_order: _RatingOrder
    seeking_order: _RatingOrder
    queues: Mapping[str, Sequence[Seeker]]
    mean_played: float
    """The mean number of matches that a bot of `all_order` has played."""

    def find_group(self, seeker: Seeker, seats: int, waited: float) -> tuple[Seeker, ...]:
        """Return the seeker and the seekers that tell most about its rating; an empty tuple if it should wait."""
        anyone = waited >= 1
        group = [seeker]
        near = self.seeking_order.iter_near(
            seeker, lambda bot: bool(self.queues[bot]) and (anyone or bot not in seeker.avoided)
        )
        there = [self.queues[one.bot][0] for one in near]
        for other in sorted(there, key=lambda other: (-information_gain(seeker, other), other.seeking_since)):
            if len(group) < seats and (anyone or not any(one.bot in other.avoided for one in group)):
                group.append(other)
        if len(group) < seats:
            return ()
        hoped = self.all_order.iter_near(seeker, lambda bot: anyone or bot not in seeker.avoided)
        best = nlargest(seats - 1, (information_gain(seeker, other) for other in hoped))
        worth = sum(information_gain(seeker, other) for other in group[1:])
        return tuple(group) if worth >= (1 - waited) * sum(best) else ()

    def wait_fraction(self, seeker: Seeker, now: float) -> float:
        """Return which fraction of its maximum wait a seeker has waited."""
        ahead = (seeker.played + _MATCH_COUNT_SMOOTHING) / (self.mean_played + _MATCH_COUNT_SMOOTHING)
        return min(1.0, (now - seeker.seeking_since) / min(MAX_WAIT_S, MEAN_MAX_WAIT_S * max(1.0, ahead) ** 3))


class _RatingOrder:
    """Bots sorted by mu."""

    def __init__(self, bots: Sequence[Seeker]) -> None:
        self._bots = sorted(bots, key=lambda one: (one.mu, one.bot))
        self._mus = [one.mu for one in self._bots]

    def iter_near(self, seeker: Seeker, is_wanted: Callable[[str], bool]) -> Iterator[Seeker]:
        """Yield the wanted bots that are nearest to the seeker by mu, then a sample of all other wanted bots. The
        sample differs after each match of the seeker.
        """
        at, size = bisect_left(self._mus, seeker.mu), len(self._bots)
        near = list(
            islice(
                (one for one in self._iter_outwards(at) if one.bot != seeker.bot and is_wanted(one.bot)), _NEAREST_COUNT
            )
        )
        yield from near
        if len(near) == _NEAREST_COUNT:
            there = {seeker.bot, *(one.bot for one in near)}
            for step in range(_FIELD_SAMPLE_COUNT):
                other = self._bots[(at + seeker.played + step * size // _FIELD_SAMPLE_COUNT) % size]
                if other.bot not in there and is_wanted(other.bot):
                    there.add(other.bot)
                    yield other

    def _iter_outwards(self, at: int) -> Iterator[Seeker]:
        """Yield all bots, nearest to an index in the order first, alternating between its two sides."""
        left, right = at - 1, at
        while left >= 0 or right < len(self._bots):
            if right < len(self._bots):
                yield self._bots[right]
                right += 1
            if left >= 0:
                yield self._bots[left]
                left -= 1
