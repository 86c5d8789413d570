"""What a demo shows: open bots for every game, and for each game one that seeks as soon as its last match is over."""

from __future__ import annotations

from arena.builtin_bots.specs import BuiltinBot, house_bots
from protocol.games import NAMES

OPEN = "random,greedy,perfect,alphabeta:nodes=2000"
SEEKING = "minimax:depth=2,theory=perfect,rookie=random,lucky=random,ga:nodes=500"
"""One for each game. Most need no warm-up, and begin at once."""
PACE = ("--pace", "0.7")
"""So that people can follow."""


def demo_bots() -> list[BuiltinBot]:
    """The bots of a demo."""
    pairs = zip(NAMES, house_bots(SEEKING), strict=False)  # a game without one is still played by those that are open
    seeking = [bot.with_options("--game", game, *PACE) for game, bot in pairs]
    return [bot.with_options("--open", *PACE) for bot in house_bots(OPEN)] + seeking
