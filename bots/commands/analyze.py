"""`arena-bot analyze`: exact facts about positions, as tables or JSON. Each game's package has its command."""

from __future__ import annotations

from pkgutil import resolve_name

import typer

from protocol.games import game_names, game_spec

_ALLOW_NEGATIVE_NUMBERS = {"ignore_unknown_options": True}
"""Context settings of the commands, whose arguments may be numbers like −1: these are not read as options."""


def make_analyze() -> typer.Typer:
    """Return the command line of `arena-bot analyze`: the commands of all games."""
    analyze = typer.Typer(
        name="analyze",
        help="Analyse positions and strategies exactly.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
    )
    for game in game_names():
        for name, path in game_spec(game).analyses.items():
            analyze.command(name, context_settings=_ALLOW_NEGATIVE_NUMBERS)(resolve_name(path))
    return analyze
