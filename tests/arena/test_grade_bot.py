"""`arena replay grade --bot`: which kinds of positions cost a bot most in its matches."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from arena.commands import progress
from arena.commands.grade import SCALE_NOTE
from arena.store.finish import finish_matches
from arena.store.store import Store
from bots import play
from commands import Done, call
from databases import filled_store
from machine.compiled import HAS_NUMBA
from stored_matches import storable


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Four matches of nim, two of bounded Risk on a map that is too large to solve, and one of the dilemma."""
    filled_store(tmp_path / "arena.db", play_seven).close()
    return tmp_path


def play_seven(store: Store) -> None:
    duel = {"map": "africa", "max_plies": 20}
    games = [("nim", {}, 4), ("dilemma", {}, 1), ("risk-duel", duel, 2 if HAS_NUMBA else 0)]
    for game, config, count in games:
        for seed in range(count):
            played = play(["random", "grim" if game == "dilemma" else "greedy"], game, seed=seed, config=config)
            store.write(finish_matches, [storable(played.result, played.packed)])


def graded(data: Path, *words: str) -> Done:
    return call("arena", "replay", "grade", "--bot", "Random", "--data", str(data), *words)


def test_the_moves_of_each_kind_are_counted_with_what_each_gave_away_and_its_share(data: Path) -> None:
    done = graded(data, "--game", "nim", "--json")
    assert (done.code, done.err) == (0, "")
    (nim,) = json.loads(done.out)
    assert (nim["game"], nim["matches"], nim["estimated"]) == ("nim", 4, 0)
    assert "estimate" not in nim
    told_apart = {by: [row for row in nim["kinds"] if row["by"] == by] for by in ("theory", "heaps", "largest heap")}
    for rows in told_apart.values():
        assert sum(row["moves"] for row in rows) == nim["exact"]
        assert sum(row["share"] for row in rows) == pytest.approx(1)
        assert sum(row["mean"] * row["moves"] for row in rows) == pytest.approx(nim["mean"] * nim["exact"])
    assert [(row["kind"], row["share"]) for row in told_apart["theory"]] == [("won", 1.0), ("lost", 0.0)]
    assert nim["mean"] > 0.5
    assert json.loads(graded(data, "--game", "nim", "--limit", "2", "--json").out)[0]["matches"] == 2


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
def test_games_stand_apart_and_what_is_estimated_is_said(data: Path) -> None:
    done = graded(data, "--sims", "80")
    nim, duel, scale = (part.splitlines() for part in done.out.split("\n\n"))
    assert scale == [SCALE_NOTE]
    assert nim[0].startswith("nim, Random: ")
    assert " in 4 matches, each gave away " in nim[0]
    assert " ".join(nim[1].split()) == "told apart by kind of position moves each gave away of all"
    assert duel[0].startswith("risk-duel, Random: 20 moves in 2 matches, each gave away ")
    assert duel[1].startswith("20 of them estimated: uct, 80 simulations a move; a single loss under 0.")
    assert {line.split()[0] for line in duel[3:]} == {"phase", "standing", "time"}
    assert graded(data, "--sims", "80").out == done.out  # on the other channel it says what takes long


def test_what_takes_long_says_how_long_it_takes(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST_MESSAGE_DELAY_S", 0.0)
    monkeypatch.setattr(progress, "MESSAGE_INTERVAL_S", 0.0)
    lines = graded(data, "--game", "nim").err.splitlines()
    assert [line.partition(", some ")[0] for line in lines] == [
        f"arena: grading the matches of Random: {done} of 4" for done in (1, 2, 3, 4)
    ]
    assert lines[-1].endswith(", some 0 s left")


def test_what_nobody_can_grade_is_said_and_what_does_not_go_together_refused(data: Path) -> None:
    assert graded(data, "--game", "dilemma") == (
        0,
        "no match of Random can be graded: none is of a game that is solved, or that searches estimate\n",
        "",
    )
    nobody = call("arena", "replay", "grade", "--bot", "eve", "--data", str(data))
    assert nobody == (2, "", "arena: there is no bot called eve: `arena bot list` names them\n")
    one = "arena: grade a match, by its ID or FILE, or the matches of a bot, by --bot NAME: one of them\n"
    assert call("arena", "replay", "grade") == (2, "", one)
    assert graded(data, "m-1") == (2, "", one)
    assert graded(data, "--limit", "0") == (2, "", "arena: --limit is 0: it is 1 or more\n")
    limited = call("arena", "replay", "grade", "m-1", "--limit", "3")
    assert limited == (2, "", "arena: --game and --limit are for --bot NAME\n")


def test_a_record_that_is_missing_is_told_in_one_line(data: Path) -> None:
    with closing(sqlite3.connect(data / "arena.db")) as damaged, damaged:
        damaged.execute("DELETE FROM records")
    done = graded(data, "--game", "nim")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert " has no record in " in done.err


def test_its_worst_moves_of_all_matches_are_listed_with_where_they_are(data: Path) -> None:
    done = graded(data, "--game", "nim", "--worst", "2")
    header, *rows, scale, last = done.out.splitlines()
    assert scale == SCALE_NOTE
    assert header.split() == ["match", "ply", "move", "better", "gave", "away"]
    assert [row.split()[-1] for row in rows] == ["2.000"] * 2
    assert last == f"`arena replay show {rows[0].split()[0]} --boards` shows the match of the first"
