"""Bots that fail in a tournament: what it loses by that, and when it stops."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from arena.processes.process import BotCrashed
from arena.ratings.tournament_pairing import Pairing
from arena.runs.contestants import parse_contestants
from arena.runs.job import MatchJob, MatchReport
from arena.runs.plan import Plan
from arena.runs.run import Progress
from arena.runs.sandbox import BotEnvironment
from arena.runs.workers import WorkerPlayers
from commands import FAULTY, faulty, passing
from machine.workers.local import process_pool
from protocol.games import load_game
from protocol.messages import Clock
from referee.result import Result
from tournaments import played

FAST = ("--clock", "5")
"""A bank that ends soon where a bot lets it end, and is enough for the moves of others on a busy machine."""
CONNECT_TIMEOUT_S = 10.0
"""Seconds in which a bot's program starts on a busy machine, for tests in which another one never connects."""


def tournament(folder: Path, *words: str, rounds: int = 2, **environ: str) -> tuple[int, dict[str, Any], str, str]:
    """A tournament of Nim in `folder`: exit code, what it wrote with --json, its table, its error output."""
    options = ["--game", "nim", "--rounds", str(rounds), "--seed", "1", "--data", str(folder), *passing(environ)]
    done = played("arena", "tournament", *words, *options, "--json", f"{folder}.json", **environ)
    written = Path(f"{folder}.json")
    return done.code, json.loads(written.read_text()) if written.exists() else {}, done.out, done.err


def outcomes(content: dict[str, Any], bot: str) -> list[tuple[int, str]]:
    """Of each match of a bot: its rank, and why."""
    seats = [seat for match in content["matches"] for seat in match["seats"] if seat["bot"] == bot]
    return [(seat["rank"], seat["reason"]) for seat in seats]


@pytest.mark.ci
def test_the_others_play_their_matches_beside_a_bot_at_fault(tmp_path: Path) -> None:
    words = ["random", "perfect", faulty("mute"), *FAST]
    code, content, _, err = tournament(tmp_path / "data", *words)
    assert code == 0, err
    assert sorted(match["reason"] for match in content["matches"]) == ["timeout"] * 4 + ["win"] * 2


def test_a_bot_that_dies_in_a_match_loses_it_at_once_and_plays_the_next(tmp_path: Path) -> None:
    """The clock is a day: nothing here may wait for it."""
    memory = {"ARENA_MEMORY": str(tmp_path / "memory")}
    words = ["random", faulty("crashingonce"), "--clock", "86400", "--jobs", "1"]
    code, content, _, err = tournament(tmp_path / "data", *words, rounds=4, **memory)
    assert code == 0
    fates = outcomes(content, "crashingonce")
    assert fates[0] == (2, "disconnected")
    assert {reason for _, reason in fates[1:]} == {"win"}
    log = tmp_path / "data" / "tournaments" / content["tournament"] / "crashingonce.log"
    assert f"crashingonce ended with exit code 1; last output, in {log}:\n" in err
    assert re.search(r"^  RuntimeError: no idea at ply \d$", err, re.MULTILINE)
    assert "RuntimeError: no idea at ply" in log.read_text()


def test_a_bot_that_dies_before_it_is_ready_plays_the_match_when_it_is_back(tmp_path: Path) -> None:
    memory = {"ARENA_MEMORY": str(tmp_path / "memory")}
    code, content, _, err = tournament(tmp_path / "data", "random", faulty("crashingbeforeready"), **memory)
    assert code == 0
    assert {reason for _, reason in outcomes(content, "crashingbeforeready")} == {"win"}
    assert err.count("RuntimeError: not ready for this") == 1


@pytest.mark.ci
def test_a_bot_that_dies_in_every_match_stops_the_tournament_which_can_go_on(tmp_path: Path) -> None:
    broken = tmp_path / "mine.py"
    broken.write_text(
        f"import runpy, sys\nsys.argv = ['mine', 'crashing']\nrunpy.run_path({str(FAULTY)!r}, run_name='__main__')\n"
    )
    words = ["random", f"mine={sys.executable} {broken}", "--jobs", "1"]
    code, content, table, err = tournament(tmp_path / "data", *words, rounds=5)
    assert (code, content, table) == (1, {}, "")
    notes, _, error = err.partition("\narena: ")
    assert notes.count("mine ended with exit code 1; last output") == 2
    assert error.startswith("mine ended with exit code 1; last output, in ")
    assert re.fullmatch(r"  RuntimeError: no idea at ply \d", error.splitlines()[-1])
    broken.write_text(broken.read_text().replace("crashing", "steady"))
    code, content, _, err = tournament(tmp_path / "data", *words, rounds=5)
    assert code == 0, err
    assert [reason for _, reason in outcomes(content, "mine")] == ["disconnected"] * 2 + ["win"] * 3


# Bots that are away, with less patience than the command has


class Kept(NamedTuple):
    """Keeps the reports of a run in a list."""

    plan: Plan
    reports: list[MatchReport]

    async def missing(self) -> list[Pairing]:
        return Progress(self.plan, [report.result for report in self.reports]).missing()

    async def hand_in(self, reports: Sequence[MatchReport]) -> bool:
        self.reports.extend(reports)
        return True


def play(
    folder: Path, words: Sequence[str], connect_timeout: float, rounds: int = 2, bank_s: int = 60
) -> tuple[list[Result], list[str], BaseException | None]:
    """Play the matches of a tournament: their results, what was noted, and what stopped it."""
    plan = Plan(
        id="t0123456789",
        seed="1",
        contestants=tuple(parse_contestants(words, {})),
        rules=load_game("nim"),
        format="round-robin",
        rounds=rounds,
        paired=False,
        clock=Clock(bank_ms=bank_s * 1000, increment_ms=0),
    )
    around = BotEnvironment(variables=dict(os.environ))
    job = MatchJob(key="k", plan=plan, environment=around, logs=folder, connect_timeout_s=connect_timeout)
    reports: list[MatchReport] = []
    stopped = None
    try:
        with process_pool(1) as crew:
            WorkerPlayers(job, crew).play_run(Kept(plan, reports))
    except BotCrashed as fault:
        stopped = fault
    return [one.result for one in reports], [note for one in reports for note in one.notes], stopped


@pytest.mark.ci
def test_a_bot_that_never_says_hello_stops_the_tournament_with_its_last_lines(tmp_path: Path) -> None:
    results, noted, stopped = play(tmp_path, ["random", faulty("silent")], connect_timeout=CONNECT_TIMEOUT_S)
    assert (results, noted) == ([], [])
    log = tmp_path / "silent.log"
    assert str(stopped) == (
        f"silent did not connect within {CONNECT_TIMEOUT_S:g} s and was killed; last output, in {log}:\n"
        "  thinking about it"
    )


@pytest.mark.ci
def test_a_bot_that_vanishes_loses_its_match_and_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_MEMORY", str(tmp_path / "memory"))
    words = ["random", faulty("vanishingonce")]
    results, noted, stopped = play(tmp_path, words, connect_timeout=CONNECT_TIMEOUT_S, rounds=3, bank_s=15)
    assert stopped is None
    fates = [seat.reason for result in results for seat in result.seats if seat.bot == "vanishingonce"]
    assert fates == ["disconnected", "win", "win"]
    assert len(noted) == 1
    assert noted[0].startswith(
        f"vanishingonce was disconnected for {CONNECT_TIMEOUT_S:g} s and was killed; last output, in "
    )
