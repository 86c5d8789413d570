"""Plays the missing games of a tuning, saves the tuning at intervals, and reports progress on standard error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import monotonic

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from bots.tuning.file import TuningNotSaved, save_tuning
from bots.tuning.genetic import Generation, compute_fitness, median_fitness, schedule_games
from bots.tuning.selfplay import TuningGame, play_adjusted, play_all
from bots.tuning.tuning import RunningGeneration, Tuning, begin_generation
from machine.console import Console
from machine.workers.local import WorkerPool, spread

SAVE_OVERHEAD_RATIO = 0.05
"""The maximum fraction of a generation's time that saving the tuning's file may take."""


def format_speed(games: int, seconds: float) -> str:
    """Return the speed of playing as text, in games a second."""
    return f"{games / max(seconds, 1e-3):,.1f} games/s"


def _make_work(tuning: Tuning) -> Callable[[Sequence[TuningGame]], list[float]]:
    """Return the function with which workers play games. It returns the scores in the form that the tuning stores."""
    if tuning.value is None:
        return partial(play_all, tuning.setup, version=tuning.version)
    return partial(play_adjusted, tuning.setup, version=tuning.version, value=tuning.value)


class Tuner:
    """A session that continues a tuning. `played` counts the games played in this session."""

    def __init__(self, tuning: Tuning, path: Path) -> None:
        self.tuning = tuning
        self.played = 0
        self._path = path
        self._games_left = tuning.method.total - tuning.games
        self._began = self._saved_at = monotonic()
        self._save_interval_s = 0.0
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

    def run(self, pool: WorkerPool) -> None:
        """Play the tuning to its end. On an error or interrupt, save the games played so far, unless saving failed."""
        self._began = monotonic()
        self._save()
        try:
            with self._bar:
                while (running := self.tuning.running) is not None:
                    began, before = monotonic(), self.played
                    self._finish_generation(running, self._play(running, pool))
                    self._save()
                    self._report_generation(self.played - before, monotonic() - began)
        except TuningNotSaved:
            raise
        except BaseException:
            self._save()
            raise

    def _play(self, running: RunningGeneration, pool: WorkerPool) -> list[float | None]:
        """Play the missing games of this generation and return all its scores."""
        tuning, genes, scores = self.tuning, running.genes, list(running.scores)
        number = len(tuning.generations) + 1
        meetings = schedule_games(tuning.method, tuning.seed, number)
        missing = [i for i, score in enumerate(scores) if score is None]
        games = [TuningGame(genes[m.first], genes[m.second], m.start, m.dice) for m in (meetings[i] for i in missing)]
        name, done = f"{number}/{tuning.method.generations}", len(scores) - len(missing)
        bar = self._bar.add_task(name, total=len(scores), completed=done, told=self._status_text())
        try:
            for k, score in spread(pool, _make_work(tuning), games):
                scores[missing[k]] = score
                self.played += 1
                self._bar.update(bar, advance=1, told=self._status_text())
                if monotonic() - self._saved_at >= self._save_interval_s:
                    self._record_scores(running, scores)
                    self._save()
        finally:
            self._record_scores(running, scores)
        self._bar.remove_task(bar)
        return scores

    def _record_scores(self, running: RunningGeneration, scores: Sequence[float | None]) -> None:
        """Copy the scores so far into the tuning. This takes longer than a game, so it is not done after each."""
        self.tuning = replace(self.tuning, running=running._replace(scores=tuple(scores)))

    def _finish_generation(self, running: RunningGeneration, scores: Sequence[float | None]) -> None:
        method, seed, number = self.tuning.method, self.tuning.seed, len(self.tuning.generations) + 1
        known = [score for score in scores if score is not None]
        shares = compute_fitness(method, schedule_games(method, seed, number), known)
        generations = (*self.tuning.generations, Generation(number, running.genes, shares))
        self.tuning = replace(self.tuning, generations=generations, running=begin_generation(method, seed, generations))

    def _save(self) -> None:
        begin = monotonic()
        save_tuning(self.tuning, self._path)
        self._saved_at = monotonic()
        self._save_interval_s = (self._saved_at - begin) / SAVE_OVERHEAD_RATIO

    def _report_generation(self, games: int, seconds: float) -> None:
        last, method = self.tuning.generations[-1], self.tuning.method
        speed = f", {format_speed(games, seconds)}" if games else ""
        self._console.print(
            f"generation {last.number} of {method.generations}: best {max(last.fitness):.3f}, "
            f"median {median_fitness(last):.3f}; {method.games:,} games{speed}",
            soft_wrap=True,
        )

    def _status_text(self) -> str:
        """Return the text beside the progress bar: the last generation's fitness, the speed, the time left."""
        told = []
        if self.tuning.generations:
            last = self.tuning.generations[-1]
            told.append(f"best {max(last.fitness):.3f} median {median_fitness(last):.3f}")
        if self.played:
            left = timedelta(seconds=round((self._games_left - self.played) * self.seconds / self.played))
            told.append(f"{format_speed(self.played, self.seconds)} {left} left")
        return " ".join(told)
