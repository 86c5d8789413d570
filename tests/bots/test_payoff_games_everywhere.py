"""Games of rounds and of hidden cards, played by programs in other languages and by the bots of the documents."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from bots.playing.matches import play
from commands import REPOSITORY, run
from node import Node, node_in
from programs import program
from referee.record import Ply
from timeouts import WITHIN

EXAMPLES = REPOSITORY / "docs" / "examples"
PIPE = f"{sys.executable} -m bots pipe --"
SHORT = {"dilemma": "rounds=20", "kuhn": "hands=10", "leduc": "hands=10"}
every_game = pytest.mark.parametrize("game", SHORT)
BOTS = {
    file: text
    for file, text in re.findall(
        r"[aA]s\s+`(\w+\.py)`:\n\n```python\n(.*?)```",
        (REPOSITORY / "docs" / "writing-a-bot.md").read_text(),
        re.DOTALL,
    )
    if file in ("echo.py", "bluffs.py")
}


PLAYED_OUT = ("win", "draw")


def reason_of_match(game: str, words: str, data: Path) -> str:
    """Why a match of a program against the bot `random` was over; the program has no strike in it."""
    done = run("arena", "tournament", "random", words, "--game", game, "--set", SHORT[game], "--data", str(data))
    assert done.returncode == 0, done.stderr
    found = re.match(rf"{game} round-robin, 1 match \((\w+) 1\)", done.stdout)
    assert found is not None, done.stdout
    (log,) = data.rglob("mine.log")
    assert "strike" not in log.read_text()
    assert "rejected" not in log.read_text()
    return found[1]


@every_game
def test_a_program_in_the_shell_plays_through_a_pipe(game: str, tmp_path: Path) -> None:
    assert reason_of_match(game, f"mine={PIPE} {EXAMPLES / 'legal.sh'}", tmp_path) in PLAYED_OUT


@every_game
def test_a_program_in_go_plays_through_a_pipe(game: str, tmp_path: Path) -> None:
    built = tmp_path / "clever"
    subprocess.run(
        [program("go", "golang-go"), "build", "-o", str(built), "clever.go"], cwd=EXAMPLES, check=True, timeout=WITHIN
    )
    assert reason_of_match(game, f"mine={PIPE} {built}", tmp_path) in PLAYED_OUT


@pytest.fixture
def node(tmp_path: Path) -> Node:
    made = node_in(tmp_path / "js")
    shutil.copy(EXAMPLES / "bot.mjs", made.folder)
    return made


@every_game
def test_the_bot_in_javascript_plays(game: str, node: Node, tmp_path: Path) -> None:
    words = f"mine={node.program} {node.folder / 'bot.mjs'}"
    assert reason_of_match(game, words, tmp_path / "data") in PLAYED_OUT


def test_the_five_lines_of_the_document_answer_with_what_the_other_played_last(tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text(BOTS["echo.py"])
    played = play([str(tmp_path / "echo.py"), "random"], "dilemma", config={"preset": "axelrod"})
    rounds = [line.event.moves for line in played.record.lines if isinstance(line, Ply) and line.event.moves]
    assert len(rounds) == 200
    assert rounds[0][0] == {"choose": 0}
    assert all(after[0] == before[1] for before, after in pairwise(rounds))


def test_the_bot_for_poker_of_the_document_plays_every_hand(tmp_path: Path) -> None:
    (tmp_path / "bluffs.py").write_text(BOTS["bluffs.py"])
    played = play([str(tmp_path / "bluffs.py"), "random"], "kuhn", config={"hands": 300}, seed="1")
    assert played.result.reason in ("win", "draw")
    rules_chips = played.states[-1].chips
    assert rules_chips[0] > 0, "against chance it wins"
