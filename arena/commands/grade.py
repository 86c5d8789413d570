"""`arena replay grade`: every move of a solved game beside the best one, and what it gave away."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from arena.commands.documents import print_line
from arena.commands.replay import load, read
from arena.commands.tables import columns, counted, say
from arena.replay import grading
from arena.replay.grading import Grades
from arena.replay.luck import by_move, in_all, signed
from protocol.shown import printable


def grade(target: str, database: str, *, to_json: bool, value: str | None = None) -> None:
    """Print what each move of a match gave away, each seat's mean, and the luck of it. Raises `Fault`."""
    name, body = load(target, database)
    report = grading.grade(read(name, body), value)
    if to_json:
        print_line(report)
    else:
        print_grades(report)


def print_grades(report: Grades) -> None:
    """Print them within 80 columns, unless a terminal is wider."""

    def said(text: str) -> Text:
        return Text(printable(text))

    console = Console(width=columns(), highlight=False)
    table = Table(box=None, pad_edge=False)
    luck = by_move(report.luck)
    for column in ("ply", "bot", "move", *(["luck"] if luck else []), "value", "better", "value", "gave away"):
        table.add_column(column, justify="left" if column in ("bot", "move", "better") else "right")
    for move in report.moves:
        given = luck.get((move.ply, move.seat))
        gave = [] if not luck else [""] if given is None else [signed(given)]
        better = ("", "", "")
        if move.gave_away:
            better = (move.best_notation, signed(move.best_value), f"{move.gave_away:.3f}")
        worth = signed(move.value)
        table.add_row(str(move.ply), said(move.bot), said(move.notation), *gave, worth, *map(said, better))
    console.print(table)
    say(
        console, "values are expected results, -1 to +1" + ("; luck is in points, 0 to 1: half as much" if luck else "")
    )
    for mark in report.seats:
        told = "no moves" if mark.mean is None else f"{counted(mark.moves, 'move', 'moves')}, each gave away"
        mean = "" if mark.mean is None else f" {mark.mean:.4f} on average"
        say(console, f"seat {mark.seat}  {mark.bot}: {told}{mean}")
    if report.luck and luck:
        say(console, in_all(report.luck, [mark.bot for mark in report.seats]))
