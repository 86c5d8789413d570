"""Journals on a real file system: torn lines, foreign files, a disk that is full."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import Mock

import msgspec
import pytest

from arena.host import journal as journals
from arena.host.journal import Journal, JournalFault
from own_game_records import known, play_on, table_of
from protocol.errors import BadRecord
from referee.record import AnyLine, Begun, Ply, Secret, write_line
from referee_table import Table


@pytest.fixture
def table() -> Table:
    return Table().begin().finish_at_random()


def written(*lines: AnyLine) -> bytes:
    return b"".join(map(write_line, lines))


def filled(folder: Path, table: Table) -> Journal:
    journal = Journal(folder)
    journal.create("m-1").write(written(*table.lines))
    return journal


def test_a_journal_that_goes_on_is_appended_to_and_seed_and_nonces_stay_out_of_its_record(
    tmp_path: Path, table: Table
) -> None:
    journal = Journal(tmp_path / "deep" / "journal")
    journal.create("m-1").write(written(*table.lines[:3]))
    again = journal.reopen("m-1")
    for line in table.lines[3:]:
        again.write(written(line))
    assert journal.list_matches() == ["m-1"]
    assert journal.read("m-1") == table.lines
    assert (type(table.lines[0]), type(table.lines[2])) == (Secret, Begun)
    assert b"".join(again.read_record_lines()) == b"".join(map(write_line, [table.lines[1], *table.lines[3:]]))


def test_a_journal_that_begins_again_is_written_over(tmp_path: Path, table: Table) -> None:
    journal = filled(tmp_path, table)
    journal.create("m-1").write(written(table.lines[0]))
    assert journal.read("m-1") == table.lines[:1]


def test_only_its_owner_can_read_a_journal(tmp_path: Path) -> None:
    Journal(tmp_path).create("m-1")
    assert (tmp_path / "m-1.jsonl").stat().st_mode & 0o077 == 0


def test_what_is_cut_off_is_logged(tmp_path: Path, table: Table, caplog: pytest.LogCaptureFixture) -> None:
    journal = filled(tmp_path, table)
    assert caplog.text == ""
    path = tmp_path / "m-1.jsonl"
    path.write_bytes(path.read_bytes() + b'{"type":"ply","event":{"ply":77')
    journal.read("m-1")
    assert "m-1.jsonl ended in an incomplete line" in caplog.text
    assert """is removed: b'{"type":"ply","event":{"ply":77' (31 bytes)""" in caplog.text


def test_a_last_line_that_is_torn_is_cut_off_wherever_it_was_torn(tmp_path: Path, table: Table) -> None:
    journal = filled(tmp_path, table)
    path = tmp_path / "m-1.jsonl"
    whole = path.read_bytes()
    for length in range(len(whole) - len(write_line(table.lines[-1])) + 1, len(whole)):
        path.write_bytes(whole[:length])
        assert journal.read("m-1") == table.lines[:-1]
        assert path.read_bytes() == b"".join(map(write_line, table.lines[:-1]))
    path.write_bytes(whole[:5])
    assert journal.read("m-1") == []
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    "data", [b"PNG\r\n\x1a\n", b"\xff\xfe\x00\n", b"{}\n", b'{"type":"ply"}\n', b'["secret"]\n', b"\n\n", b"[" * 9999]
)
def test_a_foreign_file_is_refused_by_name_and_left_as_it_is(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_bytes(data + b"x\n")
    with pytest.raises(BadRecord, match=r"notes\.jsonl is not a match record: line 1: ") as caught:
        Journal(tmp_path).read("notes")
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == data + b"x\n"


def test_a_journal_under_another_name_is_refused(tmp_path: Path, table: Table) -> None:
    journal = filled(tmp_path, table)
    (tmp_path / "m-1.jsonl").rename(tmp_path / "m-2.jsonl")
    with pytest.raises(BadRecord, match="the journal of another match, m-1"):
        journal.read("m-2")


def test_a_forgotten_journal_is_gone_and_may_be_forgotten_again(tmp_path: Path, table: Table) -> None:
    journal = filled(tmp_path, table)
    journal.remove("m-1")
    journal.remove("m-1")
    assert journal.list_matches() == []
    with pytest.raises(JournalFault, match="can't be read: No such file"):
        journal.read("m-1")


def test_a_folder_that_is_gone_is_a_fault_of_the_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    (tmp_path / "journal").rmdir()
    with pytest.raises(JournalFault, match="can't be opened: No such file"):
        journal.create("m-2")
    with pytest.raises(JournalFault, match=r"no journal can be made in .*: No such file"):
        journal.probe()


def test_a_journal_that_was_removed_still_gives_its_record(tmp_path: Path, table: Table) -> None:
    match = Journal(tmp_path).create("m-1")
    match.write(written(*table.lines[:3]))
    (tmp_path / "m-1.jsonl").unlink()
    match.write(written(*table.lines[3:]))
    assert b"".join(match.read_record_lines()) == b"".join(map(write_line, [table.lines[1], *table.lines[3:]]))


def test_a_journal_that_was_cut_short_gives_no_record(tmp_path: Path, table: Table) -> None:
    match = Journal(tmp_path).create("m-1")
    match.write(written(*table.lines))
    os.truncate(tmp_path / "m-1.jsonl", 100)
    with pytest.raises(JournalFault, match=r"was cut short to 100 of \d+ bytes"):
        match.read_record_lines()


def test_a_folder_that_can_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    Journal(tmp_path).probe()
    assert list(tmp_path.iterdir()) == []


def test_a_closed_journal_can_not_be_written(tmp_path: Path, table: Table) -> None:
    match = Journal(tmp_path).create("m-1")
    match.close()
    match.close()
    with pytest.raises(JournalFault, match="can't be written: Bad file descriptor"):
        match.write(written(table.lines[0]))


def test_lines_that_fit_only_in_part_are_not_written_at_all(
    tmp_path: Path, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path)
    match = journal.create("m-1")
    match.write(written(*table.lines[:4]))
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[: len(data) // 2 + 40]))
    with pytest.raises(JournalFault, match=r"took \d+ of \d+ bytes: is the disk full\?"):
        match.write(written(*table.lines[4:]))
    monkeypatch.undo()
    assert journal.read("m-1") == table.lines[:4]
    assert match.read_record_lines() == [write_line(line) for line in (table.lines[1], table.lines[3])]
    match.write(written(*table.lines[4:]))
    assert journal.read("m-1") == table.lines


def test_a_part_that_can_not_be_cut_off_is_never_taken_for_the_record(
    tmp_path: Path, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    match = Journal(tmp_path).create("m-1")
    match.write(written(*table.lines[:3]))
    write = os.write

    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:-1]))
    monkeypatch.setattr(os, "ftruncate", Mock(side_effect=OSError(5, "Input/output error")))
    with pytest.raises(JournalFault):
        match.write(written(*table.lines[3:]))
    assert match.read_record_lines() == [write_line(table.lines[1])]


def test_with_a_log_every_line_is_on_disk_before_it_counts_as_written(
    tmp_path: Path, table: Table, synced: list[str]
) -> None:
    Journal(tmp_path / "unsynced").create("m-0").write(written(*table.lines))
    assert synced == []
    match = Journal(tmp_path / "synced", synced=True).create("m-1")
    synced.clear()
    match.write(written(*table.lines[:2]))
    match.write(written(table.lines[2]))
    assert synced == ["commits-0", "commits-0"]


def test_lines_that_can_not_be_synced_are_as_if_they_had_not_been_written(
    tmp_path: Path, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path, synced=True)
    match = journal.create("m-1")
    match.write(written(*table.lines[:3]))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", Mock(side_effect=OSError(5, "Input/output error")))
        with pytest.raises(JournalFault, match="can't be synced: Input/output error"):
            match.write(written(*table.lines[3:]))
    assert journal.read("m-1") == table.lines[:3]
    match.write(written(*table.lines[3:]))
    assert journal.read("m-1") == table.lines


def test_the_latest_states_are_read_back_as_many_as_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with known("pig"):
        table = play_on(table_of("pig").begin())
    opened = Journal(tmp_path).create("m-1")
    for line in table.lines:
        opened.append(write_line(line))
    plies = [line for line in table.lines if isinstance(line, Ply)]
    states = msgspec.json.decode(msgspec.json.encode([line.state for line in plies]))
    assert opened.read_latest_states() == states
    monkeypatch.setattr(journals, "MAX_STATE_LINES", 3)
    assert opened.read_latest_states() == states[-3:]
    monkeypatch.setattr(journals, "MAX_STATE_LINES_BYTES", len(write_line(plies[-1])))
    assert opened.read_latest_states() == states[-1:]
    opened.close()
    assert opened.read_latest_states() == []


def test_events_are_read_back_from_the_end_before_one_that_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(config={"heaps": [200], "take": [1]}).begin()
    for _ in range(150):
        table.play({"heap": 0, "take": 1})
    opened = Journal(tmp_path).create("m-1")
    for line in table.lines:
        opened.append(write_line(line))
    events = [line.event for line in table.lines if isinstance(line, Ply)]
    monkeypatch.setattr(journals, "READ_BLOCK_BYTES", 100)
    assert opened.read_events_before(events[140], 3) == events[137:140]
    assert opened.read_events_before(events[140], 1000) == events[:140]
    assert opened.read_events_before(events[0], 5) == []
    size = len(msgspec.json.encode(events[100]))
    monkeypatch.setattr(journals, "MAX_EVENT_BYTES", 4 * size)
    assert opened.read_events_before(events[140], 1000) == events[136:140]
    opened.close()
    assert opened.read_events_before(events[140], 3) == []
