"""`arena replay grade`: every move of a match beside the best one, or what a bot's moves cost by kind of position."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import TypeVar

from rich.progress import track
from rich.table import Table

from arena.commands.output import columns, counted, print_document, print_line, table
from arena.commands.replay import load, read, stored_record
from arena.replay import grading
from arena.replay.grading import Costs, Graded, Grades, position_costs
from arena.replay.luck_report import format_signed, luck_by_move, luck_summary
from arena.store.registry import is_known_bot
from arena.store.result_queries import iter_results
from arena.store.store import Store
from machine.console import Console
from machine.terminal import say
from protocol.display import printable
from protocol.errors import UsageFault
from protocol.games import game_class
from protocol.reasons import VOID
from referee import record_reader
from referee.record import Record
from referee.result import Result

T = TypeVar("T")
SIMS = 2000
"""Simulations a move where nobody says."""
LIMIT = 20
"""Matches of a bot where nobody says."""

TELL_AFTER, TELL_AGAIN = 5.0, 30.0
"""Seconds."""


def grade(target: str, database: str, *, to_json: bool, value: str | None = None, sims: int | None = None) -> None:
    """Print what each move of a match gave away, each seat's mean, and the luck of it. Raises `Fault`."""
    name, body = load(target, database)
    record = read(name, body)

    def told(moves: Iterator[Graded]) -> Iterable[Graded]:
        return _tracked(moves, len(record.lines), f"the moves of {record.header.match}")

    report = grading.grade(record, value, sims=SIMS if sims is None else sims, told=told)
    if to_json:
        print_line(report)
    else:
        print_grades(report)


def grade_bot(
    database: str, bot: str, game: str | None, limit: int | None, *, to_json: bool, sims: int | None = None
) -> None:
    """Print what the moves of a bot cost it in its newest matches, by kind of position. Raises `Fault`."""
    if limit is not None and limit < 1:
        raise UsageFault(f"--limit is {limit}: it is 1 or more")
    if game is not None:
        game_class(game)
    with closing(Store.open(database, create=False)) as store:
        if not store.read(is_known_bot, bot):
            raise UsageFault(f"there is no bot called {bot}: `arena bot list` names them")
        results = [
            result for result in store.iterate(iter_results, bot, game, limit=limit or LIMIT) if result.reason != VOID
        ]
        removed: list[str] = []
        tracked = _tracked(_records(store, results, removed), len(results), f"the matches of {bot}")
        report = position_costs(bot, tracked, SIMS if sims is None else sims)
    if removed:
        without = counted(len(removed), f"match of {bot} has", f"matches of {bot} have")
        say(f"arena: {without} no record any more", err=True)
    if to_json:
        print_document(report)
    else:
        _print_costs(bot, report)


def _records(store: Store, results: Iterable[Result], removed: list[str]) -> Iterator[Record]:
    """Those of matches, where they were not `removed`."""
    for result in results:
        body = stored_record(store, result.match)
        if body is None:
            removed.append(result.match)
        else:
            yield record_reader.read(body, result.match)


def _tracked(things: Iterator[T], count: int, what: str) -> Iterable[T]:
    """The same, with how far it is and the time that is left on standard error: a bar at a terminal, else lines."""
    console = Console(stderr=True)
    if console.is_terminal:
        return track(things, f"grading {what}", total=count, console=console, transient=True)
    return _told_now_and_then(things, count, what)


def _told_now_and_then(things: Iterator[T], count: int, what: str) -> Iterator[T]:
    began = time.monotonic()
    due = began + TELL_AFTER
    for done, thing in enumerate(things):
        yield thing
        now = time.monotonic()
        if now >= due:
            left = (now - began) / (done + 1) * (count - done - 1)
            say(f"arena: grading {what}: {done + 1} of {count}, some {left:.0f} s left", err=True)
            due = now + TELL_AGAIN


def _print_costs(bot: str, report: list[Costs]) -> None:
    if not report:
        say(f"no match of {bot} can be graded")
    for number, costs in enumerate(report):
        games = counted(costs.matches, "match", "matches")
        moves = f"{counted(costs.exact + costs.estimated, 'move', 'moves')} in {games}"
        mean = "" if costs.mean is None else f", each gave away {costs.mean:z.4f} on average"
        say(f"{'' if number == 0 else chr(10)}{costs.game}, {costs.bot}: {moves}{mean}")
        if costs.estimated:
            say(f"{costs.estimated} of them estimated: {said_of(costs.estimate, costs.noise)}")
        headers = ("told apart by", "kind of position", "moves", "each gave away", "of all")
        rows = [
            (
                *(row.by, row.kind, row.moves, f"{row.mean:z.4f}"),
                "" if row.share is None else f"{100 * row.share:z.0f} %",
            )
            for row in costs.kinds
        ]
        say(table(headers, rows, elastic=1, left=(0,), width=columns()))


def said_of(estimate: str | None, noise: float | None) -> str:
    """What an estimate is by, and how far to trust it."""
    return f"{estimate}" + ("" if noise is None else f"; a single loss under {noise:.3f} is noise")


def print_grades(report: Grades) -> None:
    """Print them, within the columns of a terminal where there is one."""

    console = Console(width=columns())
    grid = Table(box=None, pad_edge=False)
    luck = luck_by_move(report.luck)
    for column in ("ply", "bot", "move", *(["luck"] if luck else []), "value", "better", "value", "gave away"):
        grid.add_column(column, justify="left" if column in ("bot", "move", "better") else "right")
    for move in report.moves:
        given = luck.get((move.ply, move.seat))
        gave = [] if not luck else [""] if given is None else [format_signed(given)]
        better = ("", "", "")
        if move.gave_away:
            better = (move.best_notation, format_signed(move.best_value), f"{move.gave_away:z.3f}")
        cells = (str(move.ply), move.bot, move.notation, *gave, format_signed(move.value), *better)
        grid.add_row(*map(printable, cells))
    console.print(grid)
    console.print(
        "values are expected results, -1 to +1" + ("; luck is in points, 0 to 1: half as much" if luck else "")
    )
    if report.estimate:
        console.print(f"estimate: {said_of(report.estimate, report.noise)}")
    for mark in report.seats:
        told = "no moves" if mark.mean is None else f"{counted(mark.moves, 'move', 'moves')}, each gave away"
        mean = "" if mark.mean is None else f" {mark.mean:z.4f} on average"
        console.print(f"seat {mark.seat}  {mark.bot}: {told}{mean}")
    if report.luck and luck:
        console.print(luck_summary(report.luck, [mark.bot for mark in report.seats]))
