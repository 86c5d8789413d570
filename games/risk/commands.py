"""The commands `arena-bot analyze duel`, and `arena-bot solve` for bounded Risk, which stores an exact table."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bots.client.settings import read_config
from bots.commands.output import Json, exit_on_interrupt, print_table
from bots.commands.solve import SolveOptions
from games.risk.rules.board import Board
from games.risk.rules.duel import Duel
from games.risk.rules.maps import MAP_NAMES, find_map, load_map
from machine.arguments import read_file
from machine.cores import usable_cores, warn_of_excess
from machine.terminal import say
from protocol.display import short_repr
from protocol.errors import BadConfig, UsageFault

if TYPE_CHECKING:
    from games.risk.exact.file import MappedValues
    from games.risk.exact.solving import SolvingProgress
    from games.risk.exact.table import Table

_PROGRESS_INTERVAL_S = 5.0
"""Seconds between two lines that report the progress of solving."""
_SLOW_SOLVE_POSITIONS = 200_000
"""The number of positions from which solving a map takes more than a few seconds."""


def read_map(text: str) -> Board:
    """Return the map that a command-line word names: one of `MAP_NAMES`, or a file, `my.toml` or `@my.toml`.

    Raise `UsageFault` for a word that is neither and for an unreadable file, `BadConfig` for a file that is no map.
    """
    if text in MAP_NAMES:
        return load_map(text)
    if not text.startswith("@") and not text.endswith((".toml", ".json")):
        raise UsageFault(f"there is no map {short_repr(text)}: one of {', '.join(MAP_NAMES)}, or a file like my.toml")
    return find_map(read_file(text.removeprefix("@")))


def analyze_duel(
    map_: Annotated[str, typer.Argument(metavar="MAP", help="A map's name, or a file like my.toml.")],
    max_troops: Annotated[int, typer.Option(help="The cap on a territory's troops, 3 to 100.")] = 10,
    play: Annotated[bool, typer.Option("--best-play", help="Also print how long best play lasts and attacks.")] = False,
    curve: Annotated[
        str | None, typer.Option(metavar="A-B", help="Print only the value, for each cap from A to B.")
    ] = None,
    json_: Json = False,
) -> None:
    """Solve bounded Risk on a small map.

    Prints the value of the empty board and of each first move.
    """
    from games.risk.analysis import duel_facts
    from games.risk.exact.shape import small_shape_of
    from games.risk.exact.table import load_mapped
    from machine.cache import cache_folder

    if not 3 <= max_troops <= 100:
        raise UsageFault(f"--max-troops is {max_troops}: it must be 3 to 100")
    try:
        board = read_map(map_)
    except BadConfig as exc:
        raise UsageFault(str(exc)) from exc
    if curve is not None:
        if play:
            raise UsageFault("--best-play is for one cap: leave out --curve")
        _show_curve(board, curve, as_json=json_)
        return
    table = load_mapped(board, max_troops, cache_folder())
    positions = small_shape_of(board, max_troops).positions if table is None else 0
    if positions > _SLOW_SOLVE_POSITIONS:
        then = ", and more for best play" if play else ""
        say(f"arena-bot: solving {positions:,} positions, up to 20 s per million{then}", err=True)
    facts = duel_facts(board, max_troops, table, play=play)
    if json_:
        say(json.dumps(facts))
    else:
        _print_facts(facts)


def _show_curve(board: Board, range_: str, *, as_json: bool) -> None:
    from games.risk.analysis import solve_curve
    from games.risk.exact.shape import check_compiled, is_solvable

    first, dash, last = range_.partition("-")
    if not (dash and first.isascii() and first.isdigit() and last.isascii() and last.isdigit() and len(range_) <= 7):
        raise UsageFault(f"--curve is {short_repr(range_)}: give two caps, like 3-8")
    if not 3 <= int(first) <= int(last) <= 100:
        raise UsageFault(f"--curve is {range_}: give caps from 3 to 100, the lower one first")
    check_compiled()
    most = max((cap for cap in range(3, int(last) + 1) if is_solvable(board, cap)), default=0)
    if most < int(last):
        would = f"at most {most} are feasible" if most >= int(first) else "the map is too large"
        raise UsageFault(f"{board.name} with {last} troops has too many positions to solve: {would}")
    worth = solve_curve(board, int(first), int(last))
    with exit_on_interrupt(lambda: "stopped"):
        if as_json:
            say(json.dumps({"map": board.name, "curve": [one._asdict() for one in worth]}))
            return
        say(f"{board.name}: the expected result of seat 0, which moves first\n")
        say(f"{'troops':>6}  {'positions':>15}  {'value':>9}  {'off by':>7}  {'sweeps':>6}  {'s':>7}")
        for one in worth:
            spent = "before" if one.seconds is None else f"{one.seconds:.1f}"
            facts = f"{one.value:>+9.6f}  {one.error:>7.1g}  {one.sweeps:>6}  {spent:>7}"
            say(f"{one.max_troops:>6}  {one.positions:>15,}  {facts}")


def _print_facts(facts: dict[str, Any]) -> None:
    play, seconds, error = facts["best_play"], facts["seconds"], facts["error"]
    spent = "before" if seconds is None else f"{seconds:.2f} s"
    rows = [
        ("map", f"{facts['map']}, at most {facts['max_troops']} troops"),
        ("positions", f"{facts['positions']:,} seen from the mover"),
        ("value", f"{facts['value']:+.6f}, expected result of seat 0, which begins"),
        *(
            (move["name"], f"{move['value']:+.6f}, {_best_replies(move['replies'], error)}")
            for move in facts["first_moves"]
        ),
        ("solved", f"{facts['sweeps']} sweeps, {spent}; values off by {error:.1g} at most"),
    ]
    if play is not None:
        chosen = f"{play['chosen_attacks']:.1f} where a reinforcement was legal"
        rows += [
            ("best play", f"{play['plies']:.1f} plies, {play['attacks']:.1f} attacks, {chosen}"),
            ("ply limit", f"{play['unfinished']:.1e} of these games are drawn by it"),
        ]
    print_table(["", ""], rows, header=False)


def _best_replies(replies: Sequence[dict[str, Any]], error: float) -> str:
    from games.risk.exact.table import value_tolerance

    least = max(reply["value"] for reply in replies) - value_tolerance(error)
    names = [reply["name"].removeprefix("invade ") for reply in replies if reply["value"] > least]
    return "then any" if len(names) == len(replies) else f"then {' or '.join(names)}"


def solve_duel(options: SolveOptions) -> None:
    """Compute the exact value of every position of bounded Risk (for two seats, with a troop limit) on a map. Print
    progress, and store the table of values. Raise `UsageFault` if an option is wrong.
    """
    from games.risk.exact.file import MappedValues
    from games.risk.exact.shape import MAX_STORED_BOARDS, check_compiled, is_solvable, shape_of
    from games.risk.exact.table import load_mapped
    from machine.cache import cache_folder

    jobs = options.jobs
    if jobs is not None and not 1 <= jobs <= 64:
        raise UsageFault(f"--jobs is {jobs}: it must be 1 to 64")
    if jobs is not None:
        warn_of_excess("--jobs", jobs)
    try:
        rules = Duel(read_config(options.config, options.preset) or {"preset": next(iter(Duel.presets))})
    except BadConfig as exc:
        raise UsageFault(str(exc)) from exc
    check_compiled()
    if not is_solvable(rules.map, rules.max_troops):
        raise UsageFault(
            f"{rules.map.name} with {rules.max_troops} troops has more than {MAX_STORED_BOARDS:,} boards to store"
        )
    folder = cache_folder()
    table = load_mapped(rules.map, rules.max_troops, folder)
    if table is None:
        from games.risk.exact.solving import solve_mapped

        progress, threads = _Progress(), jobs or usable_cores()
        with exit_on_interrupt(lambda: "stopped; the same command continues"):
            solve_mapped(shape_of(rules.map, rules.max_troops), folder, threads, progress.report)
        table = load_mapped(rules.map, rules.max_troops, folder)
        assert table is not None
    assert isinstance(table.values, MappedValues)
    table.values.check()
    where = f"{rules.map.name}, at most {rules.max_troops} troops"
    _print_solution(where, table.values, table, as_json=options.as_json)


class _Progress:
    """A printer of lines on standard error that report the progress of solving bounded Risk."""

    def __init__(self) -> None:
        self._reported_at = -math.inf
        self._last_change: tuple[float, float] | None = None

    def report(self, progress: SolvingProgress) -> None:
        """Print a line about the current sweep, unless the last line was printed less than an interval ago."""
        from games.risk.exact.file import WIN_VALUE
        from games.risk.exact.solving import MAX_FINAL_CHANGE

        now = time.monotonic()
        if now - self._reported_at < _PROGRESS_INTERVAL_S:
            return
        self._reported_at = now
        if progress.change is None:
            say(f"arena-bot: sweep {progress.sweeps}, proving how close the values are", err=True)
            return
        left, still = "", MAX_FINAL_CHANGE / WIN_VALUE
        if self._last_change is not None and still < progress.change < self._last_change[0]:
            rate = math.log(self._last_change[0] / progress.change) / (progress.seconds - self._last_change[1])
            left = f", {timedelta(seconds=round(math.log(progress.change / still) / rate))} left"
        say(
            f"arena-bot: sweep {progress.sweeps}, values change by {progress.change:.2g}, {still:.0e} to reach{left}",
            err=True,
        )
        self._last_change = progress.change, progress.seconds


def _print_solution(where: str, values: MappedValues, table: Table, *, as_json: bool) -> None:
    size, spent = values.path.stat().st_size, values.stats
    facts = {
        "file": str(values.path),
        "bytes": size,
        "positions": table.positions,
        "value": table.start[0],
        **spent._asdict(),
    }
    if as_json:
        say(json.dumps(facts))
        return
    rows = [
        ("solved", where),
        ("positions", f"{table.positions:,}, stored in {size:,} bytes"),
        ("values", f"off by {values.error:.2g} at most"),
        ("value", f"{table.start[0]:+.6f}, expected result of seat 0, which begins"),
        ("spent", f"{spent.sweeps} sweeps, {spent.seconds:.0f} s, {spent.cpu:.0f} s of processors"),
        ("file", str(values.path)),
    ]
    for name, told in rows:
        say(f"{name:<9}  {told}")
