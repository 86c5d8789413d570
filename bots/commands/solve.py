"""`arena-bot solve`: solves bounded Risk, which takes long, prints progress and stores the table. Or it solves poker,
and prints the value and the exploitability of the equilibrium.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bots.client.settings import read_config
from bots.commands.output import Json, exit_on_interrupt
from machine.cores import usable_cores, warn_of_excess
from machine.output_file import text_to_stderr, why_not_writable
from machine.terminal import say
from protocol.display import short_repr
from protocol.errors import BadConfig, UnknownGame, UsageFault, os_errors_as

if TYPE_CHECKING:
    from machine.exact.duel import Table
    from machine.exact.duel_file import MappedValues
    from machine.exact.duel_solving import SolvingProgress

_PROGRESS_INTERVAL_S = 5.0
"""Seconds between two progress lines."""
_DEFAULT_ROUNDS = 2000
"""The default number of rounds of the algorithm that solves poker."""
_MAX_ROUNDS = 1_000_000
"""The maximum number of rounds of the algorithm that solves poker."""
_ROUND_BATCH_SIZE = 100
"""The number of rounds of the algorithm that solves poker between two checks whether a progress line is due."""


def solve(
    game: Annotated[str, typer.Argument(metavar="GAME", help="risk-duel, kuhn or leduc.")],
    preset: Annotated[str | None, typer.Option(help="A preset of the game.")] = None,
    config: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A config key of the game.")] = None,
    jobs: Annotated[int | None, typer.Option(help="With risk-duel: threads [one per core].")] = None,
    rounds: Annotated[int | None, typer.Option(help=f"With poker: rounds of CFR+ [{_DEFAULT_ROUNDS:,}].")] = None,
    write: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With poker: write the strategy to this file.")
    ] = None,
    json_: Json = False,
) -> None:
    """Solve bounded Risk (stopped in any way, the same command goes on; a table that is there is checked), or a hand of
    poker.
    """
    from machine.exact.hand_strategies import SOLVED_GAMES as POKER

    if game in POKER:
        if preset is not None or config or jobs is not None:
            raise UsageFault(f"{game} takes only the options --rounds and --write")
        with text_to_stderr(write):
            _solve_hand(game, _DEFAULT_ROUNDS if rounds is None else rounds, write, as_json=json_)
    elif rounds is not None or write is not None:
        raise UsageFault(f"--rounds and --write are for {' and '.join(POKER)}, not for {short_repr(game)}")
    else:
        _solve_duel(game, preset, config or (), jobs, as_json=json_)


def _solve_hand(game: str, rounds: int, file: Path | None, *, as_json: bool) -> None:
    from machine.exact.hand_solving import Solver, exploitability, strategy_value
    from machine.exact.hand_strategies import single_hand, write_table

    if not 1 <= rounds <= _MAX_ROUNDS:
        raise UsageFault(f"--rounds is {rounds}: it must be 1 to {_MAX_ROUNDS:,}")
    if file is not None and (refusal := why_not_writable(file)) is not None:
        raise UsageFault(f"--write {file} can't be written: {refusal}")
    rules, start = single_hand(game)
    solver, began, told = Solver(rules, start), time.monotonic(), time.monotonic()
    with exit_on_interrupt(lambda: "stopped; nothing is written"):
        for done in range(0, rounds, _ROUND_BATCH_SIZE):
            solver.run(min(_ROUND_BATCH_SIZE, rounds - done))
            if (now := time.monotonic()) - told >= _PROGRESS_INTERVAL_S:
                told = now
                say(f"arena-bot: {done + _ROUND_BATCH_SIZE:,} of {rounds:,} rounds", err=True)
    strategy = solver.strategy()
    facts: dict[str, float | int] = {
        "rounds": rounds,
        "value": float(strategy_value(rules, start, strategy)),
        "exploitability": float(exploitability(rules, start, strategy)),
    }
    if file is not None:
        with os_errors_as(UsageFault, f"{file} can't be written"):
            write_table(file, rules, strategy, facts)
    told_facts = {"game": game, "decisions": len(strategy), **facts, "seconds": round(time.monotonic() - began, 3)}
    if as_json:
        say(json.dumps({**told_facts, "file": None if file is None else str(file)}))
        return
    rows = [
        ("solved", f"{rules.title}, {len(strategy)} information sets"),
        ("value", f"{facts['value']:+.6f} chips a hand, for the first mover"),
        ("exploitability", f"{facts['exploitability']:.2g} chips a hand"),
        ("spent", f"{rounds:,} rounds, {told_facts['seconds']:.0f} s"),
        *([] if file is None else [("file", str(file))]),
    ]
    for name, words in rows:
        say(f"{name:<14}  {words}")


def _solve_duel(game: str, preset: str | None, config: Sequence[str], jobs: int | None, *, as_json: bool) -> None:
    from machine.cache import cache_folder
    from machine.exact.duel import load_mapped
    from machine.exact.duel_file import MappedValues
    from machine.exact.duel_shape import MAX_STORED_BOARDS, check_compiled, is_solvable, shape_of
    from protocol.games import load_game
    from protocol.games.risk.duel import Duel
    from protocol.games.risk.maps import MAP_NAMES as MAPS

    if jobs is not None and not 1 <= jobs <= 64:
        raise UsageFault(f"--jobs is {jobs}: it must be 1 to 64")
    if jobs is not None:
        warn_of_excess("--jobs", jobs)
    try:
        rules = load_game(game, read_config(config, preset))
    except UnknownGame as exc:
        where = f"--config map={game}" if game in MAPS else f"--config map=NAME, one of {', '.join(MAPS)}"
        raise UsageFault(f"there is no game {short_repr(game)}; for a map, write risk-duel {where}") from exc
    except BadConfig as exc:
        raise UsageFault(str(exc)) from exc
    if not isinstance(rules, Duel):
        raise UsageFault(f"this command does not solve {game}: give risk-duel, kuhn or leduc")
    check_compiled()
    if not is_solvable(rules.map, rules.max_troops):
        raise UsageFault(
            f"{rules.map.name} with {rules.max_troops} troops has more than {MAX_STORED_BOARDS:,} boards to store"
        )
    folder = cache_folder()
    table = load_mapped(rules.map, rules.max_troops, folder)
    if table is None:
        from machine.exact.duel_solving import solve_mapped

        progress, threads = _Progress(), jobs or usable_cores()
        with exit_on_interrupt(lambda: "stopped; the same command continues"):
            solve_mapped(shape_of(rules.map, rules.max_troops), folder, threads, progress.report)
        table = load_mapped(rules.map, rules.max_troops, folder)
        assert table is not None
    assert isinstance(table.values, MappedValues)
    table.values.check()
    where = f"{rules.map.name}, at most {rules.max_troops} troops"
    _print(where, table.values, table, as_json=as_json)


class _Progress:
    """Prints progress lines of solving bounded Risk on standard error."""

    def __init__(self) -> None:
        self._reported_at = -math.inf
        self._last_change: tuple[float, float] | None = None

    def report(self, progress: SolvingProgress) -> None:
        """Print a line about the current sweep, unless the last line was printed less than an interval ago."""
        from machine.exact.duel_file import WIN_VALUE
        from machine.exact.duel_solving import MAX_FINAL_CHANGE

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


def _print(where: str, values: MappedValues, table: Table, *, as_json: bool) -> None:
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
