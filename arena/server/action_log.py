"""The audit log of a server, kept in its store."""

from __future__ import annotations

from arena.operator.requests import Request
from arena.store.actions import note_action, note_fault
from arena.store.async_store import AsyncStore


class StoredActions:
    """Logs the operator's changes in the store."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def begin(self, by: str, request: Request) -> int:
        """Log a requested change, and return its number. Raises `StoreError`."""
        return await self._store.write(note_action, by, request.action_name(), request.concerns() or ())

    async def fail(self, number: int, fault: str) -> None:
        """Log the failure of a change. Raises `StoreError`."""
        await self._store.write(note_fault, number, fault)
