"""Launching bots: entry points of reference bots, the environment of a bot's process, and bots on command lines."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from protocol.errors import UsageFault
from protocol.names import MAX_NAME_LENGTH

REFERENCE_BOTS = "bot_arena.bots"
"""The group of entry points in which packages offer bots by name."""
PLAYER_ENTRY_POINT_GROUP = "bot_arena.players"
"""The group of entry points in which packages offer `InProcessPlayers` (referee/in_process.py)."""

WARMUP_SUFFIX = ": warming up"
"""The end of the line that a bot prints on standard error while it is not ready yet. The line begins with the bot's
name.
"""

APPRAISER_ENTRY_POINT_GROUP = "bot_arena.appraisers"
"""The group of entry points in which packages offer a `MoveEvaluator` (referee/in_process.py)."""

# These are the names of environment variables of a bot's process, from URL to PIN_NODE. A tournament sets the variables
# for the bots that it starts.
URL_VARIABLE = "ARENA_URL"
"""The environment variable with the URL of the arena."""
TOKEN_VARIABLE = "ARENA_TOKEN"  # noqa: S105
"""The environment variable with the bot's token."""
TOKEN_FD_VARIABLE = "ARENA_TOKEN_FD"  # noqa: S105
"""The environment variable with a file descriptor from which the bot reads its token, as one line. It is safer than
`TOKEN_VARIABLE`, because other users may be able to read the environment of a process.
"""
BOT_VARIABLE = "ARENA_BOT"
"""The environment variable with the bot's name."""
GAME_VARIABLE = "ARENA_GAME"
"""The environment variable with the name of the game to play."""
CONFIG_VARIABLE = "ARENA_CONFIG"
"""The environment variable with the preset, or the config in JSON."""
MATCHES_VARIABLE = "ARENA_MATCHES"
"""The environment variable with the number of matches after which the bot stops."""
SLOTS_VARIABLE = "ARENA_SLOTS"
"""The environment variable with the number of matches that the bot plays at a time."""
HOSTS_VARIABLE = "ARENA_HOSTS"
"""The environment variable with other hosts to which the bot may follow redirects between nodes."""
SEED_VARIABLE = "ARENA_SEED"
"""The environment variable with the seed of the bot's `turn.random` and of its nonces."""
RECONNECT_TIMEOUT_VARIABLE = "ARENA_PATIENCE"
"""The environment variable with the seconds for which the bot tries to reconnect."""
ASSIGNED_MATCHES_VARIABLE = "ARENA_ASSIGNED"
"""The environment variable that makes the bot wait for assigned matches, without seeking any."""
PIN_NODE_VARIABLE = "ARENA_STAY"
"""The environment variable that makes the bot play only at the node that it was started for."""

LEVELLED_BOT = "level"
"""The name of the reference bot that plays at several levels of strength. Its only setting has the same name."""
MAX_LEVEL = 8
"""The highest level of the bot `LEVELLED_BOT`. The lowest is 1."""
_LEVEL_PATTERN = re.compile(rf"{LEVELLED_BOT}:([^=,]+)")
"""The form of a bot with its level on a command line, such as `level:3`."""
_FILE_PATTERN = re.compile(r"((?s:.*)\.py)(?::([^:=/\\]+))?(?::(.*))?")
"""The form of a bot in a Python file on a command line, with an optional class and settings."""
_SETTING_SEPARATOR = re.compile(r",(?!-?\d*\.?\d+(?:,|\Z))")
"""The pattern of a comma between two settings. In `depth=4,weights=1,2.5,3` it matches only the first comma, because a
bare number continues a list.
"""


class BotSpec(Struct, frozen=True, kw_only=True):
    """A bot that is to play in this process, without a process of its own, and how to make it."""

    name: str
    """The name under which the bot plays."""
    bot: str
    """The name of a reference bot, or `FILE.py`, or `FILE.py:CLASS`."""
    settings: Mapping[str, str] = {}
    defaults: Mapping[str, str] = {}
    """Additional settings, of which the bot gets those that it knows."""
    seed: str
    """The seed of the bot's `turn.random` and of its nonces, as in the environment variable `SEED_VARIABLE`."""


def split_bot_word(word: str) -> tuple[str | None, str]:
    """Split a bot on a command line, `NAME=BOT:KEY=VALUE,…`, into its name, if given, and the rest. `level:3` is short
    for `level-3=level:level=3`.
    """
    name, equals, bot = word.partition("=")
    of_path = ":" in name or (re.search(r"[/\\]", name) and parse_bot_file(word) is not None)
    given, what = (name, bot) if equals and not of_path else (None, word)
    level = _LEVEL_PATTERN.fullmatch(what)
    if level is None:
        return given, what
    return f"{LEVELLED_BOT}-{level[1]}" if given is None else given, f"{LEVELLED_BOT}:{LEVELLED_BOT}={level[1]}"


def bot_name_of(word: str) -> str:
    """Return the name under which a bot on a command line plays. This is the given name, or else the name of the
    reference bot or file. Characters of a file's name that are not allowed in names of bots become dashes.
    """
    name, bot = split_bot_word(word)
    if name is not None:
        return name
    file = parse_bot_file(_first_word(bot) or "") or parse_bot_file(bot)
    if file is not None:
        return _name_from_path(file.path)
    return bot.partition(":")[0]


class BotFile(NamedTuple):
    """A bot in a Python file: its path exactly as given, and the class and settings that follow the path. The path may
    contain blanks and backslashes.
    """

    path: str
    cls: str
    settings: str


def parse_bot_file(bot: str) -> BotFile | None:
    """Parse `FILE.py`, `FILE.py:CLASS` or `FILE.py:[CLASS:]KEY=VALUE,…`. Return None if `bot` has no such form."""
    found = _FILE_PATTERN.fullmatch(bot)
    return None if found is None else BotFile(*found.groups(default=""))


def _first_word(text: str) -> str | None:
    """Return the first word of a command line; backslashes do not escape. Return None if the line cannot be split."""
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", ""
    with contextlib.suppress(ValueError):
        return next(iter(lexer), None)
    return None


def _name_from_path(path: str) -> str:
    stem = re.split(r"[/\\]", path)[-1].removesuffix(".py")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:MAX_NAME_LENGTH] or stem


def parse_bot_settings(text: str, name: str, bot: str) -> dict[str, str]:
    """Parse `KEY=VALUE,…`, the settings with which `bot` plays as `name`. Raise `UsageFault` if they are invalid."""
    settings: dict[str, str] = {}
    for setting in re.split(_SETTING_SEPARATOR, text) if text else ():
        key, equals, value = setting.partition("=")
        if not (key and equals and value):
            raise UsageFault(f"{name}: {setting!r} is not a setting: write KEY=VALUE, as in {name}={bot}:KEY=VALUE")
        if key in settings:
            raise UsageFault(f"{name}: {key} is set twice, to {settings[key]} and to {value}")
        settings[key] = value
    return settings


def parse_bot_spec(word: str, seed: str, defaults: Mapping[str, str] | None = None) -> BotSpec:
    """Parse a bot on a command line that is to play in process: `[NAME=]BOT[:KEY=VALUE,…]`, where BOT may be `FILE.py`
    or `FILE.py:CLASS`. Raise `UsageFault` if it is invalid.
    """
    given, what = split_bot_word(word)
    file = parse_bot_file(what)
    if file is None:
        bot, _, settings = what.partition(":")
        name = bot if given is None else given
    else:
        path, cls, settings = file
        bot = f"{path}:{cls}" if cls else path
        name = _name_from_path(path) if given is None else given
    return BotSpec(
        name=name, bot=bot, settings=parse_bot_settings(settings, name, bot), defaults=defaults or {}, seed=seed
    )
