"""`arena-bot solve`: a table of bounded Risk that takes long, with what it has come to, and where it is."""

from __future__ import annotations

import json
import math
import os
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from bots.client.settings import read_config
from bots.commands.output import Json, stoppable
from machine.terminal import say
from protocol.display import shown
from protocol.errors import BadConfig, UnknownGame, UsageFault

if TYPE_CHECKING:
    from machine.exact.duel import Table
    from machine.exact.duel_file import MappedValues, Spent

_EVERY = 5.0
"""Seconds between two lines."""


def solve(
    game: Annotated[str, typer.Argument(metavar="GAME", help="risk-duel.")],
    preset: Annotated[str | None, typer.Option(help="A preset of the game.")] = None,
    config: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A config key of the game.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads [one a core].")] = None,
    json_: Json = False,
) -> None:
    """Solve bounded Risk; stopped in any way, the same command goes on. A table that is there is checked."""
    from machine.cache import cache_folder
    from machine.exact.duel import load_mapped
    from machine.exact.duel_file import MappedValues
    from machine.exact.duel_shape import MOST_BOARDS, check_compiled, is_solvable, large_shape_of
    from protocol.games import load
    from protocol.games.risk.duel import Duel
    from protocol.games.risk.maps import NAMES as MAPS

    if jobs is not None and not 1 <= jobs <= 64:
        raise UsageFault(f"--jobs is {jobs}: 1 to 64")
    try:
        rules = load(game, read_config(config or (), preset))
    except UnknownGame as exc:
        where = f"--config map={game}" if game in MAPS else f"--config map=NAME, one of {', '.join(MAPS)}"
        raise UsageFault(f"there is no game {shown(game)}; a map goes with its game: risk-duel {where}") from exc
    except BadConfig as exc:
        raise UsageFault(str(exc)) from exc
    if not isinstance(rules, Duel):
        raise UsageFault(f"{game} is not solved by a table: risk-duel is")
    check_compiled()
    if not is_solvable(rules.map, rules.max_troops):
        raise UsageFault(f"{rules.map.name} with {rules.max_troops} troops has more than {MOST_BOARDS:,} full boards")
    folder = cache_folder()
    table = load_mapped(rules.map, rules.max_troops, folder)
    if table is None:
        from machine.exact.duel_solving import solve_mapped

        progress, threads = _Progress(), jobs or os.cpu_count() or 1
        with stoppable(lambda: "stopped; the same command goes on"):
            solve_mapped(large_shape_of(rules.map, rules.max_troops), folder, threads, progress.tell)
        table = load_mapped(rules.map, rules.max_troops, folder)
        assert table is not None
    assert isinstance(table.values, MappedValues)
    table.values.check()
    where = f"{rules.map.name}, at most {rules.max_troops} troops"
    _print(where, table.values, table, as_json=json_)


class _Progress:
    """Lines on standard error."""

    def __init__(self) -> None:
        self._told = -math.inf
        self._earlier: Spent | None = None

    def tell(self, sweep: Spent) -> None:
        """A line about the sweep, unless one was printed a moment ago."""
        from machine.exact.duel_solving import CLOSE

        now = time.monotonic()
        if now - self._told < _EVERY:
            return
        left = ""
        if self._earlier is not None and 0 < sweep.widest < self._earlier.widest:
            rate = math.log(self._earlier.widest / sweep.widest) / (sweep.seconds - self._earlier.seconds)
            left = f", {timedelta(seconds=round(math.log(sweep.widest / CLOSE) / rate))} left"
        say(f"arena-bot: sweep {sweep.sweeps}, bounds {sweep.widest:.2g} apart, {CLOSE:g} to reach{left}", err=True)
        self._told, self._earlier = now, sweep


def _print(where: str, values: MappedValues, table: Table, *, as_json: bool) -> None:
    size, spent = values.path.stat().st_size, values.spent
    facts = {
        "file": str(values.path),
        "bytes": size,
        "positions": table.positions,
        "error": values.error,
        "value": table.start[0],
        **spent._asdict(),
    }
    if as_json:
        say(json.dumps(facts))
        return
    rows = [
        ("solved", where),
        ("positions", f"{table.positions:,}, kept in {size:,} bytes"),
        ("values", f"off by {values.error:.2g} at most"),
        ("value", f"{table.start[0]:+.6f}, expected result of seat 0, which begins"),
        ("spent", f"{spent.sweeps} sweeps, {spent.seconds:.0f} s, {spent.cpu:.0f} s of processors"),
        ("file", str(values.path)),
    ]
    for name, told in rows:
        say(f"{name:<9}  {told}")
