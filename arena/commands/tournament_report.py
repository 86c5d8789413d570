"""Prints the final tables of `arena tournament`, and writes its file."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

from rich.table import Table

from arena.commands.output import format_endings, terminal_columns, write_document
from arena.ratings.standings import HeadToHead, MatchSample, TableRow, head_to_heads, uncontested_losses
from arena.ratings.tournament_standings import ADJUSTED, chance_note, compute_standings
from arena.runs.plan import Plan
from arena.runs.workers import IN_PROCESS_LOG_NAME
from arena.store.entrants import EntrantList
from machine.console import Console
from measuring.elo import Comparison
from measuring.payoffs import MeanPayoff, format_payoff, format_payoff_interval
from measuring.score_format import (
    format_elo,
    format_elo_interval,
    format_games,
    format_interval,
    format_score,
    format_superiority,
)
from protocol.display import format_count
from protocol.reasons import VOID
from referee.result import Result

T = TypeVar("T")
MAX_LISTED_PAIRS = 10
"""Maximum number of pairs of bots that are listed. If there are more pairs, cross tables are shown."""
MAX_CROSS_TABLE_BOTS = 8
"""Maximum number of bots in a cross table. With more bots, there is none."""
_MAX_CROSS_TABLE_CELL_COLUMNS, _CROSS_TABLE_GAP_COLUMNS = 9, 2
"""`_MAX_CROSS_TABLE_CELL_COLUMNS` is the maximum width of a cell of a cross table in characters,
`_CROSS_TABLE_GAP_COLUMNS` the width of the gap between two cells.
"""
_NOTE_WIDTH_COLUMNS = 80
"""The maximum width of the note about chance in the standings, in characters."""
MAX_FAILURES = 5
"""Maximum number of different failures that are listed per bot, the most frequent first. The JSON file has all."""


class Report:
    """A tournament's results and their tables. Bots rank by luck-adjusted scores. They rank by plain scores if `raw` is
    set or there are no luck-adjusted scores.

    `luck` maps a match of two seats to the luck of seat 0, measured by the value function `value`. `failures` maps a
    match and a seat to why the bot's program failed. `entrant_list` has the hosted bots among them.
    """

    def __init__(
        self,
        plan: Plan,
        results: Sequence[Result],
        luck: Mapping[str, float] | None = None,
        value: str | None = None,
        failures: Mapping[str, Mapping[int, str]] | None = None,
        *,
        raw: bool = False,
        entrant_list: EntrantList | None = None,
    ) -> None:
        self._plan = plan
        self._entrant_list = entrant_list
        self._versions = {one.bot: one.label for one in entrant_list.entrants} if entrant_list else {}
        self._results = results
        self._luck = luck or {}
        self._value = value
        self._failures: dict[str, Counter[str]] = {name: Counter() for name in plan.names}
        for result in results:
            for seat, why in (failures or {}).get(result.match, {}).items():
                self._failures[result.seats[seat].bot][why] += 1
        met = [MatchSample(one, self._luck.get(one.match), plan.start_of(one)) for one in results]
        self._standings = compute_standings(plan.names, met, raw=raw)
        self._rows = self._standings.table
        self._duels = head_to_heads(plan.names, met) if plan.rules.seats == 2 else {}

    def write(self, file: Path, arguments: Mapping[str, Any]) -> None:
        """Write the results and the tables to a file as JSON, all or nothing. Raise `ArenaFault` if that fails."""
        content = {
            "tournament": self._plan.id,
            "seed": self._plan.seed,
            "arguments": arguments,
            "ranked_by": self._standings.ranked_by,
            "table": self._rows,
            "head_to_head": self._standings.head_to_head,
            "duels": self._duels,
            "payoffs": self._standings.payoffs,
            **({"hosted": self._entrant_list} if self._entrant_list else {}),
            "failures": {bot: why for bot, why in self._failures.items() if why},
            "value": self._value,
            "luck": self._luck,
            "matches": [self._plan.with_start(result) for result in self._results],
        }
        write_document(file, content)

    def show(self, data: Path) -> None:
        """Print the tables. For bots that failed or gave up, print the paths of their logs in the folder `data`."""
        plan, results = self._plan, self._results
        console = Console(width=terminal_columns())
        endings = format_endings(dict(Counter(result.reason for result in results).most_common()))
        played = format_count(len(results), "match", "matches")
        console.print(f"{plan.rules.name} {plan.format}, {played} ({endings})\n{plan.origin}")
        if plan.pool is None:
            console.print("unrated: no preset has this config" if plan.rated else "unrated")
        unit = plan.rules.payoff_unit
        if self._standings.ranked_by == ADJUSTED:
            console.print(
                f"in the order of scores less luck, by {self._value}; --no-luck-adjustment ranks by plain results"
            )
        if self._entrant_list is not None:
            console.print(f"hosted bots as of {self._entrant_list.as_of}")
        columns = (self._rows, self._versions)
        console.print(_payoff_table(*columns, unit) if unit else _standing_table(*columns))
        if note := chance_note(self._standings):
            console.print(textwrap.fill(note, min(_NOTE_WIDTH_COLUMNS, terminal_columns())))
        if any(row.place is not None for row in self._rows):
            console.print(f"\nplaces, 1 to {plan.rules.seats}")
            console.print(_places_table(self._rows))
        if any(row.adjusted is not None for row in self._rows):
            worth = any(row.worth is not None for row in self._rows)
            so_many = "; worth: matches without adjustment that are as certain" if worth else ""
            console.print(f"\nluck-adjusted by {self._value}{so_many}")
            console.print(_less_luck_table(self._rows, worth=worth))
        self._show_duels(console)
        print_uncontested_losses(console, plan, results, data, self._failures)
        log = plan.log_folder(data) / IN_PROCESS_LOG_NAME
        if any(result.reason == VOID for result in results) and log.is_file():
            console.print(f"\nwhy matches are void: {log}", soft_wrap=True)

    def _show_duels(self, console: Console) -> None:
        names = [row.bot for row in self._rows]
        if self._plan.rules.payoff_unit:
            self._show_payoffs(console, names)
            return
        pairs = [(bot, other) for bot, other in combinations(names, 2) if other in self._duels.get(bot, {})]
        if 0 < len(pairs) <= MAX_LISTED_PAIRS:
            console.print("\none against another")
            console.print(_comparison_table([(bot, other, self._duels[bot][other]) for bot, other in pairs]))
        elif 2 < len(names) <= MAX_CROSS_TABLE_BOTS:
            if self._duels:
                for title, table in _cross_tables(names, self._duels):
                    console.print(f"\n{title}, row against column, and half of its 95 % interval")
                    console.print(table)
            else:
                console.print("\nshare of points, row against column")
                console.print(_make_cross_table(names, self._standings.head_to_head, "{:.2f}".format))

    def _show_payoffs(self, console: Console, names: Sequence[str]) -> None:
        if 2 < len(names) <= MAX_CROSS_TABLE_BOTS and self._standings.payoffs:
            varied = any(row.payoff is not None and row.payoff.low != row.payoff.high for row in self._rows)
            half = ", and half of its 95 % interval" if varied else ""
            console.print(f"\npayoff a {self._plan.rules.payoff_unit}, row against column{half}")
            console.print(
                _make_cross_table(names, self._standings.payoffs, _format_payoff_interval if varied else _mean_payoff)
            )


def _mean_payoff(payoff: MeanPayoff) -> str:
    return f"{payoff.mean:z.2f}"


def _format_payoff_interval(payoff: MeanPayoff) -> str:
    if payoff.low is None or payoff.high is None:
        return f"{_mean_payoff(payoff)}\n"
    return f"{_mean_payoff(payoff)}\n±{(payoff.high - payoff.low) / 2:.2f}"


def _format_place(row: TableRow) -> str:
    return "-" if row.rank is None else str(row.rank)


def _range(row: TableRow) -> str:
    """Return the range of ranks that a bot may deserve, allowing for chance, like `2-5`, or `1` if it is just one."""
    if row.best_rank == row.worst_rank:
        return "-" if row.best_rank is None else str(row.best_rank)
    return f"{row.best_rank}-{row.worst_rank}"


def _payoff_table(rows: Sequence[TableRow], versions: Mapping[str, str], unit: str) -> Table:
    """Return the table of bots with their results and their payoff per `unit`. The weight of an opponent in the payoff
    is the number of rounds played with it.
    """
    table = _table(
        "#",
        "range",
        "bot",
        *_version_column(versions),
        f"a {unit}",
        "95 %",
        "played",
        "won",
        "drawn",
        "lost",
        "forfeits",
    )
    for row in rows:
        found = ("", "") if row.payoff is None else (format_payoff(row.payoff.mean), format_payoff_interval(row.payoff))
        cells = (*_bot_cells(row, versions), *found, *_counts(row), str(row.forfeits))
        table.add_row(_format_place(row), _range(row), *cells)
    return table


def _standing_table(rows: Sequence[TableRow], versions: Mapping[str, str]) -> Table:
    counts = ("played", "won", "drawn", "lost", "score", "95 %", "forfeits")
    table = _table("#", "range", "bot", *_version_column(versions), *counts)
    for row in rows:
        found = (format_score(row.score), format_interval(row))
        cells = (*_bot_cells(row, versions), *_counts(row), *found, str(row.forfeits))
        table.add_row(_format_place(row), _range(row), *cells)
    return table


def _version_column(versions: Mapping[str, str]) -> tuple[str, ...]:
    return ("version",) if versions else ()


def _bot_cells(row: TableRow, versions: Mapping[str, str]) -> tuple[str, ...]:
    """Return the name of a bot and, in a tournament with hosted bots, its version."""
    return (row.bot, versions.get(row.bot, "")) if versions else (row.bot,)


def _counts(row: TableRow) -> Iterator[str]:
    return map(str, (row.played, row.won, row.drawn, row.lost))


def _less_luck_table(rows: Sequence[TableRow], *, worth: bool) -> Table:
    """Return the table of bots with their scores and luck-adjusted scores.

    With `worth`, a column has the number of matches without luck adjustment that would give the same certainty.
    """
    table = _table("#", "bot", "score", "95 %", "adjusted", "95 %", *(["worth"] if worth else []))
    for row in rows:
        found = ("", "") if row.adjusted is None else (format_score(row.adjusted.score), format_interval(row.adjusted))
        as_many = [format_games(row.worth)] if row.worth is not None else []
        table.add_row(_format_place(row), row.bot, format_score(row.score), format_interval(row), *found, *as_many)
    return table


def _places_table(rows: Iterable[TableRow]) -> Table:
    table = _table("#", "bot", "mean place", "95 %", "first", "95 %")
    for row in rows:
        if row.place is not None and row.first is not None:
            place = (f"{row.place.place:.2f}", f"{row.place.low:.2f}-{row.place.high:.2f}")
            table.add_row(
                _format_place(row), row.bot, *place, format_score(row.first.score), format_interval(row.first)
            )
    return table


def _comparison_table(duels: Iterable[tuple[str, str, HeadToHead]]) -> Table:
    """Return the table of pairs of bots, with a second row for the luck-adjusted score where luck is known."""
    table = _table("", "played", "score", "95 %", "Elo", "95 %", "better", folded="")
    for bot, other, duel in duels:
        table.add_row(f"{bot} - {other}", str(duel.matches), *_comparison_cells(duel.score))
        if duel.adjusted is not None:
            table.add_row("  adjusted", "", *_comparison_cells(duel.adjusted))
    return table


def _comparison_cells(comparison: Comparison) -> tuple[str, ...]:
    return (
        format_score(comparison.score),
        format_interval(comparison),
        format_elo(comparison),
        format_elo_interval(comparison),
        format_superiority(comparison),
    )


def _cross_tables(names: Sequence[str], duels: Mapping[str, Mapping[str, HeadToHead]]) -> Iterator[tuple[str, Table]]:
    """Yield cross tables with their titles: first of scores, then of luck-adjusted scores if there are any. Each
    score has the half-width of its interval.
    """

    def spread(comparison: Comparison) -> str:
        half = f"{(comparison.high - comparison.low) / 2:.2f}"
        return f"{comparison.score:z.2f}\n±{half.removeprefix('0')}"

    shares = {bot: {other: duel.score for other, duel in theirs.items()} for bot, theirs in duels.items()}
    yield "share of points", _make_cross_table(names, shares, spread)
    freed = {bot: {other: duel.adjusted for other, duel in theirs.items()} for bot, theirs in duels.items()}
    if any(share is not None for theirs in freed.values() for share in theirs.values()):
        yield "luck-adjusted", _make_cross_table(names, freed, spread)


def _make_cross_table(
    names: Sequence[str], values: Mapping[str, Mapping[str, T | None]], cell: Callable[[T], str]
) -> Table:
    """Return a cross table of `values`, which `cell` formats. If names are too long for headers, rows are numbered."""
    width = min(
        _MAX_CROSS_TABLE_CELL_COLUMNS,
        (terminal_columns() - max(map(len, names))) // len(names) - _CROSS_TABLE_GAP_COLUMNS,
    )
    named = all(len(name) <= width for name in names)
    table = _table("", *(name if named else str(place) for place, name in enumerate(names, 1)), folded="")
    for place, name in enumerate(names, 1):
        line = [values.get(name, {}).get(other) for other in names]
        cells = ("" if one is None else cell(one) for one in line)
        table.add_row(name if named else f"{place} {name}", *cells)
    return table


def _table(*columns: str, folded: str = "bot") -> Table:
    """Return an empty table whose column `folded` wraps on a narrow terminal."""
    table = Table(box=None, pad_edge=False)
    for column in columns:
        if column == folded:
            table.add_column(column, overflow="fold")
        else:
            table.add_column(column, justify="right", no_wrap=True)
    return table


def print_uncontested_losses(
    console: Console,
    plan: Plan,
    results: Sequence[Result],
    data: Path,
    failures: Mapping[str, Counter[str]] | None = None,
) -> None:
    """Print which bots lost by forfeit or resignation, the reasons, and the paths of their logs."""
    for bot, lost in uncontested_losses(plan.names, results).items():
        failed = (failures or {}).get(bot, Counter())
        if not lost and not failed:
            continue
        why = ", ".join(f"{reason} {times}" for reason, times in lost.most_common())
        many = format_count(lost.total(), "match", "matches")
        logs = plan.bot_logs(data, bot) if plan.log_folder(data).is_dir() else []  # none of bots that run elsewhere
        its_log = "; log:" if logs else ""
        console.print(f"\n{bot}: {many} lost by forfeit or resignation{f' ({why})' if why else ''}{its_log}")
        told = failed.most_common(MAX_FAILURES)
        others = failed.total() - sum(times for _, times in told)
        for text, times in [*told, *([("other failures", others)] if others else [])]:
            console.print(f"  {text} ({format_count(times, 'match', 'matches')})", soft_wrap=True)
        for log in logs:
            console.print(f"  {log}", soft_wrap=True)
