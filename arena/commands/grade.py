"""`arena replay grade`: compares a match's moves with the best ones, or sums up a bot's losses by kind of position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager

from msgspec.structs import replace

from arena.commands.kept_estimates import EstimateFile
from arena.commands.output import format_table, print_document, print_line, terminal_columns
from arena.commands.progress import track_progress
from arena.commands.replay import load, read, read_stored_record
from arena.replay import grading
from arena.replay.grading import Costs, Graded, Grades, position_costs
from arena.replay.luck_report import format_signed, luck_by_move, record_luck, summarise_luck
from arena.store.registry import is_known_bot
from arena.store.result_queries import check_game, iter_results
from arena.store.store import Reader, open_to_read
from machine.console import Console
from machine.terminal import say
from measuring.luck import Luck
from protocol.display import escape_unprintable, format_count
from protocol.errors import UsageFault
from protocol.games import payoff_unit
from protocol.names import fold_name
from protocol.reasons import VOID
from referee import record_reader
from referee.record import Record
from referee.replay import iter_moves, replay
from referee.result import Result

DEFAULT_SIMULATIONS = 2000
"""Default number of simulations that estimate a move's value."""
DEFAULT_MATCHES = 20
"""Default number of a bot's newest matches to grade."""
SCALE_NOTE = "values are expected results, -1 to +1: 2.000 given away is a win, which pages show as 100 %"
"""The line that tells users the scale of the values of moves."""


def grade(
    target: str,
    database: str,
    *,
    to_json: bool,
    value: str | None = None,
    sims: int | None = None,
    worst: int | None = None,
) -> None:
    """Print how much worse each move of a match was than the best one, then each seat's mean loss and the luck.

    With `worst`, print only that many moves, the costliest. Raise `Fault` if the match cannot be graded.
    """
    _check_worst(worst, to_json=to_json)
    name, body = load(target, database)
    record = read(name, body)
    luck = record_luck(record, value)
    rows = MoveTable(record, luck)

    def told(moves: Iterator[Graded]) -> Iterable[Graded]:
        if to_json or worst is not None:
            return track_progress(moves, len(record.lines), f"grading the moves of {record.header.match}")
        return rows.print_as_graded(moves)

    with _resumable_hint():
        report = grading.grade_match(
            record,
            sims=DEFAULT_SIMULATIONS if sims is None else sims,
            with_luck=False,
            on_moves=told,
            open_cache=EstimateFile,
        )
    report = replace(report, luck=luck)
    if to_json:
        print_line(report)
        return
    if worst is not None:
        found = _find_worst(report.moves, worst)
        if found:
            for _ in rows.print_as_graded(iter(found)):
                pass
        else:
            say("no move gave anything away")
    print_summary(report)


def grade_bot(
    database: str,
    bot: str,
    game: str | None,
    limit: int | None,
    *,
    to_json: bool,
    sims: int | None = None,
    worst: int | None = None,
) -> None:
    """Print a bot's losses by moves worse than the best one, in its newest matches, by kind of position.

    With `worst`, print instead that many moves, those with the largest losses. Raise `Fault` if the bot is unknown.
    """
    _check_worst(worst, to_json=to_json)
    if limit is not None and limit < 1:
        raise UsageFault(f"--limit is {limit}: it is 1 or more")
    with closing(open_to_read(database)) as reader:
        if game is not None:
            reader.read(check_game, game)
        if not reader.read(is_known_bot, bot):
            raise UsageFault(f"there is no bot called {bot}: `arena bot list` names them")
        results = [
            result
            for result in reader.iterate(iter_results, bot, game, limit=limit or DEFAULT_MATCHES)
            if result.reason != VOID
        ]
        removed: list[str] = []
        records = track_progress(_records(reader, results, bot, removed), len(results), f"grading the matches of {bot}")
        graded: list[Grades] = []
        with _resumable_hint():
            report = position_costs(
                bot,
                records,
                DEFAULT_SIMULATIONS if sims is None else sims,
                on_grades=graded.append,
                open_cache=EstimateFile,
            )
    if removed:
        without = format_count(len(removed), f"match of {bot} has", f"matches of {bot} have")
        say(f"arena: {without} no record any more", err=True)
    if to_json:
        print_document(report)
    elif worst is not None:
        _print_worst(bot, graded, worst)
    else:
        _print_costs(bot, report)


def _records(reader: Reader, results: Iterable[Result], bot: str, removed: list[str]) -> Iterator[tuple[Record, int]]:
    """Yield the record of each match, with the bot's seat. Append the ids of matches without a record to `removed`."""
    for result in results:
        body = read_stored_record(reader, result.match)
        if body is None:
            removed.append(result.match)
        else:
            seat = next(at for at, each in enumerate(result.seats) if fold_name(each.bot) == fold_name(bot))
            yield record_reader.read_record(body, result.match), seat


def _print_costs(bot: str, report: list[Costs]) -> None:
    if not report:
        say(f"no match of {bot} can be graded: none is of a game that is solved, or that searches estimate")
        return
    for number, costs in enumerate(report):
        games = format_count(costs.matches, "match", "matches")
        moves = f"{format_count(costs.exact + costs.estimated, 'move', 'moves')} in {games}"
        unit = f" {costs.unit}" if costs.unit else ""
        mean = "" if costs.mean is None else f", each gave away {costs.mean:z.4f}{unit} on average"
        say(f"{'' if number == 0 else chr(10)}{costs.game}, {costs.bot}: {moves}{mean}")
        if costs.estimated:
            say(f"{costs.estimated} of them estimated: {describe_estimate(costs.estimate, costs.noise)}")
        headers = ("told apart by", "kind of position", "moves", "each gave away", "of all")
        rows = [
            (
                *(row.by, row.kind, row.moves, f"{row.mean:z.4f}"),
                "" if row.share is None else f"{100 * row.share:z.0f} %",
            )
            for row in costs.kinds
        ]
        if rows:
            say(format_table(headers, rows, wrapped_column=1, left_columns=(0,), width=terminal_columns()))
    if any(costs.unit is None for costs in report):
        say(f"\n{SCALE_NOTE}")


def describe_estimate(estimate: str | None, noise: float | None) -> str:
    """Return in words how moves were valued, and below which size the loss of a single move may be noise."""
    return f"{estimate}" + ("" if noise is None else f"; a single loss under {noise:.3f} is noise")


def print_summary(grades: Grades) -> None:
    """Print the method, each seat's mean loss and the luck of a graded match, wrapped to the terminal's width."""
    console = Console(width=terminal_columns())
    luck = luck_by_move(grades.luck)
    if grades.unit:
        console.print(
            f"values are what the seat is expected to win of the {payoff_unit(grades.game)}, in {grades.unit}"
        )
    else:
        console.print(SCALE_NOTE)
        if luck:
            console.print("luck is in points, 0 to 1: half as much")
    if grades.estimate:
        console.print(f"estimate: {describe_estimate(grades.estimate, grades.noise)}")
    unit = f" {grades.unit}" if grades.unit else ""
    for mark in grades.seats:
        told = "no moves" if mark.mean is None else f"{format_count(mark.moves, 'move', 'moves')}, each gave away"
        mean = "" if mark.mean is None else f" {mark.mean:z.4f}{unit} on average"
        console.print(f"seat {mark.seat}  {mark.bot}: {told}{mean}")
    if grades.luck and grades.luck.events:
        console.print(summarise_luck(grades.luck, [mark.bot for mark in grades.seats]))


class MoveTable:
    """A table of a match's graded moves that is printed row by row, in columns whose widths are fixed beforehand."""

    def __init__(self, record: Record, luck: Luck | None) -> None:
        self._luck = luck_by_move(luck)
        lines = replay(record)
        _, course = next(lines)
        notations = [len(course.game.notation(moved.move)) for moved in iter_moves(course, lines)]
        bots = [len(seat.bot) for seat in record.header.seats]
        move = max([4, *notations])
        self._widths = [-4, max([3, *bots]), move, *([-6] if self._luck else []), -6, move, -6, -9]
        """The width of each column; negative if the column is aligned right."""

    def print_as_graded(self, moves: Iterator[Graded]) -> Iterator[Graded]:
        """Print the column headers, then yield each move after printing its row."""
        self._print("ply", "bot", "move", *(["luck"] if self._luck else []), "value", "better", "value", "gave away")
        for move in moves:
            given = self._luck.get((move.ply, move.seat))
            gave = [] if not self._luck else [""] if given is None else [format_signed(given)]
            better = ("", "", "")
            if move.gave_away:
                better = (move.best_notation, format_signed(move.best_value), f"{move.gave_away:z.3f}")
            self._print(str(move.ply), move.bot, move.notation, *gave, format_signed(move.value), *better)
            yield move

    def _print(self, *cells: str) -> None:
        aligned = (
            cell.rjust(-width) if width < 0 else cell.ljust(width)
            for cell, width in zip(map(escape_unprintable, cells), self._widths, strict=True)
        )
        say("  ".join(aligned).rstrip(), flush=True)


def _find_worst(moves: Iterable[Graded], count: int) -> list[Graded]:
    return sorted((move for move in moves if move.gave_away > 0), key=lambda move: -move.gave_away)[:count]


def _print_worst(bot: str, graded: Iterable[Grades], many: int) -> None:
    found = [(move, report) for report in graded for move in report.moves if move.gave_away > 0]
    found = sorted(found, key=lambda one: -one[0].gave_away)[:many]
    if not found:
        say(f"no move of {bot} gave anything away")
        return
    headers = ("match", "ply", "move", "better", "gave away")
    rows = [
        (
            report.match,
            move.ply,
            move.notation,
            move.best_notation,
            " ".join([f"{move.gave_away:z.3f}", *_unit(report)]),
        )
        for move, report in found
    ]
    say(format_table(headers, rows, wrapped_column=2, left_columns=(0, 3), width=terminal_columns()))
    if not all(report.unit for _, report in found):
        say(SCALE_NOTE)
    say(f"`arena replay show {found[0][1].match} --boards` shows the match of the first")


def _unit(grades: Grades) -> list[str]:
    return [grades.unit] if grades.unit else []


def _check_worst(worst: int | None, *, to_json: bool) -> None:
    if worst is not None and worst < 1:
        raise UsageFault(f"--worst is {worst}: it is 1 or more")
    if worst is not None and to_json:
        raise UsageFault("--worst and --json: choose one; JSON has what every move gave away")


@contextmanager
def _resumable_hint() -> Iterator[None]:
    """If Ctrl-C ends the context, print that the estimates so far are kept."""
    try:
        yield
    except KeyboardInterrupt:
        say("arena: stopped; the estimates so far are kept, the same command goes on", err=True)
        raise
