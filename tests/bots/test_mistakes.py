"""What a program is told that uses the library wrongly: a line in the place of a traceback, or of silence."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import zygote
from bots import Bot, Turn, play
from commands import user_environ
from protocol.errors import UsageFault
from timeouts import WITHIN

BOT = """
from bots import Bot, play, run

class Mine(Bot):
    def choose(self, turn):
        return turn.legal[0]

"""


WORDS = ["--patience", "0.01", "--url", "ws://127.0.0.1:1"]


def told(folder: Path, text: str, file: str = "mine.py") -> tuple[int, str]:
    """Run a program as an author does: its exit code, and what it says, which is all on standard error."""
    (folder / file).write_text(text)
    command = [sys.executable, file, *WORDS]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=WITHIN, check=False)
    assert done.stdout == ""
    return done.returncode, done.stderr


def told_when_forked(folder: Path, text: str, name: str = "mine") -> tuple[int, str]:
    """The same of a program for which it does not matter what it finds imported."""
    (folder / f"{name}.py").write_text(text)
    process = zygote.program(
        [name, *WORDS], env=user_environ(), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    out, err = process.communicate(timeout=WITHIN)
    assert out == ""
    return process.returncode, err


def test_a_bot_that_is_never_run_is_told_at_the_end(tmp_path: Path) -> None:
    says = 'mine.py defines Mine but never runs it: end it with run(Mine("mine"))\n'
    assert told(tmp_path, BOT) == (0, says)


def test_the_document_quotes_what_is_said() -> None:
    text = (Path(__file__).parents[2] / "docs" / "writing-a-bot.md").read_text()
    for said in (
        'mine.py defines Mine but never runs it: end it with run(Mine("mine"))',
        "run takes a bot, not its class",
        "Mine has no name to play under",
        "Mine has no method choose: rename chose to choose",
        "protocol.py hides the package protocol of Bot Arena",
    ):
        assert f"`{said}`" in text


def test_a_program_that_only_loads_bots_has_forgotten_none(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(BOT)
    loads = 'import other\nfrom bots import play\nplay(["other.py", "random"], "nim")'
    assert told_when_forked(tmp_path, loads, "training") == (0, "")


@pytest.mark.parametrize("end", ["import sys\nsys.exit(3)", pytest.param("raise SystemExit(3)", marks=pytest.mark.ci)])
def test_a_program_that_ends_itself_is_not_asked_to_run_its_bot(end: str, tmp_path: Path) -> None:
    assert told_when_forked(tmp_path, BOT + end) == (3, "")


@pytest.mark.parametrize(
    ("end", "says"),
    [
        ("run(Mine)", 'mine.py: run takes a bot, not its class: run(Mine("mine"))'),
        ("run('mine')", "mine.py: run takes a bot, not 'mine': write a subclass of Bot, and pass an instance of it"),
        ("run(Mine())", 'mine.py, line 8: Mine has no name to play under: write Mine("mine")'),
        ('play(["gredy", Mine], "nim")', "mine.py, line 8: there is no bot 'gredy': one of "),
        pytest.param(
            'play([Mine, Mine], "nmi")', "mine.py, line 8: there is no game 'nmi': one of ", marks=pytest.mark.ci
        ),
    ],
)
def test_what_a_program_asks_wrongly_is_one_line(end: str, says: str, tmp_path: Path) -> None:
    code, err = told_when_forked(tmp_path, BOT + end)
    assert err.startswith(says)
    assert (code, err.count("\n")) == (2, 1)


def test_what_fails_in_the_authors_own_code_keeps_its_traceback(tmp_path: Path) -> None:
    code, err = told_when_forked(tmp_path, BOT + "1 / 0")
    assert (code, err.splitlines()[0]) == (1, "Traceback (most recent call last):")
    assert err.endswith("ZeroDivisionError: division by zero\n")


@pytest.mark.parametrize("name", ["protocol", "machine"])
def test_a_file_that_hides_a_package_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text("")
    code, err = told(tmp_path, BOT + "run(Mine('mine'))")
    assert err.startswith(f"mine.py, line 2: {tmp_path / name}.py hides the package {name} of Bot Arena: rename it")
    assert (code, err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("random", BOT),
        ("websockets", "x = 1"),
        *(pytest.param(*each, marks=pytest.mark.ci) for each in (("random", ""), ("json", BOT))),
    ],
)
def test_a_file_that_has_another_modules_name_is_named(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text(text)
    code, err = told(tmp_path, BOT.replace("play, ", "") + "run(Mine('mine'))")
    said = f"{tmp_path / name}.py is imported in the place of another module that is called {name}: rename it\n"
    assert (code, err.partition(": ")[2]) == (2, said)


def test_a_program_that_is_loaded_says_what_is_wrong_with_its_run_once(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(BOT + "run(Mine)")
    loads = 'from bots import play\nplay(["other.py", "random"], "nim")'
    says = 'other.py, line 8: run takes a bot, not its class: run(Mine("mine"))\n'
    assert told_when_forked(tmp_path, loads, "training") == (2, says)


def test_a_file_that_hides_what_only_matches_in_process_need_does_not_stop_a_bot(tmp_path: Path) -> None:
    (tmp_path / "referee.py").write_text("")
    code, err = told(tmp_path, BOT.replace("play, ", "") + "run(Mine('mine'))")
    assert (code, err.count("no arena answers")) == (1, 2)
    code, err = told(tmp_path, BOT + "play([Mine, Mine], 'nim')")
    assert (code, "hides the package referee" in err, err.count("\n")) == (2, True, 1)


class Chose(Bot):
    """Spells its method wrongly."""

    def chose(self, turn: Turn) -> Mapping[str, Any]:
        return turn.legal[0]


class Silent(Bot):
    """Has no method at all."""


class Selfless(Bot):
    """Forgets what every method is given."""

    def choose(turn):  # type: ignore[no-untyped-def, override]  # noqa: N805
        return turn.legal[0]


class Waiting(Bot):
    """Would have to be awaited."""

    async def choose(self, turn):  # type: ignore[no-untyped-def, override]
        return turn.legal[0]


class Static(Bot):
    """Needs no self, and says so."""

    @staticmethod
    def choose(turn: Turn) -> Mapping[str, Any]:  # type: ignore[override]
        return turn.legal[0]


class OneWord(Bot):
    """Forgets the comma of a tuple of one game."""

    games = "nim"

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        return turn.legal[0]


class Versioned(Bot):
    """Says in the class which version it is."""

    version = "2"

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        return turn.legal[0]


@pytest.mark.parametrize(
    ("cls", "says"),
    [
        (Chose, "Chose has no method choose: rename chose to choose"),
        (Selfless, "Selfless.choose can't be called with a turn: write def choose(self, turn)"),
        (Waiting, "Waiting.choose is async, but is never awaited: write def choose(self, turn)"),
        (Silent, "Silent has no method choose: write def choose(self, turn), which returns a move"),
        (OneWord, "OneWord.games is 'nim', a text: write games = ['nim']"),
    ],
)
def test_a_bot_that_cannot_play_is_told_before_it_plays(cls: type[Bot], says: str) -> None:
    with pytest.raises(UsageFault, match=re.escape(says)):
        cls("mine")


def test_a_static_choose_is_one() -> None:
    assert play([Static, "random"], "nim").result.reason == "win"


def test_the_version_of_the_class_is_that_of_its_bots_unless_they_say_another() -> None:
    assert (Versioned("mine").version, Versioned("mine", "3").version) == ("2", "3")
    assert copy.deepcopy(Versioned("mine")).version == "2"
    numbered = Versioned("mine")
    numbered.version = 3  # type: ignore[assignment]  # as authors write it
    played = play([Versioned, numbered], "nim")
    assert [seat.version for seat in played.record.header.seats] == ["2", "3"]
