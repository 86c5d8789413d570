"""Mean payoffs of bots in a pool, from stored sums for each pair of bots."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import structs

from measuring.payoffs import MAX_WEIGHT_ROUNDS, MeanPayoff, PairPayoffs, mean_payoff

_SPLIT_UNIT = 1_000_000
"""Payoffs are squared in two parts, millions and the rest, to stay within 64 bits."""
CURRENT_SEASON_SQL = "(SELECT coalesce(max(first), 1) FROM seasons)"
"""SQL for the number of the first match of this season."""
_POOL_CONDITION = "tournament = '' AND payoffs.pool = {pool} AND payoffs.season = {season}"
EQUAL_MEAN_DIGITS = 9
"""Means that agree to this many digits are equal, so that the order of summation never decides a rank."""
MIN_RANKED_OPPONENTS = 3
"""With fewer opponents, a mean depends more on them than on the bot."""
MIN_RANKED_ROUNDS = MIN_RANKED_OPPONENTS * MAX_WEIGHT_ROUNDS
"""The rounds of that many opponents of full weight. With fewer rounds, a mean is mostly chance."""
MAX_RANKED_SHARE = 0.5
"""The share of the weight that one opponent may have, so that a friend and two that left at once make no rank."""
_OPPONENT_WEIGHT_SQL = f"CASE WHEN rounds < {MAX_WEIGHT_ROUNDS} THEN rounds ELSE {MAX_WEIGHT_ROUNDS} END"
MEAN_SQL = f"""CAST(round(CAST(
        sum(CAST({_OPPONENT_WEIGHT_SQL} AS float) * total / rounds) / sum({_OPPONENT_WEIGHT_SQL})
    AS numeric), {EQUAL_MEAN_DIGITS}) AS float)"""
"""Over opponents, of rows of `payoffs`, as `mean_payoff` has it."""
RANKED = f"""CASE WHEN count(*) >= {MIN_RANKED_OPPONENTS} AND sum(rounds) >= {MIN_RANKED_ROUNDS}
        AND max({_OPPONENT_WEIGHT_SQL}) <= {MAX_RANKED_SHARE} * sum({_OPPONENT_WEIGHT_SQL})
    THEN 1 ELSE 0 END"""
"""1 where such rows are enough for a rank, else 0, as `PoolPayoff.ranked` has it."""
_SUMS_SQL = "json_array(matches, rounds, total, squares, products, rest_squares, weighted, round_squares)"


class PoolPayoff(MeanPayoff, frozen=True, kw_only=True):
    """What a bot was paid in a pool, in so many `rounds` in all. It is `ranked` where its rounds and opponents are
    enough for a rank: bots that are not stand below those that are.
    """

    rounds: int
    ranked: bool


def means_query(season: str) -> str:
    """Return the query for the bots with a payoff in :pool in a season: their means, and whether they are `ranked`."""
    which = _POOL_CONDITION.format(pool=":pool", season=season)
    return f"SELECT bot, {MEAN_SQL} AS payoff, {RANKED} AS ranked FROM payoffs WHERE {which} GROUP BY bot"


def pairs_query(bot: str, season: str, pool: str = ":pool") -> str:
    """Return a subquery for a bot's sums against each opponent, as `read_payoff` takes them."""
    which = _POOL_CONDITION.format(pool=pool, season=season)
    return f"(SELECT coalesce(json_group_array({_SUMS_SQL}), '[]') FROM payoffs WHERE {which} AND payoffs.bot = {bot})"


def read_payoff(pairs: str) -> PoolPayoff | None:
    """Return what a bot was paid on the average, from what `pairs_query` gives of it; None without any."""
    return pool_payoff([_pair(*sums) for sums in msgspec.json.decode(pairs, type=list[tuple[int, ...]])])


def pool_payoff(met: Sequence[PairPayoffs]) -> PoolPayoff | None:
    """Return the same of what it was paid against each opponent."""
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
    """Compute a pair's payoffs in exact integers, so that equal payoffs per round give a deviation of exactly zero."""
    summed = (squares * _SPLIT_UNIT + 2 * products) * _SPLIT_UNIT + rests
    deviations = summed * rounds**2 - 2 * weighted * total * rounds + round_squares * total**2
    return PairPayoffs(matches, total / rounds, deviations * matches**2 / rounds**4, rounds)
