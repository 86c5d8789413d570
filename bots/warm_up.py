"""A bot's warm-up before it connects, one process at a time: bots that start together compile the same code once."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bots.bot import Bot
from protocol.cache import cache_folder
from protocol.games.base import Game


def warm_up(bot: Bot, game: Game[Any, Any] | None, lock: Path) -> None:
    """Call the bot's `warm_up`, if it has one, while no other process of this user calls one."""
    if type(bot).warm_up is not Bot.warm_up:
        with _alone(lock):
            bot.warm_up(game)


def default_lock() -> Path:
    """`warm-up.lock` in the user's cache folder."""
    return cache_folder() / "warm-up.lock"


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the lock; where it can't be made, go on without it: that costs time, nothing else."""
    with contextlib.ExitStack() as held:
        if sys.platform != "win32":
            import fcntl

            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                fcntl.flock(held.enter_context(path.open("a")), fcntl.LOCK_EX)
        yield
