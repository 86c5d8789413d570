"""`arena replay grade`: every move of a solved game beside the best one, and what it gave away."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from arena.commands.replay import load
from arena.commands.tables import counted
from arena.referee import reading
from arena.referee.record import Ply, Record
from arena.referee.redo import replay
from protocol.errors import UsageFault
from protocol.games.base import NO_DICE, Game
from protocol.games.grundy import Grundy
from protocol.games.nim import Nim
from protocol.games.risk.duel import Duel
from protocol.messages import CHANCE, Event


class Verdict(NamedTuple):
    """What the move played was worth to its seat, and a best move: expected results, win 1, draw 0, loss −1."""

    value: float
    best: Any
    best_value: float


class Graded(msgspec.Struct, frozen=True, kw_only=True):
    """A move as `--json` tells it. `best` is the move itself where nothing is better; the notations are for people."""

    ply: int
    seat: int
    bot: str
    move: dict[str, Any]
    notation: str
    value: float
    best: dict[str, Any]
    best_notation: str
    best_value: float
    gave_away: float


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """How a seat did: the moves it made and what one gave away on average; None if there was none."""

    seat: int
    bot: str
    moves: int
    mean: float | None


Judge = Callable[[Any, Any], Verdict]
"""The verdict on a legal move in a state."""


def grade(target: str, database: str, *, to_json: bool) -> None:
    """Print what each move of a match gave away, and each seat's mean. Raises `Fault`."""
    name, body = load(target, database)
    record = reading.read(body, name)
    moves = list(graded(record))
    marks = [_mark(record, seat, moves) for seat in range(len(record.header.seats))]
    if to_json:
        header = record.header
        print(
            msgspec.json.encode({"match": header.match, "game": header.game, "moves": moves, "seats": marks}).decode()
        )
    else:
        _print(moves, marks)


def graded(record: Record) -> Iterator[Graded]:
    """Every move of the match. Raises `UsageFault` where its game is not solved, `BadRecord` as `replay` does."""
    judge: Judge | None = None
    before: Any = None
    for line, course in replay(record):
        judge = judge or judge_of(course.game)
        if isinstance(line, Ply) and line.event.out is None and line.event.seat != CHANCE:
            move = course.game.decode_move(line.event.move)
            yield _graded(record, course.game, line.event, move, judge(before, move))
        before = course.state


def judge_of(game: Game[Any, Any]) -> Judge:
    """Who grades `game`. Raises `UsageFault` where nobody can."""
    if isinstance(game, Duel):
        return _judge_of_duel(game)
    if isinstance(game, (Nim, Grundy)):
        return _judge_of_heaps(game)
    raise UsageFault(f"{game.name} is not solved, so its moves have no grades: nim, grundy and risk-duel have")


def _judge_of_duel(game: Duel) -> Judge:
    from machine.exact.duel import EQUAL, load_or_solve

    table = load_or_solve(game.map, game.max_troops)

    def judge(state: Any, move: Any) -> Verdict:
        values = dict(table.move_values(state))
        best, value = max(values, key=values.__getitem__), values[move]
        return Verdict(value, move, value) if value > values[best] - EQUAL else Verdict(value, best, values[best])

    return judge


def _judge_of_heaps(game: Nim | Grundy) -> Judge:
    from machine.exact.heaps import theory_of
    from protocol.games.theory.impartial import outcome

    rule, misere = theory_of(game)

    def worth(state: Any, move: Any) -> float:
        after, _ = game.apply(state, move, NO_DICE)
        return 1.0 if outcome(after.heaps, rule, misere=misere) == "P" else -1.0

    def judge(state: Any, move: Any) -> Verdict:
        value = worth(state, move)
        if value < 0 and outcome(state.heaps, rule, misere=misere) == "N":
            return Verdict(value, next(best for best in game.legal_moves(state) if worth(state, best) > 0), 1.0)
        return Verdict(value, move, value)

    return judge


def _graded(record: Record, game: Game[Any, Any], event: Event, move: Any, verdict: Verdict) -> Graded:
    return Graded(
        ply=event.ply,
        seat=event.seat,
        bot=record.header.seats[event.seat].bot,
        move=game.encode_move(move),
        notation=game.notation(move),
        value=verdict.value,
        best=game.encode_move(verdict.best),
        best_notation=game.notation(verdict.best),
        best_value=verdict.best_value,
        gave_away=verdict.best_value - verdict.value,
    )


def _mark(record: Record, seat: int, moves: list[Graded]) -> Mark:
    lost = [move.gave_away for move in moves if move.seat == seat]
    mean = sum(lost) / len(lost) if lost else None
    return Mark(seat=seat, bot=record.header.seats[seat].bot, moves=len(lost), mean=mean)


def _print(moves: list[Graded], marks: list[Mark]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 80, highlight=False)
    table = Table(box=None, pad_edge=False)
    for column in ("ply", "bot", "move", "value", "better", "value", "gave away"):
        table.add_column(column, justify="right" if column in ("ply", "value", "gave away") else "left")
    for move in moves:
        better = ("", "", "")
        if move.gave_away:
            better = (move.best_notation, f"{move.best_value:+.3f}", f"{move.gave_away:.3f}")
        table.add_row(str(move.ply), Text(move.bot), Text(move.notation), f"{move.value:+.3f}", *map(Text, better))
    console.print(table)
    for mark in marks:
        told = "no moves" if mark.mean is None else f"{counted(mark.moves, 'move', 'moves')}, each gave away"
        mean = "" if mark.mean is None else f" {mark.mean:.4f} on average"
        console.print(f"seat {mark.seat}  {mark.bot}: {told}{mean}", markup=False)
