"""The genetic algorithm that tunes an evaluation's weights: schedule of games, fitness, selection and breeding.

The games are played elsewhere. All randomness follows from the seed and the number of the generation, so a generation
can be resumed from its genes alone. The method is that of the project arman-aminian/risk-game-ai-agent; where the
project's code and report differ, this module follows the report.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from statistics import median
from typing import Literal, NamedTuple, get_args

from bots.evaluation.base import EQUAL_WEIGHTS
from protocol.display import short_repr
from protocol.errors import UsageFault

Gene = tuple[float, ...]
"""The weights of an evaluation, rounded to `WEIGHT_DECIMALS`. At least one is not 0."""
Seating = Literal["drawn", "both"]
Fitness = Literal["results", "adjusted"]

WEIGHT_DECIMALS = 3
"""The number of decimal places to which a weight is rounded."""
FITNESS_DECIMALS = 6
"""The number of decimal places to which a fitness is rounded."""
MAX_GENES = 1000
"""The maximum number of genes of a generation."""
MAX_STARTS = 1000
"""The maximum number of start positions that a pair of genes plays."""
MAX_GENERATIONS = 1000
"""The maximum number of generations of a tuning."""
MAX_GAMES: Mapping[Fitness, int] = {"results": 100_000, "adjusted": 40_000}
"""The maximum number of games of a generation, by kind of fitness. With more, the tuning's file would be too long for
`read_file`."""
MAX_WEIGHT = 1000.0
"""The maximum value of `Method.highest`, the upper limit of a tuning's weights."""


@dataclass(frozen=True, slots=True)
class Method:
    """The parameters of the genetic algorithm, by default those in the report of arman-aminian/risk-game-ai-agent."""

    genes: int = 100
    tournaments: int = 10
    """The number of random tournaments of equal size into which a generation is split. In each, every pair of genes
    plays."""
    starts: int = 1
    """The number of start positions that each pair of genes plays."""
    seats: Seating = "drawn"
    """The seats of a pair of genes. "drawn": random for each start position. "both": each is played twice, seats
    swapped."""
    best: int = 3
    """The number of the fittest genes of each tournament that become parents."""
    children: int = 12
    """The number of new genes of a generation that are the average of two parents."""
    mutants: int = 3
    """The number of new genes of a generation that are a parent with one weight changed at random."""
    generations: int = 4
    highest: float = 10.0
    """The highest weight. The weights of the first generation are random from 0 to this."""
    step: float = 1.0
    """The factor by which each generation multiplies the maximum change of a mutant's weight, which is `highest` at
    first."""
    fitness: Fitness = "results"
    """The kind of fitness. "results": the mean score. "adjusted": the mean of scores minus luck."""

    @property
    def games(self) -> int:
        """The number of games of a generation."""
        pairs = self.tournaments * comb(self.genes // self.tournaments, 2)
        return pairs * self.starts * (2 if self.seats == "both" else 1)

    @property
    def total(self) -> int:
        """The number of games of all generations together."""
        return self.games * self.generations

    def check(self) -> None:
        """Raise `UsageFault` for the first parameter that is out of range or contradicts another parameter."""
        _check_integer("genes", self.genes, 2, MAX_GENES)
        _check_integer("tournaments", self.tournaments, 1, self.genes // 2, "at least two genes each")
        if self.genes % self.tournaments:
            raise UsageFault(f"tournaments is {self.tournaments}: it must divide genes, {self.genes}")
        _check_integer("starts", self.starts, 1, MAX_STARTS)
        if self.seats not in get_args(Seating):
            raise UsageFault(f"seats is {short_repr(self.seats)}: one of {', '.join(get_args(Seating))}")
        self._check_breeding()
        _check_integer("generations", self.generations, 1, MAX_GENERATIONS)
        _check_number("highest", self.highest, MAX_WEIGHT)
        _check_number("step", self.step, 1)
        if self.fitness not in get_args(Fitness):
            raise UsageFault(f"fitness is {short_repr(self.fitness)}: one of {', '.join(get_args(Fitness))}")
        most = MAX_GAMES[self.fitness]
        if self.games > most:
            raise UsageFault(f"{self.games:,} games of a generation: at most {most:,}; use fewer genes or starts")

    def _check_breeding(self) -> None:
        each = self.genes // self.tournaments
        _check_integer("best", self.best, 1, each - 1, "fewer than the genes of a tournament")
        _check_integer("children", self.children, 0, self.genes, "at most genes")
        _check_integer("mutants", self.mutants, 0, self.genes - self.children, "with the children at most genes")
        if self.children and self.best * self.tournaments < 2:
            raise UsageFault(
                f"children is {self.children}: it must be 0 if best and tournaments are 1: a child has two parents"
            )


class ScheduledGame(NamedTuple):
    """A game to play: the indices of the genes that play seat 0 and seat 1, and the seeds as in `TuningGame`."""

    first: int
    second: int
    start: str
    dice: str | None = None


class Generation(NamedTuple):
    """A generation whose games are all played. `number` counts from 1. `fitness` has the fitness of each gene, rounded
    to `FITNESS_DECIMALS`. It is from 0 to 1, unless scores are adjusted for luck.
    """

    number: int
    genes: tuple[Gene, ...]
    fitness: tuple[float, ...]


def draw_first_genes(method: Method, seed: str, weights: int = len(EQUAL_WEIGHTS)) -> tuple[Gene, ...]:
    """Return the random genes of generation 1: `weights` weights each, uniform from 0 to `method.highest`."""
    chance = _make_rng(seed, 1, "genes")
    return tuple(
        _redraw_zeros(lambda: tuple(_draw_weight(chance, method) for _ in range(weights))) for _ in range(method.genes)
    )


def schedule_games(method: Method, seed: str, number: int) -> tuple[ScheduledGame, ...]:
    """Return the games of a generation, tournament by tournament.

    A game's `start` is its own, except that two games with swapped seats share it. If luck is adjusted for, these two
    games have different dice: with equal dice their results would be alike and add no information.
    """
    chance = _make_rng(seed, number, "seats")
    meetings = []
    for members in _draw_tournaments(method, seed, number):
        for pair in combinations(members, 2):
            for k in range(method.starts):
                start = f"{seed}/{number}/{pair[0]}-{pair[1]}/{k}"
                seated = pair if method.seats == "both" or chance.random() < 0.5 else pair[::-1]
                own = [f"{start}/{seat}" if method.fitness == "adjusted" else None for seat in (0, 1)]
                meetings.append(ScheduledGame(*seated, start, own[0]))
                if method.seats == "both":
                    meetings.append(ScheduledGame(*seated[::-1], start, own[1]))
    return tuple(meetings)


def compute_fitness(method: Method, meetings: Sequence[ScheduledGame], scores: Sequence[float]) -> tuple[float, ...]:
    """Return the fitness of each gene, its mean score. `scores` are those of seat 0 by game: 1 for a win, 0.5 for a
    draw, 0 for a loss, minus luck if it is adjusted for.
    """
    points, games = [0.0] * method.genes, [0] * method.genes
    for meeting, score in zip(meetings, scores, strict=True):
        points[meeting.first] += score
        points[meeting.second] += 1 - score
        games[meeting.first] += 1
        games[meeting.second] += 1
    return tuple(round(won / played, FITNESS_DECIMALS) for won, played in zip(points, games, strict=True))


def breed_genes(method: Method, seed: str, generation: Generation) -> tuple[Gene, ...]:
    """Return the next generation's genes: children and mutants of the fittest replace the least fit."""
    parents = [generation.genes[i] for i in _select_parents(method, seed, generation)]
    mating, mutation = (_make_rng(seed, generation.number, purpose) for purpose in ("children", "mutants"))
    born = [_make_child(mating, parents) for _ in range(method.children)]
    reach = method.highest * method.step ** (generation.number - 1)
    born += [_redraw_zeros(lambda: _make_mutant(mutation, method, parents, reach)) for _ in range(method.mutants)]
    least_fit = _rank_genes(generation, range(method.genes))[method.genes - len(born) :]
    genes = list(generation.genes)
    for place, gene in zip(sorted(least_fit), born, strict=True):
        genes[place] = gene
    return tuple(genes)


def fittest_index(generation: Generation) -> int:
    return _rank_genes(generation, range(len(generation.genes)))[0]


def median_fitness(generation: Generation) -> float:
    return round(median(generation.fitness), FITNESS_DECIMALS)


def _draw_tournaments(method: Method, seed: str, number: int) -> list[list[int]]:
    """Return the random tournaments into which a generation is split. Each is a list of its genes' indices, in
    ascending order.
    """
    drawn = list(range(method.genes))
    _make_rng(seed, number, "tournaments").shuffle(drawn)
    size = method.genes // method.tournaments
    return [sorted(drawn[begin : begin + size]) for begin in range(0, method.genes, size)]


def _select_parents(method: Method, seed: str, generation: Generation) -> list[int]:
    tournaments = _draw_tournaments(method, seed, generation.number)
    return [gene for members in tournaments for gene in _rank_genes(generation, members)[: method.best]]


def _rank_genes(generation: Generation, genes: Sequence[int]) -> list[int]:
    """Return the indices of genes, the fittest first; of equal genes, the lower index first."""
    return sorted(genes, key=lambda gene: (-generation.fitness[gene], gene))


def _make_child(rng: random.Random, parents: Sequence[Gene]) -> Gene:
    """Return the average of two different parents. It is not all 0: half of the smallest weight is rounded up."""
    one, other = rng.sample(parents, 2)
    return tuple(round((a + b) / 2, WEIGHT_DECIMALS) for a, b in zip(one, other, strict=True))


def _make_mutant(chance: random.Random, method: Method, parents: Sequence[Gene], max_change: float) -> Gene:
    """Return a random parent with one weight changed at random, by at most `max_change`."""
    parent = chance.choice(parents)
    at = chance.randrange(len(parent))
    weight = chance.uniform(max(0.0, parent[at] - max_change), min(method.highest, parent[at] + max_change))
    return (*parent[:at], round(weight, WEIGHT_DECIMALS), *parent[at + 1 :])


def _redraw_zeros(draw: Callable[[], Gene]) -> Gene:
    while not any(gene := draw()):
        pass
    return gene


def _draw_weight(chance: random.Random, method: Method) -> float:
    return round(chance.uniform(0, method.highest), WEIGHT_DECIMALS)


def _make_rng(seed: str, number: int, purpose: str) -> random.Random:
    return random.Random(f"{seed}/{number}/{purpose}")


def _check_number(key: str, value: object, max_value: float) -> None:
    known = type(value) in (int, float) and 0 < value <= max_value  # type: ignore[operator]
    if not known or value != round(value, WEIGHT_DECIMALS):  # type: ignore[call-overload]
        right = f"a number above 0, at most {max_value:g}, with at most {WEIGHT_DECIMALS} decimals"
        raise UsageFault(f"{key} is {short_repr(value)}: it must be {right}")


def _check_integer(key: str, value: object, low: int, high: int, reason: str = "") -> None:
    if type(value) is not int or not low <= value <= high:
        because = f" ({reason})" if reason else ""
        raise UsageFault(f"{key} is {short_repr(value)}: it must be an integer from {low} to {high}{because}")
