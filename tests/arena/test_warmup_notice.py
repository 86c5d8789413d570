"""That bots warm up is told once, from what they say in their logs since the tournament began."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.processes import warmup_notice
from arena.processes.warmup_notice import announce_warmups
from heard import Heard
from timeouts import WITHIN


def listening(monkeypatch: pytest.MonkeyPatch) -> Heard:
    monkeypatch.setattr(warmup_notice, "CHECK_INTERVAL_S", 0.001)
    heard = Heard()
    monkeypatch.setattr("sys.stderr", heard)
    return heard


def looking_threads() -> list[str]:
    """Return the names of the threads that look at logs; other tests may have left threads of their own."""
    return [thread.name for thread in threading.enumerate() if warmup_notice._watch_logs.__name__ in thread.name]


def test_a_bot_that_warms_up_is_told_once_and_not_what_was_said_earlier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = listening(monkeypatch)
    log, other = tmp_path / "uct.log", tmp_path / "2" / "ga.log"
    log.write_text("uct: warming up for nim\nuct: played\n")
    with announce_warmups(tmp_path):
        with log.open("a") as file:
            file.write("uct: warming up for risk-duel; it takes long\n")
        assert heard.line.wait(WITHIN)
        other.parent.mkdir()
        other.write_text("ga: warming up for risk-duel; it takes long\n")
    assert heard.getvalue() == "arena: uct: warming up for risk-duel; it takes long\n"


def test_logs_in_folders_below_are_left_alone_where_those_of_the_folder_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = listening(monkeypatch)
    with announce_warmups(tmp_path, "*.log"):
        (tmp_path / "a-version").mkdir()
        (tmp_path / "a-version" / "program.log").write_text("program: warming up for nim; a stranger says so\n")
        (tmp_path / "uct.log").write_text("uct: warming up for nim; it takes long\n")
        assert heard.line.wait(WITHIN)
    assert heard.getvalue() == "arena: uct: warming up for nim; it takes long\n"


def test_a_folder_that_is_removed_while_it_is_read_does_not_end_the_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = listening(monkeypatch)
    glob, is_removed = Path.glob, threading.Event()

    def glob_once_removed(folder: Path, pattern: str) -> Iterator[Path]:
        if is_removed.is_set():
            return glob(folder, pattern)
        if threading.current_thread() is not threading.main_thread():
            is_removed.set()
            raise FileNotFoundError
        return glob(folder, pattern)

    monkeypatch.setattr(Path, "glob", glob_once_removed)
    with announce_warmups(tmp_path):
        assert is_removed.wait(WITHIN)
        (tmp_path / "uct.log").write_text("uct: warming up for nim; it takes long\n")
        assert heard.line.wait(WITHIN)


def test_nothing_is_told_once_a_match_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = listening(monkeypatch)
    glob, is_looking, is_written = Path.glob, threading.Event(), threading.Event()

    def glob_once_written(folder: Path, pattern: str) -> Iterator[Path]:
        if threading.current_thread() is not threading.main_thread():
            is_looking.set()
            assert is_written.wait(WITHIN)
        return glob(folder, pattern)

    monkeypatch.setattr(Path, "glob", glob_once_written)
    with announce_warmups(tmp_path) as end_watch:
        assert is_looking.wait(WITHIN)
        end_watch()
        (tmp_path / "uct.log").write_text("uct: warming up for nim\n")
        is_written.set()
    assert (heard.getvalue(), looking_threads()) == ("", [])
