"""Commands that read results go by who played, whatever happened to the bots' names since."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from commands import Done, call
from tournaments import played

NIM = ("--game", "nim", "--in-process", "--jobs", "1")


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(tmp_path / "data")


def tournament(data: str, *words: str) -> tuple[Done, dict[str, int]]:
    """A tournament's end, and by the bots of its table the points that they made."""
    done = played("arena", "tournament", *words, *NIM, "--data", data, "--json", "-")
    assert done.code == 0, done.err
    return done, {row["bot"]: row["won"] for row in json.loads(done.out)["table"]}


@pytest.mark.parametrize("form", ["round-robin", "swiss"])
def test_a_tournament_has_a_table_after_names_changed_case(data: str, form: str) -> None:
    words = ("--rounds", "2", "--format", form)
    _, first = tournament(data, "random", "perfect", "third=random", "--seed", "7", *words)
    assert first.keys() == {"random", "perfect", "third"}
    other = ("Random=random", "Perfect=perfect", "THIRD=random", "--seed", "8", *words)
    done, second = tournament(data, *other)
    assert second.keys() == {"Random", "Perfect", "THIRD"}
    assert tournament(data, *other)[1] == second, "the same again, when all is stored"
    assert "Perfect" in done.err
    assert tournament(data, "random", "perfect", "third=random", "--seed", "7", *words)[1] == first


@pytest.fixture
def renamed(data: str) -> str:
    """The data of a tournament of which one bot was renamed since, and another one deleted."""
    tournament(data, "random", "perfect", "third=random", "--seed", "7")
    assert call("arena", "bot", "rename", "perfect", "best", "--data", data).code == 0
    assert call("arena", "bot", "delete", "third", "--data", data).code == 0
    return data


def test_a_tournament_has_its_table_after_its_bots_were_renamed_or_deleted(renamed: str) -> None:
    _, table = tournament(renamed, "random", "perfect", "third=random", "--seed", "7")
    assert table.keys() == {"random", "perfect", "third"}
    assert table["perfect"] == 2


def test_a_name_that_went_to_another_bot_since_takes_no_results_along(data: str) -> None:
    words = ("random", "perfect", "--seed", "7", "--rounds", "2")
    _, first = tournament(data, *words)
    for old, new in (("random", "was-random"), ("perfect", "random"), ("was-random", "perfect")):
        assert call("arena", "bot", "rename", old, new, "--data", data).code == 0
    assert tournament(data, *words)[1] == first


def test_moves_of_a_renamed_bot_are_graded_and_exported_under_its_name(renamed: str, tmp_path: Path) -> None:
    graded = call("arena", "replay", "grade", "--bot", "best", "--data", renamed, "--json")
    assert (graded.code, json.loads(graded.out)[0]["matches"]) == (0, 2)
    assert call("arena", "export", "--to", str(tmp_path / "tables"), "--data", renamed).code == 0
    told = {}
    for name in ("seats", "plies"):
        with (tmp_path / "tables" / f"{name}.csv").open() as file:
            told[name] = {row["bot"] for row in csv.DictReader(file)}
    assert told["seats"] == told["plies"]
    assert "best" in told["seats"]


def test_matches_of_a_renamed_bot_are_played_again(renamed: str) -> None:
    words = ("--bot", "perfect", "--all", "best", "--opponent", "random=random", "--continuations", "2")
    done = call("arena", "replay", "rerun", *words, "--data", renamed)
    assert done.code == 0, done.err


def test_a_test_goes_by_who_played_after_a_bot_was_renamed(data: str) -> None:
    words = ("test", "random", "perfect", *NIM, "--seed", "1", "--pairs", "2", "--data", data, "--json", "-")
    first = json.loads(played("arena", *words).out)
    assert call("arena", "bot", "rename", "random", "first", "--data", data).code == 0
    again = played("arena", *words)
    assert again.code == 0, again.err
    assert json.loads(again.out)["findings"] == first["findings"]
