"""Whether the arena can keep what it referees: what is wrong, for the log, `/healthz`, and seeks, which wait."""

from __future__ import annotations

import logging
import time

log = logging.getLogger("arena.host.health")


class Health:
    """What is wrong now, by where it is wrong. A line is logged when something is, and when nothing is any more."""

    def __init__(self) -> None:
        self._troubles: dict[str, str] = {}
        self._since = 0.0

    @property
    def reason(self) -> str | None:
        """In a line, why nothing new begins; None when all is well."""
        return next(iter(self._troubles.values()), None)

    def tell(self, where: str, reason: str | None) -> None:
        """Something is wrong at a place, or, with None, no longer is."""
        if reason is not None:
            if not self._troubles:
                self._since = time.monotonic()
                log.error("play is held and tried again every second: %s", reason)
            self._troubles[where] = reason
        elif self._troubles.pop(where, None) is not None and not self._troubles:
            log.warning("play goes on after %.1f s", time.monotonic() - self._since)
