"""What luck gave in matches, kept in the store: with the result or later, and never of a match that can have none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from arena.store.finish import StorableMatch, finish_matches
from arena.store.integrity_check import check_database
from arena.store.match_luck import MatchLuck, luck_of_tournament, save_luck
from arena.store.rating_rebuild import rebuild_ratings
from arena.store.store import Store
from databases import EVERY_DATABASE
from referee.result import Result
from seasons import result

pytestmark = EVERY_DATABASE


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store.open(tmp_path / "arena.db")) as opened:
        yield opened


def finish(store: Store, done: Result, luck: MatchLuck | None = None) -> None:
    store.write(finish_matches, [StorableMatch(done, lambda ratings: b"record", luck)])


def test_luck_that_comes_with_a_result_is_kept_with_it(store: Store) -> None:
    finish(store, result("m1", tournament="t1", place=0), MatchLuck("exact", 0.41))
    finish(store, result("m2", tournament="t1", place=1), MatchLuck("exact", 0.0))
    finish(store, result("m3", tournament="t1", place=2))
    finish(store, result("m4", tournament="t2", place=0), MatchLuck("exact", -0.2))
    assert store.read(luck_of_tournament, "t1") == {"m1": MatchLuck("exact", 0.41), "m2": MatchLuck("exact", 0.0)}
    assert store.read(luck_of_tournament, "t3") == {}
    assert list(store.iterate(check_database)) == []


def test_a_match_that_is_stored_already_keeps_its_luck(store: Store) -> None:
    for points in (0.41, -0.3):
        finish(store, result("m1", tournament="t1", place=0), MatchLuck("exact", points))
    assert store.read(luck_of_tournament, "t1") == {"m1": MatchLuck("exact", 0.41)}


def test_luck_that_is_worked_out_later_replaces_what_there_was(store: Store) -> None:
    finish(store, result("m1", tournament="t1", place=0), MatchLuck("features-1", 0.3))
    finish(store, result("m2", tournament="t1", place=1))
    store.write(
        save_luck, {"m1": MatchLuck("exact", 0.41), "m2": MatchLuck("exact", -0.1), "gone": MatchLuck("exact", 0.1)}
    )
    store.write(save_luck, {})
    assert store.read(luck_of_tournament, "t1") == {"m1": MatchLuck("exact", 0.41), "m2": MatchLuck("exact", -0.1)}


def test_ratings_computed_again_leave_luck_as_it_is(store: Store) -> None:
    finish(store, result("m1", tournament="t1", place=0), MatchLuck("exact", 0.41))
    assert store.write(rebuild_ratings) == 0
    assert store.read(luck_of_tournament, "t1") == {"m1": MatchLuck("exact", 0.41)}


def test_luck_of_a_match_that_was_called_off_or_has_more_seats_is_a_complaint(store: Store) -> None:
    luck = MatchLuck("exact", 0.41)
    finish(store, result("m1", ranks=(1, 1), rated=False, reason="void"), luck)
    finish(store, result("m2", ("ann", "bob", "cid"), (1, 2, 3)), luck)
    told = "it has luck, as only matches of two have that were not called off"
    assert list(store.iterate(check_database)) == [f"match m1: {told}", f"match m2: {told}"]


def test_luck_of_more_than_two_seats_is_not_kept_as_if_it_were_of_two(store: Store) -> None:
    luck = MatchLuck("fitted-1", 0.3, (0.3, -0.1, -0.2))
    assert (luck.by_seat, MatchLuck("exact", 0.3).by_seat) == ((0.3, -0.1, -0.2), (0.3, -0.3))
    finish(store, result("m1", ("ann", "bob", "cid"), (1, 2, 3), tournament="t1", place=0), luck)
    store.write(save_luck, {"m1": luck})
    assert store.read(luck_of_tournament, "t1") == {}
    assert list(store.iterate(check_database)) == []
