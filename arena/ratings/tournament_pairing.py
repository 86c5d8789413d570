"""Schedules of tournaments (round robin, gauntlet and swiss) as pure functions. Randomness comes from a `random.Random`
argument, so equal arguments give equal schedules.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from random import Random

from protocol.errors import UsageFault

TEST_FORMAT = "test"
"""The name of the tournament format `test`: unrated pairs of matches, until one of two bots is shown to be better. With
more than two seats, copies of the two bots fill the other seats.
"""
_SWISS_WINDOW_SIZE = 12
"""A bot may be paired with this many of the bots ranked just below it. The number is doubled while that forces
rematches or leaves bots without a pair.
"""
_REMATCH_COST = 1_000_000
"""The cost of pairing two bots again, per earlier match of the two. It exceeds every cost of a difference in scores."""
_MAX_EDGE_WEIGHT = 1 << 40
"""The weight of a pairing that costs nothing. The cost of a pairing is subtracted from it, because networkx maximises
weights and costs must be minimal.
"""


@dataclass(frozen=True, slots=True)
class Pairing:
    """A scheduled match: its place in the schedule, its round, and its bots in seat order. Pairings with equal `start`
    have the same start position.
    """

    place: int
    round: int
    seats: tuple[str, ...]
    start: int


def start_at(place: int, seats: int) -> int:
    """Return the number of the start position that is played at a place in a paired schedule. Such a schedule plays
    each start position once per rotation of the seats.
    """
    return place // seats


def start_name(tournament: str, place: int, seats: int) -> str:
    """Return the name of a match's start position in exports and documents, unique among tournaments. The view
    `match_results` has these names too.
    """
    return f"{tournament}/{start_at(place, seats)}"


def count_matches(tournament_format: str, bots: int, rounds: int, *, seats: int = 2, paired: bool = False) -> int:
    """Return the number of matches of a tournament, or the maximum for the format `test`."""
    groups = {
        "round-robin": comb(bots, seats),
        "gauntlet": comb(bots - 1, seats - 1),
        "swiss": bots // seats,
        TEST_FORMAT: comb(bots, seats),
    }[tournament_format]
    return groups * rounds * (seats if paired else 1)


def round_robin(
    bots: Sequence[str], rounds: int, rng: Random, *, seats: int = 2, paired: bool = False
) -> list[Pairing]:
    """Schedule every group of `seats` bots once per round. The seats rotate from round to round. Raise `UsageFault` for
    too few bots.

    With `paired`, every group plays `seats` matches per round from the same start position, one for each rotation of
    its seat order. With more than two seats, each group gets a new random seat order after it has played all rotations
    of the last one.
    """
    _check_enough(bots, seats, "a round robin")
    groups = [(sum(group), tuple(bots[i] for i in group)) for group in itertools.combinations(range(len(bots)), seats)]
    return _schedule(groups, rounds, rng, paired)


def gauntlet(bots: Sequence[str], rounds: int, rng: Random, *, seats: int = 2, paired: bool = False) -> list[Pairing]:
    """Schedule the first bot against each other bot, or each group of others, once per round. See `round_robin`."""
    _check_enough(bots, seats, "a gauntlet")
    others = itertools.combinations(bots[1:], seats - 1)
    return _schedule([(turn, (bots[0], *group)) for turn, group in enumerate(others)], rounds, rng, paired)


def swiss(
    bots: Sequence[str],
    played: Sequence[Pairing],
    scores: Mapping[str, float],
    rng: Random,
    *,
    paired: bool = False,
) -> list[Pairing]:
    """Schedule a round of two-seat matches. Bots with equal scores meet, rematches are avoided, and seats are balanced.

    `scores` are the points so far; the caller decides how many points a bye (a round without a match) gives. If the
    number of bots is odd, the bot with the lowest score of those with the fewest byes has a bye.
    """
    _check_enough(bots, 2, "a swiss tournament")
    number = max((pairing.round for pairing in played), default=-1) + 1
    entered = list(bots)
    rng.shuffle(entered)
    ranked = sorted(entered, key=lambda bot: -scores.get(bot, 0))
    if len(ranked) % 2:
        sat_out = count_byes(bots, played)
        ranked.remove(min(reversed(ranked), key=lambda bot: sat_out[bot]))
    first = Counter(pairing.seats[0] for pairing in played)
    groups = []
    for a, b in _swiss_pairs(ranked, played, scores):
        swap = first[a] > first[b] or (first[a] == first[b] and rng.random() < 0.5)
        groups.append((b, a) if swap else (a, b))
    start = max((pairing.start for pairing in played), default=-1) + 1
    return _make_pairings(groups, number, len(played), start, paired)


def count_byes(bots: Sequence[str], played: Iterable[Pairing]) -> Counter[str]:
    """Return for each bot the number of rounds so far in which it had no match."""
    rounds: dict[int, set[str]] = defaultdict(set)
    for pairing in played:
        rounds[pairing.round].update(pairing.seats)
    return Counter(bot for present in rounds.values() for bot in bots if bot not in present)


def _check_enough(bots: Sequence[str], seats: int, what: str) -> None:
    if len(bots) < seats:
        raise UsageFault(f"{what} with {seats} seats a match needs {seats} bots: {len(bots)} given")


def _rotate(group: tuple[str, ...], steps: int) -> tuple[str, ...]:
    steps %= len(group)
    return group[steps:] + group[:steps]


def _schedule(groups: Sequence[tuple[int, tuple[str, ...]]], rounds: int, rng: Random, paired: bool) -> list[Pairing]:
    """Schedule all groups of bots in each round, in random order. Each of `groups` has a number and the bots. The sum
    of this number and the round's number is how far the bots' seat order is rotated.
    """
    schedule: list[Pairing] = []
    around = [group for _, group in groups]
    for number in range(rounds):
        seats = len(around[0])
        if seats > 2 and (paired or number % seats == 0):  # all rotations were played
            around = [tuple(rng.sample(group, seats)) for group in around]
        drawn = rng.sample(range(len(groups)), len(groups))
        turned = [_rotate(around[at], groups[at][0] + number) for at in drawn]
        schedule += _make_pairings(turned, number, len(schedule), number * len(groups), paired)
    return schedule


def _make_pairings(
    groups: Sequence[tuple[str, ...]], number: int, place: int, start: int, paired: bool
) -> list[Pairing]:
    pairings: list[Pairing] = []
    for offset, group in enumerate(groups):
        for turn in range(len(group) if paired else 1):
            pairings.append(Pairing(place + len(pairings), number, _rotate(group, turn), start + offset))
    return pairings


def _swiss_pairs(
    ranked: Sequence[str], played: Iterable[Pairing], scores: Mapping[str, float]
) -> list[tuple[str, str]]:
    """Return all bots in pairs, at the lowest cost. Rematches cost most, then squared differences in scores."""
    met = Counter(frozenset(pairing.seats) for pairing in played)
    window = _SWISS_WINDOW_SIZE
    while True:
        edges = {}
        for i, a in enumerate(ranked):
            for j in range(i + 1, min(i + 1 + window, len(ranked))):
                apart = round(2 * (scores.get(a, 0) - scores.get(ranked[j], 0)))
                edges[i, j] = _REMATCH_COST * met[frozenset((a, ranked[j]))] + apart * apart
        pairs = _cheapest_matching(edges)
        whole = len(pairs) * 2 == len(ranked)
        if window >= len(ranked) or (whole and not any(met[frozenset((ranked[i], ranked[j]))] for i, j in pairs)):
            return [(ranked[i], ranked[j]) for i, j in pairs]
        window *= 2


def _cheapest_matching(edges: Mapping[tuple[int, int], int]) -> list[tuple[int, int]]:
    import networkx

    graph = networkx.Graph()
    for (i, j), cost in edges.items():
        graph.add_edge(i, j, weight=_MAX_EDGE_WEIGHT - cost)
    return sorted((min(pair), max(pair)) for pair in networkx.max_weight_matching(graph, maxcardinality=True))
