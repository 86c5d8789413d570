"""The `arena-bot` command: play bots, tune them, analyse positions, compare searches.

Each command imports the modules that it needs when it is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

from machine import command_line
from machine.help_groups import command_group

if TYPE_CHECKING:
    from bots.client.bot import Bot

PLAYERS = "Commands for players"
"""The heading above the commands for players in the help."""
DEVELOPERS = "Commands for developers of bots"
"""The heading above the commands for developers in the help."""
RESEARCH_HELP_HEADING = "Commands for researchers"
"""The heading above the commands for researchers in the help."""

app = typer.Typer(
    name="arena-bot",
    cls=command_group((PLAYERS, DEVELOPERS, RESEARCH_HELP_HEADING)),
    help="Play bots in an arena, tune them, analyse positions, compare searches.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class _Delegated(TyperCommand):
    """A command that parses its own arguments: it gets all of them unchanged, even `--` and `--help`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.args = args
        return []


@app.command("run", rich_help_panel=PLAYERS)
def run_bot(
    bot: Annotated[
        str,
        typer.Argument(
            metavar="[NAME=]BOT[:KEY=VALUE,…]",
            help="random, greedy, minimax, alphabeta, ga, uct, raider, perfect, oracle, tit-for-tat, generous, grim, "
            "pavlov, extort, always-cooperate, always-defect, equilibrium, level, human, …; "
            "level:1 to level:8 are strengths fitted to be evenly apart.",
        ),
    ],
    url: Annotated[str | None, typer.Option(help="The arena, ws://host:port [ARENA_URL].")] = None,
    hosts: Annotated[
        str | None, typer.Option(metavar="A,B", help="Other hosts on which the arena may have nodes [ARENA_HOSTS].")
    ] = None,
    token: Annotated[str | None, typer.Option(help="The bot's token; else a saved or new one [ARENA_TOKEN].")] = None,
    name: Annotated[str | None, typer.Option(help="The name to play under [ARENA_BOT].")] = None,
    game: Annotated[str | None, typer.Option(help="The game to seek, or FILE.py with its rules [ARENA_GAME].")] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="A preset of the game; --config changes single keys of it.")
    ] = None,
    config: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A config key of the game.")] = None,
    matches: Annotated[int | None, typer.Option(help="Stop after this many matches [ARENA_MATCHES].")] = None,
    slots: Annotated[int | None, typer.Option(help="Matches at a time, 1 to 64 [ARENA_SLOTS].")] = None,
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same choices [ARENA_SEED].")] = None,
    unrated: Annotated[bool, typer.Option("--unrated", help="Seek unrated matches.")] = False,
    opponent: Annotated[str | None, typer.Option(help="Seek a match against this bot; among bots unrated.")] = None,
    take_any: Annotated[bool, typer.Option("--open", help="Take any match of the game, or of all games.")] = False,
    min_move_time: Annotated[float | None, typer.Option(help="Minimum seconds of a move, for spectators.")] = None,
    patience: Annotated[
        float | None, typer.Option(help="Seconds to retry while the arena is unreachable [ARENA_PATIENCE].")
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the bot.")] = None,
    default: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting that is ignored by bots that lack it.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only check whether this bot can play on this machine.")
    ] = False,
) -> None:
    """Connect a bot to an arena and play."""
    from bots.client.loading import choose_settings, find_entry_point
    from bots.client.run import play
    from bots.client.settings import PartialSettings, read_config, read_pairs
    from machine.game_discovery import resolve_game
    from protocol.bot_launch import parse_bot_spec

    given = PartialSettings(
        url=url,
        hosts=hosts,
        token=token,
        name=name,
        game=None if game is None else resolve_game(game),
        config=read_config(config or (), preset),
        matches=matches,
        slots=slots,
        seed=seed,
        rated=False if unrated else None,
        opponent=opponent,
        open=take_any or None,
        min_move_time=min_move_time,
        patience=patience,
    )
    spec = parse_bot_spec(bot, "")
    cls = find_entry_point(spec.bot).load()
    set_here = {**spec.settings, **read_pairs(set_ or (), "--set")}
    settings = choose_settings(spec.bot, cls.settings, set_here, read_pairs(default or (), "--default"))
    made = cls(spec.name, **settings)
    if check:
        _check_any_game(made)
    else:
        play(made, given, PartialSettings())


def _check_any_game(bot: Bot) -> None:
    """Raise `UsageFault` unless there is a game and a preset that the bot can play on this machine."""
    from protocol.errors import UsageFault
    from protocol.games import game_class, load_game

    faults = []
    for game, preset in ((name, preset) for name in bot.games for preset in game_class(name).presets):
        try:
            bot.check_game(load_game(game, {"preset": preset}))
        except UsageFault as fault:
            faults.append(fault)
        else:
            return
    if faults:
        raise faults[0]


@app.command(cls=_Delegated, rich_help_panel=PLAYERS)
def pipe(context: typer.Context) -> None:
    """Connect a program in any language as a bot.

    It writes a line of JSON for each move: pipe [options] -- PROGRAM.
    """
    from bots.commands.pipe import PROGRAM_NAME, pipe

    pipe(context.args or ["--help"], PROGRAM_NAME)


@app.command(cls=_Delegated, rich_help_panel=PLAYERS)
def uci(context: typer.Context) -> None:
    """Connect a chess engine that speaks UCI as a bot.

    Any engine plays, with its clock mapped: uci [options] -- ENGINE.
    """
    from bots.commands.uci import uci

    uci(context.args or ["--help"], "arena-bot uci")


def _add_command(name: str, users: str, about: str) -> None:
    """Add a command. It runs the function `name` of the module of the same name in bots.commands."""

    @app.command(name, cls=_Delegated, help=about, rich_help_panel=users)
    def run(context: typer.Context) -> None:
        command_line.run_command(_application(name), context.args, f"arena-bot {name}")


@cache
def _application(name: str) -> typer.Typer:
    """Return the application of a command that parses its own arguments."""
    alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    alone.command()(resolve_name(f"bots.commands.{name}:{name}"))
    return alone


_games = typer.Typer(
    help="Fetch the rules of a game of an arena.", rich_markup_mode=None, pretty_exceptions_enable=False
)
app.add_typer(_games, name="game", rich_help_panel=PLAYERS)


@_games.callback()
def _group() -> None:
    """Fetch the rules of a game of an arena."""


@_games.command("get")
def get_game(
    url: Annotated[str, typer.Argument(metavar="URL", help="The arena's page, http://…, or the arena, ws://…")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the game.")],
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="The file to write [NAME.py].")] = None,
) -> None:
    """Write the rules of a game that an arena brought to a file, without running them.

    The file is a program of the arena's operator: read it before you use it.
    """
    from bots.commands.game_get import get_game

    get_game(url, name, to)


_add_command("submit", PLAYERS, "Hand a program in, for the arena to check and run.")
_add_command("hosted", PLAYERS, "Show and change how your hosted bot runs: pause, version, games, a match now.")
_add_command("logs", PLAYERS, "Show what the program of a hosted bot wrote in its matches.")
_add_command("kept", PLAYERS, "Fetch the files that a hosted bot keeps between its matches.")
_add_command("mcp", PLAYERS, "Let a language model play, by the Model Context Protocol.")
_add_command("tune", DEVELOPERS, "Evolve the weights of an evaluation.")
_add_command("trial", DEVELOPERS, "Compare two sets of weights by matches.")


@app.command(cls=_Delegated, rich_help_panel=RESEARCH_HELP_HEADING)
def analyze(context: typer.Context) -> None:
    """Analyse positions and strategies of some games exactly."""
    from bots.commands.analyze import make_analyze

    command_line.run_command(make_analyze(), context.args or ["--help"], "arena-bot analyze")


_add_command("solve", RESEARCH_HELP_HEADING, "Solve a game and store the result.")
_add_command("exploitability", RESEARCH_HELP_HEADING, "Compute what a best reply wins against a bot.")
_add_command("compare", DEVELOPERS, "Compare searches of a position: nodes, time and value.")


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line."""
    command_line.run(app, "arena-bot", args)
