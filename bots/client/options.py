"""The command line of a bot that calls `run`: `python mine.py --url … --game …`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import NoReturn

from bots.client.bot import Bot
from bots.client.settings import Given, read_config
from protocol.display import shown
from protocol.errors import UsageFault


def from_command_line(bot: Bot, args: Sequence[str] | None) -> Given:
    """What the command line says. Raises `UsageFault`, or `SystemExit` (0) after the help that was asked for."""
    parser = Parser(description=f"Play {bot.name} in a bot arena.", allow_abbrev=False)
    add_options(parser)
    return given(parser.parse_args(args))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Let a command line say where, what and how a bot plays."""
    integer, number = partial(_read, int, "an integer"), partial(_read, float, "a number")
    parser.add_argument("--url", help="the arena, ws://host:port [ARENA_URL]")
    parser.add_argument("--hosts", metavar="A,B", help="other hosts of its nodes [ARENA_HOSTS]")
    parser.add_argument("--token", help="the bot's token; without it a saved one, or a new one [ARENA_TOKEN]")
    parser.add_argument("--name", help="play under another name [ARENA_BOT]")
    parser.add_argument("--game", help="the game to seek [ARENA_GAME]")
    parser.add_argument("--preset", help="a preset of the game")
    parser.add_argument("--config", metavar="KEY=VALUE", action="append", default=[], help="a config key of the game")
    parser.add_argument("--matches", type=integer, help="stop after so many [ARENA_MATCHES]")
    parser.add_argument("--slots", type=integer, help="matches at once, 1 to 64 [ARENA_SLOTS]")
    parser.add_argument("--seed", help="the same seed gives the same turn.random [ARENA_SEED]")
    parser.add_argument("--unrated", action="store_const", const=False, dest="rated", help="seek unrated matches")
    parser.add_argument("--opponent", help="seek a match against this bot; unrated")
    parser.add_argument("--against", metavar="FILE", help="say which is better, this or that version of the bot")
    parser.add_argument("--open", action="store_true", default=None, help="take any match of the game, or of all games")
    parser.add_argument("--min-move-time", type=number, help="seconds that a move takes at least, for whoever watches")
    parser.add_argument("--pace", action=_Renamed, help=argparse.SUPPRESS)
    parser.add_argument("--patience", type=number, help="seconds to try without an arena, then stop [ARENA_PATIENCE]")


def given(read: argparse.Namespace) -> Given:
    """What the options of `add_options` say. Raises `UsageFault` for a bad pair."""
    said: Given = {"config": read_config(read.config, read.preset)}
    for key in vars(read).keys() & Given.__annotations__.keys() - {"config"}:
        said[key] = getattr(read, key)  # type: ignore[literal-required]
    return said


class _Renamed(argparse.Action):
    """An option that is called otherwise now."""

    def __call__(self, *given: object, **more: object) -> NoReturn:
        raise UsageFault("--pace is called --min-move-time now")


class Parser(argparse.ArgumentParser):
    """One that says what it can't read as every fault is said."""

    def error(self, message: str) -> NoReturn:
        raise UsageFault(f"{message.removeprefix('argument ')}; --help says what there is")


def _read(kind: Callable[[str], float], right: str, text: str) -> float:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not {right}") from None
