"""The facts of `arena-bot analyze duel` about bounded Risk on a small map: its value, its openings and best play."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from games.risk.exact.file import MappedValues
from games.risk.exact.shape import shape_of
from games.risk.exact.table import Table, load_mapped, solve
from games.risk.rules.board import Board
from games.risk.rules.duel import DEFAULT_INVASION_TROOPS, Duel, Position
from games.risk.rules.maps import load_map
from machine.cache import cache_folder
from protocol.games.base import NO_DICE

_NEGLIGIBLE_PROBABILITY = 1e-12
"""The probability of an unfinished game below which `compute_best_play` no longer follows the game."""


class BestPlay(NamedTuple):
    """Statistics of games of bounded Risk in which both sides play the first of their best moves.

    - `plies`, `attacks`, `chosen_attacks`: mean numbers per game. A chosen attack is made although a reinforcement is
      legal.
    - `unfinished`: the fraction of games that the limit `max_plies` ends.
    - `positions`: the number of positions that may arise.
    """

    plies: float
    attacks: float
    chosen_attacks: float
    unfinished: float
    positions: int


def duel_facts(board: Board, max_troops: int, table: Table | None = None, *, play: bool = False) -> dict[str, Any]:
    """Return the facts about a map of bounded Risk, ready for JSON, from its exact `table`. Without a table, solve the
    map first.

    A value is the expected result for the seat that makes the move, off by at most `error`. `seconds` is the time to
    solve the map, without compilation; null with a given table. `best_play` is null unless `play`, which takes longer,
    is set.

    Raise `UsageFault` if the map is too large or numba is missing.
    """
    seconds = None
    if table is None:
        solve(load_map("south-america"), DEFAULT_INVASION_TROOPS)  # compiles
        began = time.perf_counter()
        table = solve(board, max_troops)
        seconds = time.perf_counter() - began
    rules = Duel({"map": board.encoded, "max_troops": max_troops})
    empty, _ = rules.initial(NO_DICE)
    first_moves = []
    for told, position in _list_invasions(table, rules, empty):
        replies = [reply for reply, _ in _list_invasions(table, rules, position)]
        first_moves.append({**told, "replies": replies})
    return {
        "map": board.name,
        "max_troops": max_troops,
        "positions": table.positions,
        "value": table.start[0],
        "first_moves": first_moves,
        "best_play": compute_best_play(table, rules)._asdict() if play else None,
        "error": table.values.error,
        "sweeps": table.values.sweeps,
        "seconds": seconds,
    }


class StartValue(NamedTuple):
    """The value of the empty board of bounded Risk for one troop limit `max_troops`.

    The value is the expected result of seat 0, off by at most `error`. `seconds` is the processor time that solving the
    table took; null if the table existed.
    """

    max_troops: int
    positions: int
    value: float
    error: float
    sweeps: int
    seconds: float | None


def solve_curve(board: Board, first: int, last: int) -> Iterator[StartValue]:
    """Yield the value of the empty board for each `max_troops` from `first` to `last` as soon as it is known. The board
    must be solvable with each (`is_solvable`).

    Tables that `arena-bot solve` has stored are read; others are solved on one core and not stored.
    """
    from games.risk.exact.solving import solve_mapped  # with numba, over a second

    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    for max_troops in range(first, last + 1):
        there = table = load_mapped(board, max_troops, folder)
        if table is None:
            with TemporaryDirectory(dir=folder) as passing:
                solve_mapped(shape_of(board, max_troops), Path(passing), 1, lambda step: None)
                table = load_mapped(board, max_troops, Path(passing))
        assert table is not None
        assert isinstance(table.values, MappedValues)
        spent = table.values.stats
        seconds = None if there else round(spent.cpu, 2)
        yield StartValue(max_troops, table.positions, table.start[0], spent.error, spent.sweeps, seconds)


def _list_invasions(table: Table, rules: Duel, position: Position) -> list[tuple[dict[str, Any], Position]]:
    """Return the invasions that are legal in an opening position, each with the position after it, ready for JSON."""
    return [
        (
            {**rules.encode_move(move), "name": rules.notation(move), "value": value},
            rules.outcomes(position, move)[0][1],
        )
        for move, value in table.move_values(position)
    ]


def compute_best_play(table: Table, rules: Duel) -> BestPlay:
    """Return the statistics of best play from the empty board. The longest games, 10^-12 of all, are ignored."""
    import numpy

    places = {rules.initial(NO_DICE)[0]: 0}
    met = list(places)
    steps: list[tuple[int, int, float]] = []
    attacks, chosen = [], []
    for place, position in enumerate(met):
        moves = table.best_moves(position)
        attacks.append(bool(moves) and moves[0].do == "attack")
        chosen.append(attacks[-1] and rules.legal_moves(position)[0].do == "reinforce")
        for chance, result in rules.outcomes(position, moves[0]) if moves else ():
            after = result._replace(at=0)
            if after not in places:
                places[after] = len(met)
                met.append(after)
            steps.append((place, places[after], float(chance)))
    sources, targets, chances = (numpy.array(column) for column in zip(*steps, strict=True))
    going = numpy.bincount(sources, minlength=len(met)) > 0
    share: Any = numpy.zeros(len(met))
    share[0] = 1.0
    lasting, attacked, chose = [1.0], 0.0, 0.0
    while lasting[-1] > _NEGLIGIBLE_PROBABILITY:
        attacked += float(share[attacks].sum())
        chose += float(share[chosen].sum())
        share = numpy.bincount(targets, share[sources] * chances, len(met))
        lasting.append(float(share[going].sum()))
    unfinished = lasting[rules.max_plies] if rules.max_plies < len(lasting) else 0.0
    return BestPlay(sum(lasting), attacked, chose, unfinished, len(met))
