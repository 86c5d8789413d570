"""`--against`: a bot plays another version of it on this machine, and the answer is a sentence."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from bots import Bot, Turn, run
from bots.playing.versions import DEFAULT_MATCHES, ComparedVersions, conclusion
from bots.reference.random_bot import RandomBot
from protocol.games import load_game
from seasons import result
from turns import First

OLD = """from bots import Bot, Turn, run

class Old(Bot):
    def choose(self, turn: Turn):
        {choose}

run(Old("mine"), url="ws://127.0.0.1:1")
"""
LOTS = "return turn.random.choice(turn.legal)"
FIRST = "return turn.legal[0]"


class Winning(Bot):
    """It takes the last counter where it can, else it draws lots."""

    def choose(self, turn: Turn) -> object:
        left = sum(turn.state["heaps"])
        last = [move for move in turn.legal if move["take"] == left]
        return (last or [turn.random.choice(turn.legal)])[0]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an old version, and the program that is run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["my_bot.py"])
    write("my_bot_old.py", LOTS)
    return tmp_path


def write(name: str, choose: str) -> None:
    Path(name).write_text(OLD.format(choose=choose))


def against(bot: Bot, *words: str, game: str = "nim", other: str = "my_bot_old.py", seed: str = "7") -> None:
    run(bot, ["--game", game, "--against", other, "--seed", seed, *words])


def test_the_answer_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    against(Winning("mine"))
    said = capsys.readouterr()
    (line,) = said.out.splitlines()
    assert re.fullmatch(
        rf"my_bot\.py is better than my_bot_old\.py: it scores 0\.\d+ \(.+\), after {DEFAULT_MATCHES} games", line
    )
    assert said.err == f"{DEFAULT_MATCHES} matches of Nim on this machine, seed 7\n"


def test_the_same_seed_gives_the_same_answer_and_another_one_other_games(capsys: pytest.CaptureFixture[str]) -> None:
    answers = []
    for seed in ("7", "7", "8"):
        against(Winning("mine"), "--matches", "40", seed=seed)
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1] != answers[2]


def test_a_worse_version_and_one_as_good_are_said_to_be_so(capsys: pytest.CaptureFixture[str]) -> None:
    last = "(move for move in turn.legal if move['take'] == sum(turn.state['heaps']))"
    write("better.py", f"return next({last}, turn.random.choice(turn.legal))")
    against(RandomBot("mine"), other="better.py")
    write("lots.py", LOTS)
    against(RandomBot("mine"), "--matches", "40", other="lots.py")
    worse, equal = capsys.readouterr().out.splitlines()
    assert worse.startswith("my_bot.py is worse than better.py: it scores 0.")
    assert equal.startswith("neither my_bot.py nor lots.py is shown to be better: my_bot.py scores 0.")


def test_games_that_always_come_out_alike_are_said_to_be_of_one_start(capsys: pytest.CaptureFixture[str]) -> None:
    write("first.py", FIRST)
    against(First("mine"), other="first.py")
    assert capsys.readouterr().out == (
        "from this start my_bot.py can't be told from first.py: it scores 0.500, and its 2 games took the same course "
        "all 100 times; other starts may differ: --preset min-nim\n"
    )


def test_few_games_are_said_to_be_too_few(capsys: pytest.CaptureFixture[str]) -> None:
    against(Winning("mine"), "--matches", "9")
    assert capsys.readouterr().out.startswith("10 games are too few to say which is better: my_bot.py scores ")


def test_of_more_than_two_seats_the_bot_has_each_in_turn(capsys: pytest.CaptureFixture[str]) -> None:
    against(First("mine"), "--preset", "world-3", "--config", "max_rounds=1", "--matches", "3", game="risk-campaign")
    said = capsys.readouterr()
    assert said.out.startswith("3 games are too few to say which is better: my_bot.py scores ")
    assert said.err.startswith("3 matches of Risk: the campaign")


def test_a_version_that_fails_is_named_with_the_reason_once(capsys: pytest.CaptureFixture[str]) -> None:
    write("broken.py", "raise ValueError('no plan')")
    against(RandomBot("mine"), "--matches", "20", other="broken.py")
    said = capsys.readouterr()
    assert "broken.py forfeited 20 of 20 games, by time, illegal moves or code that failed" in said.out
    assert said.err.count("ValueError: no plan\n") == 1


def test_two_files_of_one_name_are_told_apart(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "v 1").mkdir()
    write("v 1/my_bot.py", LOTS)
    against(Winning("mine"), other="v 1/my_bot.py")
    assert capsys.readouterr().out.startswith("this version is better than v 1/my_bot.py: it scores ")


class Interrupted(Winning):
    """Somebody presses Ctrl-C while it thinks about its 200th move."""

    moves = 0

    def choose(self, turn: Turn) -> object:
        self.moves += 1
        if self.moves == 200:
            raise KeyboardInterrupt
        return super().choose(turn)


def test_who_stops_it_has_the_answer_so_far_and_is_told_what_it_is_worth(capsys: pytest.CaptureFixture[str]) -> None:
    against(Interrupted("mine"), "--matches", "1000")
    answer, warning = capsys.readouterr().out.splitlines()
    assert answer.startswith("my_bot.py ")
    assert warning.startswith("stopped early: if you stop because of the result, it is wrong more often")


WRONG = {
    "no copy": (
        ["--against", "gone.py"],
        "there is no gone.py: save a copy of your program there before you change it",
    ),
    "open": (["--against", "my_bot_old.py", "--open"], "--against plays on this machine, without an arena"),
    "opponent": (["--against", "my_bot_old.py", "--opponent", "ann"], "--against plays on this machine"),
    "payoffs": (["--against", "my_bot_old.py", "--game", "dilemma"], "payoffs of dilemma don't sum to zero"),
    "no file": (
        ["--against", "mine"],
        "--against is 'mine': it must be the file of another version, like my_bot_old.py",
    ),
    "nothing": (["--against", ""], "--against is '': it must be the file of another version"),
    "a folder": (["--against", "."], "--against is '.': it must be the file of another version"),
    "no bot": (["--against", "text.py"], "text.py does not import bots"),
}


@pytest.mark.parametrize(("words", "says"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_compared_is_said_in_a_line(
    capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    Path("text.py").write_text("print(1)\n")
    with pytest.raises(SystemExit) as stopped:
        run(RandomBot("mine"), words)
    assert stopped.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"mine: {says}")


def test_starts_with_a_match_that_was_called_off_count_nowhere() -> None:
    found = ComparedVersions(seats=2)
    void = result("m", reason="void", ranks=(1, 1))
    found.take(0, [void, result("m")], [["new", "old"], ["old", "new"]])
    assert conclusion(found, ("new", "old"), load_game("nim"), is_stopped=False) == [
        "new and old can't be compared: no match was played to its end"
    ]
