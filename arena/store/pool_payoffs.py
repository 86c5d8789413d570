"""What bots were paid on the average in a pool, from the sums that are kept of each two of them."""

from __future__ import annotations

import msgspec

from measuring.payoffs import MeanPayoff, PairPayoffs, mean_payoff

_MILLION = 1_000_000
"""What a match paid is squared in two parts, the millions and the rest."""
SEASON_NOW = "(SELECT coalesce(max(first), 1) FROM seasons)"
"""The number of the first match of this season."""
_OF_POOL = "tournament = '' AND payoffs.pool = {pool} AND payoffs.season = {season}"
EQUAL_DIGITS = 9
"""Means that are the same so far are equal: the order in which they were summed up makes no rank."""
MEAN = f"CAST(round(CAST(avg(CAST(total AS float) / rounds) AS numeric), {EQUAL_DIGITS}) AS float)"
"""Over opponents, of rows of `payoffs`."""
_SUMS = "json_array(matches, rounds, total, squares, products, rest_squares, weighted, round_squares)"


def means_query(season: str) -> str:
    """The bots with a payoff in :pool in a season, each with the mean over its opponents."""
    return (
        f"SELECT bot, {MEAN} AS payoff FROM payoffs WHERE {_OF_POOL.format(pool=':pool', season=season)} GROUP BY bot"
    )


def pairs_query(bot: str, season: str, pool: str = ":pool") -> str:
    """The sums of a bot against each opponent, for `read_payoff`."""
    which = _OF_POOL.format(pool=pool, season=season)
    return f"(SELECT coalesce(json_group_array({_SUMS}), '[]') FROM payoffs WHERE {which} AND payoffs.bot = {bot})"


def read_payoff(pairs: str) -> MeanPayoff | None:
    """What a bot was paid on the average, from what `pairs_query` gives of it; None without any."""
    return mean_payoff(_pair(*sums) for sums in msgspec.json.decode(pairs, type=list[tuple[int, ...]]))


def _pair(
    matches: int, rounds: int, total: int, squares: int, products: int, rests: int, weighted: int, round_squares: int
) -> PairPayoffs:
    """By whole numbers, which lose nothing: matches that all paid the same a round differ by nothing."""
    summed = (squares * _MILLION + 2 * products) * _MILLION + rests
    deviations = summed * rounds**2 - 2 * weighted * total * rounds + round_squares * total**2
    return PairPayoffs(matches, total / rounds, deviations * matches**2 / rounds**4)
