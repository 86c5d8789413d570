"""`arena try`: one match in one process, drawn as it goes, and again at every save."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from arena.commands import file_watch
from commands import Done, call
from terminals import Terminal
from timeouts import WITHIN

FIRST = """from bots import Bot, run

class Mine(Bot):
    def choose(self, turn):
        {choose}

run(Mine("mine"))
"""
RAISES = 'raise ValueError("no plan")'
"""In line 5, as all that `choose` does."""
NEVER_ENDS = "while True: pass"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return tmp_path / "mine.py"


def write(mine: Path, choose: str = "return turn.legal[0]") -> Path:
    mine.write_text(FIRST.format(choose=choose))
    return mine


def tried(mine: Path, *words: str, rival: str = "random") -> Done:
    return call("arena", "try", str(mine), rival, "--game", "nim", *words)


def test_a_match_is_told_board_by_board_to_its_end_and_nothing_is_kept(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(mine)
    monkeypatch.chdir(mine.parent)
    code, out, err = call("arena", "try", "mine.py", "random", "--game", "nim", "--seed", "7")
    assert (code, err) == (0, "")
    assert "\n 0:    3  |||\n" in out
    assert "\n0  mine: 1 from heap 0" in out
    told, _, ranks = out.partition("win after ")
    assert told.count("\n 2:  ") == int(ranks.split()[0]) + 1
    assert set(ranks.splitlines()[1:]) in ({"  1. mine", "  2. random"}, {"  1. random", "  2. mine"})
    assert [file.name for file in mine.parent.iterdir()] == ["mine.py"]


def test_a_seed_plays_the_same_match_again(mine: Path) -> None:
    drawn = tried(write(mine))
    seed = drawn.out.split("--seed ")[1].split("`")[0]
    same, *others = (
        without_times(tried(mine, "--seed", word).out) for word in (seed, *(f"{seed}{n}" for n in range(8)))
    )
    assert same in without_times(drawn.out)
    assert set(others) != {same}, "some of eight short matches can be the same, but not all"
    assert len({without_times(tried(mine, "--seed", "").out) for _ in range(8)}) == 1, "no word is a seed as well"


def without_times(told: str) -> str:
    """What was told, but for the time that seats had left."""
    return re.sub(r", [\d.]+ s left$", "", told, flags=re.MULTILINE)


def test_quiet_says_how_it_ended_alone(mine: Path) -> None:
    assert tried(write(mine), "--quiet", "--seed", "1").out.startswith("\nwin after ")


def test_where_payoffs_are_the_result_the_end_says_them() -> None:
    words = ("tit-for-tat", "always-defect", "--game", "dilemma", "--set", "rounds=4", "--seed", "1", "--quiet")
    out = call("arena", "try", *words).out
    assert "  1. always-defect  2.000 a round\n  2. tit-for-tat  0.750 a round\n" in out


@pytest.mark.parametrize(
    ("choose", "told"),
    [
        (
            RAISES,
            (
                "mine (its program failed: raised ValueError: no plan, in mine.py line 5)\n",
                "mine: its code failed at ply 0 of ",
                'mine.py", line 5, in choose',
            ),
        ),
        (
            "pass",
            (
                "mine (its program failed: choose returned None)\n",
                "mine: choose returned None at ply 0 of ",
                'a move is a map like {"heap":0,"take":1}',
            ),
        ),
        (NEVER_ENDS, ("mine (timeout)", "mine: stopped in ", 'mine.py", line 5, in choose\n')),
        ('return {"heap": 0, "take": 9}', ("mine (illegal)", "mine: move ", "9 cannot be taken")),
        (
            "import beside",
            ("No module named 'beside', in mine.py line 5: import it at the top of the file)",),
        ),
    ],
)
def test_what_went_wrong_with_a_bot_is_said_below_the_result(choose: str, told: tuple[str, ...], mine: Path) -> None:
    mine.with_name("beside.py").touch()
    clock = "0.5" if choose == NEVER_ENDS else str(WITHIN)  # for both, however busy the machine
    code, out, err = tried(write(mine, choose), "--clock", clock)
    result, _, below = out.partition("1. random")
    assert (code, err) == (1, "")
    assert "mine:" not in result.rpartition("after ")[2]
    assert all(words in below for words in told), below
    assert "local_match.py" not in below


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "from bots import Bot\n\nclass Mine(Bot)\n",
            "mine.py is not a Python program: expected ':' (mine.py, line 3)",
        ),
        (
            "from bots import Bot\n",
            "it has none: write class Mine(Bot), in it def choose(self, turn), and below it run",
        ),
        ("from bots import Bot\nimport nowhere\n", "called run(bot), in line 2: ModuleNotFoundError("),
        (FIRST.format(choose="pass").replace('Mine("mine")', "Mine"), "mine.py, line 7: run takes a bot, not its"),
        (FIRST.format(choose="pass").replace("choose", "chose"), "mine.py, line 7: Mine has no method choose: rename"),
        (
            FIRST.format(choose="pass").replace(
                "run(Mine", "    def check_game(self, game):\n        self.map\n\nrun(Mine"
            ),
            "mine: its code raised AttributeError: 'Mine' object has no attribute 'map', in mine.py line 8",
        ),
    ],
    ids=["syntax", "no class", "import", "class", "method", "check"],
)
def test_a_file_that_gives_no_bot_is_a_line_with_its_place(text: str, says: str, mine: Path) -> None:
    mine.write_text(text)
    code, out, err = tried(mine)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["greedy", "--game", "nim"], "a match of nim has 2 seats under this config: 1 bot is given"),
        (["greedy", "random"], "--game is missing: one of nim"),
        (["greedy", "random", "--game", "nim", "--preset", "x"], "nim has no preset 'x'"),
        (["greedy", "random", "--game", "nim", "--watch"], "--watch plays again when a bot or a game is saved"),
        (
            ["greedy", "random", "--game", "nim", "--moves-per-second", "1e-300"],
            "--moves-per-second is 1e-300: it is 0.01 to",
        ),
        (["greedy", "x=sh bot.sh", "--game", "nim"], "x: 'sh bot.sh' can't play in process"),
    ],
)
def test_words_that_cannot_be_are_a_line(words: list[str], says: str) -> None:
    code, out, err = call("arena", "try", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"arena: {says}")


@pytest.fixture
def terminal(mine: Path, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    words = ["try", str(write(mine, request.param)), "random", "--game", "nim", "--seed", "1"]
    shown = Terminal(*words, "--moves-per-second", "1000", lines=30, columns=80)
    try:
        yield shown
    finally:
        shown.close()


PRINTS = "import sys; sys.stdout.reconfigure(encoding='utf-8'); print('ply', turn.ply); sys.stdout.close()"


@pytest.mark.parametrize("terminal", [f"{PRINTS}; return turn.legal[0]"], indirect=True)
def test_at_a_terminal_boards_are_drawn_in_one_place_with_what_the_bot_prints(terminal: Terminal) -> None:
    last = terminal.until("  2. ")
    assert "before the first move" in terminal.drawn.split("\x1b[2J")[1]
    assert "\nnim, mine, random\n" in last
    assert "\n\nply 0\nply 2\n" in last.partition("printed meanwhile:")[0]
    assert terminal.ends() == 0
    assert "\nprinted meanwhile:\nply 0\nply 2\n" in terminal.frame()


CATCHES_ALL = """import os, time
        while True:
            try:
                os.write(2, b"chooses\\n")
                time.sleep(1000)
            except:
                os.write(2, b"goes on\\n")"""


@pytest.mark.parametrize("terminal", [CATCHES_ALL], indirect=True)
def test_a_bot_that_catches_every_exception_is_ended_by_a_second_ctrl_c(terminal: Terminal) -> None:
    terminal.until("chooses")
    terminal.press("\x03")
    terminal.until("goes on")
    terminal.press("\x03")
    assert terminal.ends() == -signal.SIGINT


def test_a_person_at_a_terminal_reads_what_they_are_asked_and_answered() -> None:
    shown = Terminal("try", "human", "random", "--game", "nim", "--seed", "1", lines=50, columns=80)
    try:
        assert "  0 human 600.0  1 random 600.0\n" in shown.until("your move, ")
        shown.press("help\n")
        shown.until("a number from the list, or a move like")
        shown.press("\x04")  # Ctrl-D
        shown.until("  2. human (resigned)")
        assert shown.ends() == 0
    finally:
        shown.close()


def test_with_watch_it_plays_again_at_every_save_until_a_signal(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program plays, so whatever is wrong with the file ends no more than that. The first one here ends by itself."""
    started: list[Program] = []

    class Program(subprocess.Popen[bytes]):
        def __init__(self, words: list[str]) -> None:
            self.words = words
            super().__init__(["sleep", "1000"] if started else ["true"])
            started.append(self)

    def stop() -> None:
        assert callable(signal.getsignal(signal.SIGTERM)), "the program would go on alone"
        signal.raise_signal(signal.SIGTERM)

    meanwhile = iter(
        [
            lambda: started[0].wait(WITHIN),
            lambda: mine.write_text("class"),
            lambda: mine.write_text("class Mine"),  # the editor still writes
            lambda: None,
            lambda: write(mine, "return turn.legal[-1]"),
            lambda: None,
            stop,
        ]
    )
    write(mine)
    monkeypatch.setattr(file_watch, "subprocess", Mock(Popen=Program, TimeoutExpired=subprocess.TimeoutExpired))
    monkeypatch.setattr(file_watch, "time", Mock(sleep=lambda _: next(meanwhile)()))
    done = tried(mine, "--quiet", "--watch", "--seed", "1", "--preset", "classic", "--set", "misere=true")
    monkeypatch.undo()
    said = "arena: waiting for the next save of mine.py; Ctrl-C ends (the same dice each time, by seed 1)\n"
    assert (done.code, done.out, done.err.count(said)) == (130, "", 1)
    assert [program.returncode for program in started] == [0, -signal.SIGTERM, -signal.SIGTERM]
    (words,) = {tuple(program.words) for program in started}
    assert words[:4] == (sys.executable, "-P", "-m", "arena")
    once = tried(mine, "--quiet", "--seed", "1", "--preset", "classic", "--set", "misere=true")
    assert call(*words[3:]) == once
    assert once.out.startswith("\nwin after ")


def tried_by_a_person(typed: str, *words: str) -> str:
    """What is told where a person plays, who types these lines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(typed))
        done = call("arena", "try", *words)
    assert done.code == 0, done.err
    return done.out


TALKS = """from bots import Bot, Choice, run

class Talks(Bot):
    def choose(self, turn):
        return Choice(turn.legal[0], note="I hold %s" % turn.state["cards"][turn.seat])

run(Talks("talks"))
"""


def test_a_person_at_the_terminal_sees_their_own_card_alone(mine: Path) -> None:
    mine.write_text(TALKS)
    out = tried_by_a_person("bet\n", "human", str(mine), "--game", "kuhn", "--set", "hands=1", "--seed", "1")
    dealt, *_ = [line for line in out.splitlines() if line.startswith("0  chance: cards ")]
    assert dealt.split()[-1] == "?"
    cards = [line for line in out.splitlines() if line.startswith("cards: ")]
    assert cards
    assert all(line.endswith(" ?") for line in cards)
    assert "I hold" not in out, "what the other thought of its move"
    assert "seat 0 wins 1" in out


def test_a_person_whose_time_is_up_is_shown_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    reads, writes = os.pipe()
    with open(reads) as typed, open(writes, "w"):
        monkeypatch.setattr(sys, "stdin", typed)
        out = call("arena", "try", "human", "random", "--game", "nim", "--clock", "0.01").out
    assert re.search(
        r"\n  2\. human \(timeout\)\nhuman: stopped in \S+, long after its time was up\n(seed .*\n)?$", out
    )


def test_two_people_at_a_terminal_see_no_card_but_at_their_turn() -> None:
    out = tried_by_a_person("k\nk\n", "human", "you=human", "--game", "kuhn", "--set", "hands=1")
    assert "0  chance: cards ? ?" in out


def test_who_tries_bots_sees_every_card(mine: Path) -> None:
    mine.write_text(TALKS)
    out = tried_by_a_person("", "random", str(mine), "--game", "kuhn", "--set", "hands=1")
    assert "?" not in out
    assert "I hold" in out


def test_a_person_chooses_in_rounds_and_is_told_what_both_chose(mine: Path) -> None:
    write(mine)
    words = ["--set", "preset=axelrod", "--set", "rounds=1"]
    out = tried_by_a_person("defect\n", "human", str(mine), "--game", "dilemma", *words)
    assert "you chose defect; it is shown when all have chosen" in out
    assert "you: defect, mine: cooperate, payoffs 5 and 0" in out
