"""The standings of a tournament, as the terminal, pages, the API and files tell them: all have them from here. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct

from arena.ratings.payoff_standings import PairMeans, Payoffs, paid_samples
from arena.ratings.standings import (
    HeadToHeadShares,
    MatchSample,
    TableRow,
    goes_by_adjusted,
    head_to_head,
    score_table,
)

ADJUSTED, SCORE, PAYOFF = "adjusted", "score", "payoff"
"""What bots rank by."""


class TournamentStandings(Struct, frozen=True, kw_only=True):
    """What came of a tournament's matches. `ranked_by` is `adjusted`, `score` or `payoff`, and the table is in the
    order of it; `head_to_head` has the share of points of each bot (first key) against each other one, `payoffs` what
    it was paid.
    """

    ranked_by: str
    table: list[TableRow]
    head_to_head: HeadToHeadShares
    payoffs: PairMeans


def compute_standings(names: Sequence[str], met: Sequence[MatchSample], *, raw: bool = False) -> TournamentStandings:
    """Return the standings of these bots after these matches; `raw` leaves luck in the order."""
    payoffs = Payoffs(names, paid_samples(met))
    table = payoffs.order(score_table(names, met, raw=raw))
    by_points = ADJUSTED if goes_by_adjusted(table) and not raw else SCORE
    return TournamentStandings(
        ranked_by=PAYOFF if any(payoffs.means.values()) else by_points,
        table=table,
        head_to_head=head_to_head(names, [one.result for one in met]),
        payoffs=payoffs.pairs,
    )


def groups_not_told_apart(table: Sequence[TableRow]) -> list[list[str]]:
    """Return the bots by their ranks beyond chance, best first: those of a group are not told apart."""
    played = [row for row in table if row.significant_rank is not None]
    return [[row.bot for row in rows] for _, rows in groupby(played, key=lambda row: row.significant_rank)]


def chance_note(standings: TournamentStandings) -> str:
    """Say which bots the matches do not tell apart; nothing before two have played."""
    groups = groups_not_told_apart(standings.table)
    together = [group for group in groups if len(group) > 1]
    if sum(map(len, groups)) < 2:
        return ""
    if standings.ranked_by == PAYOFF and all(row.payoff is None or row.payoff.low is None for row in standings.table):
        return "no two bots met twice: how much of this is chance cannot be told; more rounds tell"
    if len(groups) == 1:
        return "beyond chance (95 %) these matches tell no bots apart; more rounds tell more"
    if not together:
        return "beyond chance (95 %) these matches tell all bots apart"
    listed = ", nor ".join(f"{', '.join(group[:-1])} and {group[-1]}" for group in together)
    return f"beyond chance (95 %) these matches do not tell apart {listed}; more rounds tell more apart"
