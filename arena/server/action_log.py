"""The audit log of a server, kept in its store."""

from __future__ import annotations

from arena.operator.requests import Request
from arena.store.actions import log_action, log_failure
from arena.store.async_store import AsyncStore


class StoredActionLog:
    """Logs the operator's changes in the store."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def begin(self, by: str, request: Request) -> int:
        """Log a requested change, and return its number. Raises `StoreError`."""
        return await self._store.write(log_action, by, request.action_name(), request.changed_names() or ())

    async def fail(self, number: int, fault: str) -> None:
        """Log the failure of a change. Raises `StoreError`."""
        await self._store.write(log_failure, number, fault)
