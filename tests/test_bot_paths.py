"""Files of bots by every name that a file can have, in every command that takes a bot."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath

import pytest

from arena.runs.contestants import make_in_process_spec, parse_contestants
from commands import call
from machine.command_words import split_command
from protocol.bot_launch import bot_name_of, parse_bot_file, parse_bot_spec, split_bot_word
from protocol.errors import UsageFault
from protocol.names import is_bot_name

MINE = """
from bots import Bot, run

class Mine(Bot):
    def choose(self, turn):
        return turn.legal[0]

run(Mine("mine"))
"""
PATHS = [
    "my bots/mine.py",
    "./my bots/mine.py",
    "bots/my bot.py",
    "bots\\mine.py",
    "O'Brien/mine.py",
    'say "hi"/mine.py',
    "a=b/c/mine.py",
    "./a=b/mine.py",
    "a:b/mine.py",
    "#1/mine.py",
    "ünï/mine.py",
    "tab\there/mine.py",
    "python mine.py",
    "$HOME/mine.py",
    "-/mine.py",
]
WINDOWS = [
    r".\mine.py",
    r"bots\mine.py",
    r"my bots\mine.py",
    r"C:\bots\mine.py",
    r"C:\my bots\mine.py",
    "C:/my bots/mine.py",
    r"\\server\share\mine.py",
]


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    file = Path(request.param)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(MINE)
    return str(request.param)


@pytest.mark.parametrize("word", ["{}", "x={}", "{}:Mine", "x={}:Mine"])
def test_a_file_of_any_name_plays_in_process(path: str, word: str) -> None:
    if path.startswith("a=b") and not word.startswith("x="):
        pytest.skip("what stands before the first = is a name")
    mine, _ = parse_contestants([word.format(path), "random"], {}, in_process=True)
    assert mine.spec is not None
    assert is_bot_name(mine.name)
    assert mine.spec.bot == str(Path(path).absolute()) + (":Mine" if "Mine" in word else "")
    assert make_in_process_spec("x", word.format(path).removeprefix("x=")).bot == mine.spec.bot


@pytest.mark.parametrize("word", ["{}", "x={}"])
def test_a_file_of_any_name_is_started(path: str, word: str) -> None:
    if path.startswith("a=b") and word == "{}":
        pytest.skip("what stands before the first = is a name")
    mine, _ = parse_contestants([word.format(path), "random"], {})
    assert mine.command[-1] == path
    assert mine.name == bot_name_of(word.format(path))


def test_a_command_plays_a_bot_in_a_folder_with_blanks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my bots").mkdir()
    Path("my bots/my first.py").write_text(MINE)
    tried = call("arena", "try", "my bots/my first.py", "random", "--game", "nim", "--quiet")
    assert tried.code == 0, tried.err
    assert "my-first" in tried.out


@pytest.mark.parametrize("path", WINDOWS)
def test_a_path_of_windows_keeps_its_backslashes(path: str) -> None:
    parts = PureWindowsPath(path)
    for word in (path, f"{path}:Mine", f"{path}:Mine:depth=3", f"{path}::depth=3"):
        found = parse_bot_file(word)
        assert found is not None
        assert PureWindowsPath(found.path) == parts
        assert bot_name_of(word) == parts.stem
        assert split_bot_word(word) == (None, word)
        assert split_bot_word(f"x={word}") == ("x", word)
        assert PureWindowsPath(parse_bot_spec(word.replace("::", ":"), "").bot.removesuffix(":Mine")) == parts


@pytest.mark.parametrize("path", WINDOWS)
def test_a_command_line_of_windows_keeps_its_backslashes(path: str) -> None:
    assert split_command(f'python "{path}" --fast', windows=True) == ["python", path, "--fast"]
    if " " not in path:
        assert split_command(f"python {path} --fast", windows=True) == ["python", path, "--fast"]


def test_a_command_line_of_other_systems_has_quotes_and_escapes() -> None:
    assert split_command(r"python my\ bots/mine.py 'a b'", windows=False) == ["python", "my bots/mine.py", "a b"]
    assert bot_name_of("mine.py --fast") == "mine"
    assert bot_name_of('"my bots/mine.py" --fast') == "mine"


def test_a_file_that_is_not_there_is_named_as_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in ("my bots/mine.py", "bots\\mine.py"):
        done = call("arena", "try", path, "random", "--game", "nim")
        assert done.code == 2
        assert path in done.err.replace("\\\\", "\\")
        assert "no bot" not in done.err


def test_a_word_without_a_name_is_no_program_and_a_class_plays_in_process_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my bots").mkdir()
    Path("my bots/mine.py").write_text(MINE)
    for word, said in (("ls", "there is no bot 'ls'"), ("my bots/mine.py:Mine", "a class of a file plays in process")):
        with pytest.raises(UsageFault, match=said):
            parse_contestants([word, "random"], {})
