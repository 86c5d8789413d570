"""How programs find one another: where an arena usually is, who the reference bots are, what bots are told at start."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

PORT = 8765
"""Where an arena listens unless it is told."""
REFERENCE_BOTS = "bot_arena.bots"
"""The group of entry points in which packages offer bots by name."""
PLAYERS = "bot_arena.players"
"""The group of entry points in which packages offer to play bots without processes of their own."""

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
SEED = "ARENA_SEED"
PATIENCE = "ARENA_PATIENCE"
ASSIGNED = "ARENA_ASSIGNED"


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


def parted(word: str) -> tuple[str | None, str]:
    """The name that a word of a command line gives a bot, if it gives one, and the bot: `NAME=BOT:KEY=VALUE,…`."""
    name, equals, bot = word.partition("=")
    return (name, bot) if equals and ":" not in name else (None, word)


def name_in(word: str) -> str:
    """The name under which a word of a command line has a bot play: that which it gives, or the bot's own."""
    name, bot = parted(word)
    return bot.partition(":")[0] if name is None else name
