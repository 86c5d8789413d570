"""The store keeps the logs of hosted bots, within limits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from arena.store import bot_logs
from arena.store.bot_logs import add_log, fault_notes, find_logged, list_logs, logs_of_match, remove_old_logs
from arena.store.registry import anonymize_bot, register_bot, rename_bot
from arena.store.store import Store
from databases import EVERY_DATABASE
from protocol.match_logs import MatchLog, ProgramFault
from seasons import finish, result

pytestmark = EVERY_DATABASE

FAULT = ProgramFault(ply=3, what="ended with exit code 1", last_lines="ValueError: odd")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "arena.db")
    store.write(register_bot, "Ann", "a" * 64)
    store.write(register_bot, "bob", "b" * 64)
    yield store
    store.close()


def add(store: Store, match: str, text: str = "said", *faults: ProgramFault, bot: str = "ann") -> None:
    store.write(add_log, bot, 2, MatchLog(match=match, text=text, faults=faults))


def found(store: Store, search: str = "", limit: int = 50, bot: str = "ANN") -> list[str]:
    return [one.log.match for one in store.read(list_logs, bot, search, limit)]


def test_logs_are_listed_newest_first_and_found_by_their_text_and_faults(store: Store) -> None:
    add(store, "m-1", "opened with HEAP 2")
    add(store, "m-2", "lost\0", FAULT)
    add(store, "m-3", bot="bob")
    assert found(store) == ["m-2", "m-1"]
    assert found(store, limit=1) == ["m-2"]
    assert found(store, "heap") == ["m-1"]
    assert found(store, "Exit Code 1") == ["m-2"]
    assert found(store, bot="nobody") == []
    (log,) = store.read(logs_of_match, "ann", "m-2")
    assert (log.number, log.log.text, log.log.faults) == (2, "lost\0", (FAULT,))
    assert store.read(logs_of_match, "ann", "m-3") == []
    assert store.read(find_logged, "m-3", ["Ann", "Bob", "stranger"]) == ["Bob"]


def test_a_line_tells_in_how_many_matches_a_version_failed_and_how_in_the_last(store: Store) -> None:
    assert store.read(fault_notes, "ann") == {}
    add(store, "m-1", "said", FAULT)
    add(store, "m-2")
    add(store, "m-3", "said", FAULT, bot="bob")
    assert store.read(fault_notes, "ANN") == {
        2: "its program failed in match m-1: at ply 3 its program ended with exit code 1"
    }
    add(store, "m-4", "said", FAULT)
    assert store.read(fault_notes, "ann")[2].startswith("its program failed in 2 matches, last in m-4: at ply 3")


def test_a_log_that_comes_after_a_bot_was_renamed_is_not_shown_to_another_that_has_its_name_now(store: Store) -> None:
    finish(store, result("m-1", ("ann", "bob")))
    store.write(rename_bot, "ann", "anna")
    store.write(register_bot, "ann", "c" * 64)
    add(store, "m-1", "said by anna's program")
    assert found(store) == []
    add(store, "m-1", "said by bob's program", bot="bob")
    assert found(store, bot="bob") == ["m-1"]
    add(store, "m-2", "said in a match that is not stored yet")
    assert found(store) == ["m-2"]


def test_a_log_that_comes_twice_is_kept_once_and_parts_of_a_match_one_by_one(store: Store) -> None:
    for text in ("first runner", "first runner", "second runner"):
        add(store, "m-1", text)
    add(store, "m-9", bot="stranger")
    assert [log.log.text for log in store.read(logs_of_match, "ann", "m-1")] == ["first runner", "second runner"]


def test_the_oldest_logs_go_beyond_a_number_or_a_size(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    add(store, "m-0", bot="bob")
    monkeypatch.setattr(bot_logs, "MAX_LOGS", 3)
    for number in range(5):
        add(store, f"m-{number}")
    assert found(store) == ["m-4", "m-3", "m-2"]
    monkeypatch.setattr(bot_logs, "MAX_LOG_BYTES", 2500)
    for number in (7, 8, 9):
        add(store, f"m-{number}", Random(number).randbytes(500).hex())
    assert found(store) == ["m-9", "m-8", "m-7"]
    add(store, "m-10", Random(10).randbytes(1800).hex())
    assert found(store) == ["m-10"]
    assert found(store, bot="bob") == ["m-0"]


def test_old_logs_are_removed_unless_all_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    add(store, "m-1")
    assert store.write(remove_old_logs, 1) == 0
    monkeypatch.setattr(bot_logs, "days_before_now", lambda connection, days: "9999")
    assert store.write(remove_old_logs, 0) == 0
    assert store.write(remove_old_logs, 1) == 1
    assert found(store) == []


def test_the_logs_of_a_deleted_bot_go(store: Store) -> None:
    add(store, "m-1")
    placeholder = store.write(anonymize_bot, "ann")
    assert found(store, bot=placeholder) == []
