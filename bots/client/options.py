"""The command line of a bot that calls `run`: `python mine.py --url … --game …`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from bots.client.bot import Bot
from bots.client.settings import Given
from bots.client.values import read_config


def from_command_line(bot: Bot, args: Sequence[str] | None) -> Given:
    """What the command line says. Raises `SystemExit` (2) for an option there is not, `UsageFault` for a bad pair."""
    parser = argparse.ArgumentParser(description=f"Play {bot.name} in a bot arena.", allow_abbrev=False)
    add_options(parser)
    return given(parser.parse_args(args))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Let a command line say where, what and how a bot plays."""
    parser.add_argument("--url", help="the arena, ws://host:port [ARENA_URL]")
    parser.add_argument("--token", help="the bot's token; without it a saved one, or a new one [ARENA_TOKEN]")
    parser.add_argument("--name", help="play under another name [ARENA_BOT]")
    parser.add_argument("--game", help="the game to seek [ARENA_GAME]")
    parser.add_argument("--preset", help="a preset of the game")
    parser.add_argument("--config", metavar="KEY=VALUE", action="append", default=[], help="a config key of the game")
    parser.add_argument("--matches", type=int, help="stop after so many [ARENA_MATCHES]")
    parser.add_argument("--slots", type=int, help="matches at once, 1 to 64 [ARENA_SLOTS]")
    parser.add_argument("--seed", help="the same seed gives the same turn.random [ARENA_SEED]")
    parser.add_argument("--unrated", action="store_const", const=False, dest="rated", help="seek unrated matches")
    parser.add_argument("--opponent", help="seek a match against this bot; unrated")
    parser.add_argument("--open", action="store_true", default=None, help="take any match of the game, or of all games")
    parser.add_argument("--pace", type=float, help="seconds that a move takes at least, for whoever watches")
    parser.add_argument("--patience", type=float, help="seconds to try without an arena, then stop [ARENA_PATIENCE]")


def given(read: argparse.Namespace) -> Given:
    """What the options of `add_options` say. Raises `UsageFault` for a bad pair."""
    return Given(
        url=read.url,
        token=read.token,
        name=read.name,
        game=read.game,
        config=read_config(read.config, read.preset),
        matches=read.matches,
        slots=read.slots,
        seed=read.seed,
        rated=read.rated,
        opponent=read.opponent,
        open=read.open,
        pace=read.pace,
        patience=read.patience,
    )
