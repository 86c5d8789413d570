"""The audit log of an arena's server, in the server's store."""

from __future__ import annotations

from arena.operator.requests import Request
from arena.store.actions import log_action, log_failure
from arena.store.async_store import AsyncStore


class StoredActionLog:
    """The log of the operator's changes, in the store."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def begin(self, by: str, request: Request) -> int:
        """Log a requested change, and return the number of its entry. Raise `StoreError` if it cannot be stored."""
        return await self._store.write(log_action, by, request.action_name(), request.changed_names() or ())

    async def fail(self, number: int, fault: str) -> None:
        """Log why the change with this entry failed. Raise `StoreError` if that cannot be stored."""
        await self._store.write(log_failure, number, fault)
