"""Memory-one strategies of a repeated dilemma, and the exact scores of two of them against each other.

Two such strategies form a Markov chain over the four results of a round (Nowak and Sigmund, 1990; Press and Dyson,
2012). Noise changes each choice independently, and strategies remember the choices as played.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from machine.exact.linear_equations import solve

COOPERATE, DEFECT = CHOICES = (0, 1)
"""`COOPERATE` and `DEFECT` are the numbers of the two choices of a dilemma, `CHOICES` has both."""
ROUND_RESULTS = tuple((own, other) for own in CHOICES for other in CHOICES)
"""The possible results of a round, own choice first, in the order of a strategy's probabilities."""

Payoffs = Sequence[Sequence[tuple[int, int]]]
"""The type of a dilemma's payoffs: for each choice of seat 0 and each choice of seat 1, those of both seats."""
Scores = tuple[Fraction, Fraction]
"""The type of a score: the average payoffs of both seats per round."""

Matrix = list[list[Fraction]]

AXELROD_PAYOFFS: Payoffs = (((3, 3), (0, 5)), ((5, 0), (1, 1)))
"""The payoffs of the prisoner's dilemma in Axelrod's tournaments."""
EXTORTION_FACTOR = 2
"""The default `chi` of `extortion`: the extorting seat's gain over mutual defection divided by the other seat's gain.
"""


class MemoryOne(NamedTuple):
    """A strategy: the probability to cooperate first, and after each of `ROUND_RESULTS` (CC, CD, DC, DD)."""

    first: Fraction
    after: tuple[Fraction, Fraction, Fraction, Fraction]


def memory_one(first: Fraction | int, *after: Fraction | int) -> MemoryOne:
    """Return the strategy with these probabilities to cooperate: `first` in the first round, then `after` the results
    CC, CD, DC and DD.
    """
    cc, cd, dc, dd = map(Fraction, after)
    return MemoryOne(Fraction(first), (cc, cd, dc, dd))


class PayoffTable(NamedTuple):
    """The payoffs of a seat for the four results of a round: `reward` for CC, `sucker` for CD, `temptation` for DC and
    `punishment` for DD, with the seat's own choice first.
    """

    reward: int
    sucker: int
    temptation: int
    punishment: int

    @property
    def is_prisoners_dilemma(self) -> bool:
        """True if the payoffs are those of a prisoner's dilemma for this seat."""
        return self.temptation > self.reward > self.punishment > self.sucker


def payoff_table_of(payoffs: Payoffs, seat: int) -> PayoffTable:
    """Return the payoffs of a seat for each result of a round, with the seat's own choice first."""
    own_first = (payoffs[own][other] if seat == 0 else payoffs[other][own] for own, other in ROUND_RESULTS)
    return PayoffTable(*(cell[seat] for cell in own_first))


ALWAYS_COOPERATE = memory_one(1, 1, 1, 1, 1)
"""The strategy that always cooperates."""
ALWAYS_DEFECT = memory_one(0, 0, 0, 0, 0)
"""The strategy that always defects."""
TIT_FOR_TAT = memory_one(1, 1, 0, 1, 0)
"""The strategy that cooperates first, then repeats the other seat's last choice."""
PAVLOV = memory_one(1, 1, 0, 0, 1)
"""The strategy that cooperates first, and later if both seats made the same choice in the last round, else defects."""
GRIM = memory_one(1, 1, 0, 0, 0)
"""The strategy that never cooperates again after a defection by either seat, even after its own defection by noise."""


def generous_tit_for_tat(other_payoffs: PayoffTable) -> MemoryOne:
    """Return generous tit for tat: it forgives a defection as often as possible without making defection profitable for
    the other seat (Nowak and Sigmund, 1992).
    """
    reward, sucker, temptation, punishment = other_payoffs
    forgives = min(
        1 - Fraction(temptation - reward, reward - sucker), Fraction(reward - punishment, temptation - punishment)
    )
    forgives = max(Fraction(0), forgives)
    return memory_one(1, 1, forgives, 1, forgives)


def extortion(
    own_payoffs: PayoffTable, other_payoffs: PayoffTable, chi: Fraction | int = EXTORTION_FACTOR
) -> MemoryOne | None:
    """Return the strategy that makes its own mean gain over mutual defection `chi` times the mean gain of the other
    seat (Press and Dyson, 2012).

    Several strategies do this. They differ by a factor, which says how strongly they react to the last round. This one
    has half of the largest factor that keeps all probabilities between 0 and 1. Return None if mutual cooperation gives
    the strategy more than `chi` times the other seat's gain.
    """
    # Its own surplus over mutual defection minus `chi` times the other's: the strategy holds the mean of this at 0.
    both, exploited, exploits = (
        mine - own_payoffs.punishment - chi * (theirs - other_payoffs.punishment)
        for mine, theirs in (
            (own_payoffs.reward, other_payoffs.reward),
            (own_payoffs.sucker, other_payoffs.temptation),
            (own_payoffs.temptation, other_payoffs.sucker),
        )
    )
    if both > 0:
        return None
    scale = Fraction(1) / (2 * max(-both, -exploited, exploits))
    return memory_one(1, 1 + scale * both, 1 + scale * exploited, scale * exploits, 0)


def strategies(payoffs: Payoffs = AXELROD_PAYOFFS) -> dict[str, MemoryOne]:
    """Return all strategies that have a name, by name, as seat 0 plays them. `generous` and `extort` are among them
    only if the payoffs are a prisoner's dilemma for both seats.
    """
    found = {
        "always-cooperate": ALWAYS_COOPERATE,
        "always-defect": ALWAYS_DEFECT,
        "tit-for-tat": TIT_FOR_TAT,
        "grim": GRIM,
        "pavlov": PAVLOV,
    }
    own, other = payoff_table_of(payoffs, 0), payoff_table_of(payoffs, 1)
    if own.is_prisoners_dilemma and other.is_prisoners_dilemma:
        found["generous"] = generous_tit_for_tat(other)
        if (extorts := extortion(own, other)) is not None:
            found["extort"] = extorts
    return found


def scores(
    strategy0: MemoryOne,
    strategy1: MemoryOne,
    payoffs: Payoffs = AXELROD_PAYOFFS,
    *,
    noise: Fraction | int = 0,
    go_on: Fraction | int = 1,
    rounds: int | None = None,
) -> Scores:
    """Return the average payoff per round of each of two strategies that play each other, over `rounds` rounds or for
    ever.

    If a match goes on after each round with a probability `go_on` below 1, the average is the expected payoff of a
    match divided by its expected number of rounds. If a match never ends, it is the limit of the mean payoff.
    """
    begin = _result_probabilities(_with_noise(strategy0.first, noise), _with_noise(strategy1.first, noise))
    mirrored = [ROUND_RESULTS.index((other, own)) for own, other in ROUND_RESULTS]
    step = [
        _result_probabilities(
            _with_noise(strategy0.after[at], noise), _with_noise(strategy1.after[mirrored[at]], noise)
        )
        for at in range(len(ROUND_RESULTS))
    ]
    if rounds is not None:
        weights = _visits_in_rounds(begin, step, Fraction(go_on), rounds)
    elif go_on < 1:
        weights = _discounted_visits(begin, step, Fraction(go_on))
    else:
        weights = _long_run_shares(begin, step)
    return _mean(weights, payoffs, 0), _mean(weights, payoffs, 1)


def _mean(weights: Sequence[Fraction], payoffs: Payoffs, seat: int) -> Fraction:
    paid = (weight * payoffs[own][other][seat] for weight, (own, other) in zip(weights, ROUND_RESULTS, strict=True))
    return sum(paid, Fraction(0)) / sum(weights)


def _with_noise(chance: Fraction, noise: Fraction | int) -> Fraction:
    return chance * (1 - noise) + (1 - chance) * noise


def _result_probabilities(one: Fraction, two: Fraction) -> list[Fraction]:
    """Return the probability of each result of a round, from each player's probability to cooperate."""
    return [(1 - one if own else one) * (1 - two if other else two) for own, other in ROUND_RESULTS]


def _visits_in_rounds(begin: list[Fraction], step: Matrix, go_on: Fraction, rounds: int) -> list[Fraction]:
    """Return how often each result of a round is expected to occur in a match of at most `rounds` rounds."""
    visits, _ = _sum_of_powers([[go_on * chance for chance in row] for row in step], rounds)
    return _multiply([begin], visits)[0]


def _sum_of_powers(matrix: Matrix, count: int) -> tuple[Matrix, Matrix]:
    """Return the sum I + M + … + M^(count − 1) of powers of a matrix M, where I is the identity, and the power M^count.
    They are computed by doubling, because repeated products would make the fractions long.
    """
    if count == 1:
        return [[Fraction(at == of) for of in range(len(matrix))] for at in range(len(matrix))], matrix
    total, power = _sum_of_powers(matrix, count // 2)
    total, power = _add(total, _multiply(power, total)), _multiply(power, power)
    return (_add(total, power), _multiply(power, matrix)) if count % 2 else (total, power)


def _multiply(one: Matrix, two: Matrix) -> Matrix:
    columns = list(zip(*two, strict=True))
    return [[sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in one]


def _add(one: Matrix, two: Matrix) -> Matrix:
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(one, two, strict=True)]


def _discounted_visits(begin: list[Fraction], step: Matrix, go_on: Fraction) -> list[Fraction]:
    """Return how often each result of a round is expected to occur: the vector w with w = begin + go_on · w · step."""
    size = range(len(begin))
    return _solve_system([[(at == of) - go_on * step[of][at] for of in size] for at in size], begin)


def _long_run_shares(begin: list[Fraction], step: Matrix) -> list[Fraction]:
    """Return the fraction of all rounds that have each result, in a match that never ends. It is a sum over the
    recurrent classes of the Markov chain: the probability to enter the class times the class's stationary distribution.
    """
    size = range(len(begin))
    reached = [_reachable(step, at) for at in size]
    classes = {frozenset(reached[at]) for at in size if all(at in reached[to] for to in reached[at])}
    caught = frozenset().union(*classes)
    passing = [at for at in size if at not in caught]
    visits = _solve_system(
        [[(at == of) - step[of][at] for of in passing] for at in passing], [begin[at] for at in passing]
    )
    shares = [Fraction(0)] * len(begin)
    for members in map(sorted, classes):
        entered = sum(
            begin[at] + sum(visit * step[of][at] for visit, of in zip(visits, passing, strict=True)) for at in members
        )
        stationary = [[(at == of) - step[of][at] for of in members] for at in members]
        stationary[-1] = [Fraction(1)] * len(members)
        for at, share in zip(
            members, _solve_system(stationary, [Fraction(0)] * (len(members) - 1) + [Fraction(1)]), strict=True
        ):
            shares[at] = entered * share
    return shares


def _reachable(step: Matrix, begin: int) -> set[int]:
    found, waiting = {begin}, [begin]
    while waiting:
        new = {at for at, chance in enumerate(step[waiting.pop()]) if chance} - found
        found |= new
        waiting += new
    return found


def _solve_system(matrix: Matrix, right: list[Fraction]) -> list[Fraction]:
    found = solve([[*map(Fraction, row), each] for row, each in zip(matrix, right, strict=True)])
    assert found is not None
    return found
