"""The store: results once, ratings in order, tournaments that go on, and files that are not ours left alone."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_mock_engine
from sqlalchemy.schema import ExecutableDDLElement, SetColumnComment

from arena.ratings import rating_system
from arena.ratings.rating_system import RatingStanding
from arena.store.data_folder import DataFolderInUse, lock
from arena.store.database import SchemaMismatch, StoreError
from arena.store.finish import StorableMatch, finish_matches
from arena.store.integrity_check import check_database
from arena.store.rating_rebuild import rebuild_ratings
from arena.store.registry import (
    NameInUse,
    add_bots,
    all_bots,
    find_registered_bot,
    is_known_bot,
    revoke_bots,
    rotate_token,
)
from arena.store.result_queries import (
    iter_results,
    leaderboard_of,
    rated_pools,
    record_of,
    standings_of,
    tournament_results,
)
from arena.store.schema import SCHEMA_REVISIONS, enable_partial_indexes_on_postgresql, metadata
from arena.store.store import Store
from arena.store.stored_match import StoredMatch
from arena.store.tokens import generate_token, hash_token
from arena.store.tournament_state import find_seeds, find_similar_tournaments, finish_tournament, open_tournament
from arena.store.upgrade import MIGRATIONS_FOLDER, upgrade_database
from arena.store.views import VIEW_QUERIES
from databases import EVERY_DATABASE, alter, asked
from later_schema import FIRST, LATER, use_later_schema
from protocol.errors import ArenaFault
from referee.result import Ratings, Result
from seasons import result, season
from stored_matches import storable

pytestmark = EVERY_DATABASE


def finished(done: Result) -> StorableMatch:
    return storable(done, lambda ratings: f"{done.match} {'rated' if ratings else 'unrated'}".encode())


def test_a_rated_match_moves_both_standings(store: Store) -> None:
    ((ratings, _),) = store.write(finish_matches, [finished(result("m1"))])
    assert ratings == rating_system.rate("nim/classic", [RatingStanding(), RatingStanding()], ["1", "1"], [1, 2])
    assert store.read(standings_of, "ANN") == {"nim/classic": RatingStanding(*ratings_after(ratings, 0), 1, "1")}
    assert store.read(standings_of, "nobody") == {}


def ratings_after(ratings: Ratings | None, seat: int) -> tuple[float, float]:
    assert ratings is not None
    return ratings.seats[seat].mu_after, ratings.seats[seat].sigma_after


def test_the_record_is_closed_with_the_ratings_and_kept(store: Store) -> None:
    store.write(finish_matches, [finished(result("m1")), finished(result("m2", rated=False))])
    assert store.read(record_of, "m1") == b"m1 rated"
    assert store.read(record_of, "m2") == b"m2 unrated"
    assert store.read(record_of, "m3") is None


def test_an_unrated_match_leaves_the_standings(store: Store) -> None:
    assert store.write(finish_matches, [finished(result("m1", rated=False))]) == [StoredMatch(None, len("m1 unrated"))]
    assert store.read(standings_of, "ann") == {}
    assert store.read(leaderboard_of, "nim/classic") == []


def test_a_match_is_stored_and_rated_once(store: Store) -> None:
    both = result("m1"), result("m2", rated=False)
    (ratings, _), _ = store.write(finish_matches, list(map(finished, both)))
    before = store.read(standings_of, "ann")

    def close(_: Ratings | None) -> bytes:
        raise AssertionError("closed a second time")

    again = [storable(done, close) for done in both]
    assert store.write(finish_matches, again) == [StoredMatch(ratings), StoredMatch()]
    assert store.write(finish_matches, []) == []
    assert store.read(standings_of, "ann") == before
    assert len(list(store.iterate(iter_results))) == 2


def test_the_same_match_twice_in_a_batch_is_one(store: Store) -> None:
    one, two = store.write(finish_matches, [finished(result("m1")), finished(result("m1"))])
    assert one == two
    assert len(list(store.iterate(iter_results))) == 1


def test_a_batch_rates_as_single_matches_in_the_same_order_do(tmp_path: Path) -> None:
    batch = [finished(result(f"m{i}", ("ann", "bob"), ((1, 2), (2, 1))[i % 3 == 0])) for i in range(20)]
    together, apart = Store.open(tmp_path / "a.db"), Store.open(tmp_path / "b.db")
    one_by_one = [rated for one in batch for rated in apart.write(finish_matches, [one])]
    assert together.write(finish_matches, batch) == one_by_one
    assert together.read(standings_of, "bob") == apart.read(standings_of, "bob")
    together.close()
    apart.close()


def test_two_matches_on_one_place_of_a_tournament_are_refused_in_one_line(store: Store) -> None:
    store.write(finish_matches, [finished(result("m1", tournament="t1", place=0))])
    with pytest.raises(StoreError, match=r"(?i)unique constraint") as caught:
        store.write(finish_matches, [finished(result("m2", tournament="t1", place=0))])
    assert "\n" not in str(caught.value)


def test_a_new_version_is_remembered_and_raises_sigma_once(store: Store) -> None:
    for number in range(12):
        store.write(finish_matches, [finished(result(f"m{number}", version="1"))])
    settled = store.read(standings_of, "ann")["nim/classic"]
    ((changed, _),) = store.write(finish_matches, [finished(result("n1", version="2"))])
    ((again, _),) = store.write(finish_matches, [finished(result("n2", version="2"))])
    assert changed is not None
    assert again is not None
    assert changed.seats[0].sigma_before > settled.sigma
    assert again.seats[0].sigma_before == changed.seats[0].sigma_after


def test_the_leaderboard_sorts_by_the_conservative_score_and_counts(store: Store) -> None:
    for number in range(11):
        store.write(
            finish_matches,
            [finished(result(f"m{number}", ranks=(1, 2) if number else (1, 1), pool="tictactoe/classic"))],
        )
    store.write(finish_matches, [finished(result("x", ("Eve", "ann"), (2, 1), pool="tictactoe/classic"))])
    rows = store.read(leaderboard_of, "tictactoe/classic")
    assert [row.bot for row in rows] == ["ann", "Eve", "bob"] or [row.bot for row in rows] == ["ann", "bob", "Eve"]
    assert [row.score for row in rows] == sorted((row.score for row in rows), reverse=True)
    ann = rows[0]
    assert (ann.played, ann.wins, ann.draws, ann.losses, ann.few) == (12, 11, 1, 0, False)
    assert ann.score == rating_system.conservative_score(ann.mu, ann.sigma)
    assert {row.bot: row.few for row in rows} == {"ann": False, "bob": False, "Eve": True}
    assert store.read(rated_pools) == ["tictactoe/classic"]


def test_matches_are_found_by_bot_game_and_tournament_newest_first(store: Store) -> None:
    store.write(finish_matches, [finished(result("m1")), finished(result("m2", ("cid", "ann"), pool="grundy/large"))])
    store.write(finish_matches, [finished(result("m3", ("cid", "bob"), tournament="t1", place=0))])
    assert [found.match for found in list(store.iterate(iter_results))] == ["m3", "m2", "m1"]
    assert [found.match for found in list(store.iterate(iter_results, bot="ANN"))] == ["m2", "m1"]
    assert [found.match for found in list(store.iterate(iter_results, game="nim"))] == ["m3", "m1"]
    assert [found.match for found in list(store.iterate(iter_results, tournament="t1"))] == ["m3"]
    assert [found.match for found in list(store.iterate(iter_results, limit=1))] == ["m3"]
    assert list(store.iterate(iter_results, limit=2**64)) == list(store.iterate(iter_results))


def test_a_result_comes_back_as_it_was_stored(store: Store) -> None:
    original = result("m1", ("ann", "bob", "cid"), (2, 1, 2), tournament="t1", place=4)
    store.write(finish_matches, [finished(original)])
    assert list(store.iterate(iter_results)) == [original]


def test_rebuilding_gives_the_same_numbers(store: Store) -> None:
    season(store)
    before = {pool: store.read(leaderboard_of, pool) for pool in store.read(rated_pools)}
    assert list(store.iterate(check_database)) == []
    assert store.write(rebuild_ratings) == 0
    assert {pool: store.read(leaderboard_of, pool) for pool in store.read(rated_pools)} == before


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ("UPDATE seats SET mu_after = mu_after + 1 WHERE match = 3 AND seat = 1", "match m2, seat 1: the rating"),
        ("UPDATE seats SET sigma_before = NULL WHERE match = 3 AND seat = 0", "match m2, seat 0: the rating"),
        ("UPDATE ratings SET sigma = sigma / 2 WHERE bot = 1 AND pool = 'nim/classic'", "1 standings do not follow"),
        ("UPDATE ratings SET wins = wins + 1 WHERE bot = 1 AND pool = 'nim/classic'", "1 standings do not follow"),
        ("DELETE FROM ratings WHERE bot = 1 AND pool = 'nim/classic'", "1 standings do not follow"),
    ],
)
def test_changed_ratings_are_reported_and_rebuilt(store: Store, damage: str, complaint: str) -> None:
    season(store)
    before = {pool: store.read(leaderboard_of, pool) for pool in store.read(rated_pools)}
    alter(store.database, damage)
    (found,) = list(store.iterate(check_database))
    assert found.startswith(complaint)
    assert store.write(rebuild_ratings) == 1
    assert {pool: store.read(leaderboard_of, pool) for pool in store.read(rated_pools)} == before
    assert list(store.iterate(check_database)) == []


def test_a_tournament_without_a_seed_goes_on_until_it_is_finished(store: Store) -> None:
    first, seed = store.write(open_tournament, '{"game":"nim"}', None)
    assert first[0] == "t"
    assert len(first) == 11
    assert store.write(open_tournament, '{"game":"nim"}', None) == (first, seed)
    assert store.write(open_tournament, '{"game":"grundy"}', None)[0] != first
    store.write(finish_tournament, first)
    assert store.write(open_tournament, '{"game":"nim"}', None)[0] != first


def test_of_unfinished_tournaments_the_newest_goes_on_whichever_way_its_time_is_written(store: Store) -> None:
    ids = [store.write(open_tournament, "{}", seed)[0] for seed in ("1", "2", "3")]
    times = "2026-01-01T12:00:00.002+00:00", "2026-01-01T12:00:00.003Z", "2026-01-01T12:00:00.001Z"
    for name, time in zip(ids, times, strict=True):
        alter(store.database, f"UPDATE tournaments SET started = '{time}' WHERE id = '{name}'")
    assert store.write(open_tournament, "{}", None) == (ids[1], "2")
    alter(store.database, f"UPDATE tournaments SET started = '2026-01-01T12:00:00.004+00:00' WHERE id = '{ids[0]}'")
    assert store.write(open_tournament, "{}", None) == (ids[0], "1")


def test_tournaments_that_belong_together_go_on_under_a_seed_that_some_lack_or_have_not_finished(store: Store) -> None:
    parts = ['{"bots":["a","b"]}', '{"bots":["a","c"]}']
    assert store.read(find_seeds, parts) == (None, None)
    for seed in ("1", "2"):
        store.write(finish_tournament, store.write(open_tournament, parts[0], seed)[0])
    assert store.read(find_seeds, parts) == ("2", None)
    last = store.write(open_tournament, parts[1], "2")[0]
    assert store.read(find_seeds, parts) == ("2", None)
    store.write(finish_tournament, last)
    assert store.read(find_seeds, parts) == ("1", "2")
    assert store.read(find_seeds, parts[:1]) == (None, "2")


def test_every_time_in_the_database_is_written_alike(store: Store) -> None:
    store.write(finish_matches, [finished(result("m1"))])
    store.write(add_bots, {"cid": hash_token(generate_token())})
    store.write(finish_tournament, store.write(open_tournament, "{}", None)[0])
    times = [row["created"] for row in asked(store.database, "SELECT created FROM bots")]
    times += asked(store.database, "SELECT started, finished FROM tournaments")[0].values()
    assert len(times) == 5
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time) for time in times)


def test_a_tournament_is_found_again_by_its_arguments_and_seed(store: Store) -> None:
    name, seed = store.write(open_tournament, "{}", "7")
    assert seed == "7"
    store.write(
        finish_matches,
        [finished(result("m2", tournament=name, place=1)), finished(result("m1", tournament=name, place=0))],
    )
    store.write(finish_tournament, name)
    assert store.write(open_tournament, "{}", "7") == (name, "7")
    assert [found.match for found in store.read(tournament_results, name)] == ["m1", "m2"]
    assert store.write(open_tournament, "{}", "8")[0] != name


def test_tournaments_alike_but_for_some_arguments_are_found_the_newest_first(store: Store) -> None:
    told = {number: f'{{"bots": ["a", "b"], "rounds": {number}}}' for number in (1, 2, 3)}
    ids = [store.write(open_tournament, told[number], f"{number}")[0] for number in told]
    for number, name in enumerate(ids):
        alter(store.database, f"UPDATE tournaments SET started = '2026-01-0{9 - number}' WHERE id = '{name}'")
    store.write(open_tournament, '{"bots": ["a", "c"], "rounds": 1}', "1")
    store.write(finish_matches, [finished(result("m1", tournament=ids[1], place=0))])
    store.write(finish_tournament, ids[0])
    found = store.read(find_similar_tournaments, told[2], ("rounds",))
    assert found == [
        (ids[0], "1", told[1], 0, True),
        (ids[1], "2", told[2], 1, False),
        (ids[2], "3", told[3], 0, False),
    ]
    assert store.read(find_similar_tournaments, told[2], ()) == [found[1]]


def test_a_bot_is_known_by_its_name_in_any_case_and_its_token_by_a_hash_only(store: Store) -> None:
    token = generate_token()
    store.write(add_bots, {"Ann": hash_token(token)})
    known = store.read(find_registered_bot, "aNN")
    assert known is not None
    assert (known.name, known.token_hash, known.revoked) == ("Ann", hash_token(token), False)
    assert token not in str(asked(store.database, "SELECT * FROM bots"))
    assert store.read(find_registered_bot, "bob") is None
    with pytest.raises(NameInUse, match="a bot is called ANN already"):
        store.write(add_bots, {"ANN": hash_token(generate_token())})


def test_tokens_are_long_and_never_the_same() -> None:
    assert len({generate_token() for _ in range(50)}) == 50
    assert 16 <= len(generate_token()) <= 128


def test_no_token_looks_like_an_option_of_a_command() -> None:
    assert "-" not in {generate_token()[0] for _ in range(2000)}


def test_a_revoked_bot_has_no_token_until_it_gets_a_new_one(store: Store) -> None:
    store.write(add_bots, {"ann": "a" * 64})
    store.write(revoke_bots, ["ANN"])
    revoked = store.read(find_registered_bot, "ann")
    assert revoked is not None
    assert (revoked.revoked, revoked.token_hash) == (True, None)
    with pytest.raises(NameInUse):
        store.write(add_bots, {"ann": "b" * 64})
    store.write(rotate_token, "ann", "c" * 64)
    back = store.read(find_registered_bot, "ann")
    assert back is not None
    assert (back.revoked, back.token_hash) == (False, "c" * 64)


def test_a_bot_that_only_played_in_tournaments_may_be_registered_and_keeps_its_rating(store: Store) -> None:
    store.write(finish_matches, [finished(result("m1"))])
    assert store.read(find_registered_bot, "ann") is None
    assert store.read(is_known_bot, "ANN")
    assert [bot.token_hash for bot in store.read(all_bots)] == [None, None]
    store.write(add_bots, {"Ann": "a" * 64})
    assert store.read(find_registered_bot, "ann") is not None
    assert store.read(standings_of, "ann")["nim/classic"].matches == 1
    assert [bot.name for bot in store.read(all_bots)] == ["Ann", "bob"]


def test_a_reader_sees_the_last_batch_while_another_thread_writes(store: Store) -> None:
    is_known_bot: list[int] = []

    def close(_: Ratings | None) -> bytes:
        reader = threading.Thread(target=lambda: is_known_bot.append(len(list(store.iterate(iter_results)))))
        reader.start()
        reader.join()
        return b""

    store.write(finish_matches, [finished(result("m1"))])
    store.write(finish_matches, [storable(result("m2"), close)])
    assert is_known_bot == [1]


SCHEMA_DIGEST = "9016ae77bab624d7084d6c41408d087d1c42615acc713dc7a05a4e85491556d5"
"""The digest of what a new database has in the latest revision, on both kinds of database. A change of tables, indexes
or views has another one: it needs a revision with a migration, for which a database of the revision before is upgraded.
"""


def test_the_latest_revision_has_the_tables_that_it_began_with() -> None:
    enable_partial_indexes_on_postgresql()
    made = list(VIEW_QUERIES.values())

    def note(statement: ExecutableDDLElement, *_: Any, **__: Any) -> None:
        if not isinstance(statement, SetColumnComment):
            made.append(str(statement.compile(dialect=engine.dialect)))

    for url in ("sqlite://", "postgresql+psycopg://"):
        engine = create_mock_engine(url, note)
        metadata.create_all(engine, checkfirst=False)
    statements = sorted(" ".join(statement.split()) for statement in made)
    assert hashlib.sha256("\n".join(statements).encode()).hexdigest() == SCHEMA_DIGEST


def test_each_revision_has_a_migration() -> None:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS_FOLDER))
    walked = ScriptDirectory.from_config(config).walk_revisions()
    assert tuple(script.revision for script in walked)[::-1] == SCHEMA_REVISIONS


def test_a_newer_schema_is_refused_saying_what_to_do(store: Store) -> None:
    alter(store.database, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaMismatch, match="schema 9999, newer than this bot-arena knows: upgrade bot-arena"):
        Store.open(store.database)


def test_an_older_schema_is_upgraded_and_keeps_its_rows(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(finish_matches, [finished(result("m1"))])
    store.close()
    use_later_schema(monkeypatch, tmp_path / "migrations")
    assert upgrade_database(store.database) == (FIRST, LATER)
    assert asked(store.database, "SELECT DISTINCT nickname FROM bots") == [{"nickname": None}]
    upgraded = Store.open(store.database)
    assert [found.match for found in list(upgraded.iterate(iter_results))] == ["m1"]
    assert list(upgraded.iterate(check_database)) == []
    upgraded.close()


def test_an_upgrade_that_fails_changes_nothing(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(finish_matches, [finished(result("m1"))])
    use_later_schema(monkeypatch, tmp_path / "migrations", "op.execute('DELETE FROM records')", "op.execute('no SQL')")
    with pytest.raises(StoreError, match="syntax error"):
        upgrade_database(store.database)
    assert store.database.revision() == FIRST
    assert store.read(record_of, "m1") == b"m1 rated"
    assert "nickname" not in asked(store.database, "SELECT * FROM bots")[0]


def test_a_damaged_row_is_one_line(store: Store) -> None:
    store.write(finish_matches, [finished(result("m1"))])
    alter(store.database, "UPDATE matches SET config = '{'")
    with pytest.raises(StoreError, match="match m1 is damaged: its config is not JSON"):
        list(store.iterate(iter_results))


def test_a_second_holder_of_a_data_folder_is_refused_naming_the_first(tmp_path: Path) -> None:
    refused = pytest.raises(DataFolderInUse, match=f"in use by process {os.getpid()}: stop it")
    with lock(tmp_path / "data"), refused, lock(tmp_path / "data"):
        pass
    with lock(tmp_path / "data"):
        pass


def test_a_data_folder_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArenaFault, match="file can't be used: File exists"), lock(tmp_path / "file"):
        pass
