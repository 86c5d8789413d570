"""Strategies of a repeated dilemma that remember one round, and what two of them score against each other, exactly.

The results of two such strategies are a Markov chain over the four that a round may have (Nowak and Sigmund, 1990;
Press and Dyson, 2012). Noise changes each choice by itself, and it is what was played that is remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

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


def _by_name(payoffs: Payoffs) -> tuple[int, int, int, int]:
    """What the first gets for CC, CD, DC and DD."""
    reward, sucker, temptation, punishment = (payoffs[own][other][0] for own, other in RESULTS)
    return reward, sucker, temptation, punishment


def generous(payoffs: Payoffs = AXELROD) -> MemoryOne:
    """Tit for tat that forgives a defection as often as it can without being exploited (Nowak and Sigmund, 1992)."""
    reward, sucker, temptation, punishment = _by_name(payoffs)
    kept, gained = (
        Fraction(temptation - reward, reward - sucker),
        Fraction(reward - punishment, temptation - punishment),
    )
    forgives = min(1 - kept, gained)
    return memory_one(1, 1, forgives, 1, forgives)


def extort(payoffs: Payoffs = AXELROD, chi: Fraction | int = CHI) -> MemoryOne:
    """Forces its own surplus over mutual defection to be `chi` times the other's, half way to the sharpest that does
    (Press and Dyson, 2012).
    """
    reward, sucker, temptation, punishment = _by_name(payoffs)
    lost, gained = punishment - sucker, temptation - punishment
    phi = Fraction(1, 2) / (lost + chi * gained)
    return memory_one(
        1,
        1 - phi * (chi - 1) * (reward - punishment),
        1 - phi * (lost + chi * gained),
        phi * (chi * lost + gained),
        0,
    )


def strategies(payoffs: Payoffs = AXELROD) -> dict[str, MemoryOne]:
    """Those with a name; `generous` and `extort` only where each is tempted to defect and both would lose by it.

    With noise, this `grim` also gives up after a defection of its own.
    """
    found = {
        "always-cooperate": memory_one(1, 1, 1, 1, 1),
        "always-defect": memory_one(0, 0, 0, 0, 0),
        "tit-for-tat": memory_one(1, 1, 0, 1, 0),
        "grim": memory_one(1, 1, 0, 0, 0),
        "pavlov": memory_one(1, 1, 0, 0, 1),
    }
    reward, sucker, temptation, punishment = _by_name(payoffs)
    if sucker < punishment < reward < temptation:
        found |= {"generous": generous(payoffs), "extort": extort(payoffs)}
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
    return _solve([[(at == of) - go_on * step[of][at] for of in size] for at in size], begin)


def _for_ever(begin: list[Fraction], step: Matrix) -> list[Fraction]:
    """The share of rounds that has each result, in the long run: by which results that come back the chain is caught,
    and how it stays there.
    """
    size = range(len(begin))
    reached = [_reachable(step, at) for at in size]
    classes = {frozenset(reached[at]) for at in size if all(at in reached[to] for to in reached[at])}
    caught = frozenset().union(*classes)
    passing = [at for at in size if at not in caught]
    visits = _solve([[(at == of) - step[of][at] for of in passing] for at in passing], [begin[at] for at in passing])
    shares = [Fraction(0)] * len(begin)
    for members in map(sorted, classes):
        entered = sum(
            begin[at] + sum(visit * step[of][at] for visit, of in zip(visits, passing, strict=True)) for at in members
        )
        stationary = [[(at == of) - step[of][at] for of in members] for at in members]
        stationary[-1] = [Fraction(1)] * len(members)
        for at, share in zip(
            members, _solve(stationary, [Fraction(0)] * (len(members) - 1) + [Fraction(1)]), strict=True
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


def _solve(matrix: Matrix, right: list[Fraction]) -> list[Fraction]:
    """By elimination. The matrix is regular, and changed."""
    rows = [[*map(Fraction, row), each] for row, each in zip(matrix, right, strict=True)]
    for at in range(len(rows)):
        pivot = next(row for row in range(at, len(rows)) if rows[row][at])
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [each / rows[at][at] for each in rows[at]]
        for row in range(len(rows)):
            if row != at and rows[row][at]:
                rows[row] = [each - rows[row][at] * taken for each, taken in zip(rows[row], rows[at], strict=True)]
    return [row[-1] for row in rows]
