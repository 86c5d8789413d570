"""What workers do for `arena replay rerun`: have a bot follow a record, and play on from where it does otherwise."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from contextlib import redirect_stdout
from functools import lru_cache, partial
from typing import Any, NamedTuple

from msgspec.json import decode, encode

from arena.replay.rerun import Continuation, Followed, follow, go_on
from arena.replay.rerun_worth import ENOUGH_ALIKE, FirstDifference, all_alike, described
from arena.replay.verify import verify
from arena.tournament.in_process import players_of
from machine.terminal import say
from machine.workers.local import processes
from measuring.value_registry import value_of
from protocol.bot_launch import BotSpec
from protocol.games import rules_of
from protocol.games.base import Game
from referee import record_reader
from referee.in_process import InProcess


class Task(NamedTuple):
    """A seat of a record in which the `new` bots put theirs, and the numbers of the continuations to be played, from
    one up to another. The `old` ones play on after the recorded move, the new ones where there are none.

    `seeds` are those that the recorded bot's own chance may follow from, the last what it follows from otherwise.
    """

    name: str
    body: bytes
    seat: int
    new: tuple[BotSpec, ...]
    old: tuple[BotSpec, ...] | None
    seeds: tuple[str, ...]
    numbers: tuple[int, int]
    seed: str
    value: str | None


class Reply(NamedTuple):
    """What came of a task: no more than the first continuations where these show that all go the same way."""

    first: FirstDifference
    continuations: list[Continuation]


def perform_all(tasks: Iterable[Task], jobs: int) -> Generator[tuple[int, Reply], None, None]:
    """The replies, each with the number of its task, as they come in: of so many processes, or of this one.

    Raises `BadRecord` and `UsageFault`, and what `WorkerPool.run` raises.
    """
    if jobs == 1:
        yield from enumerate(map(perform, tasks))
        return
    with processes(jobs) as workers:
        yield from workers.run(perform, tasks)


def perform(task: Task) -> Reply:
    """Do it. What bots print goes to standard error. Raises `BadRecord` and `UsageFault`."""
    with redirect_stdout(sys.stderr):
        record = record_reader.read(task.body, task.name)
        game = rules_of(record.header.game, record.header.config)
        new = encode(task.new)
        followed = _followed(new, game, task.body, task.name, task.seat, task.seeds)
        first = described(record.header, task.seat, game, followed)
        found: list[Continuation] = []
        if followed.fork is not None:
            value = value_of(game, task.value)
            on_old, on_new = _players(new if task.old is None else encode(task.old), game), _players(new, game)
            for number in range(*task.numbers):
                found.append(go_on(followed.fork, number, task.seed, on_old, on_new, value))
                if number == ENOUGH_ALIKE - 1 and all_alike(found):
                    break
        return Reply(first, found)


@lru_cache(maxsize=1)
def _followed(
    specs: bytes, game: Game[Any, Any], body: bytes, name: str, seat: int, seeds: tuple[str, ...]
) -> Followed:
    """How far the bot goes along: the same for all tasks of a match."""
    record = record_reader.read(body, name)
    verify(record)
    return follow(record, seat, partial(_players(specs, game).listen, record.header.seats[seat].bot), seeds)


@lru_cache(maxsize=4)
def _players(specs: bytes, game: Game[Any, Any]) -> InProcess:
    """The bots of encoded specs, kept from task to task."""
    return players_of(decode(specs, type=tuple[BotSpec, ...]), game, _say, strict=True)


@lru_cache(maxsize=1000)
def _say(bot: str, line: str) -> None:
    """Tell an author what is to be known, once: it may be the same in every continuation."""
    say(line, err=True)
