"""The command line of `arena game`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.command_groups.group import group
from arena.command_groups.options import Data, Database, Json, database_of

app = group("game", "Check, add, list and remove games of your own.")
GameFile = Annotated[Path, typer.Argument(metavar="FILE.py", help="The file with the game.")]


@app.command("check")
def game_check(
    game: Annotated[
        str, typer.Argument(metavar="FILE.py|NAME", help="The file with the game, or the name of an installed one.")
    ],
    games: Annotated[int, typer.Option(min=1, max=100_000, help="Random games of each preset.")] = 50,
    seed: Annotated[int, typer.Option(help="The seed of the random games.")] = 0,
    time_limit: Annotated[
        int, typer.Option(min=1, max=86_400, metavar="SECONDS", help="Seconds after which the check ends.")
    ] = 60,
    watch: Annotated[bool, typer.Option("--watch", help="Check again whenever the file is saved.")] = False,
    to_json: Json = False,
) -> None:
    """Check a game by playing it at random.

    Moves, states, messages and views are checked, and calls are timed. The exit code is 1 if something is wrong, or if
    calls are so slow that a server would close the game.
    """
    from arena.commands.game_check import GameCheckOptions, run

    run(GameCheckOptions(game=game, games=games, seed=seed, time_limit_s=time_limit, watch=watch, to_json=to_json))


@app.command("add")
def game_add(file: GameFile, db: Database = None, data: Data = None) -> None:
    """Store a game, and offer it to new matches.

    Its source, and the files beside it, are kept for ever: the records of its matches need them. A running server has
    the game at its next start.
    """
    from arena.commands.brought_games import add

    add(file, database_of(db, data))


@app.command("list")
def game_list(db: Database = None, data: Data = None, to_json: Json = False) -> None:
    """List all games: built-in ones, and those that were added."""
    from arena.commands.brought_games import show_list

    show_list(database_of(db, data), to_json=to_json)


@app.command("remove")
def game_remove(name: Annotated[str, typer.Argument(metavar="NAME")], db: Database = None, data: Data = None) -> None:
    """Offer a game no longer.

    Matches under way are played to their end. Ratings and records stay.
    """
    from arena.commands.brought_games import remove

    remove(name, database_of(db, data))
