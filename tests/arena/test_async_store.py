"""The one writer of the store: batches, order, what is tried again, and what a failure takes with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from arena.store.async_store import MAX_BATCH_MATCHES, MAX_PENDING_QUERIES, AsyncStore
from arena.store.database import StoreError, StoreUnavailable
from arena.store.finish import StorableMatch
from arena.store.nodes import BotGone, MatchInProgress
from arena.store.store import Store
from arena.store.stored_match import StoredMatch
from protocol.errors import ArenaFault
from referee.footer import ClosedMatch
from referee.record import Footer
from referee.result import Result
from timeouts import WITHIN
from virtual_time import advance, passing, settle

pytestmark = pytest.mark.virtual_time


class Shelf:
    """A store of ids: it takes what it is given, but fails as often as `bad` says, at these ids or (with "") at any."""

    node = 0

    def __init__(self, bad: str = "", failures: int = 0, error: Exception | None = None) -> None:
        self.kept: list[str] = []
        self.batches: list[int] = []
        self.failures = failures
        self._bad = bad
        self._error = error or StoreUnavailable("the disk is full")

    def hurry(self) -> None:
        """It never keeps anybody waiting."""

    def read(self, query: Callable[..., Any], *args: Any) -> Any:
        return query(None, *args)

    def write(
        self, change: object, begun: Sequence[MatchInProgress], batch: Sequence[StorableMatch], node: int
    ) -> tuple[dict[str, BotGone], list[StoredMatch]]:
        assert not begun
        ids = [one.result.match for one in batch]
        self.batches.append(len(ids))
        if self.failures and (not self._bad or self._bad in ids):
            self.failures -= 1
            raise self._error
        self.kept += ids
        return {}, [StoredMatch()] * len(ids)


def result_of(match: str) -> Result:
    """The result of a match; `ann-1` is one of ann's."""
    seats = (SimpleNamespace(bot=match.partition("-")[0]),)
    return cast("Result", SimpleNamespace(match=match, seats=seats))


def closed(match: str) -> ClosedMatch:
    return ClosedMatch(result_of(match), (), cast("Footer", None))


def finish(archive: AsyncStore, *ids: str) -> list[asyncio.Future[Any]]:
    return [archive.finish(result_of(match), partial(closed, match)) for match in ids]


def archive_of(shelf: Shelf) -> AsyncStore:
    return AsyncStore(cast("Store", shelf))


async def test_matches_that_finish_together_are_stored_in_one_transaction() -> None:
    shelf = Shelf()
    archive = archive_of(shelf)
    await asyncio.gather(*finish(archive, "a", "b", "c"))
    assert (shelf.kept, shelf.batches) == (["a", "b", "c"], [3])
    await archive.drain()


async def test_who_finishes_many_matches_at_once_is_in_nobodys_way_but_its_own() -> None:
    shelf = Shelf()
    archive = archive_of(shelf)
    many = 3 * MAX_BATCH_MATCHES
    await asyncio.gather(*finish(archive, *(f"ann-{number}" for number in range(many)), "bob-0", "bob-1"))
    assert shelf.kept[:4] == ["ann-0", "bob-0", "ann-1", "bob-1"]
    assert shelf.kept[4:] == [f"ann-{number}" for number in range(2, many)]
    assert max(shelf.batches) == MAX_BATCH_MATCHES
    await archive.drain()


async def test_who_asks_much_is_not_in_the_way_of_matches_that_are_finished() -> None:
    shelf = Shelf()
    archive = archive_of(shelf)
    asked: list[int] = []
    go_on = threading.Event()

    def query(connection: object, number: int) -> None:
        go_on.wait(WITHIN)
        asked.append(number)

    asking = [asyncio.create_task(archive.read(query, number)) for number in range(20)]
    await asyncio.sleep(0)
    (stored,) = finish(archive, "a")
    stored.add_done_callback(lambda _: asked.append(-1))
    go_on.set()
    await asyncio.gather(stored, *asking)
    assert asked.index(-1) <= 2 * MAX_PENDING_QUERIES
    await archive.drain()


async def test_what_can_not_be_stored_now_is_tried_again_in_its_order_and_said() -> None:
    shelf = Shelf(failures=3)
    archive = archive_of(shelf)
    waiting = finish(archive, "a", "b")
    await asyncio.sleep(0)
    waiting += finish(archive, "c")
    await advance(0.5 + 1.0 + 1.99)
    assert shelf.kept == []
    assert archive.health.reason == "results can't be stored: the disk is full"
    await advance(0.01)
    assert all(stored.done() for stored in waiting)
    assert shelf.kept == ["a", "b", "c"]
    assert archive.health.reason is None
    assert archive.failures == 3
    assert sum(archive.commits.counts) > archive.failures
    await archive.drain()


async def test_a_match_that_the_store_does_not_take_waits_apart_until_it_does() -> None:
    shelf = Shelf(bad="b", failures=3, error=StoreError("two matches at one place"))
    archive = archive_of(shelf)
    first, last, other = finish(archive, "a", "b", "c")
    await settle()
    assert (first.done(), other.done(), archive.set_aside) == (True, True, 1)
    await advance(9.99)
    assert not last.done()
    await passing(last)
    assert archive.set_aside == 0
    assert shelf.kept == ["a", "c", "b"]
    await archive.drain()


class Closing:
    """Closes a match, but fails as often as `failures` says. The threads that did it are noted."""

    def __init__(self, match: str, failures: int) -> None:
        self.threads: list[str] = []
        self._match = match
        self._failures = failures

    def __call__(self) -> ClosedMatch:
        self.threads.append(threading.current_thread().name)
        if len(self.threads) <= self._failures:
            raise ArenaFault("the journal can't be read")
        return closed(self._match)


async def test_a_match_that_cannot_be_closed_waits_apart_and_takes_nobody_with_it() -> None:
    shelf = Shelf()
    archive = archive_of(shelf)
    closing = Closing("b", failures=2)
    (first,), last, (other,) = finish(archive, "a"), archive.finish(result_of("b"), closing), finish(archive, "c")
    await settle()
    assert (first.done(), other.done(), last.done(), archive.set_aside) == (True, True, False, 1)
    assert (shelf.kept, shelf.batches) == (["a", "c"], [2])
    await passing(last)
    assert shelf.kept == ["a", "c", "b"]
    assert len(closing.threads) == 3
    assert all(name.startswith("store") for name in closing.threads), "and never the event loop's"
    await archive.drain()


async def test_at_the_end_a_match_that_cannot_be_closed_fails() -> None:
    shelf = Shelf()
    archive = archive_of(shelf)
    waiting = archive.finish(result_of("a"), Closing("a", failures=99))
    await archive.drain()
    with pytest.raises(ArenaFault, match="the journal can't be read"):
        await waiting


async def test_records_are_read_before_the_transaction_begins() -> None:
    done: list[str] = []

    class Watched(Shelf):
        def write(self, *args: Any) -> Any:
            done.append("write")
            return super().write(*args)

    def close() -> ClosedMatch:
        done.append("close")
        return closed("a")

    archive = archive_of(Watched())
    await archive.finish(result_of("a"), close)
    assert done == ["close", "write"]
    await archive.drain()


async def test_an_error_that_is_no_fault_is_not_tried_again_and_takes_nobody_with_it() -> None:
    shelf = Shelf(bad="b", failures=99, error=ZeroDivisionError())
    archive = archive_of(shelf)
    outcomes = await asyncio.gather(*finish(archive, "a", "b", "c"), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StoredMatch, ZeroDivisionError, StoredMatch]
    await archive.drain()


@pytest.mark.parametrize("bad", ["", "a"])
async def test_at_the_end_what_waits_is_tried_no_more_than_once_again_and_then_fails(
    bad: str,
) -> None:
    shelf = Shelf(bad, 2, StoreError("no") if bad else None)
    archive = archive_of(shelf)
    (waiting,) = finish(archive, "a")
    async with asyncio.timeout(WITHIN):
        while not shelf.batches:
            await archive.read(lambda connection: None)
        await archive.drain()
    with pytest.raises(StoreError):
        await waiting
    assert shelf.batches in ([1], [1, 1])
    assert shelf.kept == []
