"""What the words of several commands mean, said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[Path | None, typer.Option(help="The data folder [ARENA_DATA; ./arena-data].")]
Database = Annotated[str | None, typer.Option(metavar="URL", help="The database [ARENA_DB; DATA/arena.db].")]

ToPlay = Annotated[str | None, typer.Option("--game", help="The game to play  [required]")]
Sets = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set an option of the game or of a bot.")
]
Seconds = Annotated[str, typer.Option("--clock", help="Seconds and increment.")]
Seed = Annotated[str | None, typer.Option(help="The same seed gives the same matches.")]
Jobs = Annotated[int | None, typer.Option(help="Workers, each with a match at a time.")]
Dask = Annotated[str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler instead of --jobs.")]
InProcess = Annotated[bool, typer.Option("--in-process", help="Bots of the library within the workers.")]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the results there.")]
PassEnv = Annotated[list[str] | None, typer.Option(metavar="NAME", help="A variable that bots get too.")]
SandboxKind = Annotated[str, typer.Option("--sandbox", help="Where your own bots run: none, users or bwrap.")]
Readable = Annotated[list[Path] | None, typer.Option("--read", metavar="PATH", help="What bots may read in a sandbox.")]
Memory = Annotated[int, typer.Option(metavar="MIB", help="Memory of each process in a sandbox.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def group(name: str, says: str) -> typer.Typer:
    """Commands under one word."""
    return typer.Typer(
        name=name, help=says, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False
    )


def database_of(flag: str | None, data: Path | None) -> str:
    """The database that is meant."""
    from arena.commands.config import data_folder, database

    return database(flag, data_folder(data))
