"""Warms up bots before they play. If several processes start together, only the first one compiles code."""

from __future__ import annotations

import contextlib
import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bots.client.bot import Bot
from machine import file_lock
from machine.backoff import Backoff, Retry
from machine.cache import cache_folder
from machine.terminal import say
from protocol.bot_launch import WARMUP_SUFFIX
from protocol.errors import Fault, UsageFault
from protocol.games.base import Game

LOCK_TIMEOUT_S = 120.0
"""Seconds to wait until the first process has warmed up. It may never finish, so this is less than a tournament waits
for a bot."""
LOCK_POLL_INTERVAL_S = 0.02
"""Seconds between two tries to take the lock for a warm-up."""
SLOW_NOTICE_DELAY_S = 1.0
"""Seconds after which a line tells the user that a warm-up is in progress."""


def warm_up(bot: Bot, game: Game[Any, Any] | None) -> None:
    """Call the bot's `warm_up`, if its class defines one. `warm_up_once` makes other processes with the same warm-up
    wait.
    """
    work = type(bot).warm_up
    if work is not Bot.warm_up:
        with warm_up_once(bot.name, game, work):
            bot.warm_up(game)


def warm_up_bot(bot: Bot, game: Game[Any, Any]) -> None:
    """Warm up a bot for a game. Raise `UsageFault` if that fails."""
    try:
        warm_up(bot, game)
    except Fault:
        raise
    except Exception as exc:
        raise UsageFault(f"{bot.name}: its warm_up failed for {game.name}: {exc!r}") from exc


@contextlib.contextmanager
def warm_up_once(name: str, game: Game[Any, Any] | None, work: Callable[..., object]) -> Iterator[None]:
    """Make other processes that begin the same warm-up wait while the caller warms up in this context. Warm-ups are the
    same if they have the same function `work` and the same game.

    If several processes of this user begin together, the first runs alone for up to `LOCK_TIMEOUT_S`. Then the others
    run in parallel and find its compiled code. If the wait and the warm-up together take longer than
    `SLOW_NOTICE_DELAY_S`, a line on standard error says so.
    """
    what = "" if game is None else f" for {game.name}"
    line = f"{name}{WARMUP_SUFFIX}{what}; the first time code may be compiled, which takes up to half a minute…"
    with _report_if_slow(line), _hold_lock(lock_path(work, game)):
        yield


def lock_path(work: Callable[..., object], game: Game[Any, Any] | None) -> Path:
    """Return the path of the file, in the user's cache, that a process locks while it warms up for a game by the
    function `work`.
    """
    file = getattr(sys.modules.get(work.__module__), "__file__", "")
    what = f"{file} {work.__qualname__} {'' if game is None else game.name}"
    number = hashlib.sha256(what.encode()).hexdigest()[:4]  # limits the number of such files
    return cache_folder() / "warm-up" / f"{number}.lock"


@contextlib.contextmanager
def _report_if_slow(line: str) -> Iterator[None]:
    """Print `line` if the body of this context takes longer than `SLOW_NOTICE_DELAY_S`."""
    timer = threading.Timer(SLOW_NOTICE_DELAY_S, say, [line], {"err": True})
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


@contextlib.contextmanager
def _hold_lock(path: Path) -> Iterator[None]:
    """Hold the lock during the body of this context. If it can't be taken, go on without it, which only costs time."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            _take_lock(held.enter_context(path.open("a")).fileno())
        yield


def _take_lock(file: int) -> None:
    """Lock the file for this process alone if it is free. If not, wait until it is, and share it with all processes
    that waited. Give up after `LOCK_TIMEOUT_S`. The lock is released when the file is closed or the process ends.
    """
    with contextlib.suppress(BlockingIOError):
        file_lock.lock(file, wait=False)
        return
    with contextlib.suppress(BlockingIOError):
        retry = Retry(BlockingIOError, Backoff(LOCK_POLL_INTERVAL_S), LOCK_TIMEOUT_S)
        retry.run_blocking(partial(file_lock.lock, file, shared=True, wait=False))
