"""The command line of a bot that calls `run`: `python mine.py --url … --game …`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import NoReturn

from bots.client.bot import Bot
from bots.client.settings import PartialSettings, read_config
from machine.game_discovery import resolve_game
from protocol.display import short_repr
from protocol.errors import UsageFault


def read_command_line(bot: Bot, args: Sequence[str] | None) -> PartialSettings:
    """Return the settings of the command line. Raise `UsageFault` if it is wrong, `SystemExit` (0) after `--help`."""
    parser = OptionParser(description=f"Play {bot.name} in a bot arena.", allow_abbrev=False)
    add_options(parser)
    parser.add_argument(
        "--submit", action="store_true", default=None, help="hand this program in: the arena checks and runs it"
    )
    parser.add_argument(
        "--status", action="store_true", default=None, help="show how the check of what was handed in went, and its log"
    )
    return read_options(parser.parse_args(args))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add a bot's options, such as the URL, the game and the number of matches, to the parser."""
    integer, number = partial(_convert, int, "an integer"), partial(_convert, float, "a number")
    parser.add_argument("--url", help="the arena, ws://host:port [ARENA_URL]")
    parser.add_argument("--hosts", metavar="A,B", help="other hosts on which the arena may have nodes [ARENA_HOSTS]")
    parser.add_argument("--token", help="the bot's token; without it a saved one, or a new one [ARENA_TOKEN]")
    parser.add_argument("--name", help="play under another name [ARENA_BOT]")
    parser.add_argument("--game", type=resolve_game, help="the game to seek, or FILE.py with its rules [ARENA_GAME]")
    parser.add_argument("--preset", metavar="NAME", help="a preset of the game; --config changes single keys of it")
    parser.add_argument("--config", metavar="KEY=VALUE", action="append", default=[], help="a config key of the game")
    parser.add_argument("--matches", type=integer, help="stop after this many matches [ARENA_MATCHES]")
    parser.add_argument("--slots", type=integer, help="matches at a time, 1 to 64 [ARENA_SLOTS]")
    parser.add_argument("--seed", help="the same seed gives the same turn.random [ARENA_SEED]")
    parser.add_argument("--unrated", action="store_const", const=False, dest="rated", help="seek unrated matches")
    parser.add_argument("--opponent", help="seek a match against this bot; unrated among bots")
    parser.add_argument("--against", metavar="FILE", help="compare this version with the one in FILE")
    parser.add_argument("--open", action="store_true", default=None, help="take any match of the game, or of all games")
    parser.add_argument("--min-move-time", type=number, help="minimum seconds of a move, for spectators")
    parser.add_argument(
        "--patience", type=number, help="seconds to retry while the arena is unreachable [ARENA_PATIENCE]"
    )


def read_options(namespace: argparse.Namespace) -> PartialSettings:
    """Return the settings in parsed options of `add_options`. Raise `UsageFault` if `--config` is not `key=value`."""
    settings: PartialSettings = {"config": read_config(namespace.config, namespace.preset)}
    for key in vars(namespace).keys() & PartialSettings.__annotations__.keys() - {"config"}:
        settings[key] = getattr(namespace, key)  # type: ignore[literal-required]
    return settings


class OptionParser(argparse.ArgumentParser):
    """A parser of command lines that raises its errors as `UsageFault`."""

    def error(self, message: str) -> NoReturn:
        raise UsageFault(f"{message.removeprefix('argument ')}; --help says what there is")


def _convert(kind: Callable[[str], float], right: str, text: str) -> float:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{short_repr(text)} is not {right}") from None
