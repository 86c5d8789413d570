"""Databases of earlier versions, brought up to date: what is kept, what is computed again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from arena.ratings import rating_system
from arena.ratings.rating_system import RatingStanding
from arena.store import upgrade as upgrading
from arena.store.annulment import annul_matches
from arena.store.database import StoreError
from arena.store.database_url import open_database_url
from arena.store.feed_position import feed_range
from arena.store.integrity_check import check_database
from arena.store.leaderboards import rating_history
from arena.store.luck_value import MatchLuck
from arena.store.match_luck import luck_of_tournament, save_luck
from arena.store.match_search import Search, search_matches
from arena.store.registry import all_bots
from arena.store.result_queries import iter_results, leaderboard_of, rated_pools, record_of, standings_of
from arena.store.schema import APPLICATION_ID, SCHEMA_REVISIONS
from arena.store.seasons import season_leaderboards, start_season
from arena.store.store import Reader, Store
from arena.store.upgrade import MIGRATIONS_FOLDER, upgrade_database
from arena.store.views import VIEW_STATEMENTS
from protocol.games import load_game
from seasons import finish, result, season

TIME = "2026-01-01T00:00:00.000Z"
MATCHES: list[tuple[str, dict[str, Any], bool]] = [
    ("nim", {"preset": "classic"}, True),
    ("nim", {"preset": "sticks"}, True),
    ("nim", {"preset": "classic"}, True),
    ("nim", {"preset": "classic"}, False),
    ("risk-campaign", {"deal": "0f" * 16}, True),
    ("nim", {"heaps": [9]}, True),
]
"""In order: the game, the config, and whether it was rated. `ann` won them all."""


@contextmanager
def of_schema(file: Path, revision: str) -> Iterator[Connection]:
    """A new database of a schema, to be filled."""
    with closing(sqlite3.connect(file)) as marked:
        marked.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS_FOLDER))
    engine = open_database_url(file).connect()
    with engine.execution_options(begin="BEGIN IMMEDIATE").begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        yield connection
    engine.dispose()


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A database of the first schema, in which a game's matches were rated in one pool."""
    file = tmp_path / "arena.db"
    with of_schema(file, "0001") as connection:
        for at, name in enumerate(("ann", "bob"), 1):
            row = (at, name, name, "a" * 64, 0, TIME)
            connection.exec_driver_sql("INSERT INTO bots VALUES (?, ?, ?, ?, ?, ?)", row)
            rating = (at, "nim", 25.0, 3.0, 4, 4, 0, 0, "1")
            connection.exec_driver_sql("INSERT INTO ratings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rating)
        for number, (game, given, rated) in enumerate(MATCHES, 1):
            config_text = json.dumps(load_game(game, given).config, sort_keys=True, separators=(",", ":"))
            row = (number, f"m{number}", game, config_text, rated, "win", 9, "ab" * 32, TIME, TIME, None, None)
            connection.exec_driver_sql(f"INSERT INTO matches VALUES ({', '.join('?' * 12)})", row)
            for seat in (0, 1):
                row = (number, seat, seat + 1, "1", seat + 1, "win", *([20.0, 3.0, 21.0, 2.0] if rated else [None] * 4))
                connection.exec_driver_sql("INSERT INTO seats VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            connection.exec_driver_sql("INSERT INTO records VALUES (?, ?)", (number, b"record"))
    return file


def test_every_rated_match_is_rated_again_in_the_pool_of_its_preset(first: Path) -> None:
    assert upgrade_database(open_database_url(first)) == ("0001", SCHEMA_REVISIONS[-1])
    with closing(Store.open(first)) as store:
        assert [(found.match, found.pool, found.rated) for found in reversed(list(store.iterate(iter_results)))] == [
            ("m1", "nim/classic", True),
            ("m2", "nim/sticks", True),
            ("m3", "nim/classic", True),
            ("m4", None, False),
            ("m5", "risk-campaign/grid", True),
            ("m6", "nim", True),
        ]
        assert store.read(rated_pools) == ["nim", "nim/classic", "nim/sticks", "risk-campaign/grid"]
        assert store.read(rated_pools, "nim") == ["nim", "nim/classic", "nim/sticks"]
        once = rating_system.rate("nim/sticks", [RatingStanding(), RatingStanding()], ["1", "1"], [1, 2]).seats[0]
        assert store.read(standings_of, "ann")["nim/sticks"] == RatingStanding(once.mu_after, once.sigma_after, 1, "1")
        assert [row.played for row in store.read(leaderboard_of, "nim/classic")] == [2, 2]
        assert store.read(record_of, "m1") == b"record"
        assert [bot.name for bot in store.read(all_bots)] == ["ann", "bob"]
        assert list(store.iterate(check_database)) == []


def test_an_upgrade_that_fails_leaves_the_file_as_it_was(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(connection: object) -> int:
        raise StoreError("no more room")

    monkeypatch.setitem(upgrading._REBUILD_BY_REVISION, "0001", fail)
    with pytest.raises(StoreError, match="no more room"):
        upgrade_database(open_database_url(first))
    assert open_database_url(first).revision() == "0001"
    with closing(sqlite3.connect(first)) as left:
        assert left.execute("SELECT count(*) FROM ratings WHERE game = 'nim'").fetchone() == (2,)


def _before_the_seventh(earlier: sqlite3.Connection) -> None:
    """Take out what came with the matches that wait to be rated."""
    for table in ("awaiting", "failures", "actions"):
        earlier.execute(f"DROP TABLE {table}")
    for column in ("stem", "prefix"):
        earlier.execute(f"ALTER TABLE tournaments DROP COLUMN {column}")


def test_a_database_of_the_second_schema_gets_its_summaries_and_keeps_its_ratings(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        season(store)
        finish(store, result("unrated", rated=False), result("void", ranks=(1, 1), rated=False, reason="void"))
        finish(store, result("placed", tournament="t1", place=0))
        board = store.read(leaderboard_of, "nim/classic")
    with closing(sqlite3.connect(store.database.file)) as earlier:
        _before_the_fifteenth(earlier)
        _before_the_fourteenth(earlier)
        _before_the_thirteenth(earlier)
        _before_the_ninth(earlier)
        _before_the_eighth(earlier)
        for index in (
            *("matches_by_ending", "matches_by_tournament", "ratings_by_pool"),
            *("seats_by_ending", "seats_by_tournament", "seats_by_played"),
        ):
            earlier.execute(f"DROP INDEX {index}")
        for table in ("counts", "tallies", "opponents", "versions", "encounters", "hours", "incidents"):
            earlier.execute(f"DROP TABLE {table}")
        for column in ("moves", "thought_ms", "pool", "outcome", "tournament", "played"):
            earlier.execute(f"ALTER TABLE seats DROP COLUMN {column}")
        for column in ("luck", "luck_by"):
            earlier.execute(f"ALTER TABLE matches DROP COLUMN {column}")
        _before_the_sixth(earlier)
        _before_the_seventh(earlier)
        earlier.execute("UPDATE alembic_version SET version_num = '0002'")
        earlier.commit()
    assert upgrade_database(store.database) == ("0002", SCHEMA_REVISIONS[-1])
    with closing(Store.open(store.database)) as later:
        assert list(later.iterate(check_database)) == []
        assert later.read(leaderboard_of, "nim/classic") == board
    with closing(Reader.open(store.database)) as reader:
        assert reader.read(search_matches, Search(bot="ann", tournament="t1")).total == 1
        assert reader.read(rating_history, "ann", "nim/classic")[-1].match == "placed"


def test_matches_of_the_fourth_schema_have_no_luck_until_it_is_kept(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        finish(store, result("placed", tournament="t1", place=0))
    with closing(sqlite3.connect(store.database.file)) as earlier:
        _before_the_fifteenth(earlier)
        _before_the_fourteenth(earlier)
        _before_the_thirteenth(earlier)
        _before_the_ninth(earlier)
        _before_the_eighth(earlier)
        for column in ("luck", "luck_by"):
            earlier.execute(f"ALTER TABLE matches DROP COLUMN {column}")
        _before_the_sixth(earlier)
        _before_the_seventh(earlier)
        earlier.execute("UPDATE alembic_version SET version_num = '0004'")
        earlier.commit()
    assert upgrade_database(store.database) == ("0004", SCHEMA_REVISIONS[-1])
    with closing(Store.open(store.database)) as later:
        assert later.read(luck_of_tournament, "t1") == {}
        later.write(save_luck, {"placed": MatchLuck("exact", 0.25)})
        assert later.read(luck_of_tournament, "t1") == {"placed": MatchLuck("exact", 0.25)}
        assert list(later.iterate(check_database)) == []


def test_matches_of_the_fifth_schema_can_be_annulled_and_a_season_started(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        season(store)
        board = store.read(leaderboard_of, "nim/classic")
    with closing(sqlite3.connect(store.database.file)) as earlier:
        _before_the_fifteenth(earlier)
        _before_the_fourteenth(earlier)
        _before_the_thirteenth(earlier)
        _before_the_ninth(earlier)
        _before_the_eighth(earlier)
        _before_the_sixth(earlier)
        _before_the_seventh(earlier)
        earlier.execute("UPDATE alembic_version SET version_num = '0005'")
        earlier.commit()
    assert upgrade_database(store.database) == ("0005", SCHEMA_REVISIONS[-1])
    with closing(Store.open(store.database)) as later:
        assert list(later.iterate(check_database)) == []
        later.write(annul_matches, ["m3"])
        later.write(annul_matches, ["m3"], undo=True)
        later.write(start_season, "second")
        assert later.read(season_leaderboards, "first")["nim/classic"] == board
        assert list(later.iterate(check_database)) == []


def test_how_far_a_broker_is_stays_as_there_are_nodes(tmp_path: Path) -> None:
    with of_schema(tmp_path / "arena.db", "0012") as connection:
        connection.exec_driver_sql("INSERT INTO feed VALUES (7)")
    assert upgrade_database(open_database_url(tmp_path / "arena.db")) == ("0012", SCHEMA_REVISIONS[-1])
    with closing(Store.open(tmp_path / "arena.db")) as later:
        assert later.read(feed_range) == (7, 0)
        assert list(later.iterate(check_database)) == []


def _before_the_fifteenth(database: sqlite3.Connection) -> None:
    """Take away the log, who is a person, and what people call themselves."""
    for table in ("match_log", "log_keys", "retention_clock", "rating_decisions", "announcements", "wake_channel"):
        database.execute(f"DROP TABLE {table}")
    database.execute("ALTER TABLE nodes DROP COLUMN session")
    database.execute("DROP INDEX bots_with_display")
    database.execute("ALTER TABLE bots DROP COLUMN display")
    database.execute("ALTER TABLE bots DROP COLUMN person")


def _before_the_fourteenth(database: sqlite3.Connection) -> None:
    """Take away the files of old records."""
    database.execute("DROP INDEX matches_by_archive")
    database.execute("ALTER TABLE matches DROP COLUMN archive")
    database.execute("DROP TABLE archives")


def _before_the_thirteenth(database: sqlite3.Connection) -> None:
    """Take away the nodes."""
    for table in ("under_way", "nodes"):
        database.execute(f"DROP TABLE {table}")
    database.execute("ALTER TABLE matches DROP COLUMN node")


def _before_the_eighth(database: sqlite3.Connection) -> None:
    """Take away the views, and what came after them."""
    for table in ("feed", "payoffs"):
        database.execute(f"DROP TABLE {table}")
    for view in VIEW_STATEMENTS:
        database.execute(f"DROP VIEW {view}")
    for column in ("payoff", "rounds"):
        database.execute(f"ALTER TABLE seats DROP COLUMN {column}")


def _before_the_ninth(database: sqlite3.Connection) -> None:
    """Take away what is known of the size of records, and of names."""
    database.execute("DROP INDEX matches_by_record")
    database.execute("ALTER TABLE matches DROP COLUMN record_bytes")
    database.execute("ALTER TABLE bots DROP COLUMN renamed")


def _before_the_sixth(database: sqlite3.Connection) -> None:
    """Take away what the sixth schema has more than the fifth."""
    database.execute("DROP TABLE seasons")
    for column in ("annulled", "rerated"):
        database.execute(f"ALTER TABLE matches DROP COLUMN {column}")
