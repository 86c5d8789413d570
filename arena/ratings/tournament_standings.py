"""The standings of a tournament, for the terminal, pages, the API and files. All functions are pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from arena.ratings.payoff_standings import PairMeans, PayoffSummary, match_payoffs_of_samples
from arena.ratings.standings import (
    HeadToHeadShares,
    MatchSample,
    TableRow,
    head_to_head_shares,
    is_luck_adjusted,
    score_table,
)

ADJUSTED, SCORE, PAYOFF = "adjusted", "score", "payoff"
"""These are the measures that may sort a table: luck-adjusted score, share of points, and mean payoff."""


class TournamentStandings(Struct, frozen=True, kw_only=True):
    """The standings of a tournament: the table of bots, and their results against each other.

    `ranked_by` is the measure that sorts the table: `adjusted`, `score` or `payoff`. `head_to_head` has the share of
    points of each bot (first key) against each other bot, `payoffs` its mean payoff.
    """

    ranked_by: str
    table: list[TableRow]
    head_to_head: HeadToHeadShares
    payoffs: PairMeans


def compute_standings(names: Sequence[str], met: Sequence[MatchSample], *, raw: bool = False) -> TournamentStandings:
    """Return the standings of these bots after these matches. With `raw`, do not sort by luck-adjusted score."""
    payoffs = PayoffSummary(names, match_payoffs_of_samples(met))
    table = payoffs.rank_rows(score_table(names, met, raw=raw))
    by_points = ADJUSTED if is_luck_adjusted(table) and not raw else SCORE
    return TournamentStandings(
        ranked_by=PAYOFF if any(payoffs.means.values()) else by_points,
        table=table,
        head_to_head=head_to_head_shares(names, [one.result for one in met]),
        payoffs=payoffs.pairs,
    )


def may_be_first(table: Sequence[TableRow]) -> list[str]:
    """Return the bots that may be the best (no other bot is certainly better), in the order of the table."""
    return [row.bot for row in table if row.best_rank == 1]


def chance_note(standings: TournamentStandings) -> str:
    """Return a line that says what the ranges of ranks in the table mean. It is empty until two bots have played."""
    played = [row for row in standings.table if row.best_rank is not None]
    if len(played) < 2:
        return ""
    if standings.ranked_by == PAYOFF and all(row.payoff is None or row.payoff.low is None for row in standings.table):
        return "no two bots met twice, so the effect of chance is unknown; play more rounds"
    if all((row.best_rank, row.worst_rank) == (1, len(played)) for row in played):
        return "these matches don't show (at 95 %) that any bot is better than another; play more rounds"
    if all(row.best_rank == row.worst_rank for row in played):
        return "these matches show (at 95 %) the order of all bots"
    return "range: the ranks that a bot may have (95 % for all bots together); more rounds narrow it"
