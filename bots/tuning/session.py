"""Plays the missing games of a tuning, saves it meanwhile, and reports progress on standard error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import monotonic

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from bots.tuning.file import NotKept, write
from bots.tuning.genetic import Generation, fitness, middle, schedule
from bots.tuning.selfplay import Seats, play_adjusted, play_all
from bots.tuning.tuning import Running, Tuning, under_way
from machine.console import Console
from machine.workers.local import WorkerPool, spread

KEEPING = 0.05
"""The fraction of the time within a generation that writing the file may take."""


def pace(games: int, seconds: float) -> str:
    """Return the speed as text, in games a second."""
    return f"{games / max(seconds, 1e-3):,.1f} games/s"


def _work(tuning: Tuning) -> Callable[[Sequence[Seats]], list[float]]:
    """Return the function that workers run: it plays games and returns their scores as the tuning stores them."""
    if tuning.value is None:
        return partial(play_all, tuning.setup, version=tuning.version)
    return partial(play_adjusted, tuning.setup, version=tuning.version, value=tuning.value)


class Tuner:
    """One session of a tuning. `played` counts the games of the session."""

    def __init__(self, tuning: Tuning, path: Path) -> None:
        self.tuning = tuning
        self.played = 0
        self._path = path
        self._left = tuning.method.total - tuning.games
        self._began = self._kept = monotonic()
        self._pause = 0.0
        self._console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("generation {task.description}"),
            BarColumn(None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[told]}"),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )

    @property
    def seconds(self) -> float:
        """Seconds since the session started to play."""
        return monotonic() - self._began

    def run(self, crew: WorkerPool) -> None:
        """Play to the end. On any error or interrupt other than `NotKept`, save the games played so far."""
        self._began = monotonic()
        self._keep()
        try:
            with self._bar:
                while (running := self.tuning.running) is not None:
                    began, before = monotonic(), self.played
                    self._finish(running, self._play(running, crew))
                    self._keep()
                    self._tell(self.played - before, monotonic() - began)
        except NotKept:
            raise
        except BaseException:
            self._keep()
            raise

    def _play(self, running: Running, crew: WorkerPool) -> list[float | None]:
        """Play the missing games of this generation and return all its scores."""
        tuning, genes, scores = self.tuning, running.genes, list(running.scores)
        number = len(tuning.generations) + 1
        meetings = schedule(tuning.method, tuning.seed, number)
        missing = [i for i, score in enumerate(scores) if score is None]
        games = [Seats(genes[m.first], genes[m.second], m.start, m.dice) for m in (meetings[i] for i in missing)]
        name, done = f"{number}/{tuning.method.generations}", len(scores) - len(missing)
        bar = self._bar.add_task(name, total=len(scores), completed=done, told=self._told())
        try:
            for k, score in spread(crew, _work(tuning), games):
                scores[missing[k]] = score
                self.played += 1
                self._bar.update(bar, advance=1, told=self._told())
                if monotonic() - self._kept >= self._pause:
                    self._take(running, scores)
                    self._keep()
        finally:
            self._take(running, scores)
        self._bar.remove_task(bar)
        return scores

    def _take(self, running: Running, scores: Sequence[float | None]) -> None:
        """Copy the scores so far into the tuning. A copy after every game would cost more than the games."""
        self.tuning = replace(self.tuning, running=running._replace(scores=tuple(scores)))

    def _finish(self, running: Running, scores: Sequence[float | None]) -> None:
        """Compute the fitness of the genes from the scores, and breed the next generation."""
        method, seed, number = self.tuning.method, self.tuning.seed, len(self.tuning.generations) + 1
        known = [score for score in scores if score is not None]
        shares = fitness(method, schedule(method, seed, number), known)
        generations = (*self.tuning.generations, Generation(number, running.genes, shares))
        self.tuning = replace(self.tuning, generations=generations, running=under_way(method, seed, generations))

    def _keep(self) -> None:
        begin = monotonic()
        write(self.tuning, self._path)
        self._kept = monotonic()
        self._pause = (self._kept - begin) / KEEPING

    def _tell(self, games: int, seconds: float) -> None:
        """Print a line about the finished generation, of which this session played `games` games."""
        last, method = self.tuning.generations[-1], self.tuning.method
        speed = f", {pace(games, seconds)}" if games else ""
        self._console.print(
            f"generation {last.number} of {method.generations}: best {max(last.fitness):.3f}, "
            f"median {middle(last):.3f}; {method.games:,} games{speed}",
            soft_wrap=True,
        )

    def _told(self) -> str:
        """Return the text beside the bar: the last finished generation, the speed, the time left for all."""
        told = []
        if self.tuning.generations:
            last = self.tuning.generations[-1]
            told.append(f"best {max(last.fitness):.3f} median {middle(last):.3f}")
        if self.played:
            left = timedelta(seconds=round((self._left - self.played) * self.seconds / self.played))
            told.append(f"{pace(self.played, self.seconds)} {left} left")
        return " ".join(told)
