"""How programs find one another: who the reference bots are, what bots are told at start."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Mapping

from msgspec import Struct

from protocol.errors import UsageFault

REFERENCE_BOTS = "bot_arena.bots"
"""The group of entry points in which packages offer bots by name."""
PLAYERS = "bot_arena.players"
"""The group of entry points in which packages offer to play bots without processes of their own, as `InProcess` of
referee/in_process.py."""

WARMUP_SUFFIX = ": warming up"
"""What a bot's line on standard error says, behind its name, while nothing can be expected of it."""

APPRAISERS = "bot_arena.appraisers"
"""The group of entry points in which packages offer to estimate what moves are worth, as `Appraiser` of
referee/in_process.py."""

# The variables of a bot's environment. A tournament sets them for the bots that it starts.
URL = "ARENA_URL"
TOKEN = "ARENA_TOKEN"  # noqa: S105
TOKEN_FD = "ARENA_TOKEN_FD"  # noqa: S105
"""Names the file descriptor on which the token waits as a line: what is in an environment, others can read."""
BOT = "ARENA_BOT"
GAME = "ARENA_GAME"
CONFIG = "ARENA_CONFIG"
MATCHES = "ARENA_MATCHES"
SLOTS = "ARENA_SLOTS"
HOSTS = "ARENA_HOSTS"
SEED = "ARENA_SEED"
PATIENCE = "ARENA_PATIENCE"
ASSIGNED = "ARENA_ASSIGNED"
STAY = "ARENA_STAY"
"""The bot plays at the node that it was started for, and at no other."""

LEVEL = "level"
"""The reference bot of several strengths, and its only setting."""
LEVELS = 8
"""So many strengths it has, from 1."""
_LEVEL_WORD = re.compile(rf"{LEVEL}:([^=,]+)")
_BETWEEN_SETTINGS = re.compile(r",(?!-?\d*\.?\d+(?:,|\Z))")
"""A comma, as in `depth=4,weights=1,2.5,3` only the first: a bare number goes on with the list before it."""


class BotSpec(Struct, frozen=True, kw_only=True):
    """A bot that is to play in process: what it is and how it is made."""

    name: str
    """Under which it plays."""
    bot: str
    """A reference bot by its name, or `FILE.py`, or `FILE.py:CLASS`."""
    settings: Mapping[str, str] = {}
    defaults: Mapping[str, str] = {}
    """Settings of which it takes those that it knows."""
    seed: str
    """What `turn.random` and its nonces follow from, as from the variable SEED."""


def split_bot_word(word: str) -> tuple[str | None, str]:
    """The name that a word of a command line gives a bot, if it gives one, and the bot: `NAME=BOT:KEY=VALUE,…`.

    `level:3` is short for `level-3=level:level=3`.
    """
    name, equals, bot = word.partition("=")
    given, what = (name, bot) if equals and ":" not in name else (None, word)
    level = _LEVEL_WORD.fullmatch(what)
    if level is None:
        return given, what
    return f"{LEVEL}-{level[1]}" if given is None else given, f"{LEVEL}:{LEVEL}={level[1]}"


def bot_name_in(word: str) -> str:
    """The name under which a word of a command line has a bot play: that which it gives, or the bot's or file's own."""
    name, bot = split_bot_word(word)
    if name is not None:
        return name
    program = bot.partition(":")[0]
    with contextlib.suppress(ValueError):  # no command line, and so no file
        program = next(iter(shlex.split(program)), program)
    return program.rpartition("/")[2].removesuffix(".py") if program.endswith(".py") else program


def parse_bot_settings(text: str, name: str, bot: str) -> dict[str, str]:
    """The settings in `KEY=VALUE,…` with which `bot` plays as `name`. Raises `UsageFault`."""
    settings: dict[str, str] = {}
    for setting in re.split(_BETWEEN_SETTINGS, text) if text else ():
        key, equals, value = setting.partition("=")
        if not (key and equals and value):
            raise UsageFault(f"{name}: {setting!r} is no setting: write KEY=VALUE, as in {name}={bot}:KEY=VALUE")
        if key in settings:
            raise UsageFault(f"{name}: {key} is set twice, to {settings[key]} and to {value}")
        settings[key] = value
    return settings


def parse_bot_spec(word: str, seed: str, defaults: Mapping[str, str] | None = None) -> BotSpec:
    """The bot that is to play in process by a word of a command line: `[NAME=]BOT[:KEY=VALUE,…]`, where BOT may be
    `FILE.py` or `FILE.py:CLASS`. Raises `UsageFault`.
    """
    given, what = split_bot_word(word)
    file = re.fullmatch(r"((?:.*[/\\])?([^/\\]*)\.py)(?::([^:=]+))?(?::(.*))?", what)
    if file is None:
        bot, _, settings = what.partition(":")
        name = bot if given is None else given
    else:
        path, stem, cls, settings = file.groups(default="")
        bot = f"{path}:{cls}" if cls else path
        name = stem if given is None else given
    return BotSpec(
        name=name, bot=bot, settings=parse_bot_settings(settings, name, bot), defaults=defaults or {}, seed=seed
    )
