"""The commit log: one sync for many matches, and journals that are mended from it after a crash of the machine."""

from __future__ import annotations

import os
import random
from pathlib import Path
from unittest.mock import Mock

import pytest

from arena.host import commit_log
from arena.host.commit_log import CommitLog, JournalEntry
from arena.host.journal import Journal
from referee.record import write_line
from referee_table import Table

SEGMENT_BYTES = 2000
"""The size of a log that is soon full."""


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    return [write_line(line) for line in Table().begin().finish_at_random().lines]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "journal"
    made.mkdir()
    return made


def killed(log: CommitLog) -> None:
    if log._emptying_thread is not None:
        log._emptying_thread.join()
    for file in log._files:
        os.close(file)


def played(folder: Path, lines: list[bytes], matches: int = 3) -> dict[str, bytes]:
    """Matches whose lines were committed in turn, each in a group, and then `kill -9`: what is in their journals."""
    log = CommitLog(folder)
    sizes = dict.fromkeys([f"m-{number}" for number in range(matches)], 0)
    for match in sizes:
        commit_log.journal_path(folder, match).touch()
    for line in lines:
        log.commit([JournalEntry(match, sizes[match], line) for match in sizes])
        for match in sizes:
            with commit_log.journal_path(folder, match).open("ab") as journal:
                journal.write(line)
            sizes[match] += len(line)
    killed(log)
    return dict.fromkeys(sizes, b"".join(lines))


def fail_syncs(patch: pytest.MonkeyPatch, count: int) -> list[int]:
    """Have so many syncs of journals fail; the files of those that did."""
    sync, failed = os.fsync, list[int]()

    def fail(file: int) -> None:
        if os.readlink(f"/proc/self/fd/{file}").endswith(".jsonl") and len(failed) < count:
            failed.append(file)
            raise OSError(5, "Input/output error")
        sync(file)

    patch.setattr(os, "fsync", fail)
    return failed


def kept(folder: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in folder.glob("*.jsonl")}


def test_journals_of_which_any_part_is_lost_are_whole_after_the_next_start(folder: Path, lines: list[bytes]) -> None:
    whole = played(folder, lines)
    chance = random.Random(1)
    logs = {path: path.read_bytes() for path in folder.glob("commits-*")}
    for _ in range(20):
        for path, data in logs.items():
            path.write_bytes(data)
        for match, data in whole.items():
            size = chance.randrange(len(data) + 400)
            torn = bytearray((data + chance.randbytes(400))[:size])
            for at in range(0, size, 512):
                if chance.random() < 0.3:
                    torn[at : at + 512] = bytes(len(torn[at : at + 512]))
            commit_log.journal_path(folder, match).write_bytes(torn)
        commit_log.restore_journals(folder)
        assert kept(folder) == whole
        assert not list(folder.glob("commits-*"))


def test_a_group_that_is_torn_was_told_to_nobody_and_those_before_it_are_whole(
    folder: Path, lines: list[bytes]
) -> None:
    played(folder, lines, matches=1)
    log = folder / "commits-0"
    log.write_bytes(log.read_bytes()[:-1])
    commit_log.restore_journals(folder)
    assert kept(folder) == {"m-0": b"".join(lines[:-1])}


def test_a_journal_that_was_forgotten_does_not_come_back(folder: Path, lines: list[bytes]) -> None:
    whole = played(folder, lines)
    commit_log.journal_path(folder, "m-1").unlink()
    commit_log.restore_journals(folder)
    assert kept(folder) == {match: data for match, data in whole.items() if match != "m-1"}


def test_a_match_that_began_again_is_mended_as_it_is_played_now(folder: Path, lines: list[bytes]) -> None:
    journal = Journal(folder, synced=True)
    journal.create("m-1").write(b"".join(lines))
    journal.create("m-1").write(lines[0])
    assert journal.log is not None
    killed(journal.log)
    Journal(folder)
    assert kept(folder) == {"m-1": lines[0]}


def test_when_a_log_is_full_its_journals_are_synced_and_the_other_is_taken(
    folder: Path, lines: list[bytes], monkeypatch: pytest.MonkeyPatch, synced: list[str]
) -> None:
    monkeypatch.setattr(commit_log, "SEGMENT_BYTES", SEGMENT_BYTES)
    whole = played(folder, lines * 8)
    assert {"m-0.jsonl", "m-1.jsonl", "m-2.jsonl", "commits-0", "commits-1"} <= set(synced)
    assert sum(path.stat().st_size for path in folder.glob("commits-*")) < sum(map(len, whole.values())) / 2
    commit_log.restore_journals(folder)
    assert kept(folder) == whole


def test_a_log_that_can_not_be_emptied_is_not_taken_again(
    folder: Path, lines: list[bytes], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(commit_log, "SEGMENT_BYTES", SEGMENT_BYTES)
    with monkeypatch.context() as patch:
        fail_syncs(patch, 1_000)
        whole = played(folder, lines * 8)
    assert "can't be synced: Input/output error" in caplog.text
    for match in whole:
        commit_log.journal_path(folder, match).write_bytes(b"")
    commit_log.restore_journals(folder)
    assert kept(folder) == whole


def test_a_group_that_could_not_be_synced_is_written_over(
    folder: Path, lines: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = CommitLog(folder)
    commit_log.journal_path(folder, "m-1").touch()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", Mock(side_effect=OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space left"):
            log.commit([JournalEntry("m-1", 0, lines[0] + lines[1])])
    log.commit([JournalEntry("m-1", 0, lines[0])])
    killed(log)
    commit_log.restore_journals(folder)
    assert kept(folder) == {"m-1": lines[0]}


def test_a_log_that_could_not_be_emptied_is_when_it_has_grown_by_as_much(
    folder: Path, lines: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_log, "SEGMENT_BYTES", SEGMENT_BYTES)
    log, size, failed = CommitLog(folder), 0, fail_syncs(monkeypatch, 1)
    for line in lines * 16:
        with commit_log.journal_path(folder, "m-1").open("ab") as journal:
            journal.write(line)
        log.commit([JournalEntry("m-1", size, line)])
        size += len(line)
        if log._emptying_thread is not None:
            log._emptying_thread.join()
    assert failed
    assert sum(path.stat().st_size for path in folder.glob("commits-*")) < 3 * SEGMENT_BYTES + 1000
    killed(log)
    commit_log.restore_journals(folder)
    assert kept(folder) == {"m-1": b"".join(lines * 16)}


def test_what_is_closed_leaves_no_logs_that_could_cut_what_is_played_without_them(
    folder: Path, lines: list[bytes]
) -> None:
    journal = Journal(folder, synced=True)
    match = journal.create("m-1")
    match.write(lines[0])
    journal.close()
    assert not list(folder.glob("commits-*"))
    match.append(lines[1])
    Journal(folder)
    assert kept(folder) == {"m-1": lines[0] + lines[1]}


def test_of_two_logs_the_older_is_removed_first(
    folder: Path, lines: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_log, "SEGMENT_BYTES", SEGMENT_BYTES)
    monkeypatch.setattr(CommitLog, "_empty", lambda *of_it: None)
    whole = played(folder, lines * 2)
    logs = {path: path.read_bytes() for path in folder.glob("commits-*")}
    assert all(logs.values())
    unlink = Path.unlink
    for spared in logs:

        def die(path: Path, *, spared: Path = spared, missing_ok: bool = False) -> None:
            if path == spared:
                raise OSError(5, "Input/output error")
            unlink(path, missing_ok=missing_ok)

        for path, data in logs.items():
            path.write_bytes(data)
        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", die)
            with pytest.raises(OSError, match="Input/output error"):
                commit_log.restore_journals(folder)
        commit_log.restore_journals(folder)
        assert kept(folder) == whole


@pytest.mark.parametrize("behind", [b"", bytes(16), bytes(4096)])
def test_zeros_behind_the_last_group_are_no_group(folder: Path, lines: list[bytes], behind: bytes) -> None:
    whole = played(folder, lines, matches=1)
    log = folder / "commits-0"
    log.write_bytes(log.read_bytes() + behind)
    commit_log.journal_path(folder, "m-0").write_bytes(b"")
    commit_log.restore_journals(folder)
    assert kept(folder) == whole


def test_a_disk_that_is_full_at_the_mending_keeps_the_logs(
    folder: Path, lines: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = played(folder, lines)
    write = os.pwrite
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", lambda file, data, at: write(file, data[: len(data) // 2], at))
        with pytest.raises(OSError, match="No space left"):
            commit_log.restore_journals(folder)
    commit_log.restore_journals(folder)
    assert kept(folder) == whole


def test_a_journal_that_goes_on_under_a_log_is_synced_as_far_as_it_went(
    folder: Path, lines: list[bytes], synced: list[str]
) -> None:
    Journal(folder).create("m-1").write(lines[0])
    assert "m-1.jsonl" not in synced
    Journal(folder, synced=True).reopen("m-1")
    assert "m-1.jsonl" in synced
