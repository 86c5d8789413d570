"""The built-in bots: from `random,NAME=BOT,alphabeta:nodes=20000` to the commands that start them, and a demo's."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from arena.processes.bot_commands import BOT_SETTINGS, check_names, known_bots, reference_command, reference_spec
from protocol.bot_launch import bot_name_in, split_bot_word
from protocol.errors import UsageFault
from protocol.games import NAMES

RIGHT = "write random,greedy,alphabeta:nodes=20000 or NAME=BOT:KEY=VALUE"


class BuiltinBot(Struct, frozen=True, kw_only=True):
    """A reference bot under its name here, and the command that starts it."""

    name: str
    command: tuple[str, ...]

    def with_options(self, *options: str) -> BuiltinBot:
        """The same bot, started with these options as well."""
        return BuiltinBot(name=self.name, command=(*self.command, *options))


def house_bots(text: str) -> list[BuiltinBot]:
    """The bots that the words name, in any case each under a name of its own. Raises `UsageFault`."""
    known = known_bots()
    found: list[str] = []
    for part in filter(None, map(str.strip, text.split(","))):
        if found and ":" in found[-1] and not _begins(part, known):
            found[-1] += f",{part}"
        else:
            found.append(part)
    bots = [_bot(word, known) for word in found]
    check_names([bot.name for bot in bots])
    return bots


def _begins(part: str, known: Sequence[str]) -> bool:
    """Whether a part is a bot, and no more of the settings of the bot before it."""
    name, bot = split_bot_word(part)
    return bot.partition(":")[0] in known and name not in BOT_SETTINGS


def _bot(word: str, known: Sequence[str]) -> BuiltinBot:
    bot = split_bot_word(word)[1].partition(":")[0]
    name = bot_name_in(word)
    if bot not in known or bot == "human":
        there = ", ".join(one for one in known if one != "human")
        raise UsageFault(f"there is no house bot {bot!r}: one of {there}; {RIGHT}")
    return BuiltinBot(name=name, command=reference_command(reference_spec(word)))


OPEN = "random,greedy,perfect,alphabeta:nodes=2000"
SEEKING = "minimax:depth=2,theory=perfect,rookie=random,lucky=random,ga:nodes=500"
"""One for each game. Most need no warm-up, and begin at once."""
PACE = ("--min-move-time", "0.7")
"""So that people can follow."""


def demo_bots() -> list[BuiltinBot]:
    """The bots of a demo."""
    pairs = zip(NAMES, house_bots(SEEKING), strict=False)  # a game without one is still played by those that are open
    seeking = [bot.with_options("--game", game, *PACE) for game, bot in pairs]
    return [bot.with_options("--open", *PACE) for bot in house_bots(OPEN)] + seeking
