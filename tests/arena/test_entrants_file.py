"""Who plays a tournament, from a file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from arena.commands.name_list import read_entrants, read_name_list
from commands import call
from protocol.errors import UsageFault
from tournaments import played

DOC = (Path(__file__).parents[2] / "docs" / "tournaments.md").read_text()
EXAMPLES = dict(re.findall(r"^```(csv|toml)\n(name,command.*?|\[\[entrants\]\].*?)^```", DOC, re.DOTALL | re.MULTILINE))


def written(tmp_path: Path, name: str, text: str) -> Path:
    file = tmp_path / name
    file.write_text(text)
    return file


@pytest.mark.parametrize("form", ["csv", "toml"])
def test_the_examples_of_the_docs_are_the_same_entrants(form: str, tmp_path: Path) -> None:
    assert read_entrants(written(tmp_path, f"entrants.{form}", EXAMPLES[form])) == [
        "anna=python anna.py",
        "ben=./ben --fast",
        "deep=alphabeta:depth=6,eval=lines",
        "random",
    ]


def test_a_file_and_names_play_together(tmp_path: Path) -> None:
    file = written(tmp_path, "entrants.csv", "name,bot,group\ncalm,greedy,2\n")
    data = tmp_path / "data"
    words = ("random", "--entrants", str(file), "--game", "nim", "--in-process", "--data", str(data))
    done = played("arena", "tournament", *words, "--json", str(tmp_path / "out.json"))
    assert done.code == 0, done.err
    (match,) = json.loads((tmp_path / "out.json").read_text())["matches"]
    assert {seat["bot"] for seat in match["seats"]} == {"random", "calm"}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("e.csv", "who,command\nanna,x\n", ["e.csv, line 1: the column name is missing"]),
        ("e.csv", "name,command\nan na,x\n", ["e.csv, line 2: 'an na' is not a name for a bot"]),
        ("e.csv", "name,command\nanna,x\nben,x\nAnna,x\n", ["line 4: Anna is there twice, first in line 2"]),
        ("e.csv", "name,command,bot\nanna,x,greedy\n", ["line 2: anna has a command and a bot"]),
        ("e.csv", "name,settings\nanna,depth=3\n", ["line 2: anna has settings and no bot"]),
        ("e.csv", "name,command\n,x\nanna,x\nanna,x\n", ["line 2: there is no name", "line 4: anna is there twice"]),
        ("e.toml", "[[entrants]]\nname = 'a'\ncomand = 'x'\n", ["entrant 1: there is no key 'comand'"]),
        ("e.toml", "[[entrants]]\nname = 3\n", ["entrant 1: name is 3: it is text"]),
        ("e.toml", "[[entrants]]\ncommand = 'x'\n", ["entrant 1: there is no name"]),
        ("e.toml", "entrants = 3\n", ["has no entrants"]),
        ("e.toml", "[[", ["is not TOML"]),
        ("e.toml", "a = " + "9" * 5000, ["a number has more than 4300 digits"]),
        ("e.toml", "[[entrants]]\nname = 0x" + "f" * 5000, ["a number has more than 4300 digits"]),
        ("e.toml", "a = " + "[" * 5000, ["is not TOML: it is nested too deeply"]),
    ],
)
def test_mistakes_are_said_with_their_place(name: str, text: str, says: list[str], tmp_path: Path) -> None:
    with pytest.raises(UsageFault) as fault:
        read_entrants(written(tmp_path, name, text))
    lines = str(fault.value).splitlines()
    assert len(lines) == len(says)
    assert all(part in line for part, line in zip(says, lines, strict=True))


def test_a_sheet_with_all_its_columns_and_mistakes_without_end_are_said_in_short(tmp_path: Path) -> None:
    columns = ["name", *(f"c{number}" for number in range(16_383))]
    with pytest.raises(
        UsageFault, match=r"sheet.csv, line 1: it has 16,384 columns, and a list has 200 at most: leave"
    ):
        read_name_list(written(tmp_path, "sheet.csv", ",".join(columns) + "\nanna" + ",x" * 16_383))
    for text in ("name,command\n" + "?,x\n" * 3000, "name,command\n" + "a\n" * 3000):
        with pytest.raises(UsageFault) as fault:
            read_entrants(written(tmp_path, "wrong.csv", text))
        lines = str(fault.value).splitlines()
        assert (len(lines), lines[-1]) == (51, "and 2,950 more")


def test_a_name_without_end_is_cut_short(tmp_path: Path) -> None:
    with pytest.raises(UsageFault) as fault:
        read_entrants(written(tmp_path, "long.csv", f"name,command\n{'a' * 100_000},x\n"))
    assert len(str(fault.value)) < 400


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    for name in ("none.csv", "none.toml"):
        done = call("arena", "tournament", "--entrants", str(tmp_path / name), "--game", "nim", "--data", str(tmp_path))
        assert (done.code, len(done.err.splitlines())) == (2, 1)
        assert f"{name} can't be read: No such file or directory" in done.err


def test_without_anybody_it_is_asked_who_plays(tmp_path: Path) -> None:
    done = call("arena", "tournament", "--game", "nim", "--data", str(tmp_path))
    assert (done.code, "who plays?" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("entrants.csv", "name,bot,Display\nanna,random,\nben,greedy,Ben Ü.\n", "line 3"),
        ("entrants.toml", '[[entrants]]\nname = "anna"\nbot = "random"\ndisplay = "Anna"\n', "entrant 1"),
    ],
)
def test_a_display_name_which_standings_do_not_show_is_refused(
    tmp_path: Path, name: str, text: str, where: str
) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageFault, match=f"{name}, {where}: there is a display name, .*: leave display out") as refusal:
        read_entrants(file)
    assert "\n" not in str(refusal.value)


def test_an_empty_column_of_display_names_is_left_aside(tmp_path: Path) -> None:
    file = tmp_path / "entrants.csv"
    file.write_text("name,bot,display\nanna,random,\n", encoding="utf-8")
    assert read_entrants(file) == ["anna=random"]
