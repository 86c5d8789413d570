"""The command line of `arena season`."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.command_groups.group import group
from arena.command_groups.options import Data, Database, Json, database_of
from arena.commands.settings import data_folder

app = group("season", "Start and list seasons of ratings.")


@app.command("start")
def season_start(name: Annotated[str, typer.Argument(metavar="NAME")], db: Database = None, data: Data = None) -> None:
    """Start a season with new ratings; old ladders and records stay."""
    from arena.commands.ladder import start_season

    start_season(database_of(db, data), data_folder(data), name)


@app.command("list")
def season_list(to_json: Json = False, db: Database = None, data: Data = None) -> None:
    """List the seasons; the last one is current."""
    from arena.commands.ladder import list_seasons

    list_seasons(database_of(db, data), to_json=to_json)
