"""Strategies of a repeated dilemma that remember one round, and what two of them score against each other, exactly.

The results of two such strategies are a Markov chain over the four that a round may have (Nowak and Sigmund, 1990;
Press and Dyson, 2012). Noise changes each choice by itself, and it is what was played that is remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from machine.exact.linear_equations import solve

COOPERATE, DEFECT = CHOICES = (0, 1)
RESULTS = tuple((own, other) for own in CHOICES for other in CHOICES)
"""Of a round, by what one played and what the other did, in the order in which a strategy answers them."""

Payoffs = Sequence[Sequence[tuple[int, int]]]
"""As a dilemma's config has them: for each choice of one, for each of the other, what both get."""
Scores = tuple[Fraction, Fraction]
"""Of both, a round."""

Matrix = list[list[Fraction]]

AXELROD: Payoffs = (((3, 3), (0, 5)), ((5, 0), (1, 1)))
CHI = 2
"""What extortion wants of each point above mutual defection for one that the other gets."""


class MemoryOne(NamedTuple):
    """How likely it cooperates: in the first round, and after each of `RESULTS`, which are CC, CD, DC, DD."""

    first: Fraction
    after: tuple[Fraction, Fraction, Fraction, Fraction]


def memory_one(first: Fraction | int, *after: Fraction | int) -> MemoryOne:
    """A strategy of five probabilities."""
    cc, cd, dc, dd = map(Fraction, after)
    return MemoryOne(Fraction(first), (cc, cd, dc, dd))


class Stakes(NamedTuple):
    """What one gets for CC, CD, DC and DD."""

    reward: int
    sucker: int
    temptation: int
    punishment: int

    @property
    def tempt(self) -> bool:
        """Whether they make a prisoner's dilemma of it: to defect pays, and both lose by it."""
        return self.temptation > self.reward > self.punishment > self.sucker


def stakes_of(payoffs: Payoffs, seat: int) -> Stakes:
    """Those of a seat, its own choice first."""
    own_first = (payoffs[own][other] if seat == 0 else payoffs[other][own] for own, other in RESULTS)
    return Stakes(*(cell[seat] for cell in own_first))


ALWAYS_COOPERATE = memory_one(1, 1, 1, 1, 1)
ALWAYS_DEFECT = memory_one(0, 0, 0, 0, 0)
TIT_FOR_TAT = memory_one(1, 1, 0, 1, 0)
PAVLOV = memory_one(1, 1, 0, 0, 1)
GRIM = memory_one(1, 1, 0, 0, 0)
"""With noise it also gives up after a defection of its own."""


def generous(other: Stakes) -> MemoryOne:
    """Tit for tat that forgives a defection as often as it can without tempting the other (Nowak and Sigmund, 1992)."""
    reward, sucker, temptation, punishment = other
    forgives = min(
        1 - Fraction(temptation - reward, reward - sucker), Fraction(reward - punishment, temptation - punishment)
    )
    forgives = max(Fraction(0), forgives)
    return memory_one(1, 1, forgives, 1, forgives)


def extort(own: Stakes, other: Stakes, chi: Fraction | int = CHI) -> MemoryOne | None:
    """Forces its own surplus over mutual defection to be `chi` times the other's, half way to the sharpest that does
    (Press and Dyson, 2012); None where mutual cooperation gives it more than that.
    """
    # What it gains over mutual defection, less what it wants for the other's gain: in the mean this is to be 0.
    both, exploited, exploits = (
        mine - own.punishment - chi * (theirs - other.punishment)
        for mine, theirs in (
            (own.reward, other.reward),
            (own.sucker, other.temptation),
            (own.temptation, other.sucker),
        )
    )
    if both > 0:
        return None
    scale = Fraction(1) / (2 * max(-both, -exploited, exploits))
    return memory_one(1, 1 + scale * both, 1 + scale * exploited, scale * exploits, 0)


def strategies(payoffs: Payoffs = AXELROD) -> dict[str, MemoryOne]:
    """Those with a name, of seat 0; `generous` and `extort` only where both seats are in a prisoner's dilemma."""
    found = {
        "always-cooperate": ALWAYS_COOPERATE,
        "always-defect": ALWAYS_DEFECT,
        "tit-for-tat": TIT_FOR_TAT,
        "grim": GRIM,
        "pavlov": PAVLOV,
    }
    own, other = stakes_of(payoffs, 0), stakes_of(payoffs, 1)
    if own.tempt and other.tempt:
        found["generous"] = generous(other)
        if (extorts := extort(own, other)) is not None:
            found["extort"] = extorts
    return found


def scores(
    one: MemoryOne,
    two: MemoryOne,
    payoffs: Payoffs = AXELROD,
    *,
    noise: Fraction | int = 0,
    go_on: Fraction | int = 1,
    rounds: int | None = None,
) -> Scores:
    """What two strategies get a round on average: of `rounds`, or for ever.

    With a chance below 1 to `go_on` after each round it is what a match is expected to pay over the rounds that it is
    expected to have; for ever with certainty, the mean that the rounds tend to.
    """
    begin = _chances(_noisy(one.first, noise), _noisy(two.first, noise))
    mirrored = [RESULTS.index((other, own)) for own, other in RESULTS]
    step = [
        _chances(_noisy(one.after[at], noise), _noisy(two.after[mirrored[at]], noise)) for at in range(len(RESULTS))
    ]
    if rounds is not None:
        weights = _of_rounds(begin, step, Fraction(go_on), rounds)
    elif go_on < 1:
        weights = _discounted(begin, step, Fraction(go_on))
    else:
        weights = _for_ever(begin, step)
    return _mean(weights, payoffs, 0), _mean(weights, payoffs, 1)


def _mean(weights: Sequence[Fraction], payoffs: Payoffs, seat: int) -> Fraction:
    paid = (weight * payoffs[own][other][seat] for weight, (own, other) in zip(weights, RESULTS, strict=True))
    return sum(paid, Fraction(0)) / sum(weights)


def _noisy(chance: Fraction, noise: Fraction | int) -> Fraction:
    return chance * (1 - noise) + (1 - chance) * noise


def _chances(one: Fraction, two: Fraction) -> list[Fraction]:
    """Of each result, by how likely each cooperates."""
    return [(1 - one if own else one) * (1 - two if other else two) for own, other in RESULTS]


def _of_rounds(begin: list[Fraction], step: Matrix, go_on: Fraction, rounds: int) -> list[Fraction]:
    """How often each result is expected in so many rounds."""
    visits, _ = _sum_of_powers([[go_on * chance for chance in row] for row in step], rounds)
    return _times([begin], visits)[0]


def _sum_of_powers(matrix: Matrix, count: int) -> tuple[Matrix, Matrix]:
    """I + M + … + M^(count − 1), and M^count: by doubling, as the fractions become long."""
    if count == 1:
        return [[Fraction(at == of) for of in range(len(matrix))] for at in range(len(matrix))], matrix
    total, power = _sum_of_powers(matrix, count // 2)
    total, power = _plus(total, _times(power, total)), _times(power, power)
    return (_plus(total, power), _times(power, matrix)) if count % 2 else (total, power)


def _times(one: Matrix, two: Matrix) -> Matrix:
    columns = list(zip(*two, strict=True))
    return [[sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in one]


def _plus(one: Matrix, two: Matrix) -> Matrix:
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(one, two, strict=True)]


def _discounted(begin: list[Fraction], step: Matrix, go_on: Fraction) -> list[Fraction]:
    """How often each result is expected: w = begin + go_on · w · step."""
    size = range(len(begin))
    return _solved([[(at == of) - go_on * step[of][at] for of in size] for at in size], begin)


def _for_ever(begin: list[Fraction], step: Matrix) -> list[Fraction]:
    """The share of rounds that has each result, in the long run: by which results that come back the chain is caught,
    and how it stays there.
    """
    size = range(len(begin))
    reached = [_reachable(step, at) for at in size]
    classes = {frozenset(reached[at]) for at in size if all(at in reached[to] for to in reached[at])}
    caught = frozenset().union(*classes)
    passing = [at for at in size if at not in caught]
    visits = _solved([[(at == of) - step[of][at] for of in passing] for at in passing], [begin[at] for at in passing])
    shares = [Fraction(0)] * len(begin)
    for members in map(sorted, classes):
        entered = sum(
            begin[at] + sum(visit * step[of][at] for visit, of in zip(visits, passing, strict=True)) for at in members
        )
        stationary = [[(at == of) - step[of][at] for of in members] for at in members]
        stationary[-1] = [Fraction(1)] * len(members)
        for at, share in zip(
            members, _solved(stationary, [Fraction(0)] * (len(members) - 1) + [Fraction(1)]), strict=True
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


def _solved(matrix: Matrix, right: list[Fraction]) -> list[Fraction]:
    """The solution of linear equations, of which there is one."""
    found = solve([[*map(Fraction, row), each] for row, each in zip(matrix, right, strict=True)])
    assert found is not None
    return found
