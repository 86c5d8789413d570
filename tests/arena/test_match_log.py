"""The log of results: every match is in it once it is stored, and it is only added to, whatever becomes of them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlalchemy import Connection

from arena.store.annulment import annul_matches
from arena.store.database import StoreError
from arena.store.finish import finish_matches
from arena.store.integrity_check import check_database
from arena.store.match_log import DamagedLog, log_head, log_page, prove_consistency, prove_inclusion
from arena.store.result_queries import result_of
from arena.store.store import Reader, Store
from arena.store.thinning import Retention, find_removable, remove_all, remove_records
from arena.transparency_log.signed_log import SignedTreeHead, check_consistency, check_head, check_inclusion
from arena.web.site import Site
from commands import Done, call
from databases import EVERY_DATABASE, alter
from independent_client import canonical, sha256
from protocol.errors import BadRecord, UsageFault
from seasons import finish, result
from stored_matches import storable
from web_client import answer, served

pytestmark = EVERY_DATABASE

NO_KEY = "the key that signs the log is missing, or is none"


@pytest.fixture
def store(store: Store) -> Store:
    """A store with three matches, of which the second is not rated."""
    finish(store, result("m1"), result("m2", rated=False))
    finish(store, replace(result("m3", ("bob", "ann")), digest="cd" * 32))
    return store


def head(store: Reader) -> SignedTreeHead:
    found = store.read(log_head)
    assert found is not None
    return found


def test_matches_are_entered_in_their_order_with_their_digests_and_pools(store: Store) -> None:
    page = store.read(log_page, limit=2)
    assert [(entry.number, entry.match, entry.digest[:4], entry.pool) for entry in page.rows] == [
        (1, "m1", "abab", "nim/classic"),
        (2, "m2", "abab", None),
    ]
    rest = store.read(log_page, after=page.next)
    assert ([(entry.number, entry.match) for entry in rest.rows], rest.next, rest.total) == ([(3, "m3")], None, 3)


def test_the_head_is_the_merkle_root_of_the_entries_as_the_document_has_it(store: Store) -> None:
    leaves = [
        sha256(b"\0", canonical({name: getattr(entry, name) for name in entry.__struct_fields__}))
        for entry in store.read(log_page).rows
    ]
    assert head(store).root == sha256(b"\1", sha256(b"\1", leaves[0], leaves[1]), leaves[2]).hex()
    check_head(head(store))


def test_every_match_has_a_proof_and_what_is_changed_in_it_is_found(store: Store) -> None:
    for match in ("m1", "m2", "m3"):
        proof = store.read(prove_inclusion, match)
        assert proof is not None
        check_inclusion(proof, head(store).key)
        for entry in (replace(proof.entry, digest="00" * 32), replace(proof.entry, pool="nim/sticks")):
            with pytest.raises(BadRecord, match=f"does not lead from match {match} to the root"):
                check_inclusion(replace(proof, entry=entry))
        with pytest.raises(BadRecord, match="is not signed by the key"):
            check_inclusion(replace(proof, head=replace(proof.head, size=proof.head.size + 1)))
        with pytest.raises(BadRecord, match="not by 0000"):
            check_inclusion(proof, "00" * 32)
    assert store.read(prove_inclusion, "m4") is None


def test_the_log_goes_on_from_what_it_was_with_the_same_key(store: Store) -> None:
    before = head(store)
    finish(store, *(result(f"n{number}") for number in range(5)))
    told = store.read(prove_consistency, before.size)
    assert (told.root, told.head.size, told.head.key) == (before.root, 8, before.key)
    check_consistency(told, before.key)
    with pytest.raises(BadRecord, match="does not continue that of 3"):
        check_consistency(replace(told, root="00" * 32))
    assert store.read(prove_consistency, 2, before.size).head == before
    for size, of, said in ((0, None, "size is 0"), (9, None, "size is 9"), (4, 3, "size is 4"), (1, 9, "of is 9")):
        with pytest.raises(UsageFault, match=f"{said}: the log has {of if of == 3 else 8} entries"):
            store.read(prove_consistency, size, of)


def test_what_becomes_of_matches_later_changes_no_entry(store: Store) -> None:
    before = head(store)
    store.write(annul_matches, ["m1", "m3"])
    remove_all(store, remove_records, store.read(find_removable, Retention(unrated_days=1, rated_days=1)))
    assert head(store) == before
    assert list(store.iterate(check_database)) == []
    store.write(annul_matches, ["m1"], undo=True)
    assert head(store) == before


def test_a_match_that_is_handed_in_twice_or_was_not_stored_after_all_has_no_entry_of_its_own(store: Store) -> None:
    before = head(store)
    finish(store, result("m1"))

    def fail(connection: Connection) -> None:
        finish_matches(connection, [storable(result("m4"), b"")])
        raise StoreError("no more room")

    with pytest.raises(StoreError):
        store.write(fail)
    assert head(store) == before
    assert list(store.iterate(check_database)) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "UPDATE matches SET digest = replace(digest, 'ab', 'ef') WHERE id = 'm1'",
            [
                "the log's entry for match m1 does not follow from its result",
                "the log's hashes at match m2 do not follow from the entries before",
            ],
        ),
        (
            "UPDATE matches SET finished = '2026-01-01T00:00:08.000Z' WHERE id = 'm3'",
            ["the log's entry for match m3 does not follow from its result"],
        ),
        ("DELETE FROM match_log WHERE number = 3", ["the log has no entry for match m3"]),
        (
            "DELETE FROM log_keys",
            ["the key that signs the log is missing, or is none: `arena db log-key --new` makes another"],
        ),
    ],
    ids=["digest", "end", "entry", "key"],
)
def test_what_was_changed_behind_the_log_is_found(store: Store, change: str, said: list[str]) -> None:
    store.write(lambda connection: connection.exec_driver_sql(change).rowcount)
    assert [line for line in store.iterate(check_database) if "log" in line] == said


def test_an_entry_is_made_again_where_the_next_result_cannot_follow_without_it(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    before = head(store)
    alter(store.database, "DELETE FROM match_log WHERE number = 2")
    finish(store, result("m4"))
    assert store.read(result_of, "m4") is not None
    assert "lacked entries from number 2 on" in caplog.text
    assert store.read(prove_consistency, before.size).root == before.root
    assert list(store.iterate(check_database)) == []


def test_a_lost_entry_of_old_is_made_again_by_a_command(store: Store, tmp_path: Path) -> None:
    before = head(store)
    alter(store.database, "DELETE FROM match_log WHERE number = 1")
    with pytest.raises(DamagedLog, match="the log has no entry number 1: `arena db check` says"):
        store.read(prove_inclusion, "m2")
    store.close()
    assert "1 entry that the log lacked restored" in call("arena", "db", "rebuild-ratings", "--data", str(tmp_path)).out
    with closing(Reader.open(tmp_path / "arena.db")) as reader:
        assert head(reader) == before


def test_where_matches_are_missing_the_log_ends_and_results_are_stored_all_the_same(store: Store) -> None:
    alter(
        store.database,
        "DELETE FROM match_log WHERE number > 1",
        "DELETE FROM seats WHERE match = 2",
        "DELETE FROM records WHERE match = 2",
        "DELETE FROM matches WHERE number = 2",
    )
    finish(store, result("m4"))
    assert store.read(result_of, "m4") is not None
    assert head(store).size == 1
    with pytest.raises(DamagedLog, match="match m4 is not in the log: `arena db check` says which before it"):
        store.read(prove_inclusion, "m4")


def test_without_its_key_the_log_says_so_until_the_operator_makes_another(store: Store, tmp_path: Path) -> None:
    before = head(store)

    def log_key(*options: str) -> Done:
        return call("arena", "db", "log-key", *options, "--data", str(tmp_path))

    assert log_key().out == f"{before.key}\n"
    alter(store.database, "DELETE FROM log_keys")
    finish(store, result("m4"))
    with served(Site(store)) as url:
        for asked in ("log/head", "log/consistency?size=1", "matches/m1/proof"):
            told = answer(f"{url}/api/v1/{asked}")
            assert (told.status, NO_KEY in told.text) == (500, True)
    assert NO_KEY in log_key().err
    store.close()
    made = log_key("--new").out.strip()
    with closing(Reader.open(tmp_path / "arena.db")) as reader:
        assert head(reader).key == made != before.key
        assert reader.read(prove_consistency, before.size).root == before.root


def test_an_arena_without_a_match_has_no_head(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "empty.db")) as empty:
        assert empty.read(log_head) is None
        assert empty.read(log_page).rows == []
        assert list(empty.iterate(check_database)) == []


def test_the_keys_of_two_arenas_differ(store: Store, tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "other.db")) as other:
        finish(other, result("m1"))
        assert head(other).key != head(store).key
