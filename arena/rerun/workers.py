"""The tasks of the workers of `arena replay rerun`: follow a record with a bot, then play continuations."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Iterable
from contextlib import redirect_stdout
from functools import lru_cache, partial
from typing import Any, NamedTuple

from msgspec.json import decode

from arena.replay.verify import verify_record
from arena.rerun.fork import (
    CONTINUATION_ID_PREFIX,
    BranchPlayers,
    Continuation,
    RecordAgreement,
    follow_record,
    play_continuation,
)
from arena.rerun.worth import FirstDifference, describe_difference
from arena.runs.in_process import make_players
from machine.terminal import say
from machine.workers.local import process_pool
from measuring.value_registry import load_value
from protocol.bot_launch import BotSpec
from protocol.errors import UsageFault
from protocol.games import shared_game
from protocol.games.base import Game
from referee import record_reader
from referee.in_process import InProcessPlayers

EncodedSpecs = bytes
"""The bots of a match by seat, as JSON. Tasks with equal bots share the loaded programs."""


class RerunTask(NamedTuple):
    """A task for a worker: put the `new` bot into a seat of a record, and play a range of continuations.

    The `old` bots continue the match after the recorded move; if `old` is None, the `new` ones do. `seeds` has, for
    each seat, seeds that the recorded bot may have had for its randomness; if none of them fits the record, the last is
    used. `known_seats` are the seats whose programs are believed to be those of the recorded bots.
    """

    name: str
    body: bytes
    seat: int
    new: EncodedSpecs
    old: EncodedSpecs | None
    seeds: tuple[tuple[str, ...], ...]
    known_seats: tuple[int, ...]
    continuation_range: tuple[int, int]
    seed: str
    value: str | None
    bot: str
    """The name of the new bot in messages to its author. In the match, it has the name of the seat's recorded bot."""


class RerunReply(NamedTuple):
    """The result of a task. It has no continuations if the bot repeats the record to the end."""

    first: FirstDifference
    continuations: list[Continuation]


def run_tasks(tasks: Iterable[RerunTask], jobs: int) -> Generator[tuple[int, RerunReply], None, None]:
    """Yield the number and the reply of each task, as replies arrive from `jobs` processes. With one job, this process
    performs the tasks. Raise the errors of `run_task` and of `WorkerPool.run`.
    """
    if jobs == 1:
        yield from enumerate(map(run_task, tasks))
        return
    with process_pool(jobs) as workers:
        yield from workers.run(run_task, tasks)


def run_task(task: RerunTask) -> RerunReply:
    """Perform a task. Output of the bots goes to standard error.

    Raise `BadRecord` if the record is wrong, and `UsageFault` if a bot cannot be made.
    """
    with redirect_stdout(sys.stderr):
        followed, first = _follow_task(task._replace(continuation_range=(0, 0)))
        found: list[Continuation] = []
        if followed.fork is not None:
            game = followed.fork.game
            value = load_value(game, task.value)
            seated = followed.fork.header.seats[task.seat].bot
            new = BranchPlayers(_load_players(task.new, game, seated, task.bot), task.bot)
            old = new if task.old is None else BranchPlayers(_load_players(task.old, game), seated)
            numbers = range(*task.continuation_range)
            found += [play_continuation(followed.fork, number, task.seed, old, new, value) for number in numbers]
        return RerunReply(first, found)


@lru_cache(maxsize=1)
def _follow_task(task: RerunTask) -> tuple[RecordAgreement, FirstDifference]:
    """Follow the record up to the new bot's first different action. Also find the bots in `known_seats` that act
    differently from the record before that.

    The result is cached, because all tasks of a match share it.
    """
    record = record_reader.read_record(task.body, task.name)
    verify_record(record)
    header = record.header
    game = shared_game(header.game, header.config)

    def along(seat: int, players: InProcessPlayers, until: int | None = None) -> RecordAgreement:
        listen = partial(players.join_seat, header.seats[seat].bot)
        return follow_record(record, seat, listen, task.seeds[seat], until)

    new = _load_players(task.new, game, header.seats[task.seat].bot, task.bot)
    followed = along(task.seat, new)
    diverged = {}
    if followed.fork is not None:
        for seat in task.known_seats:
            players = new if task.old is None else _load_players(task.old, game)
            fork = along(seat, players, followed.fork.ply).fork
            if fork is not None:
                diverged[header.seats[seat].bot] = fork.ply
    return followed, describe_difference(header, task.seat, game, followed, diverged)


@lru_cache(maxsize=4)
def _load_players(specs: EncodedSpecs, game: Game[Any, Any], seated: str = "", new: str = "") -> InProcessPlayers:
    """Return the bots of a match, cached from task to task. Messages about the bot that plays under the name `seated`
    call it by its own name `new` first, as in `NEW as SEATED`.
    """

    def tell(bot: str, line: str) -> None:
        line, of_continuation = re.subn(rf"{CONTINUATION_ID_PREFIX}[0-9a-f]+", "a continuation", line)
        if not (of_continuation and " as before: " in line):
            _say(f"{new} as {line}" if bot == seated else line)

    try:
        return make_players(decode(specs, type=list[BotSpec]), game, tell, strict=True)
    except UsageFault as fault:
        if str(fault).startswith((f"{seated} ", f"{seated}: ")):
            raise UsageFault(f"{new} as {fault}") from fault
        raise


@lru_cache(maxsize=1000)
def _say(line: str) -> None:
    """Show the bot's author a message, but only once, because every continuation may repeat it."""
    say(line, err=True)
