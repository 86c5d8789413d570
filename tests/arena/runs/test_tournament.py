"""`arena tournament` with bots as processes: what it promises to who runs it; again, in pairs, and interrupted.

What is interrupted is a program of its own; where no worker is to be lost, this process referees.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from arena.store.result_queries import record_of
from arena.store.store import Store
from commands import call, faulty
from games.theory.heaps import nim_rule
from games.theory.impartial import outcome
from referee import record as records
from referee import record_reader
from referee.replay import replay
from tournaments import Interrupted, digests, played, ratings, tournament, tournament_of_processes

EVERYONE = ["random", "greedy", "minimax", "alphabeta", "perfect", "--game", "nim", "--set", "nodes=200", "--seed", "7"]
HALTING = faulty("halting")
NIM = ["--game", "nim"]
SIX = ["random", *(f"random{i}=random" for i in range(2, 6))]
CAMPAIGN = ["--game", "risk-campaign", "--set", "preset=world", "--set", "max_rounds=2"]
FORMATS = {
    "round-robin": ["random", HALTING, "--rounds", "5", *NIM],
    "gauntlet": [HALTING, "random", "--format", "gauntlet", "--rounds", "5", *NIM],
    "swiss": ["random", "greedy", faulty("steady"), HALTING, "--format", "swiss", "--rounds", "4", *NIM],
    "six seats": [*SIX, HALTING, "--rounds", "3", *CAMPAIGN],
}
"""Tournaments that may be `Interrupted`."""


def record(folder: Path, match: str) -> records.Record:
    with closing(Store.open(folder / "arena.db", create=False)) as store:
        body = store.read(record_of, match)
    assert body is not None
    return record_reader.read_record(body, match)


class Played:
    """The tournament of five reference bots, played once for all tests that look at it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "first"
        words = [*EVERYONE, "--rounds", "2", "--data", str(self.folder), "--json", str(folder / "out.json")]
        done = played("arena", "tournament", *words)
        assert done.code == 0, done.err
        self.table = done.out
        self.shown = done.err
        self.content: dict[str, Any] = json.loads((folder / "out.json").read_text())


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return Played(tmp_path_factory.mktemp("tournament"))


# One tournament


def test_every_pair_meets_once_a_round_with_the_seats_swapped(first: Played) -> None:
    met = sorted(tuple(seat["bot"] for seat in match["seats"]) for match in first.content["matches"])
    names = ["random", "greedy", "minimax", "alphabeta", "perfect"]
    assert met == sorted((a, b) for a in names for b in names if a != b)


def test_every_match_has_a_result_and_nobody_forfeits(first: Played) -> None:
    matches = first.content["matches"]
    assert len(matches) == 20
    assert {match["reason"] for match in matches} == {"win"}
    assert all(sorted(seat["rank"] for seat in match["seats"]) == [1, 2] for match in matches)
    assert [row["forfeits"] for row in first.content["table"]] == [0] * 5


def test_perfect_never_loses_from_a_winning_position(first: Played) -> None:
    winning = 0
    for match in first.content["matches"]:
        names = [seat["bot"] for seat in match["seats"]]
        if "perfect" not in names:
            continue
        seat = names.index("perfect")
        positions = [course.encoded_state for _, course in replay(record(first.folder, match["match"]))]
        could_win = any(
            position["to_move"] == seat and outcome(position["heaps"], nim_rule(None)) == "N" for position in positions
        )
        winning += could_win
        assert not could_win or match["seats"][seat]["rank"] == 1
    assert winning >= 4


def test_the_table_is_readable_on_80_columns_and_names_the_seed(first: Played) -> None:
    lines = first.table.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "nim round-robin, 20 matches (decided 20)"
    stem, place = first.content["matches"][0]["match"].split("-")
    assert lines[1] == f"seed 7, id {first.content['tournament']}, matches {stem}-*"
    assert int(place) in range(20)
    assert re.fullmatch(r"1 +1-\d +perfect +8 +\d +0 +\d +[01]\.\d{3} +0\.\d{3}-1\.000 +0", lines[3])


def test_progress_goes_to_the_error_output_and_nothing_else_does(first: Played) -> None:
    assert re.fullmatch(r"nim \S+ 20/20 matches 0:00:00\n", first.shown)


def test_every_record_verifies(first: Played) -> None:
    assert call("arena", "replay", "verify", "--data", str(first.folder)) == (0, "20 records verified\n", "")


def test_of_the_workers_only_the_logs_of_bots_stay(first: Played) -> None:
    assert {path.suffix for path in (first.folder / "tournaments").rglob("*") if path.is_file()} == {".log"}


# The same again, and another


@pytest.mark.nightly
def test_the_same_seed_gives_the_same_digests_in_another_folder_with_other_jobs(first: Played, tmp_path: Path) -> None:
    again = tournament_of_processes(tmp_path / "again", *EVERYONE, "--rounds", "2", "--jobs", "2")
    assert digests(again) == digests(first.content)
    assert again["tournament"] == first.content["tournament"]
    assert ratings(tmp_path / "again") == ratings(first.folder)


def test_a_finished_tournament_is_shown_again_and_said_to_be(first: Played, tmp_path: Path) -> None:
    json_file = tmp_path / "again.json"
    words = [*EVERYONE, "--rounds", "2", "--data", str(first.folder), "--json", str(json_file)]
    says = "20 of 20 matches were played before: another --seed or --data plays new ones"
    assert call("arena", "tournament", *words) == (0, first.table, f"arena: {says}\n")
    assert json.loads(json_file.read_text()) == first.content


@pytest.mark.ci
def test_two_tournaments_in_one_folder_do_not_collide(tmp_path: Path) -> None:
    config = ["--game", "nim", "--set", "heaps=9,9,9,9", "--set", "start=p-position"]
    words = ["random", "perfect", *config, "--in-process"]
    first = tournament(tmp_path / "data", *words, "--seed", "7", "--rounds", "3")
    second = tournament(tmp_path / "data", *words, "--seed", "7", "--rounds", "2", "--paired")
    third = tournament(tmp_path / "data", *words, "--seed", "8", "--rounds", "4")
    ids = [match["match"] for content in (first, second, third) for match in content["matches"]]
    assert len(set(ids)) == 11
    assert len({match["digest"] for content in (first, second, third) for match in content["matches"]}) == 11
    starts = [match["config"]["heaps"] for match in second["matches"]]
    assert starts[::2] == starts[1::2]
    shown = call("arena", "matches", "--data", str(tmp_path / "data"), "--json")
    assert sorted(match["match"] for match in json.loads(shown.out)) == sorted(ids)
    assert call("arena", "db", "check", "--data", str(tmp_path / "data")).code == 0


def test_a_bot_warms_up_with_the_game_it_is_going_to_play(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from bots import Bot, run\n"
        "class Mine(Bot):\n"
        "    def warm_up(self, game):\n"
        "        print('warm for', game.name, game.config['heaps'])\n"
        "    def choose(self, turn):\n"
        "        return turn.legal[0]\n"
        "run(Mine('mine'))\n"
    )
    words = ["random", f"mine={sys.executable} {mine}", "--game", "nim", "--set", "heaps=2,3,4"]
    content = tournament(tmp_path / "data", *words, XDG_CACHE_HOME=str(tmp_path))
    log = tmp_path / "data" / "tournaments" / content["tournament"] / "mine.log"
    assert log.read_text().splitlines()[0] == "warm for nim [2, 3, 4]"


@pytest.mark.ci
def test_a_bot_that_seeks_nevertheless_is_told_and_plays_what_it_is_assigned(tmp_path: Path) -> None:
    content = tournament(tmp_path / "data", "random", faulty("seeking"), "--game", "nim", "--rounds", "3")
    assert [match["reason"] for match in content["matches"]] == ["win"] * 3
    log = tmp_path / "data" / "tournaments" / content["tournament"] / "seeking.log"
    assert log.read_text().splitlines()[0] == "told: seek: this server assigns matches: wait for start (not_allowed)"


# Interrupted


def assert_only_the_rest_is_played(cut: Interrupted, whole: Path) -> None:
    """The same command goes on and says so; in the end all is as in a tournament that was never interrupted."""
    before = cut.stored()
    file = cut.folder.with_suffix(".json")
    done = played("arena", "tournament", *cut.words, "--data", str(cut.folder), "--json", str(file))
    content = json.loads(file.read_text())
    said = done.err.splitlines()[0]
    assert re.fullmatch(rf"arena: {len(before)} of {len(content['matches'])} matches were played before", said)
    assert 0 < len(before) < len(content["matches"])
    assert digests(content) == digests(tournament(whole, *cut.words))
    assert ratings(cut.folder) == ratings(whole)
    kept = {match["match"]: match["finished"] for match in content["matches"] if match["match"] in before}
    rest = [match["started"] for match in content["matches"] if match["match"] not in before]
    assert max(kept.values()) < min(rest)
    assert {path.suffix for path in (cut.folder / "tournaments").rglob("*") if path.is_file()} == {".log"}
    assert call("arena", "db", "check", "--data", str(cut.folder)).code == 0


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.ci), signal.SIGTERM])
def test_a_tournament_that_is_told_to_stop_says_how_to_go_on(tmp_path: Path, number: signal.Signals) -> None:
    cut = Interrupted(tmp_path, "tournament", FORMATS["round-robin"])
    said = cut.stopped_by(number)
    assert said == f"arena: stopped after {len(cut.stored())} of 5 matches; the same command continues"


def test_a_tournament_that_was_killed_leaves_no_bots_and_goes_on(tmp_path: Path) -> None:
    cut = Interrupted(tmp_path, "tournament", FORMATS["round-robin"])
    assert cut.kill() == 2 * 2  # each with its keeper
    assert_only_the_rest_is_played(cut, tmp_path / "whole")


# Six seats


@pytest.mark.ci
def test_of_six_bots_one_that_crashes_drops_out_and_plays_the_next_match(tmp_path: Path) -> None:
    words = [*SIX, faulty("crashingonce"), *CAMPAIGN, "--rounds", "2", "--seed", "4", "--jobs", "1"]
    content = tournament(tmp_path / "data", *words, ARENA_MEMORY=str(tmp_path / "crashed"))
    first, second = ({seat["bot"]: seat for seat in match["seats"]} for match in content["matches"])
    assert (first["crashingonce"]["reason"], first["crashingonce"]["rank"]) == ("disconnected", 6)
    assert {seat["reason"] for bot, seat in first.items() if bot != "crashingonce"} == {"round_limit"}
    assert {seat["reason"] for seat in second.values()} == {"round_limit"}
    assert call("arena", "replay", "verify", "--data", str(tmp_path / "data")) == (0, "2 records verified\n", "")
    shown = call("arena", "replay", "show", content["matches"][0]["match"], "--data", str(tmp_path / "data")).out
    assert re.search(r"^ +\d+ +crashingonce +out: disconnected +\d+\.\d", shown, re.MULTILINE)
    assert "  6. crashingonce (disconnected)" in shown


def test_fewer_bots_than_a_match_has_seats_are_too_few(tmp_path: Path) -> None:
    says = "arena: a match of risk-campaign has 6 seats under this config: 5 bots are given\n"
    assert call("arena", "tournament", *SIX, *CAMPAIGN, "--data", str(tmp_path / "data")) == (2, "", says)
    assert not (tmp_path / "data").exists()


ALONE = """
import time
from bots import Bot, run

class Alone(Bot):
    busy = False
    def choose(self, turn):
        assert not self.busy, "two matches at once"
        self.busy = True
        time.sleep(0.005)
        self.busy = False
        return turn.legal[0]

run(Alone("alone"))
"""


@pytest.mark.ci
def test_an_authors_bot_plays_one_match_at_a_time_unless_it_takes_more(tmp_path: Path) -> None:
    (tmp_path / "alone.py").write_text(ALONE)
    words = ["random", "perfect", f"alone={sys.executable} {tmp_path / 'alone.py'}", "--game", "nim", "--seed", "1"]
    content = tournament(tmp_path / "data", *words, "--rounds", "2", "--jobs", "2")
    assert {seat["reason"] for match in content["matches"] for seat in match["seats"]} == {"win"}
