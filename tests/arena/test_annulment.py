"""Matches that are annulled and taken back, and seasons: what becomes of ratings, pages and checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import Connection

from arena.store.annulment import AnnulmentOutcome, AnnulmentPlan, annul_matches
from arena.store.integrity_check import check_database
from arena.store.leaderboards import leaderboard_page, rating_history
from arena.store.match_search import Search, search_matches
from arena.store.rating_decisions import RatingDecisionsChanged
from arena.store.rating_rebuild import rebuild_ratings
from arena.store.result_queries import iter_results, leaderboard_of, rated_pools, record_of, result_of, standings_of
from arena.store.seasons import list_seasons, season_leaderboards, start_season
from arena.store.store import Reader, Store
from databases import EVERY_DATABASE, SQLITE_ALONE, filled_store
from protocol.errors import UsageFault
from seasons import finish, result, season, season_results

pytestmark = EVERY_DATABASE

NIM, TOE = "nim/classic", "tictactoe/classic"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(filled_store(tmp_path / "arena.db", season)) as opened:
        yield opened


def ladders(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """Where everybody stands, to six digits."""
    return {
        pool: [
            (row.bot, round(row.mu, 6), round(row.sigma, 6), row.played, row.wins)
            for row in store.read(leaderboard_of, pool)
        ]
        for pool in store.read(rated_pools)
    }


def without(tmp_path: Path, *left_out: str) -> dict[str, list[tuple[object, ...]]]:
    """Where everybody would stand if these matches had not been rated."""
    with closing(Store.open(tmp_path / "another.db")) as other:
        finish(other, *(one for one in season_results() if one.match not in left_out))
        return ladders(other)


@pytest.mark.parametrize("ids", [["m0"], pytest.param(["m29"], marks=pytest.mark.ci), ["m3", "m11", "m20"]])
def test_the_others_are_rated_as_if_an_annulled_match_had_not_been(
    store: Store, tmp_path: Path, ids: list[str]
) -> None:
    before = ladders(store)
    assert store.write(annul_matches, ids).matches == len(ids)
    assert ladders(store) == without(tmp_path, *ids)
    assert ladders(store) != before
    assert list(store.iterate(check_database)) == []
    assert store.write(rebuild_ratings) == 0
    assert store.write(annul_matches, ids, undo=True).matches == len(ids)
    assert ladders(store) == before
    assert list(store.iterate(check_database)) == []


@pytest.mark.parametrize("undo", [False, True])
def test_what_is_stored_while_ratings_are_computed_is_rated_by_the_new_ones(
    store: Store, tmp_path: Path, undo: bool
) -> None:
    if undo:
        store.write(annul_matches, ["m3", "m11"])
    later = [
        [result("first", ("eve", "ann"), version="9"), result("unrated", ("ann", "eve"), rated=False)],
        [result("second", ("bob", "eve"), pool=TOE), result("third", ("ann", "bob"), (2, 1))],
    ]
    annulling = store.read(AnnulmentPlan, ["m3", "m11"], undo=undo)
    for some in later:
        store.read(annulling.advance)
        finish(store, *some)
    assert store.write(annulling.save) == AnnulmentOutcome(matches=2, pools=[NIM, TOE])
    with closing(Store.open(tmp_path / "at-once.db")) as other:
        season(other)
        finish(other, *later[0], *later[1])
        if not undo:
            other.write(annul_matches, ["m3", "m11"])
        assert ladders(store) == ladders(other)
    assert list(store.iterate(check_database)) == []
    assert store.write(rebuild_ratings) == 0


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.ci) for seed in (1, 2))])
def test_summaries_follow_whatever_is_annulled_in_whatever_order(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    with closing(Store.open(tmp_path / "arena.db")) as store:
        played = []
        for number in range(40):
            tournament = chance.choice([None, None, "t1", "t2"])
            bots = chance.sample(["ann", "bob", "cid", "dan", "eve"], chance.choice([2, 3]))
            played.append(
                result(
                    f"m{number}",
                    bots,
                    [1, *chance.choices([1, 2], k=len(bots) - 1)],
                    pool=chance.choice([NIM, TOE]),
                    version=chance.choice(["", "1", "2"]),
                    reason=chance.choice(["win", "timeout"]),
                    tournament=tournament,
                    place=None if tournament is None else number,
                )
            )
        finish(store, *played[:15])
        store.write(start_season, "second")
        finish(store, *played[15:])
        for _ in range(4):
            some = [f"m{number}" for number in chance.sample(range(40), chance.choice([1, 5, 30]))]
            store.write(annul_matches, some, undo=chance.random() < 0.4)
            assert list(store.iterate(check_database)) == []
        store.write(annul_matches, [f"m{number}" for number in range(40)])
        assert ladders(store) == {}
        assert list(store.iterate(check_database)) == []


@pytest.mark.parametrize(
    "decide",
    [
        lambda connection: annul_matches(connection, ["m3"]),
        lambda connection: annul_matches(connection, ["m11"], undo=True),
        lambda connection: start_season(connection, "second"),
        rebuild_ratings,
    ],
    ids=["annulled", "taken back", "season", "rebuilt"],
)
def test_what_was_computed_before_somebody_else_decided_what_is_rated_is_not_saved(
    store: Store, decide: Callable[[Connection], object]
) -> None:
    store.write(annul_matches, ["m11"])
    annulling = store.read(AnnulmentPlan, ["m20"])
    finish(store, result("meanwhile"))
    store.read(annulling.advance)
    store.write(decide)
    decided = ladders(store)
    with pytest.raises(RatingDecisionsChanged):
        store.write(annulling.save)
    assert ladders(store) == decided
    assert list(store.iterate(check_database)) == []


def test_an_annulment_that_fails_in_its_midst_changes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = ladders(store)
    with monkeypatch.context() as patch:

        def fail(*words: object) -> None:
            raise ZeroDivisionError

        patch.setattr("arena.store.finish.save_tallies", fail)
        with pytest.raises(ZeroDivisionError):
            store.write(annul_matches, ["m3"])
    assert ladders(store) == before
    assert list(store.iterate(check_database)) == []


def test_an_annulled_match_is_kept_marked_and_unrated(store: Store) -> None:
    store.write(annul_matches, ["m3"])
    with closing(Reader.open(store.database)) as reader:
        match = reader.read(result_of, "m3")
        assert match is not None
        assert (match.rated, match.pool, match.annulled) == (False, None, NIM)
        assert [
            row.match for row in reader.read(search_matches, Search(bot=match.seats[0].bot, pool="nim/unrated")).rows
        ] == ["m3"]
        assert reader.read(record_of, "m3") == b"m3"


def test_all_matches_of_a_bot_are_annulled_or_those_since_a_time(store: Store) -> None:
    late = result("late", ("dan", "eve"), finished="2026-02-01T00:00:00.000Z")
    finish(store, late, result("unrated", ("dan", "eve"), rated=False))
    assert store.write(annul_matches, bot="DAN", since="2026-02-01T00:00:00.000Z") == AnnulmentOutcome(
        matches=1, pools=[NIM]
    )
    assert "eve" not in [row.bot for row in store.read(leaderboard_of, NIM)]
    mine = [one.match for one in list(store.iterate(iter_results, "dan")) if one.rated]
    assert store.write(annul_matches, ["m3", mine[0]], "dan").matches == len({"m3", *mine})
    assert all("dan" not in [row.bot for row in store.read(leaderboard_of, pool)] for pool in store.read(rated_pools))
    assert store.write(annul_matches, bot="dan").matches == 0
    assert store.write(annul_matches, bot="dan", undo=True).matches == len(mine) + 1
    assert list(store.iterate(check_database)) == []


@SQLITE_ALONE
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
    before = ladders(store)
    with pytest.raises(UsageFault, match=f"^{says}$"):
        store.write(annul_matches, ids, bot)
    assert ladders(store) == before


def test_with_a_season_ratings_begin_anew_and_earlier_ladders_stay(store: Store) -> None:
    before = {pool: store.read(leaderboard_of, pool) for pool in store.read(rated_pools)}
    store.write(start_season, "autumn")
    assert store.read(rated_pools) == []
    assert store.read(standings_of, "ann") == {}
    assert list(store.iterate(check_database)) == []
    finish(store, result("new", ("bob", "ann")))
    assert [(row.bot, row.played) for row in store.read(leaderboard_of, NIM)] == [("bob", 1), ("ann", 1)]
    assert store.read(season_leaderboards, "First") == before
    assert store.read(season_leaderboards, "autumn") == {NIM: store.read(leaderboard_of, NIM)}
    assert store.read(season_leaderboards, "first", "tictactoe") == {TOE: before[TOE]}
    assert [(one.season, one.matches) for one in store.read(list_seasons)] == [("first", 30), ("autumn", 1)]
    assert list(store.iterate(check_database)) == []
    assert store.write(rebuild_ratings) == 0
    with closing(Reader.open(store.database)) as reader:
        assert [point.match for point in reader.read(rating_history, "ann", NIM)] == ["new"]
        assert [len(row.curve) for row in reader.read(leaderboard_page, NIM).rows] == [1, 1]


def test_a_match_of_an_earlier_season_changes_that_ladder_alone(store: Store, tmp_path: Path) -> None:
    store.write(start_season, "second")
    finish(store, result("one", ("bob", "ann")))
    store.write(start_season, "third")
    finish(store, result("two", ("cid", "ann")))
    now, second = store.read(leaderboard_of, NIM), store.read(season_leaderboards, "second")
    store.write(annul_matches, ["m3"])
    assert store.read(leaderboard_of, NIM) == now
    assert store.read(season_leaderboards, "second") == second
    then = [(row.bot, round(row.mu, 6)) for row in store.read(season_leaderboards, "first")[NIM]]
    assert then == [row[:2] for row in without(tmp_path, "m3")[NIM]]
    assert list(store.iterate(check_database)) == []
    store.write(annul_matches, ["two"])
    assert (store.read(leaderboard_of, NIM), list(store.iterate(check_database))) == ([], [])


@SQLITE_ALONE
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("SECOND", "there was a season SECOND already: choose another name"),
        ("first", "there was a season first already: choose another name"),
        ("a b", "'a b' is no name for a season: "),
    ],
)
def test_a_season_needs_a_name_of_its_own(store: Store, name: str, says: str) -> None:
    store.write(start_season, "second")
    finish(store, result("new"))
    with pytest.raises(UsageFault, match=f"^{says}"):
        store.write(start_season, name)
    assert store.read(leaderboard_of, NIM) != []
    with pytest.raises(UsageFault, match="there is no season 'third': one of first, second"):
        store.read(season_leaderboards, "third")
