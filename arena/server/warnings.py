"""What the operator should look after while play goes on: in the log when it begins and ends, and in `arena status`."""

from __future__ import annotations

import logging

log = logging.getLogger("arena")


class Warnings:
    """Warnings that hold now, one of each kind."""

    def __init__(self) -> None:
        self._by_kind: dict[str, str] = {}

    def tell(self, kind: str, text: str | None) -> None:
        """Something is wrong, or, with None, no longer is. It is logged once, however its words change."""
        if text is not None:
            if kind not in self._by_kind:
                log.warning("%s", text)
            self._by_kind[kind] = text
        elif self._by_kind.pop(kind, None) is not None:
            log.info("%s: all is well again", kind)

    def all(self) -> list[str]:
        """Those that hold."""
        return list(self._by_kind.values())
