"""Matches that are annulled and taken back, and seasons: what becomes of ratings, pages and checks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from arena.store.annulment import Annulment
from arena.store.reader import Reader
from arena.store.store import Store
from arena.store.view_models import Search
from protocol.errors import UsageFault
from seasons import finish, result, season

NIM, TOE = "nim/classic", "tictactoe/classic"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store.open(tmp_path / "arena.db")) as opened:
        season(opened)
        yield opened


def season_leaderboards(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """Where everybody stands, to six digits."""
    return {
        pool: [
            (row.bot, round(row.mu, 6), round(row.sigma, 6), row.played, row.wins) for row in store.leaderboard(pool)
        ]
        for pool in store.pools()
    }


def without(tmp_path: Path, *left_out: str) -> dict[str, list[tuple[object, ...]]]:
    """Where everybody would stand if these matches had not been rated."""
    with closing(Store.open(tmp_path / "another.db")) as other:
        season(other)
        kept = [one for one in reversed(other.matches()) if one.match not in left_out]
    with closing(Store.open(tmp_path / "third.db")) as other:
        finish(other, *kept)
        return season_leaderboards(other)


@pytest.mark.parametrize("ids", [["m0"], ["m29"], ["m3", "m11", "m20"]])
def test_the_others_are_rated_as_if_an_annulled_match_had_not_been(
    store: Store, tmp_path: Path, ids: list[str]
) -> None:
    before = season_leaderboards(store)
    assert store.annul(ids).matches == len(ids)
    assert season_leaderboards(store) == without(tmp_path, *ids)
    assert season_leaderboards(store) != before
    assert store.check() == []
    assert store.rebuild_ratings() == 0
    assert store.annul(ids, undo=True).matches == len(ids)
    assert season_leaderboards(store) == before
    assert store.check() == []


def test_an_annulled_match_is_kept_marked_and_unrated(store: Store) -> None:
    store.annul(["m3"])
    with closing(Reader.open(store.file)) as reader:
        match = reader.match("m3")
        assert match is not None
        assert (match.rated, match.pool, match.annulled) == (False, None, NIM)
        assert [row.match for row in reader.search(Search(bot=match.seats[0].bot, pool="nim/unrated")).rows] == ["m3"]
        assert reader.record("m3") == b"m3"


def test_all_matches_of_a_bot_are_annulled_or_those_since_a_time(store: Store) -> None:
    late = result("late", ("dan", "eve"), finished="2026-02-01T00:00:00.000Z")
    finish(store, late, result("unrated", ("dan", "eve"), rated=False))
    assert store.annul(bot="DAN", since="2026-02-01T00:00:00.000Z") == Annulment(matches=1, pools=[NIM])
    assert "eve" not in [row.bot for row in store.leaderboard(NIM)]
    mine = [one.match for one in store.matches("dan") if one.rated]
    assert store.annul(["m3", mine[0]], "dan").matches == len({"m3", *mine})
    assert all("dan" not in [row.bot for row in store.leaderboard(pool)] for pool in store.pools())
    assert store.annul(bot="dan").matches == 0
    assert store.annul(bot="dan", undo=True).matches == len(mine) + 1
    assert store.check() == []


@pytest.mark.parametrize(
    ("ids", "bot", "says"),
    [
        (["m3", "m99", "x"], None, "there is no match 'm99', 'x': `arena matches` lists those there are"),
        (["m3", "unrated"], None, "not rated, so there is nothing to annul: unrated"),
        (["m3"], "eve", "there is no bot called eve: `arena bot list` names them"),
    ],
)
def test_nothing_is_annulled_where_something_is_wrong(store: Store, ids: list[str], bot: str | None, says: str) -> None:
    finish(store, result("unrated", rated=False))
    before = season_leaderboards(store)
    with pytest.raises(UsageFault, match=f"^{says}$"):
        store.annul(ids, bot)
    assert season_leaderboards(store) == before


def test_with_a_season_ratings_begin_anew_and_earlier_ladders_stay(store: Store) -> None:
    before = {pool: store.leaderboard(pool) for pool in store.pools()}
    store.start_season("autumn")
    assert store.pools() == []
    assert store.standings("ann") == {}
    assert store.check() == []
    finish(store, result("new", ("bob", "ann")))
    assert [(row.bot, row.played) for row in store.leaderboard(NIM)] == [("bob", 1), ("ann", 1)]
    assert store.season_leaderboards("First") == before
    assert store.season_leaderboards("autumn") == {NIM: store.leaderboard(NIM)}
    assert store.season_leaderboards("first", "tictactoe") == {TOE: before[TOE]}
    assert [(one.season, one.matches) for one in store.seasons()] == [("first", 30), ("autumn", 1)]
    assert store.check() == []
    assert store.rebuild_ratings() == 0
    with closing(Reader.open(store.file)) as reader:
        assert [point.match for point in reader.history("ann", NIM)] == ["new"]
        assert [len(row.curve) for row in reader.board(NIM).rows] == [1, 1]


def test_a_match_of_an_earlier_season_changes_that_ladder_alone(store: Store, tmp_path: Path) -> None:
    store.start_season("second")
    finish(store, result("one", ("bob", "ann")))
    store.start_season("third")
    finish(store, result("two", ("cid", "ann")))
    now, second = store.leaderboard(NIM), store.season_leaderboards("second")
    store.annul(["m3"])
    assert store.leaderboard(NIM) == now
    assert store.season_leaderboards("second") == second
    then = [(row.bot, round(row.mu, 6)) for row in store.season_leaderboards("first")[NIM]]
    assert then == [row[:2] for row in without(tmp_path, "m3")[NIM]]
    assert store.check() == []
    store.annul(["two"])
    assert (store.leaderboard(NIM), store.check()) == ([], [])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("SECOND", "there was a season SECOND already: choose another name"),
        ("first", "there was a season first already: choose another name"),
        ("a b", "'a b' is no name for a season: "),
    ],
)
def test_a_season_needs_a_name_of_its_own(store: Store, name: str, says: str) -> None:
    store.start_season("second")
    finish(store, result("new"))
    with pytest.raises(UsageFault, match=f"^{says}"):
        store.start_season(name)
    assert store.leaderboard(NIM) != []
    with pytest.raises(UsageFault, match="there is no season 'third': one of first, second"):
        store.season_leaderboards("third")
