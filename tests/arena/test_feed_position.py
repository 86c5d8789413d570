"""How far the feed has come: which ends a broker has, as the store keeps it."""

from __future__ import annotations

import pytest

from arena.store.feed_position import advance_feed, feed_range, has_feed, match_ends_between, switch_feed
from arena.store.store import Store
from databases import EVERY_DATABASE
from seasons import finish, result

pytestmark = EVERY_DATABASE


@pytest.fixture
def store(store: Store) -> Store:
    finish(store, result("before"))
    return store


def missing(store: Store) -> list[str]:
    """The matches whose ends the broker has not got."""
    return [match for _, match in store.read(match_ends_between, *store.read(feed_range), 100)]


def test_a_feed_begins_with_what_ends_from_then_on(store: Store) -> None:
    store.write(switch_feed, on=True)
    assert missing(store) == []
    finish(store, result("m-1"), result("m-2"))
    assert missing(store) == ["m-1", "m-2"]


def test_a_feed_goes_on_where_it_was_and_one_that_was_off_begins_anew(store: Store) -> None:
    store.write(switch_feed, on=True)
    finish(store, result("m-1"))
    store.write(switch_feed, on=True)
    assert missing(store) == ["m-1"]
    store.write(switch_feed, on=False)
    assert not store.read(has_feed)
    assert missing(store) == []
    store.write(switch_feed, on=True)
    assert missing(store) == []


def test_an_end_that_is_missing_holds_up_those_behind_it_which_have_to_be_named_again(store: Store) -> None:
    store.write(switch_feed, on=True)
    finish(store, result("m-1"), result("m-2"), result("m-3"))
    assert store.write(advance_feed, {"m-1", "m-3"}) == {"m-3"}
    assert missing(store) == ["m-2", "m-3"]
    assert store.write(advance_feed, {"m-2", "m-3"}) == set()
    assert missing(store) == []


def test_matches_of_tournaments_are_passed_by(store: Store) -> None:
    store.write(switch_feed, on=True)
    finish(store, result("t-1", tournament="t", place=0), result("m-1"), result("t-2", tournament="t", place=1))
    assert missing(store) == ["m-1"]
    assert store.write(advance_feed, {"t-1"}) == set()
    assert missing(store) == ["m-1"]
    assert store.write(advance_feed, {"m-1", "t-2"}) == set()
    assert store.read(feed_range) == (4, 4)


def test_what_was_taken_is_noted_however_many_there_are(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.store.feed_position.FEED_BATCH_MATCHES", 2)
    store.write(switch_feed, on=True)
    finish(store, *(result(f"m-{number}") for number in range(7)))
    assert store.write(advance_feed, {"m-0", "m-1", "m-2", "m-4", "m-5", "m-6"}) == {"m-4", "m-5", "m-6"}
    assert missing(store) == ["m-3", "m-4", "m-5", "m-6"]


def test_without_a_feed_nothing_is_noted(store: Store) -> None:
    finish(store, result("m-1"))
    assert store.write(advance_feed, {"m-1"}) == set()
    assert not store.read(has_feed)
