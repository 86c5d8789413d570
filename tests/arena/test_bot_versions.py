"""The store keeps the versions of hosted bots, and which of them plays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.hosting.limits import VersionLimits
from arena.store import bot_versions
from arena.store.bot_versions import (
    BotVersion,
    SingleFile,
    active_version,
    add_version,
    begin_check,
    choose_games,
    count_versions,
    end_check,
    find_passed_version,
    has_versions,
    hosted_bots,
    is_paused,
    latest_versions,
    list_versions,
    published_versions,
    read_content,
    read_totals,
    records_of_check,
    set_paused,
    set_published,
    source_of,
    unchecked_versions,
    use_version,
)
from arena.store.registry import anonymize_bot, register_bot, revoke_bots, token_hashes
from arena.store.store import Store
from databases import EVERY_DATABASE
from protocol.errors import UsageFault

pytestmark = EVERY_DATABASE


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "arena.db")
    store.write(register_bot, "Ann", "a" * 64)
    yield store
    store.close()


LIMITS = VersionLimits(per_day=100, kept=4, stored_bytes=1000)


def add(store: Store, digest: str, content: bytes = b"zip", limits: VersionLimits = LIMITS) -> BotVersion:
    return store.write(add_version, "ann", digest, content, '{"games": ["nim"]}', None, limits)


def check(store: Store, version: BotVersion, *, passed: bool = True) -> None:
    assert store.write(begin_check, version.id) is not None
    store.write(end_check, version.id, passed=passed, report="said\0so")


def active(store: Store) -> int | None:
    found = store.read(active_version, "ANN")
    return None if found is None else found.number


def test_the_newest_version_that_passed_plays_and_a_failed_one_replaces_nothing(store: Store) -> None:
    assert not store.read(has_versions, "ann")
    one, two = add(store, "1"), add(store, "2")
    assert (one.number, two.number, one.state) == (1, 2, "waiting")
    assert [(waiting.key, waiting.version) for waiting in store.read(unchecked_versions)] == [
        ("ann", one.id),
        ("ann", two.id),
    ]
    assert (active(store), store.read(hosted_bots)) == (None, [])
    assert store.read(has_versions, "ANN")
    check(store, one)
    check(store, two, passed=False)
    assert active(store) == 1
    assert [store.read(find_passed_version, "ann", number) is not None for number in (1, 2, 3)] == [True, False, False]
    (hosted,) = store.read(hosted_bots)
    assert (hosted.name, hosted.key, hosted.version, hosted.number, hosted.digest) == ("Ann", "ann", one.id, 1, "1")
    assert [(each.number, each.state) for each in store.read(list_versions, "ann")] == [(2, "failed"), (1, "passed")]
    assert "\0" not in store.read(list_versions, "ann")[0].report
    check(store, add(store, "3"))
    assert active(store) == 3


def test_a_check_that_has_ended_neither_begins_nor_ends_again(store: Store) -> None:
    passed, failed = add(store, "1"), add(store, "2")
    check(store, passed)
    check(store, failed, passed=False)
    assert [store.write(begin_check, one.id) for one in (passed, failed)] == [None, None]
    store.write(end_check, passed.id, passed=False, report="every runner was lost")
    store.write(end_check, failed.id, passed=True, report="")
    assert [each.state for each in store.read(list_versions, "ann")] == ["failed", "passed"]


def test_the_same_content_is_one_version_which_plays_again_or_is_checked_again(store: Store) -> None:
    one, two = add(store, "1"), add(store, "2")
    check(store, one, passed=False)
    check(store, two)
    assert add(store, "1").state == "waiting"
    check(store, one)
    assert active(store) == 1
    assert add(store, "2").number == 2
    assert active(store) == 2, "it was handed in again: a way back"
    assert len(store.read(list_versions, "ann")) == 2


def test_a_file_under_another_name_is_the_same_version(store: Store) -> None:
    def add_file(name: str, digest: str, of_source: str) -> BotVersion:
        file = SingleFile(name=name, digest=of_source)
        return store.write(add_version, "ann", digest, b"zip", '{"games": ["nim"]}', file)

    first = add_file("mine.py", "1", "same")
    again = add_file("copy.py", "2", "same")
    assert (again.number, again.source_file) == (1, "mine.py")
    assert add_file("mine.py", "3", "other").number == 2
    assert add(store, "4").number == 3
    assert len({first.id, again.id}) == 1


def test_an_owner_goes_back_to_a_version_that_passed_and_to_no_other(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bot_versions, "database_now", lambda connection: "2026-11-29T09:00:00.000Z")  # it stands still
    for digest, passes in (("1", True), ("2", True), ("3", False)):
        check(store, add(store, digest), passed=passes)
    waiting = add(store, "4")
    store.write(use_version, "ann", 1)
    assert active(store) == 1
    assert [hosted.number for hosted in store.read(hosted_bots)] == [1]
    store.write(use_version, "ann", 2)
    assert active(store) == 2
    for number, why in ((3, "failed its check"), (4, "is not checked"), (5, "does not exist")):
        with pytest.raises(UsageFault, match=f"version {number} of ann {why}: choose 2 or 1"):
            store.write(use_version, "ann", number)
    check(store, waiting)
    assert active(store) == 4


def test_a_paused_bot_does_not_run_until_it_is_resumed(store: Store) -> None:
    check(store, add(store, "1"))
    store.write(set_paused, "ann", paused=True)
    store.write(set_paused, "ann", paused=True)
    assert store.read(is_paused, "ANN")
    assert [one.is_paused for one in store.read(hosted_bots)] == [True], "it finishes its match"
    assert store.read(read_totals, 0).hosted == []
    assert active(store) == 1
    store.write(set_paused, "ann", paused=False)
    assert not store.read(is_paused, "ann")
    assert [one.is_paused for one in store.read(hosted_bots)] == [False]
    store.write(set_paused, "ann", paused=True)
    assert not store.read(is_paused, store.write(anonymize_bot, "ann"))


def test_an_owner_chooses_games_among_those_that_the_version_was_checked_for(store: Store) -> None:
    with pytest.raises(UsageFault, match="ann has no version that passed its check"):
        store.write(choose_games, "ann", ["nim"])
    check(store, store.write(add_version, "ann", "1", b"", '{"games": ["nim", "tictactoe"]}'))
    store.write(choose_games, "ann", ["tictactoe"])
    assert store.read(hosted_bots)[0].games == ("tictactoe",)
    with pytest.raises(UsageFault, match="was not checked for 'go': one of nim, tictactoe, or hand"):
        store.write(choose_games, "ann", ["go"])
    check(store, add(store, "2"))
    assert store.read(hosted_bots)[0].games == ("nim",), "a choice is for one version"
    store.write(use_version, "ann", 1)
    store.write(choose_games, "ann", [])
    assert store.read(hosted_bots)[0].games == ("nim", "tictactoe")


def test_a_source_is_for_everybody_as_long_as_it_is_published(store: Store) -> None:
    add(store, "1", b"source")
    assert store.read(published_versions, "ann") == []
    store.write(set_published, "ann", 1, published=True)
    assert [version.number for version in store.read(published_versions, "ANN")] == [1]
    assert store.read(source_of, "ann", 1) == b"source"
    assert store.read(source_of, "ann", 2) is None
    store.write(set_published, "ann", 1, published=False)
    assert store.read(published_versions, "ann") == []
    with pytest.raises(UsageFault, match="ann has no version 2"):
        store.write(set_published, "ann", 2, published=True)


def test_the_matches_of_a_check_are_kept_until_the_next_check(store: Store) -> None:
    version = add(store, "1")
    assert store.write(begin_check, version.id) is not None
    store.write(end_check, version.id, passed=False, report="", records={"nim": b"\x1f\x8b"})
    assert store.read(records_of_check, "ANN", 1) == {"nim": b"\x1f\x8b"}
    assert store.read(list_versions, "ann")[0].has_records
    check(store, add(store, "1"), passed=False)
    assert store.read(records_of_check, "ann", 1) == {}
    assert not store.read(list_versions, "ann")[0].has_records
    assert store.read(records_of_check, "ann", 2) == {}


def test_old_versions_go_but_never_the_one_that_plays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot_versions, "days_before_now", lambda connection, days: "9999")  # all are of days before
    first = add(store, "first")
    check(store, first)
    for number in range(LIMITS.kept + 3):
        check(store, add(store, str(number)), passed=False)
    add(store, "last")
    numbers = [each.number for each in store.read(list_versions, "ann")]
    assert numbers[-1] == 1
    assert len(numbers) == LIMITS.kept + 1
    assert active(store) == 1


def test_a_bot_has_a_bounded_number_of_new_versions_a_day(store: Store) -> None:
    two = VersionLimits(per_day=2)
    add(store, "1", limits=two)
    add(store, "2", limits=two)
    with pytest.raises(UsageFault, match="ann had 2 new versions within 24 hours"):
        add(store, "3", limits=two)
    add(store, "1", limits=two)
    with pytest.raises(UsageFault, match="there is no bot called bob"):
        store.write(add_version, "bob", "1", b"", "{}")


def test_all_programs_together_have_a_bounded_size(store: Store) -> None:
    mib = VersionLimits(stored_bytes=1024 * 1024)
    add(store, "1", bytes(700_000), mib)
    with pytest.raises(UsageFault, match="would take more than the 1 MiB"):
        add(store, "2", bytes(700_000), mib)
    add(store, "3", bytes(300_000), mib)
    add(store, "4", bytes(700_000), VersionLimits(stored_bytes=0))


def test_the_operator_is_told_who_handed_in_what_plays_and_what_failed(store: Store) -> None:
    store.write(register_bot, "Bob", "b" * 64)
    assert store.read(latest_versions, 5) == []
    check(store, add(store, "1"))
    check(store, add(store, "2"), passed=False)
    store.write(add_version, "bob", "3", b"0123456789", '{"games": ["nim"]}', None, LIMITS)
    told = [(one.bot, one.number, one.state, one.active) for one in store.read(latest_versions, 5)]
    assert told == [("Bob", 1, "waiting", None), ("Ann", 2, "failed", 1)]
    totals = store.read(read_totals, 1)
    assert ([one.key for one in totals.hosted], totals.waiting, totals.stored_bytes) == (["ann"], 1, 16)
    assert [(one.bot, one.number, one.why) for one in totals.failed] == [("Ann", 2, totals.failed[0].report)]


def test_content_is_read_in_parts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot_versions, "READ_CHUNK_BYTES", 4)
    add(store, "1", b"0123456789")
    parts = [store.read(read_content, "1", offset) for offset in (0, 4, 8, 10)]
    assert parts == [b"0123", b"4567", b"89", b""]
    assert store.read(read_content, "2", 0) == b""


def test_a_revoked_bot_runs_no_longer_and_a_deleted_one_leaves_nothing(store: Store) -> None:
    version = add(store, "1")
    check(store, version)
    assert store.read(token_hashes) == {"a" * 64}
    store.write(revoke_bots, ["ann"])
    assert store.read(token_hashes) == set()
    assert store.read(hosted_bots) == []
    assert store.read(count_versions, "ANN") == 1
    placeholder = store.write(anonymize_bot, "ann")
    assert store.read(count_versions, placeholder) == 0
    assert store.read(list_versions, placeholder) == []
    assert store.read(read_content, "1", 0) == b""
    assert store.write(begin_check, version.id) is None
