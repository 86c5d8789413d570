"""Who plays whom: round robin, gauntlet and swiss for tournaments, and the ladder's groups for the lobby. Pure.

Chance comes in as a `random.Random`, time as an argument; equal arguments give equal schedules.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from random import Random
from typing import Any

from arena.ratings.ladder import Rating, closeness, quality
from protocol.errors import UsageFault

TEST = "test"
"""The format of two bots in pairs of matches, as many as it takes to tell them apart; unrated."""
PATIENCE = 2.0
"""Seconds after which a seeker takes whoever is there."""
_LEAST_CLOSENESS = 0.5
_NEIGHBOURS = 16
_LEAST_LIKELY = 0.02
_SWISS_WINDOW = 12
_REMATCH = 1_000_000
_CHEAPEST = 1 << 40


@dataclass(frozen=True, slots=True)
class Pairing:
    """One match to play: its place in the schedule, its round, the bots in seat order.

    Pairings with the same `start` begin from the same position.
    """

    place: int
    round: int
    seats: tuple[str, ...]
    start: int


@dataclass(frozen=True, slots=True)
class Seeker:
    """A seek on the ladder, with the bot's rating. `since` and `now` are seconds of one clock.

    `pool` is what all sides must agree on, `seats` and `patience` included; `key` is the caller's own. `spent` are bots
    that this one meets only for want of others.
    """

    bot: str
    mu: float
    sigma: float
    since: float
    key: Any
    pool: Hashable = None
    seats: int = 2
    patience: float = PATIENCE
    spent: Collection[str] = ()


def count(form: str, bots: int, rounds: int, *, seats: int = 2, paired: bool = False) -> int:
    """How many matches a tournament of this format has: round-robin, gauntlet, swiss or test (then at most)."""
    groups = {
        "round-robin": comb(bots, seats),
        "gauntlet": comb(bots - 1, seats - 1),
        "swiss": bots // seats,
        TEST: comb(bots, seats),
    }[form]
    return groups * rounds * (seats if paired else 1)


def round_robin(
    bots: Sequence[str], rounds: int, chance: Random, *, seats: int = 2, paired: bool = False
) -> list[Pairing]:
    """Every group of `seats` bots once a round, the seats turned by one from round to round.

    With `paired` every group plays `seats` times a round, each turn of the seats from the same start. With more than
    two seats, who follows whom is drawn anew when a group has played in all turns. Raises `UsageFault` where there are
    too few bots.
    """
    _check_enough(bots, seats, "a round robin")
    groups = [(sum(group), tuple(bots[i] for i in group)) for group in itertools.combinations(range(len(bots)), seats)]
    return _schedule(groups, rounds, chance, paired)


def gauntlet(
    bots: Sequence[str], rounds: int, chance: Random, *, seats: int = 2, paired: bool = False
) -> list[Pairing]:
    """The first bot against each other one (each group of others, with more seats) once a round; seats as above."""
    _check_enough(bots, seats, "a gauntlet")
    others = itertools.combinations(bots[1:], seats - 1)
    return _schedule([(turn, (bots[0], *group)) for turn, group in enumerate(others)], rounds, chance, paired)


def swiss(
    bots: Sequence[str],
    played: Sequence[Pairing],
    scores: Mapping[str, float],
    chance: Random,
    *,
    paired: bool = False,
) -> list[Pairing]:
    """The next round of two-seat matches: equal scores meet, rematches are avoided, seats balanced.

    `scores` are points so far (a bye counts as the caller likes; `byes` says who had one). With an odd number of bots
    one sits out: the lowest of those who have done so least.
    """
    _check_enough(bots, 2, "a swiss tournament")
    number = max((pairing.round for pairing in played), default=-1) + 1
    entered = list(bots)
    chance.shuffle(entered)
    ranked = sorted(entered, key=lambda bot: -scores.get(bot, 0))
    if len(ranked) % 2:
        sat_out = byes(bots, played)
        ranked.remove(min(reversed(ranked), key=lambda bot: sat_out[bot]))
    first = Counter(pairing.seats[0] for pairing in played)
    groups = []
    for a, b in _swiss_pairs(ranked, played, scores):
        swap = first[a] > first[b] or (first[a] == first[b] and chance.random() < 0.5)
        groups.append((b, a) if swap else (a, b))
    start = max((pairing.start for pairing in played), default=-1) + 1
    return _laid_out(groups, number, len(played), start, paired)


def byes(bots: Sequence[str], played: Iterable[Pairing]) -> Counter[str]:
    """How many rounds each bot has sat out."""
    rounds: dict[int, set[str]] = defaultdict(set)
    for pairing in played:
        rounds[pairing.round].update(pairing.seats)
    return Counter(bot for present in rounds.values() for bot in bots if bot not in present)


def ladder_groups(seekers: Sequence[Seeker], now: float) -> list[tuple[Seeker, ...]]:
    """Groups of as many different bots within a pool as a match has seats.

    The longest-waiting is served first, with the best match it can get. What counts as close enough widens with
    waiting, and after its `patience` in seconds anyone will do, even who is `spent`: nobody starves. Bots of unsure
    rating are close to more others. About n log n for n seekers.
    """
    pools: dict[Hashable, list[Seeker]] = defaultdict(list)
    for seeker in sorted(seekers, key=lambda seeker: (seeker.since, -seeker.sigma, seeker.bot)):
        pools[seeker.pool].append(seeker)
    return [group for pool in pools.values() for group in _pool_groups(pool, now)]


def drawn(seeker: Seeker, others: Sequence[Seeker], count: int, chance: Random) -> list[Seeker]:
    """So many of `others` for a seeker that anybody will do for, or all there are: the closer, the likelier.

    Those whom it has `spent` come last.
    """
    mine = Rating(seeker.mu, seeker.sigma)
    found: list[Seeker] = []
    for spent in (False, True):
        left = [other for other in others if (other.bot in seeker.spent) == spent]
        weights = [_LEAST_LIKELY + quality(mine, Rating(other.mu, other.sigma)) for other in left]
        while left and len(found) < count:
            (at,) = chance.choices(range(len(left)), weights)
            found.append(left.pop(at))
            del weights[at]
    return found


def _check_enough(bots: Sequence[str], seats: int, what: str) -> None:
    if len(bots) < seats:
        raise UsageFault(f"{what} with {seats} seats a match needs {seats} bots: {len(bots)} given")


def _turned(group: tuple[str, ...], by: int) -> tuple[str, ...]:
    by %= len(group)
    return group[by:] + group[:by]


def _schedule(
    groups: Sequence[tuple[int, tuple[str, ...]]], rounds: int, chance: Random, paired: bool
) -> list[Pairing]:
    """Rounds of all groups, in an order drawn for each round. A group's number spreads who begins."""
    schedule: list[Pairing] = []
    around = [group for _, group in groups]
    for number in range(rounds):
        seats = len(around[0])
        if seats > 2 and (paired or number % seats == 0):  # once all turns of the last circle were played
            around = [tuple(chance.sample(group, seats)) for group in around]
        drawn = chance.sample(range(len(groups)), len(groups))
        turned = [_turned(around[at], groups[at][0] + number) for at in drawn]
        schedule += _laid_out(turned, number, len(schedule), number * len(groups), paired)
    return schedule


def _laid_out(groups: Sequence[tuple[str, ...]], number: int, place: int, start: int, paired: bool) -> list[Pairing]:
    pairings: list[Pairing] = []
    for offset, group in enumerate(groups):
        for turn in range(len(group) if paired else 1):
            pairings.append(Pairing(place + len(pairings), number, _turned(group, turn), start + offset))
    return pairings


def _swiss_pairs(
    ranked: Sequence[str], played: Iterable[Pairing], scores: Mapping[str, float]
) -> list[tuple[str, str]]:
    """The cheapest perfect matching: a rematch costs most, then the square of the difference in points."""
    met = Counter(frozenset(pairing.seats) for pairing in played)
    window = _SWISS_WINDOW
    while True:
        edges = {}
        for i, a in enumerate(ranked):
            for j in range(i + 1, min(i + 1 + window, len(ranked))):
                apart = round(2 * (scores.get(a, 0) - scores.get(ranked[j], 0)))
                edges[i, j] = _REMATCH * met[frozenset((a, ranked[j]))] + apart * apart
        pairs = _cheapest_matching(edges)
        whole = len(pairs) * 2 == len(ranked)
        if window >= len(ranked) or (whole and not any(met[frozenset((ranked[i], ranked[j]))] for i, j in pairs)):
            return [(ranked[i], ranked[j]) for i, j in pairs]
        window *= 2


def _cheapest_matching(edges: Mapping[tuple[int, int], int]) -> list[tuple[int, int]]:
    import networkx

    graph = networkx.Graph()
    for (i, j), cost in edges.items():
        graph.add_edge(i, j, weight=_CHEAPEST - cost)
    return sorted((min(pair), max(pair)) for pair in networkx.max_weight_matching(graph, maxcardinality=True))


def _pool_groups(waiting: Sequence[Seeker], now: float) -> Iterator[tuple[Seeker, ...]]:
    """Bots stand in a row by mu, each with its seeks in a queue; a bot whose queue is empty leaves the row."""
    queues: dict[str, deque[Seeker]] = defaultdict(deque)
    for seeker in waiting:
        queues[seeker.bot].append(seeker)
    row = _LinkedList(sorted(queues, key=lambda bot: (queues[bot][0].mu, bot)))
    for seeker in waiting:
        queue = queues[seeker.bot]
        if not queue or queue[0] is not seeker:
            continue
        fresh = (bot for bot in row.around(seeker.bot) if bot not in seeker.spent)
        group = (seeker, *_best_for(seeker, [queues[bot][0] for bot in itertools.islice(fresh, _NEIGHBOURS)], now))
        if len(group) < seeker.seats and _waited(seeker, now) >= 1:
            near = [queues[bot][0] for bot in itertools.islice(row.around(seeker.bot), _NEIGHBOURS)]
            group = (seeker, *_best_for(seeker, near, now, anyone=True))
        for served in group:
            queues[served.bot].popleft()
            if not queues[served.bot]:
                row.leave(served.bot)
        if len(group) == seeker.seats:
            yield group


def _best_for(seeker: Seeker, others: Iterable[Seeker], now: float, *, anyone: bool = False) -> list[Seeker]:
    """The best matches among `others`, one for each of the other seats; nobody where there are too few.

    Unless `anyone` will do, no two of them are spent.
    """
    mine = Rating(seeker.mu, seeker.sigma)
    least = _LEAST_CLOSENESS * max(0.0, 1 - _waited(seeker, now))
    near = [other for other in others if closeness(mine, Rating(other.mu, other.sigma)) >= least]
    near.sort(key=lambda other: (-quality(mine, Rating(other.mu, other.sigma)), other.since))
    best: list[Seeker] = []
    for other in near:
        if anyone or not any(one.bot in other.spent for one in best):
            best.append(other)
            if len(best) == seeker.seats - 1:
                return best
    return []


def _waited(seeker: Seeker, now: float) -> float:
    """The share of its patience that a seeker has used."""
    return (now - seeker.since) / seeker.patience if seeker.patience else 1.0


class _LinkedList:
    """Bots, doubly linked, each of which leaves in constant time. Both ends are one more place, the last."""

    def __init__(self, bots: Sequence[str]) -> None:
        self._bots = bots
        self._at = {bot: i for i, bot in enumerate(bots)}
        self._left = [*range(-1, len(bots) - 1), len(bots) - 1]
        self._right = [*range(1, len(bots) + 1), 0]
        self._left[:1] = [len(bots)] if bots else [0]

    def leave(self, bot: str) -> None:
        i = self._at[bot]
        self._right[self._left[i]], self._left[self._right[i]] = self._right[i], self._left[i]

    def around(self, bot: str) -> Iterator[str]:
        """The others still there, taken from the left and the right in turn."""
        end = len(self._bots)
        left = right = self._at[bot]
        while left != end or right != end:
            if left != end and (left := self._left[left]) != end:
                yield self._bots[left]
            if right != end and (right := self._right[right]) != end:
                yield self._bots[right]
