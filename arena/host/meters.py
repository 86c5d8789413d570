"""What is measured of moves, where somebody asks for it: a runner that does. Without it nobody pays for it."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from arena.host.runner import Runner
from machine.histogram import Histogram
from referee.effects import MatchEvent, Played

EVERY = 13
"""Of so many moves one is measured: all of them would cost a tenth of what is measured. It is no multiple of how many
seats take turns.
"""
FAST = (10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0)
"""Seconds of what takes some microseconds: bounds of a histogram."""
SLOW = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The same of what waits for a disk, a network or its turn."""


class Meters:
    """Times of moves and of the event loop, in seconds."""

    def __init__(self) -> None:
        self.referee: dict[str, Histogram] = {}
        """By game: what the referee took for a move, from when it was read until its line was made."""
        self.journal = Histogram(FAST)
        """What it took to write that line."""
        self.told = Histogram(FAST)
        """From when a move was read until it was recorded, and all were told who hear of it at once."""
        self.lag = Histogram(SLOW)
        """How late the event loop did what was due."""
        self.left = EVERY
        """Events until a move is measured again."""


class MeasuredRunner(Runner):
    """A runner that measures."""

    def __init__(self, meters: Meters, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._meters = meters
        self._referee = meters.referee.setdefault(self.game, Histogram(FAST))
        self._moved: float | None = None
        """When the move was read that is measured now."""

    # What is called here with every ply goes around super(), which would cost as much again.

    def receive(self, event: MatchEvent) -> None:
        meters = self._meters
        meters.left -= 1
        if meters.left > 0 or type(event) is not Played:
            Runner.receive(self, event)
            return
        meters.left = EVERY
        self._moved = began = perf_counter()
        Runner.receive(self, event)
        self._referee.observe(perf_counter() - began)
        if self._unrecorded is None:  # a move that came too late, or was told at once
            self._moved = None

    def record(self) -> int | None:
        if self._moved is None:
            return Runner.record(self)
        began = perf_counter()
        at = Runner.record(self)
        self._meters.journal.observe(perf_counter() - began)
        return at

    def recorded(self, held: float = 0.0) -> None:
        moved, self._moved = self._moved, None
        Runner.recorded(self, held)
        if moved is not None:
            self._meters.told.observe(perf_counter() - moved)
