"""Watches the calls of games' rules that are not built in: which are slow, which failed, and when a game is closed.

A closed game gets no new matches until the server starts again, because its rules would hold up all other matches.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

TROUBLE_WINDOW_S = 60.0
"""Seconds for which a slow call, or a failure of the rules, counts against a game."""
MAX_TROUBLES = 10
"""Number of slow calls and failures within `TROUBLE_WINDOW_S` at which a game is closed."""
SLOW_CALL_LINE_INTERVAL_S = 60.0
"""Minimum number of seconds between two log lines about slow calls of one game."""
TIMEOUT_FACTOR = 20
"""The number of times that an interrupted call is longer than the shortest slow call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GameLimits:
    """The limits of a call of rules that are not built in, in seconds."""

    slow_call_s: float = 0.05
    """A call that takes longer is slow: it is logged, and counts against its game."""
    call_timeout_s: float = 1.0
    """A call that takes longer is interrupted, and closes its game."""

    @classmethod
    def of(cls, slow_call_ms: int) -> GameLimits:
        """Return the limits under which calls of more than this many milliseconds are slow."""
        slow_call_s = slow_call_ms / 1000
        return cls(slow_call_s=slow_call_s, call_timeout_s=slow_call_s * TIMEOUT_FACTOR)


class Verdict(NamedTuple):
    """The consequences of a call of rules: a line for the log, and the reason for which the game is closed now."""

    line: str | None = None
    closing: str | None = None


class _GameTroubles:
    def __init__(self) -> None:
        self.times: deque[float] = deque(maxlen=MAX_TROUBLES)
        """The times of the latest slow calls and failures."""
        self.line_due = float("-inf")
        """The time from which the next slow call is logged."""
        self.unlogged = 0
        """The number of slow calls since the last line that had none of its own."""


class GameWatch:
    """The slow calls and failures of the games of one server. Times are seconds of one monotonic clock. Pure."""

    def __init__(self, limits: GameLimits) -> None:
        self.limits = limits
        self.closed: dict[str, str] = {}
        """The closed games, each with the reason."""
        self._games: dict[str, _GameTroubles] = {}

    def note_call(self, game: str, method: str, seconds: float, now: float) -> Verdict:
        """Note that a call of the method `method` took this long."""
        if seconds <= self.limits.slow_call_s:
            return Verdict()
        troubles = self._games.setdefault(game, _GameTroubles())
        took = f"{game}: a call of {method} took {seconds * 1000:.0f} ms, and held up all other matches"
        if seconds >= self.limits.call_timeout_s:
            return Verdict(took, self._close(game, f"a call of {method} took {seconds:.1f} s"))
        line = None
        if now >= troubles.line_due:
            more = f" ({troubles.unlogged} more slow calls since the last such line)" if troubles.unlogged else ""
            line = f"{took}{more}: at most {self.limits.slow_call_s * 1000:.0f} ms is right"
            troubles.line_due, troubles.unlogged = now + SLOW_CALL_LINE_INTERVAL_S, 0
        else:
            troubles.unlogged += 1
        return Verdict(line, self._note_trouble(game, now))

    def note_fault(self, game: str, now: float) -> Verdict:
        """Note that the rules of a game failed."""
        return Verdict(None, self._note_trouble(game, now))

    def close(self, game: str, why: str) -> Verdict:
        """Close a game whose rules can't be played at all."""
        return Verdict(None, self._close(game, why))

    def _note_trouble(self, game: str, now: float) -> str | None:
        times = self._games.setdefault(game, _GameTroubles()).times
        times.append(now)
        if len(times) == MAX_TROUBLES and now - times[0] <= TROUBLE_WINDOW_S:
            return self._close(game, f"its rules were slow or failed {MAX_TROUBLES} times within a minute")
        return None

    def _close(self, game: str, why: str) -> str | None:
        """Close a game. Return the reason, or None if the game is closed already."""
        if game in self.closed:
            return None
        self.closed[game] = why
        return why
