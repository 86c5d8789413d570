"""A game in a file of one's own is played, rated, checked and refereed again; what is wrong with a file is a line."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.commands.try_bots import TryOptions
from arena.web.client_wheel import build_client_wheel
from arena.web.drawings import draw
from arena.web.room_files import describe_games, is_served, list_room_files
from commands import REPOSITORY, call
from example_games import EXAMPLES
from machine.game_discovery import (
    GAME_FILES_VARIABLE,
    GameFileFault,
    add_game_file,
    find_specs,
    resolve_game,
)
from protocol.errors import BadConfig, UsageFault
from protocol.games import game_class, game_names, game_spec, is_known_game, remove_game

CONNECT_FOUR = EXAMPLES / "connect4.py"
DOCUMENT = (REPOSITORY / "docs" / "own-game.md").read_text("utf-8")


@pytest.fixture(autouse=True)
def no_games_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget the games of a test, here and in the environment."""
    before = game_names()
    monkeypatch.delenv(GAME_FILES_VARIABLE, raising=False)
    yield
    for name in set(game_names()) - set(before):
        remove_game(name)
    os.environ.pop(GAME_FILES_VARIABLE, None)


@pytest.fixture
def race(tmp_path: Path) -> Path:
    """Write the example of the document to a file."""
    source = re.search(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    assert source is not None
    file = tmp_path / "race.py"
    file.write_text(source[1])
    return file


def test_the_documents_example_keeps_the_contract_and_is_played(race: Path) -> None:
    checked = call("arena", "game", "check", str(race), "--games", "5")
    assert (checked.code, checked.err) == (0, "")
    assert checked.out.startswith("race/classic: 5 random games keep the contract, ")
    played = call("arena", "try", "uct", "random", "--game", str(race), "--set", "last=9", "--set", "sims=50")
    assert played.code == 0, played.err
    assert "\n0 of 9\n\n0  uct: " in played.out
    assert f"`{race.name}`" in DOCUMENT


def test_a_tournament_rates_it_and_its_records_are_refereed_again(race: Path, tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    words = ("--game", str(race), "--rounds", "2", "--data", data, "--in-process")
    assert call("arena", "tournament", "random", "greedy", *words).code == 0
    assert "race/classic, by score" in call("arena", "leaderboard", "--data", data).out
    assert call("arena", "replay", "verify", "--data", data).out == "2 records verified\n"
    remove_game("race")
    del os.environ[GAME_FILES_VARIABLE]
    without = call("arena", "replay", "verify", "--data", data)
    assert without.code == 1
    assert "this arena does not have the rules of race: 2 records not verified" in without.err


def test_processes_that_are_started_later_know_the_game(race: Path) -> None:
    assert resolve_game(str(race)) == "race"
    assert os.environ[GAME_FILES_VARIABLE] == str(race)
    assert [spec.name for spec in find_specs()] == ["race"]
    assert add_game_file(race) == ["race"], "a second time changes nothing"
    assert os.environ[GAME_FILES_VARIABLE] == str(race)


def test_one_of_several_games_is_named(tmp_path: Path) -> None:
    two = tmp_path / "two.py"
    again = "\n\nclass Other(ConnectFour):\n    name = 'other'\n"
    two.write_text(CONNECT_FOUR.read_text("utf-8") + again)
    with pytest.raises(UsageFault, match=r"two.py has several games: write .*two.py:NAME with one of connect4, other"):
        resolve_game(str(two))
    assert resolve_game(f"{two}:other") == "other"
    assert game_class("other").title == "Other"
    with pytest.raises(UsageFault, match=r"two.py has no game 'third': one of connect4, other"):
        resolve_game(f"{two}:third")


@pytest.mark.parametrize("word", ["race.py", "./race.py", ".//race.py:race", "../{folder}/race.py:race"])
def test_a_file_is_found_however_its_path_is_written(race: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.chdir(race.parent)
    assert resolve_game(word.format(folder=race.parent.name)) == "race"


def test_a_word_without_a_file_is_a_name() -> None:
    assert resolve_game("nim") == "nim"
    assert resolve_game("no-such-game") == "no-such-game"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    def moves(", "    def moves)", "wrong.py, line 37: unmatched ')'"),
        (
            "    def moves(",
            "    def list_moves(",
            "wrong.py, line 18: ConnectFour: the method moves is missing: Return",
        ),
        ('name = "connect4"', 'name = "nim"', "wrong.py: the name nim is taken by another game: choose another"),
        ('DISCS = "XO"', "DISCS = 1 / 0", "wrong.py, line 7: ZeroDivisionError: division by zero"),
        ("class ConnectFour", "class _Hidden(TurnGame[Grid, int]): ...\n\n\nclass Grid2:\n    '''", "wrong.py, line"),
    ],
)
def test_a_file_without_a_game_says_what_is_wrong_and_where(tmp_path: Path, old: str, new: str, said: str) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(CONNECT_FOUR.read_text("utf-8").replace(old, new, 1))
    with pytest.raises(GameFileFault) as fault:
        add_game_file(wrong)
    assert str(fault.value).startswith(said)
    assert "\n" not in str(fault.value)
    assert not is_known_game("connect4")


def test_a_file_that_is_missing_or_empty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match=r"the game .*none.py can't be read: No such file or directory"):
        resolve_game(str(tmp_path / "none.py"))
    empty = tmp_path / "empty.py"
    empty.write_text("")
    with pytest.raises(GameFileFault, match=r"empty.py has no game: write a class NAME\(TurnGame"):
        add_game_file(empty)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "return [number for number, column in enumerate(state.columns, 1) if len(column) < self.height]",
            "return []",
            "wrong.py, line 37: seat 0 is to move, but there is no legal move",
        ),
        (
            "columns = list(state.columns)",
            "columns = list(state.rows)",
            "wrong.py, line 41: AttributeError: 'Grid' object",
        ),
        (
            "    def cells(",
            "    def draw(self, state: Grid) -> str:\n        return 81 * 'x'\n\n    def cells(",
            "wrong.py, line 67: a line has 81 columns: at most 80",
        ),
    ],
)
def test_rules_that_break_the_contract_are_found_with_their_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    source = CONNECT_FOUR.read_text("utf-8")
    assert old in source
    wrong = tmp_path / "wrong.py"
    wrong.write_text(source.replace(old, new, 1))
    checked = call("arena", "game", "check", str(wrong), "--games", "3")
    assert checked.code == 1
    assert checked.err.startswith(f"arena: {said}")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("def chances(", "def chance(", "wrong.py: the method chances is missing"),
        ("def start(self)", "def start()", "wrong.py: TypeError: Pig.start() takes 0 positional arguments but 1 was"),
        (
            "at_risk: int = 0",
            "at_risk: tuple = ([],)",
            "wrong.py: a state holds what can't be hashed or sent (tuples can",
        ),
    ],
)
def test_rules_that_fail_outside_of_their_file_are_a_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    source = (EXAMPLES / "pig.py").read_text("utf-8")
    assert old in source
    wrong = tmp_path / "wrong.py"
    wrong.write_text(source.replace(old, new, 1))
    checked = call("arena", "game", "check", str(wrong), "--games", "3")
    assert checked.code == 1
    assert checked.err.startswith(f"arena: {said}")
    assert checked.err.count("\n") == 1


def test_rules_that_fail_in_a_match_are_named_without_a_traceback(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(CONNECT_FOUR.read_text("utf-8").replace("columns = list(state.columns)", "columns = state.rows"))
    tried = call("arena", "try", "a=random", "b=random", "--game", str(wrong), "--quiet")
    assert tried.code == 2
    assert tried.err == "arena: wrong.py, line 41: AttributeError: 'Grid' object has no attribute 'rows'\n"


def test_a_watched_trial_names_the_file_again_in_its_command(race: Path) -> None:
    options = TryOptions(
        bots=["random", "uct"],
        game=str(race),
        preset=None,
        sets=(),
        clock="10+0.1",
        seed="1",
        watch=True,
        quiet=False,
        moves_per_second=None,
    )
    assert options.to_arguments()[:5] == ["try", "random", "uct", "--game", str(race)]


def test_pages_serve_the_board_beside_a_file_and_no_other_script(tmp_path: Path) -> None:
    for name in ("connect4.py", "connect4.js", "connect4.css"):
        (tmp_path / name).write_bytes((EXAMPLES / name).read_bytes())
    (tmp_path / "secret.js").write_text("secret")
    add_game_file(tmp_path / "connect4.py")
    folder = game_spec("connect4").room
    served = {path: file for path, file in list_room_files() if path.startswith(f"games/{folder}/")}
    assert {path.rpartition("/")[2] for path in served} == {"connect4.js", "connect4.css"}
    described = describe_games(str, "connect4")["connect4"]
    assert described.board == f"games/{folder}/connect4.js"
    assert described.board in served
    assert not is_served(folder, "secret.js")


def test_a_game_without_a_script_is_drawn_as_a_grid_that_can_be_pressed(tmp_path: Path) -> None:
    file = tmp_path / "connect4.py"
    file.write_bytes(CONNECT_FOUR.read_bytes())
    add_game_file(file)
    config = {"width": 4, "height": 4}
    state = {"columns": ["XO", "", "X", ""], "last": 1, "to_move": 1, "ply": 3}
    drawing = draw("connect4", config, state, [{"move": 1}, {"move": 4}])
    assert drawing.grid == [["", "", "", ""], ["", "", "", ""], ["O", "", "", ""], ["X", "", "X", ""]]
    assert (drawing.text, drawing.marks) == (None, ["X", "O"])
    assert [(move.text, move.cells) for move in drawing.moves] == [("1", [(None, 0)]), ("4", [(None, 3)])]
    with pytest.raises(BadConfig, match=r"connect4: \{'columns': 3\} is not a state under this config"):
        draw("connect4", config, {"columns": 3}, [])


def test_a_game_without_a_grid_is_drawn_as_text(race: Path) -> None:
    add_game_file(race)
    drawing = draw("race", {"last": 9}, {"number": 4, "seat": 1, "to_move": 1, "ply": 2}, [{"move": 3}])
    assert (drawing.text, drawing.grid) == ("4 of 9", None)
    assert [(move.text, move.cells) for move in drawing.moves] == [("3", [])]


def test_a_server_refuses_a_setting_that_is_no_file_of_a_game(tmp_path: Path) -> None:
    named = call("arena", "serve", "--game", "nim", "--data", str(tmp_path / "data"))
    assert named.code == 2
    assert named.err == (
        "arena: games is 'nim': name a file, like connect4.py, or a game of a family, like openspiel:hex; "
        "other games need no setting\n"
    )
    missing = call("arena", "serve", "--game", "none.py", "--data", str(tmp_path / "data"))
    assert (missing.code, missing.out) == (2, "")
    assert missing.err.endswith("none.py can't be read: No such file or directory\n")


def test_the_clients_wheel_has_what_loads_games_of_files_and_none_of_them(race: Path) -> None:
    add_game_file(race)
    names = zipfile.ZipFile(io.BytesIO(build_client_wheel().content)).namelist()
    assert {"machine/game_discovery.py", "protocol/games/turn_game.py"} <= set(names)
    assert not [name for name in names if "race" in name]
