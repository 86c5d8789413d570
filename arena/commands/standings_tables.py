"""The tables of a tournament as they are printed, within a terminal: where bots stand, how one does against another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.table import Table

from arena.commands.text_tables import columns
from arena.ratings.standings import HeadToHead, Row
from measuring.elo import Comparison
from measuring.score_format import better, elo_interval, elo_of, games, interval, points

_WIDEST_CELL, _GAP = 9, 2


def standing_table(rows: Sequence[Row]) -> Table:
    """Matches won, drawn and lost, and the share of points; best first."""
    table = _table("#", "bot", "played", "won", "drawn", "lost", "score", "95 %", "forfeits")
    for row in rows:
        cells = (row.rank, row.bot, row.played, row.won, row.drawn, row.lost, points(row.score), interval(row))
        table.add_row(*map(str, cells), str(row.forfeits))
    return table


def less_luck_table(rows: Sequence[Row], *, worth: bool) -> Table:
    """Shares of points beside what they are less luck, and how many matches that is `worth`, if it is known of any."""
    table = _table("#", "bot", "score", "95 %", "less luck", "95 %", *(["worth"] if worth else []))
    for row in rows:
        found = ("", "") if row.adjusted is None else (points(row.adjusted.score), interval(row.adjusted))
        as_many = [games(row.worth)] if row.worth is not None else []
        table.add_row(str(row.rank), row.bot, points(row.score), interval(row), *found, *as_many)
    return table


def places_table(rows: Iterable[Row]) -> Table:
    """Mean places, and the shares of matches won."""
    table = _table("#", "bot", "mean place", "95 %", "first", "95 %")
    for row in rows:
        if row.place is not None and row.first is not None:
            place = (f"{row.place.place:.2f}", f"{row.place.low:.2f}-{row.place.high:.2f}")
            table.add_row(str(row.rank), row.bot, *place, points(row.first.score), interval(row.first))
    return table


def duel_table(duels: Iterable[tuple[str, str, HeadToHead]]) -> Table:
    """A line for each two bots, and where luck is known another with the score less luck."""
    table = Table(box=None, pad_edge=False)
    table.add_column("", overflow="fold")
    for column in ("played", "score", "95 %", "Elo", "95 %", "better"):
        table.add_column(column, justify="right", no_wrap=True)
    for bot, other, duel in duels:
        table.add_row(f"{bot} - {other}", str(duel.matches), *_compared(duel.score))
        if duel.adjusted is not None:
            table.add_row("  less luck", "", *_compared(duel.adjusted))
    return table


def _compared(found: Comparison) -> tuple[str, ...]:
    return points(found.score), interval(found), elo_of(found), elo_interval(found), better(found)


def cross_tables(names: Sequence[str], duels: Mapping[str, Mapping[str, HeadToHead]]) -> Iterator[tuple[str, Table]]:
    """Shares of points, each with half of its interval below; where luck is known, the same less luck."""
    shares = {bot: {other: duel.score for other, duel in theirs.items()} for bot, theirs in duels.items()}
    yield "share of points", _cross(names, shares)
    freed = {
        bot: {other: duel.adjusted for other, duel in theirs.items() if duel.adjusted is not None}
        for bot, theirs in duels.items()
    }
    if any(freed.values()):
        yield "less luck", _cross(names, freed)


def _cross(names: Sequence[str], found: Mapping[str, Mapping[str, Comparison]]) -> Table:
    cells = {bot: {other: _spread(share) for other, share in theirs.items()} for bot, theirs in found.items()}
    return _matrix(names, cells)


def _spread(found: Comparison) -> str:
    half = f"{(found.high - found.low) / 2:.2f}"
    return f"{found.score:z.2f}\n±{half.removeprefix('0')}"


def shares_table(names: Sequence[str], shares: Mapping[str, Mapping[str, float | None]]) -> Table:
    """Shares of points alone."""
    cells = {
        bot: {other: f"{share:.2f}" for other, share in theirs.items() if share is not None}
        for bot, theirs in shares.items()
    }
    return _matrix(names, cells)


def _matrix(names: Sequence[str], cells: Mapping[str, Mapping[str, str]]) -> Table:
    """Columns are headed by names, or by the numbers of the rows where names are too long for that."""
    width = min(_WIDEST_CELL, (columns() - max(map(len, names))) // len(names) - _GAP)
    named = all(len(name) <= width for name in names)
    table = Table(box=None, pad_edge=False)
    table.add_column("", overflow="fold")
    for place, name in enumerate(names, 1):
        table.add_column(name if named else str(place), justify="right", no_wrap=True)
    for place, name in enumerate(names, 1):
        line = [cells.get(name, {}).get(other, "") for other in names]
        table.add_row(name if named else f"{place} {name}", *line)
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        if column == "bot":
            table.add_column(column, overflow="fold")
        else:
            table.add_column(column, justify="right", no_wrap=True)
    return table
