"""The commands for hosted bots answer what a careless owner writes in one line, and outlast a restart of the arena."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bots import submission
from bots.agents.page import PageClient, PageError
from bots.commands import hosted
from bots.commands.hosted import FORGOTTEN_REASON
from bots.submission import BotSubmissions, Version
from commands import call

OWNER = ("--page", "http://127.0.0.1:1", "--token", "t" * 20)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of the commands for hosted bots, in seconds. It passes when they sleep."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(submission, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    return now


def test_what_is_no_program_is_refused_before_all_of_it_is_read(tmp_path: Path) -> None:
    folder, fifo = tmp_path / "home", tmp_path / "fifo"
    folder.mkdir()
    (folder / "mine.py").write_text("print()")
    os.mkfifo(fifo)
    for what, said in (
        ("/dev/zero", "/dev/zero is no file: hand in a program, or its folder"),
        (str(fifo), f"{fifo} is no file: hand in a program, or its folder"),
        (str(folder), f"there is no bot.toml in {folder}: add one beside the program, with lines like "),
    ):
        done = call("arena-bot", "submit", what, "--name", "mine", *OWNER, *(["--game", "nim"] * (what != str(folder))))
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert done.err.startswith(f"arena-bot: {said}")


def test_a_program_too_large_for_any_arena_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bots.commands.submit.MAX_SUBMISSION_LIMIT_BYTES", 1000)
    (tmp_path / "bot.toml").write_bytes(os.urandom(2000))
    for what in (tmp_path, tmp_path / "bot.toml"):
        words = ["--game", "nim"] if what.is_file() else []
        done = call("arena-bot", "submit", str(what), "--name", "mine", *OWNER, *words)
        assert done == (2, "", f"arena-bot: {what} has more than 1000 bytes, which is too much for any arena\n")


def test_words_and_names_of_files_that_are_not_utf8_are_refused_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text("")
    (tmp_path / "\udcff.py").write_text("")
    for words, wrong in (
        (["logs", "mine", "--search", "\udcff"], "\udcff"),
        (["hosted", "mine", "--play", "\udcff"], "\udcff"),
        (["submit", str(tmp_path), "--name", "mine"], "\udcff.py"),
    ):
        done = call("arena-bot", *words, *OWNER)
        assert done == (2, "", f"arena-bot: {wrong!r} is not UTF-8: write it, or name the file, in UTF-8\n")


def test_a_match_that_no_match_can_be_called_is_refused_in_a_line() -> None:
    done = call("arena-bot", "logs", "mine", "--match", "../x", *OWNER)
    assert done == (2, "", "arena-bot: --match is '../x': it is the id of a match, like 261129-184725-b0cc9097\n")


@pytest.mark.parametrize("status", [0, 503])
def test_a_check_is_followed_over_a_restart_of_the_arena(
    monkeypatch: pytest.MonkeyPatch, clock: list[float], status: int
) -> None:
    def fetch(self: PageClient, *path: str) -> Any:
        if 1 <= clock[0] < 30:
            raise PageError("no page answers", status)
        return {"number": 1, "state": "passed" if clock[0] > 30 else "checking"}

    monkeypatch.setattr(PageClient, "fetch", fetch)
    submissions = BotSubmissions("ws://arena", "mine", "t" * 20, "http://arena")
    assert submissions.follow(Version(number=1, state="waiting")).state == "passed"


def test_a_page_that_stays_away_ends_the_wait_for_a_check(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    def fetch(self: PageClient, *path: str) -> Any:
        raise PageError("no page answers")

    monkeypatch.setattr(PageClient, "fetch", fetch)
    with pytest.raises(PageError, match="no page answers"):
        BotSubmissions("ws://arena", "mine", "t" * 20, "http://arena").follow(Version(number=1, state="waiting"))
    assert clock[0] == submission.RESTART_TIMEOUT_S


@pytest.mark.parametrize(("why", "said"), [("ben has gone offline", "ben has gone offline"), ("", FORGOTTEN_REASON)])
def test_a_match_that_does_not_start_is_followed_no_longer(
    monkeypatch: pytest.MonkeyPatch, clock: list[float], why: str, said: str
) -> None:
    def fetch(self: PageClient, *path: str) -> Any:
        if path != ("bots", "mine", "matches", "m-1"):
            raise PageError("there is no match m-1", 404)
        return {"under_way": clock[0] < 60, "why": "" if clock[0] < 60 else why}

    monkeypatch.setattr(hosted, "time", vars(submission)["time"])
    monkeypatch.setattr(PageClient, "fetch", fetch)
    monkeypatch.setattr(PageClient, "post", lambda *path, **query: {"match": "m-1"})
    done = call("arena-bot", "hosted", "mine", "--play", "ben", "--wait", *OWNER)
    assert (done.code, done.err) == (1, f"arena-bot: match m-1 did not start: {said}\n")


def test_a_file_whose_name_no_bot_can_have_is_refused_with_the_option_that_gives_another() -> None:
    done = call("arena-bot", "submit", "\u0431\u043e\u0442.py", "--game", "nim", *OWNER)
    assert done.err.startswith(
        "arena-bot: the name of the file, which --name replaces, is '\u0431\u043e\u0442': 1 to 32 letters"
    )
