"""The log of what the operator does, as a server keeps it: in its store."""

from __future__ import annotations

from arena.operator.requests import Request
from arena.store.actions import note_action, note_fault
from arena.store.async_store import AsyncStore


class StoredActions:
    """Keeps changes in a store."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def begin(self, by: str, request: Request) -> int:
        """Keep that somebody asks for a change; its number. Raises `StoreError`."""
        return await self._store.write(note_action, by, request.action_name(), request.concerns() or ())

    async def fail(self, number: int, fault: str) -> None:
        """Keep what was wrong with it. Raises `StoreError`."""
        await self._store.write(note_fault, number, fault)
