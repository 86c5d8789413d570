"""`arena db check` on databases damaged in one place: every kind of damage is a line, and never a traceback."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection

from arena.commands.db import check_match
from arena.replay.luck_report import record_luck
from arena.store.database import StoreError
from arena.store.database_copy import copy_database
from arena.store.database_url import open_database_url
from arena.store.dialect import execute
from arena.store.finish import finish_matches
from arena.store.integrity_check import check_database
from arena.store.luck_value import MatchLuck
from arena.store.match_luck import save_luck
from arena.store.rating_rebuild import rebuild_ratings
from arena.store.registry import add_bots
from arena.store.result_queries import record_of
from arena.store.sqlite_database import SqliteDatabase
from arena.store.store import Store
from arena.store.tournament_state import finish_tournament, open_tournament
from commands import Done, call
from databases import EVERY_DATABASE, POSTGRESQL_ALONE, SQLITE_ALONE, alter
from referee.effects import Resignation
from referee_table import Table
from stored_matches import finished

pytestmark = EVERY_DATABASE

Check = Callable[..., Done]
DAMAGE = [
    ("UPDATE matches SET plies = plies + 1 WHERE number = 2", "match m-1: plies is 1, the record says 0"),
    (
        "UPDATE matches SET reason = 'timeout' WHERE number = 2",
        "match m-1: reason is 'timeout', the record says 're",
    ),
    ("UPDATE matches SET digest = replace(digest, 'a', 'b') WHERE number = 2", "match m-1: digest is "),
    ("UPDATE matches SET finished = '2026' WHERE number = 2", "match m-1: finished is '2026', the record says "),
    ("UPDATE matches SET game = 'grundy' WHERE number = 2", "match m-1: game is 'grundy', the record says 'nim'"),
    ("UPDATE matches SET id = 'm-7' WHERE number = 2", "match m-7: match is 'm-7', the record says 'm-1'"),
    ("UPDATE matches SET tournament = 't' WHERE number = 2", "match m-1: tournament is 't', the record says None"),
    (
        "UPDATE matches SET config = '{' WHERE number = 2",
        "match number 2 can't be read: match m-1 is damaged: its c",
    ),
    (
        "UPDATE matches SET config = config || ' ' WHERE number = 2",
        "match m-1: its config is not stored in the canonical form {",
    ),
    ("UPDATE matches SET pool = NULL WHERE number = 2", "match m-1: it is unrated, but its seats have ratings"),
    (
        "UPDATE matches SET pool = 'nim/wide' WHERE number = 2",
        "match m-1: pool is 'nim/wide', the record says 'nim/c",
    ),
    ("UPDATE seats SET rank = 1 WHERE match = 2 AND seat = 0", "match m-1: seat 0: rank is 1, the record says 2"),
    ("UPDATE seats SET reason = 'win' WHERE match = 2 AND seat = 0", "match m-1: seat 0: reason is 'win', the rec"),
    ("UPDATE seats SET version = '2' WHERE match = 4 AND seat = 0", "match m-3: seat 0: version is '2', the recor"),
    (
        "UPDATE seats SET bot = 3 WHERE match = 4 AND seat = 0",
        "match m-3: seat 0: bot is 'eve', the record says 'a",
    ),
    ("UPDATE seats SET seat = 5 WHERE match = 4 AND seat = 1", "match m-3: its seats are 0, 5"),
    ("UPDATE seats SET mu_before = 1 WHERE match = 4", "match m-3: it is unrated, but its seats have ratings"),
    ("UPDATE seats SET mu_after = mu_after + 1 WHERE match = 3", "match m-2: seat 0: mu_after is "),
    ("UPDATE seats SET mu_after = NULL WHERE match = 3", "match m-2: seat 0: mu_after is None, the record says "),
    ("DELETE FROM seats WHERE match = 2 AND seat = 1", "match m-1: there are 1 seats, the record has 2"),
    ("DELETE FROM seats WHERE match = 2", "match number 2 has no seats"),
    ("DELETE FROM records WHERE match = 2", "match m-1 has no record"),
    ("UPDATE records SET data = substr(data, 1, 3) WHERE match = 2", "match m-1: the record is cut short: "),
    ("UPDATE matches SET record_bytes = NULL WHERE number = 2", "match m-1: its record has "),
    (
        "UPDATE records SET data = (SELECT data FROM records WHERE match = 1) WHERE match = 2",
        "match m-1: match is ",
    ),
    ("UPDATE seats SET moves = 9 WHERE match = 1 AND seat = 0", "match m-0: seat 0: moves is 9, the record says "),
    ("UPDATE seats SET thought_ms = 9 WHERE match = 1 AND seat = 0", "match m-0: seat 0: thought_ms is 9, the rec"),
    ("UPDATE seats SET moves = NULL WHERE match = 1 AND seat = 0", "match m-0: seat 0: moves is None, the record"),
    ("UPDATE bots SET name = 'an ant' WHERE id = 1", "bot number 1: 'an ant' is not a valid name"),
    ("UPDATE bots SET key = 'ANN' WHERE id = 1", "bot ann: its lookup key is 'ANN'"),
    ("UPDATE bots SET token_hash = 'abc' WHERE id = 3", "bot eve: its token's hash is not 64 hex digits"),
    ("UPDATE bots SET revoked = true WHERE id = 3", "bot eve: it is revoked and has a token"),
    ("UPDATE bots SET created = 'then' WHERE id = 3", "bot eve: created is 'then', which is not a time"),
    ("UPDATE tournaments SET seed = '1'", "tournament t"),
    ("UPDATE tournaments SET finished = 'soon'", "tournament t"),
    (
        "UPDATE matches SET luck = 0.25 WHERE number = 2",
        "match m-1: its luck is 0.25 by None: it must be points by a ",
    ),
    ("UPDATE matches SET luck_by = 'exact' WHERE number = 2", "match m-1: its luck is None by 'exact': it must be poi"),
    ("UPDATE matches SET node = 7 WHERE number = 2", "match m-1: it was played on node 7, which does not exist"),
    ("UPDATE matches SET archive = 7 WHERE number = 2", "match m-1: its record is in the database, but listed in file"),
    ("UPDATE matches SET number = 9 WHERE number = 4", "there are 4 matches, but their numbers go from 1 to 9"),
]
"""What is done to the database, and how the line begins that tells of it."""
OF_SUMMARIES = [
    ("UPDATE ratings SET mu = mu + 1 WHERE bot = 1", "1 standings do not follow from the results"),
    ("UPDATE ratings SET version = 'x' WHERE bot = 1", "1 standings do not follow from the results"),
    ("UPDATE seats SET pool = 'nim' WHERE match = 1", "seats: 2 rows do not follow from the results"),
    ("UPDATE seats SET outcome = 'drawn' WHERE match = 1", "seats: 2 rows do not follow from the results"),
    ("UPDATE seats SET tournament = 't' WHERE match = 1", "seats: 2 rows do not follow from the results"),
    ("UPDATE seats SET played = 7 WHERE match = 1", "seats: 2 rows do not follow from the results"),
    ("UPDATE counts SET matches = matches + 1", "counts: 3 rows do not follow from the results"),
    ("UPDATE tallies SET thought_ms = -1 WHERE bot = 1", "tallies: "),
    ("UPDATE opponents SET losses = losses + 1 WHERE bot = 1", "opponents: "),
    ("DELETE FROM versions WHERE bot = 1", "versions: "),
    ("UPDATE versions SET last = 1", "versions: "),
    ("DELETE FROM encounters WHERE match = 1", "encounters: 2 rows do not follow from the results"),
    ("INSERT INTO hours VALUES ('2026-01-01T07', 1, 1)", "hours: 1 rows do not follow from the results"),
]
"""The same where the database compares rows, each kind by statements of its own."""
OF_WRONG_TYPES = [
    ("UPDATE bots SET approved = 7 WHERE id = 3", "table bots: approved is neither 0 nor 1 in 1 rows"),
    ("UPDATE matches SET plies = 'many' WHERE number = 2", "match m-1: plies is 'many', the record says 0"),
    ("UPDATE matches SET id = x'ff' WHERE number = 2", "match "),
    (
        "UPDATE matches SET reason = CAST(x'ff' AS TEXT) WHERE number = 2",
        "match number 2 can't be read: Could not ",
    ),
    ("UPDATE records SET data = NULL WHERE match = 2", ""),
    ("UPDATE ratings SET mu = 'good' WHERE bot = 1", ""),
    ("INSERT INTO records VALUES (77, x'00')", "table records, row 77: refers to a missing row of matches"),
    ("UPDATE bots SET revoked = 9 WHERE id = 3", "table bots: revoked is neither 0 nor 1 in 1 rows"),
    (
        "UPDATE matches SET luck = 'much', luck_by = 'exact' WHERE number = 2",
        "match m-1: its luck is 'much' by 'exa",
    ),
]
"""The same that a server keeps from happening."""
PREVENTED_BY_SQLITE = ["UPDATE records SET data = NULL WHERE match = 2"]
"""Those of the lists that SQLite keeps from happening."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with three rated matches and an unrated one, a token and a tournament."""
    file = tmp_path_factory.mktemp("sound") / "arena.db"
    store = Store.open(file)
    for number in range(4):
        table = Table(match=f"m-{number}", rated=number < 3).begin()
        if number == 1:
            table.send(Resignation(0))
        store.write(finish_matches, [finished(table.finish_at_random())])
    store.write(add_bots, {"eve": "ab" * 32})
    store.write(finish_tournament, store.write(open_tournament, '{"game":"nim"}', None)[0])
    store.close()
    return file


@pytest.fixture
def file(sound: Path, tmp_path: Path, database_kind: str) -> Path:
    """The same, for a test alone."""
    file = tmp_path / "arena.db"
    if database_kind == "sqlite":
        shutil.copy(sound, file)
    else:
        alter(file, "DROP SCHEMA arena CASCADE")
        copy_database(SqliteDatabase(sound), open_database_url(file))
    return file


@pytest.fixture
def check(file: Path) -> Check:
    """Run `arena db check` with these words on the copy."""
    return partial(call, "arena", "db", "check", "--db", str(file))


def test_a_sound_database_is_said_to_be_sound(check: Check, file: Path, database_kind: str) -> None:
    looked_at = "the file and its rows are" if database_kind == "sqlite" else "its rows are"
    said = f"{file} is sound: {looked_at} intact, every result agrees with its record"
    assert check() == (0, f"{said}, every record verifies, and the ratings follow from the results\n", "")
    assert check("--quick") == (0, f"{said}, and the ratings follow from the results\n", "")


def test_damage_is_found_and_told_in_lines(file: Path, database_kind: str) -> None:
    prevented = []
    with closing(Store.open(file)) as store:
        # What Python compares is the same on a server: some of it is enough there.
        told = DAMAGE + OF_WRONG_TYPES if database_kind == "sqlite" else DAMAGE[::9]
        for damage, complaint in told + OF_SUMMARIES:
            try:
                with pytest.raises(Undone):
                    store.write(found_after, damage, complaint)
            except StoreError:
                prevented.append(damage)
    assert prevented == (PREVENTED_BY_SQLITE if database_kind == "sqlite" else [])


@pytest.mark.parametrize(("damage", "complaint"), [DAMAGE[0], OF_WRONG_TYPES[3]])
@SQLITE_ALONE
def test_the_command_prints_a_line_for_each_fault_and_fails(
    check: Check, file: Path, damage: str, complaint: str
) -> None:
    alter(file, damage)
    code, out, err = check("--quick")
    assert code == 1
    assert any(line.startswith(complaint) for line in out.splitlines()), out
    assert err.startswith(f"arena: {file} has ")
    assert err.count("\n") == 1


@POSTGRESQL_ALONE
def test_a_server_takes_nothing_of_a_wrong_type(file: Path) -> None:
    with closing(Store.open(file)) as store:
        for damage, _ in OF_WRONG_TYPES:
            if "x'" not in damage:  # which is text there
                with pytest.raises(StoreError):
                    store.write(execute, damage)


class Undone(Exception):
    """Takes a change back."""


def found_after(connection: Connection, damage: str, complaint: str) -> None:
    """Damage the database, hold the complaint to what a check finds, and take the damage back."""
    sqlite = connection.dialect.name == "sqlite"
    execute(connection, "PRAGMA defer_foreign_keys = ON" if sqlite else "SET LOCAL session_replication_role = replica")
    execute(connection, damage.replace("{", "{{"))
    found = list(check_database(connection, partial(check_match, quick=True)))
    assert any(line.startswith(complaint) for line in found), (damage, found)
    raise Undone


def test_a_match_that_is_gone_without_a_trace_leaves_a_gap(check: Check, file: Path) -> None:
    for number in (3, 4):
        alter(file, *(f"DELETE FROM {table} WHERE match = {number}" for table in ("seats", "records")))
    alter(file, "DELETE FROM match_log WHERE number > 2")
    alter(file, "DELETE FROM matches WHERE number = 4", "UPDATE matches SET number = 4 WHERE number = 3")
    assert "there are 3 matches, but their numbers go from 1 to 4: some are missing" in check()[1]


def test_a_record_that_was_changed_together_with_its_row_does_not_verify(check: Check, file: Path) -> None:
    with closing(Store.open(file)) as store:
        text = store.read(record_of, "m-1")
    assert text is not None
    changed = gzip.compress(gzip.decompress(text).replace(b'"reason":"resigned"', b'"reason":"timeout"'))
    words = {"record": changed, "size": len(changed)}
    with closing(Store.open(file)) as store:
        store.write(execute, "UPDATE records SET data = :record WHERE match = 2", words)
        store.write(execute, "UPDATE matches SET reason = 'timeout', record_bytes = :size WHERE number = 2", words)
        store.write(rebuild_ratings)
    assert check("--quick")[0] == 0
    code, out, _ = check()
    assert (code, out.count("\n")) == (1, 1)
    assert out.startswith("match m-1: after ply 0: reason should be resigned, the footer says timeout"), out


@SQLITE_ALONE
@pytest.mark.parametrize("step", [10, pytest.param(1, marks=pytest.mark.nightly)])
def test_every_page_that_is_overwritten_is_told_in_lines(check: Check, file: Path, step: int) -> None:
    """Damage that no statement makes: whole pages of zeros; every page in CI, one of `step` elsewhere."""
    whole = file.read_bytes()
    for page in range(1, len(whole) // 4096, step):
        file.write_bytes(whole[: page * 4096] + bytes(4096) + whole[(page + 1) * 4096 :])
        code, _, err = check("--quick")
        assert code == 1
        assert err.startswith("arena: ")
        assert err.count("\n") == 1


def test_luck_that_is_not_what_the_record_says_is_found_unless_its_value_is_of_another_version(
    tmp_path: Path, check: Check, file: Path
) -> None:
    table = Table("risk-duel", {"max_troops": 5}, match="m-9").begin()
    with closing(Store.open(file)) as store:
        store.write(finish_matches, [finished(table.finish_at_random())])
        luck = record_luck(table.record(), "features-1")
        assert luck is not None
        store.write(save_luck, {"m-9": MatchLuck("features-1", luck.total[0])})
    assert check()[0] == 0
    alter(file, "UPDATE matches SET luck = luck + 0.1 WHERE id = 'm-9'")
    assert check("--quick")[0] == 0
    code, out, _ = check()
    assert (code, out.count("\n")) == (1, 1)
    assert out.startswith("match m-9: its luck by features-1 is ")
    assert out.rstrip().endswith(f", but {luck.total[0]!r} from the record")
    alter(file, "UPDATE matches SET luck_by = 'features-0' WHERE id = 'm-9'")
    assert check()[0] == 0
