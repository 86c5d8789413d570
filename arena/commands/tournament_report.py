"""What `arena tournament` tells in the end: the tables it prints and the file it writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from arena.commands.output import write_document
from arena.commands.standings_tables import (
    cross_tables,
    duel_table,
    less_luck_table,
    places_table,
    shares_table,
    standing_table,
)
from arena.commands.text_tables import columns, counted
from arena.ratings.standings import MatchSample, head_to_head, head_to_heads, score_table, uncontested_losses
from arena.tournament.plan import Plan, place_of
from referee.result import Result

MOST_DUELS = 10
"""Pairs of bots that are listed; more are shown in cross tables."""
WIDEST_CROSS_TABLE = 8
MOST_FAILURES = 5
"""Ways in which a program failed that are listed of each bot, the most frequent ones; the JSON file has all."""


class Report:
    """A tournament's results and the tables made of them; `luck` is what chance gave seat 0 of two, by match, as
    measured by `value`; `failures` says by match and seat why programs failed.
    """

    def __init__(
        self,
        plan: Plan,
        results: Sequence[Result],
        luck: Mapping[str, float] | None = None,
        value: str | None = None,
        failures: Mapping[str, Mapping[int, str]] | None = None,
    ) -> None:
        self._failures = failures_of(plan, results, failures or {})
        self._plan = plan
        self._results = results
        self._luck = luck or {}
        self._value = value
        starts = {one.place: one.start for one in plan.schedule(results)} if plan.paired else {}
        met = [MatchSample(one, self._luck.get(one.match), starts.get(place_of(one))) for one in results]
        self._rows = score_table(plan.names, met)
        self._cross = head_to_head(plan.names, results)
        self._duels = head_to_heads(plan.names, met) if plan.rules.seats == 2 else {}

    def write(self, file: Path, arguments: Mapping[str, Any]) -> None:
        """Write everything as JSON, whole or not at all. Raises `ArenaFault`."""
        content = {
            "tournament": self._plan.id,
            "seed": self._plan.seed,
            "arguments": arguments,
            "table": self._rows,
            "head_to_head": self._cross,
            "duels": self._duels,
            "failures": {bot: why for bot, why in self._failures.items() if why},
            "value": self._value,
            "luck": self._luck,
            "matches": self._results,
        }
        write_document(file, content)

    def show(self, data: Path) -> None:
        """Print the tables, and whose words in the data folder are worth reading."""
        plan, results = self._plan, self._results
        console = Console(width=columns())
        reasons = ", ".join(f"{reason} {times}" for reason, times in Counter(r.reason for r in results).most_common())
        played = counted(len(results), "match", "matches")
        console.print(f"{plan.rules.name} {plan.format}, {played} ({reasons})\nseed {plan.seed}, id {plan.id}")
        if plan.pool is None:
            console.print("not rated: no preset has this config")
        console.print(standing_table(self._rows))
        if any(row.place is not None for row in self._rows):
            console.print(f"\nplaces, 1 to {plan.rules.seats}")
            console.print(places_table(self._rows))
        if any(row.adjusted is not None for row in self._rows):
            worth = any(row.worth is not None for row in self._rows)
            so_many = "; worth so many single matches with luck left in" if worth else ""
            console.print(f"\nless luck, by {self._value}{so_many}")
            console.print(less_luck_table(self._rows, worth=worth))
        self._show_duels(console)
        print_uncontested_losses(console, plan, results, data, self._failures)

    def _show_duels(self, console: Console) -> None:
        names = [row.bot for row in self._rows]
        pairs = [
            (bot, other) for place, bot in enumerate(names) for other in names[place + 1 :] if other in self._met(bot)
        ]
        if 0 < len(pairs) <= MOST_DUELS:
            console.print("\none against another")
            console.print(duel_table([(bot, other, self._duels[bot][other]) for bot, other in pairs]))
        elif 2 < len(names) <= WIDEST_CROSS_TABLE:
            if self._duels:
                for title, table in cross_tables(names, self._duels):
                    console.print(f"\n{title}, row against column, and half of its 95 % interval")
                    console.print(table)
            else:
                console.print("\nshare of points, row against column")
                console.print(shares_table(names, self._cross))

    def _met(self, bot: str) -> Mapping[str, object]:
        return self._duels.get(bot, {})


def failures_of(
    plan: Plan, results: Sequence[Result], failures: Mapping[str, Mapping[int, str]]
) -> dict[str, Counter[str]]:
    """Why each bot's program failed, and in how many matches; `failures` are by match and seat."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in plan.names}
    for result in results:
        for seat, why in failures.get(result.match, {}).items():
            counts[result.seats[seat].bot][why] += 1
    return counts


def print_uncontested_losses(
    console: Console,
    plan: Plan,
    results: Sequence[Result],
    data: Path,
    failures: Mapping[str, Counter[str]] | None = None,
) -> None:
    """Print which bots lost matches by forfeit or resignation, why, and where in the data folder their logs are."""
    for bot, lost in uncontested_losses(plan.names, results).items():
        failed = (failures or {}).get(bot, Counter())
        if not lost and not failed:
            continue
        why = ", ".join(f"{reason} {times}" for reason, times in lost.most_common())
        many = counted(lost.total(), "match", "matches")
        logs = plan.bot_logs(data, bot) if plan.logs(data).is_dir() else []  # none of bots that run elsewhere
        its_log = "; log:" if logs else ""
        console.print(f"\n{bot}: {many} lost by forfeit or resignation{f' ({why})' if why else ''}{its_log}")
        told = failed.most_common(MOST_FAILURES)
        others = failed.total() - sum(times for _, times in told)
        for text, times in [*told, *([("in other ways", others)] if others else [])]:
            console.print(f"  {text} ({counted(times, 'match', 'matches')})", markup=False, soft_wrap=True)
        for log in logs:
            console.print(f"  {log}", markup=False, soft_wrap=True)
