"""A warm-up before bots play, one process at a time: those that start together compile the same code once."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bots.client.bot import Bot
from machine.cache import cache_folder
from protocol.games.base import Game

PATIENCE = 120.0
"""Seconds to wait for the others: fewer than a tournament waits for a bot, should one of them never be done."""
LOOK_AGAIN = 0.02
SLOW = 1.0
"""Seconds after which a warm-up says that it is one."""


def warm_up(bot: Bot, game: Game[Any, Any] | None, lock: Path) -> None:
    """Call the bot's `warm_up`, if it has one, as `warming_up` has it."""
    if type(bot).warm_up is not Bot.warm_up:
        with warming_up(bot.name, game, lock):
            bot.warm_up(game)


@contextlib.contextmanager
def warming_up(name: str, game: Game[Any, Any] | None, lock: Path) -> Iterator[None]:
    """Warm up inside, while no other process of this user does, or after `PATIENCE`.

    If all that takes longer than `SLOW`, a line on standard error says so.
    """
    what = "" if game is None else f" for {game.name}"
    with _told(f"{name}: warming up{what}, which takes longest the first time…"), _alone(lock):
        yield


def default_lock() -> Path:
    """`warm-up.lock` in the user's cache folder."""
    return cache_folder() / "warm-up.lock"


@contextlib.contextmanager
def _told(line: str) -> Iterator[None]:
    """Print `line` if what is done inside is slow."""
    timer = threading.Timer(SLOW, print, [line], {"file": sys.stderr, "flush": True})
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the lock; where it can't be had, go on without it: that costs time, nothing else."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            _lock(held.enter_context(path.open("a")).fileno())
        yield


def _lock(file: int) -> None:
    """Wait for the lock as long as there is patience; it ends with the file, or the process."""
    if sys.platform != "win32":
        import fcntl

        patient_until = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < patient_until:
                    time.sleep(LOOK_AGAIN)
                    continue
            return
