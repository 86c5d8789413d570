"""Warnings to the operator about the running server. Their start and end are logged, and `arena status` shows them."""

from __future__ import annotations

import logging

log = logging.getLogger("arena")


class Warnings:
    """The current warnings, at most one of each kind."""

    def __init__(self) -> None:
        self._by_kind: dict[str, str] = {}

    def update(self, kind: str, text: str | None) -> None:
        """Set the warning of a kind, or remove it if `text` is None. If only the text changes, nothing is logged."""
        if text is not None:
            if kind not in self._by_kind:
                log.warning("%s", text)
            self._by_kind[kind] = text
        elif self._by_kind.pop(kind, None) is not None:
            log.info("%s: the warning no longer applies", kind)

    def current(self) -> list[str]:
        return list(self._by_kind.values())
