"""The tasks of the workers of `arena replay rerun`: follow a record with a bot, then play continuations."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Iterable
from contextlib import redirect_stdout
from functools import lru_cache, partial
from typing import Any, NamedTuple

from msgspec.json import decode

from arena.replay.verify import verify
from arena.rerun.fork import CONTINUATION, Continuation, Followed, Side, follow, go_on
from arena.rerun.worth import FirstDifference, described
from arena.tournament.in_process import players_of
from machine.terminal import say
from machine.workers.local import processes
from measuring.value_registry import value_of
from protocol.bot_launch import BotSpec
from protocol.errors import UsageFault
from protocol.games import rules_of
from protocol.games.base import Game
from referee import record_reader
from referee.in_process import InProcess

Specs = bytes
"""The bots of a table by seat, as JSON, so that tasks with the same bots share them."""


class Task(NamedTuple):
    """A seat of a record for the `new` bots to take, and the range of continuations to play.

    The `old` bots play on after the recorded move; if None, the new ones do. `seeds` has for each seat the seeds from
    which the recorded bot's randomness may derive; the last is the fallback. In the `known` seats, the programs are
    believed to be the recorded bots'.
    """

    name: str
    body: bytes
    seat: int
    new: Specs
    old: Specs | None
    seeds: tuple[tuple[str, ...], ...]
    known: tuple[int, ...]
    numbers: tuple[int, int]
    seed: str
    value: str | None
    bot: str
    """The name of the new bot to its author, instead of that of the seat."""


class Reply(NamedTuple):
    """The result of a task; without continuations if the bot repeats the record to the end."""

    first: FirstDifference
    continuations: list[Continuation]


def perform_all(tasks: Iterable[Task], jobs: int) -> Generator[tuple[int, Reply], None, None]:
    """Yield the replies with the numbers of their tasks, as they arrive from `jobs` processes. With one job, it runs in
    this process. Raises `BadRecord` and `UsageFault`, and what `WorkerPool.run` raises.
    """
    if jobs == 1:
        yield from enumerate(map(perform, tasks))
        return
    with processes(jobs) as workers:
        yield from workers.run(perform, tasks)


def perform(task: Task) -> Reply:
    """Perform a task. Output of bots goes to standard error. Raises `BadRecord` and `UsageFault`."""
    with redirect_stdout(sys.stderr):
        followed, first = _followed(task._replace(numbers=(0, 0)))
        found: list[Continuation] = []
        if followed.fork is not None:
            game = followed.fork.game
            value = value_of(game, task.value)
            seated = followed.fork.header.seats[task.seat].bot
            new = Side(_players(task.new, game, seated, task.bot), task.bot)
            old = new if task.old is None else Side(_players(task.old, game), seated)
            numbers = range(*task.numbers)
            found += [go_on(followed.fork, number, task.seed, old, new, value) for number in numbers]
        return Reply(first, found)


@lru_cache(maxsize=1)
def _followed(task: Task) -> tuple[Followed, FirstDifference]:
    """Follow the record to the first difference, and find the known bots that differ from it before. Cached, because it
    is the same for all tasks of a match.
    """
    record = record_reader.read(task.body, task.name)
    verify(record)
    header = record.header
    game = rules_of(header.game, header.config)

    def along(seat: int, players: InProcess, until: int | None = None) -> Followed:
        listen = partial(players.listen, header.seats[seat].bot)
        return follow(record, seat, listen, task.seeds[seat], until)

    new = _players(task.new, game, header.seats[task.seat].bot, task.bot)
    followed = along(task.seat, new)
    diverged = {}
    if followed.fork is not None:
        for seat in task.known:
            players = new if task.old is None else _players(task.old, game)
            fork = along(seat, players, followed.fork.ply).fork
            if fork is not None:
                diverged[header.seats[seat].bot] = fork.ply
    return followed, described(header, task.seat, game, followed, diverged)


@lru_cache(maxsize=4)
def _players(specs: Specs, game: Game[Any, Any], seated: str = "", new: str = "") -> InProcess:
    """Return the bots of a table, cached from task to task. Messages about the bot `seated` name it `new`."""

    def tell(bot: str, line: str) -> None:
        line, of_continuation = re.subn(rf"{CONTINUATION}[0-9a-f]+", "a continuation", line)
        if not (of_continuation and " as before: " in line):
            _say(f"{new} as {line}" if bot == seated else line)

    try:
        return players_of(decode(specs, type=list[BotSpec]), game, tell, strict=True)
    except UsageFault as fault:
        if str(fault).startswith((f"{seated} ", f"{seated}: ")):
            raise UsageFault(f"{new} as {fault}") from fault
        raise


@lru_cache(maxsize=1000)
def _say(line: str) -> None:
    """Show an author a message, but only once: it may repeat in every continuation."""
    say(line, err=True)
