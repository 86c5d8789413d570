"""The mean payoffs of bots in a pool, computed from stored sums for each pair of bots."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import structs

from measuring.payoffs import MAX_WEIGHT_ROUNDS, MeanPayoff, PairPayoffs, mean_payoff

_SPLIT_UNIT = 1_000_000
"""Payoffs are split into a multiple of this unit and a rest. Sums of both parts' squares and products fit 64 bits."""
CURRENT_SEASON_SQL = "(SELECT coalesce(max(first), 1) FROM seasons)"
"""The SQL expression for the number of the first match of this season."""
_POOL_CONDITION = "tournament = '' AND payoffs.pool = {pool} AND payoffs.season = {season}"
"""The SQL condition for the rows of `payoffs` in a pool and a season."""
EQUAL_MEAN_DIGITS = 9
"""The number of decimals to which mean payoffs are compared, so that the order of summation never decides a rank."""
MIN_RANKED_OPPONENTS = 3
"""The minimum number of opponents of a ranked bot. With fewer, the mean payoff depends more on them than on the bot."""
MIN_RANKED_ROUNDS = MIN_RANKED_OPPONENTS * MAX_WEIGHT_ROUNDS
"""The minimum number of rounds of a ranked bot: enough to give `MIN_RANKED_OPPONENTS` opponents their full weight. With
fewer rounds, its mean payoff is mostly chance.
"""
MAX_RANKED_SHARE = 0.5
"""The maximum share of one opponent in the total weight of a ranked bot's opponents. Without this limit, a bot could
get its rank from many rounds against a friend. It would need only a few rounds against two other opponents.
"""
_WEIGHT_SQL = f"CASE WHEN rounds < {MAX_WEIGHT_ROUNDS} THEN rounds ELSE {MAX_WEIGHT_ROUNDS} END"
"""The SQL expression for the weight of one opponent in a bot's mean payoff."""
MEAN_SQL = f"""CAST(round(CAST(
        sum(CAST({_WEIGHT_SQL} AS float) * total / rounds) / sum({_WEIGHT_SQL})
    AS numeric), {EQUAL_MEAN_DIGITS}) AS float)"""
"""The SQL expression for a bot's mean payoff from its rows of `payoffs`, one per opponent, as in `mean_payoff`."""
RANKED_SQL = f"""CASE WHEN count(*) >= {MIN_RANKED_OPPONENTS} AND sum(rounds) >= {MIN_RANKED_ROUNDS}
        AND max({_WEIGHT_SQL}) <= {MAX_RANKED_SHARE} * sum({_WEIGHT_SQL})
    THEN 1 ELSE 0 END"""
"""The SQL expression for whether a bot is ranked (1 or 0), from its rows of `payoffs`, as in `PoolPayoff.ranked`."""
_SUMS_SQL = "{json_array}(matches, rounds, total, squares, products, rest_squares, weighted, round_squares)"
"""The SQL expression for the payoff sums of one pair of bots, as a JSON array."""


class PoolPayoff(MeanPayoff, frozen=True, kw_only=True):
    """A bot's mean payoff in a pool, over `rounds` rounds. `ranked` is true if its rounds and opponents are enough for
    a rank. Leaderboards list bots without a rank below the others.
    """

    rounds: int
    ranked: bool


def means_query(season: str) -> str:
    """Return the query for each bot's mean payoff in :pool in a season, and for whether the bot is `ranked`."""
    which = _POOL_CONDITION.format(pool=":pool", season=season)
    return f"SELECT bot, {MEAN_SQL} AS payoff, {RANKED_SQL} AS ranked FROM payoffs WHERE {which} GROUP BY bot"


def pairs_query(bot: str, season: str, pool: str = ":pool") -> str:
    """Return a subquery for the payoff sums of a bot against each opponent, in the form that `read_payoff` reads."""
    which = _POOL_CONDITION.format(pool=pool, season=season)
    return (
        f"(SELECT coalesce({{json_group_array}}({_SUMS_SQL}), '[]') FROM payoffs WHERE {which} AND payoffs.bot = {bot})"
    )


def read_payoff(pairs: str) -> PoolPayoff | None:
    """Return a bot's payoff in a pool, from the result of `pairs_query`; None without matches that count."""
    return pool_payoff([_pair(*sums) for sums in msgspec.json.decode(pairs, type=list[tuple[int, ...]])])


def pool_payoff(met: Sequence[PairPayoffs]) -> PoolPayoff | None:
    """Return a bot's payoff in a pool, from its payoffs against each opponent; None without matches that count."""
    found = mean_payoff(met)
    if found is None:
        return None
    rounds = sum(pair.rounds for pair in met)
    weights = [pair.weight for pair in met]
    enough = len(met) >= MIN_RANKED_OPPONENTS and rounds >= MIN_RANKED_ROUNDS
    ranked = enough and max(weights) <= sum(weights) * MAX_RANKED_SHARE
    return PoolPayoff(**structs.asdict(found), rounds=rounds, ranked=ranked)


def _pair(
    matches: int, rounds: int, total: int, squares: int, products: int, rests: int, weighted: int, round_squares: int
) -> PairPayoffs:
    """Return the payoffs of a pair of bots from its sums in the table `payoffs`. The sums are exact integers. So equal
    payoffs per round have a deviation of exactly zero.
    """
    summed = (squares * _SPLIT_UNIT + 2 * products) * _SPLIT_UNIT + rests
    deviations = summed * rounds**2 - 2 * weighted * total * rounds + round_squares * total**2
    return PairPayoffs(matches, total / rounds, deviations * matches**2 / rounds**4, rounds)
