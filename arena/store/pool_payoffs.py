"""Mean payoffs of bots in a pool, from stored sums for each pair of bots."""

from __future__ import annotations

import msgspec

from measuring.payoffs import MeanPayoff, PairPayoffs, mean_payoff

_MILLION = 1_000_000
"""Payoffs are squared in two parts, millions and the rest, to stay within 64 bits."""
SEASON_NOW = "(SELECT coalesce(max(first), 1) FROM seasons)"
"""SQL for the number of the first match of this season."""
_OF_POOL = "tournament = '' AND payoffs.pool = {pool} AND payoffs.season = {season}"
EQUAL_DIGITS = 9
"""Means that agree to this many digits are equal, so that the order of summation never decides a rank."""
MEAN = f"CAST(round(CAST(avg(CAST(total AS float) / rounds) AS numeric), {EQUAL_DIGITS}) AS float)"
"""The mean over opponents, from rows of `payoffs`."""
_SUMS = "json_array(matches, rounds, total, squares, products, rest_squares, weighted, round_squares)"


def means_query(season: str) -> str:
    """Return a query for the mean payoff over opponents of each bot in :pool in a season."""
    return (
        f"SELECT bot, {MEAN} AS payoff FROM payoffs WHERE {_OF_POOL.format(pool=':pool', season=season)} GROUP BY bot"
    )


def pairs_query(bot: str, season: str, pool: str = ":pool") -> str:
    """Return a subquery for a bot's sums against each opponent, as `read_payoff` takes them."""
    which = _OF_POOL.format(pool=pool, season=season)
    return f"(SELECT coalesce(json_group_array({_SUMS}), '[]') FROM payoffs WHERE {which} AND payoffs.bot = {bot})"


def read_payoff(pairs: str) -> MeanPayoff | None:
    """Return a bot's mean payoff from the result of `pairs_query`; None if it has no payoffs."""
    return mean_payoff(_pair(*sums) for sums in msgspec.json.decode(pairs, type=list[tuple[int, ...]]))


def _pair(
    matches: int, rounds: int, total: int, squares: int, products: int, rests: int, weighted: int, round_squares: int
) -> PairPayoffs:
    """Compute a pair's payoffs in exact integers, so that equal payoffs per round give a deviation of exactly zero."""
    summed = (squares * _MILLION + 2 * products) * _MILLION + rests
    deviations = summed * rounds**2 - 2 * weighted * total * rounds + round_squares * total**2
    return PairPayoffs(matches, total / rounds, deviations * matches**2 / rounds**4)
