"""The command line of `arena game`."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.command_groups.group import group
from arena.command_groups.options import Json

app = group("game", "Check games of your own.")


@app.command("check")
def game_check(
    game: Annotated[
        str, typer.Argument(metavar="FILE.py|NAME", help="The file with the game, or the name of an installed one.")
    ],
    games: Annotated[int, typer.Option(min=1, max=100_000, help="Random games of each preset.")] = 50,
    seed: Annotated[int, typer.Option(help="The seed of the random games.")] = 0,
    watch: Annotated[bool, typer.Option("--watch", help="Check again whenever the file is saved.")] = False,
    to_json: Json = False,
) -> None:
    """Check a game by playing it at random.

    Moves, states, messages and views are checked, and calls are timed. The exit code is 1 if something is wrong.
    """
    from arena.commands.game_check import GameCheckOptions, run

    run(GameCheckOptions(game=game, games=games, seed=seed, watch=watch, to_json=to_json))
