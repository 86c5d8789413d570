"""docs/other-languages.md keeps its word: its programs play, its lines are those that a program reads and writes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from bots.client.bot import Turn
from bots.client.seat import Seat
from bots.client.thinking import Choose
from bots.piping.lines import answer, asked, told
from bots.reference.random_bot import RandomBot
from commands import REPOSITORY, run
from patience import WITHIN
from protocol import messages
from protocol.games import load

EXAMPLES = REPOSITORY / "docs" / "examples"
DOCUMENT = (REPOSITORY / "docs" / "other-languages.md").read_text()
START, TURN, BARE, MOVE, REJECTED, END = re.findall(r"```json\n(.*)\n```", DOCUMENT)
PIPE = f"{sys.executable} -m bots pipe --"


def built(tmp_path: Path, *command: str) -> None:
    """Compile an example; without the compiler the test is skipped, in CI it fails."""
    if shutil.which(command[0]) is None:
        if os.environ.get("CI"):
            pytest.fail(f"{command[0]} is not installed")
        pytest.skip(f"{command[0]} is not installed")
    cache = {"GOCACHE": str(tmp_path / "cache")}
    subprocess.run(command, cwd=EXAMPLES, check=True, timeout=WITHIN, env={**os.environ, **cache})


def program(language: str, tmp_path: Path) -> str:
    """The words that run the example in this language."""
    match language:
        case "c":
            built(tmp_path, "gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", f"{tmp_path}/legal", "legal.c")
            return f"{tmp_path}/legal"
        case "java":
            built(tmp_path, "javac", "-Xlint:all", "-Werror", "-d", str(tmp_path), "Legal.java")
            return f"java -cp {tmp_path} Legal"
        case "go":
            built(tmp_path, "go", "build", "-o", f"{tmp_path}/clever", "clever.go")
            return f"{tmp_path}/clever"
    return f"{EXAMPLES}/legal.sh"


@pytest.mark.parametrize("language", ["sh", "c", "java", "go"])
def test_an_example_plays_legal_moves_to_the_end(language: str, tmp_path: Path) -> None:
    words = [f"mine={PIPE} {program(language, tmp_path)}", "random", "--game", "risk-campaign"]
    done = run("arena", "tournament", *words, "--data", f"{tmp_path}/data")
    assert done.returncode == 0, done.stderr
    played = re.search(r"^\d +mine +1 .* (\d+)$", done.stdout, re.MULTILINE)
    assert played is not None, done.stdout
    assert played[1] == "0", "forfeits"
    assert "mine: " not in "".join(log.read_text() for log in Path(tmp_path, "data").rglob("mine*.log"))


def test_the_clever_one_plays_nim_by_its_theory(tmp_path: Path) -> None:
    clever = program("go", tmp_path)
    done = subprocess.run([clever], input=f"{START}\n{TURN}\n", capture_output=True, text=True, timeout=WITHIN)
    assert json.loads(done.stdout) == {"heap": 1, "take": 1}, "of 1 and 2 it leaves 1 and 1"


def test_the_examples_can_be_read_at_once() -> None:
    examples = ("legal.sh", "legal.c", "Legal.java", "clever.go")
    assert all(len((EXAMPLES / name).read_text().splitlines()) < 60 for name in examples)


@pytest.mark.parametrize(("language", "example"), [("sh", "legal.sh"), ("c", "legal.c")])
def test_the_programs_of_the_document_are_the_examples(language: str, example: str) -> None:
    assert f"```{language}\n{(EXAMPLES / example).read_text()}```" in DOCUMENT


def read() -> Turn:
    """The turn of the document, as a bot is given it."""
    start = msgspec.json.decode(START, type=messages.Start)
    turn = msgspec.convert({**json.loads(TURN), "digest": "0" * 64}, messages.Turn)
    (work,) = Seat(RandomBot("mine"), start, 0, load(start.game, start.config), "").turned(turn, 0.0)
    assert isinstance(work, Choose)
    return work.turn


@pytest.mark.parametrize(
    ("line", "kind"), [(START, messages.Start), (REJECTED, messages.Rejected), (END, messages.End)]
)
def test_the_messages_of_the_document_are_lines_as_a_program_reads_them(
    line: str, kind: type[messages.Start | messages.Rejected | messages.End]
) -> None:
    assert told(msgspec.json.decode(line, type=kind)) == f"{line}\n".encode()


def test_the_turn_of_the_document_is_a_line_as_a_program_reads_it() -> None:
    assert asked(read()) == f"{TURN}\n".encode()


def test_the_answers_of_the_document_are_moves() -> None:
    turn = read()
    bare, move = (answer(line.encode(), turn) for line in (BARE, MOVE))
    assert bare is not None
    assert move is not None
    assert (bare.move, move.move, move.note) == ({"heap": 0, "take": 4}, turn.legal[0], "lost")
