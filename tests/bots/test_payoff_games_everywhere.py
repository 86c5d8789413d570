"""Games of rounds and of hidden cards, played by programs in other languages and by the bots of the documents."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from bots.playing.matches import play
from commands import REPOSITORY, run
from node import node_in
from programs import program
from referee.record import Ply
from timeouts import WITHIN

EXAMPLES = REPOSITORY / "docs" / "examples"
PIPE = f"{sys.executable} -m bots pipe --"
SHORT = {"dilemma": "rounds=20", "kuhn": "hands=10", "leduc": "hands=10"}
BOTS = {
    file: text
    for file, text in re.findall(
        r"[aA]s\s+`(\w+\.py)`:\n\n```python\n(.*?)```",
        (REPOSITORY / "docs" / "writing-a-bot.md").read_text(),
        re.DOTALL,
    )
    if file in ("echo.py", "bluffs.py")
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("programs")
    node = node_in(folder / "js")
    shutil.copy(EXAMPLES / "bot.mjs", node.folder)
    words = {"shell": f"{PIPE} {EXAMPLES / 'legal.sh'}", "javascript": f"{node.program} {node.folder / 'bot.mjs'}"}
    if os.environ.get("CI"):  # it takes seconds to compile
        build = [program("go", "golang-go"), "build", "-o", str(folder), "clever.go"]
        subprocess.run(build, cwd=EXAMPLES, check=True, timeout=WITHIN)
        words["go"] = f"{PIPE} {folder / 'clever'}"
    return words


@pytest.mark.parametrize(
    "game", [pytest.param(each, marks=[] if each == "dilemma" else [pytest.mark.nightly]) for each in SHORT]
)
def test_programs_in_other_languages_play_each_other_to_the_end(
    game: str, programs: dict[str, str], tmp_path: Path
) -> None:
    words = [f"{name}={command}" for name, command in programs.items()]
    done = run("arena", "tournament", *words, "--game", game, "--set", SHORT[game], "--data", str(tmp_path))
    assert done.returncode == 0, done.stderr
    matches = {2: "1 match", 3: "3 matches"}[len(programs)]
    endings = r"\((decided|drawn) \d(, (decided|drawn) \d)?\)"
    assert re.match(rf"{game} round-robin, {matches} {endings}", done.stdout), done.stdout
    logs = {log.stem: log.read_text() for log in tmp_path.rglob("*.log")}
    assert programs.keys() <= logs.keys()
    assert not any("strike" in text or "rejected" in text for text in logs.values())


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
