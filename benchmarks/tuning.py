"""Measure games per second of one generation of every preset of `arena-bot tune`, with one and with two workers.

Prints the ratio. Takes about five minutes on a machine with two idle cores. Only playing is timed: the workers are
running and have loaded the code. With the address of a Dask scheduler its workers are measured as well.

`python benchmarks/tuning.py [ADDRESS]`
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice

from bots.tuning.genetic import first_genes, schedule
from bots.tuning.presets import PRESETS, Preset
from bots.tuning.selfplay import Seats, play_adjusted, play_all
from bots.tuning.tuning import value_name
from machine.workers.cluster import cluster
from machine.workers.local import IN_FLIGHT, WorkerPool, processes, spread
from protocol import VERSION

Play = Callable[[Sequence[Seats]], list[float]]

SEED = "benchmark"
SECONDS = 20.0
"""Minimum seconds that each pool plays: whole generations, or the first games of a slow one."""
PROBE = 20
"""The number of games played to estimate the time of one."""
ROW = "{:<9}{:<15}{:>7}  {:<12}{:>10}{:>9}"


def main() -> None:
    with ExitStack() as stack:
        crews = {f"jobs {jobs}": stack.enter_context(processes(jobs)) for jobs in (1, 2)}
        for address in sys.argv[1:2]:
            crew = stack.enter_context(cluster(address))
            crews[f"dask, {crew.size}"] = crew
        print(ROW.format("preset", "game", "games", "workers", "games/s", "ratio"))
        for name, games in PRESETS.items():
            for game, preset in games.items():
                report(name, game, preset, crews)


def report(name: str, game: str, preset: Preset, crews: Mapping[str, WorkerPool]) -> None:
    """Print a line for each pool; the ratio is to the first."""
    value = value_name(*preset)
    play: Play = partial(play_all, preset.setup, version=VERSION)
    if value is not None:
        play = partial(play_adjusted, preset.setup, version=VERSION, value=value)
    games = generation(preset)
    for crew in crews.values():
        warm_up(crew, play, games)
    games = games[: enough(next(iter(crews.values())), play, games)]
    played, spent = 0, dict.fromkeys(crews, 0.0)
    while min(spent.values()) < SECONDS:
        played += len(games)
        for label, crew in crews.items():
            spent[label] += seconds(crew, play, games)
    first = next(iter(spent.values()))
    for label, time_spent in spent.items():
        row = name, game, len(games), label, f"{played / time_spent:,.1f}", f"{first / time_spent:.2f}x"
        print(ROW.format(*row), flush=True)


def generation(preset: Preset) -> list[Seats]:
    genes = first_genes(preset.method, SEED)
    return [Seats(genes[m.first], genes[m.second], m.start, m.dice) for m in schedule(preset.method, SEED, 1)]


def warm_up(crew: WorkerPool, play: Play, games: Sequence[Seats]) -> None:
    """Run as many tasks as are in flight at once: while one worker loads the code, the others get their tasks."""
    for _ in crew.run(play, ([game] for game in islice(games, IN_FLIGHT * crew.size))):
        pass


def enough(crew: WorkerPool, play: Play, games: Sequence[Seats]) -> int:
    """Return how many games keep this pool playing for `SECONDS`, at most all."""
    few = games[:PROBE]
    return min(len(games), max(PROBE, int(len(few) * SECONDS / seconds(crew, play, few))))


def seconds(crew: WorkerPool, play: Play, games: Sequence[Seats]) -> float:
    begin = time.perf_counter()
    scores = sum(1 for _ in spread(crew, play, games))
    assert scores == len(games)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
