"""The views of the database: they say what the store says, and a check misses them."""

from __future__ import annotations

import pytest
from msgspec import json

from arena.store.annulment import annul_matches
from arena.store.integrity_check import check_database
from arena.store.luck_value import MatchLuck
from arena.store.match_luck import save_luck
from arena.store.result_queries import iter_results, leaderboard_of, rated_pools
from arena.store.seasons import start_season
from arena.store.store import Store
from arena.store.tournament_state import open_tournament
from databases import EVERY_DATABASE, alter, asked
from referee.result import match_points
from seasons import finish, result, season

pytestmark = EVERY_DATABASE


@pytest.fixture
def store(store: Store) -> Store:
    """A season of two, with a match of three, a void, an unrated one and one of a tournament."""
    season(store)
    finish(store, result("three", ("ann", "bob", "cid"), (1, 2, 2), pool="risk-campaign/grid"))
    finish(store, result("void", ranks=(1, 1), rated=False, reason="void"), result("unrated", rated=False))
    store.write(start_season, "autumn")
    finish(store, result("placed", tournament="t1", place=0), result("cheated"))
    store.write(save_luck, {"placed": MatchLuck("exact", 0.25)})
    store.write(annul_matches, ["cheated"])
    return store


def test_the_view_of_the_results_has_every_match_as_the_store_has_it(store: Store) -> None:
    rows = {row["match"]: row for row in asked(store.database, "SELECT * FROM match_results")}
    for stored in list(store.iterate(iter_results)):
        row = rows[stored.match]
        ranks = [seat.rank for seat in stored.seats]
        won = None if ranks.count(1) > 1 or stored.reason == "void" else stored.seats[ranks.index(1)].bot
        assert row["winner"] == won
        assert row["rated"] == stored.rated
        assert row["seats"] == len(stored.seats)
        assert row["bots"].split() == [seat.bot for seat in stored.seats]
        assert row["ranks"].split() == [str(rank) for rank in ranks]
        for name in (
            "game",
            "pool",
            "reason",
            "plies",
            "started",
            "finished",
            "tournament",
            "place",
            "annulled",
            "start",
        ):
            assert row[name] == getattr(stored, name)
    assert len(rows) == len(list(store.iterate(iter_results)))
    assert (rows["placed"]["luck"], rows["placed"]["luck_by"]) == (0.25, "exact")
    assert [rows[match]["season"] for match in ("m0", "unrated", "placed")] == ["first", "first", "autumn"]


def test_the_view_says_which_matches_share_a_start_as_the_store_does(store: Store) -> None:
    names = {}
    for paired in (True, False):
        told = json.encode({"game": "nim", "note": 'no "paired":true', "paired": paired}, order="sorted").decode()
        name = names[paired] = store.write(open_tournament, told, "7")[0]
        seats = (("ann", "bob"), ("bob", "ann"), ("ann", "bob"))
        finish(store, *(result(f"{name}-{at}", pair, tournament=name, place=at) for at, pair in enumerate(seats)))
    starts = asked(store.database, "SELECT match, start FROM match_results WHERE start IS NOT NULL ORDER BY number")
    name = names[True]
    assert [tuple(row.values()) for row in starts] == [(f"{name}-{at}", f"{name}/{at // 2}") for at in range(3)]
    assert {one.match: one.start for one in store.iterate(iter_results) if one.start} == {
        row["match"]: row["start"] for row in starts
    }


def test_the_view_of_the_seats_has_points_where_a_match_counts(store: Store) -> None:
    rows = asked(store.database, "SELECT * FROM match_seats ORDER BY number, seat")
    for stored in list(store.iterate(iter_results)):
        seats = [row for row in rows if row["match"] == stored.match]
        assert [row["bot"] for row in seats] == [seat.bot for seat in stored.seats]
        assert [row["rank"] for row in seats] == [seat.rank for seat in stored.seats]
        expected = [None] * len(seats) if stored.reason == "void" else match_points(stored)
        assert [row["points"] for row in seats] == expected


def test_the_view_of_the_ladder_is_the_leaderboard(store: Store) -> None:
    for pool in store.read(rated_pools):
        rows = asked(store.database, f"SELECT * FROM ladder WHERE pool = '{pool}' ORDER BY place")
        board = store.read(leaderboard_of, pool)
        assert [(row["place"], row["bot"]) for row in rows] == [(at, line.bot) for at, line in enumerate(board, 1)]
        for row, line in zip(rows, board, strict=True):
            assert row["score"] == pytest.approx(line.score)
            assert (row["played"], row["won"], row["drawn"], row["lost"]) == (
                *(line.played, line.wins, line.draws),
                line.losses,
            )


def test_a_check_tells_of_a_view_that_is_missing_or_another(store: Store) -> None:
    assert list(store.iterate(check_database)) == []
    changes = "DROP VIEW ladder", "DROP VIEW match_seats", "CREATE VIEW match_seats AS SELECT 1 AS seat"
    alter(store.database, *changes, "CREATE VIEW of_my_own AS SELECT 1")
    assert list(store.iterate(check_database)) == [
        "view match_seats is not the one of this version",
        "view ladder is missing",
    ]
