"""`arena-bot solve`: solves a game and prints or stores the result. Each game's package has its solver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from bots.commands.output import Json
from protocol.display import short_repr
from protocol.errors import UsageFault
from protocol.games import game_part, game_spec, games_with, is_known_game


class SolveOptions(NamedTuple):
    """The options of a solver. An option that is not given has its default in `solver_options`, or is None or empty."""

    game: str
    preset: str | None
    config: tuple[str, ...]
    jobs: int | None
    rounds: int | None
    write: Path | None
    as_json: bool


def _games_taking(option: str) -> str:
    return " and ".join(game for game in games_with("solver") if option in game_spec(game).solver_options)


def _defaults_of(option: str) -> str:
    defaults = (game_spec(game).solver_options.get(option) for game in games_with("solver"))
    return " or ".join(f"{default:,}" for default in dict.fromkeys(defaults) if default is not None)


def solve(
    game: Annotated[str, typer.Argument(metavar="GAME", help=f"One of {', '.join(games_with('solver'))}.")],
    preset: Annotated[str | None, typer.Option(help="A preset of the game.")] = None,
    config: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A config key of the game.")] = None,
    jobs: Annotated[int | None, typer.Option(help=f"With {_games_taking('jobs')}: threads [one per core].")] = None,
    rounds: Annotated[
        int | None,
        typer.Option(help=f"With {_games_taking('rounds')}: rounds of the algorithm [{_defaults_of('rounds')}]."),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"With {_games_taking('write')}: write the strategy to this file."),
    ] = None,
    json_: Json = False,
) -> None:
    """Solve a game and print its value. The same command continues an interrupted solution and checks a stored one."""
    if game not in games_with("solver"):
        *others, last = games_with("solver")
        solved = f"give {', '.join(others)} or {last}"
        if is_known_game(game):
            raise UsageFault(f"this command does not solve {game}: {solved}")
        raise UsageFault(f"there is no game {short_repr(game)}: {solved}; for a map, add --config map=NAME")
    given = {"preset": preset, "config": config, "jobs": jobs, "rounds": rounds, "write": write}
    taken = game_spec(game).solver_options
    for option, value in given.items():
        if value not in (None, []) and option not in taken:
            *others, last = (f"--{one}" for one in taken)
            raise UsageFault(f"{game} takes only the options {', '.join(others)} and {last}")
    if rounds is None:
        rounds = taken.get("rounds")
    game_part(game, "solver")(SolveOptions(game, preset, tuple(config or ()), jobs, rounds, write, json_))
