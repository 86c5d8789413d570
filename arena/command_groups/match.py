"""The command line of `arena match`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.command_groups.group import group
from arena.command_groups.options import Data, Database, database_of
from arena.commands.settings import data_folder

app = group("match", "Annul matches, and restore their records.")


@app.command("annul")
def match_annul(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...")] = None,
    bot: Annotated[str | None, typer.Option(metavar="NAME", help="All matches of this bot.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="DATE", help="With --bot: only those that ended since, like 2026-01-31.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Let them count again.")] = False,
    db: Database = None,
    data: Data = None,
) -> None:
    """Exclude matches from the ratings; they are kept and marked."""
    from arena.commands.ladder import annul

    annul(database_of(db, data), data_folder(data), ids or (), bot, since, undo=undo)


@app.command("restore")
def match_restore(
    ids: Annotated[list[str], typer.Argument(metavar="ID...")],
    backup: Annotated[Path, typer.Option("--from", metavar="BACKUP", help="A copy that `arena db backup` made.")],
    db: Database = None,
    data: Data = None,
) -> None:
    """Restore missing or damaged records from a backup."""
    from arena.commands.restore import restore

    restore(database_of(db, data), ids, backup)
