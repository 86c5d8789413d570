"""A bot out of a Python file: as the program makes it, without that it plays."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bots.client.bot import Bot
from bots.client.loading import load_bot
from protocol.errors import UsageFault

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
BOT = """
from bots import Bot, run


class Mine(Bot):
    settings = {"depth": "how deep"}

    def __init__(self, name, version="", *, depth="1"):
        super().__init__(name, version)
        self.depth = depth

    def choose(self, turn):
        return turn.legal[0]
"""


def load(folder: Path, text: str, cls: str | None = None, **settings: str) -> Bot:
    file = folder / "mine.py"
    file.write_text(text)
    return load_bot(file, cls, "given", settings, {"eval": "none"})


@pytest.mark.parametrize(
    "end",
    [
        "run(Mine('own', '1.0', depth='7'), slots=4)",
        "if __name__ == '__main__':\n    run(Mine('own', '1.0', depth='7'))",
        "def main():\n    run(Mine('own', '1.0', depth='7'))\nmain()\nraise AssertionError('after the matches')",
    ],
    ids=["run", "guarded", "within"],
)
def test_a_program_gives_the_bot_that_it_runs_as_it_makes_it(end: str, tmp_path: Path) -> None:
    bot = load(tmp_path, BOT + end)
    assert (type(bot).__name__, bot.name, bot.version, vars(bot)["depth"]) == ("Mine", "own", "1.0", "7")


def test_the_bot_of_the_examples_is_loaded() -> None:
    assert load_bot(EXAMPLES / "mine.py", None, "given", {}, {}).name == "mine"


def test_a_class_is_made_of_a_name_and_its_settings(tmp_path: Path) -> None:
    bot = load(tmp_path, BOT + "run(Mine('own'))", "Mine", depth="3")
    assert (bot.name, vars(bot)["depth"]) == ("given", "3")


def test_of_a_program_that_runs_none_the_only_class_is_taken(tmp_path: Path) -> None:
    assert load(tmp_path, BOT).name == "given"


def test_a_program_finds_what_lies_beside_it_and_its_own_name_alone_on_its_command_line(tmp_path: Path) -> None:
    (tmp_path / "strategy.py").write_text("DEPTH = '9'\n")
    bot = load(tmp_path, BOT + "import strategy, sys\nrun(Mine(sys.argv[0][-7:-3], depth=strategy.DEPTH))")
    assert (bot.name, vars(bot)["depth"]) == ("mine", "9")


def test_two_versions_of_a_bot_have_each_the_modules_beside_it(tmp_path: Path) -> None:
    found = []
    for version in ("one", "two"):
        folder = tmp_path / version
        (folder / "parts").mkdir(parents=True)
        (folder / "strategy.py").write_text(f"from parts.deep import DEPTH\nNAME = '{version}'\n")
        (folder / "parts" / "deep.py").write_text(f"DEPTH = 'depth {version}'\n")
        bot = load(folder, BOT + "import strategy\nrun(Mine(strategy.NAME, depth=strategy.DEPTH))")
        found.append((bot.name, vars(bot)["depth"]))
    assert found == [("one", "depth one"), ("two", "depth two")]


def test_a_text_beside_a_program_is_no_module(tmp_path: Path) -> None:
    (tmp_path / "msgspec.txt").touch()
    assert isinstance(load(tmp_path, BOT + "import sys\nassert 'msgspec' in sys.modules"), Bot)


def test_a_program_beside_this_library_shares_it(tmp_path: Path) -> None:
    (tmp_path / "bots").mkdir()
    assert isinstance(load(tmp_path, BOT + "run(Mine('own'))"), Bot)


def test_a_program_is_compiled_as_it_stands(tmp_path: Path) -> None:
    bot = load(tmp_path, BOT + "class Noted(Mine):\n    depth: int\nrun(Noted('own'))")
    assert type(bot).__annotations__ == {"depth": int}


def test_nothing_of_it_stays_in_this_process(tmp_path: Path) -> None:
    (tmp_path / "strategy.py").write_text("")
    before = sys.argv, list(sys.path), sys.modules["__main__"]
    load(tmp_path, BOT + "import strategy\nrun(Mine('own'))")
    assert (sys.argv, sys.path, sys.modules["__main__"]) == before
    assert "strategy" not in sys.modules


@pytest.mark.parametrize(
    ("text", "cls", "says"),
    [
        ("print('hello')", None, "mine.py does not import bots: only bots of the Python library play in process"),
        ("from bots import Bot\nclass", None, "mine.py is not a Python program: invalid syntax"),
        (
            "from bots import Bot",
            None,
            "mine.py does not call run(bot), and of subclasses of Bot it has none: write class Mine(Bot), in it "
            'def choose(self, turn), and below it run(Mine("mine"))',
        ),
        (
            BOT + "class Other(Mine): pass",
            None,
            "mine.py does not call run(bot), and of subclasses of Bot it has Mine, Other: name the one that is meant, "
            "mine.py:Mine",
        ),
        (BOT, "Yours", "mine.py has no subclass of Bot called 'Yours': it has Mine"),
        (BOT + "1 / 0", None, "mine.py: its code failed before it called run(bot), in line 14: ZeroDivisionError"),
        (BOT + "import nowhere", None, "mine.py: its code failed before it called run(bot), in line 14: ModuleNot"),
        (BOT + "run(Mine('x', depht=3))", None, "mine.py: its code failed before it called run(bot), in line 14: Type"),
        (BOT + "raise SystemExit(3)", None, "mine.py: it ended before it called run(bot), with exit code 3"),
        (BOT + "x = " + "-" * 10_000 + "1", None, "mine.py is not a Python program: "),
    ],
)
def test_a_file_that_gives_no_bot_is_refused_in_a_line(text: str, cls: str | None, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageFault) as fault:
        load(tmp_path, text, cls)
    assert str(fault.value).replace(f"{tmp_path}/", "").startswith(says)
    assert "\n" not in str(fault.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match=r"nowhere\.py can't be read: No such file or directory"):
        load_bot(tmp_path / "nowhere.py", None, "given", {}, {})


def test_settings_are_for_a_class_and_not_for_a_bot_that_is_made(tmp_path: Path) -> None:
    with pytest.raises(
        UsageFault, match=r"its run\(\) creates the bot: to change settings, name the class, .*mine\.py:Mine"
    ):
        load(tmp_path, BOT + "run(Mine('own'))", depth="3")


def test_a_setting_that_the_class_has_not_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match=r"given has no setting 'speed': it has depth"):
        load(tmp_path, BOT, "Mine", speed="3")
