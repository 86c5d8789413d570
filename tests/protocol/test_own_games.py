"""A game in a file of one's own is played, rated, checked and refereed again; what is wrong with a file is a line."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena.builtin_bots import make_demo_bots
from arena.commands.try_bots import TryOptions
from arena.web.drawings import draw
from arena.web.room_files import describe_games, is_served, list_room_files
from bots.client.options import read_command_line
from bots.client.settings import merge_settings
from bots.evaluation import load_evaluation, names_of
from bots.reference.random_bot import RandomBot
from bots.search import star1
from commands import call
from example_games import DOCUMENT, EXAMPLES, write_race
from machine.game_discovery import (
    GAME_FILES_VARIABLE,
    GameFileFault,
    add_game_file,
    find_specs,
    game_entry_points,
    installed_specs,
    read_source,
    resolve_game,
)
from protocol.errors import BadConfig, UsageFault
from protocol.games import game_class, game_spec, is_known_game, load_game
from protocol.games.base import NO_DICE

CONNECT_FOUR = EXAMPLES / "connect4.py"


pytestmark = pytest.mark.usefixtures("no_brought_games")


@pytest.fixture
def read_entry_points() -> Iterator[Callable[[], None]]:
    """A function that makes the process read again which packages are installed."""
    game_entry_points.cache_clear()
    yield game_entry_points.cache_clear
    game_entry_points.cache_clear()


@pytest.fixture
def race(tmp_path: Path) -> Path:
    return write_race(tmp_path)


def test_the_documents_example_keeps_the_contract_and_is_played(race: Path) -> None:
    checked = call("arena", "game", "check", str(race), "--games", "5")
    assert (checked.code, checked.err) == (0, "")
    assert checked.out.startswith("race/classic: 5 random games keep the contract, ")
    played = call("arena", "try", "uct", "random", "--game", str(race), "--set", "last=9", "--set", "sims=50")
    assert played.code == 0, played.err
    assert "\n0 of 9\n\n0  uct: " in played.out
    assert f"`{race.name}`" in DOCUMENT


def test_a_tournament_rates_it_and_its_records_are_refereed_again_without_the_file(
    race: Path, tmp_path: Path, no_brought_games: Callable[[], None]
) -> None:
    data = str(tmp_path / "data")
    words = ("--game", str(race), "--rounds", "2", "--data", data, "--in-process")
    assert call("arena", "tournament", "random", "greedy", *words).code == 0
    race.unlink()
    no_brought_games()
    assert "race/classic, by score" in call("arena", "leaderboard", "--data", data).out
    assert call("arena", "replay", "verify", "--data", data).out == "2 records verified\n"


def test_processes_that_are_started_later_know_the_game(race: Path) -> None:
    assert resolve_game(str(race)) == "race"
    assert os.environ[GAME_FILES_VARIABLE] == str(race)
    assert [spec.name for spec in find_specs()] == ["race"]
    assert add_game_file(race) == ["race"], "a second time changes nothing"
    assert os.environ[GAME_FILES_VARIABLE] == str(race)


def install(folder: Path, module: str, source: str, target: str) -> None:
    """Install a package of one module that offers something as games."""
    (folder / module).parent.mkdir(parents=True, exist_ok=True)
    (folder / module).write_text(source)
    about = folder / "packaged-1.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    (about / "METADATA").write_text("Name: packaged\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[bot_arena.games]\npackaged = {target}\n")


def test_a_game_of_an_installed_package_has_a_version_and_a_digest_of_all_its_sources(
    race: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_entry_points: Callable[[], None]
) -> None:
    source = race.read_text().replace('name = "race"', 'name = "race"\n    version = "7"')
    install(tmp_path / "one", "race_pack/__init__.py", source, "race_pack:Race")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(tmp_path / "one"))
        (spec,) = installed_specs()
        assert (spec.name, spec.rules, spec.version) == ("race", "race_pack:Race.rules", "7")
        assert re.fullmatch("[0-9a-f]{64}", spec.digest)
        assert installed_specs() == [spec]
        (tmp_path / "one" / "race_pack" / "helper.py").write_text("STEPS = 3\n")
        assert installed_specs()[0].digest != spec.digest
    source += (
        "\n\nfrom protocol.games.spec import GameSpec\n\n"
        "SPECS = [\n    GameSpec('race', 'race_module', 'race_module:Race.rules'),\n"
        "    GameSpec('own', 'race_module', 'race_module:Race.rules', version='2', digest='ab'),\n]\n"
    )
    install(tmp_path / "two", "race_module.py", source, "race_module:SPECS")
    monkeypatch.syspath_prepend(str(tmp_path / "two"))
    read_entry_points()
    first, second = installed_specs()
    assert (first.version, len(first.digest)) == ("1", 64)
    assert (second.version, second.digest) == ("2", "ab")


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
        ("def chances(", "def chance(", "wrong.py, line 31: turn returns CHANCE, but the method chances is missing"),
        ("def start(self)", "def start()", "wrong.py, line 20: Pig: write start(self), not start()"),
        (
            "at_risk: int = 0",
            "at_risk: tuple = ([],)",
            "wrong.py: a state holds what can't be hashed or sent (tuples can",
        ),
        (
            "at_risk: int = 0",
            "at_risk: float = 0.0",
            "wrong.py: a state has a number that is not whole: {'scores': ",
        ),
        (
            "at_risk: int = 0",
            'at_risk: str = 131072 * "x"',
            "wrong.py: a state takes 131,159 bytes: at most 131,072 fit in a record",
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


@pytest.mark.parametrize(
    ("program", "words"),
    [("arena", ["try", "a=random", "b=random", "--quiet", "--game"]), ("arena-bot", ["compare", "--depth", "1"])],
)
def test_rules_that_fail_in_a_match_or_a_search_are_named_without_a_traceback(
    program: str, words: list[str], tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(CONNECT_FOUR.read_text("utf-8").replace("columns = list(state.columns)", "columns = state.rows"))
    done = call(program, *words, str(wrong))
    assert done.code == 2
    said = f"{program}: wrong.py, line 41: AttributeError: 'Grid' object has no attribute 'rows'"
    assert done.err.splitlines()[-1] == said


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
    assert drawing.grid is not None
    assert drawing.grid.cells == [["", "", "", ""], ["", "", "", ""], ["O", "", "", ""], ["X", "", "X", ""]]
    assert (drawing.text, drawing.grid.owners) == (None, {"X": 0, "O": 1})
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


def test_the_source_of_a_file_is_told_while_it_is_that_which_was_loaded(race: Path) -> None:
    assert resolve_game(str(race)) == "race"
    content = race.read_bytes()
    told = read_source("race")
    assert (told.game, told.version, told.source.encode()) == ("race", "1", content)
    assert told.digest == game_spec("race").digest == hashlib.sha256(content).hexdigest()
    race.write_bytes(content + b"\n")
    with pytest.raises(UsageFault, match="the source of race has changed since the arena loaded it: the arena has to"):
        read_source("race")
    race.unlink()
    with pytest.raises(UsageFault, match="the source of race can't be read: No such file or directory"):
        read_source("race")


def test_the_source_of_a_game_that_is_no_file_or_no_text_is_refused(race: Path) -> None:
    with pytest.raises(UsageFault, match="nim is not a game of a file, whose source can be told: it belongs to an"):
        read_source("nim")
    race.write_bytes(b"# coding: latin-1\n# \xe9\n" + race.read_bytes())
    assert resolve_game(str(race)) == "race"
    with pytest.raises(UsageFault, match="the source of race is not text in UTF-8"):
        read_source("race")


MISSPELLED = """
    tilte = "Race"

    def grids(self, state):
        return None

    def numbers_left(self, state):
        return self.last - state.number

    def _helper(self):
        return None
"""


def test_a_name_that_the_contract_does_not_know_and_nothing_uses_is_warned_of(race: Path) -> None:
    race.write_text(race.read_text() + MISSPELLED)
    checked = call("arena", "game", "check", str(race), "--games", "2")
    first = race.read_text().splitlines().index('    tilte = "Race"') + 1
    assert checked.code == 0
    assert checked.out.startswith("race/classic: 2 random games keep the contract")
    assert checked.err.splitlines() == [
        f"arena: race.py, line {first}: nothing uses Race.tilte, which the contract does not have; perhaps it should "
        "be title",
        f"arena: race.py, line {first + 2}: nothing uses Race.grids, which the contract does not have; perhaps it "
        "should be grid",
        f"arena: race.py, line {first + 5}: nothing uses Race.numbers_left, which the contract does not have",
    ]


def test_a_name_that_the_file_uses_is_not_warned_of(race: Path) -> None:
    helper = "    def steps(self) -> tuple[int, ...]:\n        return (1, 2, 3)\n"
    race.write_text(race.read_text().replace("in (1, 2, 3) if", "in self.steps() if") + "\n" + helper)
    checked = call("arena", "game", "check", str(race), "--games", "2")
    assert (checked.code, checked.err) == (0, "")


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.stem)
def test_the_examples_are_checked_without_a_warning(file: Path) -> None:
    assert call("arena", "game", "check", str(file), "--games", "1")[::2] == (0, "")


EVALUATED = """
    def evaluate(self, state: RaceState, seat: int) -> float:
        return {value}
"""


@pytest.mark.parametrize("value", ["1", "-1.0", "None"])
def test_an_evaluation_that_is_no_number_between_loss_and_win_is_named(race: Path, value: str) -> None:
    race.write_text(race.read_text() + EVALUATED.format(value=value))
    line = race.read_text().splitlines().index("    def evaluate(self, state: RaceState, seat: int) -> float:") + 1
    checked = call("arena", "game", "check", str(race), "--games", "1")
    assert (checked.code, checked.out) == (1, "")
    assert checked.err == (
        f"arena: race.py, line {line}: evaluate returns {value} for seat 0: a number between -1 and 1\n"
    )


def test_searches_look_only_some_moves_ahead_by_the_evaluation_of_the_author(race: Path) -> None:
    """A number from which 21 is a multiple of four away is lost for who moves from it."""
    good = "(0.5 if seat != state.seat else -0.5) if (self.last - state.number) % 4 == 0 else 0.0"
    race.write_text(race.read_text() + EVALUATED.format(value=good))
    assert resolve_game(str(race)) == "race"
    assert names_of("race") == ("own", "none")
    rules = load_game("race", {"last": 100})
    state = rules.decode_state({"number": 42, "seat": 1, "to_move": 1, "ply": 9})
    evaluate = load_evaluation("race")
    found = star1(rules, state, depth=1, evaluate=evaluate)
    assert (found.move, found.value) == (2, 450_000)
    assert evaluate(rules, rules.apply(state, 2, NO_DICE)[0], 0) == -0.5
    assert star1(rules, state, depth=1, evaluate=load_evaluation("race", "none")).value == 0


def test_a_demo_server_has_a_bot_that_seeks_matches_of_it(race: Path) -> None:
    add_game_file(race)
    add_game_file(EXAMPLES / "onecard.py")
    silent = race.with_name("silent.py")
    silent.write_text(
        race.read_text().replace('"race"', '"a-game-with-quite-a-long-name"')
        + "    hidden = True\n    def seen(self, state, seat):\n        return state\n"
    )
    add_game_file(silent)
    bots = {bot.name: bot.command for bot in make_demo_bots() if "--game" in bot.command}
    seeking = {command[command.index("--game") + 1]: name for name, command in bots.items()}
    assert (seeking["race"], seeking["onecard"]) == ("race-uct", "onecard-uct")
    assert seeking["a-game-with-quite-a-long-name"] == "a-game-with-quite-a-long-random"


def test_a_bot_gets_the_rules_by_the_file_on_its_command_line(race: Path) -> None:
    given = read_command_line(RandomBot("mine"), ["--game", str(race), "--config", "last=9"])
    settings = merge_settings(given)
    assert (settings.game, settings.config) == ("race", {"last": 9})
    with pytest.raises(UsageFault, match="race: last is 1: it must be an integer from 5 to 100"):
        merge_settings(read_command_line(RandomBot("mine"), ["--game", "race", "--config", "last=1"]))
    with pytest.raises(UsageFault, match=r"the game .*nowhere.py can't be read: No such file or directory"):
        read_command_line(RandomBot("mine"), ["--game", "nowhere.py"])
    compared = call("arena-bot", "compare", str(race), "--set", "last=5")
    assert (compared.code, compared.out.splitlines()[0]) == (0, "race, the whole game")
    refused = call("arena-bot", "run", "greedy", "--game", "nowhere.py")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.endswith("nowhere.py can't be read: No such file or directory\n")
