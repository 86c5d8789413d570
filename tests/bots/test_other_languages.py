"""docs/other-languages.md keeps its word: its programs play, its lines are those that a program reads and writes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from bots.client.bot import Turn
from bots.client.seat import Seat
from bots.client.worker_threads import Choose
from bots.commands.piped_lines import encode_message, encode_turn, parse_answer
from bots.reference.random_bot import RandomBot
from commands import REPOSITORY, run
from programs import program
from protocol import messages
from protocol.games import load_game
from timeouts import WITHIN

EXAMPLES = REPOSITORY / "docs" / "examples"
DOCUMENT = (REPOSITORY / "docs" / "other-languages.md").read_text()
START, TURN, BARE, MOVE, REJECTED, END = re.findall(r"```json\n(.*)\n```", DOCUMENT)
PIPE = f"{sys.executable} -m bots pipe --"
COMPILERS = {"sh": "sh", "c": "gcc", "java": "javac", "go": "go"}
PACKAGES = {"java": "default-jdk-headless", "go": "golang-go"}
IN_CI = ("java", "go", "sh")
"""Languages whose compilers take seconds, and the shell, which starts programs each turn: it plays payoff games too."""
HERE = [
    language
    for language, compiler in COMPILERS.items()
    if shutil.which(compiler) and (language not in IN_CI or os.environ.get("CI"))
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The words that run the example in each language whose compiler is here."""
    folder = tmp_path_factory.mktemp("built")
    commands = {
        "c": ("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", f"{folder}/legal", "legal.c"),
        "java": ("javac", "-Xlint:all", "-Werror", "-d", str(folder), "Legal.java"),
        "go": ("go", "build", "-o", f"{folder}/clever", "clever.go"),
    }
    for language in commands.keys() & HERE:
        subprocess.run(commands[language], cwd=EXAMPLES, check=True, timeout=WITHIN)
    words = {
        "sh": f"{EXAMPLES}/legal.sh",
        "c": f"{folder}/legal",
        "java": f"java -cp {folder} Legal",
        "go": f"{folder}/clever",
    }
    return {language: words[language] for language in HERE}


class Played(NamedTuple):
    """What a tournament printed, and the folder that it leaves."""

    table: str
    data: Path


@pytest.fixture(scope="module")
def played(programs: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A match of each example against the bot `random`."""
    if not programs:
        program(COMPILERS["c"], PACKAGES.get("c", ""))  # skips, as nothing can be played without a compiler
    data = tmp_path_factory.mktemp("played")
    bots = [f"{language}={PIPE} {program}" for language, program in programs.items()]
    words = [
        "random",
        *bots,
        "--format",
        "gauntlet",
        "--game",
        "risk-campaign",
        "--set",
        "max_rounds=3",
        "--data",
        str(data),
    ]
    done = run("arena", "tournament", *words)
    assert done.returncode == 0, done.stderr
    return Played(done.stdout, data)


@pytest.mark.parametrize(
    "language", [pytest.param(each, marks=[pytest.mark.ci] if each in IN_CI else []) for each in COMPILERS]
)
def test_an_example_plays_legal_moves_to_the_end(language: str, played: Played) -> None:
    program(COMPILERS[language], PACKAGES.get(language, ""))
    row = re.search(rf"^\d +[\d-]+ +{language} +1 .* (\d+)$", played.table, re.MULTILINE)
    assert row is not None, played.table
    assert row[1] == "0", "forfeits"
    (log,) = played.data.rglob(f"{language}.log")
    assert f"{language}: " not in log.read_text()


@pytest.mark.ci
def test_the_clever_one_plays_nim_by_its_theory(programs: dict[str, str]) -> None:
    program("go", PACKAGES["go"])
    words = [programs["go"]]
    done = subprocess.run(words, input=f"{START}\n{TURN}\n", capture_output=True, text=True, timeout=WITHIN)
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
    (work,) = Seat(RandomBot("mine"), start, 0, load_game(start.game, start.config), "").handle_turn(turn, 0.0)
    assert isinstance(work, Choose)
    return work.turn


@pytest.mark.parametrize(
    ("line", "kind"), [(START, messages.Start), (REJECTED, messages.Rejected), (END, messages.End)]
)
def test_the_messages_of_the_document_are_lines_as_a_program_reads_them(
    line: str, kind: type[messages.Start | messages.Rejected | messages.End]
) -> None:
    assert encode_message(msgspec.json.decode(line, type=kind)) == f"{line}\n".encode()


def test_the_turn_of_the_document_is_a_line_as_a_program_reads_it() -> None:
    assert encode_turn(read()) == f"{TURN}\n".encode()


def test_the_answers_of_the_document_are_moves() -> None:
    turn = read()
    bare, move = (parse_answer(line.encode(), turn) for line in (BARE, MOVE))
    assert bare is not None
    assert move is not None
    assert (bare.move, move.move, move.note) == ({"heap": 0, "take": 4}, turn.legal[0], "lost")
