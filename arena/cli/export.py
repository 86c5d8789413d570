"""The words of `arena matches` and `arena export`: which matches, and in what form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli.options import Csv, Data, Database, Json, database_of

if TYPE_CHECKING:
    from arena.commands.match_filters import Selection

Bot = Annotated[str | None, typer.Option(metavar="NAME", help="Only this bot's.")]
Opponent = Annotated[str | None, typer.Option(metavar="NAME", help="Only against this one.")]
Game = Annotated[str | None, typer.Option(help="Only of this game.")]
Won = Annotated[bool, typer.Option("--won", help="Only those that the bot won.")]
Lost = Annotated[bool, typer.Option("--lost", help="Only those that it lost.")]
Drawn = Annotated[bool, typer.Option("--drawn", help="Only those that it drew.")]
Reason = Annotated[
    str | None, typer.Option(metavar="WORD", help="Only such as ended so, for the bot if one is named: timeout.")
]
Since = Annotated[str | None, typer.Option(metavar="DATE", help="Only such as ended since: 2026-01-31.")]
Until = Annotated[str | None, typer.Option(metavar="DATE", help="Only such as ended until then, or on that day.")]
Tournament = Annotated[str | None, typer.Option(metavar="ID", help="Only of this tournament.")]


def run_matches(
    bot: Bot = None,
    opponent: Opponent = None,
    game: Game = None,
    won: Won = False,
    lost: Lost = False,
    drawn: Drawn = False,
    reason: Reason = None,
    since: Since = None,
    until: Until = None,
    tournament: Tournament = None,
    limit: Annotated[int | None, typer.Option(help="How many [50; with --json or --csv all].")] = None,
    to_json: Json = False,
    to_csv: Csv = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """The matches played, newest first."""
    chosen = _chosen(locals())
    from arena.commands import matches as command

    command.matches(database_of(db, data), chosen, limit, to_json=to_json, to_csv=to_csv)


def run_export(
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="A new folder.")],
    form: Annotated[str, typer.Option("--format", help="csv or parquet.")] = "csv",
    plies: Annotated[bool, typer.Option("--plies/--no-plies", help="Every move too, or only matches.")] = True,
    bot: Bot = None,
    opponent: Opponent = None,
    game: Game = None,
    won: Won = False,
    lost: Lost = False,
    drawn: Drawn = False,
    reason: Reason = None,
    since: Since = None,
    until: Until = None,
    tournament: Tournament = None,
    db: Database = None,
    data: Data = None,
) -> None:
    """Write matches, their seats and their plies as tables for pandas, polars or a spreadsheet."""
    chosen = _chosen(locals())
    from arena.commands import export as command

    command.export(database_of(db, data), to, form, chosen, plies=plies)


def _chosen(words: Mapping[str, Any]) -> Selection:
    from arena.commands.match_filters import Selection

    return Selection(**{name: words[name] for name in Selection.__struct_fields__})
