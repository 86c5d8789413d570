"""The one writer of the store: batches, order, and what a failure takes with it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from arena.referee.result import Ratings
from arena.store import archive as archives
from arena.store.archive import Archive
from arena.store.database import StoreFailed
from arena.store.finishing import Finished
from arena.store.store import Store


class Shelf:
    """A store of names: it takes what it is given, but for a name that it fails at once."""

    def __init__(self, bad: str = "") -> None:
        self.kept: list[str] = []
        self.batches: list[int] = []
        self._bad = bad

    def finish(self, batch: Sequence[Finished]) -> list[Ratings | None]:
        names = cast("Sequence[str]", batch)
        self.batches.append(len(names))
        if self._bad in names:
            self._bad = ""
            raise StoreFailed("the disk is full")
        self.kept += names
        return [None] * len(names)


def finish(archive: Archive, *names: str) -> list[asyncio.Future[Any]]:
    return [archive.finish(cast("Finished", name)) for name in names]


async def test_matches_that_finish_together_are_stored_in_one_transaction() -> None:
    shelf = Shelf()
    archive = Archive(cast("Store", shelf))
    await asyncio.gather(*finish(archive, "a", "b", "c"))
    assert (shelf.kept, shelf.batches) == (["a", "b", "c"], [3])
    await archive.drain()


async def test_what_waits_behind_a_failure_fails_with_it_so_that_nothing_is_rated_out_of_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archives, "MOST_IN_A_BATCH", 2)
    shelf = Shelf(bad="b")
    archive = Archive(cast("Store", shelf))
    outcomes = await asyncio.gather(*finish(archive, "a", "b", "c", "d"), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StoreFailed] * 4
    assert shelf.kept == []
    await asyncio.gather(*finish(archive, "e"))
    assert shelf.kept == ["e"]
    await archive.drain()
