"""Options and arguments that several `arena` commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.commands.settings import data_folder, database_url

Data = Annotated[Path | None, typer.Option(metavar="FOLDER", help="The data folder [ARENA_DATA; ./arena-data].")]
Database = Annotated[str | None, typer.Option(metavar="URL", help="The database [ARENA_DB; DATA/arena.db].")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Game = Annotated[str | None, typer.Option(help="Only this game.")]
ToPlay = Annotated[str | None, typer.Option("--game", metavar="NAME|FILE.py", help="The game to play  [required]")]
Preset = Annotated[
    str | None, typer.Option(metavar="NAME", help="A preset of the game; --set changes single keys of it.")
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a config key of the game or a setting of a bot."),
]
LuckBy = Annotated[
    str | None, typer.Option("--value", metavar="NAME", help="Value function that measures luck [the best there is].")
]
Target = Annotated[str, typer.Argument(metavar="ID|FILE", help="A match; latest: the newest.")]
BotName = Annotated[str, typer.Argument(metavar="NAME")]
BotNames = Annotated[list[str], typer.Argument(metavar="NAME...")]
BOTS_HELP = "NAME, NAME=COMMAND or NAME=BOT:KEY=VALUE,…"
"""The help of the argument that names the bots of a tournament, a test or a try."""


def database_of(flag: str | None, data: Path | None) -> str:
    """Return the database's URL, as `arena.commands.settings.database_url` finds it."""
    return database_url(flag, data_folder(data))
