"""The problems that keep an arena from starting matches."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection

log = logging.getLogger("arena.host")


class Health:
    """The current problems of a host. Each belongs to a part of the host or to a match (see `places`). Logs when the
    first problem begins and when the last one ends.
    """

    def __init__(self) -> None:
        self._problems: dict[str, str] = {}
        self._since = 0.0

    @property
    def reason(self) -> str | None:
        """The host's oldest current problem in one line, or None if there is none."""
        return next(iter(self._problems.values()), None)

    @property
    def places(self) -> Collection[str]:
        """The parts of the host with a problem (`store`, `seeks`), and the ids of matches that can't be recorded."""
        return self._problems.keys()

    def set_problem(self, place: str, reason: str | None) -> None:
        """Set the problem of a part of the host or of a match (see `places`). A `reason` of None clears it."""
        if reason is not None:
            if not self._problems:
                self._since = time.monotonic()
                log.error("new matches are paused, retrying every second: %s", reason)
            self._problems[place] = reason
        elif self._problems.pop(place, None) is not None and not self._problems:
            log.warning("play resumed after %.1f s", time.monotonic() - self._since)
