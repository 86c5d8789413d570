"""Bots that fail for good in a tournament of more than two: they forfeit, the others play, and all is told."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from arena.runs.waiting_room import WaitingRoom
from commands import call, faulty
from tournaments import played, tournament

NIM = ["--game", "nim", "--seed", "5", "--jobs", "1"]


def fates(content: dict[str, Any], bot: str) -> set[tuple[int, str]]:
    """The ranks and reasons of a bot's seats."""
    return {
        (seat["rank"], seat["reason"]) for match in content["matches"] for seat in match["seats"] if seat["bot"] == bot
    }


def deadline_of_silent(room: WaitingRoom, bot: str, since: float) -> float:
    """Have nobody but `silent` be late, as soon as it has started: on a busy machine, others may take as long."""
    return since if bot == "silent" and bot in room._started_at else math.inf


def test_bots_that_fail_forfeit_and_the_rest_play_on_and_table_and_file_say_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WaitingRoom, "deadline", deadline_of_silent)
    words = ["random", "perfect", faulty("crashing"), faulty("stillborn"), faulty("silent"), *NIM]
    file = tmp_path / "out.json"
    words += ["--connect-timeout", "3", "--data", str(tmp_path / "data"), "--json", str(file)]
    done = played("arena", "tournament", *words)
    assert done.code == 0, done.err
    content = json.loads(file.read_text())
    assert len(content["matches"]) == 10
    assert fates(content, "crashing") <= {(2, "disconnected"), (1, "win")}
    assert fates(content, "stillborn") == fates(content, "silent") == {(2, "no_show"), (1, "void")}
    assert fates(content, "random") <= {(1, "win"), (2, "win")}
    assert set(content["failures"]) == {"crashing", "stillborn", "silent"}
    assert content["failures"]["stillborn"] == {"ended with exit code 1: RuntimeError: no brain found": 4}
    assert content["failures"]["silent"] == {"did not connect within 3 s and was killed": 4}
    log = tmp_path / "data" / "tournaments" / content["tournament"] / "stillborn.log"
    assert done.out.split("\n\n")[-2].splitlines() == [
        "stillborn: 3 matches lost by forfeit or resignation (no_show 3); log:",
        "  ended with exit code 1: RuntimeError: no brain found (4 matches)",
        f"  {log}",
    ]
    assert "crashing: 2 matches lost by forfeit or resignation (disconnected 2); log:\n" in done.out
    assert re.search(r"^  ended with exit code 1: RuntimeError: no idea at ply \d \(\d match", done.out, re.M)
    assert done.err.count("stillborn forfeits its matches here from now on") == 1
    assert call("arena", "db", "check", "--data", str(tmp_path / "data")).code == 0


@pytest.mark.ci
def test_a_bot_that_crashes_in_ever_other_ways_is_told_of_only_so_often(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import os, sys\n"
        "from bots import Bot, run\n"
        "class Mine(Bot):\n"
        "    def choose(self, turn):\n"
        "        print('never again', turn.match, file=sys.stderr, flush=True)\n"
        "        os._exit(1)\n"
        "run(Mine('mine'))\n"
    )
    mine = f"mine={sys.executable} {tmp_path / 'mine.py'}"
    done = played(
        "arena", "tournament", "random", mine, *NIM, "--rounds", "7", "--no-strict", "--data", str(tmp_path / "d")
    )
    assert done.code == 0, done.err
    assert done.err.count("mine ended with exit code 1; last output") == 5
    assert done.out.count("  ended with exit code 1: never again ") == 5
    assert "\n  other failures (2 matches)\n" in done.out


def test_a_strict_tournament_stops_with_the_first_bot_that_fails(tmp_path: Path) -> None:
    done = played(
        "arena", "tournament", "random", "perfect", faulty("stillborn"), *NIM, "--strict", "--data", str(tmp_path)
    )
    assert (done.code, done.out) == (1, "")
    assert "\narena: stillborn ended with exit code 1; last output, in " in f"\n{done.err}"


def test_of_two_bots_the_other_one_wins_by_forfeit_only_where_that_is_asked_for(tmp_path: Path) -> None:
    content = tournament(tmp_path / "data", "random", faulty("stillborn"), *NIM, "--no-strict", "--rounds", "3")
    assert fates(content, "random") == {(1, "win")}


@pytest.mark.ci
def test_a_program_that_is_not_there_forfeits_too(tmp_path: Path) -> None:
    script = tmp_path / "mine"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    content = tournament(tmp_path / "data", "random", "perfect", f"mine={script}", *NIM)
    assert fates(content, "mine") == {(2, "no_show")}
    assert list(content["failures"]["mine"]) == [f"can't be started: No such file or directory: {script}"]


@pytest.mark.ci
def test_in_process_a_file_that_can_not_be_imported_forfeits_and_one_that_is_not_there_is_refused(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.py").write_text("import bots\nnonsense\n")
    words = ["random", "perfect", f"mine={tmp_path / 'mine.py'}", *NIM, "--in-process"]
    content = tournament(tmp_path / "data", *words)
    assert fates(content, "mine") == {(2, "no_show")}
    (why,) = content["failures"]["mine"]
    assert why.startswith(
        f"can't be imported: {tmp_path}/mine.py: its code failed before it called run(bot), in line 2"
    )
    assert call("arena", "tournament", *words, "--strict", "--data", str(tmp_path / "strict")).code == 2
    gone = ["random", "perfect", f"mine={tmp_path / 'gone.py'}", *NIM, "--in-process", "--data", str(tmp_path / "gone")]
    assert call("arena", "tournament", *gone).code == 2


@pytest.mark.parametrize("how", [[], ["--in-process"]], ids=["processes", "in process"])
def test_a_bot_whose_code_raises_is_reported_with_its_words(how: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from bots import Bot, run\n"
        "class Mine(Bot):\n"
        "    def choose(self, turn):\n"
        "        raise ValueError('no plan')\n"
        "run(Mine('mine'))\n"
    )
    words = ["random", f"{tmp_path}/mine.py", "--game", "nim", "--rounds", "2", "--no-strict", *how]
    data = tmp_path / "data"
    done = played("arena", "tournament", *words, "--data", str(data))
    assert done.code == 0, done.err
    assert "nim round-robin, 2 matches (failed 2)" in done.out
    assert (
        "\nmine: 2 matches lost by forfeit or resignation (failed 2); log:\n"
        "  raised ValueError: no plan, in mine.py line 4 (2 matches)\n"
    ) in done.out
    assert call("arena", "db", "check", "--data", str(data)).code == 0
    assert "(failed" not in call("arena", "matches", "--reason", "resigned", "--data", str(data)).out
    assert call("arena", "matches", "--reason", "failed", "--data", str(data)).out.count("random > mine") == 2
