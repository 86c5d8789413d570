"""docs/theory.md: its tables of the prisoner's dilemma are what the commands above them print."""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
import sys

import pytest

from bots.client.installed import find_installed
from commands import REPOSITORY
from games.dilemma.bots import MemoryOneBot
from games.dilemma.rules import Dilemma

THEORY = (REPOSITORY / "docs" / "theory.md").read_text()
TABLES = re.findall(r"```\npython (benchmarks/dilemma\.py.*)\n```\n\n((?:\|.*\n)+)", THEORY)
SOME = ("extort", "grim", "random", "tit-for-tat")
PAIR = ("random", "tit-for-tat")


@pytest.mark.nightly
def test_the_command_prints_the_table_below_it() -> None:
    command, table = TABLES[0]
    words = [sys.executable, *shlex.split(command)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=REPOSITORY, check=True)
    assert done.stdout == table


@pytest.mark.parametrize(
    ("command", "table"),
    [pytest.param(*one, marks=pytest.mark.ci if "open-end" in one[0] else (), id=one[0]) for one in TABLES],
)
def test_what_a_pair_gets_is_what_the_command_finds(
    command: str, table: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *words = shlex.split(command)
    monkeypatch.setattr(sys, "argv", [program, *words, "--bots", *PAIR])
    runpy.run_path(str(REPOSITORY / program), run_name="__main__")
    found = payoffs(capsys.readouterr().out)
    assert len(found) == 2
    assert found.items() <= payoffs(table).items()


@pytest.mark.nightly
@pytest.mark.parametrize(("command", "table"), TABLES[1:], ids=[command for command, _ in TABLES[1:]])
def test_what_some_bots_get_against_each_other_is_what_the_command_finds(command: str, table: str) -> None:
    words = [sys.executable, *shlex.split(command), "--bots", *SOME]
    done = subprocess.run(words, capture_output=True, text=True, cwd=REPOSITORY, check=True)
    found = payoffs(done.stdout)
    assert len(found) == len(SOME) * (len(SOME) - 1)
    assert found.items() <= payoffs(table).items()


def payoffs(table: str) -> dict[tuple[str, str], str]:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    names = [row[1] for row in rows]
    cells = ((row[1], *cell) for row in rows for cell in zip(names, row[3:], strict=True))
    return {(one, other): told for one, other, told in cells if one != other}


def test_there_is_a_table_with_noise_and_one_without_a_known_end() -> None:
    assert [command.partition(" ")[2] for command, _ in TABLES] == ["", "--set noise=0.05", "--preset open-end"]


def test_the_chances_are_those_that_the_bots_play() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` ((?:\| [0-9/]+ ){5})\|", THEORY, re.MULTILINE)
    assert len(rows) == 7
    for name, cells in rows:
        bot = find_installed()[name].load()(name)
        assert isinstance(bot, MemoryOneBot)
        told = [cell.strip() for cell in cells.split("|")[1:]]
        plays = bot.strategy(Dilemma({}), 0)
        chances = [str(chance) for chance in (*plays.after, plays.first)]
        if name != "grim":  # which remembers more than a round
            assert told == chances
