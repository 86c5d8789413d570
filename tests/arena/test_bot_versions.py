"""The store keeps the versions of hosted bots, and which of them plays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.store import bot_versions
from arena.store.bot_versions import (
    BotVersion,
    active_version,
    add_version,
    begin_check,
    end_check,
    find_passed_version,
    hosted_bots,
    list_versions,
    read_content,
    unchecked_versions,
)
from arena.store.registry import anonymize_bot, register_bot, revoke_bots
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


def add(store: Store, digest: str, content: bytes = b"zip") -> BotVersion:
    return store.write(add_version, "ann", digest, content, '{"games": ["nim"]}')


def check(store: Store, version: BotVersion, *, passed: bool = True) -> None:
    assert store.write(begin_check, version.id) is not None
    store.write(end_check, version.id, passed=passed, report="said\0so")


def active(store: Store) -> int | None:
    found = store.read(active_version, "ANN")
    return None if found is None else found.number


def test_the_newest_version_that_passed_plays_and_a_failed_one_replaces_nothing(store: Store) -> None:
    one, two = add(store, "1"), add(store, "2")
    assert (one.number, two.number, one.state) == (1, 2, "waiting")
    assert [(waiting.key, waiting.version) for waiting in store.read(unchecked_versions)] == [
        ("ann", one.id),
        ("ann", two.id),
    ]
    assert (active(store), store.read(hosted_bots)) == (None, [])
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


def test_old_versions_go_but_never_the_one_that_plays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot_versions, "MAX_PER_DAY", 100)
    monkeypatch.setattr(bot_versions, "days_before_now", lambda connection, days: "9999")  # all are of days before
    first = add(store, "first")
    check(store, first)
    for number in range(bot_versions.MAX_VERSIONS + 3):
        check(store, add(store, str(number)), passed=False)
    add(store, "last")
    numbers = [each.number for each in store.read(list_versions, "ann")]
    assert numbers[-1] == 1
    assert len(numbers) == bot_versions.MAX_VERSIONS + 1
    assert active(store) == 1


def test_a_bot_has_a_bounded_number_of_new_versions_a_day(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot_versions, "MAX_PER_DAY", 2)
    add(store, "1")
    add(store, "2")
    with pytest.raises(UsageFault, match="ann had 2 new versions within 24 hours"):
        add(store, "3")
    add(store, "1")
    with pytest.raises(UsageFault, match="there is no bot called bob"):
        store.write(add_version, "bob", "1", b"", "{}")


def test_content_is_read_in_parts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bot_versions, "READ_CHUNK_BYTES", 4)
    add(store, "1", b"0123456789")
    parts = [store.read(read_content, "1", offset) for offset in (0, 4, 8, 10)]
    assert parts == [b"0123", b"4567", b"89", b""]
    assert store.read(read_content, "2", 0) == b""


def test_a_revoked_bot_runs_no_longer_and_a_deleted_one_leaves_nothing(store: Store) -> None:
    version = add(store, "1")
    check(store, version)
    store.write(revoke_bots, ["ann"])
    assert store.read(hosted_bots) == []
    placeholder = store.write(anonymize_bot, "ann")
    assert store.read(list_versions, placeholder) == []
    assert store.read(read_content, "1", 0) == b""
    assert store.write(begin_check, version.id) is None
