"""A machine without a folder for temporary files: a command that needs one says so in a line."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from commands import call
from machine.game_files import _temporary_folder
from protocol.errors import ArenaFault


@pytest.fixture(autouse=True)
def no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "no file can be made for what the bot says: name one with --log"),
        (["--log", "/dev/null"], "no folder can be made for the arena of the doctor"),
    ],
)
def test_the_doctor_says_what_it_cannot_make(options: list[str], says: str) -> None:
    done = call("arena", "doctor", *options, "--", "true")
    assert (done.code, done.err) == (1, f"arena: {says}: No such file or directory\n")


def test_the_copy_of_a_game_says_what_it_cannot_make() -> None:
    with pytest.raises(ArenaFault, match=r"^no folder can be made for a copy of the game: No such file or directory$"):
        _temporary_folder.__wrapped__()
