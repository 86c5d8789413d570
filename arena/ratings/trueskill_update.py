"""TrueSkill's update of ratings for single players in rank order: messages pass between neighbours until they converge.

With doubles, the operations are done in the same order as in the package trueskill 0.4.5, so the results are equal to
the last bit. That package would take ten times as long. The time matters because, for a tie, the update is computed
once for every order of the tied players.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import sqrt
from typing import NamedTuple

_MAX_SWEEPS = 10
"""The maximum number of passes through all pairs of neighbours, as in the package trueskill."""
_MAX_CONVERGED_CHANGE = 1e-4
"""The maximum change of a message at which the update has converged, as in the package trueskill."""


class ResultWeights(NamedTuple):
    """The functions of the standard normal distribution and the draw margin, by which an update takes account of a
    result. They compute with doubles or in higher precision.
    """

    cdf: Callable[[float], float]
    pdf: Callable[[float], float]
    margin: float
    """The difference of two performances below which the match is a draw."""


class PlayerSkill:
    """A player's skill and performance, two normal distributions: precision (pi), and precision times mean (tau)."""

    __slots__ = ("message_pi", "message_tau", "pi", "skill_pi", "skill_tau", "tau", "variance")

    def __init__(self, mu: float, sigma: float, beta: float, tau: float) -> None:
        """Compute the player's performance before the match is known. `beta` is the standard deviation of a performance
        around the skill, `tau` that of the skill's change since the last match.
        """
        pi = sigma**-2
        self.variance = beta**2
        self.skill_pi = sqrt(sqrt(1 / pi) ** 2 + tau**2) ** -2
        self.skill_tau = self.skill_pi * (pi * mu / pi)
        a = 1.0 / (1.0 + self.variance * self.skill_pi)
        self.message_pi, self.message_tau = a * self.skill_pi, a * self.skill_tau
        self.pi = 1.0 / (1.0 / self.message_pi)
        self.tau = self.pi * (self.message_tau / self.message_pi)

    def updated_rating(self, pi: float, tau: float) -> tuple[float, float]:
        """Return the player's rating (mu, sigma) after a match, given its performance in the match."""
        new_pi, new_tau = _pass_through_team(pi - self.pi, tau - self.tau)
        new_pi = self.message_pi + new_pi - self.message_pi
        new_tau = self.message_tau + new_tau - self.message_tau
        a = 1.0 / (1.0 + self.variance * new_pi)
        skill_pi, skill_tau = self.skill_pi + a * new_pi, self.skill_tau + a * new_tau
        return _round_trip(float(skill_tau / skill_pi), sqrt(1 / skill_pi))


class _PlayerBelief:
    """The current estimate of a player's performance, as precision (pi) and precision times mean (tau)."""

    __slots__ = ("pi", "tau")

    def __init__(self, player: PlayerSkill) -> None:
        self.pi = player.pi
        self.tau = player.tau


class _NeighbourDifference:
    """The difference between the performances of two neighbours in rank order, with the messages to and from it."""

    __slots__ = (
        "above",
        "above_mu",
        "above_pi",
        "above_tau",
        "below",
        "below_mu",
        "below_pi",
        "below_tau",
        "correction",
        "down_pi",
        "down_tau",
        "pi",
        "result_pi",
        "result_tau",
        "row_pi",
        "row_tau",
        "tau",
        "up_pi",
        "up_tau",
        "weights",
    )

    def __init__(self, above: _PlayerBelief, below: _PlayerBelief, drawn: bool, weights: ResultWeights) -> None:
        self.above, self.below = above, below
        self.correction = _draw_correction if drawn else _win_correction
        self.weights = weights
        self.pi = self.tau = self.row_pi = self.row_tau = self.result_pi = self.result_tau = 0.0
        self.up_pi = self.up_tau = self.down_pi = self.down_tau = 0.0

    def read_beliefs(self) -> None:
        """Read the current estimates of the two performances. Subtract the messages that this object has sent to them,
        because they are not new information to it.
        """
        above, below = self.above, self.below
        self.above_pi, self.above_tau = above.pi - self.up_pi, above.tau - self.up_tau
        self.below_pi, self.below_tau = below.pi - self.down_pi, below.tau - self.down_tau
        self.above_mu, self.below_mu = self.above_tau / self.above_pi, self.below_tau / self.below_pi

    def update_difference(self) -> float:
        """Update the estimate of the difference between the two performances, given the result of the two players.
        Return by how much the estimate changed.
        """
        self.read_beliefs()
        row_pi = 1.0 / (1.0 / self.above_pi + 1.0 / self.below_pi)
        row_tau = row_pi * (self.above_mu - self.below_mu)
        pi, tau = self.pi - self.row_pi + row_pi, self.tau - self.row_tau + row_tau
        self.row_pi, self.row_tau = row_pi, row_tau
        free_pi, free_tau = pi - self.result_pi, tau - self.result_tau
        root = sqrt(free_pi)
        v, w = self.correction(free_tau / root, self.weights.margin * root, self.weights)
        rest = 1.0 - w
        self.pi, self.tau = free_pi / rest, (free_tau + root * v) / rest
        self.result_pi, self.result_tau = self.pi + self.result_pi - pi, self.tau + self.result_tau - tau
        return max(abs(tau - self.tau), sqrt(abs(pi - self.pi)))

    def send_up(self) -> None:
        """Update the estimate of the upper player's performance with a message: the lower player's performance plus the
        difference between the two.
        """
        pi, tau = self.pi - self.row_pi, self.tau - self.row_tau
        self.up_pi = 1.0 / (1.0 / pi + 1.0 / self.below_pi) if pi else 0.0
        self.up_tau = self.up_pi * (tau / pi + self.below_mu) if pi else 0.0
        self.above.pi, self.above.tau = self.above_pi + self.up_pi, self.above_tau + self.up_tau

    def send_down(self) -> None:
        """Update the estimate of the lower player's performance with a message: the upper player's performance minus
        the difference between the two.
        """
        pi, tau = self.pi - self.row_pi, self.tau - self.row_tau
        self.down_pi = 1.0 / (1.0 / self.above_pi + 1.0 / pi) if pi else 0.0
        self.down_tau = self.down_pi * (self.above_mu - tau / pi) if pi else 0.0
        self.below.pi, self.below.tau = self.below_pi + self.down_pi, self.below_tau + self.down_tau


def update(players: Sequence[PlayerSkill], draws: Sequence[bool], weights: ResultWeights) -> list[tuple[float, float]]:
    """Return the ratings (mu, sigma) after a match of these players, who are in rank order, best first. `draws` says of
    each player but the last whether it drew with the next one. `weights` has the functions that take account of a
    result. Raise `FloatingPointError` if they are not precise enough for so improbable a result.
    """
    places = [_PlayerBelief(player) for player in players]
    links = [
        _NeighbourDifference(above, below, drawn, weights)
        for (above, below), drawn in zip(pairwise(places), draws, strict=True)
    ]
    there, back = links[:-1], links[:0:-1]
    for _ in range(_MAX_SWEEPS):
        change = 0.0 if there else links[0].update_difference()
        for link in there:
            change = max(change, link.update_difference())
            link.send_down()
        for link in back:
            change = max(change, link.update_difference())
            link.send_up()
        if change <= _MAX_CONVERGED_CHANGE:
            break
    links[0].read_beliefs()
    links[0].send_up()
    links[-1].read_beliefs()
    links[-1].send_down()
    return [player.updated_rating(place.pi, place.tau) for player, place in zip(players, places, strict=True)]


def _win_correction(difference: float, margin: float, weights: ResultWeights) -> tuple[float, float]:
    """Return the corrections for a win to a difference of standard deviation 1: v shifts it, w narrows it."""
    x = difference - margin
    chance = weights.cdf(x)
    v = weights.pdf(x) / chance if chance else -x
    w = v * (v + x)
    if not 0 < w < 1:
        raise FloatingPointError("a win beyond this precision")
    return v, w


def _draw_correction(difference: float, margin: float, weights: ResultWeights) -> tuple[float, float]:
    distance = abs(difference)
    a, b = margin - distance, -margin - distance
    chance = weights.cdf(a) - weights.cdf(b)
    if not chance:
        raise FloatingPointError("a draw beyond this precision")
    at_a, at_b = weights.pdf(a), weights.pdf(b)
    v = (at_b - at_a) / chance
    w = v**2 + (a * at_a - b * at_b) / chance
    if not w < 1:
        raise FloatingPointError("a draw beyond this precision")
    return -v if difference < 0 else v, w


def _pass_through_team(pi: float, tau: float) -> tuple[float, float]:
    """Return a message (pi, tau) with the rounding errors that trueskill makes when it sums over the players of a team.
    A team here has only one player.
    """
    if not pi:
        return 0.0, 0.0
    whole = 1.0 / (1.0 / pi)
    return whole, whole * (tau / pi)


def _round_trip(mu: float, sigma: float) -> tuple[float, float]:
    """Return a rating with the rounding errors of trueskill, which stores a rating by its precision."""
    pi = sigma**-2
    return pi * mu / pi, sqrt(1 / pi)
