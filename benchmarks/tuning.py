"""Measure games per second in one generation of every preset of `arena-bot tune`, with one worker and with two.

The program prints the ratio of the two. It takes about five minutes on a machine with two idle cores. Only playing is
timed: the workers have started and loaded the code before. With the address of a Dask scheduler, the workers of its
cluster are measured as well.

`python benchmarks/tuning.py [ADDRESS]`
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice

from bots.tuning.genetic import draw_first_genes, schedule_games
from bots.tuning.presets import TuningPreset, tuning_presets
from bots.tuning.selfplay import TuningGame, play_adjusted, play_all
from bots.tuning.tuning import choose_value_function
from machine.workers.cluster import cluster_pool
from machine.workers.local import TASKS_PER_WORKER, WorkerPool, process_pool, spread
from protocol import VERSION

Play = Callable[[Sequence[TuningGame]], list[float]]

SEED = "benchmark"
"""The seed of the games."""
MIN_PLAYED_S = 20.0
"""Minimum seconds for which each pool of worker processes is measured. Until then, it plays the same generation again
and again. If one generation takes longer, the pool plays only the first games of it, as many as fit into this time.
"""
PROBE_GAMES = 20
"""The number of games that are played first, to estimate how long a game takes."""
ROW_FORMAT = "{:<9}{:<15}{:>7}  {:<12}{:>10}{:>9}"
"""The format of a row of the printed table."""


def main() -> None:
    with ExitStack() as stack:
        crews = {f"jobs {jobs}": stack.enter_context(process_pool(jobs)) for jobs in (1, 2)}
        for address in sys.argv[1:2]:
            crew = stack.enter_context(cluster_pool(address))
            crews[f"dask, {crew.size}"] = crew
        print(ROW_FORMAT.format("preset", "game", "games", "workers", "games/s", "ratio"))
        for name, games in tuning_presets().items():
            for game, preset in games.items():
                report(name, game, preset, crews)


def report(name: str, game: str, preset: TuningPreset, pools: Mapping[str, WorkerPool]) -> None:
    """Print, for each pool of worker processes, its games per second and their ratio to the first pool's."""
    value = choose_value_function(*preset)
    play: Play = partial(play_all, preset.setup, version=VERSION)
    if value is not None:
        play = partial(play_adjusted, preset.setup, version=VERSION, value=value)
    games = first_generation(preset)
    for crew in pools.values():
        warm_up(crew, play, games)
    games = games[: games_needed(next(iter(pools.values())), play, games)]
    played, spent = 0, dict.fromkeys(pools, 0.0)
    while min(spent.values()) < MIN_PLAYED_S:
        played += len(games)
        for label, crew in pools.items():
            spent[label] += measure_s(crew, play, games)
    first = next(iter(spent.values()))
    for label, time_spent in spent.items():
        row = name, game, len(games), label, f"{played / time_spent:,.1f}", f"{first / time_spent:.2f}x"
        print(ROW_FORMAT.format(*row), flush=True)


def first_generation(preset: TuningPreset) -> list[TuningGame]:
    genes = draw_first_genes(preset.method, SEED)
    return [
        TuningGame(genes[m.first], genes[m.second], m.start, m.dice) for m in schedule_games(preset.method, SEED, 1)
    ]


def warm_up(pool: WorkerPool, play: Play, games: Sequence[TuningGame]) -> None:
    """Run enough tasks to fill the queues of all worker processes, so that every worker loads the code."""
    for _ in pool.run(play, ([game] for game in islice(games, TASKS_PER_WORKER * pool.size))):
        pass


def games_needed(pool: WorkerPool, play: Play, games: Sequence[TuningGame]) -> int:
    """Return the number of games that keep the worker processes busy for `MIN_PLAYED_S` seconds. It is at most the
    number of games of a whole generation.
    """
    few = games[:PROBE_GAMES]
    return min(len(games), max(PROBE_GAMES, int(len(few) * MIN_PLAYED_S / measure_s(pool, play, few))))


def measure_s(pool: WorkerPool, play: Play, games: Sequence[TuningGame]) -> float:
    begin = time.perf_counter()
    scores = sum(1 for _ in spread(pool, play, games))
    assert scores == len(games)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
