"""Measurements of moves and of the event loop. They cost no time while they are off."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from arena.host.runner import MatchRunner
from machine.histogram import Histogram
from referee.effects import MatchEvent, MoveReceived

SAMPLE_ONE_IN = 13
"""About one in this many moves is measured, because measuring adds a tenth to the time that a move takes. The number is
a prime, so that the seats are measured in turn.
"""
FAST_BOUNDS_S = (10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0)
"""Histogram bounds in seconds for work that takes microseconds."""
SLOW_BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Histogram bounds in seconds for waits on a disk, the network or the event loop."""


class Meters:
    """Histograms of the time that moves take, and of the delay of the event loop, in seconds."""

    def __init__(self) -> None:
        self.referee: dict[str, Histogram] = {}
        """The seconds that the referee takes for a move, from reading the move to making its journal line, by game."""
        self.journal = Histogram(FAST_BOUNDS_S)
        """The seconds that writing a move's journal line takes."""
        self.delivery = Histogram(FAST_BOUNDS_S)
        """The seconds from reading a move until it is recorded and sent to the players."""
        self.lag = Histogram(SLOW_BOUNDS_S)
        """The seconds by which the event loop runs a timer too late."""
        self.until_next_sample = SAMPLE_ONE_IN
        """The number of events until the next move is measured."""


class MeasuredRunner(MatchRunner):
    """A match runner that measures how long some of its moves take."""

    def __init__(self, meters: Meters, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._meters = meters
        self._referee = meters.referee.setdefault(self.game, Histogram(FAST_BOUNDS_S))
        self._sampled_since: float | None = None
        """The time at which the move being measured was read; None if no move is being measured."""

        # Methods that are called with every ply call `MatchRunner` directly, because super() would double their cost.

    def receive(self, event: MatchEvent) -> None:
        meters = self._meters
        meters.until_next_sample -= 1
        if meters.until_next_sample > 0 or type(event) is not MoveReceived:
            MatchRunner.receive(self, event)
            return
        meters.until_next_sample = SAMPLE_ONE_IN
        self._sampled_since = began = perf_counter()
        MatchRunner.receive(self, event)
        self._referee.observe(perf_counter() - began)
        if self._pending_effects is None:  # the move came too late, or needed no recording
            self._sampled_since = None

    def write_lines(self) -> int | None:
        if self._sampled_since is None:
            return MatchRunner.write_lines(self)
        began = perf_counter()
        at = MatchRunner.write_lines(self)
        self._meters.journal.observe(perf_counter() - began)
        return at

    def on_recorded(self, held: float = 0.0) -> None:
        moved, self._sampled_since = self._sampled_since, None
        MatchRunner.on_recorded(self, held)
        if moved is not None:
            self._meters.delivery.observe(perf_counter() - moved)
